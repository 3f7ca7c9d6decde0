/*
 * What a system keeps of its options: the values that it has resolved, and copies of the texts, in
 * one piece of memory that ends with the system. A program may free its own as soon as the system
 * is made, and read back what runs.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "base/sized.h"
#include "net/texts.h"
#include "system/machine/cpus.h"
#include "system/options.h"
#include "system/system.h"

int gy_options_keep_texts(struct gyre_system *system, const int *cpus, int cpus_count)
{
	struct gyre_system_options *options = &system->options;
	size_t cpus_bytes = gy_cpus_format(cpus, cpus_count, 0, NULL) + 1;
	char *place;

	gy_assert(system->texts == NULL && cpus_count > 0);
	system->texts = (char *)gy_memory_get(cpus_bytes + gy_text_bytes(options->handover));
	if (system->texts == NULL) {
		return -ENOMEM;
	}
	(void)gy_cpus_format(cpus, cpus_count, cpus_bytes, system->texts);
	options->cpus = system->texts;
	place = system->texts + cpus_bytes;
	options->handover = gy_text_keep(options->handover, &place);
	return 0;
}

int gyre_system_resolved_options_sized(const struct gyre_system *system,
				       struct gyre_system_options *ret_options,
				       size_t ret_options_bytes)
{
	if (system == NULL || ret_options == NULL) {
		return -EINVAL;
	}
	gy_sized_write(ret_options, ret_options_bytes, &system->options, sizeof(system->options));
	return 0;
}
