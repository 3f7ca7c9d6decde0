/*
 * Payloads that are moved out of their mail: whose they are then, and what is still shown.
 */
#include "actor/parcel_rig.h"

/* ---- messages ---- */

static int keep_notice(struct gyre_stack *stack)
{
	struct parcel mine = { 0 };
	struct number other;

	expect(gyre_move(stack, number, &other) == -ENOENT);
	expect(gyre_message(stack, parcel) != NULL);
	expect(gyre_move(stack, parcel, &mine) == 0);
	expect(unpack(&mine) == 5);
	expect(gyre_message_id(stack) == 0);
	expect(gyre_message(stack, parcel) == NULL);
	expect(!gyre_address_is_nobody(gyre_sender(stack)));
	expect(gyre_take(stack) == NULL);
	expect(gyre_move(stack, parcel, &mine) == -ENOENT);
	return fixture_end(stack);
}

static const struct gyre_class keeping_class = { .name = "keeping",
						 .behaviour.notice = keep_notice };

static int tell_keeping(struct gyre_stack *stack)
{
	return gyre_notify(stack, spawn_target(stack, &keeping_class), parcel(stack, 5));
}

Test(move, of_a_notice_leaves_no_message_and_nothing_to_destroy)
{
	play_parcels(tell_keeping);
	cr_assert_eq(parcels_destroyed, 0);
}

static int keep_question(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct parcel mine;

	GYRE_BEGIN(stack);
	expect(gyre_move(stack, parcel, &mine) == 0);
	expect(unpack(&mine) == 6);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	expect(gyre_message(stack, parcel) == NULL);
	return gyre_reply(stack, parcel(stack, 7));
	GYRE_END(stack);
}

static const struct gyre_class answering_class = {
	.name = "answering",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = keep_question,
};

static int ask_and_keep_answer(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct parcel mine;
	struct number other;

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &answering_class);
	expect(gyre_ask(stack, frame->to, parcel(stack, 6), 0, &frame->future) == 0);
	expect(gyre_future_move(&frame->future, parcel, &mine) == -ENOENT);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_move(&frame->future, number, &other) == -ENOENT);
	expect(gyre_future_move(&frame->future, parcel, &mine) == 0);
	expect(unpack(&mine) == 7);
	expect(gyre_future_get(&frame->future, parcel) == NULL);
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_move(&frame->future, parcel, &mine) == -ENOENT);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(move, of_a_question_leaves_it_to_be_answered_and_of_its_answer_no_error)
{
	play_parcels(ask_and_keep_answer);
	cr_assert_eq(parcels_destroyed, 0);
}

static int throw_moved(struct gyre_stack *stack)
{
	struct parcel mine;

	expect(gyre_move(stack, parcel, &mine) == 0);
	(void)unpack(&mine);
	return gyre_throw(stack, -EIO);
}

static int ask_throwing(struct gyre_stack *stack)
{
	static const struct gyre_class throwing_class = { .name = "throwing",
							  .behaviour.ask = throw_moved };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &throwing_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -EIO);
	expect(gyre_future_move(&frame->future, parcel, &(struct parcel){ 0 }) == -ENOENT);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(move, before_a_failure_is_not_destroyed_again)
{
	play_parcels(ask_throwing);
	cr_assert_eq(parcels_destroyed, 0);
}

/* ---- arguments ---- */

static int move_in(struct gyre_stack *stack)
{
	expect(gyre_move(stack, parcel, (struct parcel *)gyre_state(stack)) == 0);
	return fixture_end(stack);
}

static void unpack_state(void *state)
{
	expect(unpack((struct parcel *)state) == 4);
}

static int spawn_owner(struct gyre_stack *stack)
{
	static const struct gyre_class owning_class = {
		.name = "owning",
		.state_bytes = sizeof(struct parcel),
		.mount = move_in,
		.clean = unpack_state,
	};
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = parcel_loop };
	struct gyre_address to;

	return gyre_spawn(stack, &owning_class, parcel(stack, 4), &there, &to);
}

Test(move, of_an_argument_into_the_state_is_for_the_life_of_the_actor)
{
	play_parcels(spawn_owner);
	cr_assert_eq(parcels_destroyed, 0);
}

/* ---- batches ---- */

static bool all(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(parcel);
}

static int keep_first(struct gyre_stack *stack)
{
	struct parcel mine;
	uint32_t count = gyre_batch_count(stack);

	expect(gyre_batch_move(stack, 0, number, &(struct number){ 0 }) == -ENOENT);
	expect(gyre_batch_move(stack, count, parcel, &mine) == -ENOENT);
	expect(gyre_batch_move(stack, 0, parcel, &mine) == 0);
	expect(unpack(&mine) == 1);
	expect(gyre_batch_get(stack, 0, parcel) == NULL);
	expect(gyre_batch_move(stack, 0, parcel, &mine) == -ENOENT);
	expect(!gyre_address_is_nobody(gyre_batch_sender(stack, 0)));
	for (uint32_t i = 0; i < count; i++) {
		expect(gyre_batch_reply(stack, i, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

static int ask_batching(struct gyre_stack *stack)
{
	static const struct gyre_class batching_class = {
		.name = "batching",
		.behaviour.ask_batch = keep_first,
		.batch_asks = all,
	};
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &batching_class);
	expect(gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, parcel(stack, 1), 0, &frame->other));
	expect(gyre_future_get(&frame->future, number)->value == 0);
	expect(gyre_future_error(&frame->other) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(move, of_one_of_a_batch_leaves_the_others_and_all_the_answers)
{
	play_parcels(ask_batching);
}

/* ---- plain messages ---- */

static int move_plain(struct gyre_stack *stack)
{
	struct number mine = { 0 };

	expect(gyre_move(stack, number, &mine) == 0);
	expect(mine.value == 11);
	expect(gyre_message_id(stack) == 0);
	return gyre_reply(stack, gyre_new(stack, number, mine.value + 1));
}

static int ask_plain(struct gyre_stack *stack)
{
	static const struct gyre_class plain_class = { .name = "plain",
						       .behaviour.ask = move_plain };
	struct frame *frame = frame_of(stack);
	struct number mine;

	GYRE_BEGIN(stack);
	expect(gyre_move(stack, number, &mine) == -ENOENT);
	frame->to = spawn_here(stack, &plain_class);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 11), 0, &frame->future));
	expect(gyre_future_move(&frame->future, number, &mine) == 0);
	expect(mine.value == 12);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(move, works_for_plain_messages_too)
{
	play(1, ask_plain);
}
