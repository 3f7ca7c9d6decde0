/*
 * Notices like the one before; see repeat.c.
 */
#ifndef GY_REMOTE_REPEAT_H
#define GY_REMOTE_REPEAT_H

#include <stdbool.h>
#include <stddef.h>

#include "actor/mail.h"
#include "remote/wire.h"

struct gy_link;

/* The last notice that was sent in full. */
struct gy_last_sent {
	const struct gyre_type *type; /* NULL: the next one is sent in full */
	uint32_t type_id;
	uint32_t bytes;
	struct gyre_address to; /* as it was given */
	struct gy_origin from;
};

/* The last notice that was received in full. */
struct gy_last_received {
	bool any;
	unsigned char head[GY_WIRE_HEAD_BYTES];
	struct gy_frame frame;	      /* made of @head by the first AGAIN, as the type */
	const struct gyre_type *type; /* NULL: those like it are taken one by one */
};

/* The frame that an AGAIN stands for; -EPROTO when there was no notice before it. */
int gy_repeat_expand(struct gy_link *link, struct gy_frame *frame);
/* Takes whole frames at @bytes that are all such notices, for an actor of this loop. How many
 * bytes: 0 for what is none, or is to be taken one by one. */
size_t gy_repeat_take(struct gy_link *link, const unsigned char *bytes, size_t count);

#endif
