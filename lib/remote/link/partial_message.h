/*
 * Large messages on their way in; see partial_message.c.
 */
#ifndef GY_REMOTE_LINK_PARTIAL_MESSAGE_H
#define GY_REMOTE_LINK_PARTIAL_MESSAGE_H

#include <stdint.h>

#include "base/list.h"
#include "remote/wire.h"

struct gy_link;

/* A large message on its way in. Its memory grows with what has come of it. */
struct gy_partial_message {
	struct gy_list item;
	uint32_t number;
	uint32_t at;
	uint32_t bytes; /* of the whole, as the peer says */
	uint32_t room;
	unsigned char *frame;
};

/*
 * Takes a fragment. @ret_whole gets the message once it is complete, and the caller drops it then.
 * -EPROTO, -EMSGSIZE, -ENOMEM.
 */
int gy_partial_message_add(struct gy_link *link, const struct gy_frame *frame,
			   struct gy_partial_message **ret_whole);
void gy_partial_message_drop(struct gy_link *link, struct gy_partial_message *message);
/* The connection has ended. */
void gy_partial_messages_reset(struct gy_link *link);
/* Asserts that no message is complete, and that their bytes are the sum that the link has. */
void gy_partial_messages_check(const struct gy_link *link);

#endif
