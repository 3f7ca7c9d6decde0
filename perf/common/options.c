/*
 * getopt_long() driven by a table of options. All misuse ends the program: a measurement with a
 * mistyped option would be worse than none.
 */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTIONS_MAX = 32,
	STATUS_MISUSE = 2,
};

int perf_fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-error));
	return 1;
}

static void print_default(const struct perf_option *option)
{
	switch (option->kind) {
	case PERF_OPTION_NUMBER:
		printf(" (%" PRId64 ")", *(const int64_t *)option->value);
		break;
	case PERF_OPTION_SECONDS:
		printf(" (%g)", (double)*(const uint64_t *)option->value / 1e9);
		break;
	case PERF_OPTION_CHOICE:
	case PERF_OPTION_STRING:
		if (*(const char *const *)option->value != NULL) {
			printf(" (%s)", *(const char *const *)option->value);
		}
		break;
	case PERF_OPTION_TAKEN:
	case PERF_OPTION_FLAG:
		break;
	}
}

static _Noreturn void print_help(const char *purpose, const struct perf_option *options,
				 size_t count)
{
	printf("usage: %s [options]\n%s\n\n", program_invocation_short_name, purpose);
	for (size_t i = 0; i < count; i++) {
		const struct perf_option *option = &options[i];
		const char *argument = option->kind == PERF_OPTION_FLAG	    ? ""
				       : option->kind == PERF_OPTION_NUMBER ? " N"
				       : option->kind == PERF_OPTION_CHOICE ? option->choices
				       : option->kind == PERF_OPTION_STRING ? " TEXT"
				       : option->kind == PERF_OPTION_TAKEN  ? " OPTION=VALUE"
									    : " S";

		printf("  --%s%s%s\n        %s", option->name,
		       option->kind == PERF_OPTION_CHOICE ? " " : "", argument, option->help);
		print_default(option);
		printf("\n");
	}
	exit(0);
}

_Noreturn void perf_refuse(const struct perf_option *option, const char *text, const char *why)
{
	fprintf(stderr, "%s: --%s cannot be '%s': %s\n", program_invocation_short_name,
		option->name, text, why);
	exit(STATUS_MISUSE);
}

static _Noreturn void refuse(const struct perf_option *option, const char *text)
{
	fprintf(stderr, "%s: --%s cannot be '%s'", program_invocation_short_name, option->name,
		text);
	if (option->kind == PERF_OPTION_NUMBER) {
		fprintf(stderr, ", it is a number from %" PRId64 " to %" PRId64, option->min,
			option->max);
	} else if (option->kind == PERF_OPTION_CHOICE) {
		fprintf(stderr, ", it is one of %s", option->choices);
	}
	fprintf(stderr, "\n");
	exit(STATUS_MISUSE);
}

static bool is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text);

	while (choices != NULL) {
		if (strncmp(choices, text, length) == 0 &&
		    (choices[length] == '|' || choices[length] == '\0')) {
			return length > 0;
		}
		choices = strchr(choices, '|');
		choices = choices == NULL ? NULL : choices + 1;
	}
	return false;
}

static void set_number(const struct perf_option *option, const char *text)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number < option->min ||
	    number > option->max) {
		refuse(option, text);
	}
	*(int64_t *)option->value = number;
}

static void set_seconds(const struct perf_option *option, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e6)) {
		refuse(option, text);
	}
	*(uint64_t *)option->value = (uint64_t)(seconds * 1e9);
}

static void take(const struct perf_option *option, const char *text)
{
	const struct perf_taker *taker = (const struct perf_taker *)option->value;

	taker->take(option, taker->to, text);
}

static void set(const struct perf_option *option, const char *text)
{
	switch (option->kind) {
	case PERF_OPTION_FLAG:
		*(bool *)option->value = true;
		break;
	case PERF_OPTION_NUMBER:
		set_number(option, text);
		break;
	case PERF_OPTION_SECONDS:
		set_seconds(option, text);
		break;
	case PERF_OPTION_CHOICE:
		if (!is_choice(option->choices, text)) {
			refuse(option, text);
		}
		*(const char **)option->value = text;
		break;
	case PERF_OPTION_STRING:
		*(const char **)option->value = text;
		break;
	case PERF_OPTION_TAKEN:
		take(option, text);
		break;
	}
}

void perf_options_parse(int argc, char **argv, const char *purpose,
			const struct perf_option *options, size_t count)
{
	struct option table[OPTIONS_MAX + 2] = { 0 };
	int index = 0;
	int c;

	if (count > OPTIONS_MAX) {
		abort();
	}
	for (size_t i = 0; i < count; i++) {
		table[i].name = options[i].name;
		table[i].has_arg =
			options[i].kind == PERF_OPTION_FLAG ? no_argument : required_argument;
	}
	table[count].name = "help";
	while ((c = getopt_long(argc, argv, "", table, &index)) == 0) {
		if ((size_t)index == count) {
			print_help(purpose, options, count);
		}
		set(&options[index], optarg);
	}
	if (c != -1) {
		exit(STATUS_MISUSE);
	}
	if (optind < argc) {
		fprintf(stderr, "%s: '%s' is not an option\n", program_invocation_short_name,
			argv[optind]);
		exit(STATUS_MISUSE);
	}
}
