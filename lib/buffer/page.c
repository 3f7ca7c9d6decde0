/*
 * Where pages come from and go to.
 *
 * In builds with all assertions a page that nobody has any more is poison, so that a slice that was
 * kept too long shows nonsense, and address sanitizer reports whoever touches it. Pages of the ring
 * are poisoned where the kernel gets them back, in ring_buffers.c.
 */
#include "buffer/page.h"

#include "base/memory/memory.h"
#include "base/memory/poison.h"
#include "buffer/pools.h"

/* The memory behind the head of a page of the pool or of the heap. */
static inline unsigned char *room_of_page(struct gy_page *page)
{
	return (unsigned char *)(page + 1);
}

struct gy_page *gy_page_get(struct gy_buffer_pools *pools)
{
	struct gy_page *page = (struct gy_page *)gy_pool_get(&pools->pages);

	if (gy_likely(page != NULL)) {
		*page = (struct gy_page){
			.references = 1,
			.bytes = GY_POOL_PAGE_BYTES,
			.memory = room_of_page(page) + GY_POOL_HEAD_BYTES,
		};
		gy_unpoison(room_of_page(page), GY_POOL_HEAD_BYTES + GY_POOL_PAGE_BYTES);
	}
	return page;
}

struct gy_page *gy_page_get_of(struct gy_buffer_pools *pools, uint32_t bytes)
{
	struct gy_page *page;

	if (bytes <= GY_POOL_PAGE_BYTES) {
		return gy_page_get(pools);
	}
	page = (struct gy_page *)gy_memory_get_raw(sizeof(*page) + GY_POOL_HEAD_BYTES + bytes);
	if (page != NULL) {
		*page = (struct gy_page){
			.references = 1,
			.bytes = bytes,
			.of_heap = true,
			.memory = room_of_page(page) + GY_POOL_HEAD_BYTES,
		};
	}
	return page;
}

struct gy_page *gy_page_of_memory(struct gy_buffer_pools *pools, const void *memory, size_t count,
				  gy_release_fn release, void *arg)
{
	struct gy_foreign *foreign = (struct gy_foreign *)gy_pool_get(&pools->foreigns);

	if (gy_unlikely(foreign == NULL)) {
		return NULL;
	}
	gy_assert(count <= UINT32_MAX);
	*foreign = (struct gy_foreign){
		.page = { .references = 1,
			  .bytes = (uint32_t)count,
			  .used = (uint32_t)count,
			  .is_foreign = true,
			  /* Nothing is written through it. */
			  .memory = (unsigned char *)(uintptr_t)memory },
		.release = release,
		.arg = arg,
	};
	return &foreign->page;
}

static GY_COLD void return_foreign(struct gy_buffer_pools *pools, struct gy_page *page)
{
	struct gy_foreign *foreign = gy_container_of(page, struct gy_foreign, page);
	gy_release_fn release = foreign->release;
	void *arg = foreign->arg;

	gy_pool_put(&pools->foreigns, foreign);
	if (release != NULL) {
		release(arg);
	}
}

void gy_page_return(struct gy_buffer_pools *pools, struct gy_page *page)
{
	if (gy_likely(page->of_ring)) {
		page->references = 1;
		pools->lent--;
		gy_ring_buffer_return(pools->ring, page->number);
		if (gy_unlikely(!gy_list_empty(&pools->waiting))) {
			pools->available(pools);
		}
		return;
	}
	if (page->of_datagrams) {
		pools->datagram_page_returned(pools, page);
		return;
	}
	if (gy_unlikely(page->is_foreign)) {
		return_foreign(pools, page);
		return;
	}
	if (gy_unlikely(page->of_heap)) {
		gy_memory_put(page);
		return;
	}
	gy_poison(room_of_page(page), GY_POOL_HEAD_BYTES + GY_POOL_PAGE_BYTES);
	gy_pool_put(&pools->pages, page);
}
