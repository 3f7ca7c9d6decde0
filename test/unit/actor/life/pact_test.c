/*
 * Pacts: a watcher that ends with whom it watches, for the same reason.
 */
#include "actor/model.h"

#include <string.h>

#include <gyre/watch.h>

#include "actor/mail/mailbox.h"

static struct gyre_address other;
static struct gyre_address holder;
static struct gyre_address third; /* watches the holder */
static uint32_t told;
static int reason;
static uint32_t events;

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

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

static void open_holder(uint32_t loop)
{
	told = 0;
	events = 0;
	model_open(2);
	other = model_spawn(&failing_class, 0);
	holder = model_spawn(&holder_class, loop);
	third = model_spawn(&third_class, 0);
	model_call(third, watch_holder);
	model_settle();
}

static void call(struct gyre_address actor, gyre_handler_fn function)
{
	model_call(actor, function);
	model_settle();
}

static void assert_ended(int with)
{
	cr_assert_null(model_house(holder));
	cr_assert_eq(told, 1);
	cr_assert_eq(reason, with);
	cr_assert_eq(events, 0);
	model_close();
}

Test(pact, ends_the_watcher_with_the_reason_of_the_other)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		open_holder(loop);
		call(holder, make_pact);
		cr_assert_not_null(model_house(holder));
		call(other, fail);
		assert_ended(-EIO);
	}
}

Test(pact, with_one_that_was_stopped_stops_the_watcher)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		open_holder(loop);
		call(holder, make_pact);
		gy_house_request_stop(model_house(other), 0);
		model_settle();
		assert_ended(0);
	}
}

Test(pact, with_one_that_has_ended_ends_the_watcher_at_once)
{
	open_holder(1);
	call(other, fail);
	call(holder, make_pact);
	assert_ended(-ESRCH);
}

Test(pact, takes_the_place_of_a_watch_and_stays)
{
	open_holder(1);
	call(holder, watch_other);
	call(holder, make_pact);
	call(holder, watch_other);
	call(other, fail);
	assert_ended(-EIO);
}

Test(pact, ends_with_the_watch)
{
	open_holder(0);
	call(holder, make_pact);
	call(holder, unwatch_other);
	call(other, fail);
	cr_assert_not_null(model_house(holder));
	call(holder, watch_other);
	cr_assert_eq(events, 1);
	model_close();
}

static int wait_long(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

Test(pact, ends_the_watcher_with_its_suspended_handlers)
{
	open_holder(1);
	call(holder, make_pact);
	call(holder, wait_long);
	call(other, fail);
	assert_ended(-EIO);
}

Test(pact, ends_a_long_line_of_watchers)
{
	struct gyre_address line[50];

	open_holder(1);
	for (uint32_t i = 0; i < 50; i++) {
		line[i] = model_spawn(&holder_class, i % 2);
		call(line[i], make_pact);
		other = line[i];
	}
	other = line[0];
	gy_house_request_stop(model_house(other), -EPIPE);
	model_settle();
	for (uint32_t i = 0; i < 50; i++) {
		cr_assert_null(model_house(line[i]));
	}
	model_close();
}
