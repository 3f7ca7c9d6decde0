/*
 * The provided buffers: memory that the kernel takes receive buffers from, so that a connection
 * that has nothing to read holds none.
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

enum { BUFFERS_MAX = GY_RING_DATAGRAM_BUFFERS };

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
#if GY_ASSERT_LEVEL >= 2
	buffers->held = gy_memory_get(buffers->count);
	if (buffers->held == NULL) {
		return -ENOMEM;
	}
#endif
	return buffers->entries != NULL && buffers->memory != NULL ? 0 : -ENOMEM;
}

static void add(struct gy_ring_buffers *buffers, uint16_t buffer)
{
	unsigned char *memory = gy_ring_buffers_at(buffers, buffer);
	/* The tail stands in the first entry's reserved field, so entries are written by member. */
	struct io_uring_buf *entry = &buffers->entries->bufs[buffers->tail & (buffers->count - 1)];

	entry->addr = (uint64_t)(uintptr_t)memory;
	entry->len = buffers->bytes;
	entry->bid = buffer;
	buffers->tail++;
	buffers->available++;
	gy_sanitize_take(memory, buffers->bytes);
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
	for (uint32_t i = 0; i < count; i++) {
		add(buffers, (uint16_t)(buffers->first + i));
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
