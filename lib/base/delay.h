/*
 * Planted delays, for builds that are to show races (option planted_delays): before operations that
 * order memory between threads a thread now and then spends some time, or gives its CPU away. So
 * windows of a few instructions, as between the two steps of a push or between a loop's flag and
 * its last look, become as wide as what others do meanwhile. Other builds have nothing of this.
 */
#ifndef GY_BASE_DELAY_H
#define GY_BASE_DELAY_H

#include "gyre_config.h"

#if GY_PLANTED_DELAYS
#include <stdint.h>

/* Before there are other threads: what the delays of each thread follow from. */
void gy_delay_seed(uint64_t seed);
void gy_delay(void);
#else
#define gy_delay() ((void)0)
#endif

#endif
