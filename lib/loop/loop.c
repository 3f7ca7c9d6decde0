/*
 * The turn of a loop: I/O, channels jobs to completion, state jobs until a deadline.
 *
 * Every phase ends with a flush of the outboxes. Whatever operations were prepared, sends and
 * wake-ups among them, go to the kernel before a phase 3 that has work, and at each clock reading
 * inside it.
 */
#include "loop/loop.h"

#include "loop/park.h"

enum {
	PHASE2_ROUNDS_MAX = 64, /* rounds of work that phase 2 makes for itself */
	INBOX_TAKE_MAX = 8192,	/* nodes a round, so that a flood cannot hold phase 2 */
	CLOCK_EVERY_JOBS = 16,
};

static void run_later(struct gy_loop *loop)
{
	struct gy_fifo tasks = loop->later;
	struct gy_link *link;

	/* What they queue in turn waits for the end of the next job, or of the phase. */
	loop->later.first = NULL;
	while ((link = gy_fifo_pop(&tasks)) != NULL) {
		struct gy_later *later = gy_container_of(link, struct gy_later, link);

		later->run(loop, later);
	}
}

static inline void run_job(struct gy_loop *loop, struct gy_job *job)
{
	loop->ops->run(loop, job);
	if (gy_unlikely(!gy_fifo_empty(&loop->later))) {
		run_later(loop);
	}
}

/* ---- phase 1 ---- */

static bool can_run(const struct gy_loop *loop)
{
	return !gy_queue_empty(&loop->state) || !gy_queue_empty(&loop->channels) ||
	       !gy_fifo_empty(&loop->mounting) || !gy_fifo_empty(&loop->later) ||
	       !gy_inbox_empty(&loop->inbox) || loop->stopping;
}

/* Returns how many completions came. */
static uint32_t phase_io(struct gy_loop *loop)
{
	uint64_t next_ns;

	gy_wheel_advance(&loop->wheel, loop->now_ns);
	next_ns = can_run(loop) ? 0 : gy_wheel_next_ns(&loop->wheel);
	if (next_ns <= loop->now_ns) {
		(void)gy_ring_submit_and_wait(loop->ring, 0);
	} else {
		gy_loop_park(loop, next_ns);
	}
	return gy_ring_reap(loop->ring);
}

/* ---- phase 2 ---- */

static bool drain_channels(struct gy_loop *loop)
{
	/* Jobs that become ready meanwhile belong to the next round. */
	uint32_t count = loop->channels.count;

	for (uint32_t i = 0; i < count; i++) {
		run_job(loop, gy_queue_pop(&loop->channels));
	}
	gy_count(&loop->counters.jobs_run, count);
	return count > 0;
}

static bool drain_mounting(struct gy_loop *loop)
{
	struct gy_fifo mounting = loop->mounting;
	struct gy_link *link;

	if (gy_fifo_empty(&mounting)) {
		return false;
	}
	loop->mounting.first = NULL;
	while ((link = gy_fifo_pop(&mounting)) != NULL) {
		loop->ops->mount(loop, (struct gy_job *)link);
		if (gy_unlikely(!gy_fifo_empty(&loop->later))) {
			run_later(loop);
		}
	}
	return true;
}

static void take_node(struct gy_loop *loop, struct gy_node *node)
{
	if (node->kind == GY_NODE_RETURNED) {
		gy_pool_put(&loop->nodes.pools[node->size_class], node);
	} else if (node->kind == GY_NODE_TASK) {
		struct gy_task *task = gy_container_of(node, struct gy_task, node);

		task->run(loop, task);
	} else {
		loop->ops->deliver(loop, node);
	}
}

static bool drain_inbox(struct gy_loop *loop)
{
	uint32_t taken = 0;

	while (taken < INBOX_TAKE_MAX) {
		struct gy_node *node = gy_inbox_take(&loop->inbox);

		if (node == NULL) {
			break;
		}
		taken++;
		take_node(loop, node);
	}
	if (taken > 0) {
		gy_count(&loop->counters.nodes_received, taken);
	}
	return taken > 0;
}

void gy_loop_drain_inbox(struct gy_loop *loop)
{
	while (drain_inbox(loop)) {
	}
	gy_loop_flush(loop);
}

/* Whether anything was executed. */
static bool phase_channels(struct gy_loop *loop)
{
	bool executed = false;

	for (uint32_t round = 0; round < PHASE2_ROUNDS_MAX; round++) {
		bool worked = drain_inbox(loop);

		worked = drain_channels(loop) || worked;
		worked = drain_mounting(loop) || worked;
		worked = gy_wheel_fire(&loop->wheel) > 0 || worked;
		if (!gy_fifo_empty(&loop->later)) {
			run_later(loop);
		}
		if (!worked) {
			break;
		}
		executed = true;
	}
	gy_loop_flush(loop);
	return executed;
}

/* ---- phase 3 ---- */

static uint64_t state_deadline(const struct gy_loop *loop, uint64_t io_ns, bool io)
{
	uint32_t ratio = loop->options.io_ratio;

	if (ratio == 100) {
		return UINT64_MAX;
	}
	if (!io) {
		return gy_time_add(loop->now_ns, loop->options.min_budget_ns);
	}
	return gy_time_add(loop->now_ns, io_ns * (100 - ratio) / ratio);
}

static void phase_state(struct gy_loop *loop, uint64_t deadline_ns)
{
	uint32_t run = 0;
	/* Without a deadline, those that are ready now: more come, and would keep I/O out for ever.
	 */
	uint32_t run_max = deadline_ns == UINT64_MAX ? loop->state.count : UINT32_MAX;
	struct gy_job *job;

	while (run < run_max && (job = gy_queue_pop(&loop->state)) != NULL) {
		run_job(loop, job);
		if (++run % CLOCK_EVERY_JOBS == 0) {
			loop->now_ns = gy_clock_ns(&loop->clock);
			if (gy_ring_has_prepared(loop->ring)) {
				(void)gy_ring_submit(loop->ring);
			}
			if (loop->now_ns >= deadline_ns) {
				break;
			}
		}
	}
	gy_count(&loop->counters.jobs_run, run);
	gy_loop_flush(loop);
}

/* ---- the turn ---- */

void gy_loop_turn(struct gy_loop *loop)
{
	uint64_t parks = loop->counters.parks;
	uint32_t completions;
	uint64_t working_ns;

	loop->now_ns = gy_clock_ns(&loop->clock);
	working_ns = loop->now_ns;
	gy_loop_look_at_pools(loop);
	completions = phase_io(loop);
	if (loop->now_ns != working_ns) {
		working_ns = loop->now_ns; /* it has parked: only what follows is work */
	}
	loop->executed = phase_channels(loop);
	if (!gy_queue_empty(&loop->state)) {
		if (gy_ring_has_prepared(loop->ring)) {
			(void)gy_ring_submit(loop->ring);
		}
		loop->now_ns = gy_clock_ns(&loop->clock);
		phase_state(loop, state_deadline(loop, loop->now_ns - working_ns, completions > 0));
		loop->executed = true;
	}
	loop->pools_used = loop->pools_used || loop->executed;
	loop->idle_count = loop->executed || completions > 0 ? 0 : loop->idle_count + 1;
	gy_count(&loop->counters.turns, 1);
	if (loop->counters.parks == parks) {
		gy_loop_quiescent(); /* one that blocked has told so by going offline */
	}
}
