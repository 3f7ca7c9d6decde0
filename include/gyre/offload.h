/*
 * Work that blocks or takes long, done off the loops: reading a file, resolving a name, a long sum.
 *
 *	static int hash(struct gyre_work *work)
 *	{
 *		const struct path *path = gyre_work_get(work, path);
 *
 *		return gyre_work_reply_to(work, path, .sum = sum_of(path));
 *	}
 *
 *	GYRE_AWAIT(stack, gyre_offload(stack, hash, gyre_new(stack, path, ...), GYRE_SECONDS(10),
 *				       &frame->digest));
 *
 * The function runs on a thread of a pool that the system keeps for such work. Its reply completes
 * a future of the stack that gave the work, like the answer to an ask. At most offload_threads
 * threads are started, each when it is first needed; without work they sleep.
 *
 * Work of one kind that waits for long, such as for a disk, need not hold up work of another: the
 * options of the system name further pools, and gyre_offload_to() chooses one.
 *
 *	static const struct gyre_offload_pool pools[] = { { .name = "disk", .threads = 2 },
 *							  { .name = "hash", .threads = 8 } };
 *
 *	struct gyre_system_options options = { .offload_pools = pools, .offload_pools_count = 2 };
 */
#ifndef GYRE_OFFLOAD_H
#define GYRE_OFFLOAD_H

#include <gyre/request.h>
#include <gyre/stack.h>
#include <gyre/tail.h>

GYRE_BEGIN_DECLS

struct gyre_work;

/** GYRE_OFFLOAD_POOL_NAME_MAX - the most bytes of the name of a pool */
#define GYRE_OFFLOAD_POOL_NAME_MAX 31U
/** GYRE_OFFLOAD_POOLS_MAX - the most pools that the options can name */
#define GYRE_OFFLOAD_POOLS_MAX 64U

/**
 * struct gyre_offload_pool - a pool of threads of its own, in the options of a system
 * @name: 1 to GYRE_OFFLOAD_POOL_NAME_MAX bytes, another one for each pool
 * @threads: how many threads it has at most, 1 to 256; 0 for offload_threads of the system
 * @queue_max: how many pieces may wait for one of them, 1 to 1e6; 0 for offload_queue_max
 * @reserved: 0
 */
struct gyre_offload_pool {
	const char *name;
	uint32_t threads;
	uint32_t queue_max;
	uint64_t reserved[2];
};

/**
 * gyre_work_fn - does a piece of work off the loops
 * @work: the piece of work: its message, and the way to answer
 *
 * Runs on a thread of the pool, in no phase of any loop, and may block. It runs at most once for
 * each gyre_offload(), which is the last call; it is re-entered on other threads for other pieces.
 * It may call those of gyre's functions that any thread may call. It cannot be killed: the end of
 * the system waits for it.
 *
 * Returns the result of gyre_work_reply(), or a negative errno, with which the future then fails. A
 * return of 0 without a reply fails it with -ENOMSG.
 */
typedef int (*gyre_work_fn)(struct gyre_work *work);

/**
 * gyre_offload() - has a function run off the loops
 * @stack: the running stack, which will own the promise
 * @function: the function
 * @mail: the message for the function, made by gyre_new()
 * @timeout_ns: how long the answer may take; 0 as for gyre_ask(), GYRE_FOREVER for no limit
 * @ret_future: where the answer will be; in the frame of @stack, or the state of its actor
 *
 * Pieces of work wait in one queue for all loops, of offload_queue_max, first in first out. A piece
 * that is past its time-out when its turn comes is not begun. A piece that runs goes on past its
 * time-out, and its reply is dropped and counted. When the system stops, pieces that were not begun
 * fail with -ESHUTDOWN.
 *
 * The future always completes, with an answer or an error: -ETIMEDOUT, -ESHUTDOWN, -ENOMSG, -EPROTO
 * (the answer is not of the type that a GYRE_REQUEST() declares), -ENOMEM, or the errno that
 * @function failed with. The future never completes inside this call, unless the call fails.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EAGAIN  the pool has no thread, and none can be started
 *   -EINVAL  @function or @ret_future is NULL
 *   -ENOBUFS  as many pieces wait as may
 *   -ENOMEM  there is no memory, or @mail is NULL
 *   -ESHUTDOWN  the system is stopping
 *   -ETIMEDOUT  @timeout_ns is 0, and the asker of the running message has no time left
 * Ownership: @mail is taken, whatever is returned. What its payload owns is destroyed on the thread
 *   of the pool, if the function does not move it out.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_offload(struct gyre_stack *stack, gyre_work_fn function, struct gyre_mail *mail,
			  uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_offload_to() - has a function run off the loops, by a pool of the program's choice
 * @stack: the running stack, which will own the promise
 * @pool: the name of a pool in the options of the system; NULL for the one of gyre_offload()
 * @function: the function
 * @mail: the message for the function, made by gyre_new()
 * @timeout_ns: how long the answer may take; 0 as for gyre_ask(), GYRE_FOREVER for no limit
 * @ret_future: where the answer will be; in the frame of @stack, or the state of its actor
 *
 * As gyre_offload(), with the threads and the queue of the pool.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -ENOENT  there is no pool of that name
 *   others   as gyre_offload()
 * Ownership: @mail is taken, whatever is returned, as by gyre_offload().
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_offload_to(struct gyre_stack *stack, const char *pool, gyre_work_fn function,
			     struct gyre_mail *mail, uint64_t timeout_ns,
			     struct gyre_future *ret_future);

/**
 * gyre_work_message() - the message that a piece of work was given
 * @work: the running piece
 * @type: the type it must have
 *
 * Mostly called through gyre_work_get().
 *
 * Return: the payload, or NULL if it has another type or was moved out.
 * Errors:
 *   NULL  there is none of that type
 * Ownership: stays with @work, until the function returns.
 * Context: any thread that runs the piece.
 * Since: 0.1
 */
GYRE_API const void *gyre_work_message(const struct gyre_work *work, const struct gyre_type *type);

/** gyre_work_get() - the message of a piece of work as const struct NAME *, or NULL */
#define gyre_work_get(WORK, NAME) \
	((const struct NAME *)gyre_work_message((WORK), &gyre_type_##NAME))

/**
 * gyre_work_message_move() - moves the payload out of the message of a piece of work
 * @work: the running piece
 * @type: the type it must have
 * @ret_payload: room for a payload of that type
 *
 * Mostly called through gyre_work_move().
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EMSGSIZE  it has a tail: see tail.h
 *   -ENOENT  there is no message of that type
 * Ownership: what the payload owns is the caller's.
 * Context: any thread that runs the piece.
 * Since: 0.1
 */
GYRE_API int gyre_work_message_move(struct gyre_work *work, const struct gyre_type *type,
				    void *ret_payload);

/** gyre_work_move() - moves that message to where a struct NAME * points; 0 or an errno */
#define gyre_work_move(WORK, NAME, VALUE) \
	gyre_work_message_move((WORK), &gyre_type_##NAME, GYRE_POINTER_(NAME, VALUE))

/**
 * gyre_work_system() - the system that a piece of work was given in
 * @work: the running piece
 *
 * Return: the system.
 * Ownership: stays the program's.
 * Context: any thread that runs the piece.
 * Since: 0.1
 */
GYRE_API struct gyre_system *gyre_work_system(const struct gyre_work *work);

/** gyre_work_new() - a mail with the answer in it: gyre_work_new(work, digest, .sum = 7) */
#define gyre_work_new(WORK, ...) gyre_system_new(gyre_work_system(WORK), __VA_ARGS__)

/** gyre_work_new_answer() - a mail with the answer to a NAME: (work, path, .sum = 7) */
#define gyre_work_new_answer(WORK, ...) gyre_system_new_answer(gyre_work_system(WORK), __VA_ARGS__)

/** gyre_work_new_tail() - the same with a tail: (work, line, bytes, .number = 7) */
#define gyre_work_new_tail(WORK, ...) gyre_system_new_tail(gyre_work_system(WORK), __VA_ARGS__)

/**
 * gyre_work_reply() - answers with the result
 * @work: the running piece
 * @mail: the answer, made by gyre_work_new()
 *
 * The answer goes out when the function returns, and only if the function returns 0.
 *
 * Return: 0, to be returned by the function, or a negative errno.
 * Errors:
 *   -EALREADY  it was answered before; this answer is freed
 *   -ENOMEM  @mail is NULL: it could not be made; the asker gets -ENOMEM too
 *   -EPROTO  what was given declares another type of answer; this one is freed
 * Ownership: @mail is taken, whatever is returned.
 * Context: any thread that runs the piece.
 * Since: 0.1
 */
GYRE_API int gyre_work_reply(struct gyre_work *work, struct gyre_mail *mail);

/** gyre_work_reply_to() - answers a piece that was given as a NAME: (work, path, .sum = 7) */
#define gyre_work_reply_to(WORK, ...) \
	gyre_work_reply((WORK), gyre_work_new_answer(WORK, __VA_ARGS__))

/** gyre_work_reply_copy_to() - gyre_work_reply_to() with a copy: (work, path, &digest) */
#define gyre_work_reply_copy_to(WORK, NAME, FROM) \
	gyre_work_reply((WORK), gyre_system_new_answer_copy(gyre_work_system(WORK), NAME, FROM))

GYRE_END_DECLS

#endif
