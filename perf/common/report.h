/*
 * What a perf program prints: one line for people or, with --json, one flat JSON object on one
 * line. A key carries its unit: hops_per_s, p99_ns.
 */
#ifndef PERF_COMMON_REPORT_H
#define PERF_COMMON_REPORT_H

#include <stdbool.h>
#include <stddef.h>

enum { PERF_REPORT_FIELDS_MAX = 48 };

struct perf_report_field {
	const char *key;
	const char *text; /* NULL: a number */
	double number;
};

struct perf_report {
	const char *program;
	size_t count;
	struct perf_report_field fields[PERF_REPORT_FIELDS_MAX];
};

/* Strings are kept as pointers, until the report is printed. */
void perf_report_init(struct perf_report *report, const char *program);
void perf_report_number(struct perf_report *report, const char *key, double number);
void perf_report_string(struct perf_report *report, const char *key, const char *text);

/* To stdout, at once. */
void perf_report_print(const struct perf_report *report, bool json);

#endif
