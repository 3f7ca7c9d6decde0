/*
 * Writing into a buffer by other means than a copy: room that a caller fills itself, formatted
 * text, and taking back what was too much.
 *
 * A reservation is a part of the buffer from the start, so that nothing has to be remembered until
 * its commit; the commit cuts off what was not written, and gives the room of the page back.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "buffer/buffer.h"

/* A piece that is larger than the pool's pages has a page of its own. */
static unsigned char *extend_large(struct gyre_buffer *buffer, uint32_t count)
{
	struct gy_page *page = gy_page_get_of(buffer->pools, count);
	struct gy_slice slice;

	if (page == NULL) {
		return NULL;
	}
	slice = (struct gy_slice){ .bytes = page->memory, .page = page, .count = count };
	page->used = count;
	if (gy_buffer_add_slice(buffer, &slice) < 0) {
		gy_page_unref(buffer->pools, page);
		return NULL;
	}
	return page->memory;
}

static unsigned char *extend(struct gyre_buffer *buffer, size_t count)
{
	return count <= GY_POOL_PAGE_BYTES ? gy_buffer_extend(buffer, (uint32_t)count)
					   : extend_large(buffer, (uint32_t)count);
}

int gyre_buffer_reserve(struct gyre_buffer *buffer, size_t count, void **ret_bytes)
{
	unsigned char *bytes;

	if (buffer == NULL || ret_bytes == NULL || count == 0) {
		return -EINVAL;
	}
	if (count > GYRE_SPAN_BYTES_MAX) {
		return -EMSGSIZE;
	}
	bytes = extend(buffer, count);
	if (bytes == NULL) {
		return -ENOMEM;
	}
	*ret_bytes = bytes;
	return 0;
}

int gyre_buffer_commit(struct gyre_buffer *buffer, size_t count, size_t written)
{
	size_t unused = count - written;

	if (buffer == NULL || written > count || buffer->bytes < count) {
		return -EINVAL;
	}
	if (unused > 0 && unused <= buffer->last->count) {
		gy_buffer_unreserve(buffer, (uint32_t)unused);
	} else if (unused > 0) {
		gy_buffer_truncate(buffer, buffer->bytes - unused);
	}
	return 0;
}

int gyre_buffer_truncate(struct gyre_buffer *buffer, size_t bytes)
{
	if (buffer == NULL || bytes > buffer->bytes) {
		return -EINVAL;
	}
	gy_buffer_truncate(buffer, bytes);
	return 0;
}

/* Formats into @room bytes with one for the null byte that vsnprintf() writes; the whole length. */
GY_PRINTF(3, 0)
static int format_into(unsigned char *bytes, uint32_t room, const char *format, va_list args)
{
	va_list copy;
	int length;

	va_copy(copy, args);
	length = vsnprintf((char *)bytes, room, format, copy);
	va_end(copy);
	return length;
}

int gyre_buffer_vprintf(struct gyre_buffer *buffer, const char *format, va_list args)
{
	unsigned char *bytes;
	uint32_t room;
	int length;

	if (buffer == NULL || format == NULL) {
		return -EINVAL;
	}
	bytes = gy_buffer_extend_most(buffer, &room);
	if (bytes == NULL) {
		return -ENOMEM;
	}
	length = format_into(bytes, room, format, args);
	if (length >= 0 && (uint32_t)length < room) {
		gy_buffer_unreserve(buffer, room - (uint32_t)length);
		return length;
	}
	gy_buffer_unreserve(buffer, room);
	if (length < 0 || length >= (int)GYRE_SPAN_BYTES_MAX) {
		return length < 0 ? -EINVAL : -EMSGSIZE;
	}
	bytes = extend(buffer, (size_t)length + 1);
	if (bytes == NULL) {
		return -ENOMEM;
	}
	(void)format_into(bytes, (uint32_t)length + 1, format, args);
	gy_buffer_unreserve(buffer, 1);
	return length;
}

int gyre_buffer_printf(struct gyre_buffer *buffer, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = gyre_buffer_vprintf(buffer, format, args);
	va_end(args);
	return r;
}
