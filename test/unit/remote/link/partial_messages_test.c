/*
 * Large messages on their way in: what a peer announces costs nothing, only what it has sent; and
 * no more is kept than the window and one largest message.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "remote/bare.h"
#include "remote/types.h"

enum {
	LARGEST_BYTES = 1 << 24,
	WINDOW_BYTES = 1 << 16,
	PIECE_BYTES = 1000,
	FRAME_BYTES_MAX = PIECE_BYTES + GY_WIRE_HEAD_BYTES_MAX,
};

static struct bare bare;

static void begin_with(uint32_t window_bytes)
{
	bare_init(&bare, &(struct gyre_node_options){ .link_bytes_max = window_bytes,
						      .message_bytes_max = LARGEST_BYTES });
	bare_accept(&bare);
	bare_greet(&bare);
}

static void begin(void)
{
	begin_with(1 << 30);
}

static void end(void)
{
	bare_hang_up(&bare);
	bare_fini(&bare);
}

/* A fragment of a message of which @left bytes are still to come, with zeros or @body in it. */
static uint32_t feed(uint32_t number, uint32_t left, const unsigned char *body, uint32_t bytes)
{
	const struct gy_fragment fragment = { .stream = number, .left = left };
	uint32_t head_bytes = gy_wire_head_bytes(GY_WIRE_FRAGMENT);
	unsigned char frame[FRAME_BYTES_MAX] = { 0 };

	gy_wire_put_fragment(&fragment, bytes, frame);
	if (body != NULL) {
		memcpy(frame + head_bytes, body, bytes);
	}
	bare_feed(&bare, frame, head_bytes + bytes, head_bytes + bytes);
	return head_bytes + bytes;
}

static uint64_t kept(void)
{
	const struct gy_list *all = &bare.link->partial_messages;
	uint64_t bytes = 0;

	for (const struct gy_list *item = all->next; item != all; item = item->next) {
		bytes += gy_container_of(item, struct gy_partial_message, item)->room;
	}
	return bytes;
}

static struct gy_frame frame_of(enum gy_wire_kind kind)
{
	return (struct gy_frame){ .kind = kind,
				  .to_loop = bare.adder.loop,
				  .to_slot = bare.adder.slot,
				  .to_cookie = bare.adder.cookie,
				  .type = gyre_type_bare_number.id,
				  .layout = gy_type_layout(&gyre_type_bare_number) };
}

/* ---- what they cost ---- */

Test(partial_messages, cost_what_has_come_of_them_and_not_what_is_announced, .init = begin,
     .fini = end)
{
	uint64_t sent = 0;

	for (uint32_t number = 1; number <= GY_PARTIAL_MESSAGES_MAX; number++) {
		sent += feed(number, LARGEST_BYTES, NULL, 1);
	}
	cr_assert(bare_is_alive(&bare));
	cr_assert_leq(kept(), 2 * sent);
	for (uint32_t at = 1; at < 20 * PIECE_BYTES; at += PIECE_BYTES) {
		sent += feed(1, LARGEST_BYTES - at, NULL, PIECE_BYTES);
		cr_assert_leq(kept(), 2 * sent);
	}
	cr_assert(bare_is_alive(&bare));
}

Test(partial_messages, beyond_the_window_and_one_largest_message_end_the_link)
{
	begin_with(WINDOW_BYTES);
	(void)feed(1, LARGEST_BYTES, NULL, 1);
	(void)feed(2, WINDOW_BYTES, NULL, 1);
	cr_assert(bare_is_alive(&bare));
	(void)feed(3, 100, NULL, 1);
	cr_assert_not(bare_is_alive(&bare));
	end();
}

Test(partial_messages, that_are_done_make_room_for_others)
{
	unsigned char whole[PIECE_BYTES];
	const struct gy_frame frame = frame_of(GY_WIRE_NOTICE);

	begin_with(WINDOW_BYTES);
	memset(whole, 0, sizeof(whole));
	(void)gy_wire_put(&frame, whole);
	(void)feed(1, LARGEST_BYTES, NULL, 1);
	for (uint32_t number = 2; number < 2 * WINDOW_BYTES / PIECE_BYTES; number++) {
		(void)feed(number, PIECE_BYTES, whole, PIECE_BYTES);
	}
	cr_assert(bare_is_alive(&bare));
	cr_assert_eq(bare_sums(&bare).dropped[GYRE_DROP_NOT_UNDERSTOOD],
		     2 * WINDOW_BYTES / PIECE_BYTES - 2);
	end();
}

/* ---- how short they may be ---- */

/* What is said behind a large message travels as it does, so that it stays behind it. */
Test(partial_messages, may_be_notices_without_a_byte, .init = begin, .fini = end)
{
	const struct gy_frame frame = frame_of(GY_WIRE_NOTICE);
	unsigned char head[GY_WIRE_HEAD_BYTES_MAX];
	uint32_t bytes = gy_wire_put(&frame, head);

	(void)feed(1, bytes, head, bytes);
	cr_assert(bare_is_alive(&bare));
	cr_assert_eq(bare_sums(&bare).frames, 1);
}

Test(partial_messages, that_are_shorter_than_their_heads_end_the_link, .init = begin, .fini = end)
{
	const struct gy_frame frame = frame_of(GY_WIRE_ASK);
	unsigned char head[GY_WIRE_HEAD_BYTES_MAX];

	(void)gy_wire_put(&frame, head);
	(void)feed(1, GY_WIRE_HEAD_BYTES, head, GY_WIRE_HEAD_BYTES);
	cr_assert_not(bare_is_alive(&bare));
	cr_assert_eq(bare_sums(&bare).sent, 0);
}
