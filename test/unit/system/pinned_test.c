/*
 * Actors with a loop of their own.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <gyre/group.h>
#include <gyre/inspect.h>
#include <gyre/outside.h>
#include <gyre/resize.h>

#include "base/atomic.h"

enum { LOOPS = 2, LOOPS_MAX = 4, PINNED = 2 };

static const struct gyre_spawn_options pinned = { .place = GYRE_PLACE_PINNED };

static void open_pinned(void)
{
	const struct gyre_system_options options = { .loops = LOOPS,
						     .loops_max = LOOPS_MAX,
						     .loops_pinned = PINNED };

	fixture_open_with(&options);
}

static void begin(void)
{
	open_pinned();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void end(void)
{
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

static uint64_t ask(struct gyre_address to)
{
	struct gyre_mail *answer = NULL;
	uint64_t value;

	cr_assert_eq(gyre_system_ask(fixture.system, to, gyre_system_new(fixture.system, number, 7),
				     GYRE_FOREVER, &answer),
		     0);
	value = gyre_mail_get(answer, number)->value;
	gyre_mail_destroy(NULL, answer);
	return value;
}

static int spawn(const struct gyre_class *class, struct gyre_address *ret_address)
{
	return gyre_system_spawn(fixture.system, class, GYRE_NO_ARGUMENT, &pinned, ret_address);
}

Test(pinned, actors_live_on_loops_behind_all_others)
{
	struct gyre_address actors[PINNED + 1];

	open_pinned();
	cr_assert_eq(spawn(&adder_class, &actors[0]), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(spawn(&adder_class, &actors[1]), 0);
	cr_assert_eq(spawn(&adder_class, &actors[2]), -ENOBUFS);
	for (uint32_t i = 0; i < PINNED; i++) {
		cr_assert_eq(actors[i].loop, LOOPS_MAX + i);
		cr_assert_eq(ask(actors[i]), 8);
	}
	cr_assert_eq(gyre_system_loops(fixture.system), LOOPS);
	end();
}

static uint32_t ended; /* atomic */

static void note_end(void *state)
{
	(void)state;
	(void)gy_fetch_add(&ended, 1);
}

static int stop_itself(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class mortal_class = { .name = "mortal",
						.behaviour.notice = stop_itself,
						.clean = note_end };

/* Its loop is free when the slot is, a moment after the clean hook. */
static void spawn_when_free(struct gyre_address *ret_address)
{
	int r;

	while ((r = spawn(&mortal_class, ret_address)) == -ENOBUFS) {
		(void)sched_yield();
	}
	cr_assert_eq(r, 0);
}

Test(pinned, loops_are_free_again_when_their_actors_have_ended)
{
	struct gyre_address actor;

	begin();
	for (uint32_t i = 0; i < 50; i++) {
		spawn_when_free(&actor);
		cr_assert_eq(notify_outside(actor, 1), 0);
	}
	while (gy_load_acquire(&ended) < 50) {
		(void)sched_yield();
	}
	end();
}

struct frame {
	struct gyre_address actors[PINNED + 1];
	struct gyre_future answers[PINNED];
};

static int spawn_from_a_handler(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < PINNED; i++) {
		expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &pinned,
				  &frame->actors[i]) == 0);
		expect(frame->actors[i].loop == LOOPS_MAX + i);
		expect(gyre_ask(stack, frame->actors[i], gyre_new(stack, number, 7), GYRE_FOREVER,
				&frame->answers[i]) == 0);
	}
	expect(gyre_spawn(stack, &adder_class, gyre_new(stack, number, 1), &pinned,
			  &frame->actors[PINNED]) == -ENOBUFS);
	GYRE_AWAIT_ALL(stack, &frame->answers[0], &frame->answers[1]);
	expect(gyre_future_get(&frame->answers[0], number)->value == 8);
	expect(gyre_future_get(&frame->answers[1], number)->value == 8);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(pinned, actors_are_children_like_others)
{
	const struct gyre_system_options options = { .loops = LOOPS,
						     .loops_max = LOOPS_MAX,
						     .loops_pinned = PINNED };

	play_with(&options, spawn_from_a_handler);
}

static int refuse(struct gyre_stack *stack)
{
	const struct gyre_class invalid = { 0 };
	const struct gyre_spawn_options named = { .place = GYRE_PLACE_PINNED, .name = "taken" };
	struct gyre_address address;

	expect(gyre_spawn(stack, &invalid, GYRE_NO_ARGUMENT, &pinned, &address) == -EINVAL);
	expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &named, &address) == 0);
	expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &named, &address) == -EEXIST);
	expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &pinned, &address) == 0);
	expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &pinned, &address) == -ENOBUFS);
	return fixture_end(stack);
}

Test(pinned, loops_are_not_taken_by_actors_that_could_not_be_spawned)
{
	const struct gyre_system_options options = { .loops = LOOPS,
						     .loops_max = LOOPS_MAX,
						     .loops_pinned = PINNED };

	play_with(&options, refuse);
}

static int count_loops(struct gyre_stack *stack)
{
	expect(gyre_self(stack).loop < LOOPS_MAX);
	return gyre_return(stack);
}

static const struct gyre_class member_class = { .name = "member", .mount = count_loops };

Test(pinned, loops_get_no_members_of_groups_and_no_round_robin_and_stay_when_others_come_and_go)
{
	struct gyre_address actor;
	struct gyre_address group;

	begin();
	cr_assert_eq(spawn(&adder_class, &actor), 0);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class, GYRE_NO_ARGUMENT, NULL,
					     &group),
		     0);
	for (uint32_t loops = 1; loops <= LOOPS_MAX; loops++) {
		cr_assert_eq(gyre_system_resize(fixture.system, loops), 0);
		cr_assert_eq(gyre_system_loops(fixture.system), loops);
		cr_assert_eq(ask(actor), 8);
		for (uint32_t i = 0; i < 10; i++) {
			struct gyre_address other;

			cr_assert_eq(gyre_system_spawn(fixture.system, &member_class,
						       GYRE_NO_ARGUMENT, NULL, &other),
				     0);
			cr_assert_lt(other.loop, loops);
		}
	}
	cr_assert_eq(gyre_system_resize(fixture.system, LOOPS_MAX + 1), -ENOBUFS);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_assert_eq(ask(actor), 8);
	end();
}

static struct gyre_address joined; /* set before the start */

static int join(struct gyre_stack *stack)
{
	expect(gyre_group_join(stack, joined) == 0);
	return gyre_return(stack);
}

static int say_ready(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, 8));
}

static const struct gyre_class joining_class = { .name = "joining",
						 .mount = join,
						 .behaviour.ask = say_ready };

Test(pinned, actors_stay_in_their_groups_when_loops_retire)
{
	struct gyre_address actor;
	uint32_t size = 0;

	open_pinned();
	cr_assert_eq(gyre_system_group_create(fixture.system, NULL, &joined), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(spawn(&joining_class, &actor), 0);
	cr_assert_eq(ask(actor), 8);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_assert_eq(gyre_system_group_size(fixture.system, joined, &size), 0);
	cr_assert_eq(size, 1);
	cr_assert_eq(ask(joined), 8);
	end();
}

Test(pinned, loops_cannot_be_named_by_number)
{
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = LOOPS_MAX };
	struct gyre_address actor;

	begin();
	cr_assert_eq(
		gyre_system_spawn(fixture.system, &adder_class, GYRE_NO_ARGUMENT, &there, &actor),
		-EINVAL);
	end();
}

Test(pinned, loops_are_shown_by_a_snapshot)
{
	struct gyre_snapshot *snapshot;
	struct gyre_address actor;

	begin();
	cr_assert_eq(spawn(&adder_class, &actor), 0);
	cr_assert_eq(ask(actor), 8);
	cr_assert_eq(gyre_system_inspect(fixture.system, &snapshot), 0);
	cr_assert_eq(snapshot->loops_count, LOOPS + PINNED);
	cr_assert_eq(snapshot->loops[LOOPS].index, LOOPS_MAX);
	cr_assert_geq(snapshot->loops[LOOPS].actors, 1);
	gyre_snapshot_destroy(snapshot);
	end();
}

Test(pinned, loops_are_no_more_than_there_may_be)
{
	const struct gyre_system_options options = { .loops = 1,
						     .loops_max = 2,
						     .loops_pinned = 1023 };
	struct gyre_system *system;

	cr_assert_eq(gyre_system_create(&options, &system), -EINVAL);
}

Test(pinned, actors_are_refused_where_there_are_no_such_loops)
{
	struct gyre_address actor;

	fixture_open(1);
	cr_assert_eq(spawn(&adder_class, &actor), -ENOBUFS);
	fixture_close();
}

Test(pinned, actors_of_a_system_that_was_never_started_end)
{
	struct gyre_address actor;

	open_pinned();
	cr_assert_eq(spawn(&adder_class, &actor), 0);
	fixture_close();
}

static uint32_t mounted; /* atomic */

static int note_mount(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&mounted, 1);
	return gyre_return(stack);
}

static const struct gyre_class early_class = { .name = "early", .mount = note_mount };

static int fail_behind(struct gyre_system *system, uint32_t loop, void *arg, void **ret_data)
{
	(void)system;
	(void)ret_data;
	return loop >= *(const uint32_t *)arg ? -EIO : 0;
}

static void start_in_vain(bool embedded, bool stop_first)
{
	static uint32_t failing = LOOPS_MAX;
	const struct gyre_system_options options = { .loops = LOOPS,
						     .loops_max = LOOPS_MAX,
						     .loops_pinned = PINNED,
						     .embedded = embedded,
						     .loop_init = fail_behind,
						     .loop_arg = &failing };
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = i };
		struct gyre_address actor;

		cr_assert_eq(
			gyre_system_spawn(system, &early_class, GYRE_NO_ARGUMENT, &there, &actor),
			0);
	}
	if (stop_first) {
		gyre_system_stop(system);
	}
	cr_assert_eq(gyre_system_start(system), -EIO);
	gyre_system_destroy(system);
	cr_assert_eq(gy_load_acquire(&mounted), 0);
}

Test(pinned, loops_that_cannot_start_keep_all_others_from_turning, .timeout = 60)
{
	for (uint32_t round = 0; round < 8; round++) {
		start_in_vain((round & 1) != 0, (round & 2) != 0);
	}
}
