/*
 * Publishing, taking back and stealing. What is published is out of the state queue, so a loop with
 * little to do takes it back first.
 */
#include "loop/steal.h"

#include "base/random.h"

enum { PEERS_LOOKED_AT = 4, FRUITLESS_PAUSE = 16 };

/* One that retires neither robs nor is robbed. */
static bool has_peers(const struct gy_loop *loop)
{
	uint32_t count = loop->peers == NULL ? 0 : gy_loops_count(loop->peers);

	return count > 1 && loop->index < count;
}

/* Whether one of the next few peers has nothing to do; in time all are looked at. */
static bool somebody_is_idle(struct gy_loop *loop)
{
	const struct gy_loops *peers = loop->peers;
	uint32_t count = gy_loops_count(peers);

	for (uint32_t i = 0; i < PEERS_LOOKED_AT && i < count; i++) {
		const struct gy_loop *peer = peers->loop[loop->steal_cursor++ % count];

		if (peer != loop && (gy_load_relaxed(&peer->parked) != GY_AWAKE ||
				     gy_load_relaxed(&peer->idle_count) > 0)) {
			return true;
		}
	}
	return false;
}

static void wake_one(struct gy_loop *loop)
{
	uint32_t count = gy_loops_count(loop->peers);
	uint32_t start = loop->steal_cursor;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t peer = (start + i) % count;

		if (peer != loop->index && gy_loop_wake_peer(loop, (uint16_t)peer)) {
			(void)gy_ring_submit(loop->ring);
			return;
		}
	}
}

/* Puts jobs back before all others that wait, so that none is passed over for ever. */
static void put_back(struct gy_loop *loop, struct gy_fifo *kept)
{
	struct gy_fifo high = loop->state.high;
	struct gy_fifo normal = loop->state.normal;
	struct gy_fifo_item *link;

	loop->state.high.first = NULL;
	loop->state.normal.first = NULL;
	while ((link = gy_fifo_pop(kept)) != NULL) {
		loop->ops->ready(loop, (struct gy_job *)link);
	}
	gy_fifo_splice(&loop->state.high, &high);
	gy_fifo_splice(&loop->state.normal, &normal);
}

/* Moves up to @excess jobs from the queue to the ring. How many were published. */
static uint32_t publish(struct gy_loop *loop, uint32_t excess)
{
	struct gy_fifo kept = { 0 };
	uint32_t passed = loop->state.passed;
	uint32_t published = 0;

	excess = excess < GY_STEAL_RING_SLOTS ? excess : GY_STEAL_RING_SLOTS;
	for (uint32_t i = 0; i < excess && gy_steal_ring_count(&loop->theft) < GY_STEAL_RING_SLOTS;
	     i++) {
		struct gy_job *job = gy_queue_pop(&loop->state);

		if (loop->ops->seal(loop, job)) {
			(void)gy_steal_ring_push(&loop->theft, job);
			published++;
		} else {
			gy_fifo_push(&kept, &job->link);
		}
	}
	put_back(loop, &kept);
	loop->state.passed = passed;
	return published;
}

void gy_loop_publish(struct gy_loop *loop)
{
	uint32_t floor = loop->options.steal_floor;
	uint32_t published;

	if (loop->state.count <= floor || !has_peers(loop) || loop->ops->seal == NULL) {
		return;
	}
	if (loop->steal_pause > 0) {
		loop->steal_pause--;
		return;
	}
	if (!somebody_is_idle(loop)) {
		return;
	}
	/* What a stolen actor sends must come after what it has sent from here. */
	gy_loop_flush(loop);
	published = publish(loop, loop->state.count - floor);
	if (published == 0) {
		loop->steal_pause = FRUITLESS_PAUSE;
		return;
	}
	gy_count(&loop->counters.jobs_published, published);
	(void)gy_add_full(&loop->peers->published, published);
	wake_one(loop);
}

void gy_loop_unpublish(struct gy_loop *loop)
{
	uint32_t taken = 0;

	while (gy_steal_ring_count(&loop->theft) > 0) {
		struct gy_job *job = gy_steal_ring_take(&loop->theft);

		if (job != NULL) {
			loop->ops->unseal(loop, job);
			taken++;
		}
	}
	if (taken > 0) {
		(void)gy_add_full(&loop->peers->published, -(uint64_t)taken);
	}
}

bool gy_loop_steal(struct gy_loop *loop)
{
	struct gy_loops *peers = loop->peers;
	uint32_t loops;
	uint32_t start;

	if (!has_peers(loop) || gy_load_relaxed(&peers->published) == 0) {
		return false;
	}
	loops = gy_loops_count(peers);
	start = (uint32_t)(gy_random_next(&loop->steal_random) >> 32) % loops;
	for (uint32_t i = 0; i < loops; i++) {
		struct gy_loop *victim = peers->loop[(start + i) % loops];
		uint32_t count = gy_steal_ring_count(&victim->theft);
		struct gy_job *job = NULL;

		if (victim != loop && count > 0 &&
		    (uint64_t)loop->idle_count * (loop->options.steal_floor + count) >=
			    loop->options.steal_aggression) {
			job = gy_steal_ring_take(&victim->theft);
		}
		if (job != NULL) {
			(void)gy_add_full(&peers->published, -(uint64_t)1);
			gy_count(&loop->counters.jobs_stolen, 1);
			loop->ops->run_stolen(loop, job);
			return true;
		}
	}
	return false;
}
