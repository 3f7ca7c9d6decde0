/*
 * How actors come and go: what becomes of mail that is left over, in which order slots are used
 * again and that no stale address reaches who has the slot next, and that every hook with a stack
 * may spawn.
 */
#include "actor/puppet_kit.h"

#include <gyre/batch.h>
#include <gyre/counters.h>
#include <gyre/event.h>
#include <gyre/outside.h>
#include <gyre/timer.h>
#include <gyre/watch.h>

enum { CHILDREN_MAX = 16, KINDS = 5, FREED = 4 };

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

static struct gyre_address actor;
static struct gyre_address other;
static uint32_t told_count;
static int told_reason;
static int outcome;

static int note_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	cr_assert(terminated != NULL && gyre_address_equal(terminated->actor, actor));
	told_count++;
	told_reason = terminated->reason;
	return gyre_return(stack);
}

static const struct gyre_class watching_class = {
	.name = "watching",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = note_end },
};

static int stop_itself(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static int ask_actor(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, actor, gyre_new(stack, number, 1), 0,
				   &puppet_frame(stack)->future));
	outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

/* ---- what is left over ---- */

static struct gyre_address asked;
static uint32_t lost[GYRE_DROP_COUNT]; /* of what was for the actor, by reason */

static void lose(const struct gyre_type *type, struct gyre_address from, struct gyre_address to,
		 enum gyre_drop reason, void *arg)
{
	(void)type;
	(void)from;
	(void)arg;
	lost[reason] += gyre_address_equal(to, actor);
}

static int ask_asked(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, asked, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &puppet_frame(stack)->future));
	cr_assert_fail("the answer has come");
	GYRE_END(stack);
}

static int subscribe(struct gyre_stack *stack)
{
	return gyre_subscribe(stack, &gyre_type_number, gyre_event_key_of(NULL), NULL);
}

/* All that comes while it is to restart waits. */
static const struct gyre_class waiting_class = {
	.name = "waiting",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.restart_delay_ns = GYRE_SECONDS(1),
};

static void note_outcome(struct gyre_mail *answer, int error, void *arg)
{
	(void)answer;
	(void)arg;
	outcome = error;
}

/* A reply, an exception, an ask, a notice and an event wait. */
static void leave_some_of_each(struct gyre_test *test)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	asked = gyre_probe_address(probe);
	actor = puppet_spawn(test, &waiting_class, 0);
	puppet_call(test, actor, subscribe);
	puppet_call(test, actor, ask_asked);
	puppet_call(test, actor, ask_asked);
	puppet_call(test, actor, puppet_fail);
	(void)gyre_probe_expect(probe, number, 0);
	(void)gyre_probe_reply(probe, gyre_test_new(test, number, 2));
	(void)gyre_probe_expect(probe, number, 0);
	(void)gyre_probe_throw(probe, -EIO);
	(void)gyre_probe_notify(probe, actor, gyre_test_new(test, number, 3));
	cr_assert_eq(gyre_system_publish(gyre_test_system(test), gyre_test_new(test, number, 4),
					 gyre_event_key_of(NULL)),
		     1);
	cr_assert_eq(gyre_system_ask_callback(gyre_test_system(test), actor,
					      gyre_test_new(test, number, 5), GYRE_FOREVER,
					      note_outcome, NULL),
		     0);
	settle(test);
}

/* An exception has no type that a test could name, but is counted. */
static void expect_all_lost(struct gyre_test *test, enum gyre_drop reason)
{
	for (uint32_t i = 1; i < KINDS; i++) {
		(void)gyre_test_expect_dead_letter(test, number, reason, 0);
	}
	cr_assert_eq(lost[reason], KINDS, "%u", lost[reason]);
	cr_assert_eq(outcome, -ESHUTDOWN);
}

static const struct gyre_system_options losing = { .loops = 2,
						   .dead_letter = lose,
						   HEARD_FROM(GYRE_LOG_WARNING) };

KIT_TEST_WITH(lifecycle, makes_what_waits_of_each_kind_a_dead_letter_of_a_stopped_actor, &losing)
{
	leave_some_of_each(test);
	puppet_stop(test, actor);
	expect_all_lost(test, GYRE_DROP_STOPPED);
}

KIT_TEST_WITH(lifecycle, makes_what_waits_of_each_kind_a_dead_letter_of_the_shutdown, &losing)
{
	leave_some_of_each(test);
	gyre_system_stop(gyre_test_system(test));
	cr_assert_eq(gyre_system_wait(gyre_test_system(test)), 0);
	expect_all_lost(test, GYRE_DROP_SHUTDOWN);
}

static int stash(struct gyre_stack *stack)
{
	return gyre_stash(stack);
}

static const struct gyre_class stashing_class = {
	.name = "stashing",
	.behaviour = { .notice = stash, .ask = stash },
};

KIT_TEST_WITH(lifecycle, makes_what_is_stashed_a_dead_letter_too, &losing)
{
	actor = puppet_spawn(test, &stashing_class, 0);
	other = puppet_spawn(test, &watching_class, 0);
	puppet_call(test, other, ask_actor);
	(void)gyre_probe_notify(gyre_probe_create(test), actor, gyre_test_new(test, number, 1));
	puppet_stop(test, actor);
	for (uint32_t i = 0; i < 2; i++) {
		(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_STOPPED, 0);
	}
	cr_assert_eq(outcome, -ESHUTDOWN);
}

/* ---- slots ---- */

KIT_TEST_WITH(lifecycle, uses_slots_again_in_the_order_in_which_they_became_free, &two_loops)
{
	static const uint32_t freed[] = { 3, 1, 4, 0 };
	struct gyre_address actors[5];
	struct gyre_address next;
	uint32_t first;

	for (uint32_t i = 0; i < 5; i++) {
		actors[i] = puppet_spawn(test, &puppet_class, 0);
		cr_assert_eq(actors[i].slot, actors[0].slot + i);
	}
	first = actors[0].slot;
	for (uint32_t i = 0; i < FREED; i++) {
		puppet_call(test, actors[freed[i]], stop_itself);
	}
	for (uint32_t i = 0; i < FREED; i++) {
		next = puppet_spawn(test, &puppet_class, 0);
		cr_assert_eq(next.slot, first + freed[i]);
		cr_assert_neq(next.cookie, actors[freed[i]].cookie);
	}
	next = puppet_spawn(test, &puppet_class, 0);
	cr_assert_eq(next.slot, first + 5);
}

/* ---- stale addresses of a slot that is used again ---- */

static uint32_t heard_by_next;

static int hear_by_next(struct gyre_stack *stack)
{
	heard_by_next++;
	return gyre_return(stack);
}

static const struct gyre_class next_class = {
	.name = "next",
	.behaviour = { .notice = hear_by_next, .ask = hear_by_next, .event = hear_by_next },
};

/* @actor is stale, and its slot has an actor that must not hear of anything. */
static struct gyre_address open_stale(struct gyre_test *test, uint32_t loop)
{
	struct gyre_address next;

	actor = puppet_spawn(test, &puppet_class, loop);
	puppet_call(test, actor, stop_itself);
	next = puppet_spawn(test, &next_class, loop);
	cr_assert_eq(next.slot, actor.slot);
	other = puppet_spawn(test, &watching_class, 0);
	heard_by_next = 0;
	told_count = 0;
	return next;
}

/* No watch has come to who has the slot next: nobody is told of its end. */
static void expect_untouched(struct gyre_test *test, struct gyre_address next,
			     uint32_t dead_letters)
{
	uint32_t told_before = told_count;
	struct gyre_counters counters;

	gyre_test_advance(test, GYRE_SECONDS(10));
	cr_assert_eq(heard_by_next, 0);
	expect_alive(test, next);
	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	cr_assert_eq(counters.dropped[GYRE_DROP_NO_ACTOR], dead_letters);
	puppet_stop(test, next);
	expect_ended(test, next);
	cr_assert_eq(told_count, told_before);
}

static int expected; /* what is known at once: on the same loop */

static int notify_stale(struct gyre_stack *stack)
{
	cr_assert(gyre_notify(stack, actor, gyre_new(stack, number, 1)) == expected);
	return gyre_return(stack);
}

static int stop_stale(struct gyre_stack *stack)
{
	cr_assert(gyre_stop(stack, actor) == expected);
	return gyre_return(stack);
}

static int poison_stale(struct gyre_stack *stack)
{
	cr_assert(gyre_poison(stack, actor) == expected);
	return gyre_return(stack);
}

static int retire_stale(struct gyre_stack *stack)
{
	cr_assert(gyre_stop_gracefully(stack, actor, 1, NULL) == expected);
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
	cr_assert(gyre_watch(stack, actor) == 0);
	return gyre_return(stack);
}

static gyre_handler_fn stale_function;
static uint32_t stale_loop;

static void call_stale(struct gyre_test *test, void *arg)
{
	struct gyre_address next = open_stale(test, stale_loop);

	outcome = 0;
	expected = stale_loop == 0 ? -ESRCH : 0;
	puppet_call(test, other, stale_function);
	cr_assert_eq(outcome, *(const int *)arg, "loop %u: %d", stale_loop, outcome);
	expect_untouched(test, next, 1);
}

static void play_stale(gyre_handler_fn function, int outcome_expected)
{
	const struct gyre_test_options options = { .system = &two_loops,
						   .allow_dead_letters = true };

	stale_function = function;
	for (stale_loop = 0; stale_loop < 2; stale_loop++) {
		kit_run(call_stale, &outcome_expected, &options);
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

KIT_TEST_WITH(stale, address_is_told_to_have_ended_to_its_watcher, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		struct gyre_address next = open_stale(test, loop);

		puppet_call(test, other, watch_stale);
		cr_assert_eq(told_count, 1);
		cr_assert_eq(told_reason, -ESRCH);
		expect_untouched(test, next, 0);
	}
}

/* ---- spawning from every hook ---- */

static struct gyre_address children[CHILDREN_MAX];
static struct gyre_address actor_of_children;
static uint32_t children_count;
static bool failed;

static int know_parent(struct gyre_stack *stack)
{
	cr_assert(gyre_address_equal(gyre_parent(stack), actor_of_children));
	return gyre_return(stack);
}

static const struct gyre_class child_class = { .name = "child", .mount = know_parent };

static int spawn_child(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = children_count % 2 };

	actor_of_children = gyre_self(stack);
	cr_assert(gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &options,
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

static int spawn_and_start_timer(struct gyre_stack *stack)
{
	(void)spawn_child(stack);
	return gyre_timer_start(stack, 1, &(struct gyre_timer_options){ 0 });
}

static const struct gyre_class fertile_class = {
	.name = "fertile",
	.mount = spawn_and_start_timer,
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

KIT_TEST_WITH(lifecycle, lets_every_hook_and_handler_spawn, &two_loops)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	actor = puppet_spawn(test, &fertile_class, 0);
	gyre_test_advance(test, GYRE_MILLISECONDS(3)); /* the timer is over */
	for (uint64_t value = 1; value <= 2; value++) {
		(void)gyre_probe_notify(probe, actor, gyre_test_new(test, number, value));
		(void)gyre_probe_ask(probe, actor, gyre_test_new(test, number, value), 0);
		(void)gyre_probe_expect(probe, number, GYRE_MILLISECONDS(1));
	}
	/* The mount, two asks, two notices, the event, three hooks. */
	cr_assert_eq(children_count, 9);
	for (uint32_t i = 0; i < children_count; i++) {
		expect_alive(test, children[i]);
	}
	puppet_stop(test, actor);
	for (uint32_t i = 0; i < children_count; i++) {
		expect_ended(test, children[i]);
	}
}
