/*
 * The registry of types is made once, before the node has a link, and only read from then on.
 */
#include "remote/types.h"

#include <errno.h>

#include <gyre/node.h>

#include "actor/mail/mail.h"
#include "base/memory/memory.h"
#include "remote/message/service_report.h"
#include "remote/message/stream_wire.h"
#include "remote/wire.h"

enum { IDS_OF_USERS = 0x100, OWN_TYPES = 8 };

static int add(struct gy_types *types, const struct gyre_type *type)
{
	struct gy_types_slot *slot = gy_types_slot(types, type->id);

	if (slot->type != NULL) {
		return -EEXIST;
	}
	*slot = (struct gy_types_slot){
		.type = type,
		.id = type->id,
		.layout = gy_type_layout(type),
		.is_plain = type->id >= GY_IDS_OF_GYRE && !gy_type_is_encoded(type) &&
			    type->destroy == NULL && type->bytes <= GY_WIRE_BODY_BYTES_MAX,
		.bytes = type->bytes, /* more than any body, if it varies */
	};
	if (slot->is_plain) {
		slot->size_class = gy_sizes_class(GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes);
	}
	return 0;
}

int gy_types_init(struct gy_types *types, const struct gyre_type *const *list,
		  const struct gyre_type **ret_bad)
{
	uint32_t count = 0;
	uint32_t slots = 2;

	while (list != NULL && list[count] != NULL) {
		count++;
	}
	while (slots < 2 * (count + OWN_TYPES)) {
		slots *= 2;
	}
	types->mask = slots - 1;
	types->slots = (struct gy_types_slot *)gy_memory_get(slots * sizeof(*types->slots));
	if (types->slots == NULL) {
		*ret_bad = NULL;
		return -ENOMEM;
	}
	(void)add(types, &gyre_type_gyre_node_found);
	(void)add(types, &gy_type_stopped);
	(void)add(types, &gyre_type_gy_service_report);
	(void)add(types, &gyre_type_gy_service_receipt);
	(void)add(types, &gyre_type_gy_stream_attach);
	(void)add(types, &gyre_type_gy_stream_control);
	(void)add(types, &gyre_type_gy_stream_frame);
	(void)add(types, &gyre_type_gy_stream_receipt);
	for (uint32_t i = 0; i < count; i++) {
		bool good = gy_type_travels(list[i]) && list[i]->id >= IDS_OF_USERS;
		int r = good ? add(types, list[i]) : -EINVAL;

		if (r < 0) {
			*ret_bad = list[i];
			return r;
		}
	}
	return 0;
}

void gy_types_fini(struct gy_types *types)
{
	gy_memory_put(types->slots);
	types->slots = NULL;
}

/* A decoder could not tell how many elements there will be, so a tail travels as its bytes. */
bool gy_type_travels(const struct gyre_type *type)
{
	return gy_type_is_encoded(type)
		       ? gy_type_encoding(type)->decode != NULL && !gy_type_varies(type)
		       : type->destroy == NULL;
}

uint16_t gy_type_tail_layout(const struct gyre_type *type)
{
	const struct gyre_encoding *encoding = gy_type_encoding(type);
	const uint32_t parts[] = { encoding == NULL ? 0 : encoding->version, type->tail.bytes,
				   type->tail.at, type->tail.unit, type->tail.count_at };
	uint64_t layout = GYRE_BYTES_VARY;

	gy_assert(gy_type_varies(type));
	for (size_t i = 0; i < gy_countof(parts); i++) {
		layout = gy_table_mix(layout ^ parts[i]);
	}
	return (uint16_t)(layout >> 48);
}

int gy_type_decode(const struct gyre_type *type, const void *bytes, uint32_t count, void *payload)
{
	struct gyre_decoder in = { .at = bytes, .left = count };
	int r;

	memset(payload, 0, type->bytes);
	r = gy_type_encoding(type)->decode(payload, &in);
	return r < 0 || in.error != 0 || in.left != 0 ? -EPROTO : 0;
}
