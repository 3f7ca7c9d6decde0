/*
 * The seam to the kernel: one ring, its operations, and its provided buffers. Nothing above this
 * floor knows io_uring, and a simulator can put a ring of its own behind these calls.
 *
 * An operation (struct gy_op) stands inside the object that asked for it. It owns its buffer and
 * its descriptor until its final completion (`more` false); until then the object may not go away.
 * An operation is cancelled by itself, never by its descriptor's number. Its generation is carried
 * through the kernel, so that a completion of an earlier use is recognised and dropped.
 *
 * Threads: everything here belongs to the thread that called gy_ring_enable(), except what is said
 * to be for any thread. Setup and destruction are the exception of the exception: any one thread.
 */
#ifndef GY_RING_RING_H
#define GY_RING_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/log/log.h"

struct gy_ring;
struct gy_op;
struct statx;

/* The result of an operation, or of one round of a multishot one. */
struct gy_completion {
	int32_t result; /* a count, a descriptor, or a negative errno */
	union {
		uint32_t flags; /* all that follows, as the kernel says it */
		struct {
			/* @bytes were received into @buffer, and are now the receiver's. */
			uint32_t has_buffer : 1;
			/* The operation stays armed; 0: this is its final completion. */
			uint32_t more : 1;
			/* More can be received; of a receive from a stream, where the kernel knows.
			 */
			uint32_t nonempty : 1;
			uint32_t : 1;
			/* The kernel goes on filling @buffer behind @bytes: it is not out yet. */
			uint32_t filling : 1;
			uint32_t : 11;
			uint32_t buffer : 16;
		};
	};
	unsigned char *bytes; /* undefined without a buffer */
};

/* Called by gy_ring_reap(), in phase 1: it may prepare operations, but may not run users' code. */
typedef void (*gy_op_complete_fn)(struct gy_op *op, const struct gy_completion *completion);

struct gy_op {
	gy_op_complete_fn complete;
	uint16_t generation;
	bool armed; /* the kernel has it: from the call that prepared it to its final completion */
};

/* A completion finds its operation by these bits of its address, of which the lowest are 0. */
enum { GY_OP_ADDRESS_BITS = 48, GY_OP_ALIGN = 8 };

/*
 * Buffers come in two groups, which their numbers tell apart: those of the options, for what comes
 * in streams, and those for datagrams, which a ring has only when it is asked for them.
 */
enum { GY_RING_DATAGRAM_BUFFERS = 1 << 15 }; /* the number of their first */

/* What does the operations of a ring. */
enum gy_ring_engine {
	GY_RING_IO_URING, /* the kernel */
	GY_RING_EPOLL,	  /* system calls, and epoll to wait: see epoll.h */
};

struct gy_ring_options {
	enum gy_ring_engine engine;
	uint32_t entries;      /* submissions that fit, a power of two */
	uint32_t buffer_count; /* provided buffers, a power of two; 0 for none */
	uint32_t buffer_bytes; /* of each */
	uint32_t min_wait_ns;  /* see gy_ring_submit_and_wait(); whole microseconds */
	bool whole_buffers;    /* what is received never shares one, though the kernel could */
	bool descriptor;       /* somebody else waits for the ring: see gy_ring_descriptor() */
	const struct gy_log *log;
};

/* The features that the kernel was found to have. */
struct gy_ring_features {
	bool ring_messages;	  /* MSG_RING */
	bool multishot_receive;	  /* always, above the floor of 6.1 */
	bool incremental_buffers; /* IOU_PBUF_RING_INC, 6.12, and completions in order, 6.15 */
	bool multishot_read;	  /* IORING_OP_READ_MULTISHOT, 6.7 */
	bool truncate;		  /* IORING_OP_FTRUNCATE, 6.9 */
	bool min_wait;		  /* IORING_FEAT_MIN_TIMEOUT, 6.12 */
	bool no_iowait;		  /* a wait need not count as one for a disk, 6.15 */
};

struct gy_ring_counters {
	uint64_t enters;      /* io_uring_enter calls */
	uint64_t submitted;   /* operations */
	uint64_t completions; /* completions dispatched */
	uint64_t blocked;     /* waits that could block */
	uint64_t no_buffers;  /* -ENOBUFS seen */
	uint64_t stale;	      /* completions of an earlier generation, dropped */
	uint64_t own; /* completions of what the ring itself had asked for, wakes among them */
};

/*
 * Makes a ring, not yet enabled, with its provided buffers and its waker. On failure one line that
 * names cause and remedy goes to the log (io_uring missing or forbidden by sysctl or seccomp,
 * locked memory, descriptors, an old kernel), and nothing is left over.
 */
int gy_ring_create(const struct gy_ring_options *options, struct gy_ring **ret_ring);
enum { GY_RING_REFUSAL_BYTES = 512 };

/*
 * Makes a small ring of io_uring, has the calling thread enter it once, and ends it: 0, or the
 * negative errno of what was refused, and then @ret_cause has the line that names cause and remedy.
 */
int gy_ring_try_io_uring(char ret_cause[GY_RING_REFUSAL_BYTES]);
/*
 * All operations must have seen their final completion. NULL is allowed. Called by the thread that
 * enabled the ring, or when that thread has ended; no other ring may have a wake under way to it.
 */
void gy_ring_destroy(struct gy_ring *ring);
/* Ends the use of the ring by the thread that enabled it. Others may still have it send wakes. */
void gy_ring_disown(struct gy_ring *ring);
/*
 * Gives back all that a ring has of the kernel, when its thread has ended; its operations have seen
 * their final completion, its buffers are back, and no message is under way to it. What other
 * threads touch stays good: the waker, by its eventfd, and the counters.
 */
void gy_ring_shut(struct gy_ring *ring);
/* Makes a shut ring as good as new, for another thread to enable. On failure, as in creation, it
 * stays shut. */
int gy_ring_reopen(struct gy_ring *ring, const struct gy_ring_options *options);
/* Binds the ring to the calling thread and arms the waker. Nothing may be submitted before. On
 * failure one line goes to the log, as in creation. */
int gy_ring_enable(struct gy_ring *ring);

/*
 * A completion for nobody has brought the last bytes of @buffer, one of those for streams, which is
 * out now; they are lost. Called by gy_ring_reap().
 */
typedef void (*gy_ring_stale_fn)(void *arg, uint16_t buffer);
/* Sets the function to call for bytes that nobody receives, in a buffer that was in use before;
 * else such a buffer is returned. Setup. */
void gy_ring_on_stale(struct gy_ring *ring, gy_ring_stale_fn stale, void *arg);

struct gy_ring_features gy_ring_features(const struct gy_ring *ring);
const struct gy_ring_counters *gy_ring_counters(const struct gy_ring *ring);

/* ---- turning ---- */

/* Whether operations are prepared that the kernel has not seen. */
bool gy_ring_has_prepared(const struct gy_ring *ring);
/* Hands prepared operations to the kernel; no call if there are none. A count or a negative errno.
 */
int gy_ring_submit(struct gy_ring *ring);
/* Whether each place for an operation is taken: only a submit makes room, and that may have to wait
 * until completions have been reaped. */
bool gy_ring_is_full(const struct gy_ring *ring);
/* Whether a completion is there or flagged by the kernel, as far as can be seen without a call. */
bool gy_ring_ready(const struct gy_ring *ring);
/* As many completions end a wait that gathers them. */
enum { GY_RING_GATHERED = 16 };
/*
 * Submits and waits for a completion, in one system call: for @timeout_ns, without limit for
 * UINT64_MAX, not at all for 0. With 0 the call is left out when nothing is prepared and the kernel
 * has flagged no pending completion work. A signal or a time-out is not an error.
 *
 * With @min_wait_ns of the options, where features.min_wait is, a wait that may last longer goes on
 * for that time, or until there are GY_RING_GATHERED completions, though the first one has come.
 */
int gy_ring_submit_and_wait(struct gy_ring *ring, uint64_t timeout_ns);
/* Whether only calls tell of what has come: gy_ring_ready() sees no more than what
 * gy_ring_submit_and_wait() has found. */
bool gy_ring_is_blind(const struct gy_ring *ring);
enum { GY_RING_RETRY_NS = 2000000 };
/* Of a blind ring: whether it is to be looked at again after GY_RING_RETRY_NS, though nothing tells
 * of it. */
bool gy_ring_has_retries(const struct gy_ring *ring);
/* Of a blind ring: whether it waits for descriptors besides its waker's. */
bool gy_ring_has_descriptors(const struct gy_ring *ring);
/* Calls the complete function of each completion that is there. Returns how many. */
uint32_t gy_ring_reap(struct gy_ring *ring);

/* ---- waking ---- */

/* Any thread: makes a wait of this ring end, now or the next one. One write to an eventfd. */
void gy_ring_wake(struct gy_ring *ring);
/* Wakes a ring from the owner of @from: prepares one operation on @from (MSG_RING, or a write to
 * the target's eventfd where that is not to be had) and makes no system call. */
void gy_ring_wake_from(struct gy_ring *from, struct gy_ring *target);

/*
 * ---- ring_descriptor.c: a ring whose options ask for it has a descriptor that others poll, for
 * completions, wakes and a time. The kernel only says that something has come, so who has looked
 * clears it, and then looks whether there is anything to do before it goes to wait ----
 */

/* The descriptor; it stays until the ring is shut. */
int gy_ring_descriptor(const struct gy_ring *ring);
/* Makes it unreadable until something more comes. Returns whether there were wakes. */
bool gy_ring_descriptor_clear(struct gy_ring *ring);
/* Makes it readable at @time_ns of the machine's clock; UINT64_MAX for never. */
void gy_ring_descriptor_arm(struct gy_ring *ring, uint64_t time_ns);
/* Waits until it is readable, for at most @timeout_ns; UINT64_MAX for no limit. */
void gy_ring_descriptor_wait(const struct gy_ring *ring, uint64_t timeout_ns);

/* ---- operations: each prepares; the kernel sees it at the next submit ---- */

/*
 * An op that is not armed; forgets earlier uses but keeps the generation going, so that its memory
 * must have been cleared once before the first use.
 */
static inline void gy_op_init(struct gy_op *op, gy_op_complete_fn complete)
{
	gy_assert(complete != NULL);
	gy_assert((uintptr_t)op % GY_OP_ALIGN == 0 &&
		  (uint64_t)(uintptr_t)op >> GY_OP_ADDRESS_BITS == 0);
	op->complete = complete;
	op->armed = false;
}

/* All return 0 or -EAGAIN when no submission entry can be had even after submitting. */
int gy_ring_accept(struct gy_ring *ring, struct gy_op *op, int fd); /* multishot */
int gy_ring_receive(struct gy_ring *ring, struct gy_op *op,
		    int fd); /* multishot, provided buffers */
/* Receives once: the first completion is the final one. */
int gy_ring_receive_once(struct gy_ring *ring, struct gy_op *op, int fd);
/* Receives datagrams, each with its sender, into their own group of buffers. */
int gy_ring_receive_datagrams(struct gy_ring *ring, struct gy_op *op, int fd);
/* Receives once, into memory that stays in place until the completion. */
int gy_ring_receive_into(struct gy_ring *ring, struct gy_op *op, int fd, void *memory,
			 size_t bytes);
int gy_ring_send(struct gy_ring *ring, struct gy_op *op, int fd, const void *bytes, size_t count);
/* @message and what it points to stay in place until the completion. */
int gy_ring_send_message(struct gy_ring *ring, struct gy_op *op, int fd,
			 const struct msghdr *message);
/*
 * Sends without a copy: the kernel reads the memory until the final completion. The result comes
 * first, with more to come unless nothing was taken. With @report the second completion tells what
 * gy_ring_was_copied() asks for; kernels before 6.2 refuse that with -EINVAL.
 */
int gy_ring_send_zero_copy(struct gy_ring *ring, struct gy_op *op, int fd,
			   const struct msghdr *message, bool report);
/* Returns whether the kernel copied after all; of a second completion. */
bool gy_ring_was_copied(const struct gy_completion *completion);
/* As gy_ring_send_message(), but -EAGAIN when the socket has no room for the message. */
int gy_ring_send_datagram(struct gy_ring *ring, struct gy_op *op, int fd,
			  const struct msghdr *message);
/* As gy_ring_send_datagram() of one piece, which costs the kernel less; @to is NULL where the
 * socket is connected. The piece and @to stay in place until the completion. */
int gy_ring_send_datagram_piece(struct gy_ring *ring, struct gy_op *op, int fd, struct iovec piece,
				const struct sockaddr *to, socklen_t to_bytes);
/* @address stays in place until the completion. */
int gy_ring_connect(struct gy_ring *ring, struct gy_op *op, int fd, const struct sockaddr *address,
		    socklen_t bytes);
/* The kernel always does this one in a worker thread of its own, and starts it if need be. */
int gy_ring_shutdown(struct gy_ring *ring, struct gy_op *op, int fd, int how);
int gy_ring_poll(struct gy_ring *ring, struct gy_op *op, int fd, uint32_t events);
int gy_ring_close(struct gy_ring *ring, struct gy_op *op, int fd);
/* Asks for the end of @op, whose final completion then comes as -ECANCELED, or as what it had just
 * become. Nothing happens if it is not armed. The cancel itself has no completion. */
int gy_ring_cancel(struct gy_ring *ring, struct gy_op *op);

/* ---- operations on files and pipes, see ring_files.c ---- */

#define GY_RING_AT_POSITION \
	UINT64_MAX /* as an offset: where the descriptor stands, which moves on */

/* @path stays in place until the completion. The descriptor is closed on exec. */
int gy_ring_open(struct gy_ring *ring, struct gy_op *op, const char *path, int flags,
		 uint32_t mode);
int gy_ring_read(struct gy_ring *ring, struct gy_op *op, int fd, void *memory, uint32_t bytes,
		 uint64_t offset);
int gy_ring_write_bytes(struct gy_ring *ring, struct gy_op *op, int fd, const void *bytes,
			uint32_t count); /* at the descriptor's position */
/* @slices and what they point to stay in place until the completion. */
int gy_ring_write(struct gy_ring *ring, struct gy_op *op, int fd, const struct iovec *slices,
		  uint32_t count, uint64_t offset);
/* Reads at the descriptor's position into provided buffers, again and again: multishot, and only
 * where features.multishot_read is, for what can be polled. */
int gy_ring_read_buffers(struct gy_ring *ring, struct gy_op *op, int fd);
int gy_ring_sync(struct gy_ring *ring, struct gy_op *op, int fd, bool data_only);
/* @ret_status stays in place until the completion, which fills it. */
int gy_ring_stat(struct gy_ring *ring, struct gy_op *op, int fd, struct statx *ret_status);
/* Only where features.truncate is. */
int gy_ring_truncate(struct gy_ring *ring, struct gy_op *op, int fd, uint64_t bytes);
/* Moves bytes without a copy; one of the two is a pipe. The kernel does it in a worker thread of
 * its own, which waits for as long as it takes. */
int gy_ring_splice(struct gy_ring *ring, struct gy_op *op, int from, uint64_t offset, int to,
		   uint32_t bytes);

/*
 * ---- ring_now.c: what can be done without waiting, by a system call; any thread. A count, a
 * descriptor, 0 or a negative errno; -EAGAIN where it would have to wait ----
 */

/* Reads bytes that are in memory: as many as there are in a row, 0 at the end of the file. */
int64_t gy_ring_read_now(int fd, void *memory, size_t bytes, uint64_t offset);
/* Sends as much as the socket takes; with @more the last packet may wait for what follows. */
int64_t gy_ring_send_now(int fd, struct iovec *slices, size_t count, bool more);
/*
 * Whether a part of a file is in memory, so that it can be sent without waiting for a disk. Pages
 * that go meanwhile, or are read in another order than theirs, make that wrong. False where the
 * kernel does not tell: before 6.5, and of a file that the process could not write to.
 */
bool gy_ring_can_send_file_now(int fd, uint64_t offset, uint64_t bytes);
/* Sends a part of a file that is in memory, without a copy, to a socket that does not block. The
 * thread has SIGPIPE blocked or ignored. */
int64_t gy_ring_send_file_now(int to, int from, uint64_t offset, size_t bytes);
/* Opens a file whose folders and inode are in memory; on exec it is closed. -EAGAIN also under
 * valgrind. */
int gy_ring_open_now(const char *path, int flags);
/* What is known of an open file, without asking a server that has it. */
int gy_ring_stat_now(int fd, struct statx *ret_status);

/* ---- provided buffers ---- */

/*
 * The buffers for streams have the memory that was asked for. Where the kernel fills a buffer bit
 * by bit, so that several receives share it, they are fewer and larger.
 */
uint32_t gy_ring_buffer_count(const struct gy_ring *ring);
uint32_t gy_ring_buffer_bytes(const struct gy_ring *ring); /* of each */
bool gy_ring_buffers_are_shared(const struct gy_ring *ring);
/* The begin of a buffer. */
void *gy_ring_buffer(const struct gy_ring *ring, uint16_t buffer);
/*
 * Gives back a buffer that is out: the kernel does not go on filling it, and nobody uses what it
 * has received there. The kernel sees all that were given back at the next submit or wait.
 */
void gy_ring_buffer_return(struct gy_ring *ring, uint16_t buffer);
/* Returns how many buffers are not out. */
uint32_t gy_ring_buffers_available(const struct gy_ring *ring);
/* Returns how many buffers the kernel will have at the next system call. */
uint32_t gy_ring_buffers_on_offer(const struct gy_ring *ring);

/* ---- datagrams ---- */

/*
 * Gives the ring @count buffers, a power of two, that datagrams of @bytes fit in. By the thread
 * that enabled it, once.
 */
int gy_ring_add_datagram_buffers(struct gy_ring *ring, uint32_t count, uint32_t bytes);

/* One or more datagrams of one sender, in place in the buffer of a completion. */
struct gy_ring_datagram {
	unsigned char *bytes;
	uint32_t count;
	uint32_t segment_bytes; /* of each that @bytes is made of, the last may be shorter; or 0 */
	bool truncated;		/* it was longer than what is here */
	const void *sender;	/* a struct sockaddr, not aligned to anything */
	uint32_t sender_bytes;	/* 0: it has no name */
};

/* Takes apart what @completion brought; false: the kernel wrote something else there. */
bool gy_ring_datagram(const struct gy_completion *completion,
		      struct gy_ring_datagram *ret_datagram);

#endif
