/*
 * Promises: several of one stack, thousands of stacks that end in whatever order, and what becomes
 * of asks whose target dies before it deals with them.
 */
#include "actor/puppet_kit.h"

#include "fixture.h"

enum { MANY = 100000, SOME = 5000 };

static const struct gyre_system_options one_loop = { .loops = 1, HEARD_FROM(GYRE_LOG_WARNING) };

static struct gyre_address target;

/* ---- who answers ---- */

struct slow_frame {
	struct gyre_future future;
	uint64_t value;
};

/* After as many milliseconds as the ask says. */
static int answer_later(struct gyre_stack *stack)
{
	struct slow_frame *frame = (struct slow_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->value = gyre_message(stack, number)->value;
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(frame->value), &frame->future));
	return gyre_reply(stack, gyre_new(stack, number, frame->value + 1));
	GYRE_END(stack);
}

static const struct gyre_class slow_class = {
	.name = "slow",
	.frame_bytes = sizeof(struct slow_frame),
	.behaviour.ask = answer_later,
};

/* ---- several of one stack ---- */

enum { PROMISES = 6, STEP_MS = 10, SOON_MS = 100, LONG_MS = 1000 };

static const uint32_t orders[][PROMISES / 2] = { { 0, 1, 2 }, { 5, 4, 3 }, { 2, 4, 3 },
						 { 3, 0, 5 }, { 5, 0, 1 }, { 1, 5, 2 } };
static const uint32_t *order;
static struct gyre_future futures[PROMISES];
static uint32_t resumed;

struct many_frame {
	struct gyre_future futures[PROMISES];
};

/* When the answer comes to a promise, by the order. */
static uint64_t delay_ms(uint32_t promise)
{
	for (uint32_t k = 0; k < PROMISES / 2; k++) {
		if (order[k] == promise) {
			return (k + 1) * (uint64_t)STEP_MS;
		}
	}
	return LONG_MS;
}

/* Is called anew with each promise that completes; the last half of them end with its stack. */
static int promise_many(struct gyre_stack *stack)
{
	struct many_frame *frame = (struct many_frame *)gyre_frame(stack);
	uint32_t done = 0;

	if (gyre_stack_state(stack) == 0) {
		for (uint32_t i = 0; i < PROMISES; i++) {
			cr_assert_eq(gyre_ask(stack, target, gyre_new(stack, number, delay_ms(i)),
					      GYRE_FOREVER, &frame->futures[i]),
				     0);
		}
		return gyre_suspend_any(stack, 1);
	}
	cr_assert_eq(gyre_future_error(&frame->futures[order[resumed]]), 0);
	resumed++;
	for (uint32_t i = 0; i < PROMISES; i++) {
		done += gyre_future_error(&frame->futures[i]) == 0;
		futures[i] = frame->futures[i];
	}
	cr_assert_eq(done, resumed);
	return done == PROMISES / 2 ? gyre_return(stack) : gyre_suspend_any(stack, 1);
}

static const struct gyre_class many_class = {
	.name = "many",
	.frame_bytes = sizeof(struct many_frame),
	.behaviour.notice = promise_many,
};

static void complete_in_order(struct gyre_test *test)
{
	struct gyre_address actor = puppet_spawn(test, &many_class, 0);

	resumed = 0;
	cr_assert_eq(
		gyre_system_notify(gyre_test_system(test), actor, gyre_test_new(test, number, 0)),
		0);
	gyre_test_advance(test, GYRE_MILLISECONDS(STEP_MS / 2));
	for (uint32_t k = 0; k < PROMISES / 2; k++) {
		gyre_test_advance(test, GYRE_MILLISECONDS(STEP_MS));
		cr_assert_eq(resumed, k + 1);
	}
	for (uint32_t k = 0; k < PROMISES; k++) {
		cr_assert_eq(gyre_future_error(&futures[k]), -ESTALE);
	}
	/* What comes now finds nobody. */
	gyre_test_advance(test, GYRE_MILLISECONDS(LONG_MS));
	for (uint32_t k = 0; k < PROMISES / 2; k++) {
		(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_LATE, 0);
	}
	cr_assert_eq(resumed, PROMISES / 2);
}

KIT_TEST_WITH(promise, of_one_stack_completes_in_any_order, &one_loop)
{
	target = puppet_spawn(test, &slow_class, 0);
	for (uint32_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		order = orders[i];
		complete_in_order(test);
	}
}

/* ---- in numbers ---- */

static struct gyre_address asker;
static struct gyre_sim *sim;
static uint32_t answered;
static uint32_t failed;

static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	frame->value = SOON_MS + gyre_sim_random(sim) % LONG_MS;
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, frame->value),
				   GYRE_FOREVER, &frame->future));
	if (gyre_future_error(&frame->future) == -ESHUTDOWN) {
		failed++;
	} else {
		cr_assert_eq(gyre_future_get(&frame->future, number)->value, frame->value + 1);
		answered++;
	}
	GYRE_END(stack);
}

static int ask_often(struct gyre_stack *stack, void *count)
{
	for (uint32_t i = 0; i < *(const uint32_t *)count; i++) {
		(void)gyre_notify(stack, asker, gyre_new(stack, call, ask_target));
	}
	return 0;
}

static void open_and_ask(struct gyre_test *test, uint32_t count)
{
	sim = gyre_test_sim(test);
	asker = puppet_spawn(test, &puppet_class, 0);
	target = puppet_spawn(test, &slow_class, 0);
	cr_assert_eq(gyre_probe_do(gyre_probe_create(test), ask_often, &count), 0);
}

/* The stacks of both actors end in an order that has nothing to do with that of their asks. */
static void end_at_random(struct gyre_test *test, uint32_t count)
{
	open_and_ask(test, count);
	gyre_test_advance(test, GYRE_MILLISECONDS(2 * LONG_MS));
	cr_assert_eq(answered, count);
}

KIT_TEST_WITH(promise, of_thousands_of_stacks_is_kept_in_any_order, &one_loop)
{
	end_at_random(test, SOME);
}

KIT_TEST_WITH(promise, may_be_one_of_a_hundred_thousand_of_one_actor, &one_loop)
{
	end_at_random(test, MANY);
}

KIT_TEST_WITH(promise, of_a_hundred_thousand_ends_with_the_actor_that_was_asked, &one_loop)
{
	open_and_ask(test, MANY);
	puppet_stop(test, target);
	cr_assert_eq(failed, MANY);
}
