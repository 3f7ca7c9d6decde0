/*
 * The clocks and their seam, times that may not overflow, random numbers, and the environment.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"

static uint64_t read_virtual(void *arg)
{
	return ++*(uint64_t *)arg;
}

Test(clock, of_the_machine_never_goes_back)
{
	const struct gy_clock clock = { 0 };
	uint64_t before_ns = gy_clock_ns(&clock);

	cr_assert_gt(before_ns, 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t now_ns = gy_clock_ns(&clock);

		cr_assert_geq(now_ns, before_ns);
		before_ns = now_ns;
	}
}

Test(clock, can_be_replaced_by_virtual_time)
{
	uint64_t now_ns = 41;
	const struct gy_clock clock = { .read_ns = read_virtual, .arg = &now_ns };

	cr_assert_eq(gy_clock_ns(&clock), 42);
}

Test(clock, tells_a_date_of_this_century)
{
	cr_assert_gt(gy_clock_date_ns() / UINT64_C(1000000000), UINT64_C(1000000000));
}

Test(clock, sleeps_for_as_long_as_is_said)
{
	uint64_t before_ns = gy_clock_machine_ns();

	gy_clock_sleep(2000000);
	cr_assert_geq(gy_clock_machine_ns() - before_ns, 2000000);
}

Test(clock, times_are_added_up_to_for_ever_and_not_beyond)
{
	cr_assert_eq(gy_time_add(1, 2), 3);
	cr_assert_eq(gy_time_add(UINT64_MAX, 0), UINT64_MAX);
	cr_assert_eq(gy_time_add(UINT64_MAX, 1), UINT64_MAX);
	cr_assert_eq(gy_time_add(UINT64_MAX - 1, 1), UINT64_MAX);
	cr_assert_eq(gy_time_add(UINT64_MAX - 2, 1), UINT64_MAX - 1);
	cr_assert_eq(gy_time_add(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

/* The first numbers of splitmix64 from seed 1234567, as its authors give them. */
Test(random, follows_its_seed)
{
	const uint64_t expected[] = { UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
				      UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
				      UINT64_C(16408922859458223821) };
	uint64_t state = 1234567;

	for (int i = 0; i < 5; i++) {
		cr_assert_eq(gy_random_next(&state), expected[i]);
	}
}

Test(random, uses_all_bits)
{
	uint64_t state = 0;
	uint64_t ones = 0;
	uint64_t zeros = 0;

	for (int i = 0; i < 64; i++) {
		uint64_t number = gy_random_next(&state);

		ones |= number;
		zeros |= ~number;
	}
	cr_assert_eq(ones, UINT64_MAX);
	cr_assert_eq(zeros, UINT64_MAX);
}

/* More than the kernel gives whole. */
Test(random, of_the_kernel_fills_all)
{
	unsigned char bytes[1000] = { 0 };
	unsigned char others[sizeof(bytes)] = { 0 };
	uint32_t zeros = 0;

	cr_assert_eq(gy_random_fill(bytes, sizeof(bytes)), 0);
	cr_assert_eq(gy_random_fill(others, sizeof(others)), 0);
	cr_assert_neq(memcmp(bytes, others, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		zeros += bytes[i] == 0;
	}
	cr_assert_lt(zeros, 100);
}

Test(random, seeds_differ)
{
	uint64_t seeds[2] = { 0 };

	gy_random_seed(&seeds[0], sizeof(seeds[0]));
	gy_random_seed(&seeds[1], sizeof(seeds[1]));
	cr_assert_neq(seeds[0], seeds[1]);
}

Test(environment, has_the_values_of_the_process)
{
	cr_assert_eq(setenv("GYRE_TEST_VALUE", "here", 1), 0);
	cr_assert_str_eq(gy_environment_value("GYRE_TEST_VALUE"), "here");
	cr_assert_eq(unsetenv("GYRE_TEST_VALUE"), 0);
	cr_assert_null(gy_environment_value("GYRE_TEST_VALUE"));
	cr_assert_gt(gy_environment_process(), 0);
	cr_assert_gt(gy_environment_descriptors_max(), 0);
	cr_assert_eq(gy_environment_page_bytes() % 4096, 0);
}
