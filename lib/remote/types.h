/*
 * The types of messages that a node takes from others, by id, and how to see whether two nodes mean
 * the same by one.
 */
#ifndef GY_REMOTE_TYPES_H
#define GY_REMOTE_TYPES_H

#include <gyre/encode.h>

struct gy_types {
	const struct gyre_type **slots; /* open addressing; NULL is empty */
	uint32_t mask;
};

/* Copies a list that ends with NULL, which may itself be NULL. -EEXIST for two of one id, -EINVAL
 * for one that cannot travel; the type is then in @ret_bad. */
int gy_types_init(struct gy_types *types, const struct gyre_type *const *list,
		  const struct gyre_type **ret_bad);
void gy_types_fini(struct gy_types *types);
/* NULL for an unknown one. */
const struct gyre_type *gy_types_find(const struct gy_types *types, uint32_t id);
/* Of the size and the version; what is encoded has no size of its own. */
uint16_t gy_type_layout(const struct gyre_type *type);
/* Whether its messages may leave the process: not when they own something that is not encoded. */
bool gy_type_travels(const struct gyre_type *type);

static inline bool gy_type_is_encoded(const struct gyre_type *type)
{
	return type->encoding != NULL && type->encoding->encode != NULL;
}

#endif
