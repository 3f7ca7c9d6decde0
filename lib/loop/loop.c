/*
 * The turn of a loop: I/O, channels jobs to completion, state jobs until a deadline.
 *
 * Every phase ends with a flush of the outboxes, and of the links between nodes. Whatever
 * operations were prepared, sends and wake-ups among them, go to the kernel before a phase 3 that
 * has work, and at each clock reading inside it.
 */
#include "loop/loop.h"

#include "loop/park.h"
#include "loop/steal.h"

enum {
	PHASE2_ROUNDS_MAX = 64,	 /* rounds of work that phase 2 makes for itself */
	PHASE2_ROUNDS_BLIND = 4, /* of these, until it looks whether the ring is full */
	INBOX_TAKE_MAX = 8192,	 /* nodes a round, so that a flood cannot hold phase 2 */
	CHECK_EVERY_TURNS = 256, /* at assertions=full */
	CLOCK_EVERY_JOBS = 16,
	LONG_JOB_NS = 2000, /* from here on timing each costs less than one in a hundred */
};

static void run_all(struct gy_loop *loop, struct gy_fifo *queue)
{
	struct gy_fifo tasks = *queue;
	struct gy_fifo_item *link;

	/* Functions that they queue run at the end of the next job, or of the next phase. */
	queue->first = NULL;
	while ((link = gy_fifo_pop(&tasks)) != NULL) {
		struct gy_later *later = gy_container_of(link, struct gy_later, link);

		later->run(loop, later);
	}
}

static void run_later(struct gy_loop *loop)
{
	run_all(loop, &loop->later);
}

static void run_ending(struct gy_loop *loop)
{
	if (!gy_fifo_empty(&loop->ending)) {
		gy_meter_interrupt(&loop->meter);
		loop->ending_due_ns = UINT64_MAX;
		run_all(loop, &loop->ending);
	}
}

typedef void (*run_fn)(struct gy_loop *loop, struct gy_job *job);

static __attribute__((noinline)) void run_timed(struct gy_loop *loop, struct gy_job *job,
						run_fn run)
{
	uint64_t nowhere = 0;
	uint64_t *busy = loop->ops->busy == NULL ? &nowhere : loop->ops->busy(loop, job);

	gy_meter_begin(&loop->meter, &loop->clock);
	run(loop, job);
	if (!gy_fifo_empty(&loop->later)) {
		run_later(loop);
	}
	gy_meter_end(&loop->meter, &loop->clock, busy);
}

static inline void run_untimed(struct gy_loop *loop, struct gy_job *job, run_fn run)
{
	run(loop, job);
	if (gy_unlikely(!gy_fifo_empty(&loop->later))) {
		run_later(loop);
	}
}

/*
 * Runs up to @most jobs of a queue, and returns how many: fewer when the queue is empty. Jobs that
 * are not timed run in an inner loop that knows nothing of timing.
 */
static inline uint32_t run_jobs(struct gy_loop *loop, struct gy_queue *queue, uint32_t most)
{
	uint32_t ran = 0;
	struct gy_job *job = NULL;

	do {
		uint32_t untimed = gy_meter_untimed(&loop->meter, most - ran);
		uint32_t left = untimed;

		while (left > 0 && (job = gy_queue_pop(queue)) != NULL) {
			run_untimed(loop, job, loop->ops->run);
			left--;
		}
		ran += untimed - left;
		gy_meter_skip(&loop->meter, untimed - left);
		if (left > 0 || ran == most) {
			break;
		}
		job = gy_queue_pop(queue);
		if (job != NULL) {
			run_timed(loop, job, loop->ops->run);
			ran++;
		}
	} while (job != NULL && ran < most);
	return ran;
}

/* ---- phase 1 ---- */

/* Returns the number of completions. */
static uint32_t wait_and_reap(struct gy_loop *loop)
{
	uint64_t next_ns;

	gy_wheel_advance(&loop->wheel, loop->now_ns);
	gy_store_relaxed(&loop->meter.timers, loop->wheel.count); /* a loop that parks shows them */
	next_ns = gy_loop_can_run(loop) ? 0 : gy_wheel_next_ns(&loop->wheel);
	if (next_ns <= loop->now_ns) {
		(void)gy_ring_submit_and_wait(loop->ring, 0);
	} else {
		gy_loop_park(loop, next_ns);
	}
	return gy_ring_reap(loop->ring);
}

/*
 * Returns the number of completions. Most sends have ended when the call that submits them returns:
 * they end its wait and leave nothing to be done. Then the loop waits once more, instead of making
 * a turn for them alone; unless it was woken, since whoever wakes it may want a turn.
 */
static uint32_t phase_io(struct gy_loop *loop)
{
	const struct gy_ring_counters *counters = gy_ring_counters(loop->ring);
	uint64_t own = counters->own;
	uint32_t completions;

	loop->silent = 0;
	completions = wait_and_reap(loop);
	if (completions > 0 && loop->silent == completions && counters->own == own &&
	    loop->flush_count == 0 && !gy_loop_can_run(loop)) {
		gy_meter_charge(&loop->meter, &loop->clock, GY_PHASE_IO);
		completions += wait_and_reap(loop);
	}
	return completions;
}

/* ---- phase 2 ---- */

static bool drain_channels(struct gy_loop *loop)
{
	/* Jobs that become ready meanwhile belong to the next round. */
	uint32_t count = loop->channels.count;

	if (count == 0) {
		return false;
	}
	(void)run_jobs(loop, &loop->channels, count);
	gy_count(&loop->counters.jobs_run, count);
	return true;
}

static bool drain_mounting(struct gy_loop *loop)
{
	struct gy_fifo mounting = loop->mounting;
	struct gy_fifo_item *link;

	if (gy_fifo_empty(&mounting)) {
		return false;
	}
	loop->mounting.first = NULL;
	loop->mounting_count = 0;
	while ((link = gy_fifo_pop(&mounting)) != NULL) {
		struct gy_job *job = (struct gy_job *)link;

		if (gy_meter_untimed(&loop->meter, 1) == 0) {
			run_timed(loop, job, loop->ops->mount);
		} else {
			gy_meter_skip(&loop->meter, 1);
			run_untimed(loop, job, loop->ops->mount);
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
		gy_meter_interrupt(&loop->meter);
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

void gy_loop_drain_some(struct gy_loop *loop)
{
	(void)drain_inbox(loop);
	gy_loop_flush(loop);
}

/* Ends a phase of jobs. */
static void flush(struct gy_loop *loop)
{
	if (loop->flush_count > 0) {
		gy_meter_interrupt(&loop->meter);
		gy_loop_flush(loop);
	}
}

/*
 * After @rounds of phase 2: up to how many there may be. A channel that meets a full ring tries
 * again in the next round, but in vain until phase 1 has reaped completions.
 */
static GY_COLD uint32_t more_rounds(const struct gy_loop *loop, uint32_t rounds)
{
	return rounds == PHASE2_ROUNDS_MAX || gy_ring_is_full(loop->ring)
		       ? rounds
		       : rounds + PHASE2_ROUNDS_BLIND;
}

/* Returns whether anything was executed. */
static bool phase_channels(struct gy_loop *loop)
{
	uint32_t rounds = PHASE2_ROUNDS_BLIND;
	bool executed = false;

	gy_meter_time_exactly(&loop->meter, GY_METER_EXACT, loop->meter.ticks);
	for (uint32_t round = 0; round < rounds || round < (rounds = more_rounds(loop, rounds));
	     round++) {
		bool worked = drain_inbox(loop);

		worked = drain_channels(loop) || worked;
		worked = drain_mounting(loop) || worked;
		if (gy_wheel_is_due(&loop->wheel) && gy_wheel_fire(&loop->wheel) > 0) {
			gy_meter_interrupt(&loop->meter);
			worked = true;
		}
		if (!gy_fifo_empty(&loop->later)) {
			gy_meter_interrupt(&loop->meter);
			run_later(loop);
		}
		if (!worked) {
			break;
		}
		executed = true;
	}
	run_ending(loop);
	flush(loop);
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

/* Called at each reading of the clock; @before_ns is the reading before. */
static inline void after_some_jobs(struct gy_loop *loop, uint64_t before_ns)
{
	if (loop->now_ns - before_ns > (uint64_t)CLOCK_EVERY_JOBS * LONG_JOB_NS) {
		gy_meter_time_exactly(&loop->meter, CLOCK_EVERY_JOBS, 0);
	}
	if (loop->now_ns >= loop->ending_due_ns) {
		run_ending(loop);
	}
	if (gy_ring_has_prepared(loop->ring)) {
		(void)gy_ring_submit(loop->ring);
	}
}

static void phase_state(struct gy_loop *loop, uint64_t deadline_ns)
{
	uint32_t run = 0;
	/* Without a deadline only jobs that are ready now run: more would come, and keep I/O out
	 * for ever. */
	uint32_t run_max = deadline_ns == UINT64_MAX ? loop->state.count : UINT32_MAX;

	gy_meter_time_exactly(&loop->meter, GY_METER_EXACT, loop->meter.ticks);
	gy_loop_publish(loop);
	while (run < run_max) {
		uint64_t before_ns = loop->now_ns;
		uint32_t left = run_max - run;
		uint32_t most = left < CLOCK_EVERY_JOBS ? left : CLOCK_EVERY_JOBS;
		uint32_t ran = run_jobs(loop, &loop->state, most);

		run += ran;
		if (ran < CLOCK_EVERY_JOBS) {
			break;
		}
		gy_loop_read_clock(loop);
		after_some_jobs(loop, before_ns);
		gy_loop_publish(loop);
		if (loop->now_ns >= deadline_ns) {
			break;
		}
	}
	gy_count(&loop->counters.jobs_run, run);
	run_ending(loop);
	flush(loop);
}

/* ---- the turn ---- */

/* The idle step: a turn without work is followed by an attempt to steal. */
static void count_idle(struct gy_loop *loop, bool worked)
{
	if (!worked) {
		gy_store_relaxed(&loop->idle_count, loop->idle_count + 1);
		worked = gy_loop_steal(loop);
		loop->pools_used = loop->pools_used || worked;
	}
	if (worked && loop->idle_count > 0) {
		gy_store_relaxed(&loop->idle_count, 0);
	}
}

void gy_loop_turn(struct gy_loop *loop)
{
	uint64_t parks = loop->counters.parks;
	uint32_t completions;
	uint64_t working_ns;

	gy_loop_read_clock(loop);
	working_ns = loop->now_ns;
	gy_loop_trim_pools(loop);
	completions = phase_io(loop);
	loop->waited = loop->idle_count > 0 || loop->counters.parks != parks;
	if (loop->now_ns != working_ns) {
		working_ns = loop->now_ns; /* it has parked: only what follows is work */
	}
	gy_meter_charge(&loop->meter, &loop->clock, GY_PHASE_IO);
	/* Queues change too often to be shown as they are. */
	gy_store_relaxed(&loop->meter.ready_channels, loop->channels.count);
	gy_store_relaxed(&loop->meter.mounting, loop->mounting_count);
	loop->executed = phase_channels(loop);
	gy_store_relaxed(&loop->meter.ready_state, loop->state.count);
	gy_store_relaxed(&loop->meter.timers, loop->wheel.count);
	gy_meter_charge_jobs(&loop->meter, &loop->clock, GY_PHASE_CHANNELS);
	if (gy_unlikely(gy_steal_ring_count(&loop->steal_ring) > 0)) {
		gy_loop_unpublish(loop);
	}
	if (!gy_queue_empty(&loop->state)) {
		if (gy_ring_has_prepared(loop->ring)) {
			(void)gy_ring_submit(loop->ring);
		}
		gy_loop_read_clock(loop);
		phase_state(loop, state_deadline(loop, loop->now_ns - working_ns, completions > 0));
		gy_meter_charge_jobs(&loop->meter, &loop->clock, GY_PHASE_STATE);
		loop->executed = true;
	}
	loop->pools_used = loop->pools_used || loop->executed;
	count_idle(loop, loop->executed || completions > 0);
	gy_count(&loop->counters.turns, 1);
	if (GY_ASSERT_LEVEL >= 2 && loop->counters.turns % CHECK_EVERY_TURNS == 0) {
		gy_walk(gy_loop_check(loop));
	}
	if (loop->counters.parks == parks) {
		gy_loop_quiescent(); /* one that blocked has told so by going offline */
	}
}
