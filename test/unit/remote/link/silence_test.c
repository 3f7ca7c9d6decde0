/*
 * What the silence of a peer means, on a clock that stands until a test moves it: it counts as long
 * as the loop listens, and only then.
 */
#include <criterion/criterion.h>

#include <errno.h>

#include "remote/bare.h"
#include "remote/link/link_dial.h"
#include "remote/peer/peer_state.h"

static struct bare bare;
static const uint64_t heartbeat_ns = GYRE_SECONDS(1);
static const uint64_t suspect_ns = GYRE_SECONDS(3);
static const uint64_t down_ns = GYRE_SECONDS(10);

static void begin(void)
{
	bare_init(&bare, &(struct gyre_node_options){ .heartbeat_ns = heartbeat_ns,
						      .suspect_ns = suspect_ns,
						      .down_ns = down_ns,
						      .idle_ns = GYRE_SECONDS(3600) });
	bare_dial(&bare);
	bare_greet(&bare);
}

static void end(void)
{
	bare_fini(&bare);
}

static enum gyre_node_state state(void)
{
	return (enum gyre_node_state)gy_peer_find(bare.homes.nodes, BARE_PEER)->state;
}

static void hear_it(void)
{
	const struct gy_frame ping = { .kind = GY_WIRE_PING };
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];

	bare_feed(&bare, bytes, gy_wire_put(&ping, bytes), sizeof(bytes));
}

/* The loop does nothing for so long, then what is due. */
static void be_stuck(uint64_t time_ns)
{
	bare.now_ns += time_ns;
	bare_wait(&bare, 1);
}

Test(silence, makes_a_peer_suspect_and_then_down, .init = begin, .fini = end)
{
	bare_wait(&bare, suspect_ns);
	cr_expect_eq(state(), GYRE_NODE_UP);
	bare_wait(&bare, heartbeat_ns);
	cr_expect_eq(state(), GYRE_NODE_SUSPECT);
	bare_wait(&bare, down_ns - suspect_ns - heartbeat_ns);
	cr_expect_eq(state(), GYRE_NODE_SUSPECT);
	cr_expect(bare_is_alive(&bare));
	bare_wait(&bare, heartbeat_ns);
	cr_expect_eq(state(), GYRE_NODE_DOWN);
	cr_expect_not(bare_is_alive(&bare), "its connection ends with it");
	bare_hang_up(&bare);
}

Test(silence, is_over_when_something_is_heard, .init = begin, .fini = end)
{
	for (int i = 0; i < 100; i++) {
		bare_wait(&bare, suspect_ns);
		hear_it();
		cr_assert_eq(state(), GYRE_NODE_UP);
	}
	bare_hang_up(&bare);
}

Test(silence, means_nothing_while_the_loop_does_not_listen, .init = begin, .fini = end)
{
	be_stuck(GYRE_SECONDS(1000));
	bare_wait(&bare, suspect_ns - heartbeat_ns);
	cr_expect_eq(state(), GYRE_NODE_UP);
	cr_expect(bare_is_alive(&bare));
	bare_wait(&bare, down_ns - suspect_ns);
	cr_expect_eq(state(), GYRE_NODE_SUSPECT, "it was listened to since");
	cr_expect(bare_is_alive(&bare));
	bare_hang_up(&bare);
}

/* Most of the time it does not listen; but what it did listens adds up. */
Test(silence, counts_though_the_loop_is_late_again_and_again, .init = begin, .fini = end)
{
	const uint64_t step_ns = 2 * heartbeat_ns;
	uint64_t beats_min = down_ns / (heartbeat_ns / 4);
	uint64_t beats = 0;

	while (state() != GYRE_NODE_DOWN) {
		be_stuck(step_ns);
		beats++;
		cr_assert_leq(beats, 2 * beats_min, "it never finds that the peer is down");
	}
	cr_expect_geq(beats, beats_min, "most of that time is excused");
	cr_expect_not(bare_is_alive(&bare), "its connection ends with it");
	bare_hang_up(&bare);
}

/* The dial may take longer than a beat. */
Test(silence, means_nothing_when_there_was_no_link_as_nobody_had_anything_to_say, .init = begin,
     .fini = end)
{
	gy_link_say_close(bare.link);
	gy_link_close(bare.link);
	bare_hang_up(&bare);
	bare_wait(&bare, 10 * down_ns);
	cr_assert_eq(state(), GYRE_NODE_UP);
	bare_dial(&bare);
	bare_wait(&bare, suspect_ns - heartbeat_ns);
	cr_expect_eq(state(), GYRE_NODE_UP, "it has not answered yet");
	bare_wait(&bare, 2 * heartbeat_ns);
	cr_expect_eq(state(), GYRE_NODE_SUSPECT, "it does not answer");
	bare_greet(&bare);
	cr_expect_eq(state(), GYRE_NODE_UP);
	bare_hang_up(&bare);
}

/* Nobody has judged it since. */
Test(silence, means_nothing_for_a_suspect_that_nobody_has_dialled_since, .init = begin, .fini = end)
{
	gy_link_say_close(bare.link);
	gy_link_close(bare.link);
	bare_hang_up(&bare);
	gy_peer_dial_failed(gy_links_of(&bare.rig.home), gy_peer_find(bare.homes.nodes, BARE_PEER));
	bare_wait(&bare, 10 * down_ns);
	cr_assert_eq(state(), GYRE_NODE_SUSPECT);
	bare_dial(&bare);
	bare_wait(&bare, suspect_ns);
	cr_expect_eq(state(), GYRE_NODE_SUSPECT, "it has not answered yet");
	bare_greet(&bare);
	cr_expect_eq(state(), GYRE_NODE_UP);
	bare_hang_up(&bare);
}

Test(silence, of_a_suspect_adds_up_over_dials_between_which_nobody_judges, .init = begin,
     .fini = end)
{
	const uint64_t dial_ns = 2 * heartbeat_ns;
	uint64_t dials = 0;

	gy_link_say_close(bare.link);
	gy_link_close(bare.link);
	bare_hang_up(&bare);
	while (state() != GYRE_NODE_DOWN) {
		bare_dial(&bare);
		bare_wait(&bare, dial_ns);
		bare_hang_up(&bare);
		bare_wait(&bare, down_ns);
		cr_assert_leq(++dials, 2 * down_ns / dial_ns, "it is never found down");
	}
	cr_expect_geq(dials, down_ns / dial_ns, "time between dials is excused");
}
