/*
 * Pages: the memory that buffers are slices of. A page is one of the ring's provided buffers, or
 * comes from the loop's pool, or is a large one from the heap. It is counted by its slices, with
 * plain numbers, because a loop's pages never leave the loop; with the last slice it goes back to
 * where it came from.
 *
 * A page knows how much of it was ever given to slices. What lies beyond belongs to nobody, so the
 * one slice that ends there may grow into it, also when other slices of the page are shared or on
 * their way to the kernel.
 */
#ifndef GY_CHANNEL_PAGE_H
#define GY_CHANNEL_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

struct gy_channels;

enum { GY_POOL_PAGE_BYTES = 4096 };

struct gy_page {
	unsigned char *memory;
	uint32_t references;
	uint32_t bytes;
	uint32_t used;	 /* of @bytes, what slices were given */
	uint16_t number; /* of the ring's buffer */
	bool of_ring;
	bool of_datagrams;	/* of the ring's buffers for datagrams, and then not @of_ring */
	bool of_heap;		/* larger than those of the pool */
} __attribute__((aligned(32))); /* so that none lies across cache lines */

/* A page of the pool with one reference and nothing in it; NULL when there is no memory. */
struct gy_page *gy_page_get(struct gy_channels *channels);
/* The same with room for at least @bytes. */
struct gy_page *gy_page_get_of(struct gy_channels *channels, uint32_t bytes);
/* The last slice is gone. */
void gy_page_return(struct gy_channels *channels, struct gy_page *page);

static inline void gy_page_ref(struct gy_page *page)
{
	gy_assert(page->references > 0);
	page->references++;
}

static inline void gy_page_unref(struct gy_channels *channels, struct gy_page *page)
{
	gy_assert(page->references > 0);
	if (--page->references == 0) {
		gy_page_return(channels, page);
	}
}

#endif
