/*
 * Cycles of waits end by the deadlines of their asks, and the log names them.
 */
#include "fixture.h"

#include <string.h>
#include <time.h>

/* Asks the actor that @chain begins with to go on with the rest of it. */
struct chain {
	uint32_t left;
	struct gyre_address next[4];
};
GYRE_MESSAGE(chain, 0x1103);

struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_address a;
	struct gyre_address b;
	struct gyre_address c;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static bool mount_waits;

/* In which the others have asked, too, however slow the machine is. */
static const uint64_t deadline_ns = GYRE_MILLISECONDS(500);

/* Only the first, which the script asks, shall time out: it is the script that was spawned first.
 */
static uint64_t patience_ns(const struct gyre_stack *stack)
{
	struct gyre_address asker = gyre_sender(stack);

	return !mount_waits && asker.loop == 0 && asker.slot == 0 ? deadline_ns
								  : GYRE_SECONDS(1000);
}

static int ask_next(struct gyre_stack *stack)
{
	const struct chain *chain = gyre_message(stack, chain);
	struct chain rest = { 0 };

	GYRE_BEGIN(stack);
	if (chain->left == 0) {
		return gyre_reply(stack, gyre_new(stack, number, 0));
	}
	rest.left = chain->left - 1;
	memcpy(rest.next, &chain->next[1], 3 * sizeof(rest.next[0]));
	GYRE_AWAIT(stack, gyre_ask(stack, chain->next[0],
				   gyre_new(stack, chain, rest.left,
					    { rest.next[0], rest.next[1], rest.next[2] }),
				   patience_ns(stack), &frame_of(stack)->future));
	if (gyre_future_failed(&frame_of(stack)->future)) {
		return gyre_throw(stack, gyre_future_error(&frame_of(stack)->future));
	}
	return gyre_reply(stack, gyre_new(stack, number, 0));
	GYRE_END(stack);
}

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static const struct gyre_class shop_class = {
	.name = "shop",
	.frame_bytes = sizeof(struct frame),
	.barrier = all,
	.behaviour.ask = ask_next,
};

static const struct gyre_class bank_class = {
	.name = "bank",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = ask_next,
};

static int error;
static uint32_t loops;

/* shop asks bank, which asks shop, directly or by way of another bank. */
static int go_round(struct gyre_stack *stack, bool by_way_of_c)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &shop_class, 0);
	frame->b = spawn_on(stack, &bank_class, loops - 1);
	frame->c = spawn_on(stack, &bank_class, 0);
	if (by_way_of_c) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, frame->a,
				    gyre_new(stack, chain, 3, { frame->b, frame->c, frame->a }), 0,
				    &frame->future));
	} else {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->a,
					   gyre_new(stack, chain, 2, { frame->b, frame->a }), 0,
					   &frame->future));
	}
	error = gyre_future_error(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int go_there_and_back(struct gyre_stack *stack)
{
	return go_round(stack, false);
}

static int go_round_three(struct gyre_stack *stack)
{
	return go_round(stack, true);
}

static void assert_named(uint32_t count, gyre_handler_fn script, const char *chain)
{
	loops = count;
	play(count, script);
	cr_assert_eq(error, -ETIMEDOUT);
	cr_assert_not_null(strstr(fixture.line, chain), "%s", fixture.line);
}

Test(cycle, of_two_ends_by_the_deadline_and_is_named)
{
	assert_named(1, go_there_and_back, "cycle of waits: shop[0:1] -> bank[0:2] -> shop[0:1]");
}

Test(cycle, of_two_loops_is_named_too)
{
	assert_named(2, go_there_and_back, "cycle of waits: shop[0:1] -> bank[1:0] -> shop[0:1]");
}

Test(cycle, of_three_is_named)
{
	assert_named(2, go_round_three, "shop[0:1] -> bank[1:0] -> bank[0:2] -> shop[0:1]");
}

static int ask_itself(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &shop_class, 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->a, gyre_new(stack, chain, 1, { frame->a }), 0,
				   &frame->future));
	error = gyre_future_error(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cycle, of_one_is_named)
{
	assert_named(1, ask_itself, "cycle of waits: shop[0:1] -> shop[0:1]");
}

/* For what asks the script when its mount has ended. */
static int refuse(struct gyre_stack *stack)
{
	return gyre_throw(stack, -ECANCELED);
}

static const struct gyre_behaviour refusing = { .ask = refuse };

/* Waits in its mount for one that asks it. */
static int wait_for_asker(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	mount_waits = true;
	expect(gyre_become(stack, &refusing) == 0);
	frame->b = spawn_on(stack, &bank_class, loops - 1);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->b, gyre_new(stack, chain, 1, { gyre_self(stack) }),
				   deadline_ns, &frame->future));
	error = gyre_future_error(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cycle, of_a_mount_that_waits_is_named)
{
	assert_named(1, wait_for_asker, "script[0:0] -> bank[0:1] -> script[0:0]");
}

Test(cycle, of_a_mount_that_waits_is_named_over_loops)
{
	assert_named(2, wait_for_asker, "script[0:0] -> bank[1:0] -> script[0:0]");
}

static int ask_a_mute(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &shop_class, 0);
	frame->b = spawn_on(stack, &mute_class, 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->a, gyre_new(stack, chain, 1, { frame->b }), 0,
				   &frame->future));
	error = gyre_future_error(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cycle, is_not_seen_where_an_actor_is_only_slow)
{
	loops = 1;
	play_steady(ask_a_mute);
	cr_assert_eq(error, -ETIMEDOUT);
	cr_assert_eq(fixture.warnings, 0, "%s", fixture.line);
}

static int pass_through_twice(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->b = spawn_on(stack, &bank_class, 0);
	frame->c = spawn_on(stack, &bank_class, 0);
	frame->a = spawn_on(stack, &mute_class, 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->b,
				   gyre_new(stack, chain, 3, { frame->c, frame->b, frame->a }), 0,
				   &frame->future));
	error = gyre_future_error(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cycle, is_not_seen_where_an_actor_is_asked_twice_and_can_answer)
{
	loops = 1;
	play_steady(pass_through_twice);
	cr_assert_eq(error, -ETIMEDOUT);
	cr_assert_eq(fixture.warnings, 0, "%s", fixture.line);
}

/* Asks who cannot answer before it ends, but waits for a sleep only. */
static int ask_and_sleep(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	const struct chain *chain = gyre_message(stack, chain);

	GYRE_BEGIN(stack);
	if (chain->left == 0) {
		return gyre_reply(stack, gyre_new(stack, number, 0));
	}
	expect(gyre_ask(stack, chain->next[0], gyre_new(stack, chain, 1, { gyre_self(stack) }),
			GYRE_SECONDS(1000), &frame->future) == 0);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(200), &frame->other) == 0);
	GYRE_AWAIT_ALL(stack, &frame->other);
	return gyre_reply(stack, gyre_new(stack, number, 0));
	GYRE_END(stack);
}

static const struct gyre_class careless_class = {
	.name = "careless",
	.frame_bytes = sizeof(struct frame),
	.barrier = all,
	.behaviour.ask = ask_and_sleep,
};

static int ask_careless(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &careless_class, 0);
	frame->b = spawn_on(stack, &bank_class, 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->a, gyre_new(stack, chain, 1, { frame->b }),
				   GYRE_MILLISECONDS(50), &frame->future));
	error = gyre_future_error(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cycle, is_not_seen_where_an_actor_waits_for_something_else_only)
{
	loops = 1;
	play_steady(ask_careless);
	cr_assert_eq(error, -ETIMEDOUT);
	cr_assert_eq(fixture.warnings, 0, "%s", fixture.line);
}

/* ---- many ---- */

enum { MANY = 40000 };

static const uint64_t longest_ns = GYRE_SECONDS(5); /* if each looked at all, it were far more */

static uint32_t given_up;
static uint64_t first_ns;

/* What the loop has worked: who else wants its CPU makes no difference. */
static uint64_t worked_ns(void)
{
	struct timespec worked;

	expect(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked) == 0);
	return (uint64_t)worked.tv_sec * GYRE_SECONDS(1) + (uint64_t)worked.tv_nsec;
}

/* Asks a mute that has all the others waiting too. */
static int ask_like_all(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0) {
		(void)gyre_ask(stack, gyre_message(stack, place)->address,
			       gyre_new(stack, number, 1), GYRE_MILLISECONDS(300), &frame->future);
		return gyre_suspend(stack, 1);
	}
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	if (given_up++ == 0) {
		first_ns = worked_ns();
	}
	if (given_up == MANY) {
		expect(worked_ns() - first_ns < longest_ns);
		return fixture_end(stack);
	}
	return gyre_return(stack);
}

static const struct gyre_class crowd_class = {
	.name = "crowd",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = ask_like_all,
};

static int ask_a_mute_often(struct gyre_stack *stack)
{
	struct gyre_address crowd = spawn_here(stack, &crowd_class);
	struct gyre_address mute = spawn_here(stack, &mute_class);

	for (uint32_t i = 0; i < MANY; i++) {
		expect(gyre_notify(stack, crowd, gyre_new(stack, place, mute)) == 0);
	}
	return gyre_return(stack);
}

Test(cycle, is_looked_for_in_little_time_when_thousands_of_asks_time_out)
{
	play(1, ask_a_mute_often);
	cr_assert_eq(given_up, MANY);
}
