/*
 * Notices that threads without a loop have sent later, to the millisecond: when they come, in
 * periods, replaced, and called off. test/unit/system/outside/foreign_timers_test.c has what such
 * threads do to each other, and how a system ends.
 */
#include <time.h>

#include "testkit_rig.h"

/* As late as a timer may be: a tick, and some time to be handled. */
#define TICK_NS GYRE_MICROSECONDS(1100)

static int send_after(struct gyre_test *test, uint64_t key, const struct gyre_probe *to,
		      uint32_t pieces, const struct gyre_timer_options *options)
{
	return gyre_system_send_after(gyre_test_system(test), key, gyre_probe_address(to),
				      gyre_test_new(test, order, pieces), options);
}

/* The next notice comes after @ns, and not before. */
static void expect_after(struct gyre_probe *probe, uint32_t pieces, uint64_t ns)
{
	const struct order *order;

	(void)gyre_probe_expect_none(probe, ns);
	order = gyre_probe_expect(probe, order, TICK_NS);
	cr_assert(order != NULL && order->pieces == pieces);
}

static void send_once(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(20) };
	const struct gyre_timer_options late = { .delay_ns = GYRE_SECONDS(1800) };

	(void)arg;
	cr_assert_eq(send_after(test, 1, probe, 7, &soon), 0);
	expect_after(probe, 7, GYRE_MILLISECONDS(20));
	cr_assert_eq(send_after(test, 1, probe, 8, &late), 0);
	expect_after(probe, 8, GYRE_SECONDS(1800));
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(1800));
}

Test(sim_outside_timer, sends_a_notice_once_and_not_before_its_time)
{
	const struct gyre_test_options options = { .time_ns_max = GYRE_SECONDS(7200) };

	cr_assert_eq(gyre_test_run(&options, send_once, NULL), 0);
}

static void send_at_a_date(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	struct timespec now;
	struct gyre_timer_options options = { 0 };

	(void)arg;
	cr_assert_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	options.date_ns = ((uint64_t)now.tv_sec + 600) * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
	cr_assert_eq(send_after(test, 1, probe, 1, &options), 0);
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(600) - TICK_NS);
	(void)gyre_probe_expect(probe, order, 2 * TICK_NS);
}

Test(sim_outside_timer, sends_at_a_date)
{
	pass(send_at_a_date, NULL);
}

/* They do not drift: the hundredth is as late as the first one, at most. */
static void send_in_periods(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	const struct gyre_timer_options often = { .delay_ns = GYRE_SECONDS(1),
						  .period_ns = GYRE_SECONDS(10) };
	uint64_t begin_ns = gyre_sim_now(gyre_test_sim(test));

	(void)arg;
	cr_assert_eq(send_after(test, 1, probe, 1, &often), 0);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t due_ns = begin_ns + GYRE_SECONDS(1) + i * GYRE_SECONDS(10);

		(void)gyre_probe_expect_none(probe, due_ns - gyre_sim_now(gyre_test_sim(test)));
		(void)gyre_probe_expect(probe, order, TICK_NS);
	}
	cr_assert_eq(gyre_system_timer_stop(gyre_test_system(test), 1), 0);
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(60));
}

Test(sim_outside_timer, sends_in_periods_that_do_not_drift_until_it_is_stopped)
{
	const struct gyre_system_options system = { .loops = 2 }; /* timers are on the first one */
	const struct gyre_test_options options = { .system = &system };

	pass(send_in_periods, NULL);
	cr_assert_eq(gyre_test_run(&options, send_in_periods, NULL), 0);
}

static void replace(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	const struct gyre_timer_options late = { .delay_ns = GYRE_SECONDS(60) };
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(5) };

	(void)arg;
	cr_assert_eq(send_after(test, 1, probe, 1, &late), 0);
	cr_assert_eq(send_after(test, 1, probe, 2, &soon), 0);
	expect_after(probe, 2, GYRE_MILLISECONDS(5));
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(120));
}

Test(sim_outside_timer, is_replaced_by_another_of_its_key)
{
	pass(replace, NULL);
}

struct gift {
	uint32_t *given_back;
};

static void give_back(struct gift *gift)
{
	if (gift->given_back != NULL) {
		++*gift->given_back;
	}
}
GYRE_MESSAGE_OWNING(gift, 0x110, give_back);

static void call_off(struct gyre_test *test, void *arg)
{
	uint32_t *given_back = (uint32_t *)arg;
	struct gyre_system *system = gyre_test_system(test);
	struct gyre_probe *probe = gyre_probe_create(test);
	const struct gyre_timer_options late = { .delay_ns = GYRE_SECONDS(60) };

	cr_assert_eq(gyre_system_send_after(system, 1, gyre_probe_address(probe),
					    gyre_test_new(test, gift, given_back), &late),
		     0);
	cr_assert_eq(gyre_system_timer_stop(system, 1), 0);
	cr_assert_eq(gyre_system_timer_stop(system, 2), 0); /* nothing has that key */
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(120));
	cr_assert_eq(*given_back, 1);
}

Test(sim_outside_timer, is_called_off_and_what_it_owned_is_freed)
{
	uint32_t given_back = 0;

	pass(call_off, &given_back);
	cr_assert_eq(given_back, 1);
}
