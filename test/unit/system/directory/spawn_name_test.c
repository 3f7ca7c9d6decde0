/*
 * Names that the spawner gives: there as soon as the call has returned, one owner, and the address
 * of that owner for whoever comes too late.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <gyre/name.h>
#include <gyre/watch.h>

#include "base/atomic.h"

enum { LOOPS = 2, ELSEWHERE = 1, RIVALS = 32, THREADS = 4, ROUNDS = 200 };

struct frame {
	struct gyre_future future;
	struct gyre_address actor;
	struct gyre_address found;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int spawn_named(struct gyre_stack *stack, const struct gyre_class *class, const char *name,
		       uint32_t loop, struct gyre_address *ret_address)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = loop,
						    .name = name };

	return gyre_spawn(stack, class, gyre_new(stack, number, 1), &options, ret_address);
}

static const uint32_t both[] = { 0, ELSEWHERE };

static int find_at_once(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_named(stack, &adder_class, "adder", 0, &frame->actor) == 0);
	expect(gyre_name_lookup(stack, "adder", &frame->found) == 0);
	expect(gyre_address_equal(frame->found, frame->actor));
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->found, gyre_new(stack, number, 41), 0, &frame->future));
	expect(gyre_future_get(&frame->future, number)->value == 42);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->actor, 0, &frame->future));
	expect(gyre_name_lookup(stack, "adder", &frame->found) == -ENOENT);
	expect(spawn_named(stack, &adder_class, "adder", ELSEWHERE, &frame->actor) == 0);
	expect(gyre_name_lookup(stack, "adder", &frame->found) == 0);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->found, gyre_new(stack, number, 1), 0, &frame->future));
	expect(gyre_future_get(&frame->future, number)->value == 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(spawn_name, is_found_when_the_spawn_has_returned_and_goes_with_the_actor)
{
	play(LOOPS, find_at_once);
}

static int come_too_late(struct gyre_stack *stack)
{
	struct gyre_address holder;
	struct gyre_address late;

	expect(spawn_named(stack, &sink_class, "one", ELSEWHERE, &holder) == 0);
	for (uint32_t i = 0; i < 2; i++) {
		late = GYRE_NOBODY;
		expect(spawn_named(stack, &sink_class, "one", both[i], &late) == -EEXIST);
		expect(gyre_address_equal(late, holder));
	}
	expect(gyre_name_register(stack, "one") == -EEXIST);
	return fixture_end(stack);
}

Test(spawn_name, that_is_taken_spawns_nobody_and_gives_the_address_of_its_holder)
{
	play(LOOPS, come_too_late);
	cr_assert_eq(fixture.counters.spawned, 2, "the script and the holder");
}

static int misuse(struct gyre_stack *stack)
{
	char text[GYRE_NAME_BYTES_MAX + 2];
	struct gyre_address address;

	memset(text, 'x', sizeof(text));
	text[GYRE_NAME_BYTES_MAX + 1] = '\0';
	for (uint32_t i = 0; i < 2; i++) {
		expect(spawn_named(stack, &sink_class, "", both[i], &address) == -EINVAL);
		expect(spawn_named(stack, &sink_class, text, both[i], &address) == -EINVAL);
	}
	text[GYRE_NAME_BYTES_MAX] = '\0';
	expect(spawn_named(stack, &sink_class, text, 0, &address) == 0);
	return fixture_end(stack);
}

Test(spawn_name, has_1_to_255_bytes)
{
	play(LOOPS, misuse);
}

/* The slots of spawns that came too late are used again. */
static int come_too_late_often(struct gyre_stack *stack)
{
	struct gyre_address first;
	struct gyre_address last;
	struct gyre_address holder;

	expect(spawn_named(stack, &sink_class, "one", 0, &holder) == 0);
	first = spawn_here(stack, &sink_class);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		expect(spawn_named(stack, &sink_class, "one", 0, &last) == -EEXIST);
	}
	last = spawn_here(stack, &sink_class);
	expect(last.slot == first.slot + 1);
	return fixture_end(stack);
}

Test(spawn_name, that_is_taken_costs_no_slot)
{
	play(1, come_too_late_often);
}

static int fail_at_once(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class failing_class = { .name = "failing", .mount = fail_at_once };

static int have_it_after(struct gyre_stack *stack)
{
	struct gyre_address next;

	expect(gyre_message(stack, gyre_terminated) != NULL);
	expect(spawn_named(stack, &sink_class, "one", 0, &next) == 0);
	return fixture_end(stack);
}

static int watch_failing(struct gyre_stack *stack)
{
	struct gyre_address failing;

	expect(spawn_named(stack, &failing_class, "one", ELSEWHERE, &failing) == 0);
	return gyre_watch(stack, failing);
}

static const struct gyre_class heir_class = {
	.name = "heir",
	.mount = watch_failing,
	.behaviour.event = have_it_after,
};

static int let_inherit(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &heir_class);
	return gyre_return(stack);
}

Test(spawn_name, of_an_actor_whose_mount_fails_is_free_when_its_end_is_told)
{
	play(LOOPS, let_inherit);
}

/* ---- many at once ---- */

static uint32_t won;
static uint32_t told;
static struct gyre_address winner;
static struct gyre_address others[RIVALS];

static int compete(struct gyre_stack *stack)
{
	struct gyre_address address = GYRE_NOBODY;
	int r = spawn_named(stack, &sink_class, "the one", 0, &address);
	uint32_t i = gy_fetch_add(&told, 1);

	expect(r == 0 || r == -EEXIST);
	others[i] = address;
	if (r == 0) {
		winner = address;
		(void)gy_fetch_add(&won, 1);
	}
	if (i + 1 == RIVALS) {
		return fixture_end(stack);
	}
	return gyre_return(stack);
}

static const struct gyre_class rival_class = { .name = "rival", .mount = compete };

Test(spawn_name, that_many_give_at_once_is_given_once_and_all_learn_by_whom)
{
	fixture_open(4);
	for (uint32_t i = 0; i < RIVALS; i++) {
		(void)spawn_outside(&rival_class, i % 4);
	}
	fixture_run();
	fixture_close();
	cr_assert_eq(won, 1);
	for (uint32_t i = 0; i < RIVALS; i++) {
		cr_assert(gyre_address_equal(others[i], winner));
	}
}

/* ---- from outside ---- */

static void *spawn_until_one_has_it(void *arg)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_ROUND_ROBIN,
						    .name = "server" };
	struct gyre_address *address = (struct gyre_address *)arg;
	int r = gyre_system_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, &options, address);

	if (r == 0) {
		(void)gy_fetch_add(&won, 1);
	} else {
		expect(r == -EEXIST);
	}
	return NULL;
}

static int end(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static const struct gyre_class ending_class = { .name = "ending", .mount = end };

Test(spawn_name, is_given_by_threads_too)
{
	pthread_t threads[THREADS];
	struct gyre_address found;

	fixture_open(LOOPS);
	for (uint32_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, spawn_until_one_has_it, &others[i]),
			     0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	cr_assert_eq(won, 1);
	cr_assert_eq(gyre_system_name_lookup(fixture.system, "server", &found), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		cr_assert(gyre_address_equal(others[i], found));
	}
	(void)spawn_outside(&ending_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_eq(fixture.counters.spawned, 2);
}

/* Its order comes to a loop that has stopped taking actors: the name goes with it. */
Test(spawn_name, of_an_actor_that_a_stopping_loop_refuses_is_free_again)
{
	struct gyre_address address;
	const struct gyre_spawn_options options = { .name = "late" };

	fixture_open(1);
	(void)spawn_outside(&ending_class, 0);
	cr_assert_eq(gyre_system_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, &options,
				       &address),
		     0);
	fixture_run();
	cr_assert_eq(gyre_system_name_lookup(fixture.system, "late", &address), -ENOENT);
	fixture_close();
}
