/*
 * A loop: one thread that in each turn serves its ring, then its channels jobs, then its state jobs
 * until a deadline. It schedules jobs and carries nodes between loops, and knows neither actors nor
 * channels: the floor above gives a table of functions that run a job or receive a node.
 *
 * Threads: a loop belongs to the thread that turns it. Others may touch only its inbox, its parked
 * flag and its waker, through gy_loop_post() and the functions of outbox.c.
 */
#ifndef GY_LOOP_LOOP_H
#define GY_LOOP_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"
#include "base/clock.h"
#include "base/inbox.h"
#include "base/log/log.h"
#include "base/memory/poison.h"
#include "base/memory/size_pools.h"
#include "loop/meter.h"
#include "loop/queue.h"
#include "loop/steal_ring.h"
#include "loop/wheel.h"
#include "ring/ring.h"

struct gy_loop;
struct gy_task;

/* The functions of the floor above; all run on the loop's thread, in any phase if none is named. */
struct gy_loop_ops {
	void (*run)(struct gy_loop *loop, struct gy_job *job);	     /* phases 2 and 3 */
	void (*mount)(struct gy_loop *loop, struct gy_job *job);     /* phase 2 */
	void (*deliver)(struct gy_loop *loop, struct gy_node *node); /* phase 2: from the inbox */
	/* gy_pool_trim() for each pool of the floors above. Returns whether to call it again. */
	bool (*trim)(struct gy_loop *loop, uint32_t keep);
	/* Releases the payload of a node with GY_NODE_HOLDS, and clears that bit. */
	void (*release)(struct gy_loop *loop, struct gy_node *node);
	/* Makes a ready job one that another loop may run; false if it may not. NULL: none may. */
	bool (*seal)(struct gy_loop *loop, struct gy_job *job);
	/* Makes it an ordinary ready job again. */
	void (*unseal)(struct gy_loop *loop, struct gy_job *job);
	/* Runs a job of another loop, and sends it home. */
	void (*run_stolen)(struct gy_loop *loop, struct gy_job *job);
	/* The counter for the ticks of a job; it outlives the job. NULL: they are not counted. */
	uint64_t *(*busy)(struct gy_loop *loop, struct gy_job *job);
	/* A node was posted after gy_loop_end(). Any thread, several at once. */
	void (*posted_late)(struct gy_loop *loop);
	/* Walks structures of the floor above, at assertions=full alone; NULL for none. */
	void (*check)(struct gy_loop *loop);
};

/*
 * A watcher of loops: another thread that sleeps while all loops are parked. A loop that leaves its
 * park sets its flag to awake and then reads @asleep; the watcher sets @asleep and then reads the
 * flags. All four are sequentially consistent, so that either the loop sees that it must wake the
 * watcher, or the watcher sees that it may not sleep.
 */
struct gy_loop_watch {
	uint32_t asleep;			   /* atomic */
	void (*wake)(struct gy_loop_watch *watch); /* on the loop's thread; clears @asleep */
};

/* A function to be run on a loop, in phase 2, posted from any thread. */
struct gy_task {
	struct gy_node node;
	bool embedded; /* its memory is part of an object: it is not freed if it was not run */
	void (*run)(struct gy_loop *loop, struct gy_task *task);
	/* In place of @run where the loop has ended: when its system does, on the thread that
	 * destroys it; NULL for nothing. */
	void (*came_late)(struct gy_task *task);
};

/* A function to be run at the end of the present job, or of the present phase. */
struct gy_later {
	struct gy_fifo_item link;
	void (*run)(struct gy_loop *loop, struct gy_later *later);
};

/* Kinds of nodes that the loop itself takes from its inbox; others go to ops->deliver. */
enum { GY_NODE_TASK = GY_NODE_RETURNED + 1, GY_NODE_KINDS };

struct gy_loop_options {
	uint16_t index;
	int cpu; /* to be pinned to; -1 for none */
	uint32_t io_ratio;
	uint32_t starvation_limit;
	uint32_t steal_floor;
	uint32_t steal_aggression;
	uint64_t min_budget_ns;
	uint64_t timer_tick_ns;
	int64_t spin_ns; /* GY_SPIN_AUTO, GY_SPIN_NEVER, or a time */
	bool embedded;	 /* never blocks: somebody else waits, see gy_loop_rest() */
	struct gy_ring_options ring;
	struct gy_clock clock;
	const struct gy_log *log;
	const struct gy_loop_ops *ops;
};

/*
 * A loop's parked flag: awake; asleep; asleep and about to be woken by the loop of that index;
 * ended; or retired, and its deputy does not look at its inbox (retired.c).
 */
enum {
	GY_AWAKE = 0,
	GY_PARKED = 1,
	GY_PARKED_WAKER = 2,
	GY_ENDED = 0x40000000,
	GY_PARKED_RETIRED = 0x7fffffff,
};

enum { GY_SPIN_AUTO = -1, GY_SPIN_NEVER = -2 };

/*
 * All loops of a system, as a loop sees them. A loop that was made stays, so a pointer from here is
 * good for as long as the system lives. The first @count loops take part; from there to @made are
 * loops that retire, or have retired.
 */
struct gy_loops {
	uint64_t published GY_ALIGNED_LINE; /* jobs that may be stolen; atomic, seldom changes */
	uint32_t calls;			    /* atomic: mail has come for a retired loop */
	uint32_t count GY_ALIGNED_LINE;	    /* atomic */
	uint32_t made;			    /* atomic; never less */
	uint32_t max;			    /* how many there may be */
	struct gy_loop *loop[];
};

static inline uint32_t gy_loops_count(const struct gy_loops *loops)
{
	return gy_load_acquire(&loops->count);
}

/* Acquires: a loop that is counted here is made completely. */
static inline uint32_t gy_loops_made(const struct gy_loops *loops)
{
	return gy_load_acquire(&loops->made);
}

/* Written by the loop with gy_count(), read from any thread. */
struct gy_loop_counters {
	uint64_t turns;
	uint64_t parks;		 /* waits that could block */
	uint64_t wakes_sent;	 /* parked peers woken */
	uint64_t nodes_sent;	 /* to other loops, returned nodes among them */
	uint64_t chains_sent;	 /* exchanges that took */
	uint64_t nodes_received; /* from the inbox */
	uint64_t jobs_run;
	uint64_t jobs_published;
	uint64_t jobs_stolen; /* from others */
};

/* The nodes on their way to one peer. */
struct gy_outbox {
	struct gy_chain chain;
	bool waiting; /* in the list of outboxes to flush */
	bool mail;    /* something in the chain is more than a returned node */
	uint16_t borrowed_count;
	struct gy_node **borrowed; /* nodes of the peer: see borrowed.h; NULL until there is one */
};

/* Nodes on their way home to the pool of a thread that turns no loop: see foreign_nodes.h. */
struct gy_foreign_chain {
	struct gy_chain chain;
	uint32_t origin; /* of all its nodes */
};

/* How many chains of that kind a loop gathers at once. */
enum { GY_FOREIGN_CHAINS = 16 };

struct gy_loop {
	/* Read or written by other threads. */
	struct gy_inbox inbox;
	uint32_t parked GY_ALIGNED_LINE;
	struct gy_ring *ring;
	uint16_t index;
	uint32_t idle_count; /* turns in a row that executed nothing: others look for idle loops
				here, so a busy one leaves this line alone */
	struct gy_loop_watch *watch; /* NULL for none; fixed while the loop turns */

	/* The loop's own, unless another thread is mentioned. */
	const struct gy_loop_ops *ops GY_ALIGNED_LINE;
	uint64_t now_ns;  /* the clock, as read last */
	uint64_t sure_ns; /* deadlines before it have passed: see gy_loop_read_clock(); read from
			     any thread */
	uint64_t lag_ns;  /* likewise */
	struct gy_queue channels;
	struct gy_queue state;
	struct gy_fifo mounting;
	struct gy_fifo later;
	struct gy_fifo ending;	/* of gy_loop_at_phase_end() */
	uint64_t ending_due_ns; /* when they run before that; UINT64_MAX for none */
	struct gy_loops *peers;
	struct gy_outbox *outboxes; /* one a peer */
	uint16_t *flush_list;	    /* peers whose outbox waits to be flushed */
	uint32_t flush_count;
	uint32_t steal_cursor; /* the peer to be looked at next */
	uint32_t steal_pause;  /* how often not to publish, since nothing could be */
	uint64_t steal_random;
	struct gy_steal_ring steal_ring;
	uint32_t silent; /* completions of this phase 1 that leave nothing to be done */
	bool executed;	 /* this turn ran something */
	bool waited;	 /* before this turn there was nothing to do */
	bool stopping;
	bool retired;		  /* its deputy serves its inbox */
	uint64_t wait_average_ns; /* of recent waits, for spinning */
	uint64_t pools_trimmed_ns;
	struct gy_timer pool_timer;
	bool pools_used; /* something was executed since they were looked at */
	uint32_t mounting_count;
	struct gy_meter meter;
	struct gy_sizes nodes;
	uint32_t small_origin; /* of its own nodes of the smallest size */
	uint32_t small_new;    /* the same with the kind of a new node: see gy_node_head_of() */
	bool borrows;	       /* may keep nodes of peers; see borrowed.h */
	bool keeps_foreign;    /* a chain of @foreign has nodes */
	struct gy_foreign_chain foreign[GY_FOREIGN_CHAINS];
	struct gy_loop_counters counters;
	struct gy_wheel wheel;
	struct gy_clock clock;
	struct gy_loop_options options;
	/* Data of the floors above, by their names. */
	struct gy_buffer_pools *buffer_pools;
	struct gy_channels *own_channels;
	struct gy_links *own_links;
	void *user_data; /* the program's: see gyre/loop_data.h */
};

int gy_loop_init(struct gy_loop *loop, const struct gy_loop_options *options);
/* Takes a half made loop too. */
void gy_loop_fini(struct gy_loop *loop);
/* Tells the loop its peers, itself among them. Setup. */
int gy_loop_join(struct gy_loop *loop, struct gy_loops *peers);

/* ---- turning ---- */

/* gy_loop_enter() and gy_loop_leave() are the first and the last call of the loop's thread: they
 * pin it, register it with RCU, and enable the ring. */
int gy_loop_enter(struct gy_loop *loop);
void gy_loop_leave(void);
/* Makes one turn: three phases and the idle step. Blocks only if nothing can run. */
void gy_loop_turn(struct gy_loop *loop);

/*
 * A loop that is embedded in another one: between its turns it rests, and then counts as parked,
 * while the other one polls the descriptor of its ring. gy_loop_rest() returns false, and the loop
 * is to be turned again, if there is something to do; @anyway makes it rest all the same, with the
 * descriptor readable. gy_loop_rouse() comes before the next turn.
 */
bool gy_loop_rest(struct gy_loop *loop, bool anyway);
void gy_loop_rouse(struct gy_loop *loop);

/* Asserts what holds of the loop and of the floor above, between two turns. At assertions=full
 * gy_loop_turn() calls it now and then. */
void gy_loop_check(struct gy_loop *loop);

/* ---- the clock ---- */

/*
 * @now_ns is late by the time that the loop has worked since it was read. A deadline that is
 * computed from it would be early. By how much is known only at the next reading, when the mail
 * with the deadline may be anywhere. The loop therefore keeps its lag, the longest recent time
 * between two readings, and a deadline has passed only when @sure_ns, which is @now_ns less the
 * lag, is past it.
 *
 * The lag decays by a part in GY_LAG_DECAY of the time that passes, and each deadline is put off by
 * the same part of its time-out. Suppose that a lag of g followed the reading that a deadline was
 * computed from. Then after a time t the lag is still at least g - t / GY_LAG_DECAY. The part that
 * has decayed within the time-out is the part by which the deadline was put off, so no deadline is
 * early. Computing a deadline costs nothing more, and a deadline is late by the lag and that part
 * at most.
 */
enum { GY_LAG_DECAY_SHIFT = 4, GY_LAG_DECAY = 1 << GY_LAG_DECAY_SHIFT };

static inline void gy_loop_set_clock(struct gy_loop *loop, uint64_t now_ns, uint64_t lag_ns)
{
	loop->lag_ns = lag_ns;
	loop->now_ns = now_ns;
	gy_store_relaxed(&loop->sure_ns, now_ns - lag_ns);
}

/* The lag that remains when @passed_ns more have passed. */
static inline uint64_t gy_loop_decayed_lag(const struct gy_loop *loop, uint64_t passed_ns)
{
	uint64_t worn_ns = passed_ns >> GY_LAG_DECAY_SHIFT;

	return loop->lag_ns > worn_ns ? loop->lag_ns - worn_ns : 0;
}

/* Reads the clock after work, in which deadlines may have been computed. */
static inline void gy_loop_read_clock(struct gy_loop *loop)
{
	uint64_t now_ns = gy_clock_ns(&loop->clock);
	uint64_t passed_ns = now_ns - loop->now_ns;
	uint64_t lag_ns = gy_loop_decayed_lag(loop, passed_ns);

	gy_loop_set_clock(loop, now_ns, lag_ns > passed_ns ? lag_ns : passed_ns);
}

/* Reads the clock after a wait, in which none were. */
static inline void gy_loop_read_clock_waited(struct gy_loop *loop)
{
	uint64_t now_ns = gy_clock_ns(&loop->clock);

	gy_loop_set_clock(loop, now_ns, gy_loop_decayed_lag(loop, now_ns - loop->now_ns));
}

/* ---- scheduling, on the loop's thread ---- */

static inline void gy_loop_ready_state(struct gy_loop *loop, struct gy_job *job, bool high)
{
	gy_queue_push(&loop->state, job, high);
}

static inline void gy_loop_ready_channels(struct gy_loop *loop, struct gy_job *job, bool high)
{
	gy_queue_push(&loop->channels, job, high);
}

static inline void gy_loop_mount(struct gy_loop *loop, struct gy_job *job)
{
	gy_fifo_push(&loop->mounting, &job->link);
	loop->mounting_count++;
}

static inline void gy_loop_later(struct gy_loop *loop, struct gy_later *later)
{
	gy_fifo_push(&loop->later, &later->link);
}

/* Has @later run at the end of the phase; in one that goes on for longer than GY_PHASE_PART_NS,
 * between two jobs. */
enum { GY_PHASE_PART_NS = 50000 };

static inline void gy_loop_at_phase_end(struct gy_loop *loop, struct gy_later *later)
{
	if (gy_fifo_empty(&loop->ending)) {
		loop->ending_due_ns = loop->now_ns + GY_PHASE_PART_NS;
	}
	gy_fifo_push(&loop->ending, &later->link);
}

/* ---- nodes ---- */

/* A node from the heap, for threads without a loop; NULL when there is no memory, or when @bytes
 * are more than GY_NODE_BYTES_MAX. */
struct gy_node *gy_node_get_from_heap(size_t bytes);

/* Makes a node of @memory from the pool; its head and the first @bytes may be used. */
static inline struct gy_node *gy_loop_node_init(const struct gy_loop *loop, void *memory,
						size_t bytes, uint8_t size_class)
{
	struct gy_node *node = (struct gy_node *)memory;

	/* A node of the smallest size is used whole: the error of an ask takes the place of the
	 * question. */
	gy_unpoison(node, size_class == 0 ? gy_sizes_bytes(0) : bytes);
	if (size_class == 0) {
		memcpy(&node->owner, &loop->small_new, sizeof(loop->small_new));
		return node;
	}
	node->owner = loop->index;
	node->size_class = size_class;
	node->kind = GY_NODE_NEW;
	return node;
}

/* A node of at least @bytes, its header included, from the loop's pool; NULL when there is no
 * memory. */
static inline struct gy_node *gy_loop_node_get(struct gy_loop *loop, size_t bytes)
{
	uint8_t size_class = gy_sizes_class(bytes);
	void *memory;

	if (gy_unlikely(size_class == GY_SIZES_HEAP)) {
		return gy_node_get_from_heap(bytes);
	}
	memory = gy_pool_get(&loop->nodes.pools[size_class]);
	return gy_unlikely(memory == NULL) ? NULL
					   : gy_loop_node_init(loop, memory, bytes, size_class);
}

/* Poisons a node that is free or on its way home: only its head is still needed. */
static inline void gy_node_poison(struct gy_node *node)
{
	gy_assume(node->size_class < GY_SIZES_COUNT);
	gy_poison(node + 1, gy_sizes_bytes(node->size_class) - sizeof(*node));
}

/* Slow path of gy_loop_node_put(): the node is of another loop, holds a payload, or is from the
 * heap. */
void gy_loop_return(struct gy_loop *loop, struct gy_node *node);

static inline void gy_loop_node_put(struct gy_loop *loop, struct gy_node *node)
{
	if (gy_likely(gy_node_origin_of(node) == loop->small_origin)) {
		gy_node_poison(node);
		gy_pool_put(&loop->nodes.pools[0], node); /* a constant: one address */
	} else if (gy_likely(node->owner == loop->index)) {
		gy_node_poison(node);
		gy_pool_put(&loop->nodes.pools[node->size_class], node);
	} else {
		gy_loop_return(loop, node);
	}
}

/*
 * The same for a node that is most often one of the smallest size of this loop: @head is what
 * gy_node_head_of() says of such a node. It came out of a queue, so it is not free already.
 */
static inline void gy_loop_small_put(struct gy_loop *loop, struct gy_node *node, uint32_t head)
{
	struct gy_pool *pool = &loop->nodes.pools[0];

	if (gy_unlikely(gy_node_head_of(node) != head)) {
		gy_loop_node_put(loop, node);
		return;
	}
	gy_verify(pool->free_count < pool->total);
	gy_node_poison(node);
	gy_pool_push(pool, node);
}

/* Appends a node to the outbox for @peer, an index of a loop other than this one. */
void gy_loop_send(struct gy_loop *loop, uint16_t peer, struct gy_node *node);
/* Returns a node of another loop that gy_loop_return() has emptied, without borrowing it. */
void gy_loop_return_now(struct gy_loop *loop, struct gy_node *node);
/* Hands over the nodes that wait in the outboxes, and wakes parked receivers. */
void gy_loop_flush(struct gy_loop *loop);
/* Asserts that the chain of each outbox is whole, and that outboxes with mail are to be flushed. */
void gy_outboxes_check(const struct gy_loop *loop);
/* Wakes a peer if it is parked, with the next submit. Returns whether it was. */
bool gy_loop_wake_peer(struct gy_loop *loop, uint16_t peer);
/* Delivers all nodes of the inbox, outside of a turn; for the stages of a stop. */
void gy_loop_drain_inbox(struct gy_loop *loop);
/* Delivers as many nodes of the inbox as a turn would. */
void gy_loop_drain_some(struct gy_loop *loop);
/* Flushes and submits: the last call of a loop before its thread ends. */
void gy_loop_finish(struct gy_loop *loop);
/* Any thread. On a loop's own thread, a post made during a turn may overtake mail still in its
 * outboxes. */
void gy_loop_post(struct gy_loop *loop, struct gy_node *node);
/* The two steps of gy_loop_post(): puts a node into the inbox, and sees that somebody looks there.
 */
void gy_loop_put(struct gy_loop *loop, struct gy_node *node);
void gy_loop_call(struct gy_loop *loop);
void gy_loop_post_task(struct gy_loop *loop, struct gy_task *task);
/*
 * Ends the loop: no thread turns it or its peers any more. Nodes that were posted before are left
 * to the caller; for each node that is posted later ops->posted_late is called. A node that is
 * posted at this moment may be in both groups.
 */
void gy_loop_end(struct gy_loop *loop);

/* ---- retired.c: on the thread of the deputy, which is the loop with index 0 ---- */

/* Adopts a loop whose thread has ended, and that has nothing more to run. */
void gy_loop_adopt(struct gy_loop *loop);
/* Adopts a loop before the deputy has a thread, which serves it in its first turn. */
void gy_loop_adopt_later(struct gy_loop *loop);
/* Releases an adopted loop to another thread. */
void gy_loop_release(struct gy_loop *loop);
/* Delivers mail that has come for retired loops. */
void gy_loops_serve(struct gy_loops *loops);
/* Delivers for all retired loops, also those that called nobody since their mail only returns. */
void gy_loops_serve_all(struct gy_loops *loops);
/* Returns whether no mail waits for retired loops. */
bool gy_loops_are_served(const struct gy_loops *loops);
/* Makes the deputy serve. Any thread. */
GY_COLD void gy_loops_call(struct gy_loops *loops);

static inline bool gy_loops_want_service(const struct gy_loops *loops)
{
	return gy_unlikely(gy_load_relaxed(&loops->calls) != 0);
}

#endif
