/*
 * The types of messages that a node takes from others, by id, and how to see whether two nodes mean
 * the same by one.
 */
#ifndef GY_REMOTE_TYPES_H
#define GY_REMOTE_TYPES_H

#include <gyre/encode.h>

#include "actor/mail/mail.h"
#include "base/table.h"

/* A type, with what has to be looked at to find it, and to make mail of it. */
struct gy_types_slot {
	const struct gyre_type *type; /* NULL: empty */
	uint32_t id;
	uint16_t layout;    /* gy_type_layout() */
	uint8_t size_class; /* of its mail, if it is plain */
	bool is_plain;	    /* it travels as its bytes, in one frame, and is none of gyre's own */
	uint32_t bytes;	    /* of its messages, likewise */
};

struct gy_types {
	struct gy_types_slot *slots; /* open addressing */
	uint32_t mask;
};

/* Copies a list that ends with NULL, which may itself be NULL. -EEXIST for two of one id, -EINVAL
 * for one that cannot travel; the type is then in @ret_bad. */
int gy_types_init(struct gy_types *types, const struct gyre_type *const *list,
		  const struct gyre_type **ret_bad);
void gy_types_fini(struct gy_types *types);
/* Whether its messages may leave the process: not when they own something that is not encoded. */
bool gy_type_travels(const struct gyre_type *type);

/* The slot of the type with that id, or the free one where it would stand. */
static inline struct gy_types_slot *gy_types_slot(const struct gy_types *types, uint32_t id)
{
	uint32_t slot = (uint32_t)gy_table_mix(id) & types->mask;

	while (types->slots[slot].id != id && types->slots[slot].type != NULL) {
		slot = (slot + 1) & types->mask;
	}
	return &types->slots[slot];
}

/* NULL for an unknown one. */
static inline const struct gyre_type *gy_types_find(const struct gy_types *types, uint32_t id)
{
	return gy_types_slot(types, id)->type;
}

/* NULL for an unknown one, or one of another layout. */
static inline const struct gyre_type *gy_types_find_same(const struct gy_types *types, uint32_t id,
							 uint16_t layout)
{
	const struct gy_types_slot *slot = gy_types_slot(types, id);

	return slot->layout == layout ? slot->type : NULL;
}

/* NULL for none; the type of an older program may end before it. */
static inline const struct gyre_encoding *gy_type_encoding(const struct gyre_type *type)
{
	return type->type_bytes - 1 < offsetof(struct gyre_type, encoding) ? NULL : type->encoding;
}

static inline bool gy_type_is_encoded(const struct gyre_type *type)
{
	const struct gyre_encoding *encoding = gy_type_encoding(type);

	return encoding != NULL && encoding->encode != NULL;
}

/* The payload of an encoded type from its bytes; -EPROTO, and then it may own something already. */
int gy_type_decode(const struct gyre_type *type, const void *bytes, uint32_t count, void *payload);

/* The same for any type without a tail; one that is not encoded has as many bytes as it says. */
static inline int gy_type_fill(const struct gyre_type *type, const void *bytes, uint32_t count,
			       void *payload)
{
	if (gy_unlikely(gy_type_is_encoded(type))) {
		return gy_type_decode(type, bytes, count, payload);
	}
	gy_assert(count == type->bytes);
	memcpy(payload, bytes, type->bytes);
	return 0;
}

/* The layout of a type with a tail: that of its parts. */
GY_COLD uint16_t gy_type_tail_layout(const struct gyre_type *type);

/* Of the size and the version; what is encoded has no size of its own. One multiplication, since
 * each message with a head of its own asks for it. */
static inline uint16_t gy_type_layout(const struct gyre_type *type)
{
	const struct gyre_encoding *encoding = gy_type_encoding(type);
	uint64_t version = encoding == NULL ? 0 : encoding->version;
	uint64_t bytes = gy_type_is_encoded(type) ? UINT32_MAX : type->bytes;

	if (gy_unlikely(gy_type_varies(type))) {
		return gy_type_tail_layout(type);
	}
	return (uint16_t)((version << 32 | bytes) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

#endif
