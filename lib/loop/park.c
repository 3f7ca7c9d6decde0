/*
 * Parking. A loop sets its flag, looks at its inbox once more, and blocks in the ring. A sender
 * puts its mail into the inbox and then looks at the flag. All four accesses are sequentially
 * consistent, so that either the loop sees the mail or the sender sees the flag, and then wakes it.
 *
 * A thread that sleeps costs tens of microseconds to wake. So a loop may poll for a while first. In
 * the automatic mode it does so while the average of recent waits is shorter than that while.
 */
#include "loop/park.h"

#include "base/reader_state.h"
#include "loop/borrowed.h"
#include "loop/foreign_nodes.h"
#include "loop/sleep.h"
#include "loop/steal.h"

enum { WAITS_AVERAGED = 8, POOL_KEEP = 10 };

static const uint64_t spin_auto_ns = 50000;
static const uint64_t waking_ns =
	50000; /* time that a wake-up adds to a wait that was slept through */
static const uint64_t wait_counted_max_ns = 400000;
static const uint64_t pools_idle_ns = UINT64_C(30000000000);

void gy_loop_quiescent(void)
{
	gy_reader_quiescent();
}

static bool awake(const struct gy_loop *loop)
{
	return !gy_inbox_empty(&loop->inbox) || gy_ring_ready(loop->ring) ||
	       gy_steal_is_possible(loop);
}

static uint64_t spin_time_ns(const struct gy_loop *loop)
{
	if (loop->options.spin_ns == GY_SPIN_AUTO) {
		/* To look for input by a call, again and again, costs more than it saves. */
		return loop->wait_average_ns < spin_auto_ns && !gy_ring_has_descriptors(loop->ring)
			       ? spin_auto_ns
			       : 0;
	}
	return loop->options.spin_ns > 0 ? (uint64_t)loop->options.spin_ns : 0;
}

/* Polls for a while; returns whether there is something to do. */
static bool spin(struct gy_loop *loop, uint64_t until_ns)
{
	uint64_t end_ns = gy_time_add(loop->now_ns, spin_time_ns(loop));
	bool blind = gy_ring_is_blind(loop->ring);

	if (end_ns == loop->now_ns) {
		return false;
	}
	/* Submits, and reaps what is there already: the sends that it submits often complete at
	 * once. */
	(void)gy_ring_submit_and_wait(loop->ring, 0);
	gy_meter_charge(&loop->meter, &loop->clock, GY_PHASE_IO);
	end_ns = end_ns < until_ns ? end_ns : until_ns;
	do {
		for (uint32_t i = 0; i < 16; i++) {
			if (awake(loop)) {
				return true;
			}
			gy_pause();
		}
		if (blind) {
			(void)gy_ring_submit_and_wait(loop->ring, 0);
		}
		gy_loop_quiescent();
		gy_loop_read_clock_waited(loop);
	} while (loop->now_ns < end_ns);
	return false;
}

static void leave_park(struct gy_loop *loop)
{
	struct gy_loop_watch *watch = loop->watch;

	if (watch == NULL) {
		gy_store_relaxed(&loop->parked, GY_AWAKE);
		return;
	}
	gy_store_full(&loop->parked, GY_AWAKE);
	if (gy_unlikely(gy_load_full(&watch->asleep) != 0)) {
		watch->wake(watch);
	}
}

static void block(struct gy_loop *loop, uint64_t until_ns)
{
	uint64_t timeout_ns = until_ns == UINT64_MAX ? UINT64_MAX : until_ns - loop->now_ns;

	gy_store_full(&loop->parked, GY_PARKED);
	if (!gy_inbox_empty(&loop->inbox) || gy_steal_is_possible(loop)) {
		leave_park(loop);
		(void)gy_ring_submit_and_wait(loop->ring, 0);
		return;
	}
	gy_foreign_nodes_flush(loop);
	gy_count(&loop->counters.parks, 1);
	gy_loop_sleep(loop, timeout_ns);
	leave_park(loop);
}

/* A long wait counts for no more than a few short ones can make up for. */
static void average_wait(struct gy_loop *loop, uint64_t wait_ns)
{
	wait_ns = wait_ns < wait_counted_max_ns ? wait_ns : wait_counted_max_ns;
	loop->wait_average_ns =
		(loop->wait_average_ns * (WAITS_AVERAGED - 1) + wait_ns) / WAITS_AVERAGED;
}

void gy_loop_park(struct gy_loop *loop, uint64_t until_ns)
{
	uint64_t from_ns = loop->now_ns;
	uint64_t saved_ns = 0;
	bool found;

	if (gy_unlikely(loop->options.embedded)) {
		(void)gy_ring_submit_and_wait(loop->ring, 0);
		return;
	}
	found = spin(loop, until_ns);
	if (found || loop->now_ns != from_ns) {
		gy_meter_charge(&loop->meter, &loop->clock, GY_PHASE_POLLED);
	}
	if (found) {
		(void)gy_ring_submit_and_wait(loop->ring, 0);
	} else if (loop->now_ns < until_ns) {
		block(loop, until_ns);
		gy_meter_charge(&loop->meter, &loop->clock, GY_PHASE_PARKED);
		saved_ns = waking_ns;
	}
	gy_loop_read_clock_waited(loop);
	average_wait(loop,
		     loop->now_ns - from_ns > saved_ns ? loop->now_ns - from_ns - saved_ns : 0);
	gy_wheel_advance(&loop->wheel, loop->now_ns);
}

/* ---- a loop that another one turns ---- */

/* Of what a turn does at its begin, or a completion or a timer sets off. */
static bool has_work(const struct gy_loop *loop, uint64_t next_ns)
{
	return gy_loop_can_run(loop) || gy_ring_ready(loop->ring) ||
	       gy_ring_has_prepared(loop->ring) || next_ns <= loop->now_ns;
}

/* As in block(): what comes after the flag is set wakes the loop, and what comes after the
 * descriptor is cleared makes it readable again. */
bool gy_loop_rest(struct gy_loop *loop, bool anyway)
{
	uint64_t next_ns;
	bool busy;

	gy_assert(loop->options.embedded);
	(void)gy_ring_submit(loop->ring);
	gy_store_full(&loop->parked, GY_PARKED);
	busy = gy_ring_descriptor_clear(loop->ring);
	next_ns = gy_wheel_next_ns(&loop->wheel);
	if (gy_unlikely(gy_ring_has_retries(loop->ring)) &&
	    next_ns > loop->now_ns + GY_RING_RETRY_NS) {
		next_ns = loop->now_ns + GY_RING_RETRY_NS;
	}
	busy = busy || has_work(loop, next_ns);
	if (busy && !anyway) {
		leave_park(loop);
		return false;
	}
	gy_foreign_nodes_flush(loop);
	gy_count(&loop->counters.parks, 1);
	if (busy) {
		gy_ring_wake(loop->ring);
	} else {
		gy_ring_descriptor_arm(loop->ring, next_ns);
	}
	gy_reader_offline();
	return true;
}

void gy_loop_rouse(struct gy_loop *loop)
{
	gy_assert(loop->options.embedded);
	gy_reader_online();
	leave_park(loop);
	gy_meter_charge(&loop->meter, &loop->clock, GY_PHASE_PARKED);
	gy_loop_read_clock_waited(loop);
}

void gy_loop_trim_pools(struct gy_loop *loop)
{
	bool again;

	if (loop->now_ns - loop->pools_trimmed_ns < pools_idle_ns) {
		if (gy_unlikely(loop->pools_used && !gy_timer_is_started(&loop->pool_timer))) {
			gy_timer_start(&loop->wheel, &loop->pool_timer, pools_idle_ns);
		}
		return;
	}
	loop->pools_trimmed_ns = loop->now_ns;
	loop->pools_used = false;
	gy_loop_give_back(loop);
	gy_loop_flush(loop);
	again = gy_sizes_trim(&loop->nodes, POOL_KEEP);
	again = loop->options.ops->trim(loop, POOL_KEEP) || again;
	gy_foreign_nodes_trim(false);
	/* A parked loop must wake once more to free what was in use until then. */
	gy_timer_stop(&loop->wheel, &loop->pool_timer);
	if (again) {
		gy_timer_start(&loop->wheel, &loop->pool_timer, pools_idle_ns);
	}
}
