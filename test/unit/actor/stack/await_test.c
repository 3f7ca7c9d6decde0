/*
 * Waiting for some of many futures: until each of them has ended, however it has, while the others
 * go on.
 */
#include <errno.h>

#include "actor/parcel_rig.h"
#include "base/macros.h"

enum { SOME = 4, ROUNDS = 100 };

struct await_frame {
	struct gyre_future futures[SOME];
	struct gyre_address to;
	uint32_t runs; /* of the handler */
	uint32_t round;
};

static struct await_frame *await_frame(struct gyre_stack *stack)
{
	return (struct await_frame *)gyre_frame(stack);
}

static int ask_number(struct gyre_stack *stack, uint32_t i, uint64_t value)
{
	struct await_frame *frame = await_frame(stack);

	return gyre_ask(stack, frame->to, gyre_new(stack, number, value), 0, &frame->futures[i]);
}

/* Makes a sleep for each, of so many milliseconds. */
static void sleep_for(struct gyre_stack *stack, const uint64_t *delays_ms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(delays_ms[i]),
				  &await_frame(stack)->futures[i]) == 0);
	}
}

static bool are(const struct gyre_stack *stack, int a, int b, int c, int d)
{
	const struct gyre_future *futures = ((struct await_frame *)gyre_frame(stack))->futures;

	return gyre_future_error(&futures[0]) == a && gyre_future_error(&futures[1]) == b &&
	       gyre_future_error(&futures[2]) == c && gyre_future_error(&futures[3]) == d;
}

/* ---- until they have ended, and no longer ---- */

static int wait_for_two(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 20, 1, 10, 30 };
	struct await_frame *frame = await_frame(stack);

	frame->runs++;
	GYRE_BEGIN(stack);
	sleep_for(stack, delays_ms, SOME);
	GYRE_AWAIT_ALL(stack, &frame->futures[0], &frame->futures[2]);
	expect(frame->runs == 2);
	expect(are(stack, 0, 0, 0, -EINPROGRESS));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_some_resumes_once_when_the_last_of_them_has_ended_whatever_else_does)
{
	play_steady(wait_for_two);
}

static int add_on_loop(struct gyre_stack *stack)
{
	struct await_frame *frame = await_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, 1);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->futures[3]) == 0);
	for (; frame->round < ROUNDS; frame->round++) {
		for (uint32_t i = 0; i < 3; i++) {
			expect(ask_number(stack, i, frame->round + i) == 0);
		}
		GYRE_AWAIT_ALL(stack, &frame->futures[0], &frame->futures[1], &frame->futures[2]);
		for (uint32_t i = 0; i < 3; i++) {
			expect(gyre_future_get(&frame->futures[i], number)->value ==
			       frame->round + i + 1);
		}
		expect(gyre_future_error(&frame->futures[3]) == -EINPROGRESS);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_some_works_in_a_loop_beside_what_never_ends)
{
	play(2, add_on_loop);
	cr_assert_eq(fixture.counters.sent, 2 * 3 * ROUNDS);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static int tell_apart(struct gyre_stack *stack)
{
	static const struct gyre_class failing_class = { .name = "failing", .behaviour.ask = fail };
	struct await_frame *frame = await_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &adder_class);
	expect(ask_number(stack, 0, 1) == 0);
	expect(gyre_ask(stack, spawn_here(stack, &failing_class), gyre_new(stack, number, 1), 0,
			&frame->futures[1]) == 0);
	expect(gyre_ask(stack, spawn_here(stack, &mute_class), gyre_new(stack, number, 1),
			GYRE_MILLISECONDS(5), &frame->futures[2]) == 0);
	expect(gyre_ask(stack, frame->to, NULL, 0, &frame->futures[3]) == -ENOMEM);
	GYRE_AWAIT_ALL(stack, &frame->futures[0], &frame->futures[1], &frame->futures[2],
		       &frame->futures[3]);
	expect(are(stack, 0, -EIO, -ETIMEDOUT, -ENOMEM));
	expect(gyre_future_get(&frame->futures[0], number)->value == 2);
	expect(gyre_future_get(&frame->futures[1], number) == NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_some_leaves_to_each_future_how_it_has_ended)
{
	play_steady(tell_apart);
}

/* ---- what may be read afterwards ---- */

static int wait_in_turn(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 1, 2, 10, 20 };
	struct await_frame *frame = await_frame(stack);

	frame->runs++;
	GYRE_BEGIN(stack);
	sleep_for(stack, delays_ms, SOME);
	GYRE_AWAIT_ALL(stack, &frame->futures[1]);
	expect(are(stack, 0, 0, -EINPROGRESS, -EINPROGRESS));
	/* Both have ended: the handler goes on, and nothing is recycled. */
	GYRE_AWAIT_ALL(stack, &frame->futures[1], &frame->futures[0]);
	expect(frame->runs == 2);
	expect(are(stack, 0, 0, -EINPROGRESS, -EINPROGRESS));
	GYRE_AWAIT_ALL(stack, &frame->futures[0], &frame->futures[2]);
	expect(frame->runs == 3);
	expect(are(stack, 0, -ESTALE, 0, -EINPROGRESS));
	/* What is stale, or was never used, is no reason to wait. */
	frame->futures[1] = (struct gyre_future){ 0 };
	GYRE_AWAIT_ALL(stack, &frame->futures[1], &frame->futures[3], &frame->futures[3],
		       &frame->futures[2], &frame->futures[2]);
	expect(frame->runs == 4);
	expect(are(stack, -ESTALE, 0, 0, 0));
	GYRE_AWAIT_ALL(stack, &frame->futures[0]);
	expect(frame->runs == 4);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_some_keeps_what_is_waited_for_and_ends_what_was_complete_otherwise)
{
	play_steady(wait_in_turn);
}

static int wait_in_all_ways(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 1, 10, 20, 30 };
	struct await_frame *frame = await_frame(stack);
	const struct gyre_future *const first = &frame->futures[0];

	switch (gyre_stack_state(stack)) {
	case 0:
		sleep_for(stack, delays_ms, SOME);
		return gyre_await_all(stack, 1, &first, 1);
	case 1:
		expect(are(stack, 0, -EINPROGRESS, -EINPROGRESS, -EINPROGRESS));
		return gyre_suspend_any(stack, 2);
	case 2:
		expect(are(stack, -ESTALE, 0, -EINPROGRESS, -EINPROGRESS));
		return gyre_suspend(stack, 3);
	default:
		expect(are(stack, -ESTALE, -ESTALE, 0, 0));
		return fixture_end(stack);
	}
}

Test(await, of_some_may_be_followed_by_any_and_by_all)
{
	play_steady(wait_in_all_ways);
}

/* The results of the calls that are thought better of are ignored. */
static int change_mind(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 1, 10, 20, 30 };
	struct await_frame *frame = await_frame(stack);
	const struct gyre_future *const last = &frame->futures[3];
	const struct gyre_future *const two[] = { &frame->futures[1], &frame->futures[2] };
	const struct gyre_future *const first = &frame->futures[0];

	switch (gyre_stack_state(stack)) {
	case 0:
		sleep_for(stack, delays_ms, SOME);
		expect(gyre_await_all(stack, 9, &last, 1) > 0);
		return gyre_suspend_any(stack, 1);
	case 1:
		expect(are(stack, 0, -EINPROGRESS, -EINPROGRESS, -EINPROGRESS));
		expect(gyre_await_all(stack, 9, &last, 1) > 0);
		expect(gyre_future_error(first) == -ESTALE);
		return gyre_await_all(stack, 2, two, 2);
	case 2:
		expect(are(stack, -ESTALE, 0, 0, -EINPROGRESS));
		expect(gyre_await_all(stack, 9, two, 2) == 0);
		expect(gyre_await_all(stack, 9, &last, 1) > 0);
		return gyre_suspend(stack, 3);
	default:
		expect(are(stack, -ESTALE, -ESTALE, -ESTALE, 0));
		return fixture_end(stack);
	}
}

Test(await, of_some_does_not_count_when_the_handler_then_waits_in_another_way)
{
	play_steady(change_mind);
}

/* Takes each answer whose ask has ended, while the others are awaited. */
static int take_in_turn(struct gyre_stack *stack)
{
	struct await_frame *frame = await_frame(stack);
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, 1);
	for (uint32_t i = 0; i < SOME; i++) {
		expect(ask_number(stack, i, i) == 0);
	}
	for (; frame->round < SOME; frame->round++) {
		GYRE_AWAIT_ALL(stack, &frame->futures[frame->round]);
		mail = gyre_future_take(&frame->futures[frame->round]);
		expect(((struct number *)gyre_payload(mail))->value == frame->round + 1);
		gyre_mail_destroy(stack, mail);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_one_after_the_other_lets_each_answer_be_taken)
{
	play(2, take_in_turn);
}

/* ---- bounds and mistakes ---- */

struct many {
	struct gyre_future futures[GYRE_AWAIT_ALL_MAX + 1];
	const struct gyre_future *pointers[GYRE_AWAIT_ALL_MAX + 1];
};

static int wait_for_most(struct gyre_stack *stack)
{
	struct many *many = (struct many *)gyre_state(stack);
	uint64_t sum = 0;
	struct gyre_address to;

	if (gyre_stack_state(stack) == 0) {
		to = spawn_on(stack, &adder_class, 1);
		for (uint32_t i = 0; i <= GYRE_AWAIT_ALL_MAX; i++) {
			many->pointers[i] = &many->futures[i];
			expect(gyre_ask(stack, to, gyre_new(stack, number, i), 0,
					&many->futures[i]) == 0);
		}
		expect(gyre_await_all(stack, 1, many->pointers, GYRE_AWAIT_ALL_MAX + 1) == -EINVAL);
		return gyre_await_all(stack, 1, many->pointers, GYRE_AWAIT_ALL_MAX);
	}
	for (uint64_t i = 0; i < GYRE_AWAIT_ALL_MAX; i++) {
		sum += gyre_future_get(&many->futures[i], number)->value - i;
	}
	expect(sum == GYRE_AWAIT_ALL_MAX);
	return fixture_end(stack);
}

static const struct gyre_class many_class = {
	.name = "many",
	.state_bytes = sizeof(struct many),
	.mount = wait_for_most,
};

static int spawn_many(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &many_class);
	return gyre_return(stack);
}

Test(await, of_as_many_as_it_takes_and_refuses_one_more)
{
	play(2, spawn_many);
}

static int await_wrongly(struct gyre_stack *stack)
{
	struct await_frame *frame = await_frame(stack);
	const struct gyre_future *const futures[] = { &frame->futures[0], NULL };
	const struct gyre_future *const unused = &frame->futures[1];

	if (gyre_stack_state(stack) == 0) {
		expect(gyre_await_all(stack, 1, &unused, 1) == 0);
		expect(gyre_sleep(stack, 0, &frame->futures[0]) == 0);
		expect(gyre_await_all(stack, 0, futures, 1) == -EINVAL);
		expect(gyre_await_all(stack, 1, NULL, 1) == -EINVAL);
		expect(gyre_await_all(stack, 1, futures, 0) == -EINVAL);
		expect(gyre_await_all(stack, 1, futures, 2) == -EINVAL);
		expect(gyre_future_error(&frame->futures[0]) == -EINPROGRESS);
		return gyre_await_all(stack, 1, futures, 1);
	}
	expect(gyre_future_error(&frame->futures[0]) == 0);
	return fixture_end(stack);
}

Test(await, of_nothing_or_in_state_0_is_refused_and_changes_nothing)
{
	play(1, await_wrongly);
}

/* The first ask makes a promise that it keeps in the state; the second waits for it. */
static int await_others(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_state(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value == 1) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, future));
	}
	GYRE_AWAIT_ALL(stack, future);
	return gyre_reply(stack, gyre_new(stack, number, 1));
	GYRE_END(stack);
}

static const struct gyre_class others_class = {
	.name = "others",
	.state_bytes = sizeof(struct gyre_future),
	.behaviour.ask = await_others,
};

static int ask_others(struct gyre_stack *stack)
{
	struct await_frame *frame = await_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &others_class);
	expect(ask_number(stack, 0, 1) == 0);
	expect(ask_number(stack, 1, 2) == 0);
	GYRE_AWAIT_ALL(stack, &frame->futures[1]);
	expect(gyre_future_error(&frame->futures[1]) == -EINVAL);
	expect(gyre_future_error(&frame->futures[0]) == -EINPROGRESS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_what_another_stack_has_made_fails_the_message)
{
	play(1, ask_others);
	cr_assert_eq(fixture.counters.failed, 1);
}

/* ---- ends ---- */

static int await_parcels(struct gyre_stack *stack)
{
	struct await_frame *frame = await_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = gyre_message(stack, place)->address;
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->futures[0]) == 0);
	expect(gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->futures[1]) == 0);
	expect(gyre_sleep(stack, 0, &frame->futures[2]) == 0);
	GYRE_AWAIT_ALL(stack, &frame->futures[2], &frame->futures[1]);
	expect(*gyre_future_get(&frame->futures[1], parcel)->goods == 2);
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT_ALL(stack, &frame->futures[0], &frame->futures[1]);
	expect(false);
	GYRE_END(stack);
}

static const struct gyre_class waiting_class = {
	.name = "waiting",
	.frame_bytes = sizeof(struct await_frame),
	.behaviour.ask = await_parcels,
};

static int give_parcel(struct gyre_stack *stack)
{
	return gyre_reply(stack, parcel(stack, 2));
}

/* Stops the waiting one while it keeps an answer, and waits for its promises. */
static int stop_waiting(struct gyre_stack *stack)
{
	static const struct gyre_class giving_class = { .name = "giving",
							.behaviour.ask = give_parcel };
	struct await_frame *frame = await_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &waiting_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to,
				   gyre_new(stack, place, spawn_here(stack, &giving_class)), 0,
				   &frame->futures[0]));
	expect(gyre_future_error(&frame->futures[0]) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->to, GYRE_MILLISECONDS(1),
					       &frame->futures[0]));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await, of_some_ends_with_its_actor_and_gives_back_what_it_has_kept)
{
	play_parcels(stop_waiting);
	cr_assert_eq(parcels_destroyed, parcels_packed);
}
