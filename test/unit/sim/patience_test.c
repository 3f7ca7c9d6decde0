/*
 * The patience of a listener's channels, to the millisecond: a client that says nothing at first,
 * and one that has gone silent, are closed when their time is over, and counted.
 */
#include <gyre/idle.h>

#include "echo.h"
#include "testkit_rig.h"

static struct gyre_counters counters(struct gyre_test *test)
{
	struct gyre_counters now;

	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &now), 0);
	return now;
}

/* The channel ends after @ns, give or take some ticks, and not before. */
static void expect_end_after(struct gyre_test_channel *peer, uint64_t ns)
{
	(void)gyre_test_channel_expect_none(peer, ns - GYRE_MILLISECONDS(1));
	(void)gyre_test_channel_expect_end(peer, GYRE_MILLISECONDS(4));
	gyre_test_channel_close(peer);
}

static int init_silent(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler silent = { .name = "silent" };

	return gyre_pipeline_add(channel, GYRE_LAST, &silent, arg);
}

static void say_nothing(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = {
		.init_channel = init_silent,
		.channel = { .handshake_ns = GYRE_SECONDS(20) },
	};

	(void)arg;
	expect_end_after(gyre_test_channel_open(test, &options), GYRE_SECONDS(20));
	cr_assert_eq(counters(test).handshake_timeouts, 1);
	cr_assert_eq(counters(test).linger_timeouts, 0);
	cr_assert_eq(counters(test).idle_closed, 0);
}

Test(sim_patience, of_a_listener_closes_a_client_that_says_nothing)
{
	pass(say_nothing, NULL);
}

static int init_idle(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_idle_options options = { .read_ns = GYRE_SECONDS(20),
							  .close = true };
	int r = gyre_idle_add(channel, GYRE_FIRST, &options);

	return r < 0 ? r : init_echo(channel, arg);
}

static void go_silent(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = { .init_channel = init_idle };
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &options);

	(void)arg;
	for (uint32_t i = 0; i < 10; i++) {
		(void)gyre_test_channel_expect_none(peer, GYRE_SECONDS(19));
		(void)gyre_test_channel_write_text(peer, "x");
		(void)gyre_test_channel_expect_text(peer, "x");
	}
	cr_assert_eq(counters(test).idle_closed, 0);
	expect_end_after(peer, GYRE_SECONDS(20));
	cr_assert_eq(counters(test).idle_closed, 1);
	cr_assert_eq(counters(test).write_max_closed, 0);
}

Test(sim_patience, closes_a_client_that_has_gone_silent)
{
	pass(go_silent, NULL);
}
