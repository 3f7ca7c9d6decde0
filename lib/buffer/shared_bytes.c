/*
 * Shared bytes: a count and the bytes behind it, in one allocation. A holder of a reference may
 * take another one without any memory order; the thread that drops the last one must see all that
 * others did before they dropped theirs.
 */
#include "buffer/shared_bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/memory/memory.h"

struct gyre_bytes {
	uint64_t references;
	size_t count;
	unsigned char data[] __attribute__((aligned(64)));
};

struct gyre_bytes *gy_bytes_make(size_t count)
{
	struct gyre_bytes *made;

	if (count > GYRE_SPAN_BYTES_MAX) {
		return NULL;
	}
	made = (struct gyre_bytes *)gy_memory_get_raw(sizeof(*made) + count);
	if (made != NULL) {
		made->references = 1;
		made->count = count;
	}
	return made;
}

void *gy_bytes_memory(struct gyre_bytes *bytes)
{
	return bytes == NULL ? NULL : bytes->data;
}

void gy_bytes_shorten(struct gyre_bytes *bytes, size_t count)
{
	gy_assert(count <= bytes->count && bytes->references == 1);
	bytes->count = count;
}

struct gyre_bytes *gyre_bytes_create(const void *bytes, size_t count)
{
	struct gyre_bytes *made = bytes == NULL && count > 0 ? NULL : gy_bytes_make(count);

	if (made != NULL && count > 0) {
		memcpy(made->data, bytes, count);
	}
	return made;
}

struct gyre_bytes *gyre_bytes_of_buffer(const struct gyre_buffer *buffer)
{
	struct gyre_bytes *made = gy_bytes_make(gyre_buffer_bytes(buffer));

	if (made != NULL) {
		(void)gyre_buffer_copy(buffer, 0, made->data, made->count);
	}
	return made;
}

/* Most texts are formatted once: what is longer than a line is formatted again. The block has a
 * byte more than it shows, for the final 0 of vsnprintf(). */
struct gyre_bytes *gyre_bytes_printf(const char *format, ...)
{
	char line[256];
	struct gyre_bytes *made;
	va_list args;
	int length;

	if (format == NULL) {
		return NULL;
	}
	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	made = length < 0 ? NULL : gy_bytes_make((size_t)length + 1);
	if (made == NULL) {
		return NULL;
	}
	made->count = (size_t)length;
	if (made->count < sizeof(line)) {
		memcpy(made->data, line, made->count + 1);
	} else {
		va_start(args, format);
		length = vsnprintf((char *)made->data, made->count + 1, format, args);
		gy_assert((size_t)length == made->count);
		va_end(args);
	}
	return made;
}

struct gyre_bytes *gyre_bytes_ref(struct gyre_bytes *bytes)
{
	if (bytes != NULL) {
		uint64_t before = gy_add_relaxed(&bytes->references, 1);

		gy_assert(before > 0);
	}
	return bytes;
}

void gyre_bytes_unref(struct gyre_bytes *bytes)
{
	uint64_t before;

	if (bytes == NULL) {
		return;
	}
	before = gy_fetch_add(&bytes->references, (uint64_t)-1);
	gy_assert(before > 0);
	if (before == 1) {
		gy_memory_put(bytes);
	}
}

size_t gyre_bytes_count(const struct gyre_bytes *bytes)
{
	return bytes == NULL ? 0 : bytes->count;
}

const void *gyre_bytes_data(const struct gyre_bytes *bytes)
{
	return bytes->data;
}

static void unref_bytes(void *arg)
{
	gyre_bytes_unref((struct gyre_bytes *)arg);
}

int gyre_buffer_append_shared(struct gyre_buffer *buffer, struct gyre_bytes *bytes)
{
	if (buffer == NULL || bytes == NULL) {
		return -EINVAL;
	}
	return gyre_buffer_append_memory(buffer, bytes->data, bytes->count, unref_bytes,
					 gyre_bytes_ref(bytes));
}
