/*
 * What a histogram does after the measurement: merging and reading percentiles, both by a walk over
 * all cells. Cell 0 to 2,047 hold one value each; after that a cell of the n-th doubling holds 2^n
 * values, and its index is found by the same shift that histogram_record() uses.
 */
#include "histogram.h"

#include <string.h>

void histogram_init(struct histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min_ns = UINT64_MAX;
}

void histogram_merge(struct histogram *histogram, const struct histogram *from)
{
	histogram->count += from->count;
	histogram->clipped += from->clipped;
	if (from->min_ns < histogram->min_ns) {
		histogram->min_ns = from->min_ns;
	}
	if (from->max_ns > histogram->max_ns) {
		histogram->max_ns = from->max_ns;
	}
	for (uint32_t cell = 0; cell < HISTOGRAM_CELLS; cell++) {
		histogram->cells[cell] += from->cells[cell];
	}
}

/* The largest value that is counted in @cell. */
static uint64_t cell_upper_ns(uint32_t cell)
{
	uint32_t half = 1U << HISTOGRAM_HALF_BITS;
	uint32_t doubling;

	if (cell < 2 * half) {
		return cell;
	}
	doubling = (cell >> HISTOGRAM_HALF_BITS) - 1;
	return ((uint64_t)(half + (cell & (half - 1)) + 1) << doubling) - 1;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	double exact = percent / 100.0 * (double)histogram->count;
	uint64_t wanted = (uint64_t)exact;
	uint64_t seen = 0;

	if (histogram->count == 0) {
		return 0;
	}
	if ((double)wanted < exact) {
		wanted++;
	}
	if (wanted == 0) {
		return histogram->min_ns;
	}
	for (uint32_t cell = 0; cell < HISTOGRAM_CELLS; cell++) {
		seen += histogram->cells[cell];
		if (seen >= wanted) {
			uint64_t upper_ns = cell_upper_ns(cell);

			return upper_ns < histogram->max_ns ? upper_ns : histogram->max_ns;
		}
	}
	return histogram->max_ns;
}
