/*
 * Elements of streams, as far as they are more than bytes: those that own something.
 */
#include "stream/element.h"

#include <errno.h>
#include <stddef.h>

#include <gyre/stream_ends.h>

#include "remote/types.h"

gyre_copy_fn gy_element_copier(const struct gyre_type *type)
{
	return type->type_bytes - 1 < offsetof(struct gyre_type, copy) ? NULL : type->copy;
}

bool gy_element_type_is_good(const struct gyre_type *type)
{
	return type != NULL && type->bytes <= GYRE_STREAM_ELEMENT_BYTES_MAX;
}

bool gy_element_travels(const struct gyre_type *type)
{
	return type->id == GYRE_ID(gyre_chunk) || gy_type_travels(type);
}

int gy_elements_copy(const struct gyre_type *type, void *to, const void *from, uint32_t count)
{
	gyre_copy_fn copy = gy_element_copier(type);

	if (count > 0 && type->bytes > 0) {
		memcpy(to, from, gy_elements_bytes(type, count));
	}
	for (uint32_t i = 0; copy != NULL && i < count; i++) {
		if (copy(gy_element_at(type, to, i)) < 0) {
			gy_elements_destroy(type, to, i);
			return -ENOMEM;
		}
	}
	return 0;
}

uint64_t gy_element_weight(const struct gyre_type *type, const void *element)
{
	return type->bytes +
	       (type->id == GYRE_ID(gyre_chunk)
			? gyre_bytes_count(((const struct gyre_chunk *)element)->bytes)
			: 0);
}

uint64_t gy_elements_weight(const struct gyre_type *type, const void *elements, uint32_t count)
{
	uint64_t weight = 0;

	if (type->id != GYRE_ID(gyre_chunk)) {
		return gy_elements_bytes(type, count);
	}
	for (uint32_t i = 0; i < count; i++) {
		weight += gy_element_weight(type, (const struct gyre_chunk *)elements + i);
	}
	return weight;
}

int gyre_chunk_copy(struct gyre_chunk *chunk)
{
	(void)gyre_bytes_ref(chunk->bytes);
	return 0;
}

void gyre_chunk_fini(struct gyre_chunk *chunk)
{
	gyre_bytes_unref(chunk->bytes);
}
