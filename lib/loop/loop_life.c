/*
 * The life of a loop: made and unmade by the thread that sets the system up, entered and left by
 * the thread that turns it.
 */
#include <errno.h>
#include <string.h>

#include "base/cpus.h"
#include "base/memory/memory.h"
#include "base/reader.h"
#include "base/thread.h"
#include "loop/borrowed.h"
#include "loop/foreign_nodes.h"
#include "loop/loop.h"
#include "loop/park.h"

static void pool_timer_fired(struct gy_timer *timer)
{
	(void)timer; /* the turn that it woke trims the pools */
}

int gy_loop_init(struct gy_loop *loop, const struct gy_loop_options *options)
{
	*loop = (struct gy_loop){
		.index = options->index,
		.ops = options->ops,
		.clock = options->clock,
		.options = *options,
		.channels.starvation_limit = options->starvation_limit,
		.state.starvation_limit = options->starvation_limit,
		.ending_due_ns = UINT64_MAX,
	};
	gy_inbox_init(&loop->inbox);
	gy_meter_init(&loop->meter, &loop->clock, options->index);
	gy_sizes_init(&loop->nodes, "mail");
	gy_sizes_know_all(&loop->nodes);
	gy_sizes_keep_apart(&loop->nodes);
	loop->small_origin = gy_node_origin(loop->index, 0);
	loop->small_new = gy_node_head(loop->small_origin, GY_NODE_NEW);
	gy_loop_set_clock(loop, gy_clock_ns(&loop->clock), 0);
	loop->pools_trimmed_ns = loop->now_ns;
	gy_wheel_init(&loop->wheel, options->timer_tick_ns, loop->now_ns);
	gy_timer_init(&loop->pool_timer, pool_timer_fired);
	return gy_ring_create(&options->ring, &loop->ring);
}

int gy_loop_join(struct gy_loop *loop, struct gy_loops *peers)
{
	loop->outboxes = (struct gy_outbox *)gy_memory_get(peers->max * sizeof(*loop->outboxes));
	loop->flush_list = (uint16_t *)gy_memory_get(peers->max * sizeof(*loop->flush_list));
	if (loop->outboxes == NULL || loop->flush_list == NULL) {
		return -ENOMEM;
	}
	loop->peers = peers;
	loop->steal_random = loop->now_ns + loop->index;
	loop->steal_cursor = (uint32_t)loop->index + 1;
	return 0;
}

void gy_loop_fini(struct gy_loop *loop)
{
	gy_foreign_nodes_flush(loop);
	(void)gy_sizes_fini(&loop->nodes);
	gy_ring_destroy(loop->ring);
	gy_borrowed_fini(loop);
	gy_memory_put(loop->outboxes);
	gy_memory_put(loop->flush_list);
	loop->ring = NULL;
	loop->outboxes = NULL;
	loop->flush_list = NULL;
}

static void pin(struct gy_loop *loop)
{
	struct gy_cpus cpus = { 0 };
	int r;

	if (loop->options.cpu < 0) {
		return;
	}
	gy_cpus_add(&cpus, loop->options.cpu);
	r = gy_thread_set_cpus(&cpus);
	if (r < 0) {
		gy_log(loop->options.log, GYRE_LOG_WARNING,
		       "loop %u: cannot be pinned to CPU %d: %s", (unsigned)loop->index,
		       loop->options.cpu, strerror(-r));
	}
}

int gy_loop_enter(struct gy_loop *loop)
{
	int r;

	pin(loop);
	r = gy_ring_enable(loop->ring);
	if (r < 0) {
		return r;
	}
	gy_reader_get();
	loop->borrows = true;
	gy_loop_set_clock(loop, gy_clock_ns(&loop->clock), 0);
	gy_store_relaxed(&loop->meter.ticks, gy_ticks(&loop->clock));
	return 0;
}

void gy_loop_leave(void)
{
	gy_reader_put();
}

void gy_loop_check(struct gy_loop *loop)
{
	gy_wheel_check(&loop->wheel);
	gy_queue_check(&loop->channels);
	gy_queue_check(&loop->state);
	gy_outboxes_check(loop);
	gy_sizes_check(&loop->nodes);
	gy_assert(loop->mounting_count == gy_fifo_count(&loop->mounting));
	gy_assert(loop->sure_ns + loop->lag_ns == loop->now_ns);
	if (loop->ops->check != NULL) {
		loop->ops->check(loop);
	}
}
