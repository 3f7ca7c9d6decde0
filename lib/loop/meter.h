/*
 * The meter of a loop: how it spends its time, readable from other threads.
 *
 * Phases: one reading of the ticks ends a phase and begins the next; each time that the loop has
 * polled or was parked costs one more. Phases and jobs share readings: a job begins where the phase
 * or the job before it ended, and a phase ends with its last timed job, unless other code has run
 * in between. A turn with one job therefore takes two readings.
 *
 * Jobs: the first four of a phase are timed one by one, which is cheap where a turn has little to
 * do. Of the jobs that follow one in 256 is timed, and counts for 256. The gaps between samples are
 * random, so that jobs that come round in a rhythm are sampled alike; a gap that is not used up in
 * one phase goes on in the next, or short phases would have too few samples. When jobs turn out to
 * be long they are timed one by one too. A job that is not timed costs nothing, since such jobs run
 * in a loop of their own up to the next that is timed.
 *
 * The pulse: the turns, the number of timed jobs, and the rest of the countdown. Together they
 * change with each long job and with every 16 short ones, and never come back; a watchdog sees by
 * them from outside whether a loop goes on.
 */
#ifndef GY_LOOP_METER_H
#define GY_LOOP_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "base/ticks.h"
#include "gyre_config.h"

enum gy_phase {
	GY_PHASE_IO,
	GY_PHASE_CHANNELS,
	GY_PHASE_STATE,
	GY_PHASE_POLLED, /* looking for work before parking */
	GY_PHASE_PARKED,
	GY_PHASES,
};

enum { GY_METER_EXACT = 4, GY_METER_WEIGHT = 256 };

struct gy_pulse {
	uint64_t turns;
	uint64_t timed;
	uint32_t countdown;
};

struct gy_meter {
	/* Read from any thread: */
	uint32_t countdown; /* jobs up to and with the one that is timed */
	uint64_t timed;	    /* jobs */
	uint64_t ticks;	    /* of the last charge */
	uint64_t spent[GY_PHASES];
	uint32_t ready_channels; /* when phase 2 of the last turn began */
	uint32_t mounting;
	uint32_t ready_state; /* when it had ended */
	uint64_t timers;

	/* The loop's own: */
	uint32_t sampling;   /* the countdown to go on with when exact is done */
	uint32_t exact;	     /* jobs that will be timed one by one */
	uint64_t from;	     /* when the job being timed began */
	uint64_t last_ticks; /* when the one before ended; 0 when it was long ago */
	uint32_t weight;
	uint64_t random;
	struct gy_tick_pair start; /* when the meter was made; fixed */
};

void gy_meter_init(struct gy_meter *meter, const struct gy_clock *clock, uint64_t seed);

static inline void gy_meter_charge_until(struct gy_meter *meter, uint64_t now, enum gy_phase phase)
{
	gy_count(&meter->spent[phase], now > meter->ticks ? now - meter->ticks : 0);
	gy_store_relaxed(&meter->ticks, now);
}

/* Charges the time since the last charge to @phase. */
static inline void gy_meter_charge(struct gy_meter *meter, const struct gy_clock *clock,
				   enum gy_phase phase)
{
#if GY_INSPECT
	gy_meter_charge_until(meter, gy_ticks(clock), phase);
#else
	(void)meter;
	(void)clock;
	(void)phase;
#endif
}

/* Code other than a job has run: its time belongs to neither the job before nor the phase. */
static inline void gy_meter_interrupt(struct gy_meter *meter)
{
#if GY_INSPECT
	meter->last_ticks = 0;
#else
	(void)meter;
#endif
}

/* Charges the end of a phase of jobs: at the end of its last timed job, if nothing has run
 * since. */
static inline void gy_meter_charge_jobs(struct gy_meter *meter, const struct gy_clock *clock,
					enum gy_phase phase)
{
#if GY_INSPECT
	gy_meter_charge_until(meter, meter->last_ticks != 0 ? meter->last_ticks : gy_ticks(clock),
			      phase);
#else
	(void)meter;
	(void)clock;
	(void)phase;
#endif
}

/* Times at least the next @jobs one by one; the first begins at @from, 0 for unknown. */
static inline void gy_meter_time_exactly(struct gy_meter *meter, uint32_t jobs, uint64_t from)
{
#if GY_INSPECT
	if (meter->exact == 0) {
		meter->sampling = meter->countdown;
	}
	meter->exact = jobs > meter->exact ? jobs : meter->exact;
	meter->last_ticks = from;
	gy_store_relaxed(&meter->countdown, 1);
#else
	(void)meter;
	(void)jobs;
	(void)from;
#endif
}

/* Returns how many of the next @most jobs need no timing before one that does. */
static inline uint32_t gy_meter_untimed(const struct gy_meter *meter, uint32_t most)
{
#if GY_INSPECT
	return meter->countdown - 1 < most ? meter->countdown - 1 : most;
#else
	(void)meter;
	return most;
#endif
}

/* Counts @jobs that have run untimed. */
static inline void gy_meter_skip(struct gy_meter *meter, uint32_t jobs)
{
#if GY_INSPECT
	gy_store_relaxed(&meter->countdown, meter->countdown - jobs);
#else
	(void)meter;
	(void)jobs;
#endif
}

/* gy_meter_begin() and gy_meter_end() surround a job that is timed. @busy counts its ticks, and
 * outlives the job. */
void gy_meter_begin(struct gy_meter *meter, const struct gy_clock *clock);
void gy_meter_end(struct gy_meter *meter, const struct gy_clock *clock, uint64_t *busy);

#endif
