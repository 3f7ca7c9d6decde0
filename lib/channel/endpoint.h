/*
 * Endpoints: objects with a descriptor and operations in the ring, such as channels and listeners.
 * A channels actor owns some; its house holds the list of them, and the queue of those that
 * completions or calls of the program have given something to do.
 *
 * A completion makes its endpoint ready, in phase 1; the endpoint is processed in phase 2, in a run
 * of its house. A house that is stopping does not run any more; a later task of the loop then
 * serves its endpoints until the last is closed.
 */
#ifndef GY_CHANNEL_ENDPOINT_H
#define GY_CHANNEL_ENDPOINT_H

#include "channel/channels.h"

struct gy_endpoint;

struct gy_endpoint_ops {
	/*
	 * Processes the endpoint, in phase 2; clears @ready when a later cause must make it ready
	 * anew.
	 */
	void (*process)(struct gy_endpoint *endpoint);
	/* Ends in good order: no new input, what is queued is sent. Any phase; runs no user's code.
	 */
	void (*drain)(struct gy_endpoint *endpoint);
	/* Ends at once. NULL for what drains no slower. Any phase; runs no user's code. */
	void (*abort)(struct gy_endpoint *endpoint, int reason);
	/* Stops taking in anything new, for lack of memory, or goes on. NULL for what takes in
	 * nothing, or what was asked for. Any phase; runs no user's code. */
	void (*set_busy)(struct gy_endpoint *endpoint, bool busy);
	/* The loop retires: goes to another one. NULL for what is served here to its end. Any
	 * phase; runs no user's code. */
	void (*leave)(struct gy_endpoint *endpoint);
	/* Its actor, which made it while another loop ran it, is back. NULL if that cannot be. */
	void (*came_home)(struct gy_endpoint *endpoint);
	/* Frees what was left of it until the end of its actor; NULL if nothing is. */
	void (*bury)(struct gy_endpoint *endpoint);
	/*
	 * The endpoint is no traffic, and ends with its actor: a drain neither touches it nor waits
	 * for it.
	 */
	bool of_actor;
	/* New things come in by it, as by a socket that listens: it drains before others. */
	bool is_door;
};

/* The endpoints of one house, which hang at its extra part. */
struct gy_endpoints {
	struct gy_fifo ready;
	struct gy_channels *channels;
	struct gy_house *house;
	struct gy_list open;
	struct gy_list remains; /* closed, to be freed with the house */
	struct gy_list item;	/* in channels->owners */
	struct gy_later later;
	bool later_queued;
	uint8_t bond; /* enum gyre_channel_bond, of the actor with @channel */
	uint32_t count;
	/* Of an actor of the program: the channel that it was spawned for, until that is closed or
	 * they have parted; and while a mount keeps that from being served, its own functions. */
	struct gyre_channel *channel;
	const struct gy_endpoint_ops *held;
};

_Static_assert(sizeof(struct gy_endpoints) <= 128, "one of 128 bytes for each actor of a channel");

struct gy_endpoint {
	struct gy_list item; /* in owner->open */
	struct gy_fifo_item ready_link;
	const struct gy_endpoint_ops *ops;
	struct gy_endpoints *owner;
	int fd;
	bool ready; /* in the queue, or being processed */
	bool away;  /* made by an actor that another loop runs: it has no ring yet */
};

/* Makes @endpoint, which has its ops and descriptor, one of @house; -ENOMEM and nothing is changed.
 */
int gy_endpoint_add(struct gy_endpoint *endpoint, struct gy_house *house);
/* Its descriptor is closed and its memory is about to go: the last call for it. Any phase. */
void gy_endpoint_closed(struct gy_endpoint *endpoint);
/* The endpoints of a house, made if need be; NULL when there is no memory. */
struct gy_endpoints *gy_endpoints_get(struct gy_house *house);
/* Makes an endpoint one of another house of the loop; not while it is being processed. Any phase.
 */
void gy_endpoint_move(struct gy_endpoint *endpoint, struct gy_endpoints *to);
/* Sees to it that the ready ones are processed. */
void gy_endpoints_schedule(struct gy_endpoints *endpoints);

/* Any phase. */
static inline void gy_endpoint_ready(struct gy_endpoint *endpoint)
{
	struct gy_endpoints *owner = endpoint->owner;

	if (!endpoint->ready) {
		bool first = gy_fifo_empty(&owner->ready);

		endpoint->ready = true;
		gy_fifo_push(&owner->ready, &endpoint->ready_link);
		if (first) {
			gy_endpoints_schedule(owner);
		}
	}
}

/*
 * Moves the endpoints of the house that can go to another loop, as when theirs retires. On its
 * loop.
 */
void gy_endpoints_leave(struct gy_house *house);

/* ---- the house's side; see gy_channel_ops ---- */

void gy_endpoints_run(struct gy_house *house, struct gy_stack *stack);
bool gy_endpoints_stop(struct gy_house *house);
void gy_endpoints_fini(struct gy_house *house);
/* The house made endpoints while another loop ran it. */
void gy_endpoints_came_home(struct gy_house *house);

/* Ends it at once. Any phase. */
static inline void gy_endpoint_abort(struct gy_endpoint *endpoint, int reason)
{
	if (endpoint->ops->abort != NULL) {
		endpoint->ops->abort(endpoint, reason);
	} else {
		endpoint->ops->drain(endpoint);
	}
}

#endif
