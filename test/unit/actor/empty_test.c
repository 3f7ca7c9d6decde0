/*
 * Messages without members: their payload has no bytes, and everything else is as with others.
 */
#include "fixture.h"

#include <gyre/batch.h>
#include <gyre/group.h>
#include <gyre/move.h>
#include <gyre/outside.h>
#include <gyre/request.h>

#include "base/atomic.h"

enum { BELLS = 5 };

struct bell {
};
GYRE_MESSAGE(bell, 0x1031);

struct pong {
};
GYRE_MESSAGE(pong, 0x1032);

struct ping {
};
GYRE_REQUEST(ping, 0x1033, pong);

struct lamp {
};

static uint32_t lamps_put_out;

static void put_out(struct lamp *lamp)
{
	expect(lamp != NULL);
	lamps_put_out++;
}

GYRE_MESSAGE_OWNING(lamp, 0x1034, put_out);

struct frame {
	struct gyre_future future;
	struct gyre_future futures[BELLS];
	struct gyre_address to;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- one that answers, and is told ---- */

static uint32_t heard; /* atomic */

static int answer(struct gyre_stack *stack)
{
	expect(gyre_message(stack, ping) != NULL);
	return gyre_reply_to(stack, ping);
}

static int hear(struct gyre_stack *stack)
{
	expect(gyre_message(stack, bell) != NULL && gyre_message(stack, ping) == NULL);
	(void)gy_add_relaxed(&heard, 1);
	return gyre_return(stack);
}

static const struct gyre_class hearing_class = { .name = "hearing",
						 .behaviour = { .ask = answer, .notice = hear } };

static int ring(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &hearing_class, 1);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, bell)) == 0);
	expect(gyre_notify(stack, frame->to, gyre_new_copy(stack, bell, &(struct bell){})) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, ping), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_answer_to(&frame->future, ping) != NULL);
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(empty, message_has_no_bytes_and_is_sent_asked_and_answered_like_others)
{
	cr_assert_eq(gyre_type_bell.bytes, 0);
	cr_assert_eq(gyre_type_ping.bytes, 0);
	play(2, ring);
	cr_assert_eq(heard, 2);
}

/* ---- moved, and passed on ---- */

static int pass_on(struct gyre_stack *stack)
{
	struct lamp lamp;

	if (gyre_message(stack, lamp) != NULL) {
		expect(gyre_move(stack, lamp, &lamp) == 0);
		expect(gyre_message(stack, lamp) == NULL);
		return fixture_end(stack);
	}
	expect(gyre_message(stack, bell) != NULL);
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, lamp));
}

static const struct gyre_class passing_class = { .name = "passing", .behaviour.notice = pass_on };

static int ring_for_light(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_here(stack, &passing_class);

	gyre_mail_destroy(stack, gyre_new(stack, lamp));
	return gyre_notify(stack, to, gyre_new(stack, bell));
}

Test(empty, message_that_owns_is_destroyed_unless_it_is_moved)
{
	play(1, ring_for_light);
	cr_assert_eq(lamps_put_out, 1);
}

/* ---- batches ---- */

static bool all(const struct gyre_type *type, const void *message)
{
	expect(message != NULL);
	return type->id == GYRE_ID(ping);
}

static uint32_t batched;

static int answer_all(struct gyre_stack *stack)
{
	uint32_t count = gyre_batch_count(stack);

	for (uint32_t i = 0; i < count; i++) {
		expect(gyre_batch_get(stack, i, ping) != NULL);
	}
	batched += count;
	expect(gyre_batch_reply_to(stack, 0, ping) == 0);
	return gyre_batch_reply_all(stack, gyre_new(stack, pong));
}

static const struct gyre_class batching_class = { .name = "batching",
						  .batch_asks = all,
						  .behaviour.ask_batch = answer_all };

static int ask_batch(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &batching_class);
	for (uint32_t i = 0; i < BELLS; i++) {
		expect(gyre_ask(stack, frame->to, gyre_new(stack, ping), 0, &frame->futures[i]) ==
		       0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < BELLS; i++) {
		expect(gyre_future_answer_to(&frame->futures[i], ping) != NULL);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(empty, messages_are_asked_and_answered_in_a_batch)
{
	play(1, ask_batch);
	cr_assert_eq(batched, BELLS);
}

/* ---- groups ---- */

static int ring_all(struct gyre_stack *stack)
{
	const struct gyre_group_options options = { .count = 4, .routing = GYRE_ROUTING_ALL };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &hearing_class, GYRE_NO_ARGUMENT, &options, &frame->to) ==
	       0);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, bell)) == 0);
	while (gy_load_relaxed(&heard) < 4) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(empty, message_to_a_group_reaches_all_of_its_members)
{
	play(2, ring_all);
	cr_assert_eq(heard, 4);
}

/* ---- from outside ---- */

static int refuse(struct gyre_stack *stack)
{
	expect(gyre_message(stack, ping) != NULL);
	return gyre_throw(stack, -EACCES);
}

static const struct gyre_class refusing_class = { .name = "refusing", .behaviour.ask = refuse };

Test(empty, question_from_outside_is_answered_and_refused)
{
	struct gyre_address refusing;
	struct gyre_address hearing;
	struct gyre_mail *reply = NULL;

	fixture_open(2);
	hearing = spawn_outside(&hearing_class, 1);
	refusing = spawn_outside(&refusing_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_ask(fixture.system, hearing, gyre_system_new(fixture.system, ping),
				     0, &reply),
		     0);
	cr_assert_not_null(gyre_mail_get(reply, pong));
	gyre_mail_destroy(NULL, reply);
	cr_assert_eq(gyre_system_ask(fixture.system, refusing,
				     gyre_system_new(fixture.system, ping), 0, &reply),
		     -EACCES);
	gyre_system_stop(fixture.system);
	fixture_close();
}
