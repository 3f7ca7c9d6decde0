/*
 * Whatever pieces a stream comes in, a link takes it for the same; and whatever it is, the link
 * takes it or ends, and nothing is left of it.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <gyre/name.h>
#include <gyre/watch.h>

#include "actor/life/watch.h"
#include "base/random.h"
#include "remote/bare.h"
#include "remote/message/runtime_messages.h"
#include "remote/peer/rounds.h"
#include "remote/types.h"

enum { STREAM_BYTES = 4096, HEARD_BYTES = 1 << 16, LARGE_BYTES = 500, GARBAGE_ROUNDS = 3000 };

struct stream {
	size_t count;
	unsigned char bytes[STREAM_BYTES];
};

static struct bare bare;

static void begin(void)
{
	bare_init(&bare, &(struct gyre_node_options){ .message_bytes_max = 1 << 16 });
}

static void end(void)
{
	bare_fini(&bare);
}

/* ---- what a peer may say ---- */

static void put_bytes(struct stream *stream, const void *bytes, size_t count)
{
	cr_assert_leq(count, sizeof(stream->bytes) - stream->count);
	if (count > 0) {
		memcpy(stream->bytes + stream->count, bytes, count);
	}
	stream->count += count;
}

static void put(struct stream *stream, const struct gy_frame *frame)
{
	unsigned char head[GY_WIRE_HEAD_BYTES_MAX];

	put_bytes(stream, head, gy_wire_put(frame, head));
	put_bytes(stream, frame->body, frame->bytes);
}

static struct gy_frame frame_of(enum gy_wire_kind kind, uint32_t type, uint16_t layout,
				const void *body, uint32_t bytes)
{
	return (struct gy_frame){ .kind = kind,
				  .to_loop = bare.adder.loop,
				  .to_slot = bare.adder.slot,
				  .to_cookie = bare.adder.cookie,
				  .from_slot = 5,
				  .from_cookie = 6,
				  .type = type,
				  .layout = layout,
				  .ask_id = 9,
				  .body = (const unsigned char *)body,
				  .bytes = bytes };
}

static void put_frame(struct stream *stream, enum gy_wire_kind kind, uint32_t type, uint16_t layout,
		      const void *body, uint32_t bytes)
{
	const struct gy_frame frame = frame_of(kind, type, layout, body, bytes);

	put(stream, &frame);
}

/* A message in pieces of 60 bytes, of which each is followed by a PING. */
static void put_fragments(struct stream *stream, uint32_t number)
{
	unsigned char whole[GY_WIRE_HEAD_BYTES_MAX + 4 + LARGE_BYTES] = { 0 };
	const uint32_t text_bytes = htole32(LARGE_BYTES);
	const uint16_t layout = gy_type_layout(&gyre_type_bare_text);
	struct gy_frame frame = frame_of(GY_WIRE_NOTICE, gyre_type_bare_text.id, layout, NULL, 0);
	uint32_t head = gy_wire_put(&frame, whole);
	struct gy_fragment fragment = { .stream = number, .left = head + 4 + LARGE_BYTES };

	memcpy(whole + head, &text_bytes, sizeof(text_bytes));
	memset(whole + head + 4, 't', LARGE_BYTES);
	for (const unsigned char *at = whole; fragment.left > 0;) {
		uint32_t part = fragment.left < 60 ? fragment.left : 60;
		unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];

		gy_wire_put_fragment(&fragment, part, bytes);
		put_bytes(stream, bytes, gy_wire_head_bytes(GY_WIRE_FRAGMENT));
		put_bytes(stream, at, part);
		put_frame(stream, GY_WIRE_PING, 0, 0, NULL, 0);
		at += part;
		fragment.left -= part;
	}
}

/* One of each kind that goes to the side that was dialled. */
static void put_messages(struct stream *stream)
{
	static const unsigned char errno_bytes[] = { 0xfe, 0xff, 0xff, 0xff };
	static const unsigned char terminated[16] = { 5, 0, 0, 0, 6 };
	static const unsigned char text[] = { 4, 0, 0, 0, 't', 'e', 'x', 't' };
	static const unsigned char round[] = { 1, 0, 0, 0 };
	const struct bare_number number = { 41 };
	const uint16_t layout = gy_type_layout(&gyre_type_bare_number);
	const uint32_t id = gyre_type_bare_number.id;

	put_frame(stream, GY_WIRE_PING, 0, 0, NULL, 0);
	put_frame(stream, GY_WIRE_NOTICE, id, layout, &number, sizeof(number));
	put_frame(stream, GY_WIRE_REPEAT, 0, 0, &number, sizeof(number));
	put_frame(stream, GY_WIRE_REPEAT, 0, 0, &number, sizeof(number));
	put_frame(stream, GY_WIRE_REPEAT, 0, 0, &number, sizeof(number) - 1);
	put_frame(stream, GY_WIRE_ASK, id, layout, &number, sizeof(number));
	put_frame(stream, GY_WIRE_ASK, id + 1000, layout, &number, sizeof(number));
	put_frame(stream, GY_WIRE_ASK, id, (uint16_t)(layout + 1), &number, sizeof(number));
	put_frame(stream, GY_WIRE_REPLY, id, layout, &number, sizeof(number));
	put_frame(stream, GY_WIRE_NOTICE, gyre_type_bare_text.id,
		  gy_type_layout(&gyre_type_bare_text), text, sizeof(text));
	put_frame(stream, GY_WIRE_NOTICE, gyre_type_bare_text.id,
		  gy_type_layout(&gyre_type_bare_text), text, sizeof(text) - 1);
	put_frame(stream, GY_WIRE_EXCEPTION, gy_type_exception.id, 0, errno_bytes,
		  sizeof(errno_bytes));
	put_frame(stream, GY_WIRE_LOOKUP, gy_type_lookup.id, 0, "adder", 5);
	put_frame(stream, GY_WIRE_EVENT, gy_type_watch.id, 0, round, sizeof(round));
	put_frame(stream, GY_WIRE_EVENT, gy_type_watch.id, 0, NULL, 0);
	put_frame(stream, GY_WIRE_EVENT, gy_type_round_over.id, 0, round, sizeof(round));
	put_frame(stream, GY_WIRE_EVENT, gy_type_round_over.id, 0, round, sizeof(round) - 1);
	put_frame(stream, GY_WIRE_EVENT, gy_type_unwatch.id, 0, NULL, 0);
	put_frame(stream, GY_WIRE_EVENT, GYRE_ID(gyre_terminated), 0, terminated,
		  sizeof(terminated));
	put_fragments(stream, 1);
	put_frame(stream, GY_WIRE_CLOSE, 0, 0, NULL, 0);
}

/* With the peer's hello before them. */
static void put_all(struct stream *stream)
{
	unsigned char hello[GY_HELLO_BYTES_MAX];

	stream->count = 0;
	put_bytes(stream, hello, bare_greeting(hello));
	put_messages(stream);
}

/* What the side that has dialled is told, after it has said a number. */
static void put_answers(struct stream *stream)
{
	unsigned char body[16];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };

	stream->count = 0;
	gyre_encode_u64(&out, GY_WIRE_HEAD_BYTES + sizeof(struct bare_number));
	gyre_encode_u64(&out, 1);
	put_frame(stream, GY_WIRE_PING, 0, 0, NULL, 0);
	put_frame(stream, GY_WIRE_CREDIT, 0, 0, body, sizeof(body));
	put_frame(stream, GY_WIRE_CREDIT, 0, 0, body, sizeof(body));
	put_frame(stream, GY_WIRE_CLOSE, 0, 0, NULL, 0);
}

/* ---- the same in pieces ---- */

/* What has become of it since @before. */
static struct bare_sums since(const struct bare_sums *before)
{
	struct bare_sums sums = bare_sums(&bare);

	sums.sent -= before->sent;
	sums.handled -= before->handled;
	sums.to_nodes -= before->to_nodes;
	sums.waiting -= before->waiting;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		sums.dropped[i] -= before->dropped[i];
	}
	return sums;
}

/* Two reads, the second from @cut on; each in slices. */
static struct bare_sums feed_accepted(const struct stream *stream, size_t cut, size_t slice_bytes)
{
	const struct bare_sums before = bare_sums(&bare);
	struct bare_sums sums;

	bare_accept(&bare);
	bare_feed(&bare, stream->bytes, cut, slice_bytes);
	bare_feed(&bare, stream->bytes + cut, stream->count - cut, slice_bytes);
	cr_expect(bare_is_alive(&bare), "cut at %zu", cut);
	cr_expect(gy_link_has(bare.link, GY_LINK_FLAG_CLOSING), "cut at %zu", cut);
	cr_expect_eq(bare.link->partial_frame.at, 0);
	cr_expect(gy_list_empty(&bare.link->partial_messages));
	sums = since(&before);
	bare_hang_up(&bare);
	bare_forget(&bare); /* the stream's hello is to be a new one each time */
	return sums;
}

static void expect_same(const struct bare_sums *a, const struct bare_sums *b, size_t cut)
{
	cr_assert_eq(memcmp(a, b, sizeof(*a)), 0, "cut at %zu: %lu sent, %lu handled, not %lu, %lu",
		     cut, a->sent, a->handled, b->sent, b->handled);
}

Test(pieces, are_put_together_wherever_a_stream_of_messages_is_cut, .init = begin, .fini = end)
{
	struct stream stream;
	struct bare_sums whole;

	put_all(&stream);
	whole = feed_accepted(&stream, stream.count, stream.count);
	cr_assert_gt(whole.handled, 4);
	cr_assert_eq(whole.dropped[GYRE_DROP_NOT_UNDERSTOOD], 6);
	cr_assert_eq(whole.frames, 19);
	for (size_t cut = 1; cut < stream.count; cut++) {
		const struct bare_sums sums = feed_accepted(&stream, cut, stream.count);

		expect_same(&sums, &whole, cut);
	}
}

Test(pieces, are_put_together_from_slices_of_any_length, .init = begin, .fini = end)
{
	struct stream stream;
	struct bare_sums whole;

	put_all(&stream);
	whole = feed_accepted(&stream, stream.count, stream.count);
	for (size_t slice = 1; slice < 200; slice += slice < 70 ? 1 : 13) {
		const struct bare_sums sums = feed_accepted(&stream, stream.count / 2, slice);

		expect_same(&sums, &whole, slice);
	}
}

Test(pieces, are_put_together_wherever_the_answers_of_who_was_dialled_are_cut, .init = begin,
     .fini = end)
{
	unsigned char hello[GY_HELLO_BYTES_MAX];
	const uint32_t hello_bytes = bare_greeting(hello);
	struct stream stream;

	put_answers(&stream);
	for (size_t cut = 1; cut < stream.count; cut++) {
		bare_dial(&bare);
		bare_feed(&bare, hello, hello_bytes, cut);
		cr_assert_eq(bare.link->stage, GY_LINK_STAGE_OPEN);
		cr_assert_eq(bare_notify(&bare, 1), 0);
		bare_feed(&bare, stream.bytes, cut, stream.count);
		bare_feed(&bare, stream.bytes + cut, stream.count - cut, stream.count);
		cr_expect(bare_is_alive(&bare), "cut at %zu", cut);
		cr_expect_eq(bare.link->credited_frames, 1, "cut at %zu", cut);
		cr_expect(gy_link_has(bare.link, GY_LINK_FLAG_CLOSING));
		bare_hang_up(&bare);
		cr_expect_eq(gy_peer_find(bare.homes.nodes, BARE_PEER)->lost, 0);
	}
}

/* ---- addresses that are nobody's ---- */

static void expect_nobody(const struct stream *stream)
{
	const struct bare_sums before = bare_sums(&bare);
	struct bare_sums sums;

	bare_feed(&bare, stream->bytes, stream->count, stream->count);
	sums = since(&before);
	cr_expect_eq(sums.dropped[GYRE_DROP_NO_ACTOR], 4);
	cr_expect_eq(sums.dropped[GYRE_DROP_NODE_DOWN], 1, "the asker is told, but not reached");
	cr_expect_eq(sums.waiting, 1, "that is owed");
	cr_expect_eq(sums.sent, 6);
}

static void put_notices_and_ask(struct stream *stream)
{
	const struct bare_number number = { 41 };
	const uint16_t layout = gy_type_layout(&gyre_type_bare_number);
	const uint32_t id = gyre_type_bare_number.id;

	stream->count = 0;
	put_frame(stream, GY_WIRE_NOTICE, id, layout, &number, sizeof(number));
	put_frame(stream, GY_WIRE_REPEAT, 0, 0, &number, sizeof(number));
	put_frame(stream, GY_WIRE_REPEAT, 0, 0, &number, sizeof(number));
	put_frame(stream, GY_WIRE_ASK, id, layout, &number, sizeof(number));
}

/* Which the next actor to be spawned will have. */
Test(pieces, for_a_slot_that_nobody_has_yet_are_lost, .init = begin, .fini = end)
{
	struct stream stream = { 0 };

	bare_accept(&bare);
	bare_greet(&bare);
	bare.adder.slot++;
	put_notices_and_ask(&stream);
	expect_nobody(&stream);
	bare_hang_up(&bare);
}

Test(pieces, for_the_next_tenant_of_a_slot_are_lost, .init = begin, .fini = end)
{
	struct stream stream = { 0 };

	bare_accept(&bare);
	bare_greet(&bare);
	put_frame(&stream, GY_WIRE_EVENT, gy_type_stop.id, 0, NULL, 0);
	bare_feed(&bare, stream.bytes, stream.count, stream.count);
	bare.adder.cookie++;
	put_notices_and_ask(&stream);
	expect_nobody(&stream);
	bare_hang_up(&bare);
}

/* ---- and what is no stream ---- */

Test(pieces, of_a_truncated_stream_are_forgotten_with_the_link, .init = begin, .fini = end)
{
	unsigned char hello[GY_HELLO_BYTES_MAX];
	const uint32_t hello_bytes = bare_greeting(hello);
	struct stream stream;

	put_all(&stream);
	for (size_t count = 0; count < stream.count; count++) {
		const struct bare_sums before = bare_sums(&bare);

		bare_accept(&bare);
		bare_feed(&bare, stream.bytes, count, 100);
		cr_expect(bare_is_alive(&bare), "after %zu bytes", count);
		cr_expect_eq(bare.link->stage == GY_LINK_STAGE_OPEN, count >= hello_bytes);
		cr_expect(count >= hello_bytes || since(&before).sent == 0,
			  "a message before the greeting");
		bare_hang_up(&bare);
		bare_forget(&bare);
	}
}

static void feed_garbage(unsigned char *bytes, size_t count, uint64_t *random)
{
	for (size_t i = 0; i < count; i++) {
		bytes[i] = (unsigned char)gy_random_next(random);
	}
	bare_feed(&bare, bytes, count, 1 + gy_random_next(random) % count);
}

Test(pieces, of_garbage_end_a_link_in_any_stage_or_are_waited_for, .init = begin, .fini = end)
{
	unsigned char bytes[STREAM_BYTES];
	static unsigned char last_received[HEARD_BYTES];
	uint64_t random = 1;

	for (uint32_t round = 0; round < GARBAGE_ROUNDS; round++) {
		const struct bare_sums before = bare_sums(&bare);
		bool greeted = round % 2 == 1;
		bool dialled = round % 4 >= 2;

		if (dialled) {
			bare_dial(&bare);
		} else {
			bare_accept(&bare);
		}
		if (greeted) {
			bare_greet(&bare);
		}
		feed_garbage(bytes, 1 + gy_random_next(&random) % sizeof(bytes), &random);
		cr_expect(!dialled || since(&before).sent == 0, "round %u", round);
		(void)bare_hear(&bare, last_received, sizeof(last_received));
		bare_hang_up(&bare);
		bare_forget(&bare);
	}
}

/* One bit of it at a time. */
Test(pieces, of_a_damaged_stream_are_taken_or_end_the_link, .init = begin, .fini = end)
{
	static unsigned char last_received[HEARD_BYTES];
	struct stream stream;

	put_all(&stream);
	for (size_t bit = 0; bit < 8 * stream.count; bit += 3) {
		stream.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		bare_accept(&bare);
		bare_feed(&bare, stream.bytes, stream.count, stream.count);
		(void)bare_hear(&bare, last_received, sizeof(last_received));
		bare_hang_up(&bare);
		bare_forget(&bare);
		stream.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}
