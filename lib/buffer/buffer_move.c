/*
 * Moving bytes from one buffer to another, and to other memory. Slices move between buffers, and
 * their bytes stay where they are. Bytes are copied where the memory that they take is to be freed.
 */
#include <errno.h>
#include <string.h>

#include "buffer/buffer.h"

/* An empty buffer of the same loop and the same owner; NULL without memory. */
static struct gyre_buffer *get_like(const struct gyre_buffer *buffer)
{
	struct gyre_buffer *other = gy_buffer_get(buffer->pools);

#if GY_ASSERT_LEVEL >= 2
	if (other != NULL) {
		other->class_info = buffer->class_info;
		memcpy(other->reader, buffer->reader, sizeof(other->reader));
	}
#endif
	return other;
}

/* Appends the slices of @from without their references being counted anew; @from is left empty. */
static int take_slices(struct gyre_buffer *buffer, struct gyre_buffer *from)
{
	int r = gy_buffer_add_slice(buffer, &from->first);

	if (r < 0) {
		return r;
	}
	if (from->first.next != NULL) {
		buffer->last->next = from->first.next;
		buffer->last = from->last;
		buffer->bytes += from->bytes - from->first.count;
	}
	gy_buffer_set_first(from, &(struct gy_slice){ 0 });
	from->last = &from->first;
	from->bytes = 0;
	gy_walk(gy_buffer_check(buffer));
	return 0;
}

int gyre_buffer_join(struct gyre_buffer *buffer, struct gyre_buffer *more)
{
	int r = 0;

	if (more == NULL) {
		return -EINVAL;
	}
	if (buffer == NULL || buffer == more || buffer->pools != more->pools) {
		r = -EINVAL;
	} else if (more->bytes > 0 && !gy_buffer_absorb(buffer, more)) {
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
		if (gy_buffer_add_slice(front, &part) < 0) {
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
	front = get_like(buffer);
	if (front == NULL) {
		return -ENOMEM;
	}
	if (move_front(buffer, count, front) < 0) {
		gy_buffer_put(front);
		return -ENOMEM;
	}
	gy_buffer_share_peer(front, buffer);
	gy_walk(gy_buffer_check(buffer));
	gy_walk(gy_buffer_check(front));
	*ret_front = front;
	return 0;
}

int gyre_buffer_duplicate(const struct gyre_buffer *buffer, struct gyre_buffer **ret_same)
{
	const struct gy_slice *slice;
	struct gyre_buffer *same;

	if (buffer == NULL || ret_same == NULL) {
		return -EINVAL;
	}
	same = get_like(buffer);
	if (same == NULL) {
		return -ENOMEM;
	}
	slice = buffer->bytes > 0 ? &buffer->first : NULL;
	for (; slice != NULL; slice = slice->next) {
		if (gy_buffer_add_slice(same, slice) < 0) {
			gy_buffer_put(same);
			return -ENOMEM;
		}
		gy_page_ref(slice->page);
	}
	gy_buffer_share_peer(same, buffer);
	gy_walk(gy_buffer_check(same));
	*ret_same = same;
	return 0;
}

void gy_buffer_copy_out_of_ring(struct gyre_buffer *buffer)
{
	struct gyre_buffer *copy = get_like(buffer);
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

/* Whether it has memory that is freed when its bytes are elsewhere. */
static bool has_page(const struct gyre_buffer *buffer)
{
	const struct gy_slice *first = &buffer->first;

	return first->page != NULL && (!first->page->is_foreign || first->next != NULL);
}

bool gy_buffer_move_behind(struct gyre_buffer *buffer, const struct gyre_buffer *before)
{
	struct gy_page *page = before->last->page;
	struct gy_slice slice;

	if (!has_page(buffer) || buffer->bytes > GY_BUFFER_COPY_BYTES_MAX ||
	    buffer->bytes > gy_buffer_room_behind(before) || buffer->first.page == page) {
		return false;
	}
	slice = (struct gy_slice){ .bytes = page->memory + page->used,
				   .page = page,
				   .count = (uint32_t)buffer->bytes };
	(void)gyre_buffer_copy(buffer, 0, slice.bytes, slice.count);
	page->used += slice.count;
	gy_page_ref(page);
	gy_buffer_put_slices(buffer);
	gy_buffer_set_first(buffer, &slice);
	buffer->last = &buffer->first;
	gy_walk(gy_buffer_check(buffer));
	return true;
}
