/*
 * Counting restarts, and the pauses that grow with their count.
 */
#include "actor/life/restart_window.h"

#include <string.h>

#include <gyre/timer.h>

#include "base/assert.h"

enum { DOUBLINGS_MAX = 6 };

static const uint64_t window_default_ns = GYRE_SECONDS(60);

static void remove_entry(struct gy_restart_window *window, uint32_t at)
{
	gy_assert(at < window->used);
	window->used--;
	memmove(&window->entry[at], &window->entry[at + 1],
		(window->used - at) * sizeof(window->entry[0]));
}

/* The two neighbours that span the shortest time become one. */
static void join_nearest(struct gy_restart_window *window)
{
	uint64_t shortest = UINT64_MAX;
	uint32_t nearest = 0;

	for (uint32_t i = 0; i + 1 < window->used; i++) {
		uint64_t span = window->entry[i + 1].last_ns - window->entry[i].first_ns;

		if (span < shortest) {
			shortest = span;
			nearest = i;
		}
	}
	window->entry[nearest].last_ns = window->entry[nearest + 1].last_ns;
	window->entry[nearest].count += window->entry[nearest + 1].count;
	remove_entry(window, nearest + 1);
}

uint32_t gy_restart_window_count(struct gy_restart_window *window, uint64_t window_ns,
				 uint64_t now_ns)
{
	uint32_t count = 0;

	window_ns = window_ns == 0 ? window_default_ns : window_ns;
	while (window->used > 0 && now_ns - window->entry[0].last_ns > window_ns) {
		remove_entry(window, 0);
	}
	window->entry[window->used++] = (struct gy_restart_entry){ now_ns, now_ns, 1 };
	if (window->used > GY_RESTART_ENTRIES) {
		join_nearest(window);
	}
	for (uint32_t i = 0; i < window->used; i++) {
		count += window->entry[i].count;
	}
	return count;
}

uint64_t gy_restart_delay(uint64_t delay_ns, uint32_t count)
{
	uint32_t doublings = count - 1 < DOUBLINGS_MAX ? count - 1 : DOUBLINGS_MAX;

	gy_assert(count > 0);
	return delay_ns > UINT64_MAX >> doublings ? UINT64_MAX : delay_ns << doublings;
}
