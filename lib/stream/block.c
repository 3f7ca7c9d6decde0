/*
 * Blocks of elements on their way. A block owns those of its elements that were not taken, and is
 * freed with them wherever its message ends.
 */
#include "stream/block.h"

#include "base/memory/memory.h"

struct gy_block *gy_block_make(const struct gyre_type *type, uint32_t count)
{
	struct gy_block *block = (struct gy_block *)gy_memory_get_raw(
		sizeof(*block) + gy_elements_bytes(type, count));

	if (block != NULL) {
		block->next = NULL;
		block->type = type;
		block->weight = 0;
		block->first = 0;
		block->count = 0;
	}
	return block;
}

void gy_block_destroy(struct gy_block *block)
{
	if (block != NULL) {
		gy_assert(block->first <= block->count);
		gy_elements_destroy(block->type,
				    gy_element_at(block->type, block->elements, block->first),
				    block->count - block->first);
		gy_memory_put(block);
	}
}

void gy_stream_block_fini(struct gy_stream_block *message)
{
	gy_block_destroy(message->block);
}
