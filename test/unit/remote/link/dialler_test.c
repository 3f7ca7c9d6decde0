/*
 * The side that has dialled: what it thinks of answers, and when it closes a link that nobody
 * needs. On a clock that stands until a test moves it.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "remote/bare.h"
#include "remote/message/outgoing.h"
#include "remote/node.h"

enum { HEARD_BYTES = 1 << 16 };

static struct bare bare;
static const uint64_t idle_ns = GYRE_SECONDS(5);
static const uint64_t beat_ns = GYRE_MILLISECONDS(300);

static void begin(void)
{
	/* It is heard of for as long as a test takes. */
	bare_init(&bare, &(struct gyre_node_options){ .idle_ns = idle_ns,
						      .suspect_ns = GYRE_SECONDS(1000),
						      .down_ns = GYRE_SECONDS(2000) });
}

static void end(void)
{
	bare_fini(&bare);
}

static size_t hear(unsigned char bytes[HEARD_BYTES])
{
	return bare_hear(&bare, bytes, HEARD_BYTES);
}

/* Whether a frame of that kind was said since the last time. */
static bool has_said(enum gy_wire_kind kind, struct gy_frame *ret_last)
{
	static unsigned char bytes[HEARD_BYTES];
	size_t count = hear(bytes);
	bool last_sent = false;

	for (size_t at = 0; at < count;) {
		struct gy_frame frame;

		gy_wire_get(bytes + at, &frame);
		if (frame.kind == kind) {
			last_sent = true;
			*ret_last = frame;
		}
		at += gy_wire_head_bytes(frame.kind) + frame.bytes;
	}
	return last_sent;
}

/* ---- answers ---- */

static void answer(const struct gy_hello *hello)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];

	bare_feed(&bare, bytes, gy_hello_put(hello, bytes), sizeof(bytes));
}

static void expect_refused(const struct gy_hello *hello, enum gy_refusal refusal)
{
	struct gy_frame last_sent;

	bare_dial(&bare);
	answer(hello);
	cr_expect_not(gy_link_has(bare.link, GY_LINK_FLAG_COUNTED_OPEN));
	cr_assert(has_said(GY_WIRE_REFUSE, &last_sent));
	cr_expect_eq(last_sent.body[0], refusal, "%u instead of %u", last_sent.body[0],
		     (unsigned)refusal);
	cr_expect_not(bare_is_alive(&bare));
	bare_hang_up(&bare);
}

Test(dialler, refuses_answers_in_other_versions_of_other_clusters_and_other_nodes, .init = begin,
     .fini = end)
{
	struct gy_hello hello = bare_hello();

	hello.version_min = 0;
	hello.version_max = 0;
	expect_refused(&hello, GY_REFUSED_VERSION);
	hello.version_min = GY_WIRE_VERSION + 1;
	hello.version_max = GY_WIRE_VERSION + 9;
	expect_refused(&hello, GY_REFUSED_VERSION);
	hello = bare_hello();
	(void)snprintf(hello.cluster, sizeof(hello.cluster), "other");
	expect_refused(&hello, GY_REFUSED_CLUSTER);
	hello = bare_hello();
	hello.node++;
	expect_refused(&hello, GY_REFUSED_ID);
	hello = bare_hello();
	hello.proves = true;
	expect_refused(&hello, GY_REFUSED_SECRET);
}

Test(dialler, refuses_an_answer_without_the_proof_of_the_secret, .init = begin, .fini = end)
{
	static const unsigned char proof[GY_WIRE_WORD_BYTES + GY_PROOF_BYTES] = { GY_PROOF_BYTES, 0,
										  0,
										  GY_WIRE_PROOF };
	struct gy_hello hello = bare_hello();
	struct gy_frame last_sent;

	bare_share(&bare, "known to few");
	expect_refused(&hello, GY_REFUSED_SECRET);
	hello.proves = true;
	bare_dial(&bare);
	answer(&hello);
	cr_assert(has_said(GY_WIRE_PROOF, &last_sent), "who dials proves it first");
	bare_feed(&bare, proof, sizeof(proof), sizeof(proof));
	cr_assert(has_said(GY_WIRE_REFUSE, &last_sent));
	cr_expect_eq(last_sent.body[0], GY_REFUSED_SECRET);
	cr_expect_not(gy_link_has(bare.link, GY_LINK_FLAG_COUNTED_OPEN));
	bare_hang_up(&bare);
}

Test(dialler, gives_up_a_connection_that_is_refused_for_any_reason, .init = begin, .fini = end)
{
	for (unsigned code = 0; code < 256; code++) {
		const unsigned char refusal[] = { 1, 0, 0, GY_WIRE_REFUSE, (unsigned char)code };
		uint32_t warnings = bare.warnings;

		bare_dial(&bare);
		bare_feed(&bare, refusal, sizeof(refusal), sizeof(refusal));
		cr_expect_not(bare_is_alive(&bare), "reason %u", code);
		cr_expect_eq(bare.warnings, warnings + 1, "reason %u is logged", code);
		bare_hang_up(&bare);
	}
}

/* ---- idle ---- */

static void credit(uint64_t frames)
{
	unsigned char body[16];
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX + sizeof(body)];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };
	const struct gy_frame frame = { .kind = GY_WIRE_CREDIT, .bytes = sizeof(body) };
	uint32_t head;

	gyre_encode_u64(&out, bare.link->sent_bytes);
	gyre_encode_u64(&out, frames);
	head = gy_wire_put(&frame, bytes);
	memcpy(bytes + head, body, sizeof(body));
	bare_feed(&bare, bytes, head + sizeof(body), sizeof(bytes));
}

static void dial_and_say_one(void)
{
	bare_dial(&bare);
	bare_greet(&bare);
	cr_assert_eq(bare_notify(&bare, 1), 0);
}

static void expect_closed(void)
{
	struct gy_frame last_sent;

	cr_expect(has_said(GY_WIRE_CLOSE, &last_sent));
	cr_expect_not(bare_is_alive(&bare));
	bare_hang_up(&bare);
}

Test(dialler, closes_a_link_that_has_carried_one_message_when_it_is_idle, .init = begin,
     .fini = end)
{
	struct gy_frame last_sent;

	dial_and_say_one();
	credit(1);
	bare_wait(&bare, idle_ns - GYRE_MILLISECONDS(1));
	cr_expect_not(has_said(GY_WIRE_CLOSE, &last_sent));
	bare_wait(&bare, beat_ns);
	expect_closed();
}

Test(dialler, closes_a_link_that_has_carried_nothing, .init = begin, .fini = end)
{
	bare_dial(&bare);
	bare_greet(&bare);
	bare_wait(&bare, idle_ns + beat_ns);
	expect_closed();
}

/* However long that takes: the channel has bounds for it. */
Test(dialler, lets_a_link_that_it_has_closed_end_in_good_order, .init = begin, .fini = end)
{
	struct gy_frame last_sent;

	bare_dial(&bare);
	bare_greet(&bare);
	bare_wait(&bare, idle_ns + beat_ns);
	cr_assert(has_said(GY_WIRE_CLOSE, &last_sent));
	bare_wait(&bare, bare.homes.nodes->options.greeting_ns + beat_ns);
	cr_expect_eq(bare.rig.channel.reason, 0, "%d", bare.rig.channel.reason);
	bare_hang_up(&bare);
}

Test(dialler, closes_no_link_before_the_peer_has_taken_all, .init = begin, .fini = end)
{
	dial_and_say_one();
	bare_wait(&bare, 2 * idle_ns);
	cr_expect(bare_is_alive(&bare));
	credit(1);
	bare_wait(&bare, beat_ns);
	expect_closed();
}

Test(dialler, keeps_a_link_that_is_used, .init = begin, .fini = end)
{
	dial_and_say_one();
	for (uint64_t i = 2; i < 12; i++) {
		credit(i - 1);
		bare_wait(&bare, idle_ns - beat_ns);
		cr_assert(bare_is_alive(&bare));
		cr_assert_eq(bare_notify(&bare, i), 0);
	}
	credit(11);
	bare_wait(&bare, idle_ns + beat_ns);
	expect_closed();
}

Test(dialler, leaves_it_to_the_other_side_to_close_what_that_has_dialled, .init = begin,
     .fini = end)
{
	static const unsigned char bye[] = { 0, 0, 0, GY_WIRE_CLOSE };

	bare_accept(&bare);
	bare_greet(&bare);
	bare_wait(&bare, 3 * idle_ns);
	cr_expect(bare_is_alive(&bare));
	bare_feed(&bare, bye, sizeof(bye), sizeof(bye));
	cr_expect(gy_link_has(bare.link, GY_LINK_FLAG_CLOSING));
	bare_hang_up(&bare);
	cr_expect_eq(gy_peer_find(bare.homes.nodes, BARE_PEER)->state, GYRE_NODE_UP,
		     "it is not suspect for that");
}

/* ---- what waits ---- */

static const struct gyre_address asker = { .slot = 1, .cookie = 2, .node = BARE_PEER };

/* Whoever asked would wait for ever if nobody asked again. */
Test(dialler, tries_again_for_what_is_owed_when_there_is_no_connection, .init = begin, .fini = end)
{
	struct gy_links *links = gy_links_of(&bare.rig.home);
	struct gy_link *link;
	uint64_t timers;
	int error = 0;

	cr_assert_neq(gy_peer_get(bare.homes.nodes, BARE_PEER), NULL);
	cr_assert_eq(gy_link_get(links, BARE_PEER, &error), NULL);
	cr_expect_eq(error, -EHOSTUNREACH, "it has no address");
	link = (struct gy_link *)gy_id_table_find(&links->dialled, BARE_PEER);
	cr_assert_not(gy_timer_is_started(&link->redial));
	gy_outgoing_fail_answer(link, asker, 1, -ENOBUFS);
	cr_assert_neq(link->waiting, NULL);
	cr_expect(gy_timer_is_started(&link->redial));
	timers = bare.rig.home.loop.wheel.count;
	gy_outgoing_fail_answer(link, asker, 2, -ENOBUFS);
	cr_assert_eq(bare.rig.home.loop.wheel.count, timers, "it is in a pause already");
	bare_wait(&bare, GYRE_SECONDS(1));
	cr_expect(gy_timer_is_started(&link->redial), "as long as it waits");
	bare_forget(&bare);
}

/* Who has lost the end of an actor with the link watches it anew when the next one comes. */
Test(dialler, tries_again_after_a_loss_as_long_as_the_peer_lives, .init = begin, .fini = end)
{
	struct gy_link *link;

	dial_and_say_one();
	link = bare.link;
	bare_hang_up(&bare);
	link->peer->links = 1; /* one of its own is open */
	gy_timer_start(&bare.rig.home.loop.wheel, &link->redial, GYRE_SECONDS(1));
	bare_wait(&bare, 4 * idle_ns);
	cr_assert_not(gy_link_has(link, GY_LINK_FLAG_PEER_UNSURE));
	cr_expect(gy_timer_is_started(&link->redial));
	link->peer->links = 0;
	link->peer->state = GYRE_NODE_DOWN;
	bare_wait(&bare, bare.homes.nodes->options.redial_max_ns);
	cr_expect_not(gy_timer_is_started(&link->redial));
	bare_forget(&bare);
}

Test(dialler, dials_nobody_on_a_loop_that_does_not_take_part, .init = begin, .fini = end)
{
	struct gy_links *links = gy_links_of(&bare.rig.home);
	int error = 0;

	cr_assert_neq(gy_peer_get(bare.homes.nodes, BARE_PEER), NULL);
	gy_peer_learn_address(gy_peer_find(bare.homes.nodes, BARE_PEER), "tcp://127.0.0.1:1");
	bare.loops->count = 0;
	cr_expect_eq(gy_link_get(links, BARE_PEER, &error), NULL);
	cr_expect_eq(error, -ESHUTDOWN, "%d", error);
	bare.loops->count = 1;
}
