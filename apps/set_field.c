/*
 * The table of tunables is that of lib/system/options.c without defaults: scripts/check_options.py
 * compares both. 0 is the default of each, and so is always taken.
 */
#include "set_field.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct field {
	const char *name;
	size_t offset;
	size_t bytes;
	int64_t min;
	int64_t max;
};

#define FIELD(field, min, max)                                                             \
	{                                                                                  \
#field, offsetof(struct gyre_system_options, field),                       \
			sizeof(((struct gyre_system_options *)NULL)->field), (min), (max), \
	}

static const struct field fields[] = {
	FIELD(ask_timeout_ns, 1000, 3600000000000),
	FIELD(buffer_bytes, 512, 65536),
	FIELD(buffer_count, 16, 32768),
	FIELD(channel_bytes_max, 0, 1125899906842624),
	FIELD(datagram_buffer_bytes, 512, 65536),
	FIELD(datagram_buffer_count, 16, 32768),
	FIELD(drain_timeout_ns, 1000000, 3600000000000),
	FIELD(engine, 1, 3),
	FIELD(high_events, 1, 65535),
	FIELD(high_replies, 1, 65535),
	FIELD(io_ratio, 1, 100),
	FIELD(linger_ns, 1000000, 3600000000000),
	FIELD(log_buffer_bytes, -1, 1073741824),
	FIELD(log_lines_max, 1, 65535),
	FIELD(loops, 0, 1024),
	FIELD(loops_max, 0, 1024),
	FIELD(memory_limit_bytes, -1, 1125899906842624),
	FIELD(min_budget_ns, 1000, 1000000000),
	FIELD(offload_queue_max, 1, 1000000),
	FIELD(offload_threads, 1, 256),
	FIELD(receive_buffers, 1, 2),
	FIELD(ring_entries, 64, 32768),
	FIELD(run_budget, 1, 1000000),
	FIELD(spin_ns, -2, 1000000000),
	FIELD(stall_ns, -1, 60000000000),
	FIELD(starvation_limit, 1, 1000000),
	FIELD(steal_aggression, 1, 1000000),
	FIELD(steal_floor, 1, 1000000),
	FIELD(timer_tick_ns, 100000, 1000000000),
	FIELD(write_high_bytes, 1024, 1073741824),
	FIELD(write_low_bytes, 1, 1073741824),
	FIELD(write_max_bytes, 1024, 1073741824),
	FIELD(zero_copy_bytes, -1, 1073741824),
};

/* The words that some fields take, and what they mean there. */
static const struct {
	size_t offset;
	const char *word;
	int64_t value;
} words[] = {
	{ offsetof(struct gyre_system_options, engine), "auto", GYRE_ENGINE_AUTO },
	{ offsetof(struct gyre_system_options, engine), "io_uring", GYRE_ENGINE_IO_URING },
	{ offsetof(struct gyre_system_options, engine), "epoll", GYRE_ENGINE_EPOLL },
	{ offsetof(struct gyre_system_options, receive_buffers), "shared",
	  GYRE_RECEIVE_BUFFERS_SHARED },
	{ offsetof(struct gyre_system_options, receive_buffers), "whole",
	  GYRE_RECEIVE_BUFFERS_WHOLE },
};

static const char *word_of(const struct field *field, size_t i)
{
	return words[i].offset == field->offset ? words[i].word : NULL;
}

static int parse(const struct field *field, const char *text, int64_t *ret_value)
{
	char *end;
	long long value;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (word_of(field, i) != NULL && strcmp(words[i].word, text) == 0) {
			*ret_value = words[i].value;
			return 0;
		}
	}
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' ||
	    (value != 0 && (value < field->min || value > field->max))) {
		return -1;
	}
	*ret_value = value;
	return 0;
}

static void write_field(struct gyre_system_options *options, const struct field *field,
			int64_t value)
{
	char *place = (char *)options + field->offset;

	if (field->bytes == sizeof(uint32_t)) {
		uint32_t narrow = (uint32_t)value;

		memcpy(place, &narrow, sizeof(narrow));
	} else {
		memcpy(place, &value, sizeof(value));
	}
}

/* As "engine takes auto, io_uring, epoll" or "run_budget takes 1 to 1000000". */
static void say_what_it_takes(const struct field *field, char *ret_why)
{
	int at = snprintf(ret_why, APP_WHY_BYTES, "%s takes", field->name);
	const char *before = " ";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (word_of(field, i) != NULL) {
			at += snprintf(ret_why + at, (size_t)(APP_WHY_BYTES - at), "%s%s", before,
				       words[i].word);
			before = ", ";
		}
	}
	if (*before == ' ') {
		(void)snprintf(ret_why + at, (size_t)(APP_WHY_BYTES - at),
			       " %" PRId64 " to %" PRId64, field->min, field->max);
	}
}

static const struct field *find_field(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strlen(fields[i].name) == length &&
		    strncmp(fields[i].name, name, length) == 0) {
			return &fields[i];
		}
	}
	return NULL;
}

int app_set_field(struct gyre_system_options *options, const char *assignment,
		  char ret_why[APP_WHY_BYTES])
{
	const char *equals = strchr(assignment, '=');
	const struct field *field;
	int64_t value;

	if (equals == NULL || equals == assignment) {
		(void)snprintf(ret_why, APP_WHY_BYTES, "it is OPTION=VALUE");
		return -1;
	}
	field = find_field(assignment, (size_t)(equals - assignment));
	if (field == NULL) {
		(void)snprintf(ret_why, APP_WHY_BYTES,
			       "there is no such option; the README has a table of them");
		return -1;
	}
	if (parse(field, equals + 1, &value) < 0) {
		say_what_it_takes(field, ret_why);
		return -1;
	}
	write_field(options, field, value);
	return 0;
}
