/*
 * Elements: messages of a fixed size that stand one behind the other in blocks. Their type tells
 * how long they are, what they own, and how they are copied.
 */
#ifndef GY_STREAM_ELEMENT_H
#define GY_STREAM_ELEMENT_H

#include <gyre/encode.h>
#include <gyre/message.h>

#include "base/assert.h"

enum { GY_BLOCK_BYTES = 4096, GY_BLOCK_ELEMENTS = 128, GY_PARCEL_ELEMENTS = 512 };

/* Whether messages of a type can be elements. */
bool gy_element_type_is_good(const struct gyre_type *type);
/* Whether they can go to another node. */
bool gy_element_travels(const struct gyre_type *type);
/* A type of a program that was built for an older library may end before @copy. */
gyre_copy_fn gy_element_copier(const struct gyre_type *type);

/* How many elements fit into a block, from 1 to @most. */
static inline uint32_t gy_block_fit(const struct gyre_type *type, uint32_t most)
{
	uint32_t fit = GY_BLOCK_BYTES / (type->bytes == 0 ? 1 : type->bytes);

	return fit == 0 ? 1 : fit > most ? most : fit;
}

/* How many elements go through the stages of an island at a time, at most. */
static inline uint32_t gy_block_elements(const struct gyre_type *type)
{
	return gy_block_fit(type, GY_BLOCK_ELEMENTS);
}

/* How many leave an island at a time: more, as each such block is an allocation and a message. */
static inline uint32_t gy_parcel_elements(const struct gyre_type *type)
{
	return gy_block_fit(type, GY_PARCEL_ELEMENTS);
}

static inline void *gy_element_at(const struct gyre_type *type, void *elements, uint32_t index)
{
	return (unsigned char *)elements + (size_t)index * type->bytes;
}

static inline size_t gy_elements_bytes(const struct gyre_type *type, uint32_t count)
{
	return (size_t)count * type->bytes;
}

/* Destroys what elements own. */
static inline void gy_elements_destroy(const struct gyre_type *type, void *elements, uint32_t count)
{
	for (uint32_t i = 0; type->destroy != NULL && i < count; i++) {
		type->destroy(gy_element_at(type, elements, i));
	}
}

/* Makes room for elements that functions of the program fill: zero if they may own something. */
static inline void gy_elements_clear(const struct gyre_type *type, void *elements, uint32_t count)
{
	if (type->destroy != NULL) {
		memset(elements, 0, gy_elements_bytes(type, count));
	}
}

/* Copies elements; -ENOMEM, and then there are no copies. */
int gy_elements_copy(const struct gyre_type *type, void *to, const void *from, uint32_t count);

/* How many bytes an element stands for: its own, and those of a chunk. */
uint64_t gy_element_weight(const struct gyre_type *type, const void *element);
uint64_t gy_elements_weight(const struct gyre_type *type, const void *elements, uint32_t count);

#endif
