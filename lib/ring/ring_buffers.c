/*
 * The provided buffers: memory that the kernel takes receive buffers from, so that a connection
 * that has nothing to read holds none. Who uses a buffer that was filled, and when it is returned,
 * is the affair of buffer/page.c.
 *
 * Newer kernels can fill a buffer bit by bit: a receive takes as much of it as it needs,
 * and the next one begins behind that. So buffers are large, what is long arrives in one piece, and
 * what is short wastes nothing. Where the kernel cannot, each receive takes a whole buffer, and
 * buffers are many and small.
 *
 * The kernel takes buffers in the order in which they were offered. If it were offered all of them
 * it would write to the one that was used longest ago, which has left the processor's caches, and
 * we would read it from memory again. So it is offered a few, and what comes back goes on top of
 * the idle ones.
 *
 * Large ones that are shared stay few. They run out when much comes at once, and then it is better
 * to pass on what has come, while it is in the cache, before more is taken: who finds none waits
 * for its turn. Of small ones each receive takes one, however little comes; when they run out the
 * kernel is offered twice as many, and half when that many were left for a while.
 *
 * The kernel's queue of buffers is shared memory with one producer, which is us. It is written just
 * before a system call: nobody looks earlier. The buffers have a mapping of their own, so that a
 * page can be protected without harm to what would stand beside it in a heap.
 *
 * In builds with all assertions a buffer that is offered or idle is filled with poison. Who reads
 * it all the same sees that, and who writes to it is found: when a whole buffer comes with less
 * than all of it filled, and for a shared one, in which the kernel may be ahead of the completions
 * we have seen, before the next system call.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory/memory.h"
#include "base/memory/poison.h"
#include "ring/ring_private.h"

enum {
	BUFFERS_MAX = GY_RING_DATAGRAM_BUFFERS,
	SHARED_BYTES_MAX = 1 << 16, /* what a socket gives at once is seldom more */
	SHARED_COUNT_MIN = 16,
	WARM_BYTES = 1 << 18, /* a part of the second cache */
	/* What one peer sends at once fits, and what it sends meanwhile. */
	SHARED_WARM_BYTES = 1 << 19,
	WARM_MIN = 4,
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
	buffers->next = gy_memory_get(buffers->count * sizeof(*buffers->next));
	buffers->idle = gy_memory_get(buffers->count * sizeof(*buffers->idle));
#if GY_ASSERT_LEVEL >= 2
	buffers->held = gy_memory_get(buffers->count);
	if (buffers->held == NULL || buffers->memory == NULL) {
		return -ENOMEM;
	}
	/* All of it is filled with poison at once: in a few faults, where the kernel can. */
	(void)madvise(buffers->memory, (size_t)buffers->count * buffers->bytes, MADV_HUGEPAGE);
#endif
	return buffers->entries != NULL && buffers->memory != NULL && buffers->next != NULL &&
			       buffers->idle != NULL
		       ? 0
		       : -ENOMEM;
}

#if GY_ASSERT_LEVEL >= 2
enum { BEGIN_BYTES = 256, WHOLE_EVERY = 16 };

static void poison(unsigned char *memory, uint32_t bytes)
{
	gy_sanitize_give(memory, bytes);
	memset(memory, GY_POISON_BYTE, bytes);
}

static void check_rest(const struct gy_ring_buffers *buffers, uint16_t buffer, uint32_t filled,
		       uint32_t most)
{
	unsigned char *rest = gy_ring_buffers_at(buffers, buffer) + filled;
	uint32_t count = buffers->bytes - filled < most ? buffers->bytes - filled : most;

	if (count > 0) {
		gy_sanitize_give(rest, count);
		gy_assert(rest[0] == GY_POISON_BYTE && memcmp(rest, rest + 1, count - 1) == 0);
		gy_sanitize_take(rest, count);
	}
}

void gy_ring_buffers_check(const struct gy_ring_buffers *buffers, uint16_t buffer, uint32_t filled)
{
	check_rest(buffers, buffer, filled, UINT32_MAX);
}

/* A kernel that also works outside of our calls may be ahead of all completions. */
void gy_ring_buffers_check_all(const struct gy_ring *ring)
{
	/* Buffers are large. What is written too far is most often seen where it begins. */
	uint32_t most = ring->counters.enters % WHOLE_EVERY == 0 ? UINT32_MAX : BEGIN_BYTES;
	const struct gy_ring_buffers *buffers = &ring->buffers[GY_RING_STREAM_GROUP];

	if (!buffers->shared || (ring->uring.flags & IORING_SETUP_DEFER_TASKRUN) == 0) {
		return;
	}
	for (uint32_t i = 0; i < buffers->count; i++) {
		uint16_t buffer = (uint16_t)(buffers->first + i);
		size_t filled = (size_t)(buffers->next[i] - gy_ring_buffers_at(buffers, buffer));

		if (filled > 0) {
			check_rest(buffers, buffer, (uint32_t)filled, most);
		}
	}
}
#else
static void poison(unsigned char *memory, uint32_t bytes)
{
	(void)memory;
	(void)bytes;
}
#endif

static void add(struct gy_ring_buffers *buffers, uint16_t buffer)
{
	unsigned char *memory = gy_ring_buffers_at(buffers, buffer);

	buffers->idle[buffers->idles++] = buffer;
	poison(memory, buffers->bytes);
	gy_sanitize_take(memory, buffers->bytes);
}

static void offer(struct gy_ring_buffers *buffers, uint16_t buffer)
{
	/* The tail stands in the first entry's reserved field, so entries are written by member. */
	struct io_uring_buf *entry = &buffers->entries->bufs[buffers->tail & (buffers->count - 1)];

	gy_ring_buffers_check(buffers, buffer, 0);
	entry->addr = (uint64_t)(uintptr_t)gy_ring_buffers_at(buffers, buffer);
	entry->len = buffers->bytes;
	entry->bid = buffer;
	buffers->tail++;
	buffers->offered++;
}

/* Decides whether more or fewer buffers are to be offered from now on. */
static void look(struct gy_ring_buffers *buffers)
{
	if (buffers->ran_out && !buffers->shared && buffers->warm < buffers->count) {
		buffers->warm *= 2;
		buffers->refills = 0;
		buffers->unused = buffers->warm;
	}
	buffers->ran_out = false;
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
	if (buffers->idles == 0) {
		return;
	}
	look(buffers);
	while (buffers->offered < buffers->warm && buffers->idles > 0) {
		offer(buffers, buffers->idle[--buffers->idles]);
	}
	gy_store_release(&buffers->entries->tail, buffers->tail);
}

void gy_ring_buffers_ran_out(struct gy_ring *ring)
{
	for (uint32_t i = 0; i < GY_RING_GROUPS; i++) {
		struct gy_ring_buffers *buffers = &ring->buffers[i];

		buffers->ran_out |= buffers->offered == 0 && buffers->idles > 0;
	}
}

struct gy_ring_buffers_shape gy_ring_stream_shape(const struct gy_ring *ring,
						  const struct gy_ring_options *options)
{
	struct gy_ring_buffers_shape shape = {
		.count = options->buffer_count,
		.bytes = options->buffer_bytes,
		.shared = ring->features.incremental_buffers && !options->whole_buffers,
	};

	while (shape.shared && shape.count > SHARED_COUNT_MIN &&
	       shape.bytes * 2 <= SHARED_BYTES_MAX) {
		shape.count /= 2;
		shape.bytes *= 2;
	}
	return shape;
}

static uint32_t warm_min(const struct gy_ring_buffers_shape *shape)
{
	uint32_t bytes = shape->shared ? SHARED_WARM_BYTES : WARM_BYTES;
	uint32_t warm = WARM_MIN;

	while (warm < shape->count && warm * shape->bytes < bytes) {
		warm *= 2;
	}
	return warm < shape->count ? warm : shape->count;
}

int gy_ring_buffers_init(struct gy_ring *ring, uint32_t group,
			 const struct gy_ring_buffers_shape *shape)
{
	struct gy_ring_buffers *buffers = &ring->buffers[group];
	struct io_uring_buf_reg registration = {
		.ring_entries = shape->count,
		.bgid = (uint16_t)group,
		.pad = shape->shared ? GY_KERNEL_PBUF_RING_INC : 0,
	};
	int r;

	if (shape->count == 0) {
		return 0;
	}
	gy_assert((shape->count & (shape->count - 1)) == 0 && shape->count <= BUFFERS_MAX &&
		  shape->bytes > 0);
	*buffers = (struct gy_ring_buffers){
		.bytes = shape->bytes,
		.count = shape->count,
		.shared = shape->shared,
		.warm = warm_min(shape),
		.warm_min = warm_min(shape),
		.first = (uint16_t)(group * GY_RING_DATAGRAM_BUFFERS),
	};
	ring->call = GY_RING_CALL_MEMORY;
	r = map_all(buffers);
	if (r == 0 && ring->epoll == NULL) {
		ring->call = GY_RING_CALL_REGISTER;
		registration.ring_addr = (uint64_t)(uintptr_t)buffers->entries;
		r = io_uring_register_buf_ring(&ring->uring, &registration, 0);
	}
	if (r < 0) {
		gy_ring_buffers_fini(buffers);
		return r;
	}
	for (uint32_t i = shape->count; i > 0; i--) {
		uint16_t buffer = (uint16_t)(buffers->first + i - 1);

		buffers->next[i - 1] = gy_ring_buffers_at(buffers, buffer);
		add(buffers, buffer);
	}
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
	gy_memory_put(buffers->next);
	gy_memory_put(buffers->idle);
	gy_memory_put(buffers->held);
	*buffers = (struct gy_ring_buffers){ 0 };
}

void *gy_ring_buffer(const struct gy_ring *ring, uint16_t buffer)
{
	const struct gy_ring_buffers *buffers = &ring->buffers[gy_ring_group_of(buffer)];

	gy_assert((uint32_t)(buffer - buffers->first) < buffers->count);
	return gy_ring_buffers_at(buffers, buffer);
}

uint32_t gy_ring_buffer_count(const struct gy_ring *ring)
{
	return ring->buffers[GY_RING_STREAM_GROUP].count;
}

uint32_t gy_ring_buffer_bytes(const struct gy_ring *ring)
{
	return ring->buffers[GY_RING_STREAM_GROUP].bytes;
}

bool gy_ring_buffers_are_shared(const struct gy_ring *ring)
{
	return ring->buffers[GY_RING_STREAM_GROUP].shared;
}

void gy_ring_buffer_return(struct gy_ring *ring, uint16_t buffer)
{
	struct gy_ring_buffers *buffers = &ring->buffers[gy_ring_group_of(buffer)];

	gy_assert((uint32_t)(buffer - buffers->first) < buffers->count &&
		  buffers->idles + buffers->offered < buffers->count);
	gy_ring_buffers_mark(buffers, buffer, 0);
	add(buffers, buffer);
}

uint32_t gy_ring_buffers_on_offer(const struct gy_ring *ring)
{
	const struct gy_ring_buffers *buffers = &ring->buffers[GY_RING_STREAM_GROUP];
	uint32_t available = buffers->offered + buffers->idles;

	return available < buffers->warm ? available : buffers->warm;
}

uint32_t gy_ring_buffers_available(const struct gy_ring *ring)
{
	const struct gy_ring_buffers *buffers = &ring->buffers[GY_RING_STREAM_GROUP];

	return buffers->offered + buffers->idles;
}
