/*
 * The option --set of programs that make a system.
 */
#ifndef PERF_COMMON_TUNABLES_H
#define PERF_COMMON_TUNABLES_H

#include "common/options.h"

/* Sets one of a struct gyre_system_options. */
void perf_take_tunable(const struct perf_option *option, void *options, const char *text);

/* A row of a table of options. */
#define PERF_TUNABLES(OPTIONS)                                                            \
	{                                                                                 \
		"set", PERF_OPTION_TAKEN, "a tunable of the system, as run_budget=64",    \
			&(struct perf_taker){ perf_take_tunable, (OPTIONS) }, 0, 0, NULL, \
	}

#endif
