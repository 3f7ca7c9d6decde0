/*
 * Loops as a system makes them, with a clock that stands still.
 */
#include "rig.h"

#include "base/memory/memory.h"

struct rig rig;

static uint64_t read_clock(void *arg)
{
	(void)arg;
	return 1;
}

static bool trim_nothing(struct gy_loop *loop, uint32_t keep)
{
	(void)loop;
	(void)keep;
	return false;
}

static void deliver_nothing(struct gy_loop *loop, struct gy_node *node)
{
	(void)loop;
	(void)node;
	model_failed("a node came that nobody has sent");
}

const struct gy_loop_ops rig_ops = { .deliver = deliver_nothing, .trim = trim_nothing };

struct gy_loop_options rig_options(uint32_t index, const struct gy_loop_ops *ops)
{
	return (struct gy_loop_options){
		.index = (uint16_t)index,
		.cpu = -1,
		.io_ratio = 50,
		.starvation_limit = 64,
		.steal_floor = 1,
		.steal_aggression = 1,
		.min_budget_ns = 1000,
		.timer_tick_ns = 1000000,
		.spin_ns = GY_SPIN_NEVER,
		.clock.read_ns = read_clock,
		.ops = ops,
	};
}

void rig_begin(uint32_t loops, const struct gy_loop_ops *ops)
{
	rig.peers = (struct gy_loops *)gy_memory_get(sizeof(struct gy_loops) +
						     loops * sizeof(struct gy_loop *));
	rig.peers->count = loops;
	rig.peers->made = loops;
	rig.peers->max = loops;
	for (uint32_t i = 0; i < loops; i++) {
		const struct gy_loop_options options = rig_options(i, ops);

		rig.loop[i] = (struct gy_loop *)gy_memory_get(sizeof(struct gy_loop));
		rig.peers->loop[i] = rig.loop[i];
		model_check(gy_loop_init(rig.loop[i], &options) == 0);
		model_check(gy_loop_join(rig.loop[i], rig.peers) == 0);
	}
}

/* A turn that neither did anything nor slept would do the same again until something changes. */
void rig_turn(uint32_t number)
{
	struct gy_loop *loop = rig.loop[number];

	for (;;) {
		uint64_t parks = loop->counters.parks;
		uint64_t stolen = loop->counters.jobs_stolen;

		gy_loop_turn(loop);
		if (!loop->executed && loop->counters.parks == parks &&
		    loop->counters.jobs_stolen == stolen && !gy_ring_has_prepared(loop->ring)) {
			model_pause();
		}
	}
}

void rig_check_asleep(uint32_t number)
{
	const struct gy_loop *loop = rig.loop[number];

	model_check(loop->parked != GY_AWAKE);
	model_check(gy_queue_empty(&loop->state));
	model_check(gy_steal_ring_count(&loop->steal_ring) == 0);
}

void rig_turn_0(void)
{
	rig_turn(0);
}

void rig_turn_1(void)
{
	rig_turn(1);
}
