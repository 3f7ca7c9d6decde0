/*
 * Apart from the other options, for not every program has a library to ask.
 */
#include "common/tunables.h"

#include <gyre/gyre.h>

void perf_take_tunable(const struct perf_option *option, void *options, const char *text)
{
	char why[GYRE_OPTION_WHY_BYTES];

	if (gyre_system_option_set((struct gyre_system_options *)options, text, why) < 0) {
		perf_refuse(option, text, why);
	}
}
