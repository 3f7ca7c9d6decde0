/*
 * A snapshot of a running system: the work of its loops, and of its actors by class. Any thread
 * takes one, and no loop stops or waits for it.
 */
#ifndef GYRE_INSPECT_H
#define GYRE_INSPECT_H

#include <stdio.h>

#include <gyre/counters.h>
#include <gyre/system.h>

GYRE_BEGIN_DECLS

/** GYRE_CLASS_NAME_BYTES - room for the name of a class; a longer name is cut off */
#define GYRE_CLASS_NAME_BYTES 48

/**
 * struct gyre_pool_use - the pools of a loop for one kind of object, of all sizes
 * @used: objects in use
 * @free: objects that wait for their next use
 * @bytes: the memory of both
 *
 * Of stacks, parts and promises only the sum of @used over all loops is right: an actor that
 * another loop has run takes some objects of that loop home, where they are freed.
 */
struct gyre_pool_use {
	uint64_t used;
	uint64_t free;
	uint64_t bytes;
};

/**
 * struct gyre_loop_snapshot - the numbers of a loop
 * @index: the number of the loop
 * @cpu: the CPU that it is pinned to, unless the kernel refused that
 * @parked: the loop sleeps, or has been woken and does not run yet
 * @turns: iterations so far
 * @parks: waits so far that could block
 * @io_ns: time spent submitting and reaping
 * @channels_ns: time spent in phase 2, with channels actors, mounts, mail from other loops, timers
 * @state_ns: time spent in phase 3, with state actors
 * @polled_ns: time spent looking for work before parking
 * @parked_ns: time spent blocked, with what the kernel did for the loop just before and after; up
 *   to now for one that is parked now
 * @ready_channels: channels actors that were ready when the present turn's phase 2 began
 * @ready_state: state actors that were ready when it had ended
 * @mounting: actors that waited for their mount hook when it began
 * @sent: messages and returning envelopes handed to other loops
 * @received: messages and returning envelopes that came in from other loops and from outside
 * @timers: running timers, including those of asks and of the loop itself
 * @actors: actors that live here
 * @held_bytes: bytes that its channels hold; 0 where channel_bytes_max sets no limit
 * @held_max: bytes that they may hold; 0 for no limit
 * @held_over: the channels hold too much, and do not read by themselves
 * @mail: envelopes with their messages
 * @stacks: of handlers
 * @parts: states, tables and timers of actors
 * @promises: of asks and sleeps
 * @log_lines: lines that were logged, those that were lost left out
 * @log_lost: lines that were lost, see gyre/log.h
 *
 * A phase that is under way is counted when it ends, except for parking. A state, part or message
 * of more than 16 KiB comes from no pool.
 */
struct gyre_loop_snapshot {
	uint32_t index;
	int32_t cpu;
	bool parked;
	uint64_t turns;
	uint64_t parks;
	uint64_t io_ns;
	uint64_t channels_ns;
	uint64_t state_ns;
	uint64_t polled_ns;
	uint64_t parked_ns;
	uint32_t ready_channels;
	uint32_t ready_state;
	uint32_t mounting;
	uint64_t sent;
	uint64_t received;
	uint64_t timers;
	uint32_t actors;
	uint64_t held_bytes;
	uint64_t held_max;
	bool held_over;
	struct gyre_pool_use mail;
	struct gyre_pool_use stacks;
	struct gyre_pool_use parts;
	struct gyre_pool_use promises;
	uint64_t log_lines;
	uint64_t log_lost;
};

/**
 * struct gyre_class_snapshot - the numbers of all classes of one name, on all loops
 * @name: the name of the class, cut off if need be
 * @actors: living actors
 * @handled: messages given to a handler or to a promise
 * @dropped: messages for actors of the class that were lost, by reason; messages for an actor that
 *   has gone are counted for no class
 * @busy_ns: time spent running them, mount hooks included: an estimate where there is much to do.
 *   A loop that has little to do, or long handlers, times each run; else one in 256
 */
struct gyre_class_snapshot {
	char name[GYRE_CLASS_NAME_BYTES];
	uint64_t actors;
	uint64_t handled;
	uint64_t dropped[GYRE_DROPS_MAX];
	uint64_t busy_ns;
};

/**
 * struct gyre_offload_pool_snapshot - the numbers of a pool for work off the loops
 * @name: its name; empty for that of gyre_offload()
 * @threads: threads that were started
 * @threads_max: how many there may be
 * @busy: threads that do not wait for work
 * @waiting: pieces of work that wait
 * @queue_max: how many may wait
 * @done: pieces that were done
 * @reserved: 0
 * @reserved_more: 0
 */
struct gyre_offload_pool_snapshot {
	char name[32];
	uint32_t threads;
	uint32_t threads_max;
	uint32_t busy;
	uint32_t waiting;
	uint32_t queue_max;
	uint32_t reserved;
	uint64_t done;
	uint64_t reserved_more[2];
};

/**
 * struct gyre_snapshot - the numbers of a system
 * @time_ns: when it was taken, by the monotonic clock
 * @stalls: handlers so far that ran for longer than stall_ns
 * @loops_count: the length of @loops
 * @classes_count: the length of @classes
 * @loop_bytes: from one of @loops to the next: the size that the program's headers give it
 * @class_bytes: the same for @classes
 * @loops: the loops, by index; those of GYRE_PLACE_PINNED come last
 * @classes: the classes of which there has been an actor, by name
 * @tree: the actors as a tree, for people: a line for each, with its part of the path (see
 *   gyre_path()), written as in the log, its class and its address, below its parent. Of a parent
 *   with many children a few are drawn and the others counted, as "… 9,997 more"; so are children
 *   that are too deep. It ends after 200 lines
 * @offload_pools: the pools for work off the loops: that of gyre_offload(), then those that the
 *   options name
 * @offload_pools_count: the length of @offload_pools
 * @engine: GYRE_ENGINE_IO_URING or GYRE_ENGINE_EPOLL, see enum gyre_engine
 * @io_uring_refused: why epoll is in io_uring's place though io_uring was preferred: the negative
 *   errno of its refusal; 0 where nothing was refused. The log has the cause and the remedy
 *
 * Times are since the start, counters since the creation of the system. All times but @time_ns are
 * 0 in a build with -Dinspect=false.
 */
struct gyre_snapshot {
	uint64_t time_ns;
	uint64_t stalls;
	uint32_t loops_count;
	uint32_t classes_count;
	uint32_t loop_bytes;
	uint32_t class_bytes;
	const struct gyre_loop_snapshot *loops;
	const struct gyre_class_snapshot *classes;
	const char *tree;
	const struct gyre_offload_pool_snapshot *offload_pools;
	uint32_t offload_pools_count;
	enum gyre_engine engine;
	int32_t io_uring_refused;
};

/** gyre_system_inspect_sized() - gyre_system_inspect() with the sizes of its arrays' elements */
GYRE_API int gyre_system_inspect_sized(struct gyre_system *system, size_t loop_bytes,
				       size_t class_bytes, struct gyre_snapshot **ret_snapshot);

/**
 * gyre_system_inspect() - takes a snapshot of a system
 * @system: the system, also one that does not run yet or any more
 * @ret_snapshot: the snapshot
 *
 * The loops are not stopped: each number was true at some moment during the call, and only after
 * gyre_system_wait() are they all of one moment. Times come from a counter of the processor, whose
 * rate is measured from the creation of the system on, so that they are only rough in its first
 * millisecond.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 *   -ENOMEM  there is no memory
 * Ownership: @ret_snapshot is the caller's, for gyre_snapshot_destroy(); it may outlive the system.
 * Context: any thread, in any phase, between create and destroy of the system; does not wait.
 * Since: 0.1
 */
static inline int gyre_system_inspect(struct gyre_system *system,
				      struct gyre_snapshot **ret_snapshot)
{
	return gyre_system_inspect_sized(system, sizeof(struct gyre_loop_snapshot),
					 sizeof(struct gyre_class_snapshot), ret_snapshot);
}

/**
 * gyre_snapshot_destroy() - frees a snapshot
 * @snapshot: the snapshot, or NULL
 *
 * Ownership: @snapshot is taken.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API void gyre_snapshot_destroy(struct gyre_snapshot *snapshot);

/**
 * gyre_snapshot_print() - writes a snapshot as tables and a tree, for people
 * @snapshot: the snapshot
 * @file: where to
 *
 * The columns may change with every version.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 *   -EIO     @file has met with an error
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase; as slow as @file.
 * Since: 0.1
 */
GYRE_API int gyre_snapshot_print(const struct gyre_snapshot *snapshot, FILE *file);

GYRE_END_DECLS

#endif
