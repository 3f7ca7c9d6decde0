/*
 * A histogram of times from 1 ns to 60 s that is right to three significant digits.
 *
 * Values are counted in cells whose width doubles with each power of two, 1,024 cells a doubling
 * (the HDR idea), so that recording is a shift and an increment and never allocates. A histogram
 * belongs to one thread; those of several threads are merged afterwards.
 */
#ifndef APPS_HISTOGRAM_H
#define APPS_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_HALF_BITS = 10, /* 1,024 cells a doubling: a cell is under 0.1 % wide */
	HISTOGRAM_DOUBLINGS = 26, /* 2,048 << 25 is 68 s */
	HISTOGRAM_CELLS = (HISTOGRAM_DOUBLINGS + 1) << HISTOGRAM_HALF_BITS,
};

#define HISTOGRAM_MAX_NS UINT64_C(60000000000)

/* About 220 KiB: on the heap or in static storage. All zero but @min_ns is empty; see init. */
struct histogram {
	uint64_t count;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t clipped; /* how many values were over HISTOGRAM_MAX_NS, and counted as that */
	uint64_t cells[HISTOGRAM_CELLS];
};

void histogram_init(struct histogram *histogram);

/* Adds all that @from holds to @histogram. */
void histogram_merge(struct histogram *histogram, const struct histogram *from);

/*
 * The least value that @percent (0 to 100) of all recorded values do not exceed, in ns; 0 if there
 * is none. It is the upper border of its cell, but never over the largest value seen.
 */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);

static inline uint32_t histogram_cell(uint64_t value_ns)
{
	uint64_t at_least = value_ns | ((UINT64_C(2) << HISTOGRAM_HALF_BITS) - 1);
	uint32_t doubling = 63 - HISTOGRAM_HALF_BITS - (uint32_t)__builtin_clzll(at_least);

	return (doubling << HISTOGRAM_HALF_BITS) + (uint32_t)(value_ns >> doubling);
}

static inline void histogram_record(struct histogram *histogram, uint64_t value_ns)
{
	if (__builtin_expect(value_ns > HISTOGRAM_MAX_NS, 0)) {
		value_ns = HISTOGRAM_MAX_NS;
		histogram->clipped++;
	}
	histogram->count++;
	histogram->min_ns = value_ns < histogram->min_ns ? value_ns : histogram->min_ns;
	histogram->max_ns = value_ns > histogram->max_ns ? value_ns : histogram->max_ns;
	histogram->cells[histogram_cell(value_ns)]++;
}

#endif
