/*
 * Mail to frames; see encode.c. A notice like the one before is encoded here, for it is most mail.
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

/* ---- notices like the one before ---- */

/* Whether the notice has the head of the last one. The type may have changed behind its pointer. */
static inline bool gy_encode_has_last_head(const struct gy_last_sent *last, struct gyre_address to,
					   const struct gyre_mail *mail)
{
	return last->type == mail->type && mail->node.kind == GY_MAIL_NOTICE &&
	       memcmp(&last->to, &to, sizeof(to)) == 0 &&
	       memcmp(&last->from, &mail->from, sizeof(mail->from)) == 0 &&
	       last->type_id == mail->type->id && last->bytes == mail->type->bytes;
}

/* Whether mail goes to the page as it is: the link is open, it will be flushed, nothing in
 * fragments comes first, and there is room. */
static inline bool gy_encode_is_direct(const struct gy_link *link, uint32_t bytes)
{
	return link->stage == GY_LINK_STAGE_OPEN && gy_link_has(link, GY_LINK_FLAG_FLUSH_QUEUED) &&
	       link->fragments_count == 0 &&
	       (size_t)(link->frame_page.end - link->frame_page.at) >= GY_WIRE_WORD_BYTES + bytes &&
	       gy_encode_has_room(link, bytes);
}

static inline bool gy_encode_is_repeat(const struct gy_link *link, struct gyre_address to,
				       const struct gyre_mail *mail)
{
	return gy_encode_has_last_head(&link->last_sent, to, mail) &&
	       gy_encode_is_direct(link, link->last_sent.bytes);
}

static inline int gy_encode_end_repeat(struct gy_link *link, struct gyre_mail *mail, uint32_t bytes)
{
	link->frame_page.at += bytes;
	link->queued_bytes += bytes;
	link->queued_frames++;
	gy_mail_put(link->links->home, mail);
	return 0;
}

/* A call of its own, so that a notice without a body saves no registers. */
int gy_encode_repeat_body(struct gy_link *link, struct gyre_mail *mail);

/* Takes a notice of which gy_encode_is_repeat() holds, and queues it; 0. */
static inline int gy_encode_repeat(struct gy_link *link, struct gyre_mail *mail)
{
	uint32_t word =
		htole32((uint32_t)GY_WIRE_REPEAT << GY_WIRE_KIND_SHIFT | link->last_sent.bytes);

	memcpy(link->frame_page.at, &word, sizeof(word));
	return link->last_sent.bytes > 0 ? gy_encode_repeat_body(link, mail)
					 : gy_encode_end_repeat(link, mail, GY_WIRE_WORD_BYTES);
}

#endif
