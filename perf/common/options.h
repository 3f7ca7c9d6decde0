/*
 * The command line of a perf program, as a table. Every option is long; --help is made from the
 * table.
 */
#ifndef PERF_COMMON_OPTIONS_H
#define PERF_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_option_kind {
	PERF_OPTION_FLAG,    /* @value is a bool */
	PERF_OPTION_NUMBER,  /* an int64_t, from @min to @max */
	PERF_OPTION_SECONDS, /* a uint64_t of ns; the user gives seconds, also 0.5 */
	PERF_OPTION_CHOICE,  /* a const char *, one of those in @choices */
	PERF_OPTION_STRING,  /* a const char * */
	PERF_OPTION_TAKEN,   /* NAME=VALUE, as often as wanted; @value is a struct perf_taker */
};

struct perf_option {
	const char *name;
	enum perf_option_kind kind;
	const char *help;
	void *value; /* holds the default before, the user's choice after */
	int64_t min;
	int64_t max;
	const char *choices; /* divided by '|' */
};

struct perf_taker {
	void (*take)(const struct perf_option *option, void *to, const char *text);
	void *to;
};

/*
 * Reads @argv into the values of @options, @count of them. Does not return for --help (exit status
 * 0) and misuse (one line on stderr, exit status 2).
 */
void perf_options_parse(int argc, char **argv, const char *purpose,
			const struct perf_option *options, size_t count);

/* Says that the option cannot be @text, and why; does not return. */
_Noreturn void perf_refuse(const struct perf_option *option, const char *text, const char *why);

/* Prints "program: what: reason" for a negative errno, and returns the exit status 1. */
int perf_fail(const char *what, int error);

#endif
