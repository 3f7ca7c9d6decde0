/*
 * The notes of asks that are on their way: each is kept until the peer has taken the ask, and no
 * longer, whatever large messages go in between.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "remote/bare.h"

enum {
	WINDOW_BYTES = 60000, /* so a fragment leaves at a time */
	LARGE_BYTES = 1 << 20,
	LARGE_ASK_BYTES = 80000,
	HEARD_BYTES = 1 << 18,
	ASK_BYTES = GY_WIRE_HEAD_BYTES_MAX + sizeof(struct bare_number)
};

static const struct gyre_address there = { .slot = 1, .cookie = 6, .node = BARE_PEER };
static struct bare bare;

static void begin(void)
{
	bare_init(&bare, &(struct gyre_node_options){ .suspect_ns = GYRE_SECONDS(1000),
						      .down_ns = GYRE_SECONDS(2000) });
	bare_dial(&bare);
	bare_greet(&bare);
	bare.link->window_bytes = WINDOW_BYTES;
}

static void end(void)
{
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}

/* The channel has room again. */
static void take_out(void)
{
	static unsigned char bytes[HEARD_BYTES];

	(void)bare_hear(&bare, bytes, sizeof(bytes));
}

static void say(struct gyre_mail *mail, enum gy_mail_kind kind, uint64_t ask_id)
{
	mail->node.kind = (uint8_t)kind;
	/* Other actors: what one says goes behind its large message. */
	mail->from =
		(struct gy_origin){ .slot = 9 + (uint32_t)ask_id, .cookie = 9, .node = BARE_NODE };
	mail->ask_id = ask_id;
	mail->deadline = 0;
	(void)gy_send_away(&bare.rig.home, there, mail);
	bare_wait(&bare, 1);
	take_out();
}

static void say_ask(uint64_t ask_id)
{
	struct gyre_mail *mail = gy_mail_get(&bare.rig.home, &gyre_type_bare_number);

	cr_assert_not_null(mail);
	say(mail, GY_MAIL_ASK, ask_id);
}

static void say_large(enum gy_mail_kind kind, uint64_t ask_id, size_t bytes)
{
	struct gyre_mail *mail = gy_mail_get(&bare.rig.home, &gyre_type_bare_text);
	char *text = (char *)malloc(bytes + 1);

	cr_assert(mail != NULL && text != NULL);
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	*(struct bare_text *)gyre_payload(mail) = (struct bare_text){ text };
	say(mail, kind, ask_id);
}

/* The peer has taken so many bytes and messages. */
static void credit(uint64_t bytes, uint64_t frames)
{
	unsigned char body[16];
	unsigned char frame_bytes[GY_WIRE_HEAD_BYTES_MAX + sizeof(body)];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };
	const struct gy_frame frame = { .kind = GY_WIRE_CREDIT, .bytes = sizeof(body) };
	uint32_t head;

	gyre_encode_u64(&out, bytes);
	gyre_encode_u64(&out, frames);
	head = gy_wire_put(&frame, frame_bytes);
	memcpy(frame_bytes + head, body, sizeof(body));
	bare_feed(&bare, frame_bytes, head + sizeof(body), sizeof(frame_bytes));
	cr_assert(bare_is_alive(&bare), "%d", bare.rig.channel.reason);
	take_out();
}

Test(in_flight, is_an_ask_until_it_is_taken_though_fragments_follow_it, .init = begin, .fini = end)
{
	say_ask(1);
	say_large(GY_MAIL_NOTICE, 0, LARGE_BYTES);
	cr_assert_eq(bare.link->in_flight.count, 1);
	cr_assert_gt(bare.link->fragments_count, 0, "there are always some under way");
	cr_assert_gt(bare.link->sent_bytes, ASK_BYTES);
	credit(ASK_BYTES, 1);
	cr_expect_eq(bare.link->in_flight.count, 0);
}

Test(in_flight, is_an_ask_until_all_that_left_before_it_is_taken_too, .init = begin, .fini = end)
{
	uint64_t before_it;

	say_large(GY_MAIL_NOTICE, 0, LARGE_BYTES);
	say_ask(1);
	before_it = bare.link->sent_bytes;
	cr_assert_eq(before_it, bare.link->fragment_bytes, "it waits for credit");
	credit(before_it, 0);
	cr_assert_gt(bare.link->sent_bytes, before_it + ASK_BYTES, "fragments go behind it");
	credit(before_it + ASK_BYTES - 1, 0);
	cr_expect_eq(bare.link->in_flight.count, 1);
	credit(before_it + ASK_BYTES, 1);
	cr_expect_eq(bare.link->in_flight.count, 0);
}

Test(in_flight, is_a_large_ask_until_its_last_fragment_is_taken, .init = begin, .fini = end)
{
	uint64_t its_end;

	say_large(GY_MAIL_ASK, 1, LARGE_ASK_BYTES);
	say_large(GY_MAIL_NOTICE, 0, LARGE_BYTES);
	while (bare.link->in_flight.count == 0) {
		its_end = bare.link->sent_bytes;
		credit(its_end, 0);
	}
	its_end = bare.link->in_flight.items[bare.link->in_flight.first].end;
	cr_assert_gt(bare.link->sent_bytes, its_end, "fragments go behind it");
	credit(its_end - 1, 0);
	cr_expect_eq(bare.link->in_flight.count, 1);
	credit(its_end, 1);
	cr_expect_eq(bare.link->in_flight.count, 0);
}

/* The ring of the notes grows where its first is not in its first place. */
Test(in_flight, are_more_than_there_was_room_for_in_their_order, .init = begin, .fini = end)
{
	enum { TAKEN = 10, MORE = 100, TAKEN_LATER = 30 };
	const struct gy_in_flight *in_flight = &bare.link->in_flight;
	uint64_t later = 0;

	for (uint64_t i = 1; i <= TAKEN; i++) {
		say_ask(i);
	}
	credit(bare.link->sent_bytes, TAKEN);
	cr_assert_eq(in_flight->count, 0);
	for (uint64_t i = 1; i <= MORE; i++) {
		say_ask(TAKEN + i);
		later = i == TAKEN_LATER ? bare.link->sent_bytes : later;
	}
	cr_assert_eq(in_flight->count, MORE);
	credit(later, TAKEN + TAKEN_LATER);
	cr_expect_eq(in_flight->count, MORE - TAKEN_LATER);
	cr_expect_eq(in_flight->items[in_flight->first].ask_id, TAKEN + TAKEN_LATER + 1);
}
