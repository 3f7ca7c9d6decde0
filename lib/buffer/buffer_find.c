/*
 * Looking for bytes in a buffer, where what is looked for may lie across slices.
 */
#include <errno.h>
#include <string.h>

#include "buffer/buffer.h"

int64_t gyre_buffer_find(const struct gyre_buffer *buffer, size_t offset, unsigned char byte)
{
	const struct gy_slice *slice;
	size_t at;

	if (buffer == NULL || offset >= buffer->bytes) {
		return -ENOENT;
	}
	slice = gy_buffer_slice_at(buffer, offset, &at);
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

/* Whether the bytes from @at in @slice on, of which there are enough, are @bytes. */
static bool stands_at(const struct gy_slice *slice, size_t at, const unsigned char *bytes,
		      size_t count)
{
	while (count > 0) {
		size_t part = slice->count - at < count ? slice->count - at : count;

		if (memcmp(slice->bytes + at, bytes, part) != 0) {
			return false;
		}
		bytes += part;
		count -= part;
		slice = slice->next;
		at = 0;
	}
	return true;
}

int64_t gy_buffer_find_within(const struct gyre_buffer *buffer, size_t from, size_t to,
			      const struct gyre_span *what)
{
	const unsigned char *bytes = (const unsigned char *)what->bytes;
	const struct gy_slice *slice;
	size_t at;

	gy_assert(what->count > 0 && to <= buffer->bytes);
	if (from >= to) {
		return -ENOENT;
	}
	slice = gy_buffer_slice_at(buffer, from, &at);
	while (slice != NULL && to - from >= what->count && from < to) {
		const unsigned char *found = (const unsigned char *)memchr(
			slice->bytes + at, bytes[0], slice->count - at);
		size_t there = found == NULL ? slice->count : (size_t)(found - slice->bytes);

		from += there - at;
		at = there;
		if (found == NULL) {
			slice = slice->next;
			at = 0;
		} else if (from < to && to - from >= what->count) {
			if (stands_at(slice, at, bytes, what->count)) {
				return (int64_t)from;
			}
			from++;
			at++;
		}
	}
	return -ENOENT;
}

int64_t gyre_buffer_find_bytes(const struct gyre_buffer *buffer, size_t offset, const void *bytes,
			       size_t count)
{
	const struct gyre_span what = { .bytes = bytes, .count = count };

	if (bytes == NULL || count == 0) {
		return -EINVAL;
	}
	return buffer == NULL ? -ENOENT
			      : gy_buffer_find_within(buffer, offset, buffer->bytes, &what);
}
