/*
 * The options of a system that are numbers: their bounds, which are those of meson_options.txt, and
 * their defaults, which were chosen when gyre was built. A program may set one by its name, from a
 * command line, a file or its environment.
 */
#include "system/tunables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "gyre_config.h"

/* ---- what there is ---- */

#define OPTION(field, min, max) WORDS(field, min, max, NULL)
#define WORDS(field, min, max, words)                                                      \
	{                                                                                  \
#field, offsetof(struct gyre_system_options, field),                       \
			sizeof(((struct gyre_system_options *)NULL)->field), (min), (max), \
			GY_DEFAULT_##field, (words)                                        \
	}

static const char *const engine_words[] = { "auto", "io_uring", "epoll", NULL };
static const char *const receive_buffers_words[] = { "shared", "whole", NULL };

const struct gy_tunable gy_tunables[] = {
	OPTION(ask_timeout_ns, 1000, 3600000000000),
	OPTION(buffer_bytes, 512, 65536),
	OPTION(buffer_count, 16, 32768),
	OPTION(channel_bytes_max, 0, 1125899906842624),
	OPTION(datagram_buffer_bytes, 512, 65536),
	OPTION(datagram_buffer_count, 16, 32768),
	OPTION(drain_timeout_ns, 1000000, 3600000000000),
	WORDS(engine, 1, 3, engine_words),
	OPTION(high_events, 1, 65535),
	OPTION(high_replies, 1, 65535),
	OPTION(io_ratio, 1, 100),
	OPTION(linger_ns, 1000000, 3600000000000),
	OPTION(log_buffer_bytes, -1, 1073741824),
	OPTION(log_lines_max, 1, 65535),
	OPTION(loops, 0, 1024),
	OPTION(loops_max, 0, 1024),
	OPTION(memory_limit_bytes, -1, 1125899906842624),
	OPTION(min_budget_ns, 1000, 1000000000),
	OPTION(min_wait_ns, -1, 1000000),
	OPTION(offload_queue_max, 1, 1000000),
	OPTION(offload_threads, 1, 256),
	WORDS(receive_buffers, 1, 2, receive_buffers_words),
	OPTION(ring_entries, 64, 32768),
	OPTION(run_budget, 1, 1000000),
	OPTION(spin_ns, -2, 1000000000),
	OPTION(stall_ns, -1, 60000000000),
	OPTION(starvation_limit, 1, 1000000),
	OPTION(steal_aggression, 1, 1000000),
	OPTION(steal_floor, 1, 1000000),
	OPTION(timer_tick_ns, 100000, 1000000000),
	OPTION(write_high_bytes, 1024, 1073741824),
	OPTION(write_low_bytes, 1, 1073741824),
	OPTION(write_max_bytes, 1024, 1073741824),
	OPTION(zero_copy_bytes, -1, 1073741824),
};
const size_t gy_tunables_count = gy_countof(gy_tunables);

int64_t gy_tunable_read(const struct gyre_system_options *options, const struct gy_tunable *tunable)
{
	const char *field = (const char *)options + tunable->offset;

	if (tunable->bytes == sizeof(uint32_t)) {
		return *(const uint32_t *)(const void *)field;
	}
	return *(const int64_t *)(const void *)field;
}

void gy_tunable_write(struct gyre_system_options *options, const struct gy_tunable *tunable,
		      int64_t value)
{
	char *field = (char *)options + tunable->offset;

	if (tunable->bytes == sizeof(uint32_t)) {
		*(uint32_t *)(void *)field = (uint32_t)value;
	} else {
		*(int64_t *)(void *)field = value;
	}
}

const struct gy_tunable *gy_tunable_find(const char *name, size_t length)
{
	for (size_t i = 0; i < gy_tunables_count; i++) {
		if (strlen(gy_tunables[i].name) == length &&
		    strncmp(gy_tunables[i].name, name, length) == 0) {
			return &gy_tunables[i];
		}
	}
	return NULL;
}

int64_t gy_tunable_word(const struct gy_tunable *tunable, const char *word)
{
	for (int64_t i = 0; tunable->words != NULL && tunable->words[i] != NULL; i++) {
		if (strcmp(tunable->words[i], word) == 0) {
			return i + 1;
		}
	}
	return 0;
}

void gy_tunable_describe(const struct gy_tunable *tunable, char *ret_text, size_t room)
{
	const char *const *words = tunable->words;
	size_t at = 0;

	if (words == NULL) {
		(void)snprintf(ret_text, room, "%" PRId64 " to %" PRId64, tunable->min,
			       tunable->max);
		return;
	}
	for (size_t i = 0; words[i] != NULL && at < room; i++) {
		const char *before = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";

		at += (size_t)snprintf(ret_text + at, room - at, "%s%s", before, words[i]);
	}
}

/* ---- one by its name ---- */

static __attribute__((format(printf, 3, 4))) int refuse(char *ret_why, int error,
							const char *format, ...)
{
	va_list arguments;

	if (ret_why != NULL) {
		va_start(arguments, format);
		(void)vsnprintf(ret_why, GYRE_OPTION_WHY_BYTES, format, arguments);
		va_end(arguments);
	}
	return error;
}

/* 0 is the default of each, and so is always taken. */
static int parse(const struct gy_tunable *tunable, const char *text, int64_t *ret_value)
{
	char *end;
	long long value = gy_tunable_word(tunable, text);

	if (value == 0) {
		errno = 0;
		value = strtoll(text, &end, 10);
		if (errno != 0 || end == text || *end != '\0' ||
		    (value != 0 && (value < tunable->min || value > tunable->max))) {
			return -EINVAL;
		}
	}
	*ret_value = value;
	return 0;
}

int gyre_system_option_set_sized(struct gyre_system_options *options, uint32_t bytes,
				 const char *assignment, char *ret_why)
{
	const char *equals = strchr(assignment, '=');
	const struct gy_tunable *tunable;
	char takes[GYRE_OPTION_WHY_BYTES / 2];
	int64_t value = 0;

	if (equals == NULL || equals == assignment) {
		return refuse(ret_why, -EINVAL, "it is OPTION=VALUE");
	}
	tunable = gy_tunable_find(assignment, (size_t)(equals - assignment));
	if (tunable == NULL || tunable->offset + tunable->bytes > bytes) {
		return refuse(ret_why, -ENOENT,
			      "there is no such option; the README has a table of them");
	}
	if (parse(tunable, equals + 1, &value) < 0) {
		gy_tunable_describe(tunable, takes, sizeof(takes));
		return refuse(ret_why, -EINVAL, "%s takes %s", tunable->name, takes);
	}
	gy_tunable_write(options, tunable, value);
	return 0;
}
