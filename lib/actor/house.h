/*
 * The house: the runtime's cell round an actor. It holds the lanes of the mailbox, the state of the
 * actor, and the facts by which dispatch decides.
 *
 * Only the loop that a house lives on touches it. Two parts are open to other threads: the cookie,
 * and the table of slots, from which any thread may reserve a house before it is mounted (slots.c).
 */
#ifndef GY_ACTOR_HOUSE_H
#define GY_ACTOR_HOUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/mail.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/table.h"
#include "loop/queue.h"

struct gy_class_info;
struct gy_family;
struct gy_home;
struct gy_house_extra;
struct gyre_behaviour;

/* ---- the status ---- */

enum gy_house_status {
	GY_HOUSE_FREE,
	GY_HOUSE_CREATED,  /* reserved: mail may come, nothing runs */
	GY_HOUSE_MOUNTING, /* in the mounting queue */
	GY_HOUSE_WAITING,
	GY_HOUSE_READY,	    /* in the channels or the state queue */
	GY_HOUSE_SCHEDULED, /* out of the queue: about to run, or another loop may run it */
	GY_HOUSE_RUNNING,
	GY_HOUSE_STOPPING, /* its channels and children end */
	GY_HOUSE_STATUSES,
};

/* Whether the table in house.c has that step. */
bool gy_house_status_is_allowed(enum gy_house_status from, enum gy_house_status to);

/* ---- lanes that are closed ---- */

/* Pending work, a bit each: the lanes, and work of the channel floor. */
enum { GY_PENDING_CHANNELS = 1 << GY_LANES };

/*
 * Why lanes are closed. So is one into which something was put first, until the end of the run. A
 * stop closes all for ever and is checked after each message.
 */
enum {
	GY_CLOSED_BY_BARRIER = 1 << GY_LANE_ASK | 1 << GY_LANE_NOTICE,
	GY_CLOSED_BY_RESTART = (GY_PENDING_CHANNELS << 1) - 1,
	/* A mount or a restart hook waits. Its answers come in, and the work of the channel floor
	 * goes on, since a file that is waited for may be part of it. */
	GY_CLOSED_BY_HOOK = GY_CLOSED_BY_BARRIER | 1 << GY_LANE_EVENT,
	GY_CLOSED_BY_NO_MEMORY = GY_PENDING_CHANNELS
				 << 1, /* with what lacks memory; for a moment */
	GY_CLOSED_BY_STOP = 0xff,
};

/* ---- the house ---- */

struct gy_house {
	struct gy_job job;
	struct gy_node *lanes[GY_LANES]; /* each the last of a ring, NULL when empty */
	uint8_t pending;
	uint8_t status; /* enum gy_house_status */
	bool high;
	uint8_t closed; /* what does not run at present, a bit each as in @pending; see above */
	struct gy_origin self;

	void *state;
	const struct gyre_behaviour *behaviour;
	struct gy_class_info *class_info;
	struct gy_home *home;
	struct gy_table promises; /* outstanding asks, by id */
	uint64_t ask_id;	  /* of the last ask */

	uint32_t replies; /* waiting, exceptions included */
	uint32_t events;
	uint32_t limit;	  /* of @waiting; 0: no limit, and @waiting is not counted */
	uint32_t waiting; /* asks and notices; read from any thread */
	bool channels_actor;
	bool plain;	       /* the class is, and a run has nothing else to do than its mail */
	uint8_t passed_over;   /* lanes that the next pass leaves out, and GY_ENDS_HELD */
	bool above_mark;       /* the actor was told so by gyre_mailbox_mark */
	bool close_at_home;    /* an order to stop came while the house was away */
	uint32_t next_sibling; /* slots, in the ring of the family */
	uint32_t previous_sibling;
	struct gy_list suspended;     /* stacks */
	struct gy_house_extra *extra; /* NULL until something there is needed */
	struct gyre_mail *sealed;     /* the mail that a thief is to run; see steal_actor.c */
	struct gy_family *family;     /* that it is a child in; NULL for none */
} GY_ALIGNED_LINE;		      /* senders touch the first line only */

_Static_assert(sizeof(struct gy_house) <= 192, "a million idle actors must stay under 300 MB");

/* The only function that changes a status. */
static inline void gy_house_set_status(struct gy_house *house, enum gy_house_status to)
{
	gy_verify(gy_house_status_is_allowed((enum gy_house_status)house->status, to));
	house->status = (uint8_t)to;
}

/* Whether another loop may run the house: then only its lanes may be touched. On its own loop. */
static inline bool gy_house_is_away(const struct gy_house *house)
{
	return house->status == GY_HOUSE_SCHEDULED;
}

/* Whether a house that was found has an actor, or will have one. An address that another node made
 * up may name a slot that nobody has yet. */
static inline bool gy_house_is_occupied(const struct gy_house *house)
{
	return house->status != GY_HOUSE_FREE && house->status != GY_HOUSE_STOPPING;
}

/* Whether something waits that may run. */
static inline bool gy_house_can_run(const struct gy_house *house)
{
	return (house->pending & ~house->closed) != 0;
}

static inline bool gy_house_is_stopped(const struct gy_house *house)
{
	return house->closed == GY_CLOSED_BY_STOP;
}

/* ---- its address ---- */

/* The cookie that a stopping house had until gy_house_stop(). */
static inline uint32_t gy_house_last_cookie(const struct gy_house *house)
{
	return house->self.cookie == 1 ? UINT32_MAX : house->self.cookie - 1;
}

static inline struct gyre_address gy_house_address(const struct gy_house *house)
{
	return gy_origin_address(house->self);
}

#endif
