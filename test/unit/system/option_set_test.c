/*
 * Options by their names, as programs read them from a command line.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

#include "system/tunables.h"

static struct gyre_system_options options;
static char why[GYRE_OPTION_WHY_BYTES];

static void setup(void)
{
	memset(&options, 0, sizeof(options));
	memset(why, 0, sizeof(why));
}

static int set(const char *assignment)
{
	return gyre_system_option_set(&options, assignment, why);
}

TestSuite(option_set, .init = setup);

Test(option_set, takes_a_number_for_a_field_of_32_bits_and_leaves_its_neighbours_alone)
{
	options.starvation_limit = 7;
	cr_assert_eq(set("run_budget=64"), 0);
	cr_expect_eq(options.run_budget, 64);
	cr_expect_eq(options.starvation_limit, 7);
	cr_expect_str_empty(why);
}

Test(option_set, takes_a_negative_number_for_a_field_of_64_bits)
{
	cr_assert_eq(set("spin_ns=-2"), 0);
	cr_expect_eq(options.spin_ns, GYRE_SPIN_NEVER);
}

Test(option_set, takes_the_last_value_and_0_for_the_default)
{
	cr_assert_eq(set("run_budget=64"), 0);
	cr_assert_eq(set("run_budget=65"), 0);
	cr_expect_eq(options.run_budget, 65);
	cr_assert_eq(set("run_budget=0"), 0);
	cr_expect_eq(options.run_budget, 0);
}

Test(option_set, takes_words_where_a_field_has_them)
{
	cr_assert_eq(set("engine=epoll"), 0);
	cr_expect_eq(options.engine, GYRE_ENGINE_EPOLL);
	cr_assert_eq(set("engine=io_uring"), 0);
	cr_expect_eq(options.engine, GYRE_ENGINE_IO_URING);
	cr_assert_eq(set("engine=auto"), 0);
	cr_expect_eq(options.engine, GYRE_ENGINE_AUTO);
	cr_assert_eq(set("receive_buffers=shared"), 0);
	cr_expect_eq(options.receive_buffers, GYRE_RECEIVE_BUFFERS_SHARED);
	cr_assert_eq(set("receive_buffers=whole"), 0);
	cr_expect_eq(options.receive_buffers, GYRE_RECEIVE_BUFFERS_WHOLE);
}

Test(option_set, takes_both_bounds_of_every_option_and_no_more)
{
	for (size_t i = 0; i < gy_tunables_count; i++) {
		const struct gy_tunable *tunable = &gy_tunables[i];
		const int64_t values[] = { tunable->min, tunable->max, tunable->max + 1 };
		char text[80];

		for (size_t j = 0; j < 3; j++) {
			(void)snprintf(text, sizeof(text), "%s=%lld", tunable->name,
				       (long long)values[j]);
			cr_expect_eq(set(text), j < 2 ? 0 : -EINVAL, "%s", text);
			cr_expect_eq(gy_tunable_read(&options, tunable), values[j < 2 ? j : 1],
				     "%s", text);
		}
	}
}

#define EXPECT_REFUSED(TEXT, ERROR, WHY)                \
	do {                                            \
		setup();                                \
		options.run_budget = 5;                 \
		cr_expect_eq(set(TEXT), (ERROR), TEXT); \
		cr_expect_str_eq(why, (WHY), TEXT);     \
		cr_expect_eq(options.run_budget, 5);    \
	} while (0)

Test(option_set, says_what_would_be_taken_and_changes_nothing)
{
	EXPECT_REFUSED("run_budget=1000001", -EINVAL, "run_budget takes 1 to 1000000");
	EXPECT_REFUSED("run_budget=-1", -EINVAL, "run_budget takes 1 to 1000000");
	EXPECT_REFUSED("run_budget=4294967301", -EINVAL, "run_budget takes 1 to 1000000");
	EXPECT_REFUSED("run_budget=99999999999999999999", -EINVAL, "run_budget takes 1 to 1000000");
	EXPECT_REFUSED("run_budget=", -EINVAL, "run_budget takes 1 to 1000000");
	EXPECT_REFUSED("run_budget=7x", -EINVAL, "run_budget takes 1 to 1000000");
	EXPECT_REFUSED("engine=kqueue", -EINVAL, "engine takes auto, io_uring or epoll");
	EXPECT_REFUSED("receive_buffers=half", -EINVAL, "receive_buffers takes shared or whole");
	EXPECT_REFUSED("run=7", -ENOENT, "there is no such option; the README has a table of them");
	EXPECT_REFUSED("log=7", -ENOENT, "there is no such option; the README has a table of them");
	EXPECT_REFUSED("run_budget", -EINVAL, "it is OPTION=VALUE");
	EXPECT_REFUSED("=7", -EINVAL, "it is OPTION=VALUE");
	EXPECT_REFUSED("", -EINVAL, "it is OPTION=VALUE");
}

Test(option_set, needs_no_room_for_a_reason)
{
	cr_expect_eq(gyre_system_option_set(&options, "run_budget=-1", NULL), -EINVAL);
	cr_expect_eq(gyre_system_option_set(&options, "run_budget=1", NULL), 0);
}

Test(option_set, knows_no_field_that_the_program_was_built_without)
{
	uint32_t bytes = offsetof(struct gyre_system_options, engine);

	cr_expect_eq(gyre_system_option_set_sized(&options, bytes, "engine=epoll", why), -ENOENT);
	cr_expect_eq(options.engine, GYRE_ENGINE_DEFAULT);
	cr_expect_eq(gyre_system_option_set_sized(&options, bytes, "run_budget=3", why), 0);
}

Test(option_set, gives_what_a_system_takes)
{
	struct gyre_system_options resolved;
	struct gyre_system *system = NULL;

	cr_assert_eq(set("run_budget=17"), 0);
	cr_assert_eq(set("loops=1"), 0);
	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_resolved_options(system, &resolved), 0);
	cr_expect_eq(resolved.run_budget, 17);
	gyre_system_destroy(system);
}
