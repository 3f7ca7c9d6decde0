/*
 * Publishing, taking back and stealing. Published jobs are out of the state queue, so a loop with
 * little to do takes them back first. How the mail of a stolen actor stays in order: see
 * actor/steal_actor.c.
 */
#include "loop/steal.h"

#include "base/assert.h"
#include "base/random.h"

enum { PEERS_LOOKED_AT = 4, FRUITLESS_PAUSE = 16 };

/* A loop that retires neither publishes nor steals. */
static bool has_peers(const struct gy_loop *loop)
{
	uint32_t count = loop->peers == NULL ? 0 : gy_loops_count(loop->peers);

	return count > 1 && loop->index < count;
}

/* Returns whether one of the next few peers is idle; in time all are looked at. */
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

/*
 * Moves the jobs of @fifo that another loop may run to the ring, in their order; the others stay
 * where they are. Each job that is looked at takes one of @left. Returns how many were moved.
 */
static uint32_t publish_from(struct gy_loop *loop, struct gy_fifo *fifo, uint32_t *left)
{
	struct gy_fifo_item *before = NULL;
	struct gy_fifo_item *item = fifo->first;
	uint32_t published = 0;

	for (; item != NULL && *left > 0; --*left) {
		struct gy_fifo_item *next = item->next;

		if (!loop->ops->seal(loop, (struct gy_job *)item)) {
			before = item;
		} else {
			bool pushed;

			gy_fifo_remove_after(fifo, before);
			pushed = gy_steal_ring_push(&loop->steal_ring, (struct gy_job *)item);
			gy_assert(pushed); /* the caller has seen the room */
			published++;
		}
		item = next;
	}
	loop->state.count -= published;
	return published;
}

/* Looks at up to @excess jobs of the queue. Returns how many were published. */
static uint32_t publish(struct gy_loop *loop, uint32_t excess)
{
	uint32_t room = GY_STEAL_RING_SLOTS - gy_steal_ring_count(&loop->steal_ring);
	uint32_t left = excess < room ? excess : room;
	uint32_t published = publish_from(loop, &loop->state.high, &left);

	return published + publish_from(loop, &loop->state.normal, &left);
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
	/* Mail of a stolen actor must come after the mail that it has sent from here. */
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

	while (gy_steal_ring_count(&loop->steal_ring) > 0) {
		struct gy_job *job = gy_steal_ring_take(&loop->steal_ring);

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

	if (peers == NULL || loop->index >= gy_loops_count(peers) ||
	    gy_load_relaxed(&peers->published) == 0) {
		return false;
	}
	loops = gy_loops_made(peers); /* one that retires may have published jobs before */
	start = (uint32_t)(gy_random_next(&loop->steal_random) >> 32) % loops;
	for (uint32_t i = 0; i < loops; i++) {
		struct gy_loop *victim = peers->loop[(start + i) % loops];
		uint32_t count = gy_steal_ring_count(&victim->steal_ring);
		struct gy_job *job = NULL;

		if (victim != loop && count > 0 &&
		    (uint64_t)loop->idle_count * (loop->options.steal_floor + count) >=
			    loop->options.steal_aggression) {
			job = gy_steal_ring_take(&victim->steal_ring);
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
