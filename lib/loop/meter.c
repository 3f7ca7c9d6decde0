/*
 * The slow side of the meter: jobs that are timed.
 */
#include "loop/meter.h"

#include "base/random.h"

/* A number from 1 to 511, so that the mean is the weight. */
static uint32_t draw_gap(struct gy_meter *meter)
{
	return (uint32_t)(gy_random_next(&meter->random) >> 32) % (2 * GY_METER_WEIGHT - 1) + 1;
}

void gy_meter_init(struct gy_meter *meter, const struct gy_clock *clock, uint64_t seed)
{
	*meter = (struct gy_meter){ .random = seed, .start = gy_tick_pair_read(clock) };
	meter->countdown = draw_gap(meter);
	meter->ticks = meter->start.ticks;
}

void gy_meter_begin(struct gy_meter *meter, const struct gy_clock *clock)
{
	if (meter->exact > 0) {
		meter->weight = 1;
		meter->exact--;
		gy_store_relaxed(&meter->countdown, meter->exact > 0 ? 1 : meter->sampling);
	} else {
		meter->weight = GY_METER_WEIGHT;
		meter->last_ticks = 0;
		gy_store_relaxed(&meter->countdown, draw_gap(meter));
	}
	gy_count(&meter->timed, 1);
	meter->from = meter->last_ticks != 0 ? meter->last_ticks : gy_ticks(clock);
}

void gy_meter_end(struct gy_meter *meter, const struct gy_clock *clock, uint64_t *busy)
{
	uint64_t now = gy_ticks(clock);

	gy_count(busy, now > meter->from ? (now - meter->from) * meter->weight : 0);
	meter->last_ticks = meter->exact > 0 ? now : 0;
}
