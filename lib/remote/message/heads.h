/*
 * Heads that were sent in full, and may be named again. Mail between nodes comes from few actors at
 * a time, so that most of it has the head of something before: it is sent with the index of that
 * head instead. Who sends chooses the index, by what it is made of, and both sides keep what was
 * sent with it last; see wire.h, encode.c and receive.c.
 */
#ifndef GY_REMOTE_MESSAGE_HEADS_H
#define GY_REMOTE_MESSAGE_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "actor/mail/mail.h"
#include "remote/wire.h"

/* A head of messages that travel as their bytes, as many in each. */
struct gy_sent_head {
	const struct gyre_type *type; /* NULL: none was sent */
	uint32_t type_id;
	uint32_t bytes;
	struct gyre_address to;
	struct gy_origin from;
	uint32_t deadline; /* of an ask: the time it has */
	uint8_t kind;	   /* enum gy_mail_kind */
};

/* A head, and what it stands for here. */
struct gy_received_head {
	struct gy_frame frame; /* of no kind: none was received; its body is gone */
	/* NULL: messages with it are taken one by one. Else they travel as their bytes, and are for
	 * an actor of this loop. */
	const struct gyre_type *type;
	struct gy_origin from;
	uint32_t patience; /* of an ask */
	enum gy_mail_kind kind;
	uint32_t repeat_bytes; /* that stand before the body of a message which names it */
};

/* Those of a link, which sends messages if it was dialled, and else receives them. */
union gy_heads {
	struct gy_sent_head sent[GY_WIRE_HEADS];
	struct gy_received_head received[GY_WIRE_HEADS];
};

/*
 * Where the head of a mail stands. Slots are given one after the other: so as many receivers of one
 * sender, senders to one receiver, or eight of either do not share a place. Types of one pair lie
 * apart.
 */
static inline uint32_t gy_head_index(struct gyre_address to, const struct gyre_mail *mail)
{
	uint32_t from = mail->from.slot % GY_WIRE_HEADS;
	uint32_t type = mail->type->id + mail->node.kind;

	return (to.slot + to.loop + (from << 3) + (from >> 3) + (type << 5) + (type << 3 & 0x10) +
		(type << 1 & 0x8)) %
	       GY_WIRE_HEADS;
}

/* Whether a mail has that head. Its type may have changed behind the pointer. */
static inline bool gy_head_is_of(const struct gy_sent_head *head, struct gyre_address to,
				 const struct gyre_mail *mail)
{
	return head->type == mail->type && head->kind == mail->node.kind &&
	       memcmp(&head->to, &to, sizeof(to)) == 0 &&
	       memcmp(&head->from, &mail->from, sizeof(mail->from)) == 0 &&
	       head->type_id == mail->type->id && head->bytes == mail->type->bytes &&
	       (head->kind != GY_MAIL_ASK || head->deadline == mail->deadline);
}

#endif
