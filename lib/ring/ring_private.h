/*
 * Shared by the files of the ring floor; no other file includes it, except tests that look inside.
 *
 * A completion is known by its 64 bits of user data: the address of the operation, and its
 * generation in the sixteen bits above, which no address of a process uses. Operations are aligned,
 * so the lowest bits of their addresses are 0; the ring's own submissions set one of them.
 */
#ifndef GY_RING_RING_PRIVATE_H
#define GY_RING_RING_PRIVATE_H

#include <liburing.h>
#include <sys/types.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/macros.h"
#include "ring/kernel.h"
#include "ring/ring.h"
#include "ring/sanitize.h"

enum {
	GY_USER_ADDRESS_BITS = GY_OP_ADDRESS_BITS,
	GY_USER_OWN = GY_OP_ALIGN - 1, /* any of these bits: not a caller's operation */
	GY_USER_IGNORED = 1,	       /* with nothing to be done */
	GY_USER_WAKER = 2,	       /* a round of the waker's poll */
	GY_USER_MESSAGE = 4, /* a MSG_RING that failed; above these bits, the target ring */
	GY_RING_STREAM_GROUP = 0,
	GY_RING_DATAGRAM_GROUP = 1,
	GY_RING_GROUPS,
};

/* The parts that a ring is made of; the kernel may refuse each. */
enum gy_ring_call {
	GY_RING_CALL_OTHER,
	GY_RING_CALL_SETUP,
	GY_RING_CALL_REGISTER,
	GY_RING_CALL_ENTER,
	GY_RING_CALL_MEMORY, /* of the program's own: a mapping, or the heap */
};

/*
 * A group of provided buffers. Each is offered to the kernel, or out, which is the program's, or
 * idle. Those that are out are marked in @held.
 */
struct gy_ring_buffers {
	struct io_uring_buf_ring *entries;
	unsigned char *memory;
	unsigned char **next; /* of each, where what the kernel brings next begins */
	uint16_t *idle;	      /* the one that came back last on top */
	uint32_t bytes;	      /* of each */
	uint32_t count;
	uint32_t offered; /* as far as we know */
	uint32_t idles;
	uint32_t warm; /* how many are to be offered: see ring_buffers.c */
	uint32_t warm_min;
	uint32_t refills; /* since @unused began */
	uint32_t unused;  /* the fewest that were left of @offered at a refill */
	uint16_t first;	  /* the number of the first one */
	uint16_t tail;	  /* of what was offered */
	bool shared;	  /* by several receives */
	bool ran_out;	  /* the kernel found none, since the last refill */
	uint8_t *held;	  /* at assertion level full */
};

struct gy_epoll;

struct gy_ring {
	struct io_uring uring;
	struct gy_epoll *epoll; /* the engine in io_uring's place, or NULL */
	int enter_fd; /* the ring's descriptor, or its index among the thread's registered rings */
	uint32_t enter_flags;
	uint32_t wait_flags;  /* of an enter that may block */
	uint32_t min_wait_us; /* 0 where the kernel, or the options, know none */
	uint32_t armed;	      /* operations that the kernel has, or will at the next submit */
	bool enabled;
	bool shut;	 /* only the waker and the counters are left */
	bool registered; /* @enter_fd is an index */
	bool reaping;
	bool waker_armed;
	struct gy_ring_buffers buffers[GY_RING_GROUPS];
	struct gy_ring_counters counters;
	struct gy_ring_features features;
	const struct gy_log *log;
	enum gy_ring_call call; /* what is refused if the ring is, while it is made */
	int wake_fd;
	gy_ring_stale_fn stale;
	void *stale_arg;
	int flag_fd; /* an eventfd that is written to when completions come; -1 where none is needed
		      */
	int poll_fd; /* what others poll, or -1; see ring_descriptor.c */
	int timer_fd;
	uint64_t timer_ns; /* that it is armed for; UINT64_MAX for none */
	pid_t owner;	   /* the thread that enabled the ring */
};

/* ---- ring.c ---- */

/* Submits a full queue. Returns whether there is room for one more entry then. */
GY_COLD bool gy_ring_make_room(struct gy_ring *ring);

/* The kernel takes submissions only in our calls, so there is nothing to be ordered. */
static inline bool gy_ring_has_room(const struct gy_ring *ring)
{
	const struct io_uring_sq *sq = &ring->uring.sq;

	return sq->sqe_tail - gy_load_relaxed(sq->khead) < sq->ring_entries;
}

/* The next entry, as it was left by its last use; there is room for it. */
static inline struct io_uring_sqe *gy_ring_next_sqe(struct gy_ring *ring)
{
	struct io_uring_sq *sq = &ring->uring.sq;

	return &sq->sqes[sq->sqe_tail++ & sq->ring_mask];
}

/* The next entry, with room made by submitting if there is none; NULL if that does not help. */
static inline struct io_uring_sqe *gy_ring_sqe(struct gy_ring *ring)
{
	if (gy_unlikely(!gy_ring_has_room(ring)) && !gy_ring_make_room(ring)) {
		return NULL;
	}
	return gy_ring_next_sqe(ring);
}

/* Submissions that the kernel has not consumed. */
static inline uint32_t gy_ring_prepared(const struct gy_ring *ring)
{
	return ring->uring.sq.sqe_tail - gy_load_relaxed(ring->uring.sq.khead);
}

static inline uint64_t gy_user_data_of(const struct gy_op *op)
{
	return (uint64_t)op->generation << GY_USER_ADDRESS_BITS | (uintptr_t)op;
}

/* The last thing to be done to an entry, since liburing's prepare functions clear its user data. */
static inline int gy_ring_arm(struct gy_ring *ring, struct gy_op *op, struct io_uring_sqe *sqe)
{
	gy_assert(!op->armed);
	op->armed = true;
	op->generation++;
	ring->armed++;
	sqe->user_data = gy_user_data_of(op);
	return 0;
}

/* ---- ring_buffers.c ---- */

/* The shape of a group of buffers. */
struct gy_ring_buffers_shape {
	uint32_t count; /* a power of two; 0 for none */
	uint32_t bytes;
	bool shared;
};

/* The shape of the group for streams, by the options and the features of the kernel. */
struct gy_ring_buffers_shape gy_ring_stream_shape(const struct gy_ring *ring,
						  const struct gy_ring_options *options);
int gy_ring_buffers_init(struct gy_ring *ring, uint32_t group,
			 const struct gy_ring_buffers_shape *shape);
/* After the ring is closed, since until then the kernel may look at them. */
void gy_ring_buffers_fini(struct gy_ring_buffers *buffers);

/* The group of a buffer. */
static inline uint32_t gy_ring_group_of(uint16_t buffer)
{
	return buffer / GY_RING_DATAGRAM_BUFFERS;
}

/* Offers idle buffers up to what is warm. */
void gy_ring_buffers_refill(struct gy_ring_buffers *buffers);
/* The kernel found none: it is to be offered more. */
GY_COLD void gy_ring_buffers_ran_out(struct gy_ring *ring);

/* Before each system call: nobody looks earlier. */
static inline void gy_ring_buffers_publish(struct gy_ring *ring)
{
	for (uint32_t i = 0; i < GY_RING_GROUPS; i++) {
		if (ring->buffers[i].offered < ring->buffers[i].warm) {
			gy_ring_buffers_refill(&ring->buffers[i]);
		}
	}
}

static inline unsigned char *gy_ring_buffers_at(const struct gy_ring_buffers *buffers,
						uint16_t buffer)
{
	return buffers->memory + (size_t)(buffer - buffers->first) * buffers->bytes;
}

/* Finds a buffer that is returned twice, or comes while it is still out. */
static inline void gy_ring_buffers_mark(const struct gy_ring_buffers *buffers, uint16_t buffer,
					uint8_t held)
{
#if GY_ASSERT_LEVEL >= 2
	gy_assert(buffers->held[buffer - buffers->first] != held);
	buffers->held[buffer - buffers->first] = held;
#else
	(void)buffers;
	(void)buffer;
	(void)held;
#endif
}

#if GY_ASSERT_LEVEL >= 2
/* Asserts that nobody wrote to @buffer behind its first @filled bytes, which the kernel did. */
void gy_ring_buffers_check(const struct gy_ring_buffers *buffers, uint16_t buffer, uint32_t filled);
/* Asserts that nobody wrote to the buffers that the kernel is filling; all completions have been
 * seen. */
void gy_ring_buffers_check_all(const struct gy_ring *ring);
#else
static inline void gy_ring_buffers_check(const struct gy_ring_buffers *buffers, uint16_t buffer,
					 uint32_t filled)
{
	(void)buffers;
	(void)buffer;
	(void)filled;
}
#endif

/* A completion brought @count bytes in @buffer, behind which the kernel is @filling it; where they
 * are. */
static inline unsigned char *gy_ring_buffers_taken(struct gy_ring *ring, uint16_t buffer,
						   int32_t count, bool filling)
{
	struct gy_ring_buffers *buffers = gy_likely(buffer < GY_RING_DATAGRAM_BUFFERS)
						  ? &ring->buffers[GY_RING_STREAM_GROUP]
						  : &ring->buffers[GY_RING_DATAGRAM_GROUP];
	unsigned char **next = &buffers->next[buffer % GY_RING_DATAGRAM_BUFFERS];
	unsigned char *bytes = *next;
	unsigned char *end = bytes + (count > 0 ? (uint32_t)count : 0);

	gy_assert(buffer % GY_RING_DATAGRAM_BUFFERS < buffers->count);
	gy_sanitize_give(bytes, (size_t)(end - bytes));
	*next = end;
	if (!filling) {
		*next = gy_ring_buffers_at(buffers, buffer);
		gy_assert((size_t)(end - *next) <= buffers->bytes);
		gy_ring_buffers_mark(buffers, buffer, 1);
		gy_ring_buffers_check(buffers, buffer, (uint32_t)(end - *next));
		buffers->offered--;
	}
	return bytes;
}

/* ---- ring_datagram.c ---- */

/* The head of a datagram in its buffer. */
struct msghdr *gy_ring_datagram_shape(void);

/* ---- ring_descriptor.c ---- */

int gy_ring_descriptor_init(struct gy_ring *ring);
void gy_ring_descriptor_fini(struct gy_ring *ring);
/* Has it tell of completions too, which @fd is readable for. */
int gy_ring_descriptor_watch(struct gy_ring *ring, int fd);

/* ---- ring_wake.c ---- */

int gy_ring_waker_init(struct gy_ring *ring);
void gy_ring_waker_fini(struct gy_ring *ring);
/* Prepares the waker's poll unless it is armed. */
void gy_ring_waker_arm(struct gy_ring *ring);
/* Takes a completion of a submission of the ring's own. */
GY_COLD void gy_ring_reap_own(struct gy_ring *ring, const struct io_uring_cqe *cqe);

/* ---- ring_probe.c ---- */

/* The circumstances of a refusal, which tell its cause from others with the same errno. */
struct gy_ring_surroundings {
	enum gy_ring_call call;	    /* that was refused */
	bool no_addresses;	    /* no mapping can be had */
	int sysctl_disabled;	    /* kernel.io_uring_disabled, or -1 where there is none */
	uint64_t locked_bytes_max;  /* RLIMIT_MEMLOCK */
	uint64_t address_bytes_max; /* RLIMIT_AS */
	uint64_t descriptors_max;   /* RLIMIT_NOFILE */
	const char *release;	    /* of the kernel */
};

/* Finds the ring's features; -ENOSYS if the kernel is below the floor, or what it refuses to tell
 * them with. */
int gy_ring_probe(struct gy_ring *ring);
/* Puts into @line why @error (an errno, positive) came and what to do about it. */
void gy_ring_refusal(char *line, size_t line_bytes, int error,
		     const struct gy_ring_surroundings *around);
/* Logs the line; returns @result, which is a negative errno. */
GY_COLD int gy_ring_refused(const struct gy_log *log, enum gy_ring_call call, int result);

#endif
