/*
 * What a peer may say that a message with a tail is: its elements are as many as its count says and
 * as its bytes have room for, or it is not understood, alone.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "remote/bare.h"
#include "remote/types.h"

enum { BODY_BYTES = 4096 };

static struct bare bare;

static void begin(void)
{
	bare_init(&bare, &(struct gyre_node_options){ .message_bytes_max = 1 << 16 });
	bare_accept(&bare);
	bare_greet(&bare);
}

static void end(void)
{
	cr_expect(bare_is_alive(&bare));
	bare_hang_up(&bare);
	bare_fini(&bare);
}

static uint16_t layout(void)
{
	return gy_type_layout(&gyre_type_bare_values);
}

/* The bytes of a message that says it has @count elements, each of which is 1. */
static const unsigned char *body_of(uint32_t count)
{
	static unsigned char bytes[BODY_BYTES];
	struct bare_values *values = (struct bare_values *)(void *)bytes;
	const size_t room = (BODY_BYTES - offsetof(struct bare_values, values)) / 2;

	*values = (struct bare_values){ .count = count };
	for (size_t i = 0; i < room; i++) {
		values->values[i] = 1;
	}
	return bytes;
}

static void say(enum gy_wire_kind kind, uint16_t with_layout, const void *body, uint32_t bytes)
{
	unsigned char out[GY_WIRE_HEAD_BYTES_MAX + BODY_BYTES];
	const struct gy_frame frame = { .kind = kind,
					.bytes = bytes,
					.to_loop = bare.adder.loop,
					.to_slot = bare.adder.slot,
					.to_cookie = bare.adder.cookie,
					.from_slot = 5,
					.from_cookie = 6,
					.type = GYRE_ID(bare_values),
					.layout = with_layout,
					.ask_id = 9 };
	const uint32_t head = gy_wire_put(&frame, out);

	if (bytes > 0) {
		memcpy(out + head, body, bytes);
	}
	bare_feed(&bare, out, head + bytes, sizeof(out));
}

static uint64_t not_understood(void)
{
	return bare_sums(&bare).dropped[GYRE_DROP_NOT_UNDERSTOOD];
}

/* Says a notice with @count in it, of @bytes. Whether it was taken. */
static bool takes(uint32_t count, uint32_t bytes)
{
	const uint64_t lost = not_understood();
	const uint64_t handled = bare_sums(&bare).handled;

	say(GY_WIRE_NOTICE, layout(), body_of(count), bytes);
	cr_expect_eq(bare_sums(&bare).handled - handled + not_understood() - lost, 1);
	return not_understood() == lost;
}

Test(tail_wire, is_understood_with_as_many_bytes_as_it_counts, .init = begin, .fini = end)
{
	uint64_t sum = 0;

	/* The first two elements stand in the padding. */
	cr_assert(takes(0, 16) && takes(1, 16) && takes(2, 16) && takes(3, 18));
	sum += 1 + 2 + 3;
	for (uint32_t count = 4; count < 1000; count += 37) {
		cr_assert(takes(count, 12 + 2 * count));
		sum += count;
	}
	cr_assert_eq(bare.sum, sum);
}

Test(tail_wire, is_not_understood_with_other_bytes_than_it_counts, .init = begin, .fini = end)
{
	static const uint32_t counts[] = {
		4, 99, 101, 1000, UINT32_MAX, UINT32_C(1) << 31, (UINT32_C(1) << 31) + 100,
	};

	for (size_t i = 0; i < gy_countof(counts); i++) {
		cr_expect_not(takes(counts[i], 12 + 2 * 100), "%u", counts[i]);
	}
	for (uint32_t bytes = 0; bytes < 12 + 2 * 100; bytes++) {
		cr_expect_not(takes(100, bytes), "%u", bytes);
	}
	cr_expect_not(takes(100, 12 + 2 * 100 + 1));
	cr_expect_not(takes(0, 12), "the padding travels too");
	cr_assert_eq(bare.sum, 0);
}

Test(tail_wire, that_an_asker_has_wrong_is_told_to_it, .init = begin, .fini = end)
{
	struct bare_sums before = bare_sums(&bare);
	struct bare_sums after;

	say(GY_WIRE_ASK, layout(), body_of(5), 12 + 2 * 4);
	after = bare_sums(&bare);
	cr_assert_eq(after.dropped[GYRE_DROP_NOT_UNDERSTOOD] -
			     before.dropped[GYRE_DROP_NOT_UNDERSTOOD],
		     1);
	cr_assert_eq(after.handled, before.handled);
	/* The error waits for the link that this node has to dial. */
	cr_assert_eq(after.waiting - before.waiting, 1);
}

Test(tail_wire, of_another_layout_is_not_understood, .init = begin, .fini = end)
{
	say(GY_WIRE_NOTICE, (uint16_t)(layout() + 1), body_of(5), 12 + 2 * 5);
	cr_assert_eq(not_understood(), 1);
	cr_assert_eq(bare.sum, 0);
}

/* A node says each with a head of its own, since their lengths differ; a peer may do otherwise. */
Test(tail_wire, may_be_said_like_the_one_before, .init = begin, .fini = end)
{
	say(GY_WIRE_NOTICE, layout(), body_of(5), 12 + 2 * 5);
	for (uint32_t count = 3; count < 50; count++) {
		say(GY_WIRE_REPEAT, 0, body_of(count), 12 + 2 * count);
	}
	cr_assert_eq(bare.sum, 5 + (3 + 49) * 47 / 2);
	say(GY_WIRE_REPEAT, 0, body_of(50), 12 + 2 * 49);
	say(GY_WIRE_REPEAT, 0, body_of(UINT32_MAX), 16);
	say(GY_WIRE_REPEAT, 0, NULL, 0);
	cr_assert_eq(not_understood(), 3);
	cr_assert_eq(bare.sum, 5 + (3 + 49) * 47 / 2);
}

/* In pieces of 60 bytes; @bytes are those of the body. */
static void say_in_fragments(uint32_t count, uint32_t bytes)
{
	unsigned char whole[GY_WIRE_HEAD_BYTES_MAX + BODY_BYTES];
	const struct gy_frame frame = { .kind = GY_WIRE_NOTICE,
					.to_loop = bare.adder.loop,
					.to_slot = bare.adder.slot,
					.to_cookie = bare.adder.cookie,
					.from_slot = 5,
					.from_cookie = 6,
					.type = GYRE_ID(bare_values),
					.layout = layout() };
	const uint32_t head = gy_wire_put(&frame, whole);
	struct gy_fragment fragment = { .stream = 1, .left = head + bytes };

	memcpy(whole + head, body_of(count), bytes);
	for (uint32_t at = 0; fragment.left > 0;) {
		const uint32_t part = fragment.left < 60 ? fragment.left : 60;
		unsigned char out[GY_WIRE_HEAD_BYTES_MAX + 60];
		const uint32_t before = gy_wire_head_bytes(GY_WIRE_FRAGMENT);

		gy_wire_put_fragment(&fragment, part, out);
		memcpy(out + before, whole + at, part);
		bare_feed(&bare, out, before + part, sizeof(out));
		at += part;
		fragment.left -= part;
	}
}

Test(tail_wire, is_put_together_from_fragments_and_looked_at_then, .init = begin, .fini = end)
{
	say_in_fragments(1000, 12 + 2 * 1000);
	cr_assert_eq(bare.sum, 1000);
	say_in_fragments(1001, 12 + 2 * 1000);
	say_in_fragments(999, 12 + 2 * 1000);
	cr_assert_eq(bare.sum, 1000);
	cr_assert_eq(not_understood(), 2);
}
