/*
 * The epoll engine: what io_uring does for a ring, done by the program itself, where the kernel or
 * a sandbox refuses io_uring. Only the files of this engine include this header, and ring.c.
 *
 * The engine keeps io_uring's contract at its very border. Operations are prepared as submission
 * entries and end as completion entries, in two queues that now are plain memory of one thread; so
 * everything above them, from ring_ops.c on, is the same code for both engines. In the place of
 * io_uring_enter() stand gy_epoll_submit(), which takes the entries, and gy_epoll_turn(), which
 * looks for what descriptors are ready for, and waits.
 *
 * An operation that can end at once does so when it is taken. Another one becomes a *wait* at its
 * descriptor, which epoll watches for edges: an event lets the waits of the descriptor go on until
 * the kernel says -EAGAIN, or brings less than was asked for. What blocks and cannot be waited for,
 * as an operation on a file, is done by worker threads.
 *
 * No completion is ever lost: an entry is taken only while the completion queue has room for what
 * it ends, and a descriptor that is ready stays so until there is room.
 */
#ifndef GY_RING_EPOLL_H
#define GY_RING_EPOLL_H

#include <sys/epoll.h>

#include "base/list.h"
#include "base/memory/size_pools.h"
#include "base/table.h"
#include "ring/ring_private.h"

enum {
	/* Urgent bytes cut a receive short, and so tell nothing of what is behind them. */
	GY_EPOLL_INPUT = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR,
	GY_EPOLL_OUTPUT = EPOLLOUT | EPOLLHUP | EPOLLERR,
	GY_EPOLL_ROUNDS_MAX = 32, /* of a multishot operation, before others have their turn */
};

/* What came of an attempt at an operation. */
enum gy_epoll_outcome {
	GY_EPOLL_ENDED,	  /* its final completion is in the queue */
	GY_EPOLL_BLOCKED, /* it goes on when the descriptor tells of an event */
	GY_EPOLL_DRAINED, /* likewise, by the count that came: there was no -EAGAIN */
	GY_EPOLL_MORE,	  /* it could go on at once: the queue is full, or others come first */
};

/* An operation that waits for its descriptor. */
struct gy_epoll_wait {
	struct gy_table_item item; /* by its user data, mixed */
	struct gy_list of_file;
	struct gy_epoll_file *file;
	uint32_t events; /* that it waits for */
	struct io_uring_sqe sqe;
};

/* A descriptor, from its first wait until it is closed or nobody waits for its events. */
struct gy_epoll_file {
	struct gy_table_item item; /* by descriptor */
	struct gy_list waits;
	struct gy_list of_ready; /* in the engine's list while @ready is not 0 */
	int fd;
	uint32_t watched; /* events that epoll was asked for; 0: none */
	uint32_t ready;	  /* events that have come, and that some wait has not used up */
};

struct gy_epoll_work;

struct gy_epoll {
	int fd;
	uint32_t sq_flags; /* the four words that io_uring shares with the kernel */
	uint32_t sq_head;
	uint32_t sq_tail;
	uint32_t cq_head;
	uint32_t cq_tail;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	uint16_t heads[GY_RING_GROUPS]; /* the next buffer of each group to fill */
	bool rested;	     /* the last turn left out the look, as completions were there */
	bool no_nanoseconds; /* the kernel has no epoll_pwait2() */
	uint64_t looked_ns;
	struct gy_table files;
	struct gy_table waits;
	struct gy_sizes sizes;
	struct gy_list ready;
	struct gy_epoll_file retries; /* no descriptor: waits that are tried again after a while */
	struct gy_list works;	      /* that worker threads have */
	struct gy_epoll_work *done;   /* atomic; a stack of works that have ended */
};

/* ---- epoll.c ---- */

/* Sets up the queues of @ring. 0 or a negative errno; on failure nothing is left over. */
int gy_epoll_open(struct gy_ring *ring, uint32_t entries);
/* Every operation has ended, and their completions were seen. */
void gy_epoll_close(struct gy_ring *ring);
/* Takes submission entries; returns how many, or -EBUSY when there is no room for completions. */
int gy_epoll_submit(struct gy_ring *ring);
/* Submits, and waits for a completion: as gy_ring_submit_and_wait(). */
int gy_epoll_turn(struct gy_ring *ring, uint64_t timeout_ns);

/* Whether there are descriptors besides that of the waker. */
static inline bool gy_epoll_watches_others(const struct gy_epoll *epoll)
{
	return epoll->files.count > 1;
}

static inline uint32_t gy_epoll_room(const struct gy_ring *ring)
{
	const struct gy_epoll *epoll = ring->epoll;

	return ring->uring.cq.ring_entries - (epoll->cq_tail - epoll->cq_head);
}

static inline bool gy_epoll_has_room(const struct gy_ring *ring)
{
	return gy_epoll_room(ring) > 0;
}

/* Adds a completion; there is room for it. Nobody hears of the ring's own that need no answer. */
static inline void gy_epoll_post(struct gy_ring *ring, uint64_t user_data, int64_t result,
				 uint32_t flags)
{
	struct gy_epoll *epoll = ring->epoll;
	struct io_uring_cqe *cqe = &epoll->cqes[epoll->cq_tail & ring->uring.cq.ring_mask];

	if (user_data == GY_USER_IGNORED) {
		return;
	}
	gy_assert(gy_epoll_has_room(ring));
	cqe->user_data = user_data;
	cqe->res = (int32_t)result;
	cqe->flags = flags;
	gy_store_relaxed(&epoll->cq_tail, epoll->cq_tail + 1);
}

/* The final completion of an operation. */
static inline enum gy_epoll_outcome gy_epoll_end(struct gy_ring *ring,
						 const struct io_uring_sqe *sqe, int64_t result)
{
	gy_epoll_post(ring, sqe->user_data, result, 0);
	return GY_EPOLL_ENDED;
}

/* Whether operations are to be tried again after a while, which no event tells of. */
static inline bool gy_epoll_has_retries(const struct gy_epoll *epoll)
{
	return !gy_list_empty(&epoll->retries.waits);
}

/* ---- epoll_descriptor.c: descriptors, and who waits for them ---- */

/*
 * Has an operation wait for @events of its descriptor; @tried: it has just seen -EAGAIN, so that an
 * edge will follow. 0, or a negative errno: -EPERM when the descriptor is always ready, as that of
 * a file.
 */
int gy_epoll_wait_for(struct gy_ring *ring, const struct io_uring_sqe *sqe, uint32_t events,
		      bool tried);
/* Has an operation wait for some time, and be tried again. */
int gy_epoll_wait_and_retry(struct gy_ring *ring, const struct io_uring_sqe *sqe);
/* Has the waits of a descriptor go on; @events have come. */
void gy_epoll_come(struct gy_ring *ring, int fd, uint32_t events);
/* Goes on with descriptors that were ready before. */
void gy_epoll_go_on(struct gy_ring *ring);
/* Ends the wait of @user_data with -ECANCELED. Returns whether there was one. */
bool gy_epoll_cancel_wait(struct gy_ring *ring, uint64_t user_data);
/* Before a descriptor is closed that nobody waits for any more: epoll forgets it. */
void gy_epoll_forget(struct gy_ring *ring, int fd);
/* Frees all descriptors. */
void gy_epoll_descriptors_fini(struct gy_ring *ring);

/* ---- epoll_operation.c: what each operation does ---- */

/* Begins the operation of an entry that was taken; there is room for its completion. */
void gy_epoll_begin(struct gy_ring *ring, const struct io_uring_sqe *sqe);
/* Goes on with an operation that has waited, as @events have come. */
enum gy_epoll_outcome gy_epoll_continue(struct gy_ring *ring, struct gy_epoll_wait *wait,
					uint32_t events);

/* ---- epoll_receive.c ---- */

/* @events have come; 0: it is the first attempt. */
enum gy_epoll_outcome gy_epoll_receive(struct gy_ring *ring, const struct io_uring_sqe *sqe,
				       uint32_t events);
enum gy_epoll_outcome gy_epoll_receive_datagrams(struct gy_ring *ring,
						 const struct io_uring_sqe *sqe);

/* ---- epoll_workers.c ---- */

/* Has a worker thread do a blocking operation, which completes later; or it ends with -ENOMEM. */
void gy_epoll_work(struct gy_ring *ring, const struct io_uring_sqe *sqe);
/* Takes the results of works that have ended, as far as there is room. */
void gy_epoll_take_done(struct gy_ring *ring);
/* Ends a work that no thread has begun. */
void gy_epoll_cancel_work(struct gy_ring *ring, uint64_t user_data);
/* A ring comes, or goes. When this returns no thread touches a ring that goes; its works have
 * ended. With the last ring the threads end. */
void gy_epoll_workers_enter(void);
void gy_epoll_workers_leave(void);

/* ---- epoll_files.c ---- */

/* Does the blocking operation of an entry: a count or a negative errno. Any thread. */
int64_t gy_epoll_do_blocking(const struct io_uring_sqe *sqe);

#endif
