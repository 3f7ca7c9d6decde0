/*
 * What stages have in common: cancelling what they take from, failing in the middle of a block, and
 * the block in which they get what comes in.
 */
#include "stream/stage.h"

#include <errno.h>

#include "base/memory/memory.h"

void gy_stage_cancel_inputs(struct gy_stage *stage, int reason)
{
	for (uint32_t i = 0; i < stage->in_count; i++) {
		gy_edge_cancel(&stage->in[i], reason);
	}
}

void gy_stage_cancel(struct gy_stage *stage, uint32_t outlet, int reason)
{
	gy_assert(outlet == 0);
	gy_stage_cancel_inputs(stage, reason);
}

bool gy_stage_is_dry(const struct gy_stage *stage, uint32_t outlet)
{
	gy_assert(outlet == 0);
	return !stage->in[0].over && gy_edge_is_dry(&stage->in[0]);
}

int32_t gy_stage_fail(struct gy_stage *stage, uint32_t count, int error)
{
	gy_assert(error < 0 && error >= GY_PULL_ERRNO_MIN);
	gy_stage_cancel_inputs(stage, error);
	stage->pending = error;
	return count > 0 ? (int32_t)count : error;
}

int gy_stage_prepare_scratch(struct gy_stage *stage)
{
	const struct gyre_type *type = stage->in[0].from->type;

	stage->scratch = gy_memory_get(gy_elements_bytes(type, gy_block_elements(type)) + 1);
	return stage->scratch == NULL ? -ENOMEM : 0;
}

void gy_stage_fini(struct gy_stage *stage)
{
	gy_memory_put(stage->scratch);
	stage->scratch = NULL;
}

enum gy_sink_state gy_sink_end(struct gy_stage *stage, int error)
{
	gy_assert(!stage->is_done && error <= 0);
	gy_stage_cancel_inputs(stage, error);
	stage->error = error;
	stage->is_done = true;
	return GY_SINK_DONE;
}
