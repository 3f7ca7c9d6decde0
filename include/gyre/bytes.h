/*
 * Shared bytes: a block that is filled once, never changes, and is counted by reference from any
 * thread. Buffers of many channels on many loops may refer to it, so that a line for a thousand
 * receivers is in memory once.
 *
 *	struct gyre_bytes *line = gyre_bytes_of_buffer(data);
 *
 * Each actor that gets the block in a message which owns a reference does
 *
 *	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
 *
 *	(void)gyre_buffer_append_shared(buffer, line);
 *	(void)gyre_context_write(ctx, buffer);
 */
#ifndef GYRE_BYTES_H
#define GYRE_BYTES_H

#include <gyre/buffer.h>

GYRE_BEGIN_DECLS

struct gyre_bytes;

/**
 * gyre_bytes_create() - makes shared bytes from a copy of memory
 * @bytes: the bytes; may be NULL when @count is 0
 * @count: how many bytes, at most GYRE_SPAN_BYTES_MAX
 *
 * Return: the block, with one reference, or NULL.
 * Errors:
 *   NULL  there is no memory (the errno for it is -ENOMEM), or an argument is out of its bounds
 * Ownership: the reference is the caller's, until gyre_bytes_unref() takes it.
 * Context: any thread, any phase. One allocation.
 * Since: 0.1
 */
GYRE_API struct gyre_bytes *gyre_bytes_create(const void *bytes, size_t count);

/**
 * gyre_bytes_of_buffer() - makes shared bytes from a copy of a buffer
 * @buffer: the buffer, or NULL
 *
 * Return: the block, with one reference, or NULL.
 * Errors:
 *   NULL  there is no memory (the errno for it is -ENOMEM), or more than GYRE_SPAN_BYTES_MAX bytes
 * Ownership: the reference is the caller's, until gyre_bytes_unref() takes it; @buffer stays so.
 * Context: loop thread, phases 2 and 3, on the loop where @buffer was made. One allocation.
 * Since: 0.1
 */
GYRE_API struct gyre_bytes *gyre_bytes_of_buffer(const struct gyre_buffer *buffer);

/**
 * gyre_bytes_printf() - makes shared bytes of formatted text
 * @format: as of printf(3); the text is not ended by a null byte
 * @...: the arguments of @format
 *
 * Return: the block, with one reference, or NULL.
 * Errors:
 *   NULL  there is no memory (the errno for it is -ENOMEM), @format is NULL, or the text cannot be
 *         formatted or is GYRE_SPAN_BYTES_MAX bytes long or longer
 * Ownership: the reference is the caller's, until gyre_bytes_unref() takes it; the arguments stay
 *   the caller's.
 * Context: any thread, any phase. One allocation.
 * Since: 0.1
 */
GYRE_API struct gyre_bytes *gyre_bytes_printf(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/**
 * gyre_bytes_ref() - adds a reference
 * @bytes: the block, or NULL
 *
 * Return: @bytes.
 * Ownership: the reference is the caller's, until gyre_bytes_unref() takes it.
 * Context: any thread, any phase, while some reference is sure to stay.
 * Since: 0.1
 */
GYRE_API struct gyre_bytes *gyre_bytes_ref(struct gyre_bytes *bytes);

/**
 * gyre_bytes_unref() - drops a reference; the last frees the block
 * @bytes: the block, or NULL
 *
 * Ownership: the reference is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_bytes_unref(struct gyre_bytes *bytes);

/**
 * gyre_bytes_count() - how many bytes a block has
 * @bytes: the block, or NULL
 *
 * Return: the number of bytes.
 * Ownership: nothing changes hands.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API size_t gyre_bytes_count(const struct gyre_bytes *bytes);

/**
 * gyre_bytes_data() - the bytes of a block
 * @bytes: the block
 *
 * Return: the first byte; valid as long as the caller has a reference.
 * Ownership: they stay the block's, and nobody may change them.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API const void *gyre_bytes_data(const struct gyre_bytes *bytes);

/**
 * gyre_buffer_append_shared() - puts shared bytes at the end of a buffer, without a copy
 * @buffer: the buffer
 * @bytes: the block
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL  an argument is NULL
 *   -ENOMEM  there is no memory
 * Ownership: the buffer takes a reference of its own; the caller's stays.
 * Context: loop thread, phases 2 and 3, on the loop where @buffer was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_append_shared(struct gyre_buffer *buffer, struct gyre_bytes *bytes);

GYRE_END_DECLS

#endif
