/*
 * How many restarts count at a moment: each counts for the time of the window. Each has an entry
 * with its time as long as there are entries; then the two that are nearest to each other share one
 * and count as long as the later of them. So up to GY_RESTART_ENTRIES are counted exactly, and of
 * more none is forgotten early, and none later than by a quarter of the window.
 */
#ifndef GY_ACTOR_LIFE_RESTART_WINDOW_H
#define GY_ACTOR_LIFE_RESTART_WINDOW_H

#include <stdint.h>

enum { GY_RESTART_ENTRIES = 9 };

struct gy_restart_entry {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t count;
};

/* All zero: none. */
struct gy_restart_window {
	struct gy_restart_entry entry[GY_RESTART_ENTRIES + 1]; /* in the order of time */
	uint32_t used;
};

/* One more restart. Returns how many count now; a window of 0 is a minute. */
uint32_t gy_restart_window_count(struct gy_restart_window *window, uint64_t window_ns,
				 uint64_t now_ns);
/* The pause before the last of @count restarts: doubled by each but the first, up to 64 times. */
uint64_t gy_restart_delay(uint64_t delay_ns, uint32_t count);

#endif
