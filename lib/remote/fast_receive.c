/*
 * The short way in for most messages: notices, asks and replies whose types are nothing but bytes.
 * Their heads are read where they stand. Whatever is out of the ordinary, as a type that is not
 * known, is left to incoming.c, and nothing has been done to it.
 */
#include "remote/fast_receive.h"

#include "actor/mail_pool.h"
#include "remote/link.h"
#include "remote/links.h"
#include "remote/node.h"
#include "remote/types.h"
#include "remote/wire.h"

enum { KEY_OFFSET = offsetof(struct gy_wire_head, type) };

static const uint64_t key_mask = (UINT64_C(1) << 48) - 1; /* type and layout */

/* NULL for one that is not plain, or not the same here. */
static __attribute__((noinline)) const struct gyre_type *find_type(struct gy_links *links,
								   uint64_t key)
{
	const struct gyre_type *type = gy_types_find(&links->nodes->types, (uint32_t)key);

	if ((uint32_t)key < GY_IDS_OF_GYRE || type == NULL || gy_type_is_encoded(type) ||
	    gy_type_layout(type) != (uint16_t)(key >> 32)) {
		return NULL;
	}
	links->type_key = key;
	links->type = type;
	return type;
}

const struct gyre_type *gy_fast_receive_type(struct gy_links *links, const unsigned char *head)
{
	uint64_t key;

	memcpy(&key, head + KEY_OFFSET, sizeof(key));
	key = le64toh(key) & key_mask;
	return gy_likely(links->type_key == key) ? links->type : find_type(links, key);
}

static inline void put(struct gy_link *link, const struct gy_wire_head *head,
		       struct gyre_mail *mail, enum gy_mail_kind kind)
{
	struct gy_home *home = link->links->home;
	const struct gyre_address to = { .slot = le32toh(head->to_slot),
					 .cookie = le32toh(head->to_cookie),
					 .loop = le16toh(head->to_loop),
					 .node = home->node };

	mail->node.kind = (uint8_t)kind;
	mail->from = (struct gy_origin){ .slot = gy_incoming_slot(link, le32toh(head->from_slot)),
					 .cookie = le32toh(head->from_cookie),
					 .loop = le16toh(head->from_loop),
					 .node = link->peer->id };
	gy_incoming_deliver(home, to, mail, (enum gy_lane)(kind - GY_MAIL_REPLY));
}

static inline struct gyre_mail *make(struct gy_link *link, const unsigned char *bytes,
				     uint32_t head_bytes)
{
	const struct gyre_type *type = gy_fast_receive_type(link->links, bytes);
	struct gyre_mail *mail;

	if (gy_unlikely(type == NULL || (gy_wire_word(bytes) & GY_WIRE_BODY_MASK) != type->bytes)) {
		return NULL;
	}
	mail = gy_mail_get(link->links->home, type);
	if (gy_likely(mail != NULL) && type->bytes > 0) {
		memcpy(mail->payload, bytes + head_bytes, type->bytes);
	}
	return mail;
}

static bool take_notice(struct gy_link *link, const unsigned char *bytes)
{
	struct gyre_mail *mail = make(link, bytes, GY_WIRE_HEAD_BYTES);
	struct gy_wire_head head = { 0 };

	if (gy_unlikely(mail == NULL)) {
		return false;
	}
	gy_repeat_remember(link, bytes);
	memcpy(&head, bytes, GY_WIRE_HEAD_BYTES);
	mail->ask_id = 0;
	mail->deadline = 0;
	put(link, &head, mail, GY_MAIL_NOTICE);
	return true;
}

static inline bool take_ask_or_reply(struct gy_link *link, const unsigned char *bytes,
				     enum gy_mail_kind kind)
{
	struct gyre_mail *mail = make(link, bytes, GY_WIRE_HEAD_BYTES_MAX);
	struct gy_wire_head head;

	if (gy_unlikely(mail == NULL)) {
		return false;
	}
	memcpy(&head, bytes, sizeof(head));
	mail->ask_id = le64toh(head.ask_id);
	mail->deadline = kind == GY_MAIL_ASK ? gy_incoming_patience(le16toh(head.left)) : 0;
	put(link, &head, mail, kind);
	return true;
}

bool gy_fast_receive(struct gy_link *link, const unsigned char *bytes)
{
	switch ((enum gy_wire_kind)(gy_wire_word(bytes) >> GY_WIRE_KIND_SHIFT)) {
	case GY_WIRE_NOTICE:
		return take_notice(link, bytes);
	case GY_WIRE_ASK:
		return take_ask_or_reply(link, bytes, GY_MAIL_ASK);
	case GY_WIRE_REPLY:
		return take_ask_or_reply(link, bytes, GY_MAIL_REPLY);
	default:
		return false;
	}
}
