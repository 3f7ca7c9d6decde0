/*
 * What becomes of messages, asks and watches when a link breaks and there is another one, to and
 * from a stranger that breaks it where a test wants it.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <gyre/outside.h>
#include <gyre/watch.h>

#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "base/atomic.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/stranger.h"

enum { HUGE_BYTES = 200000, NOT_YET = 1 };

struct huge {
	unsigned char bytes[HUGE_BYTES];
};
GYRE_MESSAGE(huge, 0x1210);

static struct gyre_address afar = { .slot = 5, .cookie = 6, .loop = 3, .node = STRANGER_ID };

/* A connection of a later dial than those before. */
static void meet_again(struct stranger *stranger, uint64_t dial)
{
	struct gy_hello hello = stranger_hello();

	hello.dial = dial;
	stranger_dial(stranger);
	stranger_say_hello(stranger, &hello);
}

/* ---- gates ---- */

static struct gy_link_order link_order(void)
{
	struct gy_nodes *nodes = gy_homes_of(fixture.system)->nodes;
	struct gy_peer *peer;
	struct gy_link_order link_order = { 0 };

	cr_assert_eq(pthread_mutex_lock(&nodes->mutex), 0);
	peer = gy_peer_find(nodes, STRANGER_ID);
	if (peer != NULL && peer->link_orders_count > 0) {
		link_order = peer->link_orders[0];
	}
	cr_assert_eq(pthread_mutex_unlock(&nodes->mutex), 0);
	return link_order;
}

Test(link_order, ends_the_connection_before_when_a_loop_of_a_peer_dials_anew)
{
	struct stranger before;
	struct stranger now;

	stranger_open_on(2, &stranger_quick, &sink_class);
	meet_again(&before, 1);
	stranger_expect(&before, GY_WIRE_HELLO);
	for (uint64_t dial = 2; dial < 20; dial++) {
		meet_again(&now, dial);
		stranger_expect(&now, GY_WIRE_HELLO);
		stranger_expect_end(&before);
		stranger_close(&before);
		before = now;
	}
	stranger_close(&before);
	fixture_close();
}

Test(link_order, takes_no_connection_that_was_dialled_before_the_newest)
{
	struct stranger newest;
	struct stranger before;

	stranger_open_on(2, &stranger_quick, &sink_class);
	meet_again(&newest, 7);
	stranger_expect(&newest, GY_WIRE_HELLO);
	meet_again(&before, 6);
	stranger_expect_end(&before);
	cr_assert_eq(link_order().dial, 7);
	stranger_close(&before);
	stranger_close(&newest);
	fixture_close();
}

Test(link_order, is_not_there_for_a_loop_beyond_all_bounds)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&stranger_quick);
	hello.loop = GY_LINK_ORDERS_MAX;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect_refusal(&stranger, GY_REFUSED_MALFORMED);
	stranger_close(&stranger);
	hello.loop = GY_LINK_ORDERS_MAX - 1;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_close(&stranger);
	fixture_close();
}

static uint32_t blocked;
static uint32_t released;

static int block(struct gyre_stack *stack)
{
	gy_store_release(&blocked, 1);
	while (gy_load_acquire(&released) == 0) {
		(void)sched_yield();
	}
	return gyre_return(stack);
}

/* Some connections with ever later dials, and more until one is accepted by a loop that takes it.
 */
static uint32_t meet_until_claimed(struct stranger *strangers, uint32_t max, uint64_t dial)
{
	uint32_t count = 0;

	for (; count < 8; count++) {
		meet_again(&strangers[count], dial + count);
	}
	for (uint32_t looks = 0; link_order().dial < dial; looks++) {
		if (looks % 1000 == 0 && count < max) {
			meet_again(&strangers[count], dial + count);
			count++;
		}
		(void)sched_yield();
	}
	return count;
}

/* What came by the last one may be in the outbox of that loop still, or not even read. */
Test(link_order, lets_nobody_in_before_the_loop_that_served_the_last_has_let_go)
{
	static const struct gyre_class blocker = { .name = "blocker", .behaviour.notice = block };
	static struct stranger later[64];
	struct gyre_address address;
	struct stranger first;
	uint64_t dial = 0;
	uint32_t count;

	stranger_open_on(2, &stranger_quick, &sink_class);
	address = spawn_outside(&blocker, 1);
	do {
		if (dial > 0) {
			stranger_close(&first);
		}
		meet_again(&first, ++dial);
		stranger_expect(&first, GY_WIRE_HELLO);
	} while (link_order().host != 2);
	cr_assert_eq(notify_outside(address, 0), 0);
	while (gy_load_acquire(&blocked) == 0) {
		(void)sched_yield();
	}
	count = meet_until_claimed(later, 64, dial + 1);
	cr_assert_eq(link_order().host, 2, "the loop with the last one has not let go");
	gy_store_release(&released, 1);
	stranger_expect_end(&first);
	for (uint32_t i = 0; i < count - 1; i++) { /* one that was let in meanwhile ends, too */
		while (stranger_hear(&later[i])) {
		}
		stranger_close(&later[i]);
	}
	stranger_expect(&later[count - 1], GY_WIRE_HELLO);
	stranger_close(&later[count - 1]);
	stranger_close(&first);
	fixture_close();
}

/* ---- asks ---- */

static int result; /* atomic: of the last ask */

static void last_received(struct gyre_mail *end, int error, void *arg)
{
	(void)end;
	(void)arg;
	gy_store_release(&result, error);
}

static void ask_afar(struct gyre_mail *mail)
{
	gy_store_release(&result, NOT_YET);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, afar, mail, GYRE_FOREVER,
					      last_received, NULL),
		     0);
}

static void expect_result(int error)
{
	while (gy_load_acquire(&result) == NOT_YET) {
		(void)sched_yield();
	}
	cr_assert_eq(gy_load_acquire(&result), error, "it ended with %d", result);
}

/* What the stranger says to who asked it. */
static void say_to_asker(struct stranger *stranger, enum gy_wire_kind kind,
			 const struct gy_frame *ask, const struct gyre_type *type, const void *body)
{
	const struct gy_frame frame = {
		.kind = kind,
		.to_loop = ask->from_loop,
		.to_slot = ask->from_slot,
		.to_cookie = ask->from_cookie,
		.from_slot = afar.slot,
		.from_cookie = afar.cookie,
		.from_loop = afar.loop,
		.type = type->id,
		.layout = type == &gy_type_unanswered ? 0 : gy_type_layout(type),
		.ask_id = ask->ask_id,
		.bytes = type->bytes,
		.body = (const unsigned char *)body,
	};

	stranger_say_frame(stranger, &frame);
}

Test(broken_link, fails_an_ask_that_was_on_its_way_at_once)
{
	struct stranger stranger;

	stranger_open(&stranger_quick);
	stranger_listen(&stranger);
	ask_afar(gyre_system_new(fixture.system, number, 1));
	stranger_welcome(&stranger);
	stranger_expect(&stranger, GY_WIRE_ASK);
	cr_assert_eq(close(stranger.fd), 0);
	expect_result(-ECONNRESET);
	stranger_welcome(&stranger); /* it is not asked again */
	ask_afar(gyre_system_new(fixture.system, number, 2));
	stranger_expect(&stranger, GY_WIRE_ASK);
	cr_assert_eq(*stranger.frame.body, 2);
	stranger_close(&stranger);
	expect_result(-ECONNRESET);
	fixture_close();
}

/* Of its fragments only the first ones are heard. */
Test(broken_link, fails_a_large_ask_whether_all_of_it_was_sent_or_a_part)
{
	for (uint64_t window = 1 << 16; window <= 1 << 22; window <<= 6) {
		struct gy_hello hello = stranger_hello();
		struct stranger stranger;

		hello.window_bytes = (uint32_t)window;
		stranger_open(&stranger_quick);
		stranger_listen(&stranger);
		ask_afar(gyre_system_mail_create(fixture.system, &gyre_type_huge));
		stranger_accept(&stranger);
		stranger_expect(&stranger, GY_WIRE_HELLO);
		stranger_say_hello(&stranger, &hello);
		stranger_expect(&stranger, GY_WIRE_FRAGMENT);
		if (window > HUGE_BYTES) {
			for (int i = 0; i < 3; i++) {
				stranger_expect(&stranger, GY_WIRE_FRAGMENT);
			}
		}
		stranger_close(&stranger);
		expect_result(-ECONNRESET);
		fixture_close();
	}
}

/* The window is that of one ask: what comes after it shows that the credit was read. */
Test(broken_link, leaves_an_ask_alone_that_its_peer_has_taken)
{
	struct gy_hello hello = stranger_hello();
	const struct number answer = { 42 };
	struct stranger stranger;
	struct stranger in;
	struct gy_frame taken;
	struct gy_frame lost;

	stranger_open(&stranger_quick);
	stranger_listen(&stranger);
	ask_afar(gyre_system_new(fixture.system, number, 1));
	hello.window_bytes = 40 + sizeof(struct number);
	stranger_accept(&stranger);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_say_hello(&stranger, &hello);
	stranger_expect(&stranger, GY_WIRE_ASK);
	taken = stranger.frame;
	stranger_credit(&stranger, 40 + sizeof(struct number), 1);
	cr_assert_eq(gyre_system_notify(fixture.system, afar,
					gyre_system_new(fixture.system, number, 2)),
		     0);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	cr_assert_eq(close(stranger.fd), 0);
	stranger_welcome(&stranger);
	stranger_meet(&in);
	say_to_asker(&in, GY_WIRE_REPLY, &taken, &gyre_type_number, &answer);
	expect_result(0);
	ask_afar(gyre_system_new(fixture.system, number, 3));
	stranger_expect(&stranger, GY_WIRE_ASK);
	lost = stranger.frame;
	cr_assert_neq(lost.ask_id, taken.ask_id);
	stranger_close(&stranger);
	stranger_close(&in);
	expect_result(-ECONNRESET);
	fixture_close();
}

/* ---- answers ---- */

static void ask_local(struct stranger *stranger, struct gyre_address local, uint64_t ask_id)
{
	const struct number one = { 1 };
	const struct gy_frame frame = { .kind = GY_WIRE_ASK,
					.to_loop = local.loop,
					.to_slot = local.slot,
					.to_cookie = local.cookie,
					.from_loop = 9,
					.from_slot = 10,
					.from_cookie = 11,
					.type = gyre_type_number.id,
					.layout = gy_type_layout(&gyre_type_number),
					.ask_id = ask_id,
					.bytes = sizeof(one),
					.body = (const unsigned char *)&one };

	stranger_say_frame(stranger, &frame);
}

static void expect_unanswered(struct stranger *stranger, uint64_t ask_id, int error)
{
	struct gyre_decoder in;

	stranger_expect(stranger, GY_WIRE_EVENT);
	cr_assert_eq(stranger->frame.type, gy_type_unanswered.id);
	cr_assert_eq(stranger->frame.to_loop, 9);
	cr_assert_eq(stranger->frame.to_slot, 10);
	cr_assert_eq(stranger->frame.to_cookie, 11);
	cr_assert_eq(stranger->frame.ask_id, ask_id);
	in = (struct gyre_decoder){ .at = stranger->frame.body, .left = stranger->frame.bytes };
	cr_assert_eq((int)gyre_decode_u32(&in), error);
}

Test(broken_link, has_its_peer_told_of_answers_that_may_be_lost_when_there_is_another)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &adder_class);
	struct stranger out;
	struct stranger in;

	stranger_listen(&out);
	stranger_meet(&in);
	ask_local(&in, local, 1);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_REPLY);
	stranger_credit(&out, 40 + sizeof(struct number), 1);
	ask_local(&in, local, 2);
	stranger_expect(&out, GY_WIRE_REPLY);
	ask_local(&in, local, 3);
	stranger_expect(&out, GY_WIRE_REPLY);
	for (int i = 0; i < 2; i++) { /* what says so may be lost as well */
		cr_assert_eq(close(out.fd), 0);
		stranger_welcome(&out);
		expect_unanswered(&out, 2, -ECONNRESET);
		expect_unanswered(&out, 3, -ECONNRESET);
	}
	stranger_close(&out);
	stranger_close(&in);
	fixture_close();
}

Test(broken_link, fails_an_ask_whose_answer_its_peer_has_lost)
{
	const int32_t error = -ECONNRESET;
	struct stranger stranger;
	struct stranger in;

	stranger_open(&stranger_quick);
	stranger_listen(&stranger);
	ask_afar(gyre_system_new(fixture.system, number, 1));
	stranger_welcome(&stranger);
	stranger_expect(&stranger, GY_WIRE_ASK);
	stranger_meet(&in);
	say_to_asker(&in, GY_WIRE_EVENT, &stranger.frame, &gy_type_unanswered, &error);
	expect_result(-ECONNRESET);
	say_to_asker(&in, GY_WIRE_EVENT, &stranger.frame, &gy_type_unanswered, &error);
	stranger_close(&in);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_LATE], 0, "the second one means nothing");
}

static int answer_at_length(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_mail_create(stack, &gyre_type_large));
}

Test(link, has_an_asker_told_whose_answer_is_too_large_for_it)
{
	static const struct gyre_class talker = { .name = "talker",
						  .behaviour.ask = answer_at_length };
	struct gyre_address local = stranger_open_with(&stranger_quick, &talker);
	struct gy_hello hello = stranger_hello();
	struct stranger out;
	struct stranger in;

	stranger_listen(&out);
	stranger_meet(&in);
	ask_local(&in, local, 4);
	stranger_accept(&out);
	stranger_expect(&out, GY_WIRE_HELLO);
	hello.message_bytes_max = 1000;
	stranger_say_hello(&out, &hello);
	expect_unanswered(&out, 4, -EMSGSIZE);
	stranger_close(&out);
	stranger_close(&in);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_NOT_UNDERSTOOD], 1);
}

/* ---- watches ---- */

static int watch_afar(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, afar) == 0);
	return gyre_return(stack);
}

Test(broken_link, of_a_peer_has_watches_renewed_when_the_next_one_is_there)
{
	static const struct gyre_class watcher = { .name = "watcher",
						   .behaviour.notice = watch_afar };
	struct gyre_address local = stranger_open_with(&stranger_quick, &watcher);
	struct stranger out;
	struct stranger in;
	uint64_t number;

	stranger_listen(&out);
	cr_assert_eq(notify_outside(local, 0), 0);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_EVENT);
	number = out.frame.ask_id;
	stranger_meet(&in);
	stranger_close(&in);
	stranger_meet(&in);
	stranger_expect(&out, GY_WIRE_EVENT);
	cr_assert_eq(out.frame.type, gy_type_watch.id);
	cr_assert_eq(out.frame.ask_id, number);
	stranger_close(&in);
	stranger_close(&out);
	fixture_close();
}

/* ---- again and again ---- */

Test(broken_link, a_thousand_times_ends_each_ask_and_leaves_nothing_behind)
{
	enum { FLAPS = 1000 };
	struct gyre_node_status status = { 0 };
	struct stranger stranger;

	stranger_open(&stranger_quick);
	stranger_listen(&stranger);
	for (uint64_t i = 1; i <= FLAPS; i++) {
		ask_afar(gyre_system_new(fixture.system, number, i));
		stranger_welcome(&stranger);
		cr_assert_eq(stranger.theirs.dial, i);
		stranger_expect(&stranger, GY_WIRE_ASK);
		if (i == FLAPS) { /* or it would dial once more before the end */
			cr_assert_eq(close(stranger.listener), 0);
			stranger.listener = -1;
		}
		cr_assert_eq(close(stranger.fd), 0);
		expect_result(-ECONNRESET);
	}
	stranger.fd = -1;
	cr_assert_eq(gyre_system_node_status(fixture.system, STRANGER_ID, &status), 0);
	cr_assert_eq(status.sent, FLAPS);
	cr_assert_eq(status.lost, FLAPS);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.counters.to_nodes, FLAPS);
	cr_assert_eq(fixture.counters.connected, FLAPS);
}
