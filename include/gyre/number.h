/*
 * Numbers in buffers: integers of 8 to 64 bits in both byte orders, floating-point numbers, and the
 * varints of protobuf. They may lie across pages.
 *
 * For each kind there are three functions: gyre_buffer_get_u16be(buffer, offset, &value) looks at a
 * number and leaves it, gyre_buffer_read_u16be(buffer, &value) takes a number off the front, and
 * gyre_buffer_append_u16be(buffer, value) puts a number at the end. The kinds are u8, i8, and
 * u16be, u16le, i16be, ... u64le, i64le, f32be, f32le, f64be and f64le. They return the same as
 * gyre_buffer_get_number(), gyre_buffer_read_number() and gyre_buffer_append_number().
 */
#ifndef GYRE_NUMBER_H
#define GYRE_NUMBER_H

#include <string.h>

#include <gyre/buffer.h>

GYRE_BEGIN_DECLS

/**
 * enum gyre_byte_order - which byte of a number comes first
 * @GYRE_BIG_ENDIAN: the highest, as in most protocols
 * @GYRE_LITTLE_ENDIAN: the lowest
 */
enum gyre_byte_order {
	GYRE_BIG_ENDIAN = 0,
	GYRE_LITTLE_ENDIAN = 1,
};

/** GYRE_VARINT_BYTES_MAX - the length of the longest varint, in bytes */
#define GYRE_VARINT_BYTES_MAX 10

/**
 * gyre_buffer_get_number() - looks at an unsigned number
 * @buffer: the buffer, or NULL
 * @offset: where it begins, from the front, in bytes
 * @bytes: how long it is, 1 to 8 bytes
 * @order: which byte comes first
 * @ret_value: the number
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EAGAIN  not all of it is there
 *   -EINVAL  @bytes is out of its bounds, or @ret_value is NULL
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_get_number(const struct gyre_buffer *buffer, size_t offset, size_t bytes,
				    enum gyre_byte_order order, uint64_t *ret_value);

/**
 * gyre_buffer_read_number() - takes an unsigned number off the front
 * @buffer: the buffer, or NULL
 * @bytes: how long it is, 1 to 8 bytes
 * @order: which byte comes first
 * @ret_value: the number
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EAGAIN  not all of it is there
 *   -EINVAL  @bytes is out of its bounds, or @ret_value is NULL
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_read_number(struct gyre_buffer *buffer, size_t bytes,
				     enum gyre_byte_order order, uint64_t *ret_value);

/**
 * gyre_buffer_append_number() - puts a number at the end
 * @buffer: the buffer
 * @bytes: how long it is, 1 to 8 bytes
 * @order: which byte comes first
 * @value: the number; bits that do not fit into @bytes are left out
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL  @buffer is NULL, or @bytes is out of its bounds
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_append_number(struct gyre_buffer *buffer, size_t bytes,
				       enum gyre_byte_order order, uint64_t value);

/**
 * gyre_buffer_get_varint() - looks at a varint
 * @buffer: the buffer, or NULL
 * @offset: where it begins, from the front, in bytes
 * @ret_value: the number
 *
 * Return: how many bytes it has, 1 to GYRE_VARINT_BYTES_MAX, or a negative errno.
 * Errors:
 *   -EAGAIN  not all of it is there
 *   -EINVAL  @ret_value is NULL
 *   -EPROTO  it has more than 64 bits
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_get_varint(const struct gyre_buffer *buffer, size_t offset,
				    uint64_t *ret_value);

/**
 * gyre_buffer_read_varint() - takes a varint off the front
 * @buffer: the buffer, or NULL
 * @ret_value: the number
 *
 * Return: how many bytes it had, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EAGAIN  not all of it is there
 *   -EINVAL  @ret_value is NULL
 *   -EPROTO  it has more than 64 bits
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_read_varint(struct gyre_buffer *buffer, uint64_t *ret_value);

/**
 * gyre_buffer_append_varint() - puts a varint at the end
 * @buffer: the buffer
 * @value: the number
 *
 * Return: 0, or a negative errno, and then the buffer is as it was.
 * Errors:
 *   -EINVAL  @buffer is NULL
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, on the loop where it was made.
 * Since: 0.1
 */
GYRE_API int gyre_buffer_append_varint(struct gyre_buffer *buffer, uint64_t value);

/** GYRE_NUMBER_() - the three functions of one kind, whose bits are those of an unsigned WHOLE */
#define GYRE_NUMBER_(KIND, TYPE, WHOLE, ORDER)                                                    \
	static inline int gyre_buffer_get_##KIND(const struct gyre_buffer *buffer, size_t offset, \
						 TYPE *ret_value)                                 \
	{                                                                                         \
		uint64_t number = 0;                                                              \
		int r = gyre_buffer_get_number(buffer, offset, sizeof(TYPE), ORDER,               \
					       ret_value == NULL ? NULL : &number);               \
		WHOLE whole = (WHOLE)number;                                                      \
                                                                                                  \
		if (r < 0) {                                                                      \
			return r;                                                                 \
		}                                                                                 \
		memcpy(ret_value, &whole, sizeof(whole));                                         \
		return 0;                                                                         \
	}                                                                                         \
	static inline int gyre_buffer_read_##KIND(struct gyre_buffer *buffer, TYPE *ret_value)    \
	{                                                                                         \
		int r = gyre_buffer_get_##KIND(buffer, 0, ret_value);                             \
                                                                                                  \
		if (r < 0) {                                                                      \
			return r;                                                                 \
		}                                                                                 \
		(void)gyre_buffer_skip(buffer, sizeof(TYPE));                                     \
		return 0;                                                                         \
	}                                                                                         \
	static inline int gyre_buffer_append_##KIND(struct gyre_buffer *buffer, TYPE value)       \
	{                                                                                         \
		WHOLE whole;                                                                      \
                                                                                                  \
		memcpy(&whole, &value, sizeof(whole));                                            \
		return gyre_buffer_append_number(buffer, sizeof(TYPE), ORDER, whole);             \
	}                                                                                         \
	struct gyre_needs_a_semicolon

/** GYRE_NUMBER_BOTH_() - the kinds of both byte orders */
#define GYRE_NUMBER_BOTH_(KIND, TYPE, WHOLE)                  \
	GYRE_NUMBER_(KIND##be, TYPE, WHOLE, GYRE_BIG_ENDIAN); \
	GYRE_NUMBER_(KIND##le, TYPE, WHOLE, GYRE_LITTLE_ENDIAN)

GYRE_NUMBER_(u8, uint8_t, uint8_t, GYRE_BIG_ENDIAN);
GYRE_NUMBER_(i8, int8_t, uint8_t, GYRE_BIG_ENDIAN);
GYRE_NUMBER_BOTH_(u16, uint16_t, uint16_t);
GYRE_NUMBER_BOTH_(i16, int16_t, uint16_t);
GYRE_NUMBER_BOTH_(u32, uint32_t, uint32_t);
GYRE_NUMBER_BOTH_(i32, int32_t, uint32_t);
GYRE_NUMBER_BOTH_(u64, uint64_t, uint64_t);
GYRE_NUMBER_BOTH_(i64, int64_t, uint64_t);
GYRE_NUMBER_BOTH_(f32, float, uint32_t);
GYRE_NUMBER_BOTH_(f64, double, uint64_t);

GYRE_END_DECLS

#endif
