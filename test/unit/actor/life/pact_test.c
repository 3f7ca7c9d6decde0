/*
 * Pacts: a watcher that ends with whom it watches, for the same reason.
 */
#include <gyre/watch.h>

#include "actor/puppet_kit.h"

enum { LINE = 50 };

static struct gyre_address other;
static struct gyre_address holder;
static struct gyre_address third; /* watches the holder */
static uint32_t told;
static int reason;
static uint32_t events;

static int note_event(struct gyre_stack *stack)
{
	events++;
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	told++;
	reason = gyre_message(stack, gyre_terminated)->reason;
	return gyre_return(stack);
}

static const struct gyre_class failing_class = {
	.name = "failing",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.strategy = GYRE_STRATEGY_STOP,
};

static const struct gyre_class holder_class = {
	.name = "holder",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = note_event },
};

static const struct gyre_class third_class = {
	.name = "third",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = hear },
};

static int make_pact(struct gyre_stack *stack)
{
	return gyre_watch_pact(stack, other);
}

static int watch_other(struct gyre_stack *stack)
{
	return gyre_watch(stack, other);
}

static int unwatch_other(struct gyre_stack *stack)
{
	return gyre_unwatch(stack, other);
}

static int watch_holder(struct gyre_stack *stack)
{
	return gyre_watch(stack, holder);
}

static void open_holder(struct gyre_test *test, uint32_t loop)
{
	told = 0;
	events = 0;
	other = puppet_spawn(test, &failing_class, 0);
	holder = puppet_spawn(test, &holder_class, loop);
	third = puppet_spawn(test, &third_class, 0);
	puppet_call(test, third, watch_holder);
}

static void assert_ended(struct gyre_test *test, int with)
{
	expect_ended(test, holder);
	cr_assert_eq(told, 1);
	cr_assert_eq(reason, with);
	cr_assert_eq(events, 0);
}

KIT_TEST_WITH(pact, ends_the_watcher_with_the_reason_of_the_other, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		open_holder(test, loop);
		puppet_call(test, holder, make_pact);
		expect_alive(test, holder);
		puppet_call(test, other, puppet_fail);
		assert_ended(test, -EIO);
	}
}

KIT_TEST_WITH(pact, with_one_that_was_stopped_stops_the_watcher, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		open_holder(test, loop);
		puppet_call(test, holder, make_pact);
		puppet_stop(test, other);
		assert_ended(test, 0);
	}
}

KIT_TEST_WITH(pact, with_one_that_has_ended_ends_the_watcher_at_once, &two_loops)
{
	open_holder(test, 1);
	puppet_call(test, other, puppet_fail);
	puppet_call(test, holder, make_pact);
	assert_ended(test, -ESRCH);
}

KIT_TEST_WITH(pact, takes_the_place_of_a_watch_and_stays, &two_loops)
{
	open_holder(test, 1);
	puppet_call(test, holder, watch_other);
	puppet_call(test, holder, make_pact);
	puppet_call(test, holder, watch_other);
	puppet_call(test, other, puppet_fail);
	assert_ended(test, -EIO);
}

KIT_TEST_WITH(pact, ends_with_the_watch, &two_loops)
{
	open_holder(test, 0);
	puppet_call(test, holder, make_pact);
	puppet_call(test, holder, unwatch_other);
	puppet_call(test, other, puppet_fail);
	expect_alive(test, holder);
	puppet_call(test, holder, watch_other);
	cr_assert_eq(events, 1);
}

static int wait_long(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

KIT_TEST_WITH(pact, ends_the_watcher_with_its_suspended_handlers, &two_loops)
{
	open_holder(test, 1);
	puppet_call(test, holder, make_pact);
	puppet_call(test, holder, wait_long);
	puppet_call(test, other, puppet_fail);
	assert_ended(test, -EIO);
}

KIT_TEST_WITH(pact, ends_a_long_line_of_watchers, &two_loops)
{
	struct gyre_address line[LINE];
	struct gyre_address first;

	open_holder(test, 1);
	first = other;
	for (uint32_t i = 0; i < LINE; i++) {
		line[i] = puppet_spawn(test, &holder_class, i % 2);
		puppet_call(test, line[i], make_pact);
		other = line[i];
	}
	puppet_call(test, first, puppet_fail);
	for (uint32_t i = 0; i < LINE; i++) {
		expect_ended(test, line[i]);
	}
}
