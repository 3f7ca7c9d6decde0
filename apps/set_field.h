/*
 * A tunable of a system by its name, so that a program can be measured with other values than those
 * it was built with.
 */
#ifndef APPS_SET_FIELD_H
#define APPS_SET_FIELD_H

struct gyre_system_options;

enum { APP_WHY_BYTES = 128 };

/*
 * Sets the field that @assignment names, as in "run_budget=64"; some take words, as engine=epoll.
 * Returns 0, or -1 and leaves @options alone: then @ret_why says that there is no such field, or
 * which values it takes. What it takes for several fields together gyre_system_create() checks.
 */
int app_set_field(struct gyre_system_options *options, const char *assignment,
		  char ret_why[APP_WHY_BYTES]);

#endif
