/*
 * Median and median absolute deviation, on a sorted copy. Runs are few, so that an insertion sort
 * and an array on the stack do.
 */
#include "common/statistics.h"

#include <assert.h>
#include <math.h>

static void sort(double *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		double value = values[i];
		size_t j = i;

		for (; j > 0 && values[j - 1] > value; j--) {
			values[j] = values[j - 1];
		}
		values[j] = value;
	}
}

static double median_of_sorted(const double *values, size_t count)
{
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void perf_summarize(const double *values, size_t count, struct perf_summary *ret_summary)
{
	double copy[PERF_RUNS_MAX];
	double median;

	assert(count >= 1 && count <= PERF_RUNS_MAX);
	for (size_t i = 0; i < count; i++) {
		copy[i] = values[i];
	}
	sort(copy, count);
	median = median_of_sorted(copy, count);
	ret_summary->median = median;
	ret_summary->min = copy[0];
	ret_summary->max = copy[count - 1];
	for (size_t i = 0; i < count; i++) {
		copy[i] = fabs(values[i] - median);
	}
	sort(copy, count);
	ret_summary->deviation = median_of_sorted(copy, count);
}
