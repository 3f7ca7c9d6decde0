/*
 * What is said of a few runs of one program: the median and how far the runs lie from it. Medians,
 * because one run in five is hit by something else on the machine.
 */
#ifndef PERF_COMMON_STATISTICS_H
#define PERF_COMMON_STATISTICS_H

#include <stddef.h>

enum { PERF_RUNS_MAX = 256 };

struct perf_summary {
	double median;
	double deviation; /* the median of the absolute distances from the median */
	double min;
	double max;
};

/* @count is 1 to PERF_RUNS_MAX; @values is left as it is. */
void perf_summarize(const double *values, size_t count, struct perf_summary *ret_summary);

#endif
