/*
 * The life of a home: a loop with the pools and the slots that its actors live from.
 */
#include <errno.h>

#include "actor/stack.h"

/* Promises stay: a user may still look at a future whose promise was recycled, to learn -ESTALE. */
static bool trim(struct gy_loop *loop, uint32_t keep)
{
	struct gy_home *home = gy_home_of(loop);
	bool again = gy_sizes_trim(&home->stacks, keep);

	again = gy_sizes_trim(&home->parts, keep) || again;
	if (home->channel_ops != NULL) {
		again = home->channel_ops->trim(loop, keep) || again;
	}
	return again;
}

static const struct gy_loop_ops loop_ops = {
	.run = gy_house_run,
	.mount = gy_house_mount,
	.deliver = gy_home_deliver,
	.trim = trim,
};

int gy_home_init(struct gy_home *home, const struct gy_loop_options *loop,
		 const struct gy_home_options *options)
{
	struct gy_loop_options with_ops = *loop;
	int r;

	*home = (struct gy_home){ .options = *options };
	with_ops.ops = &loop_ops;
	gy_sizes_init(&home->stacks, "stack");
	gy_sizes_init(&home->parts, "part");
	gy_pool_init(&home->promises, "promise", sizeof(struct gy_promise));
	r = gy_slots_init(&home->slots, options->cookie_seed);
	return r < 0 ? r : gy_loop_init(&home->loop, &with_ops);
}

void gy_home_fini(struct gy_home *home)
{
	uint32_t stacks;
	uint32_t parts;
	uint32_t promises;

	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		if (home->scratch[i] != NULL) {
			gy_pool_put(&home->stacks.pools[i], home->scratch[i]);
		}
	}
	stacks = gy_sizes_fini(&home->stacks);
	parts = gy_sizes_fini(&home->parts);
	promises = gy_pool_fini(&home->promises);
	if (stacks + parts + promises > 0) {
		gy_log(home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: %u stacks, %u parts and %u promises were never returned",
		       (unsigned)home->loop.index, stacks, parts, promises);
	}
	gy_slots_fini(&home->slots);
	gy_loop_fini(&home->loop);
}
