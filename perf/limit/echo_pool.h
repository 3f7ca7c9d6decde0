/*
 * The receive buffers of the io_uring echo server: a ring that the kernel takes them from, and the
 * slices that it fills in them.
 *
 * A buffer goes back to the ring when the kernel will put no more into it and its last slice is put
 * back. Whole buffers are one slice each; an incremental ring (6.12) goes on filling a large buffer
 * where it left off.
 *
 * Few buffers circulate, so that they stay in the cache: a ring gives out its buffers in turn,
 * never the one that was used last. When they turn out to be too few there are twice as many from
 * then on.
 */
#ifndef PERF_LIMIT_ECHO_POOL_H
#define PERF_LIMIT_ECHO_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/uring.h"

enum { ECHO_POOL_GROUP = 0 };

struct echo_slice {
	struct echo_slice *next;
	char *data;
	uint32_t bytes;
	uint16_t buffer;
};

struct echo_buffer_state {
	uint32_t filled; /* bytes the kernel has put into it */
	uint32_t slices; /* not put back yet */
};

struct echo_pool {
	struct io_uring_buf_ring *ring;
	struct echo_buffer_state *states;
	char *memory;
	uint32_t count;
	uint32_t bytes;	      /* of each */
	uint32_t circulating; /* those with lower numbers are in use */
	uint32_t free;	      /* buffers the kernel has, or has a part of */
	uint32_t returned;    /* of them, not shown to it yet */
	struct echo_slice *spare;
};

/* Registers a ring of whole or of incremental buffers. 0 or a negative errno; -EINVAL: an old
 * kernel. */
int echo_pool_init(struct echo_pool *pool, struct io_uring *ring, bool incremental);

/* The ring was empty when a receive wanted a buffer. */
void echo_pool_was_empty(struct echo_pool *pool);

/* The slice that a completion tells of: @bytes in @buffer; @more: the kernel goes on filling that.
 */
struct echo_slice *echo_pool_get(struct echo_pool *pool, uint16_t buffer, uint32_t bytes,
				 bool more);

void echo_pool_put(struct echo_pool *pool, struct echo_slice *slice);

/* Lets the kernel see all buffers that came back since the last time. */
void echo_pool_show(struct echo_pool *pool);

#endif
