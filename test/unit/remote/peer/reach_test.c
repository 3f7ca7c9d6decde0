/*
 * REACH, from both sides: what a node makes of it, on a clock that stands until a test moves it,
 * and what it says to a peer that it cannot dial.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/life/watch.h"
#include "actor/mail/mail.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "remote/bare.h"
#include "remote/stranger.h"
#include "remote/types.h"

enum { HOLD_MS = 60000 };

static struct bare bare;
static const uint64_t away_ns = GYRE_SECONDS(5);
static const uint64_t heartbeat_ns = GYRE_SECONDS(1);
static const uint64_t beat_ns = GYRE_MILLISECONDS(300);
static const struct gyre_address afar = { .slot = 5, .cookie = 6, .node = BARE_PEER, .life = 1000 };

/* ---- an actor that asks and watches ---- */

enum { TO_ASK, TO_WATCH };

static struct gyre_address prober;
static uint32_t asked;
static uint32_t failed;
static uint32_t told;

struct frame {
	struct gyre_future future;
};

static int probe(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, bare_number)->value == TO_WATCH) {
		cr_expect_eq(gyre_watch(stack, afar), 0);
		return gyre_return(stack);
	}
	asked++;
	GYRE_AWAIT(stack, gyre_ask(stack, afar, gyre_new(stack, bare_number, 1), GYRE_FOREVER,
				   &frame->future));
	failed += gyre_future_error(&frame->future) == -EADDRNOTAVAIL;
	return gyre_return(stack);
	GYRE_END(stack);
}

static int hear_of_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	cr_assert_not_null(terminated);
	cr_expect(gyre_address_equal(terminated->actor, afar));
	told += terminated->reason == -EADDRNOTAVAIL;
	return gyre_return(stack);
}

static const struct gyre_class prober_class = {
	.name = "prober",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = probe, .event = hear_of_end },
};

static void have_it(uint64_t what)
{
	bare_tell(&bare, prober, what);
	bare_wait(&bare, 1);
}

static void begin(void)
{
	const struct gy_spawn_order order = { .class = &prober_class };

	bare_init(&bare, &(struct gyre_node_options){ .heartbeat_ns = heartbeat_ns,
						      .away_ns = away_ns,
						      .idle_ns = GYRE_SECONDS(3600),
						      .suspect_ns = GYRE_SECONDS(1000),
						      .down_ns = GYRE_SECONDS(2000) });
	cr_assert_eq(gy_spawn(&bare.rig.home, &order, 0, &prober), 0);
	bare_dial(&bare);
	bare_greet(&bare);
}

static void end(void)
{
	if (bare.link != NULL) {
		bare_hang_up(&bare);
	}
	bare_forget(&bare);
	bare_fini(&bare);
}

static void say(int error, uint32_t left_ms)
{
	const struct gy_reach reach = { .error = error,
					.left_ms = left_ms,
					.address = "tcp://10.0.0.1:9000" };
	unsigned char bytes[GY_REACH_BYTES_MAX];

	bare_feed(&bare, bytes, gy_reach_put(&reach, bytes), sizeof(bytes));
}

/* ---- who is told ---- */

Test(reach, fails_what_is_asked_before_and_after, .init = begin, .fini = end)
{
	have_it(TO_ASK);
	cr_assert_eq(bare_count_said(&bare, GY_WIRE_ASK, gyre_type_bare_number.id), 1);
	say(-ECONNREFUSED, HOLD_MS);
	cr_expect_eq(failed, 1);
	have_it(TO_ASK);
	cr_expect_eq(failed, 2);
	cr_expect_eq(bare_count_said(&bare, GY_WIRE_ASK, gyre_type_bare_number.id), 0,
		     "it has not left");
	cr_expect_eq(bare_notify(&bare, 1), 0);
	cr_expect_eq(bare_count_said(&bare, GY_WIRE_NOTICE, gyre_type_bare_number.id), 1);
	cr_expect_eq(bare.warnings, 1, "it is said once");
}

Test(reach, is_over_when_the_peer_says_so, .init = begin, .fini = end)
{
	say(-ECONNREFUSED, HOLD_MS);
	say(0, 0);
	have_it(TO_ASK);
	cr_expect_eq(failed, 0);
	cr_expect_eq(bare_count_said(&bare, GY_WIRE_ASK, gyre_type_bare_number.id), 1);
}

Test(reach, is_over_when_the_time_is_for_which_it_was_said, .init = begin, .fini = end)
{
	say(-ECONNREFUSED, 1000);
	bare_wait(&bare, GYRE_MILLISECONDS(900));
	have_it(TO_ASK);
	cr_expect_eq(failed, 1);
	say(-ECONNREFUSED, 1000);
	bare_wait(&bare, GYRE_MILLISECONDS(900));
	have_it(TO_ASK);
	cr_expect_eq(failed, 2, "it was said again");
	bare_wait(&bare, GYRE_MILLISECONDS(100) + beat_ns);
	have_it(TO_ASK);
	cr_expect_eq(failed, 2);
}

Test(reach, is_over_with_its_connection, .init = begin, .fini = end)
{
	say(-ECONNREFUSED, HOLD_MS);
	bare_hang_up(&bare);
	bare_dial(&bare);
	bare_greet(&bare);
	have_it(TO_ASK);
	cr_expect_eq(failed, 0);
}

/* All actors are looked at for it. */
Test(reach, fails_no_asks_more_often_than_once_in_a_heartbeat, .init = begin, .fini = end)
{
	for (int i = 0; i < 5; i++) {
		have_it(TO_ASK);
		say(-ECONNREFUSED, HOLD_MS);
		if (i < 4) {
			say(0, 0);
		}
	}
	cr_expect_eq(asked, 5);
	cr_expect_eq(failed, 1);
	cr_expect_eq(bare.warnings, 1);
	bare_wait(&bare, heartbeat_ns - GYRE_MILLISECONDS(10));
	cr_expect_eq(failed, 1);
	bare_wait(&bare, beat_ns);
	cr_expect_eq(failed, 5);
}

Test(reach, ends_watches_when_it_has_lasted, .init = begin, .fini = end)
{
	have_it(TO_WATCH);
	cr_assert_eq(bare_count_said(&bare, GY_WIRE_EVENT, gy_type_watch.id), 1);
	say(-ECONNREFUSED, HOLD_MS);
	bare_wait(&bare, away_ns - GYRE_MILLISECONDS(10));
	cr_expect_eq(told, 0, "a dial that fails is no end");
	bare_wait(&bare, beat_ns);
	cr_expect_eq(told, 1);
	cr_expect_eq(bare_count_said(&bare, GY_WIRE_EVENT, gy_type_unwatch.id), 1,
		     "it is not watched there");
	have_it(TO_WATCH);
	cr_expect_eq(told, 2, "as soon as it is asked for");
	cr_expect_eq(bare_count_said(&bare, GY_WIRE_EVENT, gy_type_watch.id), 0);
	bare_wait(&bare, 2 * away_ns);
	cr_expect_eq(told, 2);
}

Test(reach, leaves_watches_alone_that_are_reached_again_soon, .init = begin, .fini = end)
{
	have_it(TO_WATCH);
	say(-ECONNREFUSED, HOLD_MS);
	bare_wait(&bare, away_ns - GYRE_MILLISECONDS(10));
	say(0, 0);
	say(-ECONNREFUSED, HOLD_MS);
	bare_wait(&bare, away_ns - GYRE_MILLISECONDS(10));
	say(0, 0);
	bare_wait(&bare, 2 * away_ns);
	cr_expect_eq(told, 0);
}

static void expect_to_end_it(const unsigned char *bytes, size_t count)
{
	bare_feed(&bare, bytes, count, count);
	cr_expect_not(bare_is_alive(&bare));
	bare_hang_up(&bare);
	bare_dial(&bare);
	bare_greet(&bare);
}

Test(reach, is_not_taken_from_who_has_dialled_nor_in_any_form, .init = begin, .fini = end)
{
	static const unsigned char short_one[] = { 7, 0, 0, GY_WIRE_REACH, 1, 2, 3, 4, 5, 6, 7 };
	static const unsigned char wrong[] = { 8, 0, 0, GY_WIRE_REACH, 5, 0, 0, 0, 0, 0, 0, 0 };
	static const unsigned char no_errno[] = {
		8, 0, 0, GY_WIRE_REACH, 0, 0, 0, 0x80, 0, 0, 0, 0
	};
	static unsigned char long_one[GY_REACH_BYTES_MAX + 1] = { 8, 1, 0, GY_WIRE_REACH };

	expect_to_end_it(short_one, sizeof(short_one));
	expect_to_end_it(wrong, sizeof(wrong));
	expect_to_end_it(no_errno, sizeof(no_errno));
	expect_to_end_it(long_one, sizeof(long_one));
	bare_hang_up(&bare);
	bare_accept(&bare);
	bare_greet(&bare);
	say(-ECONNREFUSED, HOLD_MS);
	cr_expect_not(bare_is_alive(&bare));
}

/* ---- who tells ---- */

static const struct gyre_node_options quick = { .redial_min_ns = GYRE_MILLISECONDS(1),
						.redial_max_ns = GYRE_MILLISECONDS(2) };
static struct gyre_address adder;

/* It says that it listens at a port that is taken, and refuses. */
static void open_refusing(struct stranger *stranger, struct gy_hello *ret_hello)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(at);

	adder = stranger_open_with(&quick, &adder_class);
	stranger_dial(stranger);
	stranger->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(stranger->listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(getsockname(stranger->listener, (struct sockaddr *)&at, &bytes), 0);
	*ret_hello = stranger_hello();
	ret_hello->port = ntohs(at.sin_port);
	stranger_say_hello(stranger, ret_hello);
	stranger_expect(stranger, GY_WIRE_HELLO);
}

static void ask(struct stranger *stranger)
{
	const uint64_t value = 1;

	stranger_say_frame(stranger,
			   &(struct gy_frame){ .kind = GY_WIRE_ASK,
					       .to_slot = adder.slot,
					       .to_cookie = adder.cookie,
					       .from_slot = 1,
					       .from_cookie = 2,
					       .type = gyre_type_number.id,
					       .layout = gy_type_layout(&gyre_type_number),
					       .ask_id = 77,
					       .bytes = sizeof(value),
					       .body = (const unsigned char *)&value });
}

/* The next one, whatever credit comes before. */
static struct gy_reach hear_reach(struct stranger *stranger)
{
	struct gy_reach reach;

	do {
		cr_assert(stranger_hear(stranger), "the connection ended");
	} while (stranger->frame.kind == GY_WIRE_CREDIT);
	cr_assert_eq(stranger->frame.kind, GY_WIRE_REACH);
	cr_assert_eq(gy_reach_get(stranger->frame.body, stranger->frame.bytes, &reach), 0);
	return reach;
}

static uint64_t dials(void)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	return counters.connected;
}

Test(reach, is_said_once_on_each_link_to_who_refuses_and_taken_back_when_it_does_not)
{
	static struct stranger stranger;
	static struct stranger second;
	struct gy_hello hello;
	struct gy_reach reach;
	char address[STRANGER_TEXT_BYTES];
	int first;

	open_refusing(&stranger, &hello);
	ask(&stranger);
	reach = hear_reach(&stranger);
	(void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u", hello.port);
	cr_expect_eq(reach.error, -ECONNREFUSED);
	cr_expect_gt(reach.left_ms, 0);
	cr_expect_str_eq(reach.address, address);
	stranger_dial(&second);
	hello.loop = 1;
	stranger_say_hello(&second, &hello);
	stranger_expect(&second, GY_WIRE_HELLO);
	cr_expect_eq(hear_reach(&second).error, -ECONNREFUSED, "a new link hears it at once");
	cr_expect_eq(dials(), 0);
	first = stranger.fd;
	cr_assert_eq(listen(stranger.listener, 1), 0);
	stranger_welcome(&stranger);
	stranger_expect(&stranger, GY_WIRE_REPLY);
	cr_assert_eq(close(stranger.fd), 0);
	stranger.fd = first;
	cr_expect_eq(hear_reach(&stranger).error, 0, "nothing was said again");
	cr_expect_eq(hear_reach(&second).error, 0);
	stranger_close(&second);
	stranger_close(&stranger);
	fixture_close();
	cr_expect_eq(fixture.warnings, 1);
}

Test(reach, goes_through_its_frame_and_shows_what_can_be_printed)
{
	const struct gy_reach reach = { .error = -ETIMEDOUT,
					.left_ms = 1234,
					.address = "tcp://a\n\x1b[2J:1" };
	unsigned char bytes[GY_REACH_BYTES_MAX];
	uint32_t count = gy_reach_put(&reach, bytes);
	struct gy_reach again;

	cr_assert_eq(gy_wire_bytes(bytes, count), count);
	cr_assert_eq(gy_wire_kind(bytes), GY_WIRE_REACH);
	cr_assert_eq(gy_reach_get(bytes + GY_WIRE_WORD_BYTES, count - GY_WIRE_WORD_BYTES, &again),
		     0);
	cr_expect_eq(again.error, -ETIMEDOUT);
	cr_expect_eq(again.left_ms, 1234);
	cr_expect_str_eq(again.address, "tcp://a??[2J:1");
}
