/*
 * Messages that actors of this node forward to other nodes: see forward.c.
 */
#ifndef GY_REMOTE_MESSAGE_FORWARD_H
#define GY_REMOTE_MESSAGE_FORWARD_H

#include <gyre/encode.h>

#include "actor/mail/mail.h"
#include "remote/wire.h"

struct gy_home;
struct gy_link;

enum { GY_ID_FORWARDED = 0x4e, GY_ID_FORWARDED_ASK = 0x4f };

/* Sends what an actor of that loop has forwarded, and counts it as sent. */
void gy_forward(struct gy_home *home, uint16_t loop, struct gyre_address to,
		struct gyre_mail *mail);
/* The same on the loop of that actor, for mail that was counted. */
void gy_forward_counted(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

/* A notice of a third node, with its sender. */
extern const struct gyre_type gy_type_forwarded;
/* For one of those, what is in it; sets nothing for other mail. */
void gy_forwarded_describe(const struct gyre_mail *mail, const struct gyre_type **type,
			   struct gyre_address *sender);
/* 0; -EPROTO or -EOPNOTSUPP for what does not travel. */
int gy_forwarded_encode(const struct gyre_mail *mail, struct gyre_encoder *out);
/* The frame that stands in such a frame, and the sender; -EPROTO. */
int gy_forwarded_take_apart(const struct gy_link *link, const struct gy_frame *frame,
			    struct gy_frame *ret_inner, struct gy_origin *ret_sender);

#endif
