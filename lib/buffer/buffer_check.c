/*
 * The walker of a buffer: its bytes are those of its slices, the last of them is the one it says,
 * and each is a part of a page that somebody has.
 */
#include "buffer/buffer.h"

/* Slices may also use the room before the begin of a page, where headers go. */
static void check_slice(const struct gy_slice *slice)
{
	const struct gy_page *page = slice->page;

	gy_assert(slice->count > 0);
	gy_assert(page->references > 0);
	/* The providers of these pages know their ends. */
	if (!gy_page_is_kernel_provided(page)) {
		size_t head = page->is_foreign ? 0 : gy_page_head_bytes(page);

		gy_assert(page->used <= page->bytes);
		gy_assert(slice->bytes + head >= page->memory);
		gy_assert(slice->bytes + slice->count <= page->memory + page->used);
	}
}

void gy_buffer_check(const struct gyre_buffer *buffer)
{
	const struct gy_slice *last = &buffer->first;
	size_t bytes = 0;

	/* An empty buffer, or one that stands for something else in a queue of output. */
	if (buffer->first.page == NULL) {
		gy_assert(buffer->bytes == 0 && buffer->first.count == 0);
		gy_assert(buffer->last == &buffer->first && buffer->first.next == NULL);
		return;
	}
	for (const struct gy_slice *slice = &buffer->first; slice != NULL; slice = slice->next) {
		gy_assert(slice == &buffer->first || slice->peer == 0);
		check_slice(slice);
		bytes += slice->count;
		last = slice;
	}
	gy_assert(buffer->last == last);
	gy_assert(buffer->bytes == bytes);
}
