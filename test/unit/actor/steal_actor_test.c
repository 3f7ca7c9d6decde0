/*
 * Actors that are run by another loop than their own: that a stuck loop is robbed, and that what an
 * actor does while it is away is as if it had stayed.
 */
#include <unistd.h>

#include <gyre/file.h>
#include <gyre/move.h>
#include <gyre/watch.h>

#include "fixture.h"

#include "actor/stack/stack.h"
#include "actor/steal_actor.h"
#include "base/atomic.h"

enum { ACTORS = 200, FLOOR = 32, EXCESS = ACTORS - FLOOR, BUDGET = 256 };

struct frame {
	struct gyre_future future;
	uint32_t i;
};

struct state {
	uint64_t number;
	bool away; /* it was, when it began, while its own loop was held up */
};

static struct gyre_address actors[ACTORS];
static struct gyre_address adder;
static uint32_t away;	  /* runs on another loop than the actor's own */
static uint32_t finished; /* what each was to do */
static uint32_t wrong;
static bool held_up;		       /* the loop that is robbed is */
static struct gyre_future old[ACTORS]; /* that have been read */
static uint32_t old_count;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static bool is_away(struct gyre_stack *stack)
{
	return gy_stack_of(stack)->home->loop.index != gyre_self(stack).loop;
}

/* ---- what they do ---- */

static int finish(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&finished, 1);
	return gyre_return(stack);
}

static int just_run(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&away, is_away(stack));
	return finish(stack);
}

static int ask_adder(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	(void)gy_fetch_add(&away, is_away(stack));
	GYRE_AWAIT(stack, gyre_ask(stack, adder, gyre_new(stack, number, 41), 0, &frame->future));
	expect(!is_away(stack)); /* answers are for the actor at home */
	expect(gyre_future_get(&frame->future, number)->value == 42);
	old[gy_fetch_add(&old_count, 1)] = frame->future;
	return finish(stack);
	GYRE_END(stack);
}

static int ask_a_mute(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	(void)gy_fetch_add(&away, is_away(stack));
	GYRE_AWAIT(stack, gyre_ask(stack, adder, gyre_new(stack, number, 41), GYRE_MILLISECONDS(5),
				   &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	return finish(stack);
	GYRE_END(stack);
}

static int start_timer(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&away, is_away(stack));
	return gyre_timer_start(stack, 1,
				&(struct gyre_timer_options){ .delay_ns = GYRE_MILLISECONDS(2) });
}

static int open_file(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_file_opened opened = { 0 };
	struct gyre_file *none;

	GYRE_BEGIN(stack);
	(void)gy_fetch_add(&away, is_away(stack));
	if (is_away(stack)) {
		expect(gyre_file_adopt(stack, dup(0), &none) == -EAGAIN);
	}
	GYRE_AWAIT(stack, gyre_file_open(stack, "/dev/zero", NULL, 0, &frame->future));
	expect(!is_away(stack));
	expect(gyre_future_move(&frame->future, gyre_file_opened, &opened) == 0);
	GYRE_AWAIT(stack,
		   gyre_file_read(stack, opened.file, &GYRE_VALUE(gyre_file_part, .bytes = 100), 0,
				  &frame->future));
	expect(gyre_future_get(&frame->future, gyre_file_data)->count == 100);
	return finish(stack); /* which leaves the file to the end of the actor */
	GYRE_END(stack);
}

static int open_and_forget(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&away, is_away(stack));
	expect(gyre_file_open(stack, "/dev/zero", NULL, 0, &frame_of(stack)->future) == 0);
	return finish(stack);
}

static int spawn_and_watch(struct gyre_stack *stack)
{
	struct gyre_address child = spawn_here(stack, &sink_class);

	(void)gy_fetch_add(&away, is_away(stack));
	expect(child.loop == gyre_self(stack).loop);
	expect(gyre_watch(stack, child) == 0);
	return gyre_stop(stack, child);
}

static int stop_itself(struct gyre_stack *stack)
{
	struct state *state = (struct state *)gyre_state(stack);

	(void)gy_fetch_add(&away, is_away(stack));
	expect(state->number++ == 0); /* nothing comes after it */
	return gyre_stop(stack, gyre_self(stack));
}

static int fail(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&away, is_away(stack));
	return gyre_throw(stack, -EIO);
}

/* Two messages each: the first is laid aside, the second brings it back, before the third. */
static int stash_one(struct gyre_stack *stack)
{
	struct state *state = (struct state *)gyre_state(stack);
	uint64_t value = gyre_message(stack, number)->value;

	(void)gy_fetch_add(&away, is_away(stack));
	if (state->number == 0 && value == 1) {
		state->number = 1;
		return gyre_stash(stack);
	}
	if (value == 2) {
		expect(gyre_unstash(stack, GYRE_UNSTASH_ALL) == 1);
		state->number = 2;
		return gyre_return(stack);
	}
	expect(value == (state->number == 2 ? 1 : 3));
	state->number = 3;
	return value == 3 ? finish(stack) : gyre_return(stack);
}

/* More than a run may handle: the last is for another. */
static int run_long(struct gyre_stack *stack)
{
	struct state *state = (struct state *)gyre_state(stack);
	uint64_t value = gyre_message(stack, number)->value;

	if (value == 1) {
		state->away = is_away(stack) && gy_load_acquire(&held_up);
	}
	if (value == BUDGET) {
		(void)gy_fetch_add(&away, is_away(stack));
	}
	if (value <= BUDGET) {
		return gyre_return(stack);
	}
	expect(!state->away || !is_away(stack) || !gy_load_acquire(&held_up));
	return finish(stack);
}

static void note_clean(void *state)
{
	(void)state;
	(void)gy_fetch_add(&finished, 1);
}

static int note_restart(struct gyre_stack *stack)
{
	expect(!is_away(stack));
#if GY_INSPECT
	struct gy_running look = { 0 };

	expect(gy_home_get_running(gy_stack_of(stack)->home, &look));
	expect(look.class_info == gy_stack_of(stack)->house->class_info);
#endif
	return finish(stack);
}

/* ---- scripts ---- */

/* What the actors are, what each is told, and what occupies their own loop meanwhile. */
static struct gyre_class class = {
	.name = "swag",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct frame),
};
static uint64_t messages = 1;
/* Of @away, for the one who holds up its loop: a few run before the loop looks for idle peers. */
static uint32_t enough = EXCESS - 16;
static uint64_t patience_ns = GYRE_SECONDS(60);

/* The loop is held up until others have done what they could. */
static int hold_up(struct gyre_stack *stack)
{
	uint64_t until_ns = gyre_now(stack) + patience_ns;

	gy_store_release(&held_up, true);
	while (gy_load_acquire(&away) < EXCESS - 16 && gyre_now(stack) < until_ns) {
	}
	gy_store_release(&held_up, false);
	return gyre_return(stack);
}

static const struct gyre_class holder_class = { .name = "holder", .behaviour.notice = hold_up };

static bool other_sleeps(const struct gyre_stack *stack)
{
	const struct gy_loops *loops = gy_stack_of_const(stack)->home->loop.peers;

	return gy_load_full(&loops->loop[1]->parked) == GY_PARKED;
}

static int have_them_stolen(struct gyre_stack *stack)
{
	static struct gyre_address holder;
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < ACTORS; i++) {
		actors[i] = spawn_here(stack, &class);
	}
	holder = spawn_here(stack, &holder_class);
	/* The other loop must be idle when this one has too much. */
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	} while (!other_sleeps(stack));
	for (uint32_t i = 0; i < ACTORS; i++) {
		for (uint64_t k = 1; k <= messages; k++) {
			expect(gyre_notify(stack, actors[i], gyre_new(stack, number, k)) == 0);
		}
		if (i == EXCESS) { /* it is the first of those that stay */
			expect(gyre_notify(stack, holder, gyre_new(stack, number, 0)) == 0);
		}
	}
	while (gy_load_acquire(&finished) < ACTORS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	for (uint32_t i = 0; i < old_count; i++) {
		expect(gyre_future_error(&old[i]) == -ESTALE);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static void steal_while(gyre_handler_fn notice, const struct gyre_class *asked)
{
	/* Who is asked works, so another loop must be there that is idle all the while. And a turn
	 * has no deadline, or one that is held up would offer the holder first in the next. */
	const struct gyre_system_options options = { .loops = asked != NULL ? 3 : 2,
						     .io_ratio = 100 };

	class.behaviour.notice = notice;
	fixture_open_with(&options);
	if (asked != NULL) {
		adder = spawn_outside(asked, 2);
	}
	(void)spawn_outside(&(struct gyre_class){ .name = "script",
						  .frame_bytes = FIXTURE_FRAME_BYTES,
						  .mount = have_them_stolen },
			    0);
	fixture_run();
	fixture_close();
	cr_assert_geq(away, enough);
	cr_assert_eq(wrong, 0);
	cr_assert_geq(fixture.counters.stolen, enough / messages);
}

Test(theft, drains_what_waits_behind_a_handler_that_holds_up_its_loop)
{
	steal_while(just_run, NULL);
	cr_assert_eq(finished, ACTORS);
}

Test(theft, of_an_actor_that_asks_brings_it_home_for_the_answer)
{
	steal_while(ask_adder, &adder_class);
}

Test(theft, of_an_actor_that_asks_leaves_the_time_out_in_force)
{
	steal_while(ask_a_mute, &mute_class);
}

Test(theft, of_an_actor_that_starts_a_timer_has_it_fire_at_home)
{
	class.behaviour.event = note_restart;
	steal_while(start_timer, NULL);
}

Test(theft, of_an_actor_that_opens_a_file_has_it_opened_at_home)
{
	steal_while(open_file, NULL);
}

Test(theft, of_an_actor_that_opens_a_file_and_does_not_wait_has_it_closed_again)
{
	steal_while(open_and_forget, NULL);
}

Test(theft, of_an_actor_that_spawns_and_watches_leaves_both_at_home)
{
	class.behaviour.event = note_restart;
	steal_while(spawn_and_watch, NULL);
}

Test(theft, of_an_actor_that_stops_ends_it_at_once_and_at_home)
{
	class.clean = note_clean;
	messages = 2;
	steal_while(stop_itself, NULL);
}

Test(theft, of_an_actor_that_fails_restarts_it_at_home)
{
	class.restart = note_restart;
	steal_while(fail, NULL);
}

Test(theft, of_an_actor_that_stashes_keeps_the_order)
{
	messages = 3;
	enough = EXCESS / 4; /* each counts up to three times */
	steal_while(stash_one, NULL);
}

Test(theft, is_of_no_more_messages_than_a_run_at_home_may_handle)
{
	/* With so long runs nobody may be idle when the others become ready. */
	enough = 0;
	patience_ns = GYRE_MILLISECONDS(50);
	messages = BUDGET + 1;
	steal_while(run_long, NULL);
}

/* As a thief does where a run has ended. */
static int pack_after_cancel(struct gyre_stack *stack)
{
	struct gyre_future *future = &frame_of(stack)->future;
	struct gy_wheel *wheel = &gy_stack_of(stack)->home->loop.wheel;

	adder = spawn_here(stack, &mute_class);
	expect(gyre_ask(stack, adder, gyre_new(stack, number, 1), 0, future) == 0);
	expect(gyre_cancel(stack, future) == 0);
	expect(wheel->lazy != NULL);
	gy_promises_pack(gy_stack_of(stack), wheel, gyre_now(stack));
	expect(wheel->lazy == NULL);
	gy_promises_unpack(gy_stack_of(stack), wheel);
	return fixture_end(stack);
}

Test(theft, of_an_actor_that_has_cancelled_an_ask_leaves_no_timer_with_the_thief)
{
	play(1, pack_after_cancel);
}

/* ---- none where there is no need ---- */

static int stay_below(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < FLOOR; i++) {
		actors[i] = spawn_here(stack, &class);
	}
	for (frame->i = 0; frame->i < 200; frame->i++) {
		for (uint32_t i = 0; i < FLOOR; i++) {
			expect(gyre_notify(stack, actors[i], gyre_new(stack, number, 0)) == 0);
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(theft, does_not_happen_under_moderate_load)
{
	class.behaviour.notice = just_run;
	play(2, stay_below);
	cr_assert_eq(fixture.counters.stolen, 0);
	cr_assert_eq(fixture.counters.published, 0);
	cr_assert_eq(away, 0);
}

/* ---- orders to one that is away ---- */

static struct gyre_address caught; /* the first that runs away from home */
static uint32_t caught_step;	   /* atomic: nobody, somebody, @caught is set, it is watched */
static uint32_t ends;		   /* atomic: that the watcher was told */
static int end_reason;

static int stop_when_watched(struct gyre_stack *stack)
{
	uint32_t nobody = 0;

	if (!is_away(stack) || !gy_compare_exchange(&caught_step, &nobody, 1)) {
		return just_run(stack);
	}
	caught = gyre_self(stack);
	gy_store_release(&caught_step, 2);
	while (gy_load_acquire(&caught_step) != 3) {
	}
	return gyre_stop(stack, gyre_self(stack));
}

static int watch_it(struct gyre_stack *stack)
{
	while (gy_load_acquire(&caught_step) != 2) {
	}
	expect(gyre_watch(stack, caught) == 0);
	gy_store_release(&caught_step, 3);
	return gyre_return(stack);
}

static int note_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *end = gyre_message(stack, gyre_terminated);

	expect(end != NULL);
	end_reason = end == NULL ? 0 : end->reason;
	(void)gy_fetch_add(&ends, 1);
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_it, .event = note_end }
};

static int watch_one_that_is_away(struct gyre_stack *stack)
{
	static struct gyre_address watcher;
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < ACTORS; i++) {
		actors[i] = spawn_here(stack, &class);
	}
	watcher = spawn_here(stack, &watcher_class);
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	} while (!other_sleeps(stack));
	for (uint32_t i = 0; i < ACTORS; i++) {
		expect(gyre_notify(stack, actors[i], gyre_new(stack, number, 1)) == 0);
		if (i == EXCESS) { /* it is the first of those that stay */
			expect(gyre_notify(stack, watcher, gyre_new(stack, number, 0)) == 0);
		}
	}
	while (gy_load_acquire(&finished) < ACTORS - 1 || gy_load_acquire(&ends) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(theft, of_an_actor_that_is_watched_and_stops_meanwhile_tells_of_its_end)
{
	const struct gyre_system_options options = { .loops = 2, .io_ratio = 100 };

	class.behaviour.notice = stop_when_watched;
	fixture_open_with(&options);
	(void)spawn_outside(&(struct gyre_class){ .name = "script",
						  .frame_bytes = FIXTURE_FRAME_BYTES,
						  .mount = watch_one_that_is_away },
			    0);
	fixture_run();
	fixture_close();
	cr_assert_eq(ends, 1);
	cr_assert_eq(end_reason, 0, "%d", end_reason);
}

static uint64_t taken;

static int take_number(struct gyre_stack *stack)
{
	taken = taken * 10 + gyre_message(stack, number)->value;
	return gyre_return(stack);
}

/* As if the only ready actor of this loop were published, and nobody took it. */
static int order_while_away(struct gyre_stack *stack)
{
	struct gy_loop *loop = &gy_stack_of(stack)->home->loop;
	struct frame *frame = frame_of(stack);
	struct gy_job *job;

	GYRE_BEGIN(stack);
	actors[0] = spawn_here(stack, &class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	expect(gyre_notify(stack, actors[0], gyre_new(stack, number, 1)) == 0);
	job = gy_queue_pop(&loop->state);
	expect(gy_house_seal(loop, job));
	expect(gyre_notify(stack, actors[0], gyre_new(stack, number, 2)) == 0);
	expect(gyre_stop_gracefully(stack, actors[0], GYRE_SECONDS(60), NULL) == 0);
	expect(gyre_notify(stack, actors[0], gyre_new(stack, number, 3)) == 0);
	expect(gyre_stop_gracefully(stack, actors[0], GYRE_SECONDS(60), &frame->future) == 0);
	expect(gyre_notify(stack, actors[0], gyre_new(stack, number, 4)) == 0);
	gy_house_unseal(loop, job);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(theft, leaves_an_order_to_stop_gracefully_its_place_among_the_notices)
{
	class.behaviour.notice = take_number;
	play(1, order_while_away);
	cr_assert_eq(taken, 12);
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED], 2);
}
