/*
 * Buffers: bytes on their way through a pipeline. A buffer is a chain of slices of shared pages, so
 * that taking bytes off its front, splitting it and joining two buffers copy nothing.
 *
 * A buffer belongs to the loop where it was made and does not leave it. Whoever has a buffer owns
 * it, and gives it away with every call that takes one. Functions that only look accept NULL as an
 * empty buffer.
 */
#ifndef GYRE_BUFFER_H
#define GYRE_BUFFER_H

#include <stdarg.h>

#include <gyre/api.h>

GYRE_BEGIN_DECLS

struct gyre_buffer;
struct gyre_socket_address;
struct gyre_stack;

/** GYRE_SPAN_BYTES_MAX - the most that a buffer takes in, or shows, as one piece of memory: 1 GiB
 */
#define GYRE_SPAN_BYTES_MAX (UINT32_C(1) << 30)

/**
 * struct gyre_span - bytes in one piece of memory
 * @bytes: the first byte
 * @count: how many bytes
 */
struct gyre_span {
	const void *bytes;
	size_t count;
};

/**
 * gyre_release_fn - takes back memory that a buffer was given
 * @arg: the argument that was given with the memory
 *
 * Runs once for each piece of memory, on the loop of the buffer, in phase 1, 2 or 3: when no buffer
 * refers to it any more, or inside the call that was to take the memory and failed. It is the last
 * call for that memory. It is not re-entered for the same memory, and may call only those of gyre's
 * functions that any thread may call.
 */
typedef void (*gyre_release_fn)(void *arg);

/**
 * gyre_buffer_create() - makes an empty buffer
 * @stack: the stack of the running handler; in a pipeline, that of gyre_context_stack()
 *
 * Return: the buffer, or NULL.
 * Errors:
 *   NULL  there is no memory (the errno for it is -ENOMEM)
 * Ownership: the caller's, until it is written or gyre_buffer_destroy() takes it.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_buffer *gyre_buffer_create(struct gyre_stack *stack);

/**
 * gyre_buffer_destroy() - throws a buffer away
 * @buffer: the buffer, or NULL
 *
 * Ownership: @buffer is taken.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API void gyre_buffer_destroy(struct gyre_buffer *buffer);

/**
 * gyre_buffer_bytes() - how many bytes can be read from a buffer
 * @buffer: the buffer, or NULL
 *
 * Return: the number of bytes.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API size_t gyre_buffer_bytes(const struct gyre_buffer *buffer);

/**
 * gyre_buffer_append() - copies bytes to the end of a buffer
 * @buffer: the buffer
 * @bytes: the bytes; may be NULL when @count is 0
 * @count: how many bytes
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL  @buffer is NULL, or @bytes is and @count is not 0
 *   -ENOMEM  there is no memory
 * Ownership: @bytes stays the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_append(struct gyre_buffer *buffer, const void *bytes, size_t count);

/**
 * gyre_buffer_printf() - formats text at the end of a buffer
 * @buffer: the buffer
 * @format: as of printf(3); the text is not ended by a null byte
 * @...: the arguments of @format
 *
 * Return: how many bytes the text has, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL    @buffer or @format is NULL, or the text cannot be formatted
 *   -EMSGSIZE  the text is GYRE_SPAN_BYTES_MAX bytes long or longer
 *   -ENOMEM    there is no memory
 * Ownership: the arguments stay the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_printf(struct gyre_buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * gyre_buffer_vprintf() - formats text at the end of a buffer, with the arguments as a list
 * @buffer: the buffer
 * @format: as of vprintf(3)
 * @args: the arguments; undefined after the call
 *
 * Return: how many bytes the text has, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   as gyre_buffer_printf()
 * Ownership: the arguments stay the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_vprintf(struct gyre_buffer *buffer, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/**
 * gyre_buffer_reserve() - room at the end of a buffer for bytes that the caller writes itself
 * @buffer: the buffer
 * @count: how many bytes, 1 to GYRE_SPAN_BYTES_MAX
 * @ret_bytes: where they are to be written, in one piece
 *
 * From then on the bytes belong to the buffer, with undefined contents. The next call for the
 * buffer is gyre_buffer_commit(), which says how many were written.
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL    @buffer or @ret_bytes is NULL, or @count is 0
 *   -EMSGSIZE  @count is more than GYRE_SPAN_BYTES_MAX
 *   -ENOMEM    there is no memory
 * Ownership: *@ret_bytes stays the buffer's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_reserve(struct gyre_buffer *buffer, size_t count, void **ret_bytes);

/**
 * gyre_buffer_commit() - ends a gyre_buffer_reserve()
 * @buffer: the buffer
 * @count: what was reserved
 * @written: of these, how many were written from the front; the rest is given back
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @buffer is NULL, @written is more than @count, or the buffer has less than @count
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_commit(struct gyre_buffer *buffer, size_t count, size_t written);

/**
 * gyre_buffer_truncate() - cuts bytes off the end of a buffer
 * @buffer: the buffer
 * @bytes: how many stay
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL  @buffer is NULL, or has less than @bytes
 * Ownership: memory that no buffer has any more is given back.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_truncate(struct gyre_buffer *buffer, size_t bytes);

/**
 * gyre_buffer_append_memory() - puts memory at the end of a buffer, without a copy
 * @buffer: the buffer
 * @memory: the memory, which must not change any more; may be NULL when @count is 0
 * @count: how many bytes, at most GYRE_SPAN_BYTES_MAX
 * @release: called when neither a buffer nor the kernel refers to it; NULL for memory that stays
 *   for ever
 * @arg: for @release
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL    @buffer is NULL, or @memory is and @count is not 0
 *   -EMSGSIZE  @count is more than GYRE_SPAN_BYTES_MAX
 *   -ENOMEM    there is no memory
 * Ownership: @memory is taken, whatever is returned, until @release is called.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_append_memory(struct gyre_buffer *buffer, const void *memory, size_t count,
				       gyre_release_fn release, void *arg);

/**
 * gyre_buffer_prepend() - copies bytes to the front of a buffer
 * @buffer: the buffer
 * @bytes: the bytes; may be NULL when @count is 0
 * @count: how many bytes, at most GYRE_SPAN_BYTES_MAX
 *
 * Made for headers: up to 32 bytes in front of bytes that a handler has appended cost no memory.
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL    @buffer is NULL, or @bytes is and @count is not 0
 *   -EMSGSIZE  @count is more than GYRE_SPAN_BYTES_MAX
 *   -ENOMEM    there is no memory
 * Ownership: @bytes stays the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_prepend(struct gyre_buffer *buffer, const void *bytes, size_t count);

/**
 * gyre_buffer_join() - moves the bytes of one buffer to the end of another, without a copy
 * @buffer: the buffer that grows
 * @more: the buffer that is moved
 *
 * A piece of at most 256 bytes is copied where there is room for it, so that bytes which come a few
 * at a time do not keep a page each time.
 *
 * Return: 0, or a negative errno, and then @buffer is as it was.
 * Errors:
 *   -EINVAL  an argument is NULL, both are the same, or they are of different loops
 *   -ENOMEM  there is no memory
 * Ownership: @more is taken, whatever is returned, except when it is @buffer.
 * Context: loop thread, phases 2 and 3, on the loop where both were made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_join(struct gyre_buffer *buffer, struct gyre_buffer *more);

/**
 * gyre_buffer_split() - moves the first bytes of a buffer into another, without a copy
 * @buffer: the buffer that keeps the rest
 * @count: how many bytes, at most as many as there are
 * @ret_front: the first @count bytes
 *
 * Return: 0, or a negative errno, and then @buffer is as it was.
 * Errors:
 *   -EINVAL  @buffer or @ret_front is NULL, or @count is more than there are
 *   -ENOMEM  there is no memory
 * Ownership: @ret_front is the caller's; @buffer stays so, and both have its peer.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_split(struct gyre_buffer *buffer, size_t count,
			       struct gyre_buffer **ret_front);

/**
 * gyre_buffer_duplicate() - makes another buffer with the same bytes, without a copy
 * @buffer: the buffer
 * @ret_same: the other buffer
 *
 * Made for sending the same bytes to several channels of one loop; struct gyre_bytes is for
 * channels of many loops.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 *   -ENOMEM  there is no memory
 * Ownership: @ret_same is the caller's; @buffer stays so.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_duplicate(const struct gyre_buffer *buffer, struct gyre_buffer **ret_same);

/**
 * gyre_buffer_peek() - shows bytes where they are, as many as are in one piece
 * @buffer: the buffer, or NULL
 * @offset: from the front, in bytes
 * @ret_bytes: where the byte at @offset is; valid until the buffer changes hands or loses that byte
 *
 * To visit all bytes, call it again with @offset advanced by what it returned.
 *
 * Return: how many bytes are in one piece there; 0 past the end.
 * Ownership: the bytes stay the buffer's. They may be changed only if nobody else has them.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API size_t gyre_buffer_peek(const struct gyre_buffer *buffer, size_t offset,
				 const void **ret_bytes);

/**
 * gyre_buffer_spans() - shows bytes where they are, several pieces at once
 * @buffer: the buffer, or NULL
 * @offset: from the front, in bytes
 * @spans: room for @spans_max spans, which are valid as long as the bytes that gyre_buffer_peek()
 *   shows
 * @spans_max: how many spans at most
 *
 * To visit more, call it again with @offset advanced by what the spans have.
 *
 * Return: how many spans there are; 0 past the end.
 * Ownership: @spans stays the caller's, the bytes stay the buffer's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API size_t gyre_buffer_spans(const struct gyre_buffer *buffer, size_t offset,
				  struct gyre_span *spans, size_t spans_max);

/**
 * gyre_buffer_linear() - brings the first bytes of a buffer into one piece
 * @buffer: the buffer
 * @count: how many bytes, 1 to GYRE_SPAN_BYTES_MAX
 * @ret_bytes: where they are; valid until the buffer changes hands or loses the first of them
 *
 * They are copied only if they are not in one piece already.
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EAGAIN    fewer bytes are there
 *   -EINVAL    an argument is NULL, or @count is 0
 *   -EMSGSIZE  @count is more than GYRE_SPAN_BYTES_MAX, and the bytes are not in one piece
 *   -ENOMEM    there is no memory
 * Ownership: the bytes stay the buffer's. They may be changed only if nobody else has them.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_linear(struct gyre_buffer *buffer, size_t count, const void **ret_bytes);

/**
 * gyre_buffer_copy() - copies bytes out of a buffer, which keeps them
 * @buffer: the buffer, or NULL
 * @offset: from the front, in bytes
 * @to: room for @count bytes
 * @count: how many bytes
 *
 * Return: how many were copied: fewer than @count when fewer are there.
 * Ownership: @to stays the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API size_t gyre_buffer_copy(const struct gyre_buffer *buffer, size_t offset, void *to,
				 size_t count);

/**
 * gyre_buffer_read() - copies bytes out of a buffer, and takes them off its front
 * @buffer: the buffer, or NULL
 * @to: room for @count bytes
 * @count: how many bytes
 *
 * Return: how many were copied: fewer than @count when fewer are there.
 * Ownership: @to stays the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API size_t gyre_buffer_read(struct gyre_buffer *buffer, void *to, size_t count);

/**
 * gyre_buffer_skip() - takes bytes off the front of a buffer
 * @buffer: the buffer, or NULL
 * @count: how many bytes
 *
 * Return: how many were taken off: fewer than @count when fewer are there.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API size_t gyre_buffer_skip(struct gyre_buffer *buffer, size_t count);

/**
 * gyre_buffer_find() - looks for a byte
 * @buffer: the buffer, or NULL
 * @offset: where to begin, from the front, in bytes
 * @byte: the byte
 *
 * Return: the offset of the first such byte from the front, or a negative errno.
 * Errors:
 *   -ENOENT  there is none
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int64_t gyre_buffer_find(const struct gyre_buffer *buffer, size_t offset,
				  unsigned char byte);

/**
 * gyre_buffer_find_bytes() - looks for a sequence of bytes, also across pages
 * @buffer: the buffer, or NULL
 * @offset: where to begin, from the front, in bytes
 * @bytes: the sequence
 * @count: the length of the sequence, at least 1 byte. The search takes longer for a longer one
 *
 * Return: the offset from the front where it begins first, or a negative errno.
 * Errors:
 *   -EINVAL  @bytes is NULL, or @count is 0
 *   -ENOENT  it is not there
 * Ownership: @bytes stays the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int64_t gyre_buffer_find_bytes(const struct gyre_buffer *buffer, size_t offset,
					const void *bytes, size_t count);

/* ---- datagrams ---- */

/**
 * gyre_buffer_peer() - the peer of a datagram: its sender, or its receiver
 * @buffer: the buffer, or NULL
 *
 * A buffer that a datagram channel received has its sender, unless that is a Unix socket without a
 * name.
 *
 * Return: the address, or NULL if the buffer has none.
 * Errors:
 *   NULL  there is none
 * Ownership: stays the buffer's; valid until the buffer changes hands or gets another peer.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API const struct gyre_socket_address *gyre_buffer_peer(const struct gyre_buffer *buffer);

/**
 * gyre_buffer_set_peer() - sets the receiver of a datagram
 * @buffer: the buffer
 * @peer: the address, which is copied; NULL for none
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL  @buffer is NULL, or @peer is no address
 *   -ENOMEM  there is no memory
 * Ownership: @peer stays the caller's.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_set_peer(struct gyre_buffer *buffer,
				  const struct gyre_socket_address *peer);

GYRE_END_DECLS

#endif
