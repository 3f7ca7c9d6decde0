/*
 * Options of a program, by a table: what each is called, what it takes, and where that goes. A
 * mistake is one line on standard error that names the option and its bounds.
 */
#ifndef APPS_OPTIONS_H
#define APPS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gyre_system_options;

enum { APP_LOOPS_MAX = 1024 };

enum app_kind {
	APP_FLAG,    /* takes nothing; @to is a bool */
	APP_TEXT,    /* @to is a const char * */
	APP_NUMBER,  /* @to is a uint64_t */
	APP_SECONDS, /* as 10 or 0.5; @to is a uint64_t of nanoseconds, as are @min and @max */
	APP_SET,     /* NAME=VALUE, as often as wanted; @to is a struct gyre_system_options */
	APP_SPIN,    /* auto, never, or nanoseconds; @to is an int64_t as in gyre_system_options */
};

struct app_option {
	const char *name;
	enum app_kind kind;
	void *to; /* untouched when the option is not given */
	uint64_t min;
	uint64_t max;
};

struct app {
	const char *name;
	const char *usage;		  /* what --help prints */
	const struct app_option *options; /* without --help */
	size_t options_count;
	const char **operand; /* where the one argument goes that is no option; NULL for none */
};

enum app_parsed { APP_MISTAKE = -1, APP_RUN = 0, APP_HELPED = 1 };

enum app_parsed app_parse(const struct app *app, int argc, char **argv);

/* Adds what --loops and --spin say, 0 for nothing, to what --set says. Where both speak of one
 * field a line says so, and the value is false. */
bool app_take_loops(const char *program, uint64_t loops, int64_t spin_ns,
		    struct gyre_system_options *options);

#endif
