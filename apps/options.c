/*
 * The table of options becomes one of getopt_long(); what that finds is an index into ours.
 */
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { OPTIONS_MAX = 24, SPIN_NS_MAX = 1000000000, HELP = OPTIONS_MAX, UNKNOWN = '?' };

static int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (end == text || *end != '\0' || strchr(text, '-') != NULL || value < min ||
	    value > max) {
		return -1;
	}
	*ret_number = value;
	return 0;
}

static int set_number(const struct app *app, const struct app_option *option, const char *text)
{
	int r = parse_number(text, option->min, option->max, (uint64_t *)option->to);

	if (r < 0) {
		(void)fprintf(stderr, "%s: --%s is %" PRIu64 " to %" PRIu64 "\n", app->name,
			      option->name, option->min, option->max);
	}
	return r;
}

static int set_seconds(const struct app *app, const struct app_option *option, const char *text)
{
	char *end;
	double ns = strtod(text, &end) * 1e9;

	if (end == text || *end != '\0' || !(ns >= (double)option->min) ||
	    !(ns <= (double)option->max)) {
		(void)fprintf(stderr, "%s: --%s is %g to %g seconds\n", app->name, option->name,
			      (double)option->min / 1e9, (double)option->max / 1e9);
		return -1;
	}
	*(uint64_t *)option->to = (uint64_t)ns;
	return 0;
}

static int set_spin(const struct app *app, const struct app_option *option, const char *text)
{
	int64_t *spin_ns = (int64_t *)option->to;
	uint64_t number = 0;

	if (strcmp(text, "auto") == 0) {
		*spin_ns = GYRE_SPIN_AUTO;
	} else if (strcmp(text, "never") == 0) {
		*spin_ns = GYRE_SPIN_NEVER;
	} else if (parse_number(text, 1, SPIN_NS_MAX, &number) == 0) {
		*spin_ns = (int64_t)number;
	} else {
		(void)fprintf(stderr, "%s: --%s is auto, never, or 1 to %d ns\n", app->name,
			      option->name, SPIN_NS_MAX);
		return -1;
	}
	return 0;
}

static int set_tunable(const struct app *app, const struct app_option *option, const char *text)
{
	char why[GYRE_OPTION_WHY_BYTES];

	if (gyre_system_option_set((struct gyre_system_options *)option->to, text, why) < 0) {
		(void)fprintf(stderr, "%s: --%s cannot be \"%s\": %s\n", app->name, option->name,
			      text, why);
		return -1;
	}
	return 0;
}

static int set(const struct app *app, const struct app_option *option, const char *text)
{
	switch (option->kind) {
	case APP_NUMBER:
		return set_number(app, option, text);
	case APP_SECONDS:
		return set_seconds(app, option, text);
	case APP_SET:
		return set_tunable(app, option, text);
	case APP_SPIN:
		return set_spin(app, option, text);
	case APP_TEXT:
		*(const char **)option->to = text;
		return 0;
	case APP_FLAG:
		*(bool *)option->to = true;
		return 0;
	}
	return -1;
}

/* @ret_options has room for two more than the table may have. */
static void translate(const struct app *app, struct option *ret_options)
{
	size_t i;

	for (i = 0; i < app->options_count && i < OPTIONS_MAX; i++) {
		ret_options[i] = (struct option){
			.name = app->options[i].name,
			.has_arg =
				app->options[i].kind == APP_FLAG ? no_argument : required_argument,
			.val = (int)i,
		};
	}
	ret_options[i] = (struct option){ "help", no_argument, NULL, HELP };
	ret_options[i + 1] = (struct option){ 0 };
}

enum app_parsed app_parse(const struct app *app, int argc, char **argv)
{
	struct option options[OPTIONS_MAX + 2];
	int found;

	translate(app, options);
	optind = 0; /* also where main() has run before, as in a simulation */
	while ((found = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (found == HELP) {
			(void)puts(app->usage);
			return APP_HELPED;
		}
		if (found == UNKNOWN || set(app, &app->options[found], optarg) < 0) {
			return APP_MISTAKE;
		}
	}
	if (optind < argc && app->operand != NULL) {
		*app->operand = argv[optind++];
	}
	if (optind < argc) {
		(void)fprintf(stderr, "%s: \"%s\" is no option; see --help\n", app->name,
			      argv[optind]);
		return APP_MISTAKE;
	}
	return APP_RUN;
}

bool app_take_loops(const char *program, uint64_t loops, int64_t spin_ns,
		    struct gyre_system_options *options)
{
	bool loops_twice = loops != 0 && options->loops != 0;

	if (loops_twice || (spin_ns != 0 && options->spin_ns != 0)) {
		(void)fprintf(stderr, "%s: %s are one option: give it once\n", program,
			      loops_twice ? "--loops and --set loops" : "--spin and --set spin_ns");
		return false;
	}
	options->loops = loops != 0 ? (uint32_t)loops : options->loops;
	options->spin_ns = spin_ns != 0 ? spin_ns : options->spin_ns;
	return true;
}
