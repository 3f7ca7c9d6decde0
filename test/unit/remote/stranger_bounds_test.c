/*
 * How much those may cost who have not proved yet what they are: in time, in bytes, and in number.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "base/atomic.h"
#include "remote/stranger.h"

/* ---- time: on a clock that stands until a test moves it ---- */

static struct bare bare;
static const uint64_t greeting_ns = GYRE_SECONDS(5); /* as it is by default */
static const uint64_t beat_ns = GYRE_MILLISECONDS(300);

static void begin(void)
{
	bare_init(&bare, &(struct gyre_node_options){ 0 });
}

static void end(void)
{
	bare_fini(&bare);
}

static uint64_t refused(void)
{
	return gy_links_of(&bare.rig.home)->refused;
}

/* It still greets just before its time is over, and has ended soon after. */
static void expect_too_slow(uint64_t gone_ns)
{
	bare_wait(&bare, greeting_ns - gone_ns - GYRE_MILLISECONDS(1));
	cr_assert(bare_is_alive(&bare));
	bare_wait(&bare, beat_ns);
	cr_assert_not(bare_is_alive(&bare));
	cr_expect_eq(bare.rig.channel.reason, -ETIMEDOUT);
	cr_expect_eq(bare_sums(&bare).sent, 0);
	bare_hang_up(&bare);
}

Test(stranger_bounds, end_who_says_nothing, .init = begin, .fini = end)
{
	bare_accept(&bare);
	cr_expect_eq(gy_links_of(&bare.rig.home)->strangers, 1);
	expect_too_slow(0);
	cr_expect_eq(gy_links_of(&bare.rig.home)->strangers, 0);
	cr_expect_eq(refused(), 1);
}

Test(stranger_bounds, end_who_greets_in_single_bytes, .init = begin, .fini = end)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	const uint32_t count = bare_greeting(bytes);
	const uint64_t pause_ns = GYRE_MILLISECONDS(100);
	uint64_t gone_ns = 0;

	bare_accept(&bare);
	for (uint32_t at = 0; gone_ns + 2 * pause_ns < greeting_ns; at++) {
		cr_assert_lt(at + 1, count);
		bare_feed(&bare, bytes + at, 1, 1);
		bare_wait(&bare, pause_ns);
		gone_ns += pause_ns;
	}
	expect_too_slow(gone_ns);
	cr_expect_eq(refused(), 1);
}

Test(stranger_bounds, end_who_does_not_prove_the_secret, .init = begin, .fini = end)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	struct gy_hello hello = bare_hello();

	bare_share(&bare, "known to few");
	hello.proves = true;
	bare_accept(&bare);
	bare_feed(&bare, bytes, gy_hello_put(&hello, bytes), sizeof(bytes));
	cr_assert_eq(bare.link->stage, GY_LINK_STAGE_AWAITS_PROOF);
	expect_too_slow(0);
	cr_expect_eq(refused(), 1);
}

Test(stranger_bounds, end_who_was_dialled_and_says_nothing, .init = begin, .fini = end)
{
	bare_dial(&bare);
	expect_too_slow(0);
	cr_expect_eq(refused(), 0, "this node has made that connection itself");
}

Test(stranger_bounds, do_not_hold_for_who_has_greeted, .init = begin, .fini = end)
{
	bare_accept(&bare);
	bare_greet(&bare);
	cr_expect_eq(gy_links_of(&bare.rig.home)->strangers, 0);
	bare_wait(&bare, greeting_ns + beat_ns);
	cr_expect(bare_is_alive(&bare));
	bare_hang_up(&bare);
	cr_expect_eq(refused(), 0);
}

/* ---- bytes ---- */

static void expect_too_long(size_t fed)
{
	static unsigned char frame[GY_LINK_HANDSHAKE_BYTES_MAX + 1];
	const uint32_t word = htole32((uint32_t)GY_WIRE_HELLO << GY_WIRE_KIND_SHIFT |
				      (sizeof(frame) - GY_WIRE_WORD_BYTES));

	memcpy(frame, &word, sizeof(word));
	bare_accept(&bare);
	bare_feed(&bare, frame, fed, fed);
	cr_expect_not(bare_is_alive(&bare));
	cr_expect_eq(bare.rig.channel.reason, -EMSGSIZE);
	cr_expect_null(bare.link->partial_frame.frame, "nothing is kept of it");
	bare_hang_up(&bare);
}

Test(stranger_bounds, end_who_announces_a_long_greeting_at_its_first_word, .init = begin,
     .fini = end)
{
	expect_too_long(GY_WIRE_WORD_BYTES);
	expect_too_long(GY_LINK_HANDSHAKE_BYTES_MAX);
	expect_too_long(GY_LINK_HANDSHAKE_BYTES_MAX + 1);
}

Test(stranger_bounds, leave_room_for_the_greetings_of_later_versions, .init = begin, .fini = end)
{
	unsigned char frame[GY_LINK_HANDSHAKE_BYTES_MAX] = { 0 };
	const uint32_t word = htole32((uint32_t)GY_WIRE_HELLO << GY_WIRE_KIND_SHIFT |
				      (sizeof(frame) - GY_WIRE_WORD_BYTES));

	(void)bare_greeting(frame);
	memcpy(frame, &word, sizeof(word));
	bare_accept(&bare);
	bare_feed(&bare, frame, sizeof(frame), sizeof(frame));
	cr_expect_eq(bare.link->stage, GY_LINK_STAGE_OPEN);
	bare_hang_up(&bare);
}

/* ---- number: of connections ---- */

static uint64_t links_refused(void)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	return counters.links_refused;
}

static void greet(struct stranger *stranger)
{
	const struct gy_hello hello = stranger_hello();

	stranger_say_hello(stranger, &hello);
	stranger_expect(stranger, GY_WIRE_HELLO);
}

Test(stranger_bounds, close_at_once_who_comes_when_there_are_too_many)
{
	enum { MAX = 3, LATE = 5 };
	struct stranger silent[MAX];
	struct stranger late;

	stranger_open(&(struct gyre_node_options){ .greetings_max = MAX,
						   .greeting_ns = GYRE_SECONDS(60) });
	for (int i = 0; i < MAX; i++) {
		stranger_dial(&silent[i]);
	}
	for (int i = 0; i < LATE; i++) {
		stranger_dial(&late);
		stranger_expect_end(&late); /* one loop accepts in their order */
		stranger_close(&late);
	}
	cr_expect_eq(links_refused(), LATE);
	cr_expect_not_null(strstr(fixture.line, "greetings_max"), "%s", fixture.line);
	cr_expect_eq(fixture.warnings, 1, "it is logged once");
	greet(&silent[1]);
	stranger_meet(&late); /* there is room again, for one */
	for (int i = 0; i < MAX; i++) {
		stranger_close(&silent[i]);
	}
	stranger_close(&late);
	fixture_close();
	cr_expect_eq(fixture.counters.accepted, MAX + LATE + 1);
	cr_expect_eq(fixture.counters.links_refused, LATE + MAX - 1);
}

Test(stranger_bounds, count_all_who_come_and_do_not_become_links)
{
	enum { COME = 200 };
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .greetings_max = 2 * COME });
	hello.version_max = 0;
	for (int i = 0; i < COME; i++) {
		stranger_dial(&stranger);
		if (i % 2 == 0) {
			stranger_say_hello(&stranger, &hello);
			stranger_expect_refusal(&stranger, GY_REFUSED_VERSION);
		}
		stranger_close(&stranger);
	}
	stranger_meet(&stranger);
	stranger_close(&stranger);
	fixture_close();
	cr_expect_eq(fixture.counters.links_refused, COME);
}
