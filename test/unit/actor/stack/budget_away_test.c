/*
 * The budget of an actor that another loop runs: it is that of its asker there as at home, and what
 * it asks while it is away has no more time than that. In a model, whose clock stands still.
 */
#include <errno.h>

#include "actor/life/lifecycle.h"
#include "actor/model.h"
#include "actor/steal_actor.h"

enum {
	ASKED_S = 2,
	LATER_S = ASKED_S + 1,
	STEPS = 1000
}; /* a deadline is a sixteenth later, and a unit */

static struct gyre_address target;
static struct gyre_address mute;
static int outcome;	   /* of the ask of the target */
static int further;	   /* of the ask that the target makes */
static uint64_t left_away; /* to the target */
static bool was_away;

static int stay_silent(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

static const struct gyre_class mute_one_class = { .name = "mute",
						  .frame_bytes = sizeof(struct puppet_frame),
						  .behaviour.ask = stay_silent };

static int ask_mute(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	was_away = gy_stack_of(stack)->home->loop.index != gyre_self(stack).loop;
	left_away = gyre_time_left(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, mute, gyre_new(stack, number, 1), 0, &frame->future));
	expect(gy_stack_of(stack)->home->loop.index == gyre_self(stack).loop);
	further = gyre_future_error(&frame->future);
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

static const struct gyre_class target_class = { .name = "target",
						.frame_bytes = sizeof(struct puppet_frame),
						.behaviour.ask = ask_mute };

static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 1), GYRE_SECONDS(ASKED_S),
				   &frame->future));
	outcome = gyre_future_error(&frame->future);
	GYRE_END(stack);
}

/* The ask has come to the target, and the other loop handles it after @wait_ns. */
static void let_be_stolen(uint64_t wait_ns)
{
	struct gyre_address asker;
	struct gy_house *house;

	outcome = further = 77;
	left_away = 77;
	was_away = false;
	model_open(2);
	target = model_spawn(&target_class, 0);
	mute = model_spawn(&mute_one_class, 0);
	asker = model_spawn(&puppet_class, 1);
	house = model_house(target);
	model_call(asker, ask_target);
	model_turn_one(1);
	gy_loop_drain_inbox(&model.home[0].loop);
	for (uint64_t i = 0; i < STEPS; i++) { /* a leap would be a lag of the clock */
		model.now_ns += wait_ns / STEPS;
		gy_loop_read_clock(&model.home[0].loop);
		gy_loop_read_clock(&model.home[1].loop);
	}
	cr_assert_eq(gy_queue_pop(&model.home[0].loop.state), &house->job);
	cr_assert(gy_house_seal(&model.home[0].loop, &house->job));
	gy_house_run_stolen(&model.home[1].loop, &house->job);
	model_settle();
}

Test(budget, of_an_actor_that_is_away_is_what_its_asker_has_left)
{
	let_be_stolen(GYRE_SECONDS(1));
	cr_expect(was_away);
	cr_expect_geq(left_away, GYRE_SECONDS(ASKED_S - 1));
	cr_expect_leq(left_away, GYRE_SECONDS(LATER_S - 1));
	cr_expect_eq(further, 77, "it waits");
	model_advance(GYRE_SECONDS(ASKED_S - 1) - GYRE_MILLISECONDS(1));
	cr_expect_eq(further, 77, "it waits no less than its asker does");
	cr_expect_eq(outcome, 77);
	model_advance(GYRE_SECONDS(1));
	cr_expect_eq(further, -ETIMEDOUT, "it does not wait for the default");
	cr_expect(outcome == -ETIMEDOUT || outcome == -EIO, "%d", outcome);
	model_close();
}

Test(budget, of_an_actor_that_is_away_with_none_left_is_none)
{
	let_be_stolen(GYRE_SECONDS(LATER_S));
	cr_expect_not(was_away, "nobody waits for what it would do");
	model_advance(GYRE_SECONDS(LATER_S));
	cr_expect_eq(outcome, -ETIMEDOUT);
	model_close();
}
