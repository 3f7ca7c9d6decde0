/*
 * gyre's own messages between nodes; see runtime_messages.c.
 */
#ifndef GY_REMOTE_MESSAGE_RUNTIME_MESSAGES_H
#define GY_REMOTE_MESSAGE_RUNTIME_MESSAGES_H

#include <gyre/encode.h>

#include "remote/wire.h"

struct gy_link;

extern const struct gyre_type gy_type_lookup;

/* The body of mail of gyre's own types; -EOPNOTSUPP for what does not leave the node. */
int gy_runtime_message_encode(const struct gyre_mail *mail, struct gy_frame *frame,
			      struct gyre_encoder *out);
/* The mail of an event of such a type, to that receiver: -EPROTO for what is none, -ENOMEM. */
int gy_runtime_message_decode(const struct gy_link *link, const struct gy_frame *frame,
			      struct gyre_mail **ret_mail);

#endif
