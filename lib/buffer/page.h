/*
 * Pages: the memory that buffers are slices of. A page is one of the ring's provided buffers, comes
 * from the loop's pool, is a large one from the heap, or describes memory of somebody else's. The
 * users of a page are counted, with plain numbers, because a loop's pages never leave the loop: its
 * slices, and whoever may still put bytes into it. That is the kernel, for a page of its ring of
 * buffers, until a completion says that it is full; channel/input/input.c gives the kernel's share
 * to the last slice then. The last user returns the page to where it came from.
 *
 * A page knows how much of it was ever given to slices. What lies beyond belongs to nobody, so the
 * one slice that ends there may grow into it, also when other slices of the page are shared or on
 * their way to the kernel. What lies before a slice that is alone on its page belongs to nobody
 * either, and pages of the pool and of the heap have a little room before their begin: a header
 * goes there.
 */
#ifndef GY_BUFFER_PAGE_H
#define GY_BUFFER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

struct gy_buffer_pools;

enum { GY_POOL_PAGE_BYTES = 4096, GY_POOL_HEAD_BYTES = 32 };

struct gy_page {
	unsigned char *memory;
	uint32_t references; /* its users */
	uint32_t bytes;
	uint32_t used;		/* of @bytes, what slices were given */
	uint16_t number;	/* of the ring's buffer */
	uint16_t segment_bytes; /* of each of the datagrams that came together; 0 for one alone */
	bool of_ring;
	bool of_datagrams;	/* of the ring's buffers for datagrams, and then not @of_ring */
	bool of_heap;		/* larger than those of the pool */
	bool is_foreign;	/* struct gy_foreign: nothing may be written there */
} __attribute__((aligned(32))); /* so that none lies across cache lines */

typedef void (*gy_release_fn)(void *arg);

/* Somebody else's memory, who hears when the last user of it has gone. */
struct gy_foreign {
	struct gy_page page;
	gy_release_fn release;
	void *arg;
};

/* A page of the pool with one reference and nothing in it; NULL when there is no memory. */
struct gy_page *gy_page_get(struct gy_buffer_pools *pools);
/* A page with room for at least @bytes; of the pool if that has so much. */
struct gy_page *gy_page_get_of(struct gy_buffer_pools *pools, uint32_t bytes);
/*
 * A page with one reference that is @count bytes of @memory; @release is called on this loop, with
 * the last reference. NULL when there is no memory, and then it is not called.
 */
struct gy_page *gy_page_of_memory(struct gy_buffer_pools *pools, const void *memory, size_t count,
				  gy_release_fn release, void *arg);
/* The last user is gone. */
void gy_page_return(struct gy_buffer_pools *pools, struct gy_page *page);

/* Whether the kernel receives into the page, so that keeping it keeps it from others. */
static inline bool gy_page_is_kernel_provided(const struct gy_page *page)
{
	return page->of_ring || page->of_datagrams;
}

/* The room before its begin; @page is not foreign. */
static inline size_t gy_page_head_bytes(const struct gy_page *page)
{
	return gy_page_is_kernel_provided(page) ? 0 : GY_POOL_HEAD_BYTES;
}

static inline void gy_page_ref(struct gy_page *page)
{
	gy_assert(page->references > 0);
	page->references++;
}

static inline void gy_page_unref(struct gy_buffer_pools *pools, struct gy_page *page)
{
	gy_assert(page->references > 0);
	if (--page->references == 0) {
		gy_page_return(pools, page);
	}
}

#endif
