/*
 * A ring of pointers from one thread to one other, for mail and, in the other direction, for mails
 * that go home to their pool.
 *
 * The producer fills slots privately and shows them with one store a batch. The consumer takes all
 * it is shown; since it sees the addresses in advance it can fetch the mails ahead, which a linked
 * list does not allow. The ring is as large as the pool that feeds it, so that it can never be full
 * and is not tested.
 */
#ifndef PERF_LIMIT_SPSC_H
#define PERF_LIMIT_SPSC_H

#include <stdint.h>
#include <stdlib.h>

#include "limit/bare.h"

enum { SPSC_AHEAD = 8 };

struct spsc {
	_Alignas(BARE_LINE_BYTES) uint32_t filled; /* producer: slots filled */
	_Alignas(BARE_LINE_BYTES) uint32_t shown;  /* both: slots the consumer may take */
	_Alignas(BARE_LINE_BYTES) uint32_t taken;  /* consumer: slots taken */
	uint32_t mask;
	struct bare_mail **slots;
};

/* @capacity is a power of two. The memory lives as long as the program. */
static inline void spsc_init(struct spsc *ring, uint32_t capacity)
{
	*ring = (struct spsc){ .mask = capacity - 1 };
	ring->slots = calloc(capacity, sizeof(ring->slots[0]));
	if (ring->slots == NULL) {
		abort();
	}
}

static inline void spsc_fill(struct spsc *ring, struct bare_mail *mail)
{
	__atomic_store_n(&ring->slots[ring->filled++ & ring->mask], mail, __ATOMIC_RELAXED);
}

static inline void spsc_show(struct spsc *ring)
{
	__atomic_store_n(&ring->shown, ring->filled, __ATOMIC_RELEASE);
}

/* Shows what is filled whenever that is a multiple of @batch, a power of two. */
static inline void spsc_fill_in_batches(struct spsc *ring, struct bare_mail *mail, uint32_t batch)
{
	spsc_fill(ring, mail);
	if ((ring->filled & (batch - 1)) == 0) {
		spsc_show(ring);
	}
}

/* How many slots can be taken with spsc_take(). */
static inline uint32_t spsc_ready(const struct spsc *ring)
{
	return __atomic_load_n(&ring->shown, __ATOMIC_ACQUIRE) - ring->taken;
}

static inline struct bare_mail *spsc_take(struct spsc *ring)
{
	uint32_t ahead = (ring->taken + SPSC_AHEAD) & ring->mask;

	/* That slot may not be filled yet: then an old mail is fetched, which does no harm. */
	__builtin_prefetch(__atomic_load_n(&ring->slots[ahead], __ATOMIC_RELAXED), 1);
	return __atomic_load_n(&ring->slots[ring->taken++ & ring->mask], __ATOMIC_RELAXED);
}

#endif
