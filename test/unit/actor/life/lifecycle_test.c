/*
 * How actors come and go, in a model: what becomes of mail that is left over, in which order slots
 * are used again and that no stale address reaches who has the slot next, and that every hook with
 * a stack may spawn.
 */
#include "actor/model.h"

#include <gyre/batch.h>
#include <gyre/watch.h>

#include "actor/life/children.h"
#include "actor/mail/mailbox.h"

enum { CHILDREN_MAX = 16 };

static struct gyre_address actor;
static struct gyre_address other;
static uint32_t told_count;
static int told_reason;
static int outcome;

static int note_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, actor));
	told_count++;
	told_reason = terminated->reason;
	return gyre_return(stack);
}

static const struct gyre_class watching_class = {
	.name = "watching",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = note_end },
};

static int ask_actor(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, actor, gyre_new(stack, number, 1), 0,
				   &puppet_frame(stack)->future));
	outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

/* ---- what is left over ---- */

static void leave_some_of_each(void)
{
	model_open(1);
	actor = model_spawn(&sink_class, 0);
	other = model_spawn(&watching_class, 0);
	gy_house_add_reason(model_house(actor), GY_CLOSED_BY_RESTART); /* so that all waits */
	model_call(other, ask_actor);
	model_settle();
	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		if (lane != GY_LANE_ASK) {
			model_put(actor, (enum gy_lane)lane, lane);
		}
	}
}

static void assert_all_lost(enum gyre_drop reason)
{
	cr_assert_eq(model.lost[reason], GY_LANES, "%u", model.lost[reason]);
	cr_assert(gyre_address_equal(model.last_lost.to, actor));
}

Test(lifecycle, makes_what_waits_of_each_kind_a_dead_letter_of_a_stopped_actor)
{
	leave_some_of_each();
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	assert_all_lost(GYRE_DROP_STOPPED);
	cr_assert_eq(outcome, -ESHUTDOWN);
	model_close();
}

Test(lifecycle, makes_what_waits_of_each_kind_a_dead_letter_of_the_shutdown)
{
	leave_some_of_each();
	model.home[0].draining = true;
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	assert_all_lost(GYRE_DROP_SHUTDOWN);
	cr_assert_eq(outcome, -ESHUTDOWN);
	model_close();
}

static int stash(struct gyre_stack *stack)
{
	return gyre_stash(stack);
}

static const struct gyre_class stashing_class = {
	.name = "stashing",
	.behaviour = { .notice = stash, .ask = stash },
};

Test(lifecycle, makes_what_is_stashed_a_dead_letter_too)
{
	model_open(1);
	actor = model_spawn(&stashing_class, 0);
	other = model_spawn(&watching_class, 0);
	model_call(other, ask_actor);
	model_put(actor, GY_LANE_NOTICE, 1);
	model_settle();
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 2);
	cr_assert_eq(outcome, -ESHUTDOWN);
	model_close();
}

/* ---- slots ---- */

Test(lifecycle, uses_slots_again_in_the_order_in_which_they_became_free)
{
	static const uint32_t freed[] = { 3, 1, 4, 0 };
	struct gyre_address actors[6];

	model_open(1);
	for (uint32_t i = 0; i < 5; i++) {
		actors[i] = model_spawn(&sink_class, 0);
		cr_assert_eq(actors[i].slot, i);
	}
	for (uint32_t i = 0; i < gy_countof(freed); i++) {
		gy_house_request_stop(model_house(actors[freed[i]]), 0);
		model_settle();
	}
	for (uint32_t i = 0; i < gy_countof(freed); i++) {
		struct gyre_address next = model_spawn(&sink_class, 0);

		cr_assert_eq(next.slot, freed[i]);
		cr_assert_neq(next.cookie, actors[freed[i]].cookie);
	}
	cr_assert_eq(model_spawn(&sink_class, 0).slot, 5);
	model_close();
}

Test(lifecycle, of_a_slot_never_has_the_cookie_of_nobody)
{
	model_home_options.cookie_seed = UINT32_MAX - 5;
	model_open(1);
	for (uint32_t i = 0; i < 10; i++) {
		actor = model_spawn(&sink_class, 0);
		cr_assert_eq(actor.slot, 0);
		cr_assert_neq(actor.cookie, 0);
		gy_house_request_stop(model_house(actor), 0);
		model_settle();
	}
	model_close();
}

/* ---- stale addresses of a slot that is used again ---- */

/* @actor is stale, and its slot has an actor that must not hear of anything. */
static struct gyre_address open_stale(uint32_t loop)
{
	struct gyre_address next;

	model_open(2);
	actor = model_spawn(&sink_class, loop);
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	next = model_spawn(&sink_class, loop);
	cr_assert_eq(next.slot, actor.slot);
	other = model_spawn(&watching_class, 0);
	return next;
}

static void assert_untouched(struct gyre_address next, uint32_t dead_letters)
{
	const struct gy_house *house = model_house(next);

	model_settle();
	model_advance(GYRE_SECONDS(10));
	cr_assert_not_null(house, "who has the slot next was stopped");
	cr_assert_eq(house->class_info->handled, 0);
	cr_assert(house->extra == NULL, "an order was carried out by who has the slot next");
	cr_assert_eq(model.lost[GYRE_DROP_NO_ACTOR], dead_letters);
	model_close();
}

static int expected; /* what is known at once: on the same loop */

static int notify_stale(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, actor, gyre_new(stack, number, 1)) == expected);
	return gyre_return(stack);
}

static int stop_stale(struct gyre_stack *stack)
{
	expect(gyre_stop(stack, actor) == expected);
	return gyre_return(stack);
}

static int poison_stale(struct gyre_stack *stack)
{
	expect(gyre_poison(stack, actor) == expected);
	return gyre_return(stack);
}

static int retire_stale(struct gyre_stack *stack)
{
	expect(gyre_stop_gracefully(stack, actor, 1, NULL) == expected);
	return gyre_return(stack);
}

static int await_stale(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, actor, 1, &puppet_frame(stack)->future));
	outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

static int watch_stale(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, actor) == 0);
	return gyre_return(stack);
}

static void play_stale(gyre_handler_fn function, int outcome_expected)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		struct gyre_address next = open_stale(loop);

		outcome = 0;
		expected = loop == 0 ? -ESRCH : 0;
		model_call(other, function);
		model_settle();
		cr_assert_eq(outcome, outcome_expected, "loop %u: %d", loop, outcome);
		assert_untouched(next, 1);
	}
}

Test(stale, address_takes_no_notice)
{
	play_stale(notify_stale, 0);
}

Test(stale, address_takes_no_ask)
{
	play_stale(ask_actor, -ESRCH);
}

Test(stale, address_takes_no_stop)
{
	play_stale(stop_stale, 0);
}

Test(stale, address_takes_no_poison)
{
	play_stale(poison_stale, 0);
}

Test(stale, address_takes_no_graceful_stop)
{
	play_stale(retire_stale, 0);
}

Test(stale, address_takes_no_graceful_stop_and_says_so)
{
	play_stale(await_stale, -ESRCH);
}

Test(stale, address_is_told_to_have_ended_to_its_watcher)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		struct gyre_address next = open_stale(loop);

		told_count = 0;
		model_call(other, watch_stale);
		model_settle();
		cr_assert_eq(told_count, 1);
		cr_assert_eq(told_reason, -ESRCH);
		assert_untouched(next, 0);
	}
}

/* ---- spawning from every hook ---- */

static struct gyre_address children[CHILDREN_MAX];
static uint32_t children_count;
static bool failed;

static int spawn_child(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = children_count % 2 };

	expect(gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, &options,
			  &children[children_count++]) == 0);
	return gyre_return(stack);
}

static int spawn_and_fail_once(struct gyre_stack *stack)
{
	(void)spawn_child(stack);
	if (failed) {
		return gyre_return(stack);
	}
	failed = true;
	return gyre_throw(stack, -EIO);
}

static int spawn_and_answer(struct gyre_stack *stack)
{
	(void)spawn_child(stack);
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static int spawn_and_answer_all(struct gyre_stack *stack)
{
	(void)spawn_child(stack);
	return gyre_batch_reply_all(stack, gyre_new(stack, number, 1));
}

static bool is_two(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && ((const struct number *)message)->value == 2;
}

static const struct gyre_class fertile_class = {
	.name = "fertile",
	.mount = spawn_child,
	.behaviour = { .notice = spawn_and_fail_once,
		       .ask = spawn_and_answer,
		       .event = spawn_child,
		       .notice_batch = spawn_child,
		       .ask_batch = spawn_and_answer_all },
	.batch_notices = is_two,
	.batch_asks = is_two,
	.before_restart = spawn_child,
	.restart = spawn_child,
	.after_restart = spawn_child,
	.keep_children = true,
};

Test(lifecycle, lets_every_hook_and_handler_spawn)
{
	model_open(2);
	actor = model_spawn(&fertile_class, 0);
	model_put(actor, GY_LANE_EVENT, 1);
	for (uint64_t value = 1; value <= 2; value++) {
		model_put(actor, GY_LANE_NOTICE, value);
		model_put(actor, GY_LANE_ASK, value);
	}
	model_settle();
	/* The mount, two asks, two notices, the event, three hooks. */
	cr_assert_eq(children_count, 9);
	for (uint32_t i = 0; i < children_count; i++) {
		cr_assert_not_null(model_house(children[i]), "child %u", i);
		cr_assert(gyre_address_equal(
			(struct gyre_address){
				.slot = model_house(children[i])->family->parent.slot,
				.cookie = actor.cookie },
			(struct gyre_address){ .slot = actor.slot, .cookie = actor.cookie }));
	}
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	for (uint32_t i = 0; i < children_count; i++) {
		cr_assert_null(model_house(children[i]), "child %u outlived its parent", i);
	}
	model_close();
}
