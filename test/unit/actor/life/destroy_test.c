/*
 * Destructors of payloads: once each, wherever a mail may end.
 */
#include "actor/parcel_rig.h"

#include "base/atomic.h"

/* ---- those that are handled ---- */

static int tell_sink(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &sink_class);
	for (uint64_t i = 0; i < 100; i++) {
		expect(gyre_notify(stack, frame->to, parcel(stack, i)) == 0);
	}
	expect(gyre_notify(stack, frame->to, gyre_new(stack, crate, .parcel = pack(1))) == 0);
	/* Behind the others, so they have been handled when it fails. */
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 100), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOMSG);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_once_to_what_was_handled)
{
	play_parcels(tell_sink);
	cr_assert_eq(parcels_destroyed, parcels_packed);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class failing_class = { .name = "failing",
						 .behaviour = { .notice = fail, .ask = fail } };

static int tell_failing(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &failing_class);
	expect(gyre_notify(stack, frame->to, parcel(stack, 1)) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 2), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -EIO);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_once_to_what_a_handler_failed_with)
{
	play_parcels(tell_failing);
}

static int pass_on(struct gyre_stack *stack)
{
	struct gyre_address end = { 0 };

	if (gyre_message(stack, place) != NULL) {
		*(struct gyre_address *)gyre_state(stack) = gyre_message(stack, place)->address;
		return gyre_return(stack);
	}
	end = *(struct gyre_address *)gyre_state(stack);
	return gyre_notify(stack, end, gyre_take(stack));
}

static int count_and_end(struct gyre_stack *stack)
{
	expect(*gyre_message(stack, parcel)->goods == 7);
	return fixture_end(stack);
}

static const struct gyre_class passing_class = { .name = "passing",
						 .state_bytes = sizeof(struct gyre_address),
						 .behaviour.notice = pass_on };
static const struct gyre_class ending_class = { .name = "ending",
						.behaviour.notice = count_and_end };

static int tell_passing(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_target(stack, &passing_class);
	struct gyre_address end = spawn_on(stack, &ending_class, 1 - parcel_loop);

	expect(gyre_notify(stack, to, gyre_new(stack, place, end)) == 0);
	return gyre_notify(stack, to, parcel(stack, 7));
}

Test(destroy, happens_at_the_end_of_a_mail_that_was_taken_and_passed_on)
{
	play_parcels(tell_passing);
}

/* ---- answers ---- */

static int answer_parcel(struct gyre_stack *stack)
{
	return gyre_reply(stack, parcel(stack, 3));
}

static const struct gyre_class packer_class = { .name = "packer", .behaviour.ask = answer_parcel };

static int ask_packer(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &packer_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->future));
	expect(*gyre_future_get(&frame->future, parcel)->goods == 3);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->other));
	expect(gyre_future_error(&frame->future) == -ESTALE);
	expect(gyre_future_get(&frame->other, parcel) != NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_an_answer_when_it_is_recycled_and_when_its_stack_ends)
{
	play_parcels(ask_packer);
}

static int answer_twice_and_end(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, parcel(stack, 1)) == 0);
	expect(gyre_reply(stack, parcel(stack, 2)) == -EALREADY);
	return fixture_end(stack);
}

static const struct gyre_class twice_class = { .name = "twice",
					       .behaviour.ask = answer_twice_and_end };

static int ask_and_leave(struct gyre_stack *stack)
{
	return gyre_ask(stack, spawn_target(stack, &twice_class), parcel(stack, 1), 0,
			&frame_of(stack)->future);
}

Test(destroy, happens_to_late_answers_and_to_second_ones)
{
	play_parcels(ask_and_leave);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

static int answer_what_was_told(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, parcel(stack, 1)) == -EINVAL);
	return fixture_end(stack);
}

static const struct gyre_class confused_class = { .name = "confused",
						  .behaviour.notice = answer_what_was_told };

static int tell_confused(struct gyre_stack *stack)
{
	return gyre_notify(stack, spawn_target(stack, &confused_class), parcel(stack, 1));
}

Test(destroy, happens_to_an_answer_that_nobody_asked_for)
{
	play_parcels(tell_confused);
}

/* ---- dead letters ---- */

static int tell_nobody(struct gyre_stack *stack)
{
	static const struct gyre_class deaf_class = { .name = "deaf" };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = (struct gyre_address){ .loop = (uint16_t)parcel_loop, .cookie = 1 };
	(void)gyre_notify(stack, frame->to, parcel(stack, 1));
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 2), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ESRCH);
	frame->to.node = 1;
	(void)gyre_notify(stack, frame->to, parcel(stack, 3));
	frame->to = spawn_target(stack, &deaf_class);
	expect(gyre_notify(stack, frame->to, parcel(stack, 4)) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 5), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOSYS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_what_finds_no_actor_or_no_handler)
{
	play_parcels(tell_nobody);
}

static int tell_full(struct gyre_stack *stack)
{
	static const struct gyre_class small_class = {
		.name = "small",
		.behaviour.notice = fail,
		.mailbox_limit = 2,
		.strategy = GYRE_STRATEGY_IGNORE,
	};
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &small_class);
	for (uint64_t i = 0; i < 10; i++) {
		(void)gyre_notify(stack, frame->to, parcel(stack, i));
	}
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 10), 0, &frame->future));
	expect(gyre_future_failed(&frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_what_a_full_mailbox_refuses)
{
	play_parcels(tell_full);
}

static int tell_stopping(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &sink_class);
	expect(gyre_notify(stack, frame->to, parcel(stack, 1)) == 0);
	expect(gyre_poison(stack, frame->to) == 0);
	expect(gyre_notify(stack, frame->to, parcel(stack, 2)) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 3), 0, &frame->future));
	expect(gyre_future_failed(&frame->future));
	frame->to = spawn_target(stack, &sink_class);
	expect(gyre_notify(stack, frame->to, parcel(stack, 4)) == 0);
	expect(gyre_stop(stack, frame->to) == 0);
	(void)gyre_notify(stack, frame->to, parcel(stack, 5));
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 6), 0, &frame->future));
	expect(gyre_future_failed(&frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_what_waits_for_an_actor_that_stops)
{
	play_parcels(tell_stopping);
}

static int wait_in_mount(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame_of(stack)->future));
	GYRE_END(stack);
}

static int ask_too_late(struct gyre_stack *stack)
{
	static struct gyre_class late_class;
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	late_class = sink_class;
	late_class.frame_bytes = FIXTURE_FRAME_BYTES;
	late_class.mount = wait_in_mount;
	frame->to = spawn_target(stack, &late_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 1), 1, &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 2), 0, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_an_ask_that_is_past_its_deadline)
{
	play_parcels(ask_too_late);
}

static int ask_mute_and_end(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &mute_class);
	expect(gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->future) == 0);
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other));
	} while (0);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* The script waits for the sleep and for the mute: the system is ended by another. */
static int end_when_mute_waits(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	while (gy_load_acquire(&mute_waiting) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other));
	}
	mute_waiting = 0;
	return fixture_end(stack);
	GYRE_END(stack);
}

static int ask_mute(struct gyre_stack *stack)
{
	static const struct gyre_class watching_class = {
		.name = "watching",
		.frame_bytes = sizeof(struct frame),
		.mount = end_when_mute_waits,
	};

	if (gyre_stack_state(stack) == 0) {
		(void)spawn_here(stack, &watching_class);
	}
	return ask_mute_and_end(stack);
}

Test(destroy, happens_to_a_question_whose_handler_waits_when_the_system_ends)
{
	play_parcels(ask_mute);
}

/* ---- batches ---- */

static bool all(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(parcel);
}

static int answer_batch(struct gyre_stack *stack)
{
	uint32_t count = gyre_batch_count(stack);

	if (count > 1) {
		expect(gyre_batch_reply_all(stack, parcel(stack, 8)) == -EINVAL);
	}
	for (uint32_t i = 1; i < count; i++) {
		expect(gyre_batch_reply(stack, i, parcel(stack, i)) == 0);
	}
	expect(gyre_batch_reply_all(stack, parcel(stack, 9)) == 0);
	expect(gyre_batch_reply_all(stack, parcel(stack, 9)) == -EINVAL);
	return gyre_return(stack);
}

static int leave_batch(struct gyre_stack *stack)
{
	expect(gyre_batch_reply_all(stack, parcel(stack, 8)) == -EINVAL);
	return gyre_return(stack);
}

static const struct gyre_class batching_class = {
	.name = "batching",
	.behaviour = { .notice_batch = leave_batch, .ask_batch = answer_batch },
	.batch_notices = all,
	.batch_asks = all,
};

static int tell_batching(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &batching_class);
	for (uint64_t i = 0; i < 5; i++) {
		expect(gyre_notify(stack, frame->to, parcel(stack, i)) == 0);
	}
	expect(gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 2), 0, &frame->other));
	expect(*gyre_future_get(&frame->future, parcel)->goods == 9);
	expect(gyre_future_get(&frame->other, parcel) != NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_once_in_a_batch_and_its_answers_are_not_copied)
{
	play_parcels(tell_batching);
}

static int ask_unanswering(struct gyre_stack *stack)
{
	static const struct gyre_class silent_class = {
		.name = "silent",
		.behaviour.ask_batch = gyre_return,
		.batch_asks = all,
	};
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &silent_class);
	expect(gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 2), 0, &frame->other));
	expect(gyre_future_error(&frame->other) == -ENOMSG);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_the_questions_of_a_batch_that_stay_unanswered)
{
	play_parcels(ask_unanswering);
}

/* ---- those that are laid aside ---- */

static uint32_t parcels_seen; /* by one that lays aside */

/* The question of how many are to come back; what is moved out cannot be laid aside. */
static int stash_or_unstash(struct gyre_stack *stack)
{
	struct parcel mine;

	if (gyre_message(stack, number) != NULL) {
		(void)gyre_unstash(stack, 1);
		return gyre_reply(stack, gyre_new(stack, number, gyre_stashed(stack)));
	}
	(void)gy_fetch_add(&parcels_seen, 1);
	if (gyre_stashed(stack) < 3) {
		return gyre_stash(stack);
	}
	expect(gyre_move(stack, parcel, &mine) == 0);
	(void)unpack(&mine);
	expect(gyre_stash(stack) == -EINVAL);
	return gyre_return(stack);
}

static int tell_stashing(struct gyre_stack *stack)
{
	static const struct gyre_class stashing_class = {
		.name = "stashing",
		.behaviour = { .notice = stash_or_unstash, .ask = stash_or_unstash },
	};
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	gy_store_relaxed(&parcels_seen, 0);
	frame->to = spawn_target(stack, &stashing_class);
	for (uint64_t i = 0; i < 5; i++) {
		expect(gyre_notify(stack, frame->to, parcel(stack, i)) == 0);
	}
	while (gy_load_acquire(&parcels_seen) < 5) { /* an ask would overtake them */
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other));
	}
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->future));
	expect(!gyre_future_failed(&frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(destroy, happens_to_what_is_laid_aside_when_its_actor_stops)
{
	play_parcels(tell_stashing);
}

/* ---- those that are not sent ---- */

static int throw_away(struct gyre_stack *stack)
{
	struct gyre_mail *empty = gyre_mail_create(stack, &gyre_type_parcel);

	expect(((struct parcel *)gyre_payload(empty))->goods == NULL);
	gyre_mail_destroy(stack, empty);
	gyre_mail_destroy(stack, gyre_mail_create(stack, &gyre_type_crate));
	gyre_mail_destroy(stack, parcel(stack, 1));
	gyre_mail_destroy(NULL, parcel_outside(2));
	return fixture_end(stack);
}

Test(destroy, happens_to_mail_that_is_thrown_away_also_if_it_was_never_filled)
{
	play_parcels(throw_away);
	cr_assert_eq(parcels_destroyed, 2 * 2);
}

static int send_without_memory(struct gyre_stack *stack)
{
	struct gyre_mail *none = gyre_fill_parcel(NULL, pack(1));

	expect(none == NULL);
	expect(gyre_notify(stack, gyre_self(stack), none) == -ENOMEM);
	expect(gyre_system_new(NULL, parcel, pack(1).goods) == NULL);
	return fixture_end(stack);
}

Test(destroy, happens_to_what_there_was_no_memory_to_send)
{
	play_parcels(send_without_memory);
	cr_assert_eq(parcels_destroyed, 2 * 2);
}

static int put_first_and_stop(struct gyre_stack *stack)
{
	expect(gyre_notify_self_first(stack, parcel(stack, 1)) == 0);
	expect(gyre_notify(stack, gyre_self(stack), parcel(stack, 2)) == 0);
	return fixture_end(stack);
}

static const struct gyre_class first_class = { .name = "first",
					       .mount = put_first_and_stop,
					       .behaviour.notice = gyre_return };

static int spawn_first(struct gyre_stack *stack)
{
	(void)spawn_target(stack, &first_class);
	return gyre_return(stack);
}

Test(destroy, happens_to_what_an_actor_tells_itself_at_the_end)
{
	play_parcels(spawn_first);
}

/* ---- arguments of spawns ---- */

static int spawn_with_parcels(struct gyre_stack *stack)
{
	static const struct gyre_class mounting_class = { .name = "mounting",
							  .mount = gyre_return };
	static const struct gyre_class failing_mount_class = { .name = "failing", .mount = fail };
	static const struct gyre_class nameless_class = { .name = NULL };
	struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = parcel_loop };
	struct gyre_spawn_options nowhere = { .place = GYRE_PLACE_LOOP, .loop = 9 };
	struct gyre_address to;

	expect(gyre_spawn(stack, &mounting_class, parcel(stack, 1), &there, &to) == 0);
	expect(gyre_spawn(stack, &failing_mount_class, parcel(stack, 1), &there, &to) == 0);
	expect(gyre_spawn(stack, &sink_class, parcel(stack, 2), &there, &to) == 0);
	expect(gyre_spawn(stack, &nameless_class, parcel(stack, 3), &there, &to) == -EINVAL);
	expect(gyre_spawn(stack, &sink_class, parcel(stack, 4), &nowhere, &to) == -EINVAL);
	return fixture_end(stack);
}

Test(destroy, happens_to_arguments_of_spawns_that_work_and_that_do_not)
{
	play_parcels(spawn_with_parcels);
}

/* ---- outside ---- */

static int end_at_once(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

Test(destroy, happens_to_what_comes_from_outside_before_and_after_the_end)
{
	static const struct gyre_class end_class = { .name = "end",
						     .behaviour.notice = end_at_once };
	struct gyre_address nowhere = { .loop = 7, .cookie = 1 };
	struct gyre_address to;

	fixture_open(1);
	to = spawn_outside(&end_class, 0);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(gyre_system_notify(fixture.system, to, parcel_outside(i)), 0);
	}
	cr_assert_eq(gyre_system_notify(fixture.system, nowhere, parcel_outside(3)), -EINVAL);
	fixture_run();
	cr_assert_eq(gyre_system_notify(fixture.system, to, parcel_outside(4)), -ESHUTDOWN);
	cr_assert_eq(
		gyre_system_spawn(fixture.system, &end_class, parcel_outside(5), NULL, &nowhere),
		-ESHUTDOWN);
	fixture_close();
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, 6);
}

Test(destroy, happens_in_a_system_that_never_runs)
{
	struct gyre_address to;

	fixture_open(2);
	to = spawn_outside(&sink_class, 1);
	cr_assert_eq(gyre_system_notify(fixture.system, to, parcel_outside(1)), 0);
	cr_assert_eq(gyre_system_spawn(fixture.system, &sink_class, parcel_outside(2), NULL, &to),
		     0);
	cr_assert_eq(gyre_system_spawn(fixture.system, NULL, parcel_outside(3), NULL, &to),
		     -EINVAL);
	fixture_close();
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, 3);
}
