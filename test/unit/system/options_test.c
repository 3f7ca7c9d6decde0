/*
 * Options: each has a default and bounds, and what is out of them is refused by name.
 */
#include <criterion/criterion.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "system/options.h"
#include "system/system.h"

static uint32_t lines;
static char last_line[512];

static void hook(const struct gyre_log_line *line, void *arg)
{
	cr_assert_eq(line->level, GYRE_LOG_ERROR);
	cr_assert_eq(arg, &lines);
	lines++;
	(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
}

struct option {
	const char *name;
	size_t offset;
	size_t bytes;
	int64_t min;
	int64_t max;
};

#define OPTION(field, min, max)                                                           \
	{                                                                                 \
#field, offsetof(struct gyre_system_options, field),                      \
			sizeof(((struct gyre_system_options *)NULL)->field), (min), (max) \
	}

/* As the public header says. */
static const struct option bounded[] = {
	OPTION(linger_ns, 1000000, 3600000000000),
	OPTION(log_buffer_bytes, -1, 1073741824),
	OPTION(log_lines_max, 1, 65535),
	OPTION(loops, 1, 1024),
	OPTION(loops_max, 0, 1024),
	OPTION(memory_limit_bytes, -1, INT64_C(1) << 50),
	OPTION(ring_entries, 64, 32768),
	OPTION(buffer_count, 16, 32768),
	OPTION(buffer_bytes, 512, 65536),
	OPTION(channel_bytes_max, 0, INT64_C(1) << 50),
	OPTION(datagram_buffer_bytes, 512, 65536),
	OPTION(datagram_buffer_count, 16, 32768),
	OPTION(io_ratio, 1, 100),
	OPTION(min_budget_ns, 1000, 1000000000),
	OPTION(min_wait_ns, -1, 1000000),
	OPTION(run_budget, 1, 1000000),
	OPTION(starvation_limit, 1, 1000000),
	OPTION(steal_floor, 1, 1000000),
	OPTION(steal_aggression, 1, 1000000),
	OPTION(timer_tick_ns, 100000, 1000000000),
	OPTION(high_replies, 1, 65535),
	OPTION(drain_timeout_ns, 1000000, 3600000000000),
	OPTION(high_events, 1, 65535),
	OPTION(ask_timeout_ns, 1000, 3600000000000),
	OPTION(spin_ns, -2, 1000000000),
	OPTION(stall_ns, -1, 60000000000),
	OPTION(write_low_bytes, 1, 1 << 30),
	OPTION(receive_buffers, 1, 2),
	OPTION(write_high_bytes, 1024, 1 << 30),
	OPTION(write_max_bytes, 1024, 1 << 30),
};

static struct gyre_system_options with(const struct option *option, int64_t value)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines };

	if (option->bytes == sizeof(uint32_t)) {
		uint32_t narrow = (uint32_t)value;

		memcpy((char *)&options + option->offset, &narrow, sizeof(narrow));
	} else {
		memcpy((char *)&options + option->offset, &value, sizeof(value));
	}
	return options;
}

static void assert_refused(const struct option *option, int64_t value)
{
	const struct gyre_system_options options = with(option, value);
	struct gyre_system_options resolved = { .loops = 77 };
	struct gyre_system *system = NULL;
	char number[32];

	lines = 0;
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL, "%s = %ld", option->name,
		     value);
	cr_assert_eq(resolved.loops, 77, "nothing is set when something is refused");
	cr_assert_eq(lines, 1);
	cr_assert_eq(strncmp(last_line, option->name, strlen(option->name)), 0, "%s", last_line);
	(void)snprintf(number, sizeof(number), "%ld", option->max);
	cr_assert_not_null(strstr(last_line, number), "%s", last_line);
	cr_assert_eq(gyre_system_create(&options, &system), -EINVAL);
	cr_assert_null(system);
}

Test(options, out_of_their_bounds_are_refused_each_by_its_name_with_its_bounds)
{
	for (size_t i = 0; i < gy_countof(bounded); i++) {
		const struct option *option = &bounded[i];

		assert_refused(option, option->max + 1);
		if (option->min < 0 || option->min > 1) {
			assert_refused(option, option->min - 1);
		}
		if (option->bytes == sizeof(uint32_t)) {
			assert_refused(option, UINT32_MAX);
		} else {
			assert_refused(option, INT64_MAX);
			assert_refused(option, INT64_MIN);
		}
	}
}

static bool is_mark(const struct option *option)
{
	return strncmp(option->name, "write_", 6) == 0;
}

Test(options, at_their_bounds_are_accepted)
{
	struct gyre_system_options resolved;

	for (size_t i = 0; i < gy_countof(bounded); i++) {
		const struct option *option = &bounded[i];
		struct gyre_system_options options = with(option, option->min);

		if (is_mark(option)) {
			continue; /* they are bounds of each other */
		}
		cr_assert_eq(gy_options_resolve(&options, &resolved), 0, "%s", last_line);
		options = with(option, option->max);
		cr_assert_eq(gy_options_resolve(&options, &resolved), 0, "%s", last_line);
	}
	cr_assert_eq(lines, 0);
}

Test(options, that_are_not_given_have_defaults_within_their_bounds)
{
	struct gyre_system_options resolved;

	cr_assert_eq(gy_options_resolve(NULL, &resolved), 0);
	for (size_t i = 0; i < gy_countof(bounded); i++) {
		const struct option *option = &bounded[i];
		const char *field = (const char *)&resolved + option->offset;
		int64_t value = 0;
		uint32_t narrow;

		if (option->bytes == sizeof(uint32_t)) {
			memcpy(&narrow, field, sizeof(narrow));
			value = narrow;
		} else {
			memcpy(&value, field, sizeof(value));
		}
		/* Loops stay 0 until the CPUs are counted, and the limit 0 is the machine's. */
		cr_assert(value >= option->min || strcmp(option->name, "loops") == 0);
		cr_assert_leq(value, option->max);
	}
	cr_assert_eq(resolved.log_level, GYRE_LOG_WARNING);
	cr_assert_eq(resolved.drain_timeout_ns, GYRE_SECONDS(5));
	cr_assert_eq(resolved.linger_ns, GYRE_SECONDS(2));
}

Test(options, of_the_log_name_any_level_and_no_other)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines };
	struct gyre_system_options resolved;

	for (int level = GYRE_LOG_DEBUG; level <= GYRE_LOG_ERROR; level++) {
		options.log_level = (enum gyre_log_level)level;
		cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
		cr_assert_eq(resolved.log_level, options.log_level);
	}
	lines = 0;
	options.log_level = (enum gyre_log_level)(GYRE_LOG_ERROR + 1);
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_eq(lines, 1);
	cr_assert_not_null(strstr(last_line, "log_level"), "%s", last_line);
}

Test(options, of_the_log_have_a_buffer_of_some_size_or_none)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines };
	struct gyre_system_options resolved;

	cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
	cr_expect_geq(resolved.log_buffer_bytes, 4096);
	options.log_buffer_bytes = 4096;
	cr_expect_eq(gy_options_resolve(&options, &resolved), 0);
	options.log_buffer_bytes = GYRE_LOG_UNBUFFERED;
	cr_expect_eq(gy_options_resolve(&options, &resolved), 0);
	cr_expect_eq(resolved.log_buffer_bytes, GYRE_LOG_UNBUFFERED);
	lines = 0;
	options.log_buffer_bytes = 4095;
	cr_expect_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_expect_eq(lines, 1);
	cr_expect_not_null(strstr(last_line, "log_buffer_bytes is 4095"), "%s", last_line);
	options.log_buffer_bytes = -2;
	cr_expect_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_expect_not_null(strstr(last_line, "log_buffer_bytes is -2"), "%s", last_line);
}

Test(options, that_must_be_powers_of_two_are_refused_otherwise)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines, .ring_entries = 65 };
	struct gyre_system_options resolved;

	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_not_null(strstr(last_line, "ring_entries"));
	cr_assert_not_null(strstr(last_line, "power of two"));
	options =
		(struct gyre_system_options){ .log = hook, .log_arg = &lines, .buffer_count = 48 };
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_not_null(strstr(last_line, "buffer_count"));
	options = (struct gyre_system_options){ .log = hook,
						.log_arg = &lines,
						.datagram_buffer_count = 48 };
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_not_null(strstr(last_line, "datagram_buffer_count"));
}

Test(options, a_stall_is_at_least_a_millisecond_unless_it_is_never)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines };
	struct gyre_system_options resolved;

	options.stall_ns = GYRE_MILLISECONDS(1) - 1;
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_not_null(strstr(last_line, "stall_ns is 999999"), "%s", last_line);
	options.stall_ns = GYRE_MILLISECONDS(1);
	cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
	cr_assert_eq(resolved.stall_ns, GYRE_MILLISECONDS(1));
	options.stall_ns = GYRE_STALL_NEVER;
	cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
	cr_assert_eq(resolved.stall_ns, GYRE_STALL_NEVER);
}

Test(options, a_least_wait_is_a_microsecond_or_more_unless_it_is_never)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines };
	struct gyre_system_options resolved;

	options.min_wait_ns = 999;
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_not_null(strstr(last_line, "min_wait_ns is 999"), "%s", last_line);
	options.min_wait_ns = 1000;
	cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
	cr_assert_eq(resolved.min_wait_ns, 1000);
	options.min_wait_ns = GYRE_MIN_WAIT_NEVER;
	cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
	cr_assert_eq(resolved.min_wait_ns, GYRE_MIN_WAIT_NEVER);
}

Test(options, of_water_marks_must_rise)
{
	struct gyre_system_options options = { .log = hook, .log_arg = &lines };
	struct gyre_system_options resolved;

	options.write_low_bytes = 4097;
	options.write_high_bytes = 4096;
	options.write_max_bytes = 8192;
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	options.write_low_bytes = 4096;
	options.write_max_bytes = 4095;
	cr_assert_eq(gy_options_resolve(&options, &resolved), -EINVAL);
	cr_assert_not_null(strstr(last_line, "write_max_bytes"));
	options.write_max_bytes = 4096;
	cr_assert_eq(gy_options_resolve(&options, &resolved), 0);
}
