/*
 * The house, the runtime's cell round an actor, and the home, which is a loop with all that its
 * houses share.
 *
 * Only the loop that a house lives on touches it. The exception is its cookie and the table of
 * slots, from which any thread may reserve a house before it has even been mounted: see slots.c.
 */
#ifndef GY_ACTOR_HOUSE_H
#define GY_ACTOR_HOUSE_H

#include <gyre/actor.h>
#include <gyre/counters.h>
#include <gyre/stack.h>
#include <gyre/timer.h>

#include <errno.h>

#include "actor/mail.h"
#include "base/table.h"

struct gy_home;
struct gy_stack;

enum gy_house_status {
	GY_HOUSE_FREE,
	GY_HOUSE_CREATED,  /* reserved: mail may come, nothing runs */
	GY_HOUSE_MOUNTING, /* in the mounting queue */
	GY_HOUSE_WAITING,
	GY_HOUSE_READY,	    /* in the channels or the state queue */
	GY_HOUSE_SCHEDULED, /* taken from it */
	GY_HOUSE_RUNNING,
	GY_HOUSE_STOPPING, /* its channels are being closed */
};

/* What is waiting, a bit each: a lane, or work of the channel floor. */
enum { GY_PENDING_CHANNELS = 1 << GY_LANES };

/* Why lanes are closed. A stop closes all for ever and is checked after each message. */
enum {
	GY_CLOSED_BY_BARRIER = 1 << GY_LANE_ASK | 1 << GY_LANE_NOTICE,
	GY_CLOSED_BY_PUT_FIRST = 1 << GY_LANE_NOTICE, /* until the end of the run */
	GY_CLOSED_BY_RESTART = (GY_PENDING_CHANNELS << 1) - 1,
	GY_CLOSED_BY_STOP = 0xff,
};

struct gy_house {
	struct gy_job job;
	struct gy_node *lanes[GY_LANES]; /* each the last of a ring, NULL when empty */
	uint8_t pending;
	uint8_t status; /* enum gy_house_status */
	bool high;
	uint8_t closed; /* what does not run at present, a bit each as in @pending; see below */
	struct gy_origin self;

	void *state;
	const struct gyre_behaviour *behaviour;
	const struct gyre_class *class;
	struct gy_home *home;
	struct gy_table promises; /* outstanding asks, by id */
	uint64_t ask_id;	  /* of the last ask */

	uint32_t replies; /* waiting, exceptions included */
	uint32_t events;
	uint32_t limit;	     /* of @waiting; 0 for none, and then they are not counted */
	uint32_t waiting;    /* asks and notices */
	uint8_t stack_class; /* of gy_sizes, for its stacks */
	bool channels_actor;
	bool plain;		    /* its class has no barriers, batches or limit */
	uint8_t passed_over;	    /* lanes that the next pass leaves out: see dispatch.c */
	bool above_mark;	    /* told so by gyre_mailbox_mark */
	struct gy_stack *barrier;   /* whose end opens the mailbox again */
	struct gy_restart *restart; /* NULL until the first failure */
	struct gy_list suspended;   /* stacks */
	struct gy_table *timers;    /* by key; NULL until the first */
	void *channels;		    /* the channel floor's */
};

_Static_assert(sizeof(struct gy_house) <= 192, "a million idle actors must stay under 300 MB");

/* What the channel floor does for houses of channels actors; on the loop's thread. */
struct gy_channel_ops {
	void (*run)(struct gy_house *house, struct gy_stack *stack); /* completed operations */
	bool (*stop)(struct gy_house *house); /* closes what is open; whether all is closed */
	void (*fini)(struct gy_house *house); /* frees house->channels */
	bool (*trim)(struct gy_loop *loop, uint32_t keep);
	/* Ends the traffic of a loop in good order: no more accepts or reads; what is queued is
	 * sent. */
	void (*drain)(struct gy_home *home);
	/* Closes at once what is still open. */
	void (*abort)(struct gy_home *home);
	uint32_t (*open_count)(const struct gy_home *home);
};

struct gy_actor_counters {
	uint64_t sent;
	uint64_t handled;
	uint64_t dropped[GYRE_DROP_COUNT];
	uint64_t failed;
	uint64_t restarted;
	uint64_t spawned;
	uint64_t stopped;
};

enum {
	GY_CHUNK_BITS = 10,
	GY_CHUNK_HOUSES = 1 << GY_CHUNK_BITS,
	GY_CHUNKS_MAX = 1 << 14,
};

/* The table of slots: grown by any thread under the mutex, read by the loop without it. */
struct gy_slots {
	pthread_mutex_t mutex;
	struct gy_fifo free;
	uint32_t used; /* slots that were ever handed out */
	uint32_t cookie_seed;
	struct gy_house **chunks;
};

/* The homes of a system: its first member, so that lower floors find them. Fixed after setup. */
struct gy_homes {
	uint32_t count;
	struct gy_home *homes; /* an array */
	const struct gy_log *log;
};

static inline struct gy_homes *gy_homes_of(struct gyre_system *system)
{
	return (struct gy_homes *)(void *)system;
}

/* What the system says to a home about each message that is lost. */
typedef void (*gy_dead_letter_fn)(struct gy_home *home, const struct gyre_mail *mail,
				  struct gyre_address to, enum gyre_drop reason);

struct gy_home_options {
	uint32_t run_budget;
	uint32_t high_replies;
	uint32_t high_events;
	uint64_t ask_timeout_ns;
	uint32_t cookie_seed;
	struct gyre_system *system;
	gy_dead_letter_fn dead_letter;			   /* may be NULL */
	uint16_t (*next_loop)(struct gyre_system *system); /* round robin */
	void (*shut_down)(struct gyre_system *system);
};

struct gy_home {
	struct gy_loop loop;
	struct gy_slots slots;
	struct gy_home_options options;
	struct gy_sizes stacks;
	struct gy_sizes parts; /* states, hash buckets, timers, and other parts of houses */
	struct gy_pool promises;
	struct gy_stack *scratch[GY_SIZES_COUNT];
	const struct gy_channel_ops *channel_ops;
	struct gy_actor_counters counters;
	uint32_t houses; /* mounted or about to be */
	uint64_t timer_generation;
	uint64_t promise_serial;
	uint64_t failure_logged_ns;
	struct gy_node *put_first; /* a ring, for the front of the notices of the running house */
	bool draining;		   /* nothing new is spawned here */
};

int gy_home_init(struct gy_home *home, const struct gy_loop_options *loop,
		 const struct gy_home_options *options);
/* Takes a half made one too. Objects of actors that were never returned are logged as errors. */
void gy_home_fini(struct gy_home *home);

static inline struct gy_home *gy_home_of(struct gy_loop *loop)
{
	return gy_container_of(loop, struct gy_home, loop);
}

static inline struct gy_home *gy_home_peer(const struct gy_home *home, uint16_t loop)
{
	return gy_home_of(home->loop.peers->loop[loop]);
}

/* ---- slots.c ---- */

int gy_slots_init(struct gy_slots *slots, uint32_t cookie_seed);
void gy_slots_fini(struct gy_slots *slots);
/* Any thread: a house in the state CREATED, or -ENOBUFS, -ENOMEM. */
int gy_slots_reserve(struct gy_home *home, struct gyre_address *ret_address);
void gy_slots_release(struct gy_home *home, struct gy_house *house);

static inline struct gy_house *gy_house_at(const struct gy_home *home, uint32_t slot)
{
	struct gy_house *chunk;

	if (gy_unlikely(slot >> GY_CHUNK_BITS >= GY_CHUNKS_MAX)) {
		return NULL;
	}
	chunk = gy_load_acquire(&home->slots.chunks[slot >> GY_CHUNK_BITS]);
	return gy_unlikely(chunk == NULL) ? NULL : &chunk[slot % GY_CHUNK_HOUSES];
}

/* The house that an address of this loop names, NULL when it is stale. */
static inline struct gy_house *gy_house_find(const struct gy_home *home, uint32_t slot,
					     uint32_t cookie)
{
	struct gy_house *house = gy_house_at(home, slot);

	if (gy_unlikely(house == NULL) ||
	    gy_unlikely(gy_load_acquire(&house->self.cookie) != cookie)) {
		return NULL;
	}
	return house;
}

static inline struct gyre_address gy_house_address(const struct gy_house *house)
{
	return (struct gyre_address){ .slot = house->self.slot,
				      .cookie = house->self.cookie,
				      .loop = house->self.loop,
				      .node = house->self.node };
}

/* ---- mailbox.c ---- */

/* The channel floor has work for this house, which is not stopping; any phase. */
void gy_house_channels_ready(struct gy_house *house);

/* Into the queue of its kind; its class there is fixed now. */
static inline void gy_house_ready(struct gy_house *house)
{
	struct gy_loop *loop = &house->home->loop;

	house->status = GY_HOUSE_READY;
	if (gy_unlikely(house->channels_actor)) {
		gy_loop_ready_channels(loop, &house->job, house->high);
	} else {
		gy_loop_ready_state(loop, &house->job, house->high);
	}
}

/* For a cause that is a bit of @pending. */
static inline void gy_house_wake(struct gy_house *house, uint32_t cause)
{
	if (house->status == GY_HOUSE_WAITING && (house->closed & cause) == 0) {
		gy_house_ready(house);
	}
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

/* It stops after the present message. */
static inline void gy_house_close(struct gy_house *house)
{
	house->closed = GY_CLOSED_BY_STOP;
	if (house->status == GY_HOUSE_WAITING) {
		gy_house_ready(house);
	}
}

/* Opens what nothing else keeps closed. */
static inline void gy_house_open(struct gy_house *house)
{
	if (!gy_house_is_stopped(house)) {
		house->closed = house->barrier == NULL ? 0 : GY_CLOSED_BY_BARRIER;
	}
}

/* Puts mail into a lane, its own, and the house into its queue if it waited. */
static inline void gy_house_put(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane)
{
	struct gy_node *last = house->lanes[lane];

	if (last == NULL) {
		mail->node.next = &mail->node;
		house->pending |= (uint8_t)(1U << lane);
	} else {
		mail->node.next = last->next;
		last->next = &mail->node;
	}
	house->lanes[lane] = &mail->node;
	if (lane <= GY_LANE_EXCEPTION) {
		house->high = ++house->replies > house->home->options.high_replies || house->high;
	} else if (lane == GY_LANE_EVENT) {
		house->high = ++house->events > house->home->options.high_events || house->high;
	}
	gy_house_wake(house, 1U << lane);
}

/* Takes a whole lane, as a list that ends in NULL; @ret_last is its end. */
static inline struct gy_node *gy_house_take_lane(struct gy_house *house, enum gy_lane lane,
						 struct gy_node **ret_last)
{
	struct gy_node *last = house->lanes[lane];
	struct gy_node *first = last->next;

	last->next = NULL;
	house->lanes[lane] = NULL;
	house->pending &= (uint8_t) ~(1U << lane);
	*ret_last = last;
	return first;
}

/* Puts the rest of a taken lane back at its front. */
void gy_house_put_back(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
		       struct gy_node *last);

/* Puts a notice before all others that wait, whatever the limit; any phase. */
void gy_house_put_first(struct gy_house *house, struct gyre_mail *mail);
/* At the end of a run in which that was done. */
GY_COLD void gy_house_open_front(struct gy_house *house);

/* ---- send.c ---- */

/* A mail from this loop's pool with @bytes of payload; NULL when there is no memory. */
static inline struct gyre_mail *gy_mail_get(struct gy_home *home, const struct gyre_type *type)
{
	struct gy_node *node =
		gy_loop_node_get(&home->loop, GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes);
	struct gyre_mail *mail;

	if (gy_unlikely(node == NULL)) {
		return NULL;
	}
	mail = gy_mail_of(node);
	mail->type = type;
	return mail;
}

static inline void gy_mail_put(struct gy_home *home, struct gyre_mail *mail)
{
	gy_loop_node_put(&home->loop, &mail->node);
}

static inline void gy_mail_from(struct gyre_mail *mail, const struct gy_house *house)
{
	mail->from = house->self;
}

/*
 * For a house with a limit: counts an ask or a notice that is about to be put, or drops it. Other
 * lanes are never refused.
 */
bool gy_house_admit(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane);
/* One of a bounded house waits no longer, so that there is room again. */
void gy_house_count_down(struct gy_house *house);
/* Sets the limit of a new house; mail that overtook the order to spawn it is counted now. */
void gy_house_bound(struct gy_house *house, uint32_t limit);

/* The way to another loop, and whatever is out of the ordinary. */
int gy_send_away(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

/*
 * Routes a mail to the lane of its kind; its kind and sender are set. -ESRCH when it is known at
 * once that nobody is there. On the same loop this is all there is: no atomic instruction, no call.
 */
static inline int gy_send(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
			  enum gy_lane lane)
{
	if (gy_likely(to.loop == home->loop.index && to.node == 0)) {
		struct gy_house *house = gy_house_find(home, to.slot, to.cookie);

		if (gy_likely(house != NULL)) {
			gy_count(&home->counters.sent, 1);
			if (gy_unlikely(house->limit != 0) && !gy_house_admit(house, mail, lane)) {
				return -ENOBUFS;
			}
			gy_house_put(house, mail, lane);
			return 0;
		}
	}
	return gy_send_away(home, to, mail);
}

/* What has become of a mail that cannot be delivered: counted, its asker told @error, freed. */
GY_COLD void gy_drop(struct gy_home *home, struct gyre_mail *mail, struct gyre_address to,
		     enum gyre_drop reason, int error);
/* Answers an ask with an error. The ask's own mail becomes the answer, so this cannot fail. */
void gy_fail_ask(struct gy_home *home, struct gyre_mail *ask, int error);
/* Puts an event without payload into a house. */
int gy_send_signal(struct gy_home *home, struct gyre_address to, const struct gyre_type *type,
		   enum gy_mail_kind kind);
void gy_home_deliver(struct gy_loop *loop, struct gy_node *node);

/* ---- dispatch.c ---- */

void gy_house_run(struct gy_loop *loop, struct gy_job *job);

/* ---- life.c ---- */

/* For spawning from another floor. The address is reserved; the spawn mail goes to its loop. */
int gy_spawn(struct gy_home *home, const struct gyre_class *class, struct gyre_mail *argument,
	     uint16_t loop, bool channels_actor, struct gyre_address *ret_address);
/* The same from any thread, with an argument from the heap. */
int gy_spawn_from_outside(struct gy_home *home, const struct gyre_class *class,
			  struct gyre_mail *argument, bool channels_actor,
			  struct gyre_address *ret_address);
void gy_spawn_arrived(struct gy_home *home, struct gyre_mail *mail);
void gy_house_mount(struct gy_loop *loop, struct gy_job *job);
/* Takes the house down; it may stay in STOPPING until its channels are closed. */
void gy_house_stop(struct gy_house *house);
/* The channel floor has closed the last channel of a stopping house. */
void gy_house_channels_closed(struct gy_house *house);

/* ---- restart.c ---- */

/* A notice or an event has failed: does what the strategy says, or has it done after the message.
 */
void gy_house_failed(struct gy_house *house);
/* Between two messages: restarts, if that is due. */
void gy_house_restart(struct gy_house *house);
void gy_restart_fini(struct gy_house *house);

/* ---- timer.c ---- */

/* Whether the event of a timer is still wanted; then its timeout is up to date. */
bool gy_timer_claim(struct gy_house *house, struct gyre_mail *mail);
void gy_timers_stop(struct gy_house *house);

#endif
