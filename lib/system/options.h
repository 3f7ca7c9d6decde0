/*
 * The options of a system, resolved and checked; see options.c.
 */
#ifndef GY_SYSTEM_OPTIONS_H
#define GY_SYSTEM_OPTIONS_H

#include <gyre/system.h>

/* Fills in defaults and checks bounds; a bad field is named in the log of @options. */
int gy_options_resolve(const struct gyre_system_options *options,
		       struct gyre_system_options *ret_options);

#endif
