/*
 * Loops that have retired. The thread of such a loop has ended, but mail may still come for it:
 * from senders that had its address, and mail of its pools that others return. So the loop itself
 * stays, with its inbox, its pools and its counters, until it is used again or the system is
 * destroyed. Senders need not know, and the memory may go without a wait for anybody.
 *
 * Its inbox is served by a deputy, the loop with index 0, which never retires. The flag of a
 * retired loop says so. A sender that puts mail in and finds that flag changes it to awake, and
 * calls the deputy. The deputy delivers the mail in the retired loop's name, sets the flag again,
 * and looks at the inbox once more, as a loop does that parks.
 */
#include "loop/borrowed.h"
#include "loop/foreign_nodes.h"

void gy_loops_call(struct gy_loops *loops)
{
	gy_store_full(&loops->calls, 1);
	gy_ring_wake(loops->loop[0]->ring);
}

/* The rest of a flood, and mail that a producer has not linked yet, wait for a later turn. */
static void serve(struct gy_loop *loop)
{
	uint32_t retired = GY_PARKED_RETIRED;

	gy_loop_drain_some(loop);
	gy_foreign_nodes_flush(loop);
	gy_store_full(&loop->parked, GY_PARKED_RETIRED);
	if (!gy_inbox_empty(&loop->inbox) &&
	    gy_compare_exchange_full(&loop->parked, &retired, GY_AWAKE)) {
		gy_loops_call(loop->peers);
	}
}

/* Its thread may have ended before the loop took part, and then has left it borrowing. */
void gy_loop_adopt(struct gy_loop *loop)
{
	gy_loop_end_borrowing(loop);
	loop->retired = true;
	serve(loop);
}

void gy_loop_adopt_later(struct gy_loop *loop)
{
	loop->retired = true;
	gy_store_full(&loop->parked, GY_AWAKE);
	gy_loops_call(loop->peers);
}

void gy_loop_release(struct gy_loop *loop)
{
	loop->retired = false;
	gy_store_full(&loop->parked, GY_AWAKE);
}

static void serve_those(struct gy_loops *loops, bool all)
{
	uint32_t made = gy_loops_made(loops);

	gy_store_full(&loops->calls, 0);
	for (uint32_t i = 1; i < made; i++) {
		struct gy_loop *loop = loops->loop[i];

		if (loop->retired && (all || gy_load_full(&loop->parked) == GY_AWAKE)) {
			serve(loop);
		}
	}
}

void gy_loops_serve(struct gy_loops *loops)
{
	serve_those(loops, false);
}

void gy_loops_serve_all(struct gy_loops *loops)
{
	serve_those(loops, true);
}

bool gy_loops_are_served(const struct gy_loops *loops)
{
	uint32_t made = gy_loops_made(loops);

	for (uint32_t i = 1; i < made; i++) {
		if (loops->loop[i]->retired && !gy_inbox_empty(&loops->loop[i]->inbox)) {
			return false;
		}
	}
	return true;
}
