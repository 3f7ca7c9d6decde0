/*
 * The table of tunables is that of lib/system/options.c without bounds: scripts/check_options.py
 * compares both.
 */
#include "set_field.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct field {
	const char *name;
	size_t offset;
	size_t bytes;
};

#define FIELD(field)                                                        \
	{                                                                   \
#field, offsetof(struct gyre_system_options, field),        \
			sizeof(((struct gyre_system_options *)NULL)->field) \
	}

static const struct field fields[] = {
	FIELD(ask_timeout_ns),
	FIELD(buffer_bytes),
	FIELD(buffer_count),
	FIELD(channel_bytes_max),
	FIELD(datagram_buffer_bytes),
	FIELD(datagram_buffer_count),
	FIELD(drain_timeout_ns),
	FIELD(engine),
	FIELD(high_events),
	FIELD(high_replies),
	FIELD(io_ratio),
	FIELD(linger_ns),
	FIELD(log_buffer_bytes),
	FIELD(log_lines_max),
	FIELD(loops),
	FIELD(loops_max),
	FIELD(memory_limit_bytes),
	FIELD(min_budget_ns),
	FIELD(offload_queue_max),
	FIELD(offload_threads),
	FIELD(receive_buffers),
	FIELD(ring_entries),
	FIELD(run_budget),
	FIELD(spin_ns),
	FIELD(stall_ns),
	FIELD(starvation_limit),
	FIELD(steal_aggression),
	FIELD(steal_floor),
	FIELD(timer_tick_ns),
	FIELD(write_high_bytes),
	FIELD(write_low_bytes),
	FIELD(write_max_bytes),
	FIELD(zero_copy_bytes),
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

static int parse(const struct field *field, const char *text, int64_t *ret_value)
{
	char *end;
	long long value;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].offset == field->offset && strcmp(words[i].word, text) == 0) {
			*ret_value = words[i].value;
			return 0;
		}
	}
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0') {
		return -1;
	}
	*ret_value = value;
	return 0;
}

static int write_field(struct gyre_system_options *options, const struct field *field,
		       int64_t value)
{
	char *place = (char *)options + field->offset;

	if (field->bytes == sizeof(uint32_t)) {
		uint32_t narrow = (uint32_t)value;

		if (value < 0 || value > UINT32_MAX) {
			return -1;
		}
		memcpy(place, &narrow, sizeof(narrow));
	} else {
		memcpy(place, &value, sizeof(value));
	}
	return 0;
}

int app_set_field(struct gyre_system_options *options, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	size_t length = equals == NULL ? 0 : (size_t)(equals - assignment);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && length > 0; i++) {
		int64_t value;

		if (strlen(fields[i].name) == length &&
		    strncmp(fields[i].name, assignment, length) == 0) {
			return parse(&fields[i], equals + 1, &value) < 0
				       ? -1
				       : write_field(options, &fields[i], value);
		}
	}
	return -1;
}
