/*
 * The home: a loop with all that its houses share. The homes of a system stand in one array, which
 * the first member of the system describes.
 *
 * A home belongs to the thread of its loop, apart from fields that are marked atomic and the table
 * of slots.
 */
#ifndef GY_ACTOR_HOME_H
#define GY_ACTOR_HOME_H

#include <gyre/counters.h>

#include <pthread.h>
#include <string.h>

#include "actor/class_info.h"
#include "actor/house.h"
#include "actor/life/family.h"
#include "actor/mail/mail.h"
#include "actor/slots.h"
#include "actor/upper_ops.h"
#include "base/atomic.h"
#include "base/log/log_limit.h"
#include "base/memory/size_pools.h"
#include "base/sized.h"
#include "loop/loop.h"

struct gy_class_log;
struct gy_net;
struct gy_nodes;
struct gy_promise;
struct gy_stack;

/* ---- the shutdown ---- */

/* How long an actor has held a phase. */
struct gy_shutdown_hold {
	uint64_t held_ns;
	const struct gyre_class *class; /* NULL: nobody has */
	struct gyre_address address;
	char path[GYRE_PATH_TEXT_MAX];
	uint32_t phase;
	bool abandoned; /* nobody waits for it any more */
};

/* Of one loop; see life/shutdown.c. */
struct gy_shutdown {
	uint32_t phase;	  /* atomic: the last that has begun; enum gyre_shutdown_phase, or 0 */
	uint32_t holding; /* houses that hold it */
	bool untold;	  /* some may not have been told yet */
	uint64_t begun_ns;
	uint64_t deadline_ns;
	struct gy_shutdown_hold longest;
};

/* ---- loops of one actor ---- */

/* Who takes the loop names the slot of the actor, before it sends the order to make it. */
struct gy_pinned {
	uint32_t taken; /* atomic */
	uint32_t slot;	/* atomic; GY_PINNED_NONE where no such actor is */
};
#define GY_PINNED_NONE UINT32_MAX

/* ---- all homes of a system ---- */

/*
 * The first member of a system, so that lower floors find the homes. A home that was made stays;
 * @loops tells which of them take part.
 */
struct gy_homes {
	uint32_t count;		/* of homes that were made; atomic, only grows */
	uint16_t node;		/* 0 in a system that is no node */
	struct gy_net *net;	/* the net floor's */
	struct gy_nodes *nodes; /* the remote floor's; NULL in a system that is no node */
	struct gy_home *homes;	/* an array */
	struct gy_loops *loops;
	const struct gy_log *log;
	uint32_t crowded_at; /* atomic: how much counted mail that waits is told to the directory */
	pthread_mutex_t placing; /* held while loops come or go, and to place things on each */
	uint32_t stacks[GY_SIZES_COUNT]; /* atomic, as the next two: how many there are */
	uint32_t parts[GY_SIZES_COUNT];
	uint32_t promises;
	struct gy_promise *spare_promises;   /* atomic; a list: see promise.c */
	struct gy_promise ***promise_places; /* atomic: see promise_places.c */
	uint32_t promise_count;		     /* atomic: how many have a place */
	uint32_t promise_homes;		     /* atomic: homes that may look there */
	struct gy_class_log *class_logs;     /* atomic; a list: see class_log.c */
	uint32_t handler_logs;		     /* atomic; how many in that list are of handlers */
	uint32_t log_lines_max;		     /* that a program may log, a second and class */
	uint32_t orphans; /* atomic; actors without a parent that were ever spawned */
	struct gy_log_limit other_lines; /* that a program logs for no class or handler */
	struct gy_table_copies tables;	 /* of programs that are older than this library */
	uint32_t shutdown_wanted[5];	 /* atomic, by phase: an actor has ever wanted to hold it */
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

/* ---- one home ---- */

/* Reports each message that is lost to the system. */
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
	/* Round robin, counted separately for channels actors. */
	uint16_t (*next_loop)(struct gyre_system *system, bool channels_actor);
	/* Takes a loop for an actor of its own: its index, or -ENOBUFS. Any thread. */
	int (*take_pinned)(struct gyre_system *system);
	/* @error: the result of the system, if it was not about to stop; 0 for none. */
	void (*shut_down)(struct gyre_system *system, int error);
	/* Takes mail that was posted after the loops had ended; any thread, several at once. */
	void (*take_late)(struct gy_home *home);
	const struct gy_directory_ops *directory; /* NULL for none */
	const struct gy_remote_ops *remote;	  /* NULL in a system that is no node */
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

/* gy_home.here while a loop runs a stolen actor: matches no address, so all mail takes the inboxes.
 */
enum { GY_LOOP_NONE = 0xfffd };

struct gy_home {
	struct gy_loop loop;
	/* Mail to this loop and node, as they stand in an address, may be put into houses directly.
	 * @here is the loop or GY_LOOP_NONE; @node is 0 in a system that is no node. */
	uint16_t here;
	uint16_t node;
	uint32_t life; /* atomic: in addresses of this node; 0 in a system that is no node */
	struct gy_slots slots;
	struct gy_home_options options;
	struct gy_sizes stacks;
	struct gy_sizes parts; /* states, hash buckets, timers, and other parts of houses */
	struct gy_pool promises;
	uint32_t ask_span; /* of an ask with the default time-out: see gy_patience_span() */
	struct gy_promise *spare_promises;   /* taken from those of all homes */
	struct gy_promise ***promise_places; /* the system's: see promise_places.c */
	struct gy_class_infos class_infos;
	/* By parent; changed under the mutex of @slots, since other threads look there. */
	struct gy_table families;
	struct gy_family roots[GY_ROOTS]; /* of actors without a parent */
	struct gy_family *recent_family;
	struct gy_stack *scratch[GY_SIZES_COUNT];
	struct gy_stack *envelope; /* whose answer waits in that of its question: envelope.c */
	const struct gy_channel_ops *channel_ops;
	struct gy_actor_counters counters;
	uint32_t houses; /* mounted or about to be */
	uint64_t number; /* the last of gy_home_number() */
	struct gy_log_limit cycles_limit;
	struct gy_timer unlogged_timer; /* see class_log.c */
	struct gy_timer retry_timer; /* lanes are closed for lack of memory; see memory_retry.c */
	uint64_t probes_ns;	     /* since when @probes are counted; see ask_cycle.c */
	uint32_t probes;
	/* Mail for the front of lanes of the running house: rings, as in a house. */
	struct gy_node *put_first[GY_LANES];
	bool front_waits;	     /* one of @put_first is not empty */
	struct gy_node *orders_kept; /* for houses that are away: a ring, by its last */
	struct gy_node *tasks_kept;  /* likewise, and for those that are not mounted */
	bool draining;		     /* nothing new is spawned here: the system stops */
	bool leaving;		     /* nothing new is spawned here: the loop retires */
	bool watches_waited;	     /* for memory, some time, among events; see watch.c */
	uint32_t check_slot;	     /* the next that gy_home_check() looks at */

	/* Read by gy_home_get_running(): */
	const struct gy_house *running; /* or the last that ran: its status tells */
	const struct gy_house *hook;	/* whose mount or clean hook runs */
	const struct gy_stack *resumed; /* that a promise has resumed */
	uint32_t steps;			/* calls of user code without a message */

	struct gy_shutdown shutdown;
	struct gy_pinned pinned;
	struct gy_promise *stops_owed; /* orders to stop that wait for memory; see bound_ask.c */
};

int gy_home_init(struct gy_home *home, const struct gy_loop_options *loop,
		 const struct gy_home_options *options);

/*
 * Objects of actors that were never returned: the sum over the homes of a system, since a stolen
 * actor takes objects on one loop and gives them back on another.
 */
struct gy_leaks {
	int32_t stacks;
	int32_t parts;
	int32_t promises;
};

/* Takes a half made home too. Adds to @leaks. */
void gy_home_fini(struct gy_home *home, struct gy_leaks *leaks);
/* Logs leaks, if there are any, as an error. */
void gy_leaks_log(const struct gy_leaks *leaks, const struct gy_log *log);

static inline struct gy_home *gy_home_of(struct gy_loop *loop)
{
	return gy_container_of(loop, struct gy_home, loop);
}

static inline struct gy_home *gy_home_peer(const struct gy_home *home, uint16_t loop)
{
	return gy_home_of(home->loop.peers->loop[loop]);
}

/* A number that no home of the system gives twice; the upper part is the loop's. */
enum { GY_NUMBER_BITS = 48 };

static inline uint64_t gy_home_number(struct gy_home *home)
{
	return (uint64_t)home->loop.index << GY_NUMBER_BITS | ++home->number;
}

/* Asserts what holds of a home between two turns, and of the next houses in the order of slots. */
void gy_home_check(struct gy_home *home);

/* ---- addresses ---- */

_Static_assert(offsetof(struct gyre_address, node) ==
			       offsetof(struct gyre_address, loop) + sizeof(uint16_t) &&
		       offsetof(struct gy_home, node) ==
			       offsetof(struct gy_home, here) + sizeof(uint16_t),
	       "compared as one");

/* Whether mail to that address may be put into its house directly: compares loop and node at once.
 */
static inline bool gy_is_here(const struct gy_home *home, struct gyre_address to)
{
	uint32_t here;
	uint32_t there;

	memcpy(&here, &home->here, sizeof(here));
	memcpy(&there, &to.loop, sizeof(there));
	return here == there;
}

/* The same of the sender of a mail. */
static inline bool gy_mail_is_from_here(const struct gy_home *home, const struct gyre_mail *mail)
{
	uint32_t here;
	uint32_t there;

	memcpy(&here, &home->here, sizeof(here));
	memcpy(&there, &mail->from.loop, sizeof(there));
	return here == there;
}

/* Whether an address is of this node; always, in a system that is no node. */
static inline bool gy_is_of_node(uint16_t node, struct gyre_address to)
{
	return to.node == node || to.node == 0;
}

/* An address as users get it: made from an origin, with the life of its node. */
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

/* The sender of a mail as users get it; nobody for mail from nobody. */
static inline struct gyre_address gy_sender_shown(const struct gy_home *home,
						  const struct gyre_mail *mail)
{
	return mail->from.cookie == 0 ? GYRE_NOBODY : gy_address_shown(home, gy_mail_sender(mail));
}

/* Publishes an event of gyre's own, on the loop's thread; nothing in a home without a system. */
static inline void gy_home_publish(struct gy_home *home, const struct gyre_type *type,
				   const void *event)
{
	const struct gy_directory_ops *directory = home->options.directory;

	if (directory != NULL && directory->publish != NULL) {
		directory->publish(home->options.system, home, type, event);
	}
}

/* Whether two addresses that users gave, or were shown, name the same actor. */
static inline bool gy_address_equal(const struct gy_home *home, struct gyre_address a,
				    struct gyre_address b)
{
	return gy_address_same(a, b) && (a.life == b.life || gy_is_of_node(home->node, a));
}

/* ---- houses, by slot ---- */

static inline struct gy_house *gy_house_at(const struct gy_home *home, uint32_t slot)
{
	struct gy_house *chunk;

	if (gy_unlikely(slot >> GY_CHUNK_BITS >= GY_CHUNKS_MAX)) {
		return NULL;
	}
	chunk = gy_load_acquire(&home->slots.chunks[slot >> GY_CHUNK_BITS]);
	return gy_unlikely(chunk == NULL) ? NULL : &chunk[slot % GY_CHUNK_HOUSES];
}

/* The loop is free for the next actor that wants one of its own. Any thread that has taken it. */
static inline void gy_pinned_release(struct gy_home *home)
{
	gy_store_relaxed(&home->pinned.slot, GY_PINNED_NONE);
	gy_store_release(&home->pinned.taken, 0);
}

/* The house that an address of this loop names, NULL when it is stale. The actor may be stopping.
 */
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

/* The same, but NULL for an actor that stops. On the loop's own thread. */
static inline struct gy_house *gy_house_find_occupied(const struct gy_home *home, uint32_t slot,
						      uint32_t cookie)
{
	struct gy_house *house = gy_house_find(home, slot, cookie);

	return house != NULL && gy_house_is_occupied(house) ? house : NULL;
}

/* Whether an actor of this loop is there, also one that is still to be mounted, or stops. One for
 * which there was no memory, or whose mount has failed, is not. Any thread. */
static inline bool gy_house_is_there(const struct gy_home *home, struct gyre_address actor)
{
	return actor.cookie != 0 && gy_house_find(home, actor.slot, actor.cookie) != NULL;
}

/*
 * The house that an address of this loop names, for mail from @from, which runs at home: the look
 * at where its last mail went saves most of a search. NULL when the address is stale.
 */
static inline struct gy_house *gy_house_find_recent(const struct gy_home *home,
						    struct gy_house *from, struct gyre_address to)
{
	struct gy_house *house = from->recent;

	if (gy_house_is_named(house, to)) {
		gy_assume(house != NULL);
		return house;
	}
	house = gy_house_find(home, to.slot, to.cookie);
	if (gy_likely(house != NULL)) {
		from->recent = house;
	}
	return house;
}

/* Whether that is a house to which mail did not go last; now it has. For those that take turns. */
static inline bool gy_house_finds_another(const struct gy_home *home, struct gy_house *from,
					  struct gyre_address to)
{
	return gy_is_here(home, to) && !gy_house_is_named(from->recent, to) &&
	       gy_house_find_recent(home, from, to) != NULL;
}

/* ---- the running actor ---- */

/* The actor and the message that a loop runs at a moment. */
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

/* The house whose actor the loop runs; NULL when it runs none. As the next one. */
const struct gy_house *gy_home_running_house(const struct gy_home *home);
/*
 * False when no user code runs. For a signal handler on the loop's own thread, which may interrupt
 * anything: reads only fields that are valid at every moment.
 */
bool gy_home_get_running(const struct gy_home *home, struct gy_running *ret_running);

/* The house is about to run. */
static inline void gy_home_show_running(struct gy_home *home, const struct gy_house *house)
{
#if GY_INSPECT
	gy_store_relaxed(&home->running, house);
#else
	(void)home;
	(void)house;
#endif
}

/* Another thread may have @house from now on, so gy_home_get_running() must not read it. */
static inline void gy_home_clear_running(struct gy_home *home, const struct gy_house *house)
{
	if (home->running == house) {
		gy_store_relaxed(&home->running, NULL);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
}

#endif
