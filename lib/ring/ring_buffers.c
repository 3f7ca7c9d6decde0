/*
 * The provided buffers: memory that the kernel takes receive buffers from, so that a connection
 * that has nothing to read holds none.
 *
 * The kernel takes the buffer that was offered first. If it were offered all of them it would write
 * to the one that was used longest ago, which has left the processor's caches, and we would read it
 * from memory again. So it is offered a few, and what comes back goes on top of the others. When it
 * runs out it is offered twice as many, and half when that many were left for a while.
 *
 * The kernel's queue of free buffers is shared memory with one producer, which is us. Returns are
 * written into it at once but published together, just before the next system call: nobody looks
 * earlier. The buffers have a mapping of their own, so that a page can be protected without harm to
 * what would stand beside it in a heap.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "ring/ring_private.h"

enum {
	BUFFERS_MAX = GY_RING_DATAGRAM_BUFFERS,
	WARM_BYTES = 1 << 18, /* a part of the second cache */
	WARM_MIN = 16,
	LOOK_REFILLS = 1024,
};

/* NULL when there is no memory. */
static void *map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int map_all(struct gy_ring_buffers *buffers)
{
	buffers->entries = map(buffers->count * sizeof(struct io_uring_buf));
	buffers->memory = map((size_t)buffers->count * buffers->bytes);
	buffers->idle = map(buffers->count * sizeof(*buffers->idle));
#if GY_ASSERT_LEVEL >= 2
	buffers->held = gy_memory_get(buffers->count);
	if (buffers->held == NULL) {
		return -ENOMEM;
	}
#endif
	return buffers->entries != NULL && buffers->memory != NULL && buffers->idle != NULL
		       ? 0
		       : -ENOMEM;
}

static void offer(struct gy_ring_buffers *buffers, uint16_t buffer)
{
	/* The tail stands in the first entry's reserved field, so entries are written by member. */
	struct io_uring_buf *entry = &buffers->entries->bufs[buffers->tail & (buffers->count - 1)];

	entry->addr = (uint64_t)(uintptr_t)gy_ring_buffers_at(buffers, buffer);
	entry->len = buffers->bytes;
	entry->bid = buffer;
	buffers->tail++;
	buffers->offered++;
}

static uint32_t idle_count(const struct gy_ring_buffers *buffers)
{
	return buffers->available - buffers->offered;
}

/* Makes idle what is not out. */
static void add(struct gy_ring_buffers *buffers, uint16_t buffer)
{
	buffers->idle[idle_count(buffers)] = buffer;
	buffers->available++;
	gy_sanitize_take(gy_ring_buffers_at(buffers, buffer), buffers->bytes);
}

static void look(struct gy_ring_buffers *buffers)
{
	buffers->unused = buffers->offered < buffers->unused ? buffers->offered : buffers->unused;
	if (++buffers->refills < LOOK_REFILLS) {
		return;
	}
	if (buffers->unused >= buffers->warm / 2 && buffers->warm > buffers->warm_min) {
		buffers->warm /= 2;
	}
	buffers->refills = 0;
	buffers->unused = buffers->warm;
}

void gy_ring_buffers_refill(struct gy_ring_buffers *buffers)
{
	look(buffers);
	while (buffers->offered < buffers->warm && idle_count(buffers) > 0) {
		offer(buffers, buffers->idle[idle_count(buffers) - 1]);
	}
}

void gy_ring_buffers_ran_out(struct gy_ring *ring)
{
	for (uint32_t i = 0; i < GY_RING_GROUPS; i++) {
		struct gy_ring_buffers *buffers = &ring->buffers[i];

		if (buffers->offered == 0 && buffers->warm < buffers->count) {
			buffers->warm *= 2;
		}
	}
}

static uint32_t warm_min(uint32_t count, uint32_t bytes)
{
	uint32_t warm = WARM_MIN;

	while (warm < count && warm * bytes < WARM_BYTES) {
		warm *= 2;
	}
	return warm < count ? warm : count;
}

int gy_ring_buffers_init(struct gy_ring *ring, uint32_t group, uint32_t count, uint32_t bytes)
{
	struct gy_ring_buffers *buffers = &ring->buffers[group];
	struct io_uring_buf_reg registration = { .ring_entries = count, .bgid = (uint16_t)group };
	int r;

	if (count == 0) {
		return 0;
	}
	gy_assert((count & (count - 1)) == 0 && count <= BUFFERS_MAX && bytes > 0);
	*buffers = (struct gy_ring_buffers){
		.bytes = bytes,
		.count = count,
		.warm = warm_min(count, bytes),
		.warm_min = warm_min(count, bytes),
		.first = (uint16_t)(group * GY_RING_DATAGRAM_BUFFERS),
	};
	r = map_all(buffers);
	if (r == 0) {
		registration.ring_addr = (uint64_t)(uintptr_t)buffers->entries;
		r = io_uring_register_buf_ring(&ring->uring, &registration, 0);
	}
	if (r < 0) {
		gy_ring_buffers_fini(buffers);
		return r;
	}
	for (uint32_t i = count; i > 0; i--) {
		add(buffers, (uint16_t)(buffers->first + i - 1));
	}
	gy_ring_buffers_publish(ring);
	return 0;
}

void gy_ring_buffers_fini(struct gy_ring_buffers *buffers)
{
	if (buffers->memory != NULL) {
		gy_sanitize_give(buffers->memory, (size_t)buffers->count * buffers->bytes);
		(void)munmap(buffers->memory, (size_t)buffers->count * buffers->bytes);
	}
	if (buffers->entries != NULL) {
		(void)munmap(buffers->entries, buffers->count * sizeof(struct io_uring_buf));
	}
	if (buffers->idle != NULL) {
		(void)munmap(buffers->idle, buffers->count * sizeof(*buffers->idle));
	}
	gy_memory_put(buffers->held);
	*buffers = (struct gy_ring_buffers){ 0 };
}

void *gy_ring_buffer(const struct gy_ring *ring, uint16_t buffer)
{
	const struct gy_ring_buffers *buffers = &ring->buffers[gy_ring_group_of(buffer)];

	gy_assert((uint32_t)(buffer - buffers->first) < buffers->count);
	return gy_ring_buffers_at(buffers, buffer);
}

uint32_t gy_ring_buffer_bytes(const struct gy_ring *ring)
{
	return ring->buffers[GY_RING_STREAM_GROUP].bytes;
}

void gy_ring_buffer_return(struct gy_ring *ring, uint16_t buffer)
{
	struct gy_ring_buffers *buffers = &ring->buffers[gy_ring_group_of(buffer)];

	gy_assert((uint32_t)(buffer - buffers->first) < buffers->count &&
		  buffers->available < buffers->count);
	gy_ring_buffers_mark(buffers, buffer, 0);
	add(buffers, buffer);
}

uint32_t gy_ring_buffers_available(const struct gy_ring *ring)
{
	return ring->buffers[GY_RING_STREAM_GROUP].available;
}
