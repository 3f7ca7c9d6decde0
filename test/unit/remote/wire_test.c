/*
 * Frames to bytes and back, and what is no frame.
 */
#include <criterion/criterion.h>

#include <errno.h>

#include "base/macros.h"
#include "remote/wire.h"

enum { BODY_BYTES = 5, LEFT_UNITS_MAX = 1 << 24 };

static const enum gy_wire_kind messages[] = { GY_WIRE_NOTICE, GY_WIRE_EVENT,	 GY_WIRE_ASK,
					      GY_WIRE_REPLY,  GY_WIRE_EXCEPTION, GY_WIRE_LOOKUP };
static const enum gy_wire_kind others[] = { GY_WIRE_HELLO,  GY_WIRE_PROOF,  GY_WIRE_REFUSE,
					    GY_WIRE_PING,   GY_WIRE_CREDIT, GY_WIRE_CLOSE,
					    GY_WIRE_REPEAT, GY_WIRE_REACH };

static struct gy_frame frame_of(enum gy_wire_kind kind)
{
	return (struct gy_frame){ .kind = kind,
				  .bytes = BODY_BYTES,
				  .to_loop = 0x1122,
				  .from_loop = 0x3344,
				  .to_slot = 0x55667788,
				  .to_cookie = 0x99aabbcc,
				  .from_slot = 0xddeeff00,
				  .from_cookie = 0x12345678,
				  .type = 0x9abcdef0,
				  .layout = 0x5566,
				  .left = 0x7788,
				  .ask_id = UINT64_C(0x1122334455667788) };
}

static void expect_same_head(const struct gy_frame *a, const struct gy_frame *b)
{
	cr_assert_eq(a->to_loop, b->to_loop);
	cr_assert_eq(a->from_loop, b->from_loop);
	cr_assert_eq(a->to_slot, b->to_slot);
	cr_assert_eq(a->to_cookie, b->to_cookie);
	cr_assert_eq(a->from_slot, b->from_slot);
	cr_assert_eq(a->from_cookie, b->from_cookie);
	cr_assert_eq(a->type, b->type);
	cr_assert_eq(a->layout, b->layout);
	cr_assert_eq(a->left, b->left);
}

static uint32_t put(enum gy_wire_kind kind, unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX])
{
	const struct gy_frame frame = frame_of(kind);

	return gy_wire_put(&frame, bytes);
}

Test(wire, gives_back_each_kind_of_message)
{
	for (size_t i = 0; i < gy_countof(messages); i++) {
		const struct gy_frame frame = frame_of(messages[i]);
		unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX + BODY_BYTES];
		uint32_t head = put(messages[i], bytes);
		struct gy_frame again;

		cr_assert_eq(head, gy_wire_head_bytes(messages[i]));
		cr_assert(gy_wire_is_message(bytes));
		gy_wire_get(bytes, &again);
		cr_assert_eq(again.kind, frame.kind);
		cr_assert_eq(again.bytes, BODY_BYTES);
		cr_assert_eq(again.body, bytes + head);
		expect_same_head(&again, &frame);
		cr_assert_eq(again.ask_id, messages[i] == GY_WIRE_NOTICE ? 0 : frame.ask_id);
	}
}

Test(wire, gives_back_each_kind_that_is_no_message)
{
	for (size_t i = 0; i < gy_countof(others); i++) {
		unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];
		struct gy_frame again;

		cr_assert_eq(put(others[i], bytes), GY_WIRE_WORD_BYTES);
		cr_assert_not(gy_wire_is_message(bytes));
		gy_wire_get(bytes, &again);
		cr_assert_eq(again.kind, others[i]);
		cr_assert_eq(again.bytes, BODY_BYTES);
		cr_assert_eq(again.to_slot, 0);
	}
}

Test(wire, gives_back_a_head_that_is_named_with_an_id)
{
	struct gy_frame frame = frame_of(GY_WIRE_REPEAT_ID);
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];
	struct gy_frame again;

	frame.index = GY_WIRE_HEADS - 1;
	cr_assert_eq(gy_wire_put(&frame, bytes), GY_WIRE_REPEAT_ID_BYTES);
	cr_assert_eq(gy_wire_bytes(bytes, sizeof(bytes)), GY_WIRE_REPEAT_ID_BYTES + BODY_BYTES);
	cr_assert_not(gy_wire_is_message(bytes));
	gy_wire_get(bytes, &again);
	cr_assert_eq(again.kind, GY_WIRE_REPEAT_ID);
	cr_assert_eq(again.bytes, BODY_BYTES);
	cr_assert_eq(again.index, frame.index);
	cr_assert_eq(again.ask_id, frame.ask_id);
	cr_assert_eq(again.to_slot, 0);
}

Test(wire, takes_an_index_of_kinds_that_have_one_alone)
{
	for (uint32_t kind = GY_WIRE_HELLO; kind < GY_WIRE_KINDS; kind++) {
		bool has = kind == GY_WIRE_NOTICE || kind == GY_WIRE_ASK || kind == GY_WIRE_REPLY ||
			   kind == GY_WIRE_REPEAT || kind == GY_WIRE_REPEAT_ID;

		for (uint32_t index = 0; index <= GY_WIRE_INDEX_MAX; index++) {
			uint32_t word = htole32(
				gy_wire_make_word((enum gy_wire_kind)kind, index, BODY_BYTES));
			unsigned char bytes[GY_WIRE_WORD_BYTES];
			bool valid = index == 0 || (has && index <= GY_WIRE_HEADS);

			memcpy(bytes, &word, sizeof(word));
			cr_assert_eq(gy_wire_bytes(bytes, sizeof(bytes)) > 0, valid, "%u, %u", kind,
				     index);
		}
	}
}

Test(wire, gives_back_a_fragment)
{
	const struct gy_fragment fragment = { .stream = 77, .left = 1 << 23 };
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];
	struct gy_frame frame;
	struct gy_fragment again;

	gy_wire_put_fragment(&fragment, GY_WIRE_BODY_BYTES_MAX, bytes);
	gy_wire_get(bytes, &frame);
	again = gy_wire_get_fragment(&frame);
	cr_assert_eq(frame.kind, GY_WIRE_FRAGMENT);
	cr_assert_eq(frame.bytes, GY_WIRE_BODY_BYTES_MAX);
	cr_assert_eq(again.stream, 77);
	cr_assert_eq(again.left, 1 << 23);
	cr_assert_not(gy_wire_is_message(bytes));
}

Test(wire, cannot_tell_the_length_of_a_frame_before_its_word_is_there)
{
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];
	uint32_t head = put(GY_WIRE_ASK, bytes);

	for (size_t count = 0; count < GY_WIRE_WORD_BYTES; count++) {
		cr_assert_eq(gy_wire_bytes(bytes, count), 0);
	}
	for (size_t count = GY_WIRE_WORD_BYTES; count <= head; count++) {
		cr_assert_eq(gy_wire_bytes(bytes, count), head + BODY_BYTES);
	}
}

/* Every word that there is, in steps that leave out no kind and neither end of the bodies; the
 * upper bits of the last byte are of an index. */
Test(wire, takes_exactly_the_known_kinds_with_bodies_up_to_the_bound)
{
	static const uint32_t bodies[] = { 0, 1, GY_WIRE_BODY_BYTES_MAX, GY_WIRE_BODY_BYTES_MAX + 1,
					   (1 << 24) - 1 };

	for (uint32_t byte = 0; byte < 256; byte++) {
		for (size_t i = 0; i < gy_countof(bodies); i++) {
			uint32_t word = byte << 24 | bodies[i];
			uint32_t kind = byte & GY_WIRE_KIND_MASK;
			unsigned char bytes[] = { (unsigned char)word, (unsigned char)(word >> 8),
						  (unsigned char)(word >> 16),
						  (unsigned char)(word >> 24) };
			bool good = kind > 0 && kind < GY_WIRE_KINDS &&
				    bodies[i] <= GY_WIRE_BODY_BYTES_MAX &&
				    (kind == byte || gy_wire_index_is_valid(word));
			int64_t length = gy_wire_bytes(bytes, sizeof(bytes));

			cr_assert_eq(length,
				     good ? (int64_t)gy_wire_head_bytes((enum gy_wire_kind)kind) +
						     bodies[i]
					  : -EPROTO,
				     "byte %u, %u bytes: %ld", byte, bodies[i], (long)length);
		}
	}
}

/* ---- times ---- */

Test(wire, never_shortens_the_time_that_is_left)
{
	uint64_t before = 0;

	for (uint64_t units = 1; units < LEFT_UNITS_MAX; units += 1 + units / 4096) {
		uint64_t again = gy_wire_left_decode(gy_wire_left_encode(units));

		cr_assert_geq(again, units);
		cr_assert_geq(again, before, "%lu", (unsigned long)units);
		cr_assert_leq(again, units + units / 512 + 1);
		before = again;
	}
}

Test(wire, carries_no_time_as_none_and_the_longest_as_very_long)
{
	cr_assert_eq(gy_wire_left_decode(gy_wire_left_encode(0)), 0);
	cr_assert_eq(gy_wire_left_decode(gy_wire_left_encode(1)), 1);
	cr_assert_geq(gy_wire_left_decode(gy_wire_left_encode(UINT64_MAX)), UINT64_C(1) << 41);
	for (uint32_t bits = 1; bits <= UINT16_MAX; bits++) {
		cr_assert_leq(gy_wire_left_decode((uint16_t)bits), UINT64_C(1) << 42);
	}
}

/* ---- the hello ---- */

static struct gy_hello hello(void)
{
	struct gy_hello it = { .version_min = 1,
			       .version_max = GY_WIRE_VERSION,
			       .node = 0x1234,
			       .expected = 0x5678,
			       .incarnation = UINT64_C(0x123456789abcdef0),
			       .over = 0x87654321,
			       .loop = 7,
			       .port = 9000,
			       .proves = true,
			       .message_bytes_max = 1 << 20,
			       .window_bytes = 1 << 22,
			       .dial = UINT64_C(0x1122334455667788),
			       .cluster = "a cluster" };

	for (int i = 0; i < GY_NONCE_BYTES; i++) {
		it.nonce[i] = (unsigned char)(i * 7);
	}
	return it;
}

Test(wire, gives_back_a_hello)
{
	const struct gy_hello it = hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	uint32_t count = gy_hello_put(&it, bytes);
	struct gy_hello again;

	cr_assert_eq(gy_wire_bytes(bytes, count), count);
	cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, count - GY_WIRE_WORD_BYTES, &again),
		     0);
	cr_assert_eq(again.version_min, it.version_min);
	cr_assert_eq(again.version_max, it.version_max);
	cr_assert_eq(again.node, it.node);
	cr_assert_eq(again.expected, it.expected);
	cr_assert_eq(again.incarnation, it.incarnation);
	cr_assert_eq(again.over, it.over);
	cr_assert_eq(again.loop, it.loop);
	cr_assert_eq(again.port, it.port);
	cr_assert(again.proves);
	cr_assert_eq(again.message_bytes_max, it.message_bytes_max);
	cr_assert_eq(again.window_bytes, it.window_bytes);
	cr_assert_eq(again.dial, it.dial);
	cr_assert_arr_eq(again.nonce, it.nonce, sizeof(it.nonce));
	cr_assert_str_eq(again.cluster, it.cluster);
}

Test(wire, takes_no_truncated_hello_and_leaves_the_output_alone)
{
	const struct gy_hello it = hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	uint32_t count = gy_hello_put(&it, bytes) - GY_WIRE_WORD_BYTES;
	struct gy_hello again = { .node = 99 };

	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, i, &again), -EPROTO);
		cr_assert_eq(again.node, 99);
	}
}

Test(wire, takes_a_hello_to_which_a_later_version_has_added)
{
	const struct gy_hello it = hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX + 9] = { 0 };
	uint32_t count = gy_hello_put(&it, bytes) - GY_WIRE_WORD_BYTES;
	struct gy_hello again;

	cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, count + 9, &again), 0);
	cr_assert_str_eq(again.cluster, it.cluster);
}

Test(wire, hears_in_a_hello_where_a_node_of_the_machine_listens)
{
	struct gy_hello it = hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	uint32_t without = gy_hello_put(&it, bytes) - GY_WIRE_WORD_BYTES;
	struct gy_hello again = { .node = 99 };
	uint32_t count;

	memset(it.cluster, 'c', GYRE_NODE_NAME_BYTES_MAX);
	memset(it.address, 'x', sizeof(it.address) - 1);
	count = gy_hello_put(&it, bytes) - GY_WIRE_WORD_BYTES;
	cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, count, &again), 0);
	cr_assert_str_eq(again.address, it.address);
	cr_assert_str_eq(again.cluster, it.cluster);
	again.node = 99;
	for (uint32_t i = without; i < count; i++) {
		cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, i, &again), -EPROTO);
	}
	bytes[GY_WIRE_WORD_BYTES + count - 1] = '\0';
	cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, count, &again), -EPROTO,
		     "a text has no 0 inside");
	cr_assert_eq(again.node, 99);
}

/* To refuse it for that reason: the rest may stand elsewhere. */
Test(wire, reads_of_the_hello_of_a_former_version_who_it_is)
{
	struct gy_hello it = hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX] = { 0 };
	struct gy_hello again;

	it.version_max = GY_WIRE_VERSION_MIN - 1;
	(void)gy_hello_put(&it, bytes);
	memset(bytes + GY_WIRE_WORD_BYTES + 10, 0xff, sizeof(bytes) - GY_WIRE_WORD_BYTES - 10);
	cr_assert_eq(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, 70, &again), 0);
	cr_assert_eq(again.version_max, it.version_max);
	cr_assert_eq(again.node, it.node);
}

Test(wire, takes_no_hello_with_other_first_bytes_or_too_long_a_name)
{
	struct gy_hello it = hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	unsigned char *body = bytes + GY_WIRE_WORD_BYTES;
	uint32_t count;
	struct gy_hello again;

	memset(it.cluster, 'x', GYRE_NODE_NAME_BYTES_MAX);
	it.cluster[GYRE_NODE_NAME_BYTES_MAX] = '\0';
	count = gy_hello_put(&it, bytes) - GY_WIRE_WORD_BYTES;
	cr_assert_eq(gy_hello_get(body, count, &again), 0);
	cr_assert_str_eq(again.cluster, it.cluster);
	body[count - GYRE_NODE_NAME_BYTES_MAX - 1]++;
	cr_assert_eq(gy_hello_get(body, count + 1, &again), -EPROTO);
	body[count - GYRE_NODE_NAME_BYTES_MAX - 1]--;
	body[0]++;
	cr_assert_eq(gy_hello_get(body, count, &again), -EPROTO);
}
