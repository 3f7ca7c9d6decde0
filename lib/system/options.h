/*
 * The options of a system, resolved and checked; see options.c.
 */
#ifndef GY_SYSTEM_OPTIONS_H
#define GY_SYSTEM_OPTIONS_H

#include <gyre/system.h>

struct gyre_system;

/* Fills in defaults and checks bounds; a bad field is named in the log of @options. */
int gy_options_resolve(const struct gyre_system_options *options,
		       struct gyre_system_options *ret_options);

/* ---- resolved_options.c ---- */

/* From here on texts of the options are the system's own; @cpus, in rising order, is their list. */
int gy_options_keep_texts(struct gyre_system *system, const int *cpus, int cpus_count);

#endif
