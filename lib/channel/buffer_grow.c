/*
 * How buffers grow: at the end, where bytes are copied into the room of the last page or memory is
 * taken in as it is, and at the front, where a header goes before what is there.
 *
 * A header is written in front of the first slice where that is alone on its page and has room
 * there, as it has in what handlers made and in what lost a header before. Else it gets a page of
 * its own, into which little that follows is copied too, because two slices cost more than that.
 */
#include <errno.h>
#include <string.h>

#include "channel/buffer.h"
#include "ring/sanitize.h"

enum { COPY_BYTES_MAX = 256 }; /* of what follows a header into its page */

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

static uint32_t grow_last(struct gyre_buffer *buffer, const unsigned char *bytes, size_t count)
{
	struct gy_slice *last = buffer->last;
	uint32_t room = room_of(last);
	uint32_t part = count < room ? (uint32_t)count : room;

	if (part > 0) {
		unsigned char *to = last->bytes + last->count;

		if (last->page->of_ring) {
			gy_sanitize_give(to, part);
		}
		memcpy(to, bytes, part);
		last->count += part;
		last->page->used += part;
		buffer->bytes += part;
	}
	return part;
}

bool gy_buffer_absorb(struct gyre_buffer *buffer, const struct gyre_buffer *more)
{
	return more->bytes <= GY_BUFFER_COPY_BYTES_MAX && more->first.next == NULL &&
	       room_of(buffer->last) >= more->bytes &&
	       grow_last(buffer, more->first.bytes, more->bytes) == more->bytes;
}

int gy_buffer_add_slice(struct gyre_buffer *buffer, const struct gy_slice *slice)
{
	struct gy_slice *added = &buffer->first;

	if (buffer->first.page == NULL) {
		gy_buffer_set_first(buffer, slice);
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

/* A fresh page with the first of @count bytes in it. How many went in, or -ENOMEM. */
static int64_t add_page(struct gyre_buffer *buffer, const unsigned char *bytes, size_t count)
{
	struct gy_page *page = gy_page_get(buffer->channels);
	struct gy_slice slice;
	int r;

	if (page == NULL) {
		return -ENOMEM;
	}
	slice = (struct gy_slice){
		.bytes = page->memory,
		.page = page,
		.count = count < page->bytes ? (uint32_t)count : page->bytes,
	};
	memcpy(page->memory, bytes, slice.count);
	page->used = slice.count;
	r = gy_buffer_add_slice(buffer, &slice);
	if (r < 0) {
		gy_page_unref(buffer->channels, page);
		return r;
	}
	return slice.count;
}

void gy_buffer_truncate(struct gyre_buffer *buffer, size_t bytes)
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
		int64_t part = add_page(buffer, from + done, count - done);

		if (part < 0) {
			gy_buffer_truncate(buffer, before);
			return (int)part;
		}
		done += (size_t)part;
	}
	return 0;
}

int gyre_buffer_append_memory(struct gyre_buffer *buffer, const void *memory, size_t count,
			      gyre_release_fn release, void *arg)
{
	struct gy_page *page = NULL;
	int r = 0;

	if (buffer == NULL || (memory == NULL && count > 0)) {
		r = -EINVAL;
	} else if (count > GYRE_SPAN_BYTES_MAX) {
		r = -EMSGSIZE;
	} else if (count > 0) {
		page = gy_page_of_memory(buffer->channels, memory, count, release, arg);
		r = page == NULL ? -ENOMEM : 0;
	}
	if (page == NULL) {
		if (release != NULL) {
			release(arg);
		}
		return r;
	}
	r = gy_buffer_add_slice(buffer, &(struct gy_slice){ .bytes = page->memory,
							    .page = page,
							    .count = (uint32_t)count });
	if (r < 0) {
		gy_page_unref(buffer->channels, page);
	}
	return r;
}

/* ---- at the front ---- */

/* How many bytes may be written before the first slice. */
static size_t room_before(const struct gyre_buffer *buffer)
{
	const struct gy_page *page = buffer->first.page;

	if (page == NULL || page->references != 1 || page->is_foreign) {
		return 0;
	}
	return (size_t)(buffer->first.bytes - page->memory) + gy_page_head_bytes(page);
}

/*
 * Puts the first @count bytes of @page, whose reference is taken, before all others. @spare is for
 * what is first until now, and NULL in an empty buffer.
 */
static void add_first(struct gyre_buffer *buffer, struct gy_page *page, size_t count,
		      struct gy_slice *spare)
{
	if (spare != NULL) {
		*spare = buffer->first;
		spare->peer = 0;
		if (buffer->last == &buffer->first) {
			buffer->last = spare;
		}
	} else {
		buffer->last = &buffer->first;
	}
	gy_buffer_set_first(buffer, &(struct gy_slice){ .bytes = page->memory,
							.page = page,
							.next = spare,
							.count = (uint32_t)count });
	buffer->bytes += count;
}

/* Puts the first @count bytes, @front and those that follow it in the buffer, onto one page. */
static int gather_first(struct gyre_buffer *buffer, const void *front, size_t front_bytes,
			size_t count)
{
	struct gy_channels *channels = buffer->channels;
	size_t more = count - front_bytes;
	struct gy_slice *spare = NULL;
	struct gy_page *page;

	if (more < buffer->bytes) {
		spare = (struct gy_slice *)gy_pool_get(&channels->slices);
		if (spare == NULL) {
			return -ENOMEM;
		}
	}
	page = gy_page_get_of(channels, (uint32_t)count);
	if (page == NULL) {
		if (spare != NULL) {
			gy_pool_put(&channels->slices, spare);
		}
		return -ENOMEM;
	}
	if (front_bytes > 0) {
		memcpy(page->memory, front, front_bytes);
	}
	(void)gyre_buffer_copy(buffer, 0, page->memory + front_bytes, more);
	page->used = (uint32_t)count;
	gy_buffer_consume(buffer, more);
	add_first(buffer, page, count, spare);
	return 0;
}

int gyre_buffer_prepend(struct gyre_buffer *buffer, const void *bytes, size_t count)
{
	size_t more;

	if (buffer == NULL || (bytes == NULL && count > 0)) {
		return -EINVAL;
	}
	if (count > GYRE_SPAN_BYTES_MAX) {
		return -EMSGSIZE;
	}
	if (count == 0) {
		return 0;
	}
	if (count <= room_before(buffer)) {
		buffer->first.bytes -= count;
		buffer->first.count += (uint32_t)count;
		buffer->bytes += count;
		memcpy(buffer->first.bytes, bytes, count);
		return 0;
	}
	more = buffer->bytes <= COPY_BYTES_MAX ? buffer->bytes : 0;
	return gather_first(buffer, bytes, count, count + more);
}

int gyre_buffer_linear(struct gyre_buffer *buffer, size_t count, const void **ret_bytes)
{
	if (buffer == NULL || ret_bytes == NULL || count == 0) {
		return -EINVAL;
	}
	if (count > buffer->bytes) {
		return -EAGAIN;
	}
	if (count > buffer->first.count) {
		int r = count > GYRE_SPAN_BYTES_MAX ? -EMSGSIZE
						    : gather_first(buffer, NULL, 0, count);

		if (r < 0) {
			return r;
		}
	}
	*ret_bytes = buffer->first.bytes;
	return 0;
}
