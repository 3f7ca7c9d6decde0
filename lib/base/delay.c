/*
 * Delays from a stream of random numbers a thread, which follow from the seed of the process and
 * from how many threads there were before. Most are short and some are long, so that windows of
 * every width are met. This file is in no build but those with the option planted_delays; its
 * objects of file scope are for them alone.
 */
#include "base/delay.h"

#include <sched.h>

#include "base/macros.h"
#include "base/random.h"

enum { GAP_MAX = 128, SHIFT_MAX = 12, YIELDS_EVERY = 16 };

static uint64_t process_seed = 1;
static uint64_t threads;
static _Thread_local uint64_t state;
static _Thread_local uint32_t gap;

void gy_delay_seed(uint64_t seed)
{
	__atomic_store_n(&process_seed, seed, __ATOMIC_RELAXED);
}

/* A number from 0 to below @limit. */
static uint32_t draw(uint32_t limit)
{
	return (uint32_t)(gy_random_next(&state) >> 33) % limit;
}

static void begin(void)
{
	state = __atomic_load_n(&process_seed, __ATOMIC_RELAXED) +
		(__atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) << 32);
	gap = draw(GAP_MAX);
}

static void spend_time(void)
{
	if (draw(YIELDS_EVERY) == 0) {
		(void)sched_yield();
		return;
	}
	for (uint32_t i = draw(1U << draw(SHIFT_MAX)) + 1; i > 0; i--) {
		__asm__ volatile("" ::: "memory");
	}
}

void gy_delay(void)
{
	if (gy_unlikely(state == 0)) {
		begin();
	}
	if (gy_likely(gap > 0)) {
		gap--;
		return;
	}
	spend_time();
	gap = draw(GAP_MAX);
}
