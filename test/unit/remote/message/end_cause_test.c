/*
 * Ends of actors that carry the message of their failure to those who watch on another node: of
 * each kind of type, and what is left out. With two nodes, and with a stranger where what goes over
 * the link matters.
 */
#include <errno.h>

#include <gyre/node.h>
#include <gyre/watch.h>

#include "actor/life/watch.h"
#include "base/atomic.h"
#include "remote/message/cause_types.h"
#include "remote/pair.h"
#include "remote/stranger.h"
#include "remote/types.h"
#include "tails.h"

enum { PLAIN, ENCODED, TAIL, UNKNOWN, OWNING, NONE, TOO_LARGE, LARGEST, PACT };
enum { LINE_HEAD_BYTES = 8, LARGEST_BYTES = 65512 - LINE_HEAD_BYTES };

static struct gyre_mail *cause(struct gyre_stack *stack, uint64_t kind)
{
	switch (kind) {
	case ENCODED:
		return pair_order(stack, 20, 100);
	case TAIL:
		return tail_line(stack, 5, 300);
	case UNKNOWN:
		return gyre_new(stack, secret, 7);
	case OWNING:
		return gyre_new(stack, held, 7);
	case NONE:
		return NULL;
	case TOO_LARGE:
		return tail_line(stack, 5, LARGEST_BYTES + 1);
	case LARGEST:
		return tail_line(stack, 5, LARGEST_BYTES);
	default:
		return gyre_new(stack, why, 42);
	}
}

/* ---- those that end ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_throw_with(stack, -EDOM, cause(stack, gyre_message(stack, number)->value));
}

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

static const struct gyre_class doomed_class = { .name = "doomed",
						.behaviour = { .notice = fail, .ask = answer },
						.strategy = GYRE_STRATEGY_STOP };

static int make_doomed(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, place, spawn_here(stack, &doomed_class)));
}

static const struct gyre_class maker_class = { .name = "maker", .behaviour.ask = make_doomed };

/* ---- who watches them ---- */

static uint64_t kind; /* of the cause that is expected */
static uint32_t told; /* atomic */

static void check(const struct gyre_stack *stack)
{
	const struct why *why = gyre_terminated_cause(stack, why);

	expect(gyre_message(stack, gyre_terminated)->reason == -EDOM);
	switch (kind) {
	case PLAIN:
	case PACT:
		expect(why != NULL && why->code == 42);
		return;
	case ENCODED:
		expect(pair_order_is_whole(gyre_terminated_cause(stack, order), 20, 100));
		break;
	case TAIL:
		expect(tail_line_is_whole(gyre_terminated_cause(stack, line), 5, 300));
		break;
	case LARGEST:
		expect(tail_line_is_whole(gyre_terminated_cause(stack, line), 5, LARGEST_BYTES));
		break;
	default:
		expect(gyre_terminated_cause(stack, order) == NULL);
		expect(gyre_terminated_cause(stack, line) == NULL);
		expect(gyre_terminated_cause(stack, secret) == NULL);
		break;
	}
	expect(why == NULL);
}

static int hear(struct gyre_stack *stack)
{
	check(stack);
	(void)gy_fetch_add(&told, 1);
	(void)gyre_unstash(stack, UINT32_MAX);
	return gyre_return(stack);
}

static int watch(struct gyre_stack *stack)
{
	struct gyre_address actor = gyre_message(stack, place)->address;

	expect(gyre_watch(stack, actor) == 0);
	return gyre_return(stack);
}

static int when_told(struct gyre_stack *stack)
{
	return gy_load_acquire(&told) == 0 ? gyre_stash(stack)
					   : gyre_reply(stack, gyre_new(stack, number, 0));
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch, .ask = when_told, .event = hear }
};

static int watch_by_pact(struct gyre_stack *stack)
{
	expect(gyre_watch_pact(stack, gyre_message(stack, place)->address) == 0);
	return gyre_return(stack);
}

static const struct gyre_class partner_class = { .name = "partner",
						 .behaviour.notice = watch_by_pact };

/* The watcher watches the other, or the partner of the other. */
static struct gyre_address watch_all(struct gyre_stack *stack, struct gyre_address other)
{
	struct gyre_address watcher = spawn_here(stack, &watcher_class);

	if (kind == PACT) {
		struct gyre_address partner = spawn_here(stack, &partner_class);

		expect(gyre_notify(stack, partner, gyre_new(stack, place, other)) == 0);
		other = partner;
	}
	expect(gyre_notify(stack, watcher, gyre_new(stack, place, other)) == 0);
	return watcher;
}

struct frame {
	struct gyre_future future;
	struct gyre_address maker;
	struct gyre_address doomed;
	struct gyre_address watcher;
};

static int end_all(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->maker = gyre_future_get(&frame->future, gyre_node_found)->address;
	for (kind = PLAIN; kind <= PACT; kind++) {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->maker, gyre_new(stack, number, 0), 0,
					   &frame->future));
		expect(gyre_future_error(&frame->future) == 0);
		frame->doomed = gyre_future_get(&frame->future, place)->address;
		gy_store_release(&told, 0);
		frame->watcher = watch_all(stack, frame->doomed);
		/* The watch has arrived when the answer comes. */
		GYRE_AWAIT(stack, gyre_ask(stack, frame->doomed, gyre_new(stack, number, 0), 0,
					   &frame->future));
		expect(gyre_future_error(&frame->future) == 0);
		expect(gyre_notify(stack, frame->doomed, gyre_new(stack, number, kind)) == 0);
		GYRE_AWAIT(stack, gyre_ask(stack, frame->watcher, gyre_new(stack, number, 0),
					   GYRE_FOREVER, &frame->future));
		expect(gy_load_acquire(&told) == 1);
		expect(gyre_stop(stack, frame->watcher) == 0);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(end_cause, comes_from_another_node_if_its_type_is_known_and_travels)
{
	static const struct gyre_type *const types[] = { &gyre_type_why,   &gyre_type_order,
							 &gyre_type_line,  &gyre_type_number,
							 &gyre_type_place, NULL };
	const struct gyre_node_options options = { .types = types };
	const struct pair pair = {
		.script = end_all, .class = &maker_class, .first = options, .second = options
	};

	pair_play(&pair);
	cr_assert_eq(destroyed, 1);
	cr_assert_eq(pair_orders, 0);
}

/* ---- a stranger who watches ---- */

static const struct gyre_type *const stranger_types[] = { &gyre_type_why, &gyre_type_order,
							  &gyre_type_number, NULL };

static void say_watch(struct stranger *stranger, struct gyre_address local, uint32_t from_slot)
{
	static const unsigned char round[4];
	const struct gy_frame frame = { .kind = GY_WIRE_EVENT,
					.to_loop = local.loop,
					.to_slot = local.slot,
					.to_cookie = local.cookie,
					.from_slot = from_slot,
					.from_cookie = 9,
					.type = gy_type_watch.id,
					.ask_id = from_slot,
					.bytes = sizeof(round),
					.body = round };

	stranger_say_frame(stranger, &frame);
}

/* What came before has been handled when the answer comes. */
static void ask_doomed(struct stranger *in, struct stranger *out, struct gyre_address local)
{
	const struct number one = { 1 };
	const struct gy_frame frame = { .kind = GY_WIRE_ASK,
					.to_loop = local.loop,
					.to_slot = local.slot,
					.to_cookie = local.cookie,
					.from_slot = 7,
					.from_cookie = 9,
					.type = GYRE_ID(number),
					.layout = gy_type_layout(&gyre_type_number),
					.left = gy_wire_left_encode(10000),
					.ask_id = 3,
					.index = GY_WIRE_HEADS,
					.bytes = sizeof(one),
					.body = (const unsigned char *)&one };

	stranger_say_frame(in, &frame);
	if (out->fd < 0) {
		stranger_welcome(out);
	}
	stranger_expect(out, GY_WIRE_REPLY);
}

static struct gyre_address meet(struct stranger *in, struct stranger *out,
				struct gyre_node_options options)
{
	struct gyre_address local;

	options.types = stranger_types;
	local = stranger_open_with(&options, &doomed_class);
	out->fd = -1;
	stranger_listen(out);
	stranger_meet(in);
	return local;
}

static void part(struct stranger *in, struct stranger *out)
{
	stranger_close(in);
	stranger_close(out);
	fixture_close();
}

Test(end_cause, stands_behind_the_reason_with_its_type_and_its_layout)
{
	struct stranger in;
	struct stranger out;
	struct gyre_decoder body;
	struct gyre_address local = meet(&in, &out, (struct gyre_node_options){ 0 });

	say_watch(&in, local, 1);
	ask_doomed(&in, &out, local);
	cr_assert_eq(notify_outside(local, PLAIN), 0);
	stranger_expect(&out, GY_WIRE_EVENT);
	body = (struct gyre_decoder){ .at = out.frame.body, .left = out.frame.bytes };
	cr_expect_eq(out.frame.type, GYRE_ID(gyre_terminated));
	cr_expect_eq(gyre_decode_u32(&body), local.slot);
	cr_expect_eq(gyre_decode_u32(&body), local.cookie);
	cr_expect_eq(gyre_decode_u32(&body), local.loop);
	cr_expect_eq(gyre_decode_u32(&body), (uint32_t)-EDOM);
	cr_expect_eq(gyre_decode_u32(&body), GYRE_ID(why));
	cr_expect_eq(gyre_decode_u32(&body), gy_type_layout(&gyre_type_why));
	cr_expect_eq(gyre_decode_u32(&body), 42);
	cr_expect_eq(body.left, 0);
	cr_expect_eq(body.error, 0);
	part(&in, &out);
}

enum { WATCHERS = 40 };

/* Nobody credits anything, so that the link is full soon. */
Test(end_cause, is_left_out_when_the_link_is_full_but_the_end_is_not)
{
	struct stranger in;
	struct stranger out;
	uint32_t with_cause = 0;
	struct gyre_address local =
		meet(&in, &out, (struct gyre_node_options){ .link_bytes_max = 1 << 18 });

	for (uint32_t i = 1; i <= WATCHERS; i++) {
		say_watch(&in, local, i);
	}
	ask_doomed(&in, &out, local);
	cr_assert_eq(notify_outside(local, LARGEST), 0);
	for (uint32_t i = 1; i <= WATCHERS; i++) {
		stranger_expect(&out, GY_WIRE_EVENT);
		cr_assert_eq(out.frame.type, GYRE_ID(gyre_terminated));
		with_cause += out.frame.bytes > GY_WIRE_END_BYTES;
	}
	cr_expect_eq(with_cause, 3);
	part(&in, &out);
}

/* It waits for a peer that never comes back. */
Test(end_cause, goes_with_the_mail_that_finds_no_way)
{
	struct stranger in;
	struct stranger out;
	struct gyre_address local = meet(&in, &out, (struct gyre_node_options){ 0 });

	say_watch(&in, local, 1);
	ask_doomed(&in, &out, local);
	stranger_close(&out);
	cr_assert_eq(notify_outside(local, ENCODED), 0);
	stranger_close(&in);
	fixture_close();
	cr_expect_eq(pair_orders, 0);
}

/* ---- a stranger who is watched ---- */

static struct gyre_address watched = {
	.slot = 5, .cookie = 6, .loop = 0, .node = STRANGER_ID, .life = STRANGER_LIFE
};
static uint32_t code; /* of the cause; 0 for none */

static int note_end(struct gyre_stack *stack)
{
	const struct why *why = gyre_terminated_cause(stack, why);

	code = why == NULL ? 0 : why->code;
	expect(gyre_message(stack, gyre_terminated)->reason == -EDOM);
	(void)gy_fetch_add(&told, 1);
	(void)gyre_unstash(stack, UINT32_MAX);
	return gyre_return(stack);
}

static int watch_stranger(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, watched) == 0);
	return gyre_return(stack);
}

static const struct gyre_class noting_class = {
	.name = "noting",
	.behaviour = { .notice = watch_stranger, .ask = when_told, .event = note_end }
};

enum { END_BYTES_MAX = 64 };

/* An end with more bytes behind it. */
static void say_end(struct stranger *stranger, const struct gy_frame *watch,
		    const struct gyre_encoder *more)
{
	unsigned char body[END_BYTES_MAX];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };
	struct gy_frame frame = { .kind = GY_WIRE_EVENT,
				  .to_loop = watch->from_loop,
				  .to_slot = watch->from_slot,
				  .to_cookie = watch->from_cookie,
				  .type = GYRE_ID(gyre_terminated),
				  .ask_id = watch->ask_id,
				  .body = body };

	gyre_encode_u32(&out, watched.slot);
	gyre_encode_u32(&out, watched.cookie);
	gyre_encode_u32(&out, watched.loop);
	gyre_encode_u32(&out, (uint32_t)-EDOM);
	gyre_encode_bytes(&out, more->bytes, more->count);
	frame.bytes = (uint32_t)out.count;
	stranger_say_frame(stranger, &frame);
}

/* Says an end with that type, that layout, and so many bytes of the cause; broken ones first. */
static void end_with(uint32_t type, uint32_t layout, uint32_t count, bool broken_first)
{
	unsigned char bytes[END_BYTES_MAX / 2];
	struct gyre_encoder more = { .bytes = bytes, .room = sizeof(bytes), .max = sizeof(bytes) };
	struct stranger in;
	struct stranger out;
	struct gyre_node_options options = stranger_quick;
	struct gyre_address local;

	options.types = stranger_types;
	told = 0;
	code = 77;
	local = stranger_open_with(&options, &noting_class);
	stranger_listen(&out);
	cr_assert_eq(notify_outside(local, 0), 0);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_EVENT);
	stranger_meet(&in);
	gyre_encode_u32(&more, type);
	gyre_encode_u32(&more, layout);
	gyre_encode_u32(&more, 42);
	gyre_encode_u32(&more, 43);
	for (more.count = 1; broken_first && more.count < 8; more.count++) {
		say_end(&in, &out.frame, &more);
	}
	more.count = 8 + count;
	say_end(&in, &out.frame, &more);
	stranger_await_answer(local);
	cr_expect_eq(told, 1);
	part(&in, &out);
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_NOT_UNDERSTOOD], broken_first ? 7 : 0);
}

Test(end_cause, is_heard_of_a_stranger)
{
	end_with(GYRE_ID(why), gy_type_layout(&gyre_type_why), 4, false);
	cr_expect_eq(code, 42);
}

Test(end_cause, that_is_not_understood_leaves_the_reason_alone)
{
	end_with(GYRE_ID(why), gy_type_layout(&gyre_type_why), 3, false);
	cr_expect_eq(code, 0);
	end_with(GYRE_ID(why), gy_type_layout(&gyre_type_why), 8, false);
	cr_expect_eq(code, 0);
	end_with(GYRE_ID(why), gy_type_layout(&gyre_type_why) ^ 1U, 4, false);
	cr_expect_eq(code, 0);
	end_with(GYRE_ID(secret), gy_type_layout(&gyre_type_secret), 4, false);
	cr_expect_eq(code, 0);
	end_with(GYRE_ID(gyre_terminated), 0, 4, false);
	cr_expect_eq(code, 0);
	end_with(GYRE_ID(order), gy_type_layout(&gyre_type_order), 4, false);
	cr_expect_eq(code, 0);
	cr_expect_eq(pair_orders, 0);
}

Test(end_cause, of_which_only_a_part_is_there_makes_the_end_no_message)
{
	end_with(GYRE_ID(why), gy_type_layout(&gyre_type_why), 4, true);
	cr_expect_eq(code, 42);
}
