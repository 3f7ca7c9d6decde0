/*
 * Blocks: elements that leave their island, in one allocation, and the messages between islands and
 * their like.
 *
 * Within a system a block goes in a message that owns it. What goes to other nodes is declared in
 * remote/message/stream_wire.h.
 */
#ifndef GY_STREAM_BLOCK_H
#define GY_STREAM_BLOCK_H

#include "stream/element.h"

struct gy_block {
	struct gy_block *next;
	const struct gyre_type *type;
	uint64_t weight; /* of all that were put in */
	uint32_t first;	 /* that was not taken yet */
	uint32_t count;	 /* up to the last one */
	unsigned char elements[] __attribute__((aligned(16)));
};

/* A block with room for @count elements; NULL without memory. */
struct gy_block *gy_block_make(const struct gyre_type *type, uint32_t count);
/* Destroys the elements that were not taken; NULL is allowed. */
void gy_block_destroy(struct gy_block *block);

/* From what produces to an inlet. */
struct gy_stream_block {
	struct gy_block *block;
	uint32_t port;
};
void gy_stream_block_fini(struct gy_stream_block *message);
GYRE_OWN_MESSAGE_OWNING_(gy_stream_block, 0x82, gy_stream_block_fini);

#endif
