/*
 * Messages of other nodes that are taken one after the other, and what their heads stand for here;
 * see receive_run.c.
 */
#ifndef GY_REMOTE_MESSAGE_RECEIVE_RUN_H
#define GY_REMOTE_MESSAGE_RECEIVE_RUN_H

#include <stddef.h>

#include "remote/link/link.h"
#include "remote/node.h"
#include "remote/types.h"

/*
 * Takes whole frames at @bytes, on an accepted link, that are messages of their bytes alone for
 * actors of this loop. How many bytes, up to the first frame that has to be taken by itself.
 */
size_t gy_receive_run(struct gy_link *link, const unsigned char *bytes, size_t count);
/* Keeps the head that stands at @bytes, of a message that may be named again, in its place. */
void gy_receive_head(const struct gy_link *link, const unsigned char *bytes,
		     struct gy_received_head *head);

static inline struct gy_origin gy_receive_origin(const struct gy_link *link,
						 const struct gy_frame *frame)
{
	return (struct gy_origin){ .slot = (frame->from_slot & gy_slot_mask) | link->life_mark,
				   .cookie = frame->from_cookie,
				   .loop = frame->from_loop,
				   .node = link->peer->id };
}

/* The time that an ask has, which came with that much left; 0 for no bound. */
static inline uint32_t gy_receive_patience(uint16_t left)
{
	uint64_t units = gy_wire_left_decode(left);

	return units > GY_DEADLINE_SPAN_NS >> GY_DEADLINE_SHIFT ? 0 : (uint32_t)units;
}

/* The type of a message, if it is the same here; else NULL. */
static inline const struct gyre_type *gy_receive_type(const struct gy_links *links, uint32_t id,
						      uint16_t layout)
{
	return gy_types_find_same(&links->nodes->types, id, layout);
}

#endif
