/*
 * Watches of actors on another node: one event each, whatever becomes of actor, link and node. With
 * two nodes, and with a stranger where what goes over the link matters.
 */
#include <errno.h>
#include <unistd.h>

#include <gyre/watch.h>

#include "actor/life/watch.h"
#include "base/atomic.h"
#include "pair.h"
#include "remote/peer/rounds.h"
#include "remote/stranger.h"
#include "remote/types.h"

static struct gyre_address watched = {
	.slot = 5, .cookie = 6, .loop = 0, .node = STRANGER_ID, .life = STRANGER_LIFE
};
static int reason_told;
static uint32_t times_told;

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, watched));
	reason_told = terminated->reason;
	(void)gy_fetch_add(&times_told, 1);
	return gyre_return(stack);
}

/* Watches when it is told to, and answers when it was told of an end. */
static int watch_it(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, watched) == 0);
	return gyre_return(stack);
}

#define UNTIL_TOLD(stack, frame)                                                              \
	do {                                                                                  \
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &(frame)->future)); \
	} while (gy_load_relaxed(&times_told) == 0)

static int when_told(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	UNTIL_TOLD(stack, frame);
	return gyre_reply(stack, gyre_new(stack, number, times_told));
	GYRE_END(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct pair_frame),
	.behaviour = { .notice = watch_it, .ask = when_told, .event = hear },
};

/* ---- of two nodes ---- */

#define FIND(stack, frame, name)                                                    \
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, (name), 0, &(frame)->future)); \
	expect(gyre_future_error(&(frame)->future) == 0);                           \
	watched = gyre_future_get(&(frame)->future, gyre_node_found)->address

static int watches_one_that_stops(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_notify(stack, spawn_here(stack, &watcher_class), gyre_new(stack, number, 0)) ==
	       0);
	/* An ask, so that the watch has arrived when it stops. */
	GYRE_AWAIT(stack, gyre_ask(stack, watched, gyre_new(stack, number, 1), 0, &frame->future));
	expect(times_told == 0);
	expect(gyre_stop(stack, watched) == 0);
	UNTIL_TOLD(stack, frame);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(remote_watch, tells_of_the_end_of_an_actor_once)
{
	pair_play(&(struct pair){ .script = watches_one_that_stops });
	cr_assert_eq(times_told, 1);
	cr_assert_eq(reason_told, 0);
}

static int watches_one_that_is_gone(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	watched.cookie += 3;
	expect(gyre_notify(stack, spawn_here(stack, &watcher_class), gyre_new(stack, number, 0)) ==
	       0);
	UNTIL_TOLD(stack, frame);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(remote_watch, tells_at_once_of_an_actor_that_is_gone)
{
	pair_play(&(struct pair){ .script = watches_one_that_is_gone });
	cr_assert_eq(times_told, 1);
	cr_assert_eq(reason_told, -ESRCH);
}

/* The last words of the other: the first keeps the others out until the other has lost its name, of
 * which its node tells after the end. */
static int speak_and_end(struct gyre_stack *stack)
{
	for (uint64_t i = 0; i < 4; i++) {
		expect(gyre_notify(stack, gyre_sender(stack), gyre_new(stack, number, i)) == 0);
	}
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class speaker_class = { .name = "speaker",
						 .behaviour.notice = speak_and_end };

static bool is_first(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && ((const struct number *)message)->value == 0;
}

static int hear_words(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	while (gyre_message(stack, number)->value == 0) {
		GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &frame->future));
		if (gyre_future_error(&frame->future) < 0) {
			break;
		}
	}
	expect(times_told == 0);
	trace((char)('0' + gyre_message(stack, number)->value));
	GYRE_END(stack);
}

static int hear_the_end(struct gyre_stack *stack)
{
	trace('T');
	expect(hear(stack) == 0);
	return fixture_end(stack);
}

static int begin_to_hear(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, watched) == 0);
	return gyre_notify(stack, watched, gyre_new(stack, number, 0));
}

static const struct gyre_class hearer_class = {
	.name = "hearer",
	.frame_bytes = sizeof(struct pair_frame),
	.mount = begin_to_hear,
	.barrier = is_first,
	.behaviour = { .notice = hear_words, .event = hear_the_end },
};

static int watches_one_that_speaks(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "other");
	(void)spawn_here(stack, &hearer_class);
	GYRE_END(stack);
}

Test(remote_watch, tells_of_the_end_after_what_was_said_before_it_and_waits_behind_a_barrier)
{
	pair_play(&(struct pair){ .script = watches_one_that_speaks, .class = &speaker_class });
	cr_assert_str_eq(traced, "0123T");
}

static int watches_no_more(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_watch(stack, watched) == 0);
	expect(gyre_unwatch(stack, watched) == 0);
	expect(gyre_unwatch(stack, watched) == -ENOENT);
	expect(gyre_stop(stack, watched) == 0);
	/* What it has told comes before the answer of the next, over the same link. */
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", 0, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(remote_watch, tells_nothing_when_it_was_given_up)
{
	pair_play(&(struct pair){ .script = watches_no_more });
	cr_assert_eq(fixture.lost[GYRE_DROP_UNHANDLED], 0);
	cr_assert_eq(times_told, 0);
}

/* ---- with a stranger ---- */

static void expect_watch(struct stranger *stranger, const struct gyre_type *type)
{
	stranger_expect(stranger, GY_WIRE_EVENT);
	cr_assert_eq(stranger->frame.type, type->id);
	cr_assert_eq(stranger->frame.to_slot, watched.slot);
	cr_assert_eq(stranger->frame.to_cookie, watched.cookie);
}

static uint32_t round_of(const struct stranger *stranger)
{
	struct gyre_decoder in = { .at = stranger->frame.body, .left = stranger->frame.bytes };
	uint32_t round = gyre_decode_u32(&in);

	cr_assert_eq(in.error, 0);
	return round;
}

static void expect_end_of_round(struct stranger *stranger, uint32_t round)
{
	stranger_expect(stranger, GY_WIRE_EVENT);
	cr_assert_eq(stranger->frame.type, gy_type_round_over.id);
	cr_assert_eq(round_of(stranger), round);
}

/* The actor that was watched has ended: says so to who watched it. */
static void say_terminated_for(struct stranger *stranger, const struct gy_frame *watch, int reason)
{
	unsigned char body[16];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };
	struct gy_frame frame = { .kind = GY_WIRE_EVENT,
				  .to_loop = watch->from_loop,
				  .to_slot = watch->from_slot,
				  .to_cookie = watch->from_cookie,
				  .type = GYRE_ID(gyre_terminated),
				  .ask_id = watch->ask_id,
				  .bytes = sizeof(body),
				  .body = body };

	gyre_encode_u32(&out, watched.slot);
	gyre_encode_u32(&out, watched.cookie);
	gyre_encode_u32(&out, watched.loop);
	gyre_encode_u32(&out, (uint32_t)reason);
	stranger_say_frame(stranger, &frame);
}

static void say_terminated(struct stranger *stranger, const struct gy_frame *watch)
{
	say_terminated_for(stranger, watch, 0);
}

/* An answer to an ask has come after all that was said before. */
static void expect_settled(struct stranger *stranger, struct gyre_address local)
{
	const struct number one = { 1 };
	struct gy_frame frame = { .kind = GY_WIRE_ASK,
				  .to_loop = local.loop,
				  .to_slot = local.slot,
				  .to_cookie = local.cookie,
				  .type = gyre_type_number.id,
				  .layout = gy_type_layout(&gyre_type_number),
				  .ask_id = 1,
				  .bytes = sizeof(one),
				  .body = (const unsigned char *)&one };

	stranger_say_frame(stranger, &frame);
}

Test(remote_watch, is_renewed_after_its_link_broke_and_tells_once)
{
	struct gyre_address local;
	struct stranger out;
	struct stranger in;
	struct gy_frame watch;
	uint64_t number;

	local = stranger_open_with(&stranger_quick, &watcher_class);
	stranger_listen(&out);
	cr_assert_eq(notify_outside(local, 0), 0);
	stranger_welcome(&out);
	expect_watch(&out, &gy_type_watch);
	number = out.frame.ask_id;
	cr_assert_eq(close(out.fd), 0);
	stranger_welcome(&out);
	expect_watch(&out, &gy_type_watch);
	cr_assert_eq(out.frame.ask_id, number, "it is the same watch");
	watch = out.frame;
	expect_end_of_round(&out, 1);
	stranger_meet(&in);
	say_terminated(&in, &watch);
	say_terminated(&in, &watch);
	expect_settled(&in, local);
	stranger_expect(&out, GY_WIRE_REPLY);
	cr_assert_eq(times_told, 1);
	stranger_close(&in);
	stranger_close(&out);
	fixture_close();
}

Test(remote_watch, that_is_refused_is_given_up_for_it_may_have_been_taken_since)
{
	struct gyre_address local;
	struct stranger out;
	struct stranger in;

	local = stranger_open_with(&stranger_quick, &watcher_class);
	stranger_listen(&out);
	cr_assert_eq(notify_outside(local, 0), 0);
	stranger_welcome(&out);
	expect_watch(&out, &gy_type_watch);
	stranger_meet(&in);
	say_terminated_for(&in, &out.frame, -EDQUOT);
	expect_watch(&out, &gy_type_unwatch);
	stranger_await_answer(local);
	cr_expect_eq(times_told, 1);
	cr_expect_eq(reason_told, -EDQUOT);
	stranger_close(&in);
	stranger_close(&out);
	fixture_close();
}

Test(remote_watch, tells_of_the_end_of_a_node_once)
{
	struct stranger stranger;
	struct gyre_address local;

	local = stranger_open_with(&stranger_brief, &watcher_class);
	stranger_listen(&stranger);
	cr_assert_eq(notify_outside(local, 0), 0);
	stranger_welcome(&stranger);
	stranger_await_answer(local); /* it says nothing for long enough */
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(times_told, 1);
	cr_assert_eq(reason_told, -EHOSTDOWN);
}

Test(remote_watch, of_a_node_that_cannot_be_reached_is_over)
{
	struct gyre_address local;

	watched.node = STRANGER_ID + 1; /* nobody has told of it */
	local = stranger_open_with(&stranger_quick, &watcher_class);
	cr_assert_eq(notify_outside(local, 0), 0);
	stranger_await_answer(local); /* its event comes in another run */
	fixture_close();
	cr_assert_eq(times_told, 1);
	cr_assert_eq(reason_told, -EHOSTUNREACH);
}

/* What the stranger says of a local actor in a round, as one of its own would. */
static void say_order_of(struct stranger *stranger, const struct gyre_type *type,
			 struct gyre_address local, uint32_t from_slot, uint32_t round)
{
	unsigned char body[4];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };
	const struct gy_frame frame = { .kind = GY_WIRE_EVENT,
					.to_loop = local.loop,
					.to_slot = local.slot,
					.to_cookie = local.cookie,
					.from_slot = from_slot,
					.from_cookie = 9,
					.type = type->id,
					.ask_id = 1,
					.bytes = sizeof(body),
					.body = body };

	gyre_encode_u32(&out, round);
	stranger_say_frame(stranger, &frame);
}

static void say_order(struct stranger *stranger, const struct gyre_type *type,
		      struct gyre_address local, uint32_t from_slot)
{
	say_order_of(stranger, type, local, from_slot, 0);
}

Test(remote_watch, that_is_asked_for_twice_is_told_of_once_and_given_up_by_who_has_it)
{
	struct stranger out;
	struct stranger in;
	uint32_t sum;
	struct gyre_address local =
		stranger_open_with(&(struct gyre_node_options){ 0 }, &sink_class);

	stranger_listen(&out);
	stranger_meet(&in);
	say_order(&in, &gy_type_watch, local, 1);
	say_order(&in, &gy_type_watch, local, 1);
	say_order(&in, &gy_type_watch, local, 2); /* another, with the same number */
	say_order(&in, &gy_type_watch, local, 3);
	say_order(&in, &gy_type_unwatch, local, 2);
	say_order(&in, &gy_type_stop, local, 4);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_EVENT);
	cr_assert_eq(out.frame.type, GYRE_ID(gyre_terminated));
	sum = out.frame.to_slot;
	stranger_expect(&out, GY_WIRE_EVENT);
	cr_assert_eq(sum + out.frame.to_slot, 1 + 3);
	/* Nothing else comes before the answer to what is asked now. */
	expect_settled(&in, local);
	stranger_expect(&out, GY_WIRE_EXCEPTION);
	stranger_close(&in);
	stranger_close(&out);
	fixture_close();
}

static void expect_told(struct stranger *stranger, uint32_t slot, int reason)
{
	struct gyre_decoder in;

	stranger_expect(stranger, GY_WIRE_EVENT);
	cr_assert_eq(stranger->frame.type, GYRE_ID(gyre_terminated));
	cr_expect_eq(stranger->frame.to_slot, slot);
	in = (struct gyre_decoder){ .at = stranger->frame.body + 12, .left = 4 };
	cr_expect_eq((int)gyre_decode_u32(&in), reason);
}

Test(remote_watch, is_refused_to_a_peer_that_has_as_many_as_it_may)
{
	struct gyre_node_status status;
	struct stranger out;
	struct stranger in;
	struct gyre_address local =
		stranger_open_with(&(struct gyre_node_options){ .watches_max = 2 }, &sink_class);

	stranger_listen(&out);
	stranger_meet(&in);
	say_order(&in, &gy_type_watch, local, 1);
	say_order(&in, &gy_type_watch, local, 2);
	say_order_of(&in, &gy_type_watch, local, 1, 1); /* which it has */
	say_order(&in, &gy_type_watch, local, 3);
	stranger_welcome(&out);
	expect_told(&out, 3, -EDQUOT);
	say_order(&in, &gy_type_unwatch, local, 3); /* as who was refused does */
	say_order(&in, &gy_type_unwatch, local, 1);
	say_order(&in, &gy_type_watch, local, 4);
	say_order(&in, &gy_type_watch, local, 5);
	expect_told(&out, 5, -EDQUOT);
	cr_assert_eq(gyre_system_node_status(fixture.system, STRANGER_ID, &status), 0);
	cr_expect_eq(status.watchers, 2);
	/* Those whose orders were lost make room with the end of a round. */
	cr_assert_eq(close(in.fd), 0);
	stranger_meet(&in);
	say_order_of(&in, &gy_type_watch, local, 4, 2);
	say_order_of(&in, &gy_type_round_over, local, 0, 2);
	expect_settled(&in, local);
	stranger_expect(&out, GY_WIRE_EXCEPTION);
	say_order_of(&in, &gy_type_watch, local, 6, 2);
	say_order(&in, &gy_type_stop, local, 7);
	stranger_expect(&out, GY_WIRE_EVENT);
	cr_assert_eq(out.frame.type, GYRE_ID(gyre_terminated));
	stranger_expect(&out, GY_WIRE_EVENT);
	cr_assert_eq(gyre_system_node_status(fixture.system, STRANGER_ID, &status), 0);
	cr_expect_eq(status.watchers, 0);
	stranger_close(&in);
	stranger_close(&out);
	fixture_close();
}
