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
#include <string.h>

#include "actor/class_info.h"
#include "actor/class_log.h"
#include "actor/mail.h"
#include "base/log_limit.h"
#include "base/table.h"

struct gy_house_extra;
struct gy_family;
struct gy_home;
struct gy_stack;

/* While a loop runs the actor of another, for then all mail goes by way of inboxes. */
enum { GY_LOOP_NONE = 0xfffd };

enum gy_house_status {
	GY_HOUSE_FREE,
	GY_HOUSE_CREATED,  /* reserved: mail may come, nothing runs */
	GY_HOUSE_MOUNTING, /* in the mounting queue */
	GY_HOUSE_WAITING,
	GY_HOUSE_READY,	    /* in the channels or the state queue */
	GY_HOUSE_SCHEDULED, /* taken from it: about to run, or another loop may run it */
	GY_HOUSE_RUNNING,
	GY_HOUSE_STOPPING, /* its channels and children end */
	GY_HOUSE_STATUSES,
};

/* Whether a house may go from one state to another; see mailbox.c. */
bool gy_house_status_is_allowed(enum gy_house_status from, enum gy_house_status to);

/* What is waiting, a bit each: a lane, or work of the channel floor. */
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
	struct gy_class_info *class_info; /* its class, and what goes with it */
	struct gy_home *home;
	struct gy_table promises; /* outstanding asks, by id */
	uint64_t ask_id;	  /* of the last ask */

	uint32_t replies; /* waiting, exceptions included */
	uint32_t events;
	uint32_t limit;	  /* of @waiting; 0 for none, and then they are not counted */
	uint32_t waiting; /* asks and notices; read from any thread */
	bool channels_actor;
	bool plain;	       /* as its kind, and nothing else is to be done in a run */
	uint8_t passed_over;   /* lanes that the next pass leaves out, and GY_ENDS_HELD */
	bool above_mark;       /* told so by gyre_mailbox_mark */
	bool close_at_home;    /* an order to stop has come while it was away */
	uint32_t next_sibling; /* slots, in the ring of the family */
	uint32_t previous_sibling;
	struct gy_list suspended;     /* stacks */
	struct gy_house_extra *extra; /* NULL until something there is needed */
	struct gyre_mail *sealed;     /* what a thief is to run; see steal_actor.c */
	struct gy_family *family;     /* that it is a child in; NULL for none */
} GY_ALIGNED_LINE;		      /* what a sender touches is in the first line */

_Static_assert(sizeof(struct gy_house) <= 192, "a million idle actors must stay under 300 MB");

/* What the channel floor does for houses of channels actors; on the loop's thread. */
struct gy_channel_ops {
	void (*run)(struct gy_house *house, struct gy_stack *stack); /* completed operations */
	bool (*stop)(struct gy_house *house); /* closes what is open; whether all is closed */
	void (*fini)(struct gy_house *house); /* frees what stands in the extra part */
	/* A house is back from another loop, and has opened something there. */
	void (*came_home)(struct gy_house *house);
	bool (*trim)(struct gy_loop *loop, uint32_t keep);
	/* Ends the traffic of a loop in good order: no more accepts or reads; what is queued is
	 * sent. */
	void (*drain)(struct gy_home *home);
	/* Closes at once what is still open. */
	void (*abort)(struct gy_home *home);
	uint32_t (*open_count)(const struct gy_home *home);
	/* The loop retires: what listens goes to other loops. The rest is served on. */
	void (*leave)(struct gy_home *home);
	/* The loop has retired: all is closed, and its ring goes. */
	void (*rest)(struct gy_home *home);
	/* It comes back, with another ring. */
	void (*resume)(struct gy_home *home);
	/* Takes mail to a slot of this loop that is a channel's; as gy_send(). Any phase. */
	int (*put)(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail);
};

/* The loop in the address of a group. */
enum { GY_GROUP_LOOP = 0xfffe };

/* What the system floor does for houses that have names or are in groups; on the loop's thread. */
struct gy_directory_ops {
	/* Takes mail for a group; as gy_send(). */
	int (*route)(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);
	/* A house is spawned as a member of a group; -ENOMEM. */
	int (*enlist)(struct gy_house *house, struct gyre_address group);
	/* One that was to be a member is not spawned after all. */
	void (*refuse)(struct gy_home *home, struct gyre_address member, struct gyre_address group);
	/* A house stops that has a listing in its extra part, and is still found. */
	void (*withdraw)(struct gy_house *house);
};

/* What the remote floor does with mail for other nodes; on the loop's thread. */
struct gy_remote_ops {
	/* Takes mail whose sender lives on this loop; as gy_send(), and counts it as sent. */
	int (*route)(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);
	/* A mail of the kind GY_MAIL_REMOTE has come from another thread of this node. After
	 * @drain, also by a thread that takes down a loop that has ended. */
	void (*arrived)(struct gy_home *home, struct gyre_mail *mail);
	/* The loop retires: links end in good order. Whether they have; asked again until then. */
	bool (*leave)(struct gy_home *home);
	/* The loop stops: no more mail leaves. Twice is harmless. */
	void (*drain)(struct gy_home *home);
	/* One that had stopped will turn again. */
	void (*resume)(struct gy_home *home);
	/* The address of an actor of another node, made of its origin, with the life. */
	struct gyre_address (*shown)(const struct gy_home *home, struct gyre_address address);
};

struct gy_actor_counters {
	uint64_t sent;
	uint64_t handled;
	uint64_t dropped[GYRE_DROP_COUNT];
	uint64_t to_nodes;
	uint64_t failed;
	uint64_t restarted;
	uint64_t spawned;
	uint64_t stopped;
};

enum {
	GY_CHUNK_BITS = 10,
	GY_CHUNK_HOUSES = 1 << GY_CHUNK_BITS,
	GY_CHUNKS_MAX = 1 << 14,
	GY_CHANNEL_SLOTS = GY_CHUNKS_MAX << GY_CHUNK_BITS, /* from there on they are of channels */
};

/* The table of slots: grown by any thread under the mutex, read by the loop without it. */
struct gy_slots {
	pthread_mutex_t mutex;
	struct gy_fifo free;
	uint32_t used; /* slots that were ever handed out */
	uint32_t cookie_seed;
	struct gy_house **chunks;
};

/*
 * The homes of a system: its first member, so that lower floors find them. A home that was made
 * stays; which of them take part @loops tells.
 */
struct gy_homes {
	uint32_t count;		/* atomic; of those that were made, which is never less */
	uint16_t node;		/* 0 in a system that is none */
	struct gy_nodes *nodes; /* the remote floor's; NULL in a system that is none */
	struct gy_home *homes;	/* an array */
	struct gy_loops *loops;
	const struct gy_log *log;
	pthread_mutex_t placing; /* held while loops come or go, and to place things on each */
	struct gy_list socket_registry; /* the net floor's, under @placing: sockets of each */
	uint32_t registry_serial;	/* likewise */
	int registry_taker;		/* likewise: by which another process gets them, or -1 */
	struct gy_list passed_sockets;	/* likewise: sockets of a process that this one succeeds */
	uint64_t
		bound_until_ns; /* atomic; before the start: how long, by the machine's clock,
				 * addresses may be those of a process that was killed; 0 for not */
	struct gy_table_item *spare_promises; /* atomic; a list: see promise.c */
	struct gy_class_log *class_logs;      /* atomic; a list: see class_log.c */
	uint32_t pending_opens; /* atomic: actors of sockets that are to be mounted; see
				   net/opening.h */
	int pending_open_error; /* atomic: why the first that could not be was not */
	void (*opened)(struct gy_homes *homes); /* one of them has changed; NULL for nobody */
};

static inline uint32_t gy_homes_made(const struct gy_homes *homes)
{
	return gy_load_acquire(&homes->count);
}

static inline struct gy_homes *gy_homes_of(struct gyre_system *system)
{
	return (struct gy_homes *)(void *)system;
}

static inline const struct gy_homes *gy_homes_of_const(const struct gyre_system *system)
{
	return (const struct gy_homes *)(const void *)system;
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
	uint16_t node;
	struct gyre_system *system;
	gy_dead_letter_fn dead_letter; /* may be NULL */
	/* Round robin; channels actors have a turn of their own. */
	uint16_t (*next_loop)(struct gyre_system *system, bool channels_actor);
	void (*shut_down)(struct gyre_system *system);
	/* Takes what was posted after the loops had ended; any thread, several at once. */
	void (*take_late)(struct gy_home *home);
	const struct gy_directory_ops *directory; /* NULL for none */
	const struct gy_remote_ops *remote;	  /* NULL in a system that is no node */
};

struct gy_home {
	struct gy_loop loop;
	/* What mail may be put into houses directly for, as it stands in an address: this loop, or
	 * GY_LOOP_NONE; and the node, 0 in a system that is none. */
	uint16_t here;
	uint16_t node;
	uint32_t life; /* atomic: that addresses of the node have; 0 in a system that is none */
	struct gy_slots slots;
	struct gy_home_options options;
	struct gy_sizes stacks;
	struct gy_sizes parts; /* states, hash buckets, timers, and other parts of houses */
	struct gy_pool promises;
	struct gy_table_item *spare_promises; /* taken from those of all homes */
	struct gy_class_infos class_infos;
	struct gy_table families; /* by parent */
	struct gy_family *recent_family;
	struct gy_stack *scratch[GY_SIZES_COUNT];
	const struct gy_channel_ops *channel_ops;
	struct gy_actor_counters counters;
	uint32_t houses; /* mounted or about to be */
	uint64_t number; /* the last that gy_home_number() gave */
	struct gy_log_limit cycles_limit;
	struct gy_timer unlogged_timer; /* see class_log.c */
	struct gy_timer lack_timer; /* houses are closed by lack of memory; see memory_retry.c */
	uint64_t probes_ns;	    /* since when @probes are counted; see ask_cycle.c */
	uint32_t probes;
	/* For the front of lanes of the running house: rings, where any of them is not empty. */
	struct gy_node *put_first[GY_LANES];
	bool front_waits;
	struct gy_node *deferred; /* orders to houses that are away: a ring, by its last */
	bool draining;		  /* nothing new is spawned here: the system stops */
	bool leaving;		  /* nothing new is spawned here: the loop retires */

	/* What is running, for gy_home_get_running(). */
	const struct gy_house *running; /* or the last that did: its status tells */
	const struct gy_house *hook;	/* whose mount or clean hook runs */
	const struct gy_stack *resumed; /* that a promise has resumed */
	uint32_t steps;			/* counts calls of user code that are no messages */
};

int gy_home_init(struct gy_home *home, const struct gy_loop_options *loop,
		 const struct gy_home_options *options);

/*
 * Objects of actors that were never returned: the sum over the homes of a system, since a stolen
 * actor takes them here and gives them back there.
 */
struct gy_leaks {
	int32_t stacks;
	int32_t parts;
	int32_t promises;
};

/* Takes a half made one too. Adds to @leaks. */
void gy_home_fini(struct gy_home *home, struct gy_leaks *leaks);
/* Logs leaks, if there are any, as an error. */
void gy_leaks_log(const struct gy_leaks *leaks, const struct gy_log *log);

static inline struct gy_home *gy_home_of(struct gy_loop *loop)
{
	return gy_container_of(loop, struct gy_home, loop);
}

/* Whether mail to that address may be put into its house directly: one comparison of both. */
static inline bool gy_is_here(const struct gy_home *home, struct gyre_address to)
{
	uint32_t here;
	uint32_t there;

	memcpy(&here, &home->here, sizeof(here));
	memcpy(&there, &to.loop, sizeof(there));
	return here == there;
}

_Static_assert(offsetof(struct gyre_address, node) ==
			       offsetof(struct gyre_address, loop) + sizeof(uint16_t) &&
		       offsetof(struct gy_home, node) ==
			       offsetof(struct gy_home, here) + sizeof(uint16_t),
	       "compared as one");

/* Whether an address is of this node; a system that is none has no other. */
static inline bool gy_is_of_node(uint16_t node, struct gyre_address to)
{
	return to.node == node || to.node == 0;
}

/* An address made of an origin, as users get it: with the life of its node. */
static inline struct gyre_address gy_address_shown(const struct gy_home *home,
						   struct gyre_address address)
{
	if (gy_likely(address.node == home->node)) {
		address.life = gy_load_relaxed(&home->life);
	} else if (home->options.remote != NULL && address.cookie != 0) {
		address = home->options.remote->shown(home, address);
	}
	return address;
}

/* The same of the sender of a mail: nobody for one from nobody. */
static inline struct gyre_address gy_sender_shown(const struct gy_home *home,
						  const struct gyre_mail *mail)
{
	return mail->from.cookie == 0 ? GYRE_NOBODY : gy_address_shown(home, gy_mail_sender(mail));
}

/* Whether two addresses that users gave, or were shown, name the same actor. */
static inline bool gy_address_equal(const struct gy_home *home, struct gyre_address a,
				    struct gyre_address b)
{
	return gy_address_same(a, b) && (a.life == b.life || gy_is_of_node(home->node, a));
}

/* For gy_home_get_running(), which is not to look at a house that another thread may have. */
static inline void gy_home_clear_running(struct gy_home *home, const struct gy_house *house)
{
	if (home->running == house) {
		gy_store_relaxed(&home->running, NULL);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
}

/* A number that no home of the system gives twice; the upper part is the loop's. */
enum { GY_NUMBER_BITS = 48 };

static inline uint64_t gy_home_number(struct gy_home *home)
{
	return (uint64_t)home->loop.index << GY_NUMBER_BITS | ++home->number;
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

/* Whether somebody has a house that was found, or will: what another node makes up may be the
 * address that it has next. */
static inline bool gy_house_is_occupied(const struct gy_house *house)
{
	return house->status != GY_HOUSE_FREE && house->status != GY_HOUSE_STOPPING;
}

/* What a house that stops was known by, until its cookie went on: see gy_house_stop(). */
static inline uint32_t gy_house_last_cookie(const struct gy_house *house)
{
	return house->self.cookie == 1 ? UINT32_MAX : house->self.cookie - 1;
}

static inline struct gyre_address gy_house_address(const struct gy_house *house)
{
	return gy_origin_address(house->self);
}

/* ---- mailbox.c ---- */

static inline void gy_house_set_status(struct gy_house *house, enum gy_house_status to)
{
	gy_verify(gy_house_status_is_allowed((enum gy_house_status)house->status, to));
	house->status = (uint8_t)to;
}

/* The channel floor has work for this house, which is not stopping; any phase. */
void gy_house_channels_ready(struct gy_house *house);

/* Into the queue of its kind; its class there is fixed now. */
static inline void gy_house_ready(struct gy_house *house)
{
	struct gy_loop *loop = &house->home->loop;

	gy_house_set_status(house, GY_HOUSE_READY);
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

/* It stops after the present message, for a reason: a negative errno, or 0. */
GY_COLD void gy_house_close(struct gy_house *house, int reason);

/* Opens what nothing else keeps closed. */
void gy_house_open(struct gy_house *house);

/* Puts mail into a lane, its own, and the house into its queue if it waited. */
static inline void gy_house_put(struct gy_home *home, struct gy_house *house,
				struct gyre_mail *mail, enum gy_lane lane)
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
		house->high = ++house->replies > home->options.high_replies || house->high;
	} else if (lane == GY_LANE_EVENT) {
		house->high = ++house->events > home->options.high_events || house->high;
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

/*
 * Puts a list of asks or notices before all others of the kind that wait, whatever the limit; any
 * phase.
 */
void gy_house_put_first(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
			struct gy_node *last);
/* At the end of a run in which that was done. */
GY_COLD void gy_house_open_front(struct gy_house *house);

/* ---- send.c ---- */

/* gy_mail_get() where the pool is empty, or the type is not a plain one. */
GY_COLD struct gyre_mail *gy_mail_get_slow(struct gy_home *home, const struct gyre_type *type);

/*
 * A mail from this loop's pool with room for a payload of @type; NULL when there is no memory. The
 * slow way ends in a call of its own, so that the fast one saves no registers. @bytes is what it
 * takes with its header, and @size_class the pool that has those.
 */
static inline struct gyre_mail *gy_mail_get_of_class(struct gy_home *home,
						     const struct gyre_type *type, size_t bytes,
						     uint8_t size_class)
{
	if (gy_likely(size_class != GY_SIZES_HEAP && type->destroy == NULL)) {
		void *memory = gy_pool_take(&home->loop.nodes.pools[size_class]);

		if (gy_likely(memory != NULL)) {
			struct gyre_mail *mail = gy_mail_of(
				gy_loop_node_init(&home->loop, memory, bytes, size_class));

			mail->type = type;
			return mail;
		}
	}
	return gy_mail_get_slow(home, type);
}

static inline struct gyre_mail *gy_mail_get(struct gy_home *home, const struct gyre_type *type)
{
	size_t bytes = GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes;

	return gy_mail_get_of_class(home, type, bytes, gy_sizes_class(bytes));
}

/*
 * A mail that its sender gives away. In builds with all assertions it goes on in other memory, so
 * that a sender who still uses it sees poison at once instead of, sometimes, what the receiver does
 * with it. @home is NULL outside of actors; @mail may be NULL.
 */
#if GY_ASSERT_LEVEL >= 2
struct gyre_mail *gy_mail_given(struct gy_home *home, struct gyre_mail *mail);
#else
static inline struct gyre_mail *gy_mail_given(struct gy_home *home, struct gyre_mail *mail)
{
	gy_mail_expect_new(home, mail);
	return mail;
}
#endif

/* The end of a mail, wherever its memory is from; its payload is destroyed if that is due. */
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
/* Counts the mail of a house without a limit too, between two runs. */
void gy_house_count(struct gy_house *house);
/* Something has ended for which the runs of a house were not plain. */
void gy_house_update_plain(struct gy_house *house);

/* Into a house with a limit, if there is room; what has been counted as sent. */
int gy_send_bounded(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail,
		    enum gy_lane lane);
/* The way to another loop, and whatever is out of the ordinary. */
int gy_send_away(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

/*
 * Routes a mail to the lane of its kind; its kind and sender are set. -ESRCH when it is known at
 * once that nobody is there. On the same loop this is all there is: no atomic instruction, no call.
 */
static inline int gy_send(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
			  enum gy_lane lane)
{
	if (gy_likely(gy_is_here(home, to))) {
		struct gy_house *house = gy_house_find(home, to.slot, to.cookie);

		if (gy_likely(house != NULL)) {
			gy_count(&home->counters.sent, 1);
			if (lane == GY_LANE_ASK) {
				gy_mail_set_deadline(mail, home->loop.now_ns);
			}
			if (gy_unlikely(house->limit != 0)) {
				return gy_send_bounded(home, house, mail, lane);
			}
			gy_house_put(home, house, mail, lane);
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
/* The end of a run: does what waited for it, and what is next for the house. */
void gy_house_end_run(struct gy_home *home, struct gy_house *house);

/* Asks or notices that were taken out of a lane: a list that ends in NULL. */
struct gy_sealed_lane {
	struct gy_node *first;
	struct gy_node *last;
};

/*
 * Runs them on whatever loop @home is, of each kind as many as in a run at home, and leaves what
 * may not run now. How many were handled.
 */
uint32_t gy_house_run_sealed(struct gy_home *home, struct gy_house *house,
			     struct gy_sealed_lane *asks, struct gy_sealed_lane *notices);

/* ---- steal_actor.c ---- */

/* Whether it is where another loop may run it: only its lanes may be touched. On its own loop. */
static inline bool gy_house_is_away(const struct gy_house *house)
{
	return house->status == GY_HOUSE_SCHEDULED;
}

/* gy_house_close() for an order from outside of the house's own run. */
void gy_house_order_close(struct gy_house *house);
/* Keeps an order to a house that is away until it is back. */
void gy_house_defer(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
bool gy_house_seal(struct gy_loop *loop, struct gy_job *job);
void gy_house_unseal(struct gy_loop *loop, struct gy_job *job);
void gy_house_run_stolen(struct gy_loop *loop, struct gy_job *job);
/* A house has come home. */
void gy_house_came_home(struct gy_home *home, struct gyre_mail *mail);

/* ---- running.c ---- */

/* What runs on a loop at a moment. */
struct gy_running {
	const struct gy_class_info *class_info;
	const struct gyre_type *type; /* of the message; NULL when there is none */
	/* No two calls of user code agree in all of these, if there are no more than a few jobs
	 * between them. */
	const void *message;
	uint64_t handled;
	uint32_t steps;
	bool first; /* this call is the only one of its job */
};

/*
 * False when nothing of a user's runs. For a signal handler on the loop's own thread: it may come
 * in the middle of anything, so this reads only what is good at every moment.
 */
bool gy_home_get_running(const struct gy_home *home, struct gy_running *ret_look);

/* ---- lifecycle.c ---- */

struct gy_spawn_order {
	const struct gyre_class *class;
	struct gyre_mail *argument;
	struct gy_house *parent; /* for a spawn from its loop; NULL for none */
	struct gy_origin child_of;
	struct gyre_address group; /* that it is spawned for; nobody for none */
	bool channels_actor;
	bool counted; /* what waits for it is counted though the class has no limit */
	bool lent;    /* the argument stays the caller's when the call fails */
};

/* The address is reserved at once, and an order goes to its loop. Takes the argument. */
int gy_spawn(struct gy_home *home, const struct gy_spawn_order *order, uint16_t loop,
	     struct gyre_address *ret_address);
/* The same by a handler, where and as whose child @options say; @order has no parent yet. */
int gy_spawn_by(struct gyre_stack *stack, struct gy_spawn_order *order,
		const struct gyre_spawn_options *options, struct gyre_address *ret_address);
/* The same from any thread, for an orphan, with an argument from the heap. */
int gy_spawn_from_outside(struct gy_home *home, const struct gy_spawn_order *order,
			  struct gyre_address *ret_address);
void gy_spawn_arrived(struct gy_home *home, struct gyre_mail *mail);
void gy_house_mount(struct gy_loop *loop, struct gy_job *job);
/* Takes the house down; it may stay in STOPPING until its channels are closed. */
void gy_house_stop(struct gy_house *house);
/* The channel floor has closed the last channel of a stopping house. */
void gy_house_channels_closed(struct gy_house *house);
/* The last of its children has ended. */
void gy_house_children_gone(struct gy_house *house);

/* ---- restart.c ---- */

/* A notice or an event has failed: does what the strategy says, now or after the message. */
void gy_house_failed(struct gy_house *house, int error);
/* Between two messages: restarts, if that is due. */
void gy_house_restart(struct gy_house *house);
/* A stack that has waited has ended; if it was that of a hook, the restart goes on at the end of
 * the run. Whether it was. */
bool gy_restart_hook_ended(struct gy_stack *stack);
/* Whether no restart is under way. */
bool gy_restart_is_quiet(const struct gy_house *house);
void gy_restart_fini(struct gy_house *house);

/* ---- behaviour.c ---- */

/* The behaviour is the class's again, and nothing is underneath. */
void gy_behaviour_reset(struct gy_house *house);
/* NULL when the table has nothing for that id; @routes may be NULL. */
gyre_handler_fn gy_route_find(const struct gyre_route *routes, uint32_t id);

/* ---- loop_retire.c ---- */

/* The order to stop gracefully within a time from its arrival; its kind and sender are not set yet.
 * NULL without memory. */
struct gyre_mail *gy_graceful_stop_make(struct gy_home *home, uint64_t deadline_ns);
uint64_t gy_graceful_stop_deadline(const struct gyre_mail *mail);
/* Orders a house of this loop to stop gracefully, within a time; without memory it stops now. */
void gy_house_order_graceful_stop(struct gy_house *house, uint64_t deadline_ns);
/* The order to stop gracefully has come. Takes the mail. */
void gy_graceful_stop_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* It has come while the house is away, and will be delivered again. */
void gy_graceful_stop_defer(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* A poison notice is dispatched. */
GY_COLD void gy_house_poisoned(struct gy_house *house, const struct gyre_mail *poison);
/* Whether the house takes no more asks and notices, and stops when nothing is suspended. */
bool gy_graceful_stop_is_closing(const struct gy_house *house);
/* The house has ended. */
void gy_graceful_stop_end(struct gy_house *house);

/* ---- stash.c ---- */

/* Puts what is stashed back to the front of the mailbox; how many. */
uint32_t gy_house_unstash(struct gy_house *house, uint32_t count_max);
void gy_stash_drop(struct gy_house *house, struct gyre_address address, enum gyre_drop reason);

/* ---- receive_timeout.c ---- */

/* A message is dispatched by a house that has a receive time-out. */
void gy_receive_timeout_restart(struct gy_house *house);
/* Whether nothing has come since the event was made. */
bool gy_receive_timeout_claim(const struct gy_house *house, const struct gyre_mail *mail);
void gy_receive_timeout_stop(struct gy_house *house);

/* ---- timer.c ---- */

/* Whether the event of a timer is still wanted; then its timeout is up to date. */
bool gy_timer_claim(struct gy_house *house, struct gyre_mail *mail);
void gy_timers_stop(struct gy_house *house);
/* Takes the timers of a house with it to another loop's wheel: packed here, unpacked there. */
void gy_timers_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns);
void gy_timers_unpack(struct gy_house *house, struct gy_wheel *wheel);
void gy_receive_timeout_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns);
void gy_receive_timeout_unpack(struct gy_house *house, struct gy_wheel *wheel);
void gy_restart_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns);
void gy_restart_unpack(struct gy_house *house, struct gy_wheel *wheel);

#endif
