/*
 * A tunable of a system by its name, so that a program can be measured with other values than those
 * it was built with.
 */
#ifndef APPS_SET_FIELD_H
#define APPS_SET_FIELD_H

struct gyre_system_options;

/*
 * Sets the field that @assignment names, as in "run_budget=64"; receive_buffers takes shared or
 * whole. Returns 0, or -1 and leaves @options alone: there is no such field, or its value is no
 * number that the field can hold. gyre_system_create() checks the bounds.
 */
int app_set_field(struct gyre_system_options *options, const char *assignment);

#endif
