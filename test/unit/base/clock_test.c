/*
 * The clock and its seam, times that may not overflow, and random numbers.
 */
#include <criterion/criterion.h>

#include "base/clock.h"
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
