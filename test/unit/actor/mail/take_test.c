/*
 * Whole mails that are taken: from answers, from batches, and for as long as an actor lives. Each
 * is its taker's alone, is given back once, and leaves nothing behind where it was.
 */
#include <errno.h>
#include <signal.h>

#include <gyre/outside.h>
#include <gyre/tail.h>

#include "actor/parcel_rig.h"
#include "base/atomic.h"
#include "base/macros.h"

enum { PARCELS = 3, MANY = 5000, ASKS = 4 };

/* Parcels in a tail, so that no struct has room for them. */
struct truck {
	uint32_t count;
	struct parcel parcels[];
};

static void truck_destroy(struct truck *truck)
{
	for (uint32_t i = 0; i < truck->count; i++) {
		parcel_destroy(&truck->parcels[i]);
	}
}

GYRE_MESSAGE_TAIL_OWNING(truck, 0x1540, parcels, count, truck_destroy);

struct order {
	uint32_t parcels;
};
GYRE_REQUEST(order, 0x1541, truck);

struct silence {
};
GYRE_MESSAGE(silence, 0x1542);

static struct gyre_mail *truck(struct gyre_stack *stack, uint32_t count)
{
	struct gyre_mail *mail = gyre_new_tail(stack, truck, count, 0);
	struct truck *truck = (struct truck *)gyre_payload(mail);

	for (uint32_t i = 0; i < count; i++) {
		truck->parcels[i] = pack(i);
	}
	return mail;
}

static bool truck_is_whole(const struct truck *truck, uint32_t count)
{
	bool whole = truck != NULL && truck->count == count;

	for (uint32_t i = 0; whole && i < count; i++) {
		whole = *truck->parcels[i].goods == i;
	}
	return whole;
}

static int deliver(struct gyre_stack *stack)
{
	return gyre_reply(stack, truck(stack, gyre_message(stack, order)->parcels));
}

static const struct gyre_class depot_class = { .name = "depot", .behaviour.ask = deliver };

static int order_truck(struct gyre_stack *stack, uint32_t parcels)
{
	struct frame *frame = frame_of(stack);

	return gyre_ask(stack, frame->to, gyre_new(stack, order, parcels), 0, &frame->future);
}

/* ---- answers ---- */

static int count_and_end(struct gyre_stack *stack)
{
	expect(truck_is_whole(gyre_message(stack, truck), PARCELS));
	return fixture_end(stack);
}

static const struct gyre_class ending_class = { .name = "ending",
						.behaviour.notice = count_and_end };

static void expect_no_answer(const struct gyre_future *future)
{
	expect(gyre_future_take(future) == NULL);
	expect(gyre_future_get(future, truck) == NULL);
	expect(gyre_future_move(future, parcel, &(struct parcel){ 0 }) == -ENOENT);
}

static int take_answer(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &depot_class);
	GYRE_AWAIT(stack, order_truck(stack, PARCELS));
	expect(truck_is_whole(gyre_future_answer_to(&frame->future, order), PARCELS));
	expect(truck_is_whole(gyre_future_answer_to(&frame->future, order), PARCELS));
	expect(gyre_future_move(&frame->future, truck, &(struct truck){ 0 }) == -EMSGSIZE);
	mail = gyre_future_take(&frame->future);
	expect(truck_is_whole(gyre_mail_get(mail, truck), PARCELS));
	expect(gyre_mail_move(mail, truck, &(struct truck){ 0 }) == -EMSGSIZE);
	expect(gyre_future_error(&frame->future) == 0);
	expect_no_answer(&frame->future);
	return gyre_notify(stack, spawn_on(stack, &ending_class, 1 - parcel_loop), mail);
	GYRE_END(stack);
}

Test(take, of_an_answer_with_a_tail_passes_it_on_whole_and_leaves_no_answer)
{
	play_parcels(take_answer);
	cr_assert_eq(parcels_destroyed, 2 * PARCELS, "where they were passed on to");
}

/* Taken, and given back in all ways that there are; the second is too large for a pool. */
static int take_and_end(struct gyre_stack *stack)
{
	static const uint32_t counts[] = { PARCELS, MANY, 0 };
	struct frame *frame = frame_of(stack);
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &depot_class);
	GYRE_AWAIT(stack, order_truck(stack, counts[0]));
	gyre_mail_destroy(stack, gyre_future_take(&frame->future));
	GYRE_AWAIT(stack, order_truck(stack, counts[1]));
	mail = gyre_future_take(&frame->future);
	expect(truck_is_whole(gyre_mail_get(mail, truck), counts[1]));
	expect(gyre_notify(stack, GYRE_NOBODY, mail) == -ESRCH);
	GYRE_AWAIT(stack, order_truck(stack, counts[2]));
	mail = gyre_future_take(&frame->future);
	expect(gyre_mail_get(mail, truck)->count == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, spawn_here(stack, &sink_class), mail, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOMSG);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(take, of_an_answer_gives_it_back_once_wherever_its_mail_ends)
{
	play_parcels(take_and_end);
	cr_assert_eq(parcels_destroyed, parcels_packed);
}

/* An answer to one is the answer to another: nothing of the first ask may be left in it. */
static int relay(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &depot_class, 1 - parcel_loop);
	GYRE_AWAIT(stack, order_truck(stack, gyre_message(stack, order)->parcels));
	return gyre_reply(stack, gyre_future_take(&frame->future));
	GYRE_END(stack);
}

static const struct gyre_class relay_class = {
	.name = "relay",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = relay,
};

static int ask_relay(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &relay_class);
	GYRE_AWAIT(stack, order_truck(stack, PARCELS));
	expect(truck_is_whole(gyre_future_answer_to(&frame->future, order), PARCELS));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(take, of_an_answer_makes_it_the_answer_to_another_ask)
{
	play_parcels(ask_relay);
	cr_assert_eq(parcels_destroyed, parcels_packed);
}

static int answer_silence(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, silence));
}

static int take_silence(struct gyre_stack *stack)
{
	static const struct gyre_class silent_class = { .name = "silent",
							.behaviour.ask = answer_silence };
	struct frame *frame = frame_of(stack);
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &silent_class);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->future));
	mail = gyre_future_take(&frame->future);
	expect(gyre_mail_get(mail, silence) != NULL);
	expect(gyre_mail_get(mail, truck) == NULL);
	expect_no_answer(&frame->future);
	gyre_mail_destroy(stack, mail);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(take, of_an_answer_without_members_is_a_mail_all_the_same)
{
	play(2, take_silence);
}

/* ---- asks without an answer to take ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static int take_errors(struct gyre_stack *stack)
{
	static const struct gyre_class failing_class = { .name = "failing", .behaviour.ask = fail };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_future_take(&frame->future) == NULL);
	frame->to = spawn_target(stack, &failing_class);
	expect(order_truck(stack, 1) == 0);
	expect_no_answer(&frame->future);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->future) == -EIO);
	expect_no_answer(&frame->future);
	expect(gyre_future_error(&frame->future) == -EIO);
	frame->other = frame->future;
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	expect(gyre_future_error(&frame->other) == -ESTALE);
	expect_no_answer(&frame->other);
	expect_no_answer(&frame->future);
	expect(gyre_future_error(&frame->future) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, NULL, 0, &frame->future));
	expect_no_answer(&frame->future);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(take, of_a_future_without_an_answer_is_nothing_and_changes_nothing)
{
	play(2, take_errors);
}

/* Answers when it is told to, which is too late. */
static int deliver_late(struct gyre_stack *stack)
{
	struct gyre_future *woken = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), woken));
	return gyre_reply(stack, truck(stack, PARCELS));
	GYRE_END(stack);
}

static const struct gyre_class late_class = { .name = "late",
					      .frame_bytes = sizeof(struct gyre_future),
					      .behaviour.ask = deliver_late };

/* The state stays the same while the late answer comes, so that the future may still be read. */
static int take_after_timeout(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0) {
		frame->to = spawn_here(stack, &late_class);
		expect(gyre_ask(stack, frame->to, gyre_new(stack, order, 1), GYRE_MILLISECONDS(5),
				&frame->future) == 0);
		return gyre_suspend(stack, 1);
	}
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	expect_no_answer(&frame->future);
	if (frame->other.promise != NULL) {
		return fixture_end(stack);
	}
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame->other) == 0);
	return gyre_suspend(stack, 1);
}

Test(take, of_an_answer_that_comes_after_the_time_out_is_nothing_and_it_is_given_back)
{
	play_steady(take_after_timeout);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, PARCELS);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

/* ---- answers and notices that several get ---- */

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_all(struct gyre_stack *stack)
{
	expect(gyre_batch_count(stack) == ASKS);
	expect(gyre_batch_take(stack, 0) == NULL); /* it is what the answer goes by */
	expect(gyre_batch_get(stack, 0, number) != NULL);
	expect(gyre_batch_reply_all(stack, truck(stack, 1)) == -EINVAL); /* it cannot be copied */
	return gyre_batch_reply_all(stack, gyre_new(stack, number, 7));
}

struct asks_frame {
	struct gyre_future futures[ASKS];
	struct gyre_address to;
};

static int take_of_all(struct gyre_stack *stack)
{
	static const struct gyre_class answering_class = {
		.name = "answering",
		.behaviour.ask_batch = answer_all,
		.batch_asks = all,
	};
	struct asks_frame *frame = (struct asks_frame *)gyre_frame(stack);
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &answering_class);
	for (uint32_t i = 0; i < ASKS; i++) {
		expect(gyre_ask(stack, frame->to, gyre_new(stack, number, i), 0,
				&frame->futures[i]) == 0);
	}
	GYRE_AWAIT(stack, 0);
	mail = gyre_future_take(&frame->futures[1]);
	for (uint32_t i = 0; i < ASKS; i++) {
		const struct number *got = gyre_future_get(&frame->futures[i], number);

		expect(i == 1 ? got == NULL : got->value == 7);
		expect(got != (const struct number *)gyre_payload(mail));
	}
	gyre_mail_destroy(stack, mail);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(take, of_an_answer_that_all_askers_of_a_batch_get_leaves_the_others_theirs)
{
	play(1, take_of_all);
	assert_all_unpacked();
}

/* Notices of a batch: one goes on, one is moved out, one is given back, and one stays. */
static struct gyre_address next;

static int split_batch(struct gyre_stack *stack)
{
	struct parcel mine;
	struct gyre_mail *mail;

	expect(gyre_batch_count(stack) == 5);
	mail = gyre_batch_take(stack, 0);
	expect(truck_is_whole(gyre_mail_get(mail, truck), PARCELS));
	expect(gyre_batch_take(stack, 0) == NULL);
	expect(gyre_batch_get(stack, 0, truck) == NULL);
	expect(gyre_address_is_nobody(gyre_batch_sender(stack, 0)));
	expect(gyre_batch_move(stack, 0, parcel, &mine) == -ENOENT);
	expect(gyre_batch_count(stack) == 5);
	expect(gyre_batch_move(stack, 1, parcel, &mine) == 0);
	expect(unpack(&mine) == 1);
	expect(gyre_batch_take(stack, 1) == NULL);
	gyre_mail_destroy(stack, gyre_batch_take(stack, 4));
	expect(gyre_batch_take(stack, 5) == NULL);
	expect(*gyre_batch_get(stack, 2, parcel)->goods == 2);
	expect(gyre_notify(stack, next, mail) == 0);
	return *(bool *)gyre_state(stack) ? gyre_throw(stack, -EIO) : gyre_return(stack);
}

static int set_failing(struct gyre_stack *stack)
{
	*(bool *)gyre_state(stack) = gyre_message(stack, number)->value != 0;
	return gyre_return(stack);
}

static const struct gyre_class splitting_class = {
	.name = "splitting",
	.state_bytes = sizeof(bool),
	.mount = set_failing,
	.behaviour.notice_batch = split_batch,
	.batch_notices = all,
	.strategy = GYRE_STRATEGY_IGNORE,
};

static int tell_splitting(struct gyre_stack *stack, bool fails)
{
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP };
	struct gyre_address to;

	next = spawn_on(stack, &ending_class, 1);
	expect(gyre_spawn(stack, &splitting_class, gyre_new(stack, number, fails), &there, &to) ==
	       0);
	expect(gyre_notify(stack, to, truck(stack, PARCELS)) == 0);
	for (uint64_t i = 1; i < 5; i++) {
		expect(gyre_notify(stack, to, parcel(stack, i)) == 0);
	}
	return gyre_return(stack);
}

static int tell_able(struct gyre_stack *stack)
{
	return tell_splitting(stack, false);
}

static int tell_unable(struct gyre_stack *stack)
{
	return tell_splitting(stack, true);
}

Test(take, of_a_notice_of_a_batch_leaves_the_others)
{
	play(2, tell_able);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, PARCELS + 3);
}

Test(take, of_a_notice_of_a_batch_that_then_fails_gives_each_back_once)
{
	play(2, tell_unable);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, PARCELS + 3);
	cr_assert_eq(fixture.counters.failed, 1);
}

static int take_outside_of_batch(struct gyre_stack *stack)
{
	expect(gyre_batch_take(stack, 0) == NULL);
	expect(gyre_mail_keep(stack, NULL) == NULL);
	expect(gyre_mail_keep(stack, GYRE_NO_ARGUMENT) == NULL);
	return fixture_end(stack);
}

Test(take, where_there_is_nothing_is_nothing)
{
	play(1, take_outside_of_batch);
}

/* ---- what is kept ---- */

struct shelf {
	struct gyre_mail *mail;
	bool failed;
};

static uint32_t shelves_cleared; /* atomic */

static void clear_shelf(void *state)
{
	struct shelf *shelf = (struct shelf *)state;

	expect(truck_is_whole(gyre_mail_get(shelf->mail, truck), PARCELS));
	gyre_mail_destroy(NULL, shelf->mail);
	if (gy_fetch_add(&shelves_cleared, 1) == 0) {
		gyre_system_stop(fixture.system);
	}
}

/* Keeps an answer in its state, fails, and is stopped by whoever asks it when it is back. */
static int stock_shelf(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct shelf *shelf = (struct shelf *)gyre_state(stack);

	GYRE_BEGIN(stack);
	if (shelf->mail != NULL) {
		expect(truck_is_whole(gyre_mail_get(shelf->mail, truck), PARCELS));
		return gyre_stop(stack, gyre_self(stack));
	}
	frame->to = spawn_target(stack, &depot_class);
	GYRE_AWAIT(stack, order_truck(stack, PARCELS));
	shelf->mail = gyre_mail_keep(stack, gyre_future_take(&frame->future));
	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 0)) == 0);
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

static int note_restart(struct gyre_stack *stack)
{
	struct shelf *shelf = (struct shelf *)gyre_state(stack);

	expect(truck_is_whole(gyre_mail_get(shelf->mail, truck), PARCELS));
	return gyre_return(stack);
}

static const struct gyre_class shelf_class = {
	.name = "shelf",
	.state_bytes = sizeof(struct shelf),
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = stock_shelf,
	.strategy = GYRE_STRATEGY_RESTART,
	.restart = note_restart,
	.clean = clear_shelf,
};

static int tell_shelf(struct gyre_stack *stack)
{
	shelves_cleared = 0;
	return gyre_notify(stack, spawn_here(stack, &shelf_class), gyre_new(stack, number, 0));
}

Test(take, of_an_answer_that_is_kept_lasts_through_a_restart_and_ends_with_the_actor)
{
	play_parcels(tell_shelf);
	cr_assert_eq(parcels_destroyed, parcels_packed);
	cr_assert_eq(fixture.counters.failed, 1);
}

/* In a frame, of a handler that is never resumed. */
struct kept_frame {
	struct gyre_mail *mail;
	struct gyre_future future;
};

static void free_kept(void *frame, void *state)
{
	(void)state;
	gyre_mail_destroy(NULL, ((struct kept_frame *)frame)->mail);
}

static int keep_and_wait(struct gyre_stack *stack)
{
	struct kept_frame *frame = (struct kept_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->mail = gyre_mail_keep(stack, gyre_take(stack));
	expect(fixture_end(stack) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &frame->future));
	GYRE_END(stack);
}

static const struct gyre_class waiting_class = {
	.name = "waiting",
	.frame_bytes = sizeof(struct kept_frame),
	.frame_clean = free_kept,
	.behaviour.notice = keep_and_wait,
};

static int tell_waiting(struct gyre_stack *stack)
{
	return gyre_notify(stack, spawn_target(stack, &waiting_class),
			   truck(stack, parcel_loop == 0 ? PARCELS : MANY));
}

Test(take, of_a_notice_that_is_kept_in_a_frame_ends_with_it)
{
	play_parcels(tell_waiting);
	cr_assert_eq(parcels_destroyed, PARCELS + MANY);
}

static int keep_and_send(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_keep(stack, truck(stack, PARCELS));

	mail = gyre_mail_keep(stack, mail); /* twice does no harm */
	expect(truck_is_whole(gyre_mail_get(mail, truck), PARCELS));
	return gyre_notify(stack, spawn_target(stack, &ending_class), mail);
}

Test(take, and_keep_does_not_hinder_from_giving_it_away)
{
	play_parcels(keep_and_send);
	cr_assert_eq(parcels_destroyed, 2 * PARCELS);
}

/* ---- mistakes ---- */

static int add_to_taken(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &depot_class);
	GYRE_AWAIT(stack, order_truck(stack, 0));
	mail = gyre_future_take(&frame->future);
	((struct truck *)gyre_payload(mail))->count++;
	return gyre_notify(stack, GYRE_NOBODY, mail);
	GYRE_END(stack);
}

#if GY_ASSERT_LEVEL >= 1
Test(take, of_an_answer_makes_no_room_for_more_elements, .signal = SIGABRT)
{
	play(1, add_to_taken);
}
#endif
