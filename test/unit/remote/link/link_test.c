/*
 * Links that a node dials, to a stranger that behaves as a test wants it to.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <gyre/event.h>
#include <gyre/outside.h>

#include "base/clock.h"
#include "remote/stranger.h"
#include "remote/types.h"

enum { UNKNOWN_ID = 0x7777 };

static const struct gyre_address afar = { .slot = 5, .cookie = 6, .loop = 3, .node = STRANGER_ID };

static int tell(uint64_t value)
{
	return gyre_system_notify(fixture.system, afar,
				  gyre_system_new(fixture.system, number, value));
}

static int tell_large(void)
{
	return gyre_system_notify(fixture.system, afar,
				  gyre_system_mail_create(fixture.system, &gyre_type_large));
}

static int ask_for(struct gyre_address to, uint64_t timeout_ns)
{
	struct gyre_mail *answer = NULL;
	int r = gyre_system_ask(fixture.system, to, gyre_system_new(fixture.system, number, 1),
				timeout_ns, &answer);

	gyre_mail_destroy(NULL, answer);
	return r;
}

/* What was sent from this thread before has been looked at by the loop. */
static void expect_settled(struct gyre_address local)
{
	cr_assert_eq(ask_for(local, GYRE_FOREVER), 0);
}

static struct gyre_node_status status(void)
{
	struct gyre_node_status status = { 0 };

	cr_assert_eq(gyre_system_node_status(fixture.system, STRANGER_ID, &status), 0);
	return status;
}

static void expect_number(struct stranger *stranger, uint64_t value)
{
	stranger_expect(stranger, GY_WIRE_NOTICE);
	cr_assert_eq(stranger->frame.type, gyre_type_number.id);
	cr_assert_eq(stranger->frame.bytes, sizeof(struct number));
	cr_assert_eq(memcmp(stranger->frame.body, &value, sizeof(value)), 0);
}

/* ---- sending ---- */

Test(link, takes_a_notice_from_another_thread_to_another_node_in_order)
{
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_listen(&stranger);
	for (uint64_t i = 0; i < 10; i++) {
		cr_assert_eq(tell(i), 0);
	}
	stranger_welcome(&stranger);
	for (uint64_t i = 0; i < 10; i++) {
		expect_number(&stranger, i);
		cr_assert_eq(stranger.frame.to_slot, afar.slot);
		cr_assert_eq(stranger.frame.to_cookie, afar.cookie);
		cr_assert_eq(stranger.frame.to_loop, afar.loop);
		cr_assert_eq(stranger.frame.from_slot, 0);
		cr_assert_eq(stranger.frame.from_cookie, 0);
		cr_assert_eq(stranger.frame.from_loop, 0);
	}
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.counters.to_nodes, 10);
}

Test(link, is_not_there_for_a_node_that_nobody_told_of)
{
	stranger_open(&(struct gyre_node_options){ 0 });
	cr_assert_eq(ask_for(afar, GYRE_FOREVER), -EHOSTUNREACH);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_NODE_DOWN], 1);
}

Test(link, fails_asks_that_wait_for_a_peer_that_cannot_be_reached)
{
	struct gyre_node_options options = stranger_quick;
	struct stranger stranger;

	options.away_ns = GYRE_MILLISECONDS(20);
	stranger_open(&options);
	stranger_listen(&stranger);
	stranger_close(&stranger); /* nobody listens there any more */
	cr_assert_eq(ask_for(afar, GYRE_FOREVER), -EHOSTUNREACH);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_NODE_DOWN], 1);
}

Test(link, loses_what_is_over_its_bound_and_takes_more_once_the_peer_has_taken_some)
{
	struct stranger stranger;
	struct gyre_address local = stranger_open_with(
		&(struct gyre_node_options){ .link_bytes_max = 1 << 16 }, &adder_class);

	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	stranger_welcome(&stranger);
	expect_number(&stranger, 1);
	cr_assert_eq(tell_large(), 0);
	cr_assert_eq(tell_large(), 0);
	expect_settled(local);
	cr_assert_eq(fixture.lost[GYRE_DROP_LINK_FULL], 1);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	cr_assert_eq(stranger.frame.bytes, sizeof(struct large));
	stranger_credit(&stranger, 32 + sizeof(struct number) + 32 + sizeof(struct large), 2);
	stranger_say(&stranger, GY_WIRE_PING, "", 0);
	while (gy_load_relaxed(&fixture.lost[GYRE_DROP_LINK_FULL]) > 0) {
		uint32_t before = fixture.lost[GYRE_DROP_LINK_FULL];

		/* Until the credit has come, it is lost as well. */
		cr_assert_eq(tell_large(), 0);
		expect_settled(local);
		if (fixture.lost[GYRE_DROP_LINK_FULL] == before) {
			break;
		}
	}
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	stranger_close(&stranger);
	fixture_close();
}

/* Until one more is lost: then the link is full. */
static void fill(struct gyre_address local)
{
	uint32_t before = gy_load_relaxed(&fixture.lost[GYRE_DROP_LINK_FULL]);

	while (gy_load_relaxed(&fixture.lost[GYRE_DROP_LINK_FULL]) == before) {
		cr_assert_eq(tell_large(), 0);
		expect_settled(local);
	}
}

/* Until one is not lost for want of room. */
static void await_room(struct gyre_address local)
{
	uint32_t before;

	do {
		before = gy_load_relaxed(&fixture.lost[GYRE_DROP_LINK_FULL]);
		cr_assert_eq(tell_large(), 0);
		expect_settled(local);
	} while (gy_load_relaxed(&fixture.lost[GYRE_DROP_LINK_FULL]) > before);
}

/* The peer reads no more, and the link holds more than sockets do, so its channel stands over the
 * high mark to the end. What the peer credits is what it read before. */
Test(link, hears_of_credit_while_its_own_output_stands_over_the_high_mark)
{
	const struct gyre_node_options options = { .link_bytes_max = 1 << 24,
						   .heartbeat_ns = GYRE_SECONDS(60) };
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;
	struct gyre_address local = stranger_open_with(&options, &adder_class);
	uint32_t lost;

	hello.window_bytes = 1 << 30;
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	cr_assert_eq(tell_large(), 0);
	stranger_accept(&stranger);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_say_hello(&stranger, &hello);
	expect_number(&stranger, 1);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	cr_assert_eq(stranger.frame.bytes, sizeof(struct large));
	fill(local);
	stranger_credit(&stranger, 32 + sizeof(struct number) + 32 + sizeof(struct large), 2);
	await_room(local);
	lost = gy_load_relaxed(&fixture.lost[GYRE_DROP_LINK_FULL]);
	cr_assert_eq(tell_large(), 0);
	expect_settled(local);
	cr_assert_eq(fixture.lost[GYRE_DROP_LINK_FULL], lost + 1, "there was room for just one");
	cr_assert_eq(status().links, 1);
	cr_assert_eq(status().lost, 0, "it is the same connection");
	stranger_close(&stranger);
	fixture_close();
}

/* ---- credit ---- */

static void expect_credit(struct stranger *stranger, uint64_t bytes, uint64_t frames)
{
	struct gyre_decoder in;

	stranger_expect(stranger, GY_WIRE_CREDIT);
	in = (struct gyre_decoder){ .at = stranger->frame.body, .left = stranger->frame.bytes };
	cr_assert_eq(gyre_decode_u64(&in), bytes);
	cr_assert_eq(gyre_decode_u64(&in), frames);
	cr_assert_eq(in.error, 0);
}

static void say_large(struct stranger *stranger)
{
	static const struct large large;
	const struct gy_frame frame = { .kind = GY_WIRE_NOTICE,
					.to_cookie = 1,
					.type = gyre_type_large.id,
					.layout = gy_type_layout(&gyre_type_large),
					.bytes = sizeof(large),
					.body = (const unsigned char *)&large };

	stranger_say_frame(stranger, &frame);
}

Test(link, credits_a_peer_by_its_own_bound_where_that_is_lower)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .link_bytes_max = 1 << 30,
						   .heartbeat_ns = GYRE_SECONDS(60) });
	hello.window_bytes = 1 << 16;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	say_large(&stranger);
	expect_credit(&stranger, 32 + sizeof(struct large), 1);
	stranger_close(&stranger);
	fixture_close();
}

Test(link, credits_the_rest_with_a_heartbeat)
{
	const struct number one = { 1 };
	const struct gy_frame frame = { .kind = GY_WIRE_NOTICE,
					.to_cookie = 1,
					.type = gyre_type_number.id,
					.layout = gy_type_layout(&gyre_type_number),
					.bytes = sizeof(one),
					.body = (const unsigned char *)&one };
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .heartbeat_ns = GYRE_MILLISECONDS(10) });
	stranger_meet(&stranger);
	stranger_say_frame(&stranger, &frame);
	expect_credit(&stranger, 32 + sizeof(one), 1);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_NO_ACTOR], 1, "nobody was there");
}

static void play_bad_credit(uint64_t bytes, uint64_t frames)
{
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	stranger_welcome(&stranger);
	expect_number(&stranger, 1);
	stranger_credit(&stranger, bytes, frames);
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

Test(link, ends_with_a_peer_that_has_taken_more_bytes_than_there_were)
{
	play_bad_credit(1000, 1);
}

Test(link, ends_with_a_peer_that_has_taken_more_messages_than_there_were)
{
	play_bad_credit(40, 2);
}

/* ---- states ---- */

Test(link, fails_asks_when_its_peer_falls_silent_and_then_at_once)
{
	struct gyre_node_status now;
	struct stranger stranger;

	stranger_open(&stranger_brief);
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	stranger_welcome(&stranger);
	stranger_await_known();
	cr_assert_eq(ask_for(afar, GYRE_FOREVER), -EHOSTDOWN);
	now = status();
	cr_assert_eq(now.state, GYRE_NODE_DOWN);
	cr_assert_eq(now.incarnation, 1000);
	cr_assert_eq(ask_for(afar, GYRE_FOREVER), -EHOSTDOWN);
	stranger_close(&stranger);
	fixture_close();
}

struct lookup_frame {
	struct gyre_future found;
};

static int look_up(struct gyre_stack *stack)
{
	struct lookup_frame *frame = (struct lookup_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_node_lookup(stack, STRANGER_ID, "anybody", GYRE_FOREVER, &frame->found));
	expect(gyre_future_error(&frame->found) == -EHOSTDOWN);
	trace('d');
	return gyre_reply(stack, gyre_new(stack, number, 1));
	GYRE_END(stack);
}

Test(link, fails_lookups_when_its_peer_falls_silent)
{
	static const struct gyre_class looker = { .name = "looker",
						  .frame_bytes = sizeof(struct lookup_frame),
						  .behaviour.ask = look_up };
	struct stranger stranger;
	struct gyre_address local;

	local = stranger_open_with(&stranger_brief, &looker);
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	stranger_welcome(&stranger);
	stranger_await_known();
	cr_assert_eq(ask_for(local, GYRE_FOREVER), 0);
	cr_assert_str_eq(traced, "d");
	stranger_close(&stranger);
	fixture_close();
}

/* It only ever came by itself, and goes without a word: nobody has asked it anything. */
static int node_watch(struct gyre_stack *stack)
{
	expect(gyre_node_watch(stack) == 0);
	expect(gyre_node_watch(stack) == 0);
	return gyre_return(stack);
}

static int node_changed(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);
	static const char letters[] = {
		[GYRE_NODE_UP] = 'u', [GYRE_NODE_SUSPECT] = 's', [GYRE_NODE_DOWN] = 'd'
	};

	expect(event != NULL && event->node == STRANGER_ID);
	trace(letters[event->state]);
	if (event->state == GYRE_NODE_DOWN) {
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

/* A link that the stranger has made breaks, of which one actor hears. */
static void hear_of_a_break(const struct gyre_class *class)
{
	const struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	(void)stranger_open_with(&stranger_brief, class);
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_await_known();
	stranger_close(&stranger);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_str_eq(traced, "usd");
}

Test(link, that_another_node_made_is_missed_when_it_breaks)
{
	static const struct gyre_class watcher = { .name = "watcher",
						   .mount = node_watch,
						   .behaviour.event = node_changed };

	hear_of_a_break(&watcher);
}

static int subscribe(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_node_event, gyre_event_key_of(NULL), NULL) ==
	       0);
	return gyre_return(stack);
}

Test(link, that_breaks_is_told_to_those_who_have_subscribed_to_events_of_nodes)
{
	static const struct gyre_class subscriber = { .name = "subscriber",
						      .mount = subscribe,
						      .behaviour.event = node_changed };

	hear_of_a_break(&subscriber);
}

static int subscribe_to_letters(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_dead_letter, gyre_event_key_of(NULL), NULL) ==
	       0);
	return gyre_return(stack);
}

static int hear_of_letter(struct gyre_stack *stack)
{
	const struct gyre_dead_letter *letter = gyre_message(stack, gyre_dead_letter);

	expect(letter != NULL && letter->type_id == UNKNOWN_ID &&
	       letter->reason == GYRE_DROP_NOT_UNDERSTOOD &&
	       strcmp(letter->type_name, "message of another node") == 0);
	trace('l');
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

/* Nobody here has such a type: the event must not need one. */
Test(link, that_brings_what_is_not_understood_is_told_to_those_who_want_dead_letters)
{
	static const struct gyre_class subscriber = { .name = "subscriber",
						      .mount = subscribe_to_letters,
						      .behaviour.event = hear_of_letter };
	const struct number one = { 1 };
	struct gyre_address local = stranger_open_with(&stranger_quick, &subscriber);
	const struct gy_frame frame = { .kind = GY_WIRE_NOTICE,
					.to_loop = local.loop,
					.to_slot = local.slot,
					.to_cookie = local.cookie,
					.type = UNKNOWN_ID,
					.bytes = sizeof(one),
					.body = (const unsigned char *)&one };
	struct stranger stranger;

	stranger_meet(&stranger);
	stranger_say_frame(&stranger, &frame);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_str_eq(traced, "l");
}

Test(link, closes_with_a_word_when_idle_and_is_made_again)
{
	struct gyre_node_options options = stranger_quick;
	struct stranger stranger;

	options.idle_ns = GYRE_SECONDS(1);
	stranger_open(&options);
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	stranger_welcome(&stranger);
	expect_number(&stranger, 1);
	stranger_credit(&stranger, 32 + sizeof(struct number), 1);
	stranger_expect(&stranger, GY_WIRE_CLOSE);
	stranger_expect_end(&stranger);
	cr_assert_eq(close(stranger.fd), 0);
	cr_assert_eq(status().state, GYRE_NODE_UP, "it is not suspect for that");
	cr_assert_eq(tell(2), 0);
	stranger_welcome(&stranger);
	expect_number(&stranger, 2);
	stranger_close(&stranger);
	fixture_close();
}

/* ---- dialling anew ---- */

Test(link, waits_longer_and_longer_for_a_peer_that_refuses_it)
{
	enum { REFUSALS = 5 };
	const uint64_t pause_ns = GYRE_MILLISECONDS(10);
	const uint8_t code = GY_REFUSED_CLUSTER;
	struct gyre_node_options options = stranger_quick;
	struct stranger stranger;
	uint64_t from_ns;

	options.redial_min_ns = pause_ns;
	options.redial_max_ns = GYRE_SECONDS(10);
	stranger_open(&options);
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	from_ns = gy_clock_machine_ns();
	for (int i = 0; i < REFUSALS; i++) {
		stranger_accept(&stranger);
		stranger_expect(&stranger, GY_WIRE_HELLO);
		stranger_say(&stranger, GY_WIRE_REFUSE, &code, sizeof(code));
		stranger_expect_end(&stranger);
		cr_assert_eq(close(stranger.fd), 0);
	}
	stranger_welcome(&stranger);
	/* 1 + 2 + 4 + 8 + 16 pauses, each up to a tenth shorter. */
	cr_assert_geq(gy_clock_machine_ns() - from_ns, pause_ns * 31 / 10 * 9);
	expect_number(&stranger, 1);
	stranger_close(&stranger);
	fixture_close();
}

Test(link, goes_to_where_its_peer_is_now)
{
	struct stranger before;
	struct stranger now;

	stranger_open(&stranger_quick);
	stranger_listen(&before);
	stranger_close(&before);
	cr_assert_eq(tell(1), 0);
	stranger_listen(&now);
	stranger_welcome(&now);
	expect_number(&now, 1);
	stranger_close(&now);
	fixture_close();
}

Test(link, is_refused_by_the_node_that_dialled_when_another_one_answers)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&stranger_quick);
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	stranger_accept(&stranger);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	hello.node = STRANGER_ID + 1;
	stranger_say_hello(&stranger, &hello);
	stranger_expect_refusal(&stranger, GY_REFUSED_ID);
	cr_assert_eq(close(stranger.fd), 0);
	stranger_welcome(&stranger);
	expect_number(&stranger, 1);
	stranger_close(&stranger);
	fixture_close();
}

/* The peer resets it in each stage: before, in and after the greeting. */
Test(link, comes_back_after_a_reset_in_each_stage)
{
	struct stranger stranger;
	struct gy_hello hello = stranger_hello();

	stranger_open(&stranger_quick);
	stranger_listen(&stranger);
	cr_assert_eq(tell(1), 0);
	for (int stage = 0; stage < 3; stage++) {
		stranger_accept(&stranger);
		if (stage > 0) {
			stranger_expect(&stranger, GY_WIRE_HELLO);
		}
		if (stage > 1) {
			stranger_say_hello(&stranger, &hello);
			expect_number(&stranger, 1);
		}
		cr_assert_eq(close(stranger.fd), 0);
	}
	while (status().links > 0) {
		(void)sched_yield();
	}
	cr_assert_eq(tell(2), 0);
	stranger_welcome(&stranger);
	expect_number(&stranger, 2);
	stranger_close(&stranger);
	fixture_close();
}

Test(link, that_is_made_a_thousand_times_leaves_nothing_behind)
{
	enum { FLAPS = 1000 };
	struct stranger stranger;

	stranger_open(&stranger_quick);
	for (int i = 0; i < FLAPS; i++) {
		stranger_meet(&stranger);
		stranger_close(&stranger);
	}
	fixture_close();
	cr_assert_eq(fixture.counters.accepted, FLAPS);
}

/* ---- what is no message ---- */

static void play_fatal(const struct gy_frame *frame)
{
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .message_bytes_max = 1 << 17 });
	stranger_meet(&stranger);
	stranger_say_frame(&stranger, frame);
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

Test(link, ends_with_a_peer_that_credits_what_goes_the_other_way)
{
	play_fatal(&(struct gy_frame){ .kind = GY_WIRE_CREDIT });
}

static void play_fragment(uint32_t stream, uint32_t left, uint32_t bytes, uint32_t times)
{
	static unsigned char frame[GY_WIRE_HEAD_BYTES_MAX + GY_WIRE_BODY_BYTES_MAX];
	struct gy_fragment fragment = { .stream = stream, .left = left };
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .message_bytes_max = 1 << 17 });
	stranger_meet(&stranger);
	for (uint32_t i = 0; i < times; i++) {
		fragment.stream = stream + i;
		gy_wire_put_fragment(&fragment, bytes, frame);
		stranger_say_bytes(&stranger, frame, gy_wire_head_bytes(GY_WIRE_FRAGMENT) + bytes);
	}
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

Test(link, ends_with_a_fragment_of_a_message_that_is_too_large)
{
	play_fragment(1, (1 << 17) + GY_WIRE_HEAD_BYTES_MAX + 1, 8, 1);
}

Test(link, ends_with_a_fragment_of_less_than_a_message)
{
	play_fragment(1, 8, 8, 1);
}

Test(link, ends_with_a_fragment_that_is_longer_than_what_is_left)
{
	play_fragment(1, 100, 101, 1);
}

Test(link, ends_with_a_fragment_of_nothing)
{
	play_fragment(1, 100, 0, 1);
}

Test(link, ends_with_fragments_of_too_many_messages)
{
	play_fragment(1, 100, 8, GY_PARTIAL_MESSAGES_MAX + 1);
}

Test(link, ends_with_a_message_in_fragments_that_is_none)
{
	play_fragment(1, 100, 100, 1);
}

Test(link, survives_every_truncation_of_messages)
{
	const struct number one = { 1 };
	struct gy_frame frame = { .kind = GY_WIRE_ASK,
				  .to_cookie = 1,
				  .type = gyre_type_number.id,
				  .layout = gy_type_layout(&gyre_type_number),
				  .bytes = sizeof(one),
				  .body = (const unsigned char *)&one };
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX + sizeof(one)];
	uint32_t head = gy_wire_put(&frame, bytes);
	struct stranger stranger;

	memcpy(bytes + head, &one, sizeof(one));
	stranger_open(&(struct gyre_node_options){ 0 });
	for (uint32_t i = 0; i < head + sizeof(one); i++) {
		stranger_meet(&stranger);
		stranger_say_bytes(&stranger, bytes, i);
		stranger_close(&stranger);
	}
	fixture_close();
	cr_assert_eq(fixture.letters_count, 0, "none of them was a message");
}
