/*
 * How many mails threads that turn no loop have sent. Many of them send at once, so each counts in
 * a line that it shares with few others.
 */
#ifndef GY_SYSTEM_OUTSIDE_COUNT_H
#define GY_SYSTEM_OUTSIDE_COUNT_H

#include "base/atomic.h"
#include "loop/foreign_nodes.h"
#include "system/system.h"

/* The line that the calling thread counts in. */
static inline uint32_t gy_outside_line(void)
{
	const struct gy_foreign_mine *mine = gy_foreign_mine;

	return mine == NULL ? 0 : mine->owner % GY_OUTSIDE_LINES;
}

/* Counts one more mail of the calling thread. Returns how many there were in its line. */
static inline uint64_t gy_outside_count(struct gyre_system *system)
{
	return gy_add_relaxed(&system->outside_sent[gy_outside_line()].count, 1);
}

/* How many there are in the line of the calling thread. */
static inline uint64_t gy_outside_counted(const struct gyre_system *system)
{
	return gy_load_relaxed(&system->outside_sent[gy_outside_line()].count);
}

static inline uint64_t gy_outside_sent(const struct gyre_system *system)
{
	uint64_t sent = 0;

	for (uint32_t i = 0; i < GY_OUTSIDE_LINES; i++) {
		sent += gy_load_relaxed(&system->outside_sent[i].count);
	}
	return sent;
}

#endif
