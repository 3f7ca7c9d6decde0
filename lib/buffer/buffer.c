/*
 * Buffers, as users see them: their life, and how they are looked at and read from the front. How
 * they grow is in buffer_grow.c, and what moves bytes between them in buffer_move.c.
 */
#include "buffer/buffer.h"

#include <string.h>

#include "actor/stack/stack.h"

/* ---- life ---- */

struct gyre_buffer *gy_buffer_get(struct gy_buffer_pools *pools)
{
	struct gyre_buffer *buffer = (struct gyre_buffer *)gy_pool_get(&pools->buffers);

	if (buffer != NULL) {
		gy_unpoison(buffer, sizeof(*buffer));
		*buffer = (struct gyre_buffer){ .pools = pools };
		buffer->last = &buffer->first;
	}
	return buffer;
}

struct gyre_buffer *gyre_buffer_create(struct gyre_stack *stack)
{
	const struct gy_stack *s = gy_stack_of(stack);
	struct gyre_buffer *buffer = gy_buffer_get(s->home->loop.buffer_pools);

	if (gy_likely(buffer != NULL)) {
		gy_buffer_made_by(buffer, s->house);
	}
	return buffer;
}

/* Takes the first slice off. What follows moves into its place. */
static void drop_first(struct gyre_buffer *buffer)
{
	struct gy_buffer_pools *pools = buffer->pools;
	struct gy_slice *next = buffer->first.next;

	gy_assert(buffer->first.page != NULL);
	gy_page_unref(pools, buffer->first.page);
	if (next == NULL) {
		gy_buffer_set_first(buffer, &(struct gy_slice){ 0 });
		return;
	}
	if (buffer->last == next) {
		buffer->last = &buffer->first;
	}
	gy_buffer_set_first(buffer, next);
	gy_pool_put(&pools->slices, next);
}

void gy_buffer_put_slices(struct gyre_buffer *buffer)
{
	while (buffer->first.page != NULL) {
		drop_first(buffer);
	}
}

void gy_buffer_put_slow(struct gyre_buffer *buffer)
{
	gy_buffer_put_slices(buffer);
	gy_buffer_put_head(buffer);
}

void gyre_buffer_destroy(struct gyre_buffer *buffer)
{
	if (buffer != NULL) {
		gy_buffer_put(buffer);
	}
}

void gy_buffer_queue_clear(struct gy_buffer_queue *queue)
{
	struct gyre_buffer *buffer;

	while ((buffer = gy_buffer_queue_pop(queue)) != NULL) {
		gy_buffer_put(buffer);
	}
}

size_t gyre_buffer_bytes(const struct gyre_buffer *buffer)
{
	return buffer == NULL ? 0 : buffer->bytes;
}

/* ---- reading ---- */

void gy_buffer_consume(struct gyre_buffer *buffer, size_t count)
{
	gy_assert(count <= buffer->bytes);
	buffer->bytes -= count;
	while (count > 0 && count >= buffer->first.count) {
		count -= buffer->first.count;
		drop_first(buffer);
	}
	if (count > 0) {
		buffer->first.bytes += count;
		buffer->first.count -= (uint32_t)count;
	}
}

size_t gyre_buffer_skip(struct gyre_buffer *buffer, size_t count)
{
	if (buffer == NULL) {
		return 0;
	}
	count = count < buffer->bytes ? count : buffer->bytes;
	gy_buffer_consume(buffer, count);
	return count;
}

const struct gy_slice *gy_buffer_slice_at(const struct gyre_buffer *buffer, size_t offset,
					  size_t *ret_at)
{
	const struct gy_slice *slice = &buffer->first;

	while (offset >= slice->count) {
		offset -= slice->count;
		slice = slice->next;
	}
	*ret_at = offset;
	return slice;
}

size_t gyre_buffer_peek(const struct gyre_buffer *buffer, size_t offset, const void **ret_bytes)
{
	const struct gy_slice *slice;
	size_t at;

	if (buffer == NULL || ret_bytes == NULL || offset >= buffer->bytes) {
		return 0;
	}
	slice = gy_buffer_slice_at(buffer, offset, &at);
	*ret_bytes = slice->bytes + at;
	return slice->count - at;
}

size_t gyre_buffer_copy(const struct gyre_buffer *buffer, size_t offset, void *to, size_t count)
{
	const struct gy_slice *slice;
	unsigned char *out = (unsigned char *)to;
	size_t left;
	size_t at;

	if (buffer == NULL || offset >= buffer->bytes) {
		return 0;
	}
	count = count < buffer->bytes - offset ? count : buffer->bytes - offset;
	slice = gy_buffer_slice_at(buffer, offset, &at);
	for (left = count; left > 0; slice = slice->next) {
		size_t part = slice->count - at < left ? slice->count - at : left;

		memcpy(out, slice->bytes + at, part);
		out += part;
		left -= part;
		at = 0;
	}
	return count;
}

size_t gyre_buffer_read(struct gyre_buffer *buffer, void *to, size_t count)
{
	count = gyre_buffer_copy(buffer, 0, to, count);
	return gyre_buffer_skip(buffer, count);
}

size_t gyre_buffer_spans(const struct gyre_buffer *buffer, size_t offset, struct gyre_span *spans,
			 size_t spans_max)
{
	const struct gy_slice *slice;
	size_t count = 0;
	size_t at;

	if (buffer == NULL || spans == NULL || offset >= buffer->bytes) {
		return 0;
	}
	slice = gy_buffer_slice_at(buffer, offset, &at);
	while (slice != NULL && count < spans_max) {
		spans[count].bytes = slice->bytes + at;
		spans[count].count = slice->count - at;
		count++;
		slice = slice->next;
		at = 0;
	}
	return count;
}
