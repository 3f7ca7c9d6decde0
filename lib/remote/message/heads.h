/*
 * Heads that were sent in full, and may be named again. Mail between nodes comes from few actors at
 * a time, so that most of it has the head of something before: it is sent with the index of that
 * head instead. Who sends chooses the index, by what it is made of, and both sides keep what was
 * sent with it last; see wire.h, encode.c and receive.c.
 *
 * A side has room for 64 heads, which are in the link, until as many again have found their place
 * taken: then for all that there are indices for, which are 64 KiB. See heads.c.
 *
 * Where even that is too few, heads that take turns would all push each other out before they are
 * named. So a head keeps its place for some messages that have another one there, and only gives
 * it up if none of its own came meanwhile. Those others are sent with the index of none, and
 * nothing is kept of them on either side.
 */
#ifndef GY_REMOTE_MESSAGE_HEADS_H
#define GY_REMOTE_MESSAGE_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "actor/mail/mail.h"
#include "remote/wire.h"

struct gy_house;

enum {
	GY_HEADS_FIRST_SHIFT = 6,
	GY_HEADS_FIRST = 1 << GY_HEADS_FIRST_SHIFT,
	GY_HEAD_TYPE_STEP = 297, /* odd: as many types as there are heads lie apart */
	GY_HEAD_PASSED_MAX = 3,
};

/* A head of messages that travel as their bytes, as many in each. */
struct gy_sent_head {
	const struct gyre_type *type; /* NULL: none was sent */
	struct gyre_address to;	      /* by gy_head_to() */
	struct gy_origin from;
	uint32_t type_id;
	uint32_t bytes;
	uint32_t deadline; /* of an ask: the time it has */
	uint32_t repeat;   /* the word of a message that names it, as it stands on the wire */
	uint8_t kind;	   /* enum gy_mail_kind */
	uint8_t passed;	   /* messages with another head that have come here since it was named */
} GY_ALIGNED_LINE;

/* A head, and what it stands for here. */
struct gy_received_head {
	/* The word of a message that names it; 0: messages with it are taken one by one. Else they
	 * travel as their bytes, and are for an actor of this loop. */
	uint32_t repeat;
	uint8_t repeat_bytes; /* that stand before the body of a message which names it */
	uint8_t size_class;   /* of the mail of such a message */
	uint8_t lane;	      /* enum gy_lane, likewise */
	const struct gyre_type *type;
	struct gy_house *house; /* that has had the slot of the receiver, if @repeat is set */
	struct gy_origin from;
	uint32_t patience; /* of an ask */
	uint32_t to_slot;
	uint32_t to_cookie;
	uint32_t type_id;
	uint16_t to_loop;
	uint16_t layout;
	uint16_t left;
	uint8_t kind;	/* enum gy_wire_kind; 0: none was received */
	uint32_t bytes; /* of the body of a message, if @repeat is set */
} GY_ALIGNED_LINE;

_Static_assert(sizeof(struct gy_sent_head) == GY_CACHE_LINE, "a line each");
_Static_assert(sizeof(struct gy_received_head) == GY_CACHE_LINE, "a line each");

/* Those of a link, which sends messages if it was dialled, and else receives them. */
struct gy_heads {
	union {
		struct gy_sent_head *sent;
		struct gy_received_head *received;
		void *all;
	};
	uint32_t shift;	   /* for 1 << @shift heads there is room */
	uint32_t mask;	   /* likewise, less one */
	uint32_t replaced; /* heads that have found their place taken */
	union {
		struct gy_sent_head first_sent[GY_HEADS_FIRST];
		struct {
			struct gy_received_head first_received[GY_HEADS_FIRST];
			struct gy_received_head unkept; /* that of the message which is taken */
		};
	};
};

void gy_heads_init(struct gy_heads *heads);
/* The connection has ended, or the link: forgets them all. */
void gy_heads_reset(struct gy_heads *heads);
/* Makes room for all that have an index; those that are there stay where they are. -ENOMEM. */
GY_COLD int gy_heads_grow(struct gy_heads *heads);

/* A head has found its place taken. Without memory there is no more room. */
static inline void gy_heads_count_replaced(struct gy_heads *heads)
{
	if (gy_unlikely(heads->mask < GY_WIRE_HEADS && ++heads->replaced >= GY_HEADS_FIRST)) {
		heads->replaced = 0;
		(void)gy_heads_grow(heads);
	}
}

/*
 * Where the head of a mail stands. Slots are given one after the other: so as many receivers of one
 * sender, senders to one receiver, or eight of either do not share a place. Types of one pair lie
 * apart. The place whose index is that of none stays empty.
 */
static inline uint32_t gy_head_index(const struct gy_heads *heads, struct gyre_address to,
				     const struct gyre_mail *mail)
{
	uint32_t from = mail->from.slot & heads->mask;
	uint32_t type = mail->type->id + mail->node.kind;
	uint64_t words[2]; /* slot and loop at their ends; an address stays in two registers so */
	uint32_t index;

	memcpy(words, &to, sizeof(words));
	index = ((uint32_t)words[0] + (uint16_t)words[1] + (from << 3) +
		 (from >> (heads->shift - 3)) + type * GY_HEAD_TYPE_STEP) &
		heads->mask;

	return index - (index == GY_WIRE_HEADS);
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
