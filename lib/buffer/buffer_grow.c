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

#include "buffer/buffer.h"
#include "ring/sanitize.h"

enum {
	COPY_BYTES_MAX = 256, /* of what follows a header into its page */
	ROOM_BYTES_MIN = 512, /* worth a call of its own */
};

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

uint32_t gy_buffer_room_behind(const struct gyre_buffer *buffer)
{
	const struct gy_slice *last = buffer->last;

	return last->page == NULL || gy_page_is_kernel_provided(last->page) ? 0 : room_of(last);
}

bool gy_buffer_absorb(struct gyre_buffer *buffer, const struct gyre_buffer *more)
{
	return more->bytes <= GY_BUFFER_COPY_BYTES_MAX && room_of(buffer->last) >= more->bytes &&
	       gy_buffer_append_copy(buffer, more) == 0;
}

int gy_buffer_add_slice(struct gyre_buffer *buffer, const struct gy_slice *slice)
{
	struct gy_slice *added = &buffer->first;

	if (buffer->first.page == NULL) {
		gy_buffer_set_first(buffer, slice);
	} else {
		added = (struct gy_slice *)gy_pool_get(&buffer->pools->slices);
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
	struct gy_page *page = gy_page_get(buffer->pools);
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
	if (gy_buffer_add_slice(buffer, &slice) < 0) {
		gy_page_unref(buffer->pools, page);
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

unsigned char *gy_buffer_extend_most(struct gyre_buffer *buffer, uint32_t *ret_count)
{
	uint32_t room = room_of(buffer->last);
	uint32_t count = room >= ROOM_BYTES_MIN && room <= GY_POOL_PAGE_BYTES
				 ? room
				 : (uint32_t)GY_POOL_PAGE_BYTES;

	*ret_count = count;
	return gy_buffer_extend(buffer, count);
}

void gy_buffer_unreserve(struct gyre_buffer *buffer, uint32_t count)
{
	struct gy_slice *last = buffer->last;

	gy_assert(count <= last->count &&
		  last->bytes + last->count == last->page->memory + last->page->used);
	last->page->used -= count;
	if (count == last->count) {
		gy_buffer_truncate(buffer, buffer->bytes - count);
		return;
	}
	last->count -= count;
	buffer->bytes -= count;
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

		gy_page_unref(buffer->pools, slice->page);
		gy_pool_put(&buffer->pools->slices, slice);
		slice = next;
	}
	last->count = (uint32_t)left;
	last->next = NULL;
	buffer->last = last;
	buffer->bytes = bytes;
	gy_walk(gy_buffer_check(buffer));
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
			gy_buffer_truncate(buffer, before);
			return -ENOMEM;
		}
		memcpy(to, from + done, buffer->last->count);
		done += buffer->last->count;
	}
	gy_walk(gy_buffer_check(buffer));
	return 0;
}

int gy_buffer_append_copy(struct gyre_buffer *buffer, const struct gyre_buffer *more)
{
	size_t before = buffer->bytes;

	for (const struct gy_slice *slice = &more->first; slice != NULL; slice = slice->next) {
		int r = gyre_buffer_append(buffer, slice->bytes, slice->count);

		if (r < 0) {
			gy_buffer_truncate(buffer, before);
			return r;
		}
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
		page = gy_page_of_memory(buffer->pools, memory, count, release, arg);
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
		gy_page_unref(buffer->pools, page);
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
	struct gy_buffer_pools *pools = buffer->pools;
	size_t more = count - front_bytes;
	struct gy_slice *spare = NULL;
	struct gy_page *page;

	if (more < buffer->bytes) {
		spare = (struct gy_slice *)gy_pool_get(&pools->slices);
		if (spare == NULL) {
			return -ENOMEM;
		}
	}
	page = gy_page_get_of(pools, (uint32_t)count);
	if (page == NULL) {
		if (spare != NULL) {
			gy_pool_put(&pools->slices, spare);
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
	gy_walk(gy_buffer_check(buffer));
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
