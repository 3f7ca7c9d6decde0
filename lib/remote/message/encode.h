/*
 * Mail to frames; see encode.c. A notice whose head was sent before is encoded here: it is most
 * mail.
 */
#ifndef GY_REMOTE_MESSAGE_ENCODE_H
#define GY_REMOTE_MESSAGE_ENCODE_H

#include <string.h>

#include "actor/mail/mail.h"
#include "actor/mail/mail_pool.h"
#include "remote/link/link.h"

/*
 * Queues mail that is no repeat on a link that is open and will be flushed; @mail stays the
 * caller's. -EAGAIN when the link holds its bound, -EMSGSIZE, -EPROTO or -EOPNOTSUPP for what
 * cannot travel, -ENOMEM.
 */
int gy_encode(struct gy_link *link, struct gyre_address to, const struct gyre_mail *mail);

/* Whether a body of so many bytes stays within the link's bound, whatever the kind of its message.
 */
static inline bool gy_encode_has_room(const struct gy_link *link, uint32_t bytes)
{
	return link->queued_bytes - link->credited_bytes + bytes + GY_WIRE_HEAD_BYTES_MAX <=
	       link->queued_bytes_max;
}

/*
 * Whom mail is for, as its head is kept: that of an answer says the life in its slot, as the ask
 * did that it answers.
 */
static inline struct gyre_address gy_head_to(const struct gy_link *link, struct gyre_address to,
					     const struct gyre_mail *mail)
{
	if (mail->node.kind == GY_MAIL_REPLY && to.slot <= gy_slot_mask &&
	    to.life == gy_life_of(link->theirs.incarnation)) {
		to.slot |= link->life_mark;
		to.life = 0;
	}
	return to;
}

/*
 * Takes mail whose head the link has not sent, or not last with that index, and queues it with a
 * head of its own. False, and nothing was done, if it needs more than to be copied: it travels in
 * another form, the page is full, or it is for another life or peer. @to is that of a head.
 */
bool gy_encode_first(struct gy_link *link, uint32_t index, struct gyre_address to,
		     struct gyre_mail *mail);

/* ---- messages whose head was sent before ---- */

/* Whether so many bytes of mail may be written to the page as they are. */
static inline bool gy_encode_is_direct(const struct gy_link *link, uint32_t bytes)
{
	return (intptr_t)link->direct_end - (intptr_t)link->frame_page.at >= (intptr_t)bytes;
}

/* Whether a head is the mail's, and the mail can go with it now: an ask or an answer is noted until
 * it has arrived, for which there is room. @to is that of a head. */
static inline bool gy_encode_is_repeat(const struct gy_link *link, const struct gy_sent_head *head,
				       struct gyre_address to, const struct gyre_mail *mail)
{
	return gy_head_is_of(head, to, mail) &&
	       gy_encode_is_direct(link, GY_WIRE_REPEAT_ID_BYTES + head->bytes) &&
	       (head->kind == GY_MAIL_NOTICE || link->in_flight.count < link->in_flight.size);
}

static inline int gy_encode_end_repeat(struct gy_link *link, struct gyre_mail *mail, uint32_t bytes)
{
	link->frame_page.at += bytes;
	link->queued_bytes += bytes;
	link->queued_frames++;
	gy_mail_put(link->links->home, mail);
	return 0;
}

/* Calls of their own, so that a notice without a body saves no registers. */
int gy_encode_repeat_body(struct gy_link *link, const struct gy_sent_head *head,
			  struct gyre_mail *mail);
int gy_encode_repeat_id(struct gy_link *link, const struct gy_sent_head *head,
			struct gyre_mail *mail);

/* Takes mail of which gy_encode_is_repeat() holds, and queues it; 0. */
static inline int gy_encode_repeat(struct gy_link *link, struct gy_sent_head *head,
				   struct gyre_mail *mail)
{
	head->passed = 0;
	if (head->kind != GY_MAIL_NOTICE) {
		return gy_encode_repeat_id(link, head, mail);
	}
	memcpy(link->frame_page.at, &head->repeat, sizeof(head->repeat));
	return head->bytes > 0 ? gy_encode_repeat_body(link, head, mail)
			       : gy_encode_end_repeat(link, mail, GY_WIRE_WORD_BYTES);
}

#endif
