/*
 * Mail that could not be made: each call that takes a mail answers NULL with -ENOMEM, and does
 * nothing else. No argument is something else than that, and is for spawns only.
 */
#include "fixture.h"

#include <signal.h>

#include <gyre/batch.h>
#include <gyre/group.h>
#include <gyre/offload.h>
#include <gyre/outside.h>

#include "base/atomic.h"

enum { EVERY = 2 };

/* What is given, and what it is answered with. */
static const int errors[EVERY] = { -ENOMEM, -EINVAL };

static struct gyre_mail *given(uint32_t which)
{
	return which == 0 ? NULL : GYRE_NO_ARGUMENT;
}

struct frame {
	struct gyre_future future;
	struct gyre_address to;
	uint32_t which;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- sending ---- */

static int work_nothing(struct gyre_work *work)
{
	expect(work == NULL);
	return 0;
}

static int send_none(struct gyre_stack *stack)
{
	struct gyre_system *system = gyre_system_of(stack);
	struct gyre_future *future = &frame_of(stack)->future;
	struct gyre_address to = spawn_here(stack, &sink_class);

	for (uint32_t i = 0; i < EVERY; i++) {
		expect(gyre_notify(stack, to, given(i)) == errors[i]);
		expect(gyre_notify_self_first(stack, given(i)) == errors[i]);
		expect(gyre_system_notify(system, to, given(i)) == errors[i]);
		expect(gyre_ask(stack, to, given(i), 0, future) == errors[i]);
		expect(gyre_future_error(future) == errors[i]);
		expect(gyre_offload(stack, work_nothing, given(i), 0, future) == errors[i]);
		expect(gyre_future_error(future) == errors[i]);
		gyre_mail_destroy(stack, given(i));
	}
	return fixture_end(stack);
}

Test(no_mail, is_not_sent)
{
	play(1, send_none);
	cr_assert_eq(fixture.counters.failed, 0);
}

static void hear_nothing(struct gyre_mail *answer, int error, void *arg)
{
	expect(answer == NULL && error == 0 && arg == &fixture);
}

Test(no_mail, is_not_sent_from_outside)
{
	struct gyre_address to;

	fixture_open(1);
	to = spawn_outside(&sink_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t i = 0; i < EVERY; i++) {
		cr_assert_eq(gyre_system_notify(fixture.system, to, given(i)), errors[i]);
		cr_assert_eq(gyre_system_ask(fixture.system, to, given(i), 0, NULL), errors[i]);
		cr_assert_eq(gyre_system_ask_callback(fixture.system, to, given(i), 0, hear_nothing,
						      NULL),
			     errors[i]);
		gyre_mail_destroy(NULL, given(i));
	}
	fixture_close();
}

/* ---- answering ---- */

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_none(struct gyre_stack *stack)
{
	uint64_t which = gyre_message(stack, number)->value;

	expect(gyre_reply(stack, given((uint32_t)which)) == errors[which]);
	return gyre_return(stack);
}

static int answer_none_of_a_batch(struct gyre_stack *stack)
{
	uint64_t which = gyre_batch_get(stack, 0, number)->value;

	expect(gyre_batch_reply(stack, 0, given((uint32_t)which)) == errors[which]);
	return gyre_return(stack);
}

static int answer_all_with_none(struct gyre_stack *stack)
{
	expect(gyre_batch_reply_all(stack, NULL) == -ENOMEM);
	expect(gyre_batch_reply_all(stack, GYRE_NO_ARGUMENT) == -EINVAL);
	return gyre_return(stack);
}

static int work_reply(struct gyre_work *work)
{
	uint64_t which = gyre_work_get(work, number)->value;

	expect(gyre_work_reply(work, given((uint32_t)which)) == errors[which]);
	return 0;
}

static const struct gyre_class answering_class = { .name = "answering",
						   .behaviour.ask = answer_none };
static const struct gyre_class batching_class = { .name = "batching",
						  .batch_asks = all,
						  .behaviour.ask_batch = answer_none_of_a_batch };
static const struct gyre_class all_class = { .name = "all",
					     .batch_asks = all,
					     .behaviour.ask_batch = answer_all_with_none };
static const struct gyre_class *asked_class;

static int ask_each(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, asked_class);
	for (frame->which = 0; frame->which < EVERY; frame->which++) {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, frame->which),
					   0, &frame->future));
		expect(gyre_future_error(&frame->future) ==
		       (asked_class == &all_class ? -ENOMEM : errors[frame->which]));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static int offload_each(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->which = 0; frame->which < EVERY; frame->which++) {
		GYRE_AWAIT(stack,
			   gyre_offload(stack, work_reply, gyre_new(stack, number, frame->which), 0,
					&frame->future));
		expect(gyre_future_error(&frame->future) == errors[frame->which]);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(no_mail, for_an_answer_fails_the_ask)
{
	asked_class = &answering_class;
	play(1, ask_each);
}

Test(no_mail, for_an_answer_fails_the_ask_of_a_batch)
{
	asked_class = &batching_class;
	play(1, ask_each);
}

Test(no_mail, for_all_answers_fails_each_ask_of_a_batch)
{
	asked_class = &all_class;
	play(1, ask_each);
}

Test(no_mail, for_the_answer_of_a_piece_of_work_fails_it)
{
	play(1, offload_each);
}

/* ---- spawning ---- */

static uint32_t mounted; /* atomic */

static int mount_without(struct gyre_stack *stack)
{
	expect(gyre_message_id(stack) == 0);
	(void)gy_add_relaxed(&mounted, 1);
	return gyre_return(stack);
}

static const struct gyre_class born_class = { .name = "born", .mount = mount_without };

static int spawn_none(struct gyre_stack *stack)
{
	const struct gyre_group_options three = { .count = 3 };
	const struct gyre_group_options one = { .count = 1 };
	struct gyre_address address;

	expect(gyre_spawn(stack, &born_class, NULL, NULL, &address) == -ENOMEM);
	expect(gyre_group_spawn(stack, &born_class, NULL, &three, &address) == -ENOMEM);
	expect(gyre_group_spawn(stack, &born_class, NULL, &one, &address) == -ENOMEM);
	expect(gyre_group_spawn(stack, &born_class, NULL, NULL, &address) == -ENOMEM);
	return fixture_end(stack);
}

Test(no_mail, for_an_argument_spawns_nobody)
{
	play(2, spawn_none);
	cr_assert_eq(mounted, 0);
	cr_assert_eq(fixture.counters.spawned, 1);
}

Test(no_mail, for_an_argument_spawns_nobody_from_outside)
{
	const struct gyre_group_options three = { .count = 3 };
	struct gyre_address address;

	fixture_open(2);
	cr_assert_eq(gyre_system_spawn(fixture.system, &born_class, NULL, NULL, &address), -ENOMEM);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &born_class, NULL, &three, &address),
		     -ENOMEM);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &born_class, NULL, NULL, &address),
		     -ENOMEM);
	fixture_close();
	cr_assert_eq(fixture.counters.spawned, 0);
}

static int spawn_without(struct gyre_stack *stack)
{
	const struct gyre_group_options three = { .count = 3 };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_spawn(stack, &born_class, GYRE_NO_ARGUMENT, NULL, &frame->to) == 0);
	expect(gyre_group_spawn(stack, &born_class, GYRE_NO_ARGUMENT, &three, &frame->to) == 0);
	expect(gyre_system_spawn(gyre_system_of(stack), &born_class, GYRE_NO_ARGUMENT, NULL,
				 &frame->to) == 0);
	expect(gyre_system_group_spawn(gyre_system_of(stack), &born_class, GYRE_NO_ARGUMENT, &three,
				       &frame->to) == 0);
	while (gy_load_relaxed(&mounted) < 8) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(no_mail, is_no_argument_where_a_spawn_says_so)
{
	play(2, spawn_without);
	cr_assert_eq(mounted, 8);
}

/* ---- sent twice ---- */

static int send_twice(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_here(stack, &sink_class);
	struct gyre_mail *mail = gyre_new(stack, number, 1);

	(void)gyre_notify(stack, to, mail);
	(void)gyre_notify(stack, to, mail);
	return fixture_end(stack);
}

Test(mail, that_is_sent_twice_ends_the_program, .signal = SIGABRT)
{
	play(1, send_twice);
}

static int take_and_send(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_here(stack, &sink_class);

	expect(gyre_notify(stack, to, gyre_take(stack)) == 0);
	return fixture_end(stack);
}

static const struct gyre_class taking_class = { .name = "taking",
						.behaviour.notice = take_and_send };

static int send_to_taker(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_here(stack, &taking_class);

	return gyre_notify(stack, to, gyre_new(stack, number, 1));
}

Test(mail, that_was_taken_may_be_sent_again)
{
	play(1, send_to_taker);
}
