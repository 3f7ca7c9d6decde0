/*
 * The notices that the next ones may be like: those say nothing but their length. Most mail between
 * nodes comes in runs from one actor to another; see encode.c and receive.c.
 */
#ifndef GY_REMOTE_MESSAGE_LAST_NOTICE_H
#define GY_REMOTE_MESSAGE_LAST_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

#include "actor/mail/mail.h"
#include "remote/wire.h"

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
	struct gy_frame frame;	      /* the body is that of the latest repeat */
	const struct gyre_type *type; /* NULL: notices like it are taken one by one */
};

#endif
