/*
 * Numbers in buffers. They are put together byte by byte, which compilers know how to make one load
 * of, and which neither asks for alignment nor for the byte order of the machine.
 */
#include <gyre/number.h>

#include <errno.h>

#include "buffer/buffer.h"

enum { NUMBER_BYTES_MAX = 8, GROUP_BITS = 7, GROUP_MASK = 0x7f, GROUP_MORE = 0x80 };

int gyre_buffer_get_number(const struct gyre_buffer *buffer, size_t offset, size_t bytes,
			   enum gyre_byte_order order, uint64_t *ret_value)
{
	unsigned char part[NUMBER_BYTES_MAX];
	uint64_t value = 0;

	if (bytes == 0 || bytes > NUMBER_BYTES_MAX || ret_value == NULL) {
		return -EINVAL;
	}
	if (gyre_buffer_copy(buffer, offset, part, bytes) < bytes) {
		return -EAGAIN;
	}
	for (size_t i = 0; i < bytes; i++) {
		value = value << 8 | part[order == GYRE_LITTLE_ENDIAN ? bytes - 1 - i : i];
	}
	*ret_value = value;
	return 0;
}

int gyre_buffer_read_number(struct gyre_buffer *buffer, size_t bytes, enum gyre_byte_order order,
			    uint64_t *ret_value)
{
	int r = gyre_buffer_get_number(buffer, 0, bytes, order, ret_value);

	if (r == 0) {
		gy_buffer_consume(buffer, bytes);
	}
	return r;
}

int gyre_buffer_append_number(struct gyre_buffer *buffer, size_t bytes, enum gyre_byte_order order,
			      uint64_t value)
{
	unsigned char part[NUMBER_BYTES_MAX];

	if (bytes == 0 || bytes > NUMBER_BYTES_MAX) {
		return -EINVAL;
	}
	gy_number_put(part, bytes, order, value);
	return gyre_buffer_append(buffer, part, bytes);
}

void gy_number_put(unsigned char *to, size_t bytes, enum gyre_byte_order order, uint64_t value)
{
	for (size_t i = 0; i < bytes; i++) {
		to[order == GYRE_LITTLE_ENDIAN ? i : bytes - 1 - i] = (unsigned char)value;
		value >>= 8;
	}
}

/* ---- of variable length: 7 bits a byte, the lowest first, and a mark on all but the last ---- */

int gyre_buffer_get_varint(const struct gyre_buffer *buffer, size_t offset, uint64_t *ret_value)
{
	unsigned char part[GYRE_VARINT_BYTES_MAX];
	size_t count = gyre_buffer_copy(buffer, offset, part, sizeof(part));
	uint64_t value = 0;

	if (ret_value == NULL) {
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t group = part[i] & GROUP_MASK;

		if (group << GROUP_BITS * i >> GROUP_BITS * i != group) {
			return -EPROTO;
		}
		value |= group << GROUP_BITS * i;
		if ((part[i] & GROUP_MORE) == 0) {
			*ret_value = value;
			return (int)i + 1;
		}
	}
	return count == sizeof(part) ? -EPROTO : -EAGAIN;
}

int gyre_buffer_read_varint(struct gyre_buffer *buffer, uint64_t *ret_value)
{
	int r = gyre_buffer_get_varint(buffer, 0, ret_value);

	if (r > 0) {
		gy_buffer_consume(buffer, (size_t)r);
	}
	return r;
}

size_t gy_varint_put(unsigned char *to, uint64_t value)
{
	size_t count = 0;

	for (; value > GROUP_MASK; value >>= GROUP_BITS) {
		to[count++] = (unsigned char)(value & GROUP_MASK) | GROUP_MORE;
	}
	to[count++] = (unsigned char)value;
	return count;
}

int gyre_buffer_append_varint(struct gyre_buffer *buffer, uint64_t value)
{
	unsigned char part[GYRE_VARINT_BYTES_MAX];

	return gyre_buffer_append(buffer, part, gy_varint_put(part, value));
}
