/*
 * Link frames and messages on their way to the channel; see link_flush.c.
 */
#ifndef GY_REMOTE_LINK_LINK_FLUSH_H
#define GY_REMOTE_LINK_LINK_FLUSH_H

#include <stdint.h>

#include "remote/wire.h"

struct gy_link;

/* Gives the channel a frame that is no message. */
void gy_link_send_control(struct gy_link *link, enum gy_wire_kind kind, const void *body,
			  uint32_t bytes);
void gy_link_send_bytes(struct gy_link *link, const void *frame, uint32_t bytes);
/* Gives the channel what it and the peer take now. */
void gy_link_flush(struct gy_link *link);

#endif
