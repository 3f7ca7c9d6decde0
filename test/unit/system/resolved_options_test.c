/*
 * Options read back from a system: what 0 stood for, what was given, and texts that are the
 * system's own.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "gyre_config.h"
#include "system/machine/cpus.h"
#include "system/system.h"

static void hook(const struct gyre_log_line *line, void *arg)
{
	cr_assert_lt(line->level, GYRE_LOG_ERROR);
	++*(uint32_t *)arg;
}

static struct gyre_system *create(const struct gyre_system_options *options)
{
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(options, &system), 0);
	return system;
}

static struct gyre_system_options resolve(const struct gyre_system_options *options)
{
	struct gyre_system *system = create(options);
	struct gyre_system_options resolved;

	memset(&resolved, 0xa5, sizeof(resolved));
	cr_assert_eq(gyre_system_resolved_options(system, &resolved), 0);
	resolved.cpus = NULL;
	resolved.handover = NULL;
	gyre_system_destroy(system);
	return resolved;
}

#define EXPECT_PRESET(FIELD) cr_expect_eq((int64_t)resolved.FIELD, (int64_t)GY_DEFAULT_##FIELD)

Test(resolved_options, say_what_each_zero_stood_for)
{
	const struct gyre_system_options resolved = resolve(NULL);

	EXPECT_PRESET(ask_timeout_ns);
	EXPECT_PRESET(buffer_bytes);
	EXPECT_PRESET(buffer_count);
	EXPECT_PRESET(channel_bytes_max);
	EXPECT_PRESET(datagram_buffer_bytes);
	EXPECT_PRESET(datagram_buffer_count);
	EXPECT_PRESET(drain_timeout_ns);
	EXPECT_PRESET(high_events);
	EXPECT_PRESET(high_replies);
	EXPECT_PRESET(io_ratio);
	EXPECT_PRESET(linger_ns);
	EXPECT_PRESET(min_budget_ns);
	EXPECT_PRESET(min_wait_ns);
	EXPECT_PRESET(offload_queue_max);
	EXPECT_PRESET(offload_threads);
	EXPECT_PRESET(receive_buffers);
	EXPECT_PRESET(ring_entries);
	EXPECT_PRESET(run_budget);
	EXPECT_PRESET(spin_ns);
	EXPECT_PRESET(stall_ns);
	EXPECT_PRESET(starvation_limit);
	EXPECT_PRESET(steal_aggression);
	EXPECT_PRESET(steal_floor);
	EXPECT_PRESET(timer_tick_ns);
	EXPECT_PRESET(write_high_bytes);
	EXPECT_PRESET(write_low_bytes);
	EXPECT_PRESET(write_max_bytes);
	EXPECT_PRESET(zero_copy_bytes);
	cr_expect_eq(resolved.log_level, GYRE_LOG_WARNING);
	cr_expect_null(resolved.node);
	cr_expect_null(resolved.log);
	cr_expect_null(resolved.started);
}

Test(resolved_options, count_the_cpus_that_zero_loops_stood_for_and_list_them)
{
	struct gyre_system *system = create(NULL);
	struct gyre_system_options resolved;
	int cpus[GYRE_CPUS_MAX];
	int named[GYRE_CPUS_MAX];
	int count = gy_cpus_find(NULL, NULL, cpus, GYRE_CPUS_MAX);

	cr_assert_gt(count, 0);
	cr_assert_eq(gyre_system_resolved_options(system, &resolved), 0);
	cr_expect_eq(resolved.loops, gyre_system_loops(system));
	cr_expect_geq(resolved.loops_max, resolved.loops);
	cr_expect_eq(gy_cpus_find(resolved.cpus, NULL, named, GYRE_CPUS_MAX), count, "%s",
		     resolved.cpus);
	cr_expect_arr_eq(named, cpus, (size_t)count * sizeof(int));
	gyre_system_destroy(system);
}

Test(resolved_options, are_those_that_were_given)
{
	uint32_t lines = 0;
	const struct gyre_system_options given = { .loops = 2,
						   .loops_max = 3,
						   .ring_entries = 128,
						   .stall_ns = GYRE_STALL_NEVER,
						   .memory_limit_bytes = GYRE_MEMORY_LIMIT_NEVER,
						   .zero_copy_bytes = 4096,
						   .channel_bytes_max = 1 << 20,
						   .notify_supervisor = true,
						   .log = hook,
						   .log_arg = &lines,
						   .log_level = GYRE_LOG_INFO,
						   .user = &lines };
	const struct gyre_system_options resolved = resolve(&given);

	cr_expect_eq(resolved.loops, 2);
	cr_expect_eq(resolved.loops_max, 3);
	cr_expect_eq(resolved.ring_entries, 128);
	cr_expect_eq(resolved.stall_ns, GYRE_STALL_NEVER);
	cr_expect_eq(resolved.memory_limit_bytes, GYRE_MEMORY_LIMIT_NEVER);
	cr_expect_eq(resolved.zero_copy_bytes, 4096);
	cr_expect_eq(resolved.channel_bytes_max, 1 << 20);
	cr_expect(resolved.notify_supervisor);
	cr_expect_eq(resolved.log, hook);
	cr_expect_eq(resolved.log_arg, &lines);
	cr_expect_eq(resolved.log_level, GYRE_LOG_INFO);
	cr_expect_eq(resolved.user, &lines);
}

Test(resolved_options, have_the_limit_of_memory_that_was_given_or_found)
{
	const struct gyre_system_options given = { .loops = 1,
						   .memory_limit_bytes = INT64_C(1) << 49 };

	cr_expect_eq(resolve(&given).memory_limit_bytes, INT64_C(1) << 49);
	/* That of a cgroup, or the memory of the machine: more than a page in any case. */
	cr_expect_gt(resolve(NULL).memory_limit_bytes, 4096);
}

Test(resolved_options, have_texts_that_outlive_those_of_the_program)
{
	struct gyre_system_options options = { .loops = 1 };
	struct gyre_system_options resolved;
	struct gyre_system *system;
	char handover[64];
	char expected[64];
	char cpu[16];
	int first;

	cr_assert_geq(gy_cpus_find(NULL, NULL, &first, 1), 1);
	(void)snprintf(cpu, sizeof(cpu), "%d", first);
	(void)snprintf(handover, sizeof(handover), "unix:@gyre-resolved-%d", (int)getpid());
	memcpy(expected, handover, sizeof(expected));
	options.cpus = strdup(cpu);
	options.handover = handover;
	system = create(&options);
	free((char *)(uintptr_t)options.cpus);
	memset(handover, 'x', sizeof(handover));
	memset(&options, 'x', sizeof(options));
	cr_assert_eq(gyre_system_resolved_options(system, &resolved), 0);
	cr_expect_str_eq(resolved.cpus, cpu);
	cr_expect_str_eq(resolved.handover, expected);
	gyre_system_destroy(system);
}

Test(resolved_options, make_another_system_of_the_same_kind)
{
	const struct gyre_system_options given = { .loops = 1, .io_ratio = 77 };
	struct gyre_system *system = create(&given);
	struct gyre_system_options first;
	struct gyre_system_options second;
	struct gyre_system *twin;

	cr_assert_eq(gyre_system_resolved_options(system, &first), 0);
	twin = create(&first);
	cr_assert_eq(gyre_system_resolved_options(twin, &second), 0);
	cr_expect_str_eq(second.cpus, first.cpus);
	cr_expect_eq(second.io_ratio, 77);
	cr_expect_eq(second.loops_max, first.loops_max);
	cr_expect_eq(second.memory_limit_bytes, first.memory_limit_bytes);
	gyre_system_destroy(twin);
	gyre_system_destroy(system);
}

Test(resolved_options, need_a_system_and_a_place_to_stand)
{
	const struct gyre_system_options given = { .loops = 1 };
	struct gyre_system_options resolved = { .loops = 77 };
	struct gyre_system *system = create(&given);

	cr_expect_eq(gyre_system_resolved_options(NULL, &resolved), -EINVAL);
	cr_expect_eq(resolved.loops, 77);
	cr_expect_eq(gyre_system_resolved_options(system, NULL), -EINVAL);
	gyre_system_destroy(system);
}

Test(resolved_options, stay_within_the_structure_of_an_older_program)
{
	enum { KNOWN = offsetof(struct gyre_system_options, ring_entries) };
	const struct gyre_system_options given = { .loops = 1, .ring_entries = 256 };
	struct gyre_system_options older = { .ring_entries = 77 };
	struct {
		struct gyre_system_options known;
		uint64_t later;
	} newer = { .later = 77 };
	struct gyre_system *system = create(&given);

	cr_assert_eq(gyre_system_resolved_options_sized(system, &older, KNOWN), 0);
	cr_expect_eq(older.loops, 1);
	cr_expect_eq(older.ring_entries, 77);
	cr_assert_eq(gyre_system_resolved_options_sized(system, &newer.known, sizeof(newer)), 0);
	cr_expect_eq(newer.known.ring_entries, 256);
	cr_expect_eq(newer.later, 0);
	gyre_system_destroy(system);
}
