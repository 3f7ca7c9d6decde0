/*
 * Buffers, as users see them: reading at the front, appending at the end, and what moves bytes
 * between buffers without copying them.
 */
#include "channel/buffer.h"

#include <errno.h>
#include <string.h>

#include "actor/stack.h"
#include "ring/sanitize.h"

/* ---- life ---- */

struct gyre_buffer *gy_buffer_get(struct gy_channels *channels)
{
	struct gyre_buffer *buffer = (struct gyre_buffer *)gy_pool_get(&channels->buffers);

	if (buffer != NULL) {
		*buffer = (struct gyre_buffer){ .channels = channels };
		buffer->last = &buffer->first;
	}
	return buffer;
}

struct gyre_buffer *gyre_buffer_create(struct gyre_stack *stack)
{
	return gy_buffer_get(gy_channels_of(gy_stack_of(stack)->home));
}

/* Puts @slice in the place of the first; whose buffer it is, and its peer, stay. */
static void set_first(struct gyre_buffer *buffer, const struct gy_slice *slice)
{
	uint32_t peer = buffer->first.peer;

	buffer->first = *slice;
	buffer->first.peer = peer;
}

/* Takes the first slice off. What follows moves into its place. */
static void drop_first(struct gyre_buffer *buffer)
{
	struct gy_channels *channels = buffer->channels;
	struct gy_slice *next = buffer->first.next;

	gy_page_unref(channels, buffer->first.page);
	if (next == NULL) {
		set_first(buffer, &(struct gy_slice){ 0 });
		return;
	}
	if (buffer->last == next) {
		buffer->last = &buffer->first;
	}
	set_first(buffer, next);
	gy_pool_put(&channels->slices, next);
}

void gy_buffer_put_slices(struct gyre_buffer *buffer)
{
	while (buffer->first.page != NULL) {
		drop_first(buffer);
	}
}

void gyre_buffer_free(struct gyre_buffer *buffer)
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

/* The slice with the byte at @offset, which there is; its own place there in @ret_at. */
static const struct gy_slice *slice_at(const struct gyre_buffer *buffer, size_t offset,
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
	slice = slice_at(buffer, offset, &at);
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
	slice = slice_at(buffer, offset, &at);
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

int64_t gyre_buffer_find(const struct gyre_buffer *buffer, size_t offset, unsigned char byte)
{
	const struct gy_slice *slice;
	size_t at;

	if (buffer == NULL || offset >= buffer->bytes) {
		return -ENOENT;
	}
	slice = slice_at(buffer, offset, &at);
	for (offset -= at; slice != NULL; slice = slice->next) {
		const unsigned char *found =
			(const unsigned char *)memchr(slice->bytes + at, byte, slice->count - at);

		if (found != NULL) {
			return (int64_t)(offset + (size_t)(found - slice->bytes));
		}
		offset += slice->count;
		at = 0;
	}
	return -ENOENT;
}

/* ---- appending ---- */

/* How many bytes the last slice can grow by. */
static uint32_t room_of(const struct gy_slice *slice)
{
	const struct gy_page *page = slice->page;

	if (page == NULL || slice->bytes + slice->count != page->memory + page->used) {
		return 0;
	}
	return page->bytes - page->used;
}

/* The next @count bytes of the last slice, which has room for them. */
static unsigned char *extend_last(struct gyre_buffer *buffer, uint32_t count)
{
	struct gy_slice *last = buffer->last;
	unsigned char *to = last->bytes + last->count;

	if (last->page->of_ring) {
		gy_sanitize_give(to, count);
	}
	last->count += count;
	last->page->used += count;
	buffer->bytes += count;
	return to;
}

static uint32_t grow_last(struct gyre_buffer *buffer, const unsigned char *bytes, size_t count)
{
	uint32_t room = room_of(buffer->last);
	uint32_t part = count < room ? (uint32_t)count : room;

	if (part > 0) {
		memcpy(extend_last(buffer, part), bytes, part);
	}
	return part;
}

/* Adds @slice, whose reference to its page it takes, at the end. */
static int add_slice(struct gyre_buffer *buffer, const struct gy_slice *slice)
{
	struct gy_slice *added = &buffer->first;

	if (buffer->first.page == NULL) {
		set_first(buffer, slice);
	} else {
		added = (struct gy_slice *)gy_pool_get(&buffer->channels->slices);
		if (added == NULL) {
			return -ENOMEM;
		}
		*added = *slice;
		added->peer = 0;
		buffer->last->next = added;
	}
	added->next = NULL;
	buffer->last = added;
	buffer->bytes += slice->count;
	return 0;
}

/* The first bytes of a fresh page, @count of them if it has so many; NULL without memory. */
static unsigned char *add_page(struct gyre_buffer *buffer, size_t count)
{
	struct gy_page *page = gy_page_get(buffer->channels);
	struct gy_slice slice;

	if (page == NULL) {
		return NULL;
	}
	slice = (struct gy_slice){
		.bytes = page->memory,
		.page = page,
		.count = count < page->bytes ? (uint32_t)count : page->bytes,
	};
	page->used = slice.count;
	if (add_slice(buffer, &slice) < 0) {
		gy_page_unref(buffer->channels, page);
		return NULL;
	}
	return page->memory;
}

unsigned char *gy_buffer_extend(struct gyre_buffer *buffer, uint32_t count)
{
	gy_assert(count > 0 && count <= GY_POOL_PAGE_BYTES);
	return room_of(buffer->last) >= count ? extend_last(buffer, count)
					      : add_page(buffer, count);
}

/* Takes off the end what lies beyond the first @bytes. */
static void truncate_to(struct gyre_buffer *buffer, size_t bytes)
{
	struct gy_slice *last = &buffer->first;
	size_t left = bytes;

	if (bytes == 0) {
		gy_buffer_put_slices(buffer);
		buffer->last = &buffer->first;
		buffer->bytes = 0;
		return;
	}
	while (left > last->count) {
		left -= last->count;
		last = last->next;
	}
	for (struct gy_slice *slice = last->next; slice != NULL;) {
		struct gy_slice *next = slice->next;

		gy_page_unref(buffer->channels, slice->page);
		gy_pool_put(&buffer->channels->slices, slice);
		slice = next;
	}
	last->count = (uint32_t)left;
	last->next = NULL;
	buffer->last = last;
	buffer->bytes = bytes;
}

int gyre_buffer_append(struct gyre_buffer *buffer, const void *bytes, size_t count)
{
	const unsigned char *from = (const unsigned char *)bytes;
	size_t before;
	size_t done;

	if (buffer == NULL || (bytes == NULL && count > 0)) {
		return -EINVAL;
	}
	before = buffer->bytes;
	done = grow_last(buffer, from, count);
	while (done < count) {
		unsigned char *to = add_page(buffer, count - done);

		if (to == NULL) {
			truncate_to(buffer, before);
			return -ENOMEM;
		}
		memcpy(to, from + done, buffer->last->count);
		done += buffer->last->count;
	}
	return 0;
}

/* ---- moving between buffers ---- */

/* Appends the slices of @from without their references being counted anew; @from is left empty. */
static int take_slices(struct gyre_buffer *buffer, struct gyre_buffer *from)
{
	int r = add_slice(buffer, &from->first);

	if (r < 0) {
		return r;
	}
	if (from->first.next != NULL) {
		buffer->last->next = from->first.next;
		buffer->last = from->last;
		buffer->bytes += from->bytes - from->first.count;
	}
	set_first(from, &(struct gy_slice){ 0 });
	from->last = &from->first;
	from->bytes = 0;
	return 0;
}

int gyre_buffer_join(struct gyre_buffer *buffer, struct gyre_buffer *more)
{
	int r = 0;

	if (more == NULL) {
		return -EINVAL;
	}
	if (buffer == NULL || buffer == more || buffer->channels != more->channels) {
		r = -EINVAL;
	} else if (more->bytes > 0) {
		r = take_slices(buffer, more);
	}
	if (buffer != more) {
		gy_buffer_put(more);
	}
	return r;
}

/* Moves the first @count bytes, which there are, to the end of @front. */
static int move_front(struct gyre_buffer *buffer, size_t count, struct gyre_buffer *front)
{
	const struct gy_slice *slice = &buffer->first;
	size_t left = count;

	while (left > 0) {
		struct gy_slice part = *slice;

		part.count = left < part.count ? (uint32_t)left : part.count;
		if (add_slice(front, &part) < 0) {
			return -ENOMEM;
		}
		gy_page_ref(part.page);
		left -= part.count;
		slice = slice->next;
	}
	gy_buffer_consume(buffer, count);
	return 0;
}

int gyre_buffer_split(struct gyre_buffer *buffer, size_t count, struct gyre_buffer **ret_front)
{
	struct gyre_buffer *front;

	if (buffer == NULL || ret_front == NULL || count > buffer->bytes) {
		return -EINVAL;
	}
	front = gy_buffer_get(buffer->channels);
	if (front == NULL) {
		return -ENOMEM;
	}
	if (move_front(buffer, count, front) < 0) {
		gy_buffer_put(front);
		return -ENOMEM;
	}
	gy_buffer_share_peer(front, buffer);
	*ret_front = front;
	return 0;
}

void gy_buffer_leave_ring(struct gyre_buffer *buffer)
{
	struct gyre_buffer *copy = gy_buffer_get(buffer->channels);
	const struct gy_slice *slice = &buffer->first;
	int r = copy == NULL ? -ENOMEM : 0;

	while (r == 0 && slice != NULL && slice->page != NULL) {
		r = gyre_buffer_append(copy, slice->bytes, slice->count);
		slice = slice->next;
	}
	if (r == 0) {
		gy_buffer_put_slices(buffer);
		buffer->bytes = 0;
		(void)gyre_buffer_join(buffer, copy); /* into the slice that stands in the buffer */
	} else if (copy != NULL) {
		gy_buffer_put(copy);
	}
}
