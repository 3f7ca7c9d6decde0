/*
 * Buffers are handed to the kernel by number; where each stands follows from that. What is being
 * filled and what is being sent is counted for each buffer, so that slices can come back in any
 * order.
 */
#include "limit/echo_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	WHOLE_COUNT = 8192,
	WHOLE_COUNT_FIRST = 256,
	WHOLE_BYTES = 4096,
	INCREMENTAL_COUNT = 1024,
	INCREMENTAL_COUNT_FIRST = 32,
	INCREMENTAL_BYTES = 64 * 1024,
};

static void give_buffer(struct echo_pool *pool, uint16_t buffer)
{
	pool->states[buffer] = (struct echo_buffer_state){ 0 };
	io_uring_buf_ring_add(pool->ring, pool->memory + (size_t)buffer * pool->bytes, pool->bytes,
			      buffer, io_uring_buf_ring_mask(pool->count), (int)pool->returned++);
	pool->free++;
}

static void circulate(struct echo_pool *pool, uint32_t count)
{
	for (; pool->circulating < count && pool->circulating < pool->count; pool->circulating++) {
		give_buffer(pool, (uint16_t)pool->circulating);
	}
}

void echo_pool_show(struct echo_pool *pool)
{
	if (pool->returned > 0) {
		io_uring_buf_ring_advance(pool->ring, (int)pool->returned);
		pool->returned = 0;
	}
}

void echo_pool_was_empty(struct echo_pool *pool)
{
	if (pool->free == 0) {
		circulate(pool, 2 * pool->circulating);
	}
}

static void *map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		return NULL;
	}
	madvise(memory, bytes, MADV_HUGEPAGE); /* spares some TLB misses, if it can be had */
	return memory;
}

int echo_pool_init(struct echo_pool *pool, struct io_uring *ring, bool incremental)
{
	struct io_uring_buf_reg registration = { .bgid = ECHO_POOL_GROUP };
	int r;

	*pool = (struct echo_pool){
		.count = incremental ? INCREMENTAL_COUNT : WHOLE_COUNT,
		.bytes = incremental ? INCREMENTAL_BYTES : WHOLE_BYTES,
	};
	pool->ring = map(pool->count * sizeof(struct io_uring_buf));
	pool->states = calloc(pool->count, sizeof(pool->states[0]));
	pool->memory = map((size_t)pool->count * pool->bytes);
	if (pool->ring == NULL || pool->states == NULL || pool->memory == NULL) {
		return -ENOMEM;
	}
	registration.ring_entries = pool->count;
	registration.ring_addr = (uint64_t)(uintptr_t)pool->ring;
	perf_buf_reg_set_flags(&registration, incremental ? IOU_PBUF_RING_INC : 0);
	r = io_uring_register_buf_ring(ring, &registration, 0);
	if (r < 0) {
		return r;
	}
	io_uring_buf_ring_init(pool->ring);
	circulate(pool, incremental ? INCREMENTAL_COUNT_FIRST : WHOLE_COUNT_FIRST);
	echo_pool_show(pool);
	return 0;
}

struct echo_slice *echo_pool_get(struct echo_pool *pool, uint16_t buffer, uint32_t bytes, bool more)
{
	struct echo_buffer_state *state = &pool->states[buffer];
	char *data = pool->memory + (size_t)buffer * pool->bytes + state->filled;
	struct echo_slice *slice = pool->spare;

	if (slice != NULL) {
		pool->spare = slice->next;
	} else {
		slice = malloc(sizeof(*slice));
		if (slice == NULL) {
			abort();
		}
	}
	*slice = (struct echo_slice){ .data = data, .bytes = bytes, .buffer = buffer };
	state->slices++;
	if (more) {
		state->filled += bytes;
	} else {
		state->filled = pool->bytes;
		pool->free--;
	}
	return slice;
}

void echo_pool_put(struct echo_pool *pool, struct echo_slice *slice)
{
	struct echo_buffer_state *state = &pool->states[slice->buffer];

	if (--state->slices == 0 && state->filled == pool->bytes) {
		give_buffer(pool, slice->buffer);
	}
	slice->next = pool->spare;
	pool->spare = slice;
}
