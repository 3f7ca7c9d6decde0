/*
 * Taps: what passes a place of a pipeline is seen there, the test acts from there, and what is not
 * as expected fails the test with words for it.
 */
#include <gyre/tap.h>

#include "testkit_rig.h"

static const char here[] = "testkit_tap_test.c:";

static const struct gyre_line_options short_lines = { .frame_bytes_max = 8,
						      .append = GYRE_APPEND_LF };

static int init_lines(struct gyre_channel *channel, void *arg)
{
	(void)arg;
	return gyre_line_codec_add(channel, GYRE_LAST, &short_lines);
}

/* A channel that cuts lines, with a tap behind. */
struct tapped_channel {
	struct gyre_tap *tap;
	struct gyre_test_channel *peer;
};

static struct tapped_channel open_tapped_with(struct gyre_test *test,
					      struct gyre_channel_options channel)
{
	const struct gyre_acceptor_options options = { .channel = channel,
						       .init_channel = init_lines };
	struct tapped_channel both;

	both.tap = gyre_tap_open(test, &options, &both.peer);
	return both;
}

static struct tapped_channel open_tapped(struct gyre_test *test)
{
	return open_tapped_with(test, (struct gyre_channel_options){ 0 });
}

/* ---- what passes ---- */

static void see_frames(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	(void)gyre_test_channel_write_text(both.peer, "one\n\ntw");
	(void)gyre_tap_expect_text(both.tap, "one");
	(void)gyre_tap_expect_read(both.tap, "", 0, GYRE_SECONDS(1));
	(void)gyre_tap_expect_none(both.tap, GYRE_SECONDS(60));
	(void)gyre_test_channel_write_text(both.peer, "o\n");
	(void)gyre_tap_expect_text(both.tap, "two");
	cr_assert_null(gyre_tap_take(both.tap, GYRE_SECONDS(1)));
}

Test(sim_testkit_tap, sees_the_frames_that_a_codec_has_cut)
{
	pass(see_frames, NULL);
}

static void see_error(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	(void)gyre_test_channel_write_text(both.peer, "short\nlonger than that\n");
	(void)gyre_tap_expect_text(both.tap, "short");
	(void)gyre_tap_expect_exception(both.tap, -EMSGSIZE, GYRE_SECONDS(1));
	(void)gyre_test_channel_expect_end(both.peer, GYRE_SECONDS(1));
	gyre_test_channel_close(both.peer);
	(void)gyre_tap_expect_inactive(both.tap, -EMSGSIZE, GYRE_SECONDS(1));
}

Test(sim_testkit_tap, sees_an_error_and_the_end_and_passes_both_on)
{
	pass(see_error, NULL);
}

static void see_half_close(struct gyre_test *test, void *arg)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	struct tapped_channel both = open_tapped_with(test, options);

	(void)arg;
	(void)gyre_test_channel_write_text(both.peer, "rest");
	cr_assert_eq(gyre_test_channel_half_close(both.peer), 0);
	(void)gyre_tap_expect_text(both.tap, "rest");
	(void)gyre_tap_expect_read_end(both.tap, GYRE_SECONDS(1));
	cr_assert_not_null(gyre_tap_expect_event(both.tap, gyre_input_closed, GYRE_SECONDS(1)));
	gyre_test_channel_close(both.peer);
}

Test(sim_testkit_tap, sees_the_end_of_the_peers_side_and_events)
{
	pass(see_half_close, NULL);
}

static int tell_address(struct gyre_handler_context *ctx, void *arg)
{
	*(struct gyre_address *)arg = gyre_channel_address(gyre_context_channel(ctx));
	return 7;
}

struct gift {
	uint32_t number;
};

static void free_nothing(struct gift *gift)
{
	gift->number = 0;
}
GYRE_MESSAGE_OWNING(gift, 0x110, free_nothing);

static void see_events(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);
	struct gyre_system *system = gyre_test_system(test);
	struct gyre_address channel = GYRE_NOBODY;
	const struct gyre_tapped *seen;
	const struct order *order;

	(void)arg;
	cr_assert_eq(gyre_tap_do(both.tap, tell_address, &channel), 7);
	cr_assert_eq(gyre_system_notify(system, channel, gyre_test_new(test, order, 3)), 0);
	order = gyre_tap_expect_event(both.tap, order, GYRE_SECONDS(1));
	cr_assert(order != NULL && order->pieces == 3);
	cr_assert_eq(gyre_system_notify(system, channel, gyre_test_new(test, gift, 1)), 0);
	seen = gyre_tap_take(both.tap, GYRE_SECONDS(1));
	cr_assert(seen != NULL && seen->kind == GYRE_TAPPED_EVENT && seen->bytes == NULL);
	cr_assert_eq(seen->type->id, GYRE_ID(gift));
}

Test(sim_testkit_tap, keeps_the_payloads_of_events_that_own_nothing)
{
	pass(see_events, NULL);
}

static void open_bare(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer;
	struct gyre_tap *tap = gyre_tap_open(test, NULL, &peer);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "as it is\n");
	(void)gyre_tap_expect_text(tap, "as it is\n");
}

static int refuse_channel(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	return *(const int *)arg;
}

static void open_in_vain(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = { .init_channel = refuse_channel,
						       .init_arg = arg };
	struct gyre_test_channel *peer = NULL;

	cr_assert_null(gyre_tap_open(test, &options, &peer));
	cr_assert_null(peer);
}

Test(sim_testkit_tap, may_be_alone_and_is_not_there_where_the_initialiser_fails)
{
	int error = -EACCES;

	pass(open_bare, NULL);
	fail(open_in_vain, &error, here, "its init_channel has failed");
}

/* ---- what it does ---- */

static void write_lines(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	cr_assert_eq(gyre_tap_write_text(both.tap, "one"), 0);
	cr_assert_eq(gyre_tap_write(both.tap, "two", 2), 0);
	(void)gyre_test_channel_expect_text(both.peer, "one\ntw\n");
}

Test(sim_testkit_tap, writes_through_the_handlers_in_front_of_it)
{
	pass(write_lines, NULL);
}

static void see_marks(struct gyre_test *test, void *arg)
{
	const struct gyre_channel_options options = { .write_low_bytes = 1000,
						      .write_high_bytes = 4000 };
	struct tapped_channel both = open_tapped_with(test, options);
	static char bytes[1 << 16];
	const struct gyre_tapped *seen = NULL;
	size_t written = 0;

	(void)arg;
	while (seen == NULL) {
		cr_assert_eq(gyre_tap_write(both.tap, bytes, 4096), 0);
		cr_assert((written += 4096) < 1 << 26, "nothing holds the pipeline up");
		seen = gyre_tap_take(both.tap, 0);
	}
	cr_assert_eq(seen->kind, GYRE_TAPPED_WRITABILITY);
	cr_assert_eq(seen->error, 0);
	while (gyre_test_channel_read(both.peer, bytes, sizeof(bytes), GYRE_SECONDS(1)) > 0) {
		continue;
	}
	(void)gyre_tap_expect_writability(both.tap, true, GYRE_SECONDS(1));
}

Test(sim_testkit_tap, sees_that_output_is_unwelcome_and_welcome_again)
{
	pass(see_marks, NULL);
}

static int leave(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	cr_assert_eq(gyre_tap_add(channel, GYRE_FIRST, (struct gyre_tap *)arg), -EBUSY);
	gyre_context_remove(ctx);
	return gyre_tap_add(channel, GYRE_FIRST, (struct gyre_tap *)arg);
}

static void move_to_front(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	cr_assert_eq(gyre_tap_do(both.tap, leave, both.tap), 0);
	(void)gyre_test_channel_write_text(both.peer, "whole\nbytes");
	(void)gyre_tap_expect_text(both.tap, "whole\nbytes");
}

Test(sim_testkit_tap, is_in_one_pipeline_at_a_time_and_may_move)
{
	pass(move_to_front, NULL);
}

static int refuse(struct gyre_handler_context *ctx, void *arg)
{
	(void)ctx;
	(void)arg;
	return -ENOSPC;
}

static void be_refused(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	cr_assert_eq(gyre_tap_do(both.tap, refuse, NULL), -ENOSPC);
}

Test(sim_testkit_tap, leaves_it_to_the_test_what_its_function_fails_with)
{
	pass(be_refused, NULL);
}

/* ---- failures ---- */

static void expect_other_bytes(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	(void)gyre_test_channel_write_text(both.peer, "one\n");
	cr_assert_eq(gyre_tap_expect_text(both.tap, "on"), -EBADMSG);
}

static void expect_more(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	(void)gyre_test_channel_write_text(both.peer, "one");
	cr_assert_eq(gyre_tap_expect_text(both.tap, "one"), -ETIMEDOUT);
}

static void expect_other_kind(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	(void)gyre_test_channel_write_text(both.peer, "longer than that\n");
	cr_assert_null(gyre_tap_expect_read_end(both.tap, GYRE_SECONDS(1)));
}

static void expect_other_event(struct gyre_test *test, void *arg)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	struct tapped_channel both = open_tapped_with(test, options);

	(void)arg;
	cr_assert_eq(gyre_test_channel_half_close(both.peer), 0);
	(void)gyre_tap_expect_read_end(both.tap, GYRE_SECONDS(1));
	cr_assert_null(gyre_tap_expect_event(both.tap, order, GYRE_SECONDS(1)));
}

static void expect_silence(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	gyre_test_channel_close(both.peer);
	(void)gyre_tap_expect_read_end(both.tap, GYRE_SECONDS(1));
	cr_assert_eq(gyre_tap_expect_none(both.tap, GYRE_SECONDS(1)), -EBADMSG);
	(void)gyre_tap_expect_inactive(both.tap, 0, GYRE_SECONDS(1)); /* it has stayed */
}

static void expect_read_as_another_kind(struct gyre_test *test, void *arg)
{
	(void)arg;
	cr_assert_null(
		gyre_tap_expect_at(gyre_tap_create(test), GYRE_TAPPED_READ, 0, 0, GYRE_TEST_HERE));
}

Test(sim_testkit_tap, fails_the_test_when_something_else_comes)
{
	fail(expect_other_bytes, NULL, here, "expected the read \"on\", and got the read \"one\"");
	fail(expect_more, NULL, here, "expected the read \"one\", and got nothing in time");
	fail(expect_other_kind, NULL, here,
	     "expected the end of the peer's side, and got the exception: Message too long");
	fail(expect_other_event, NULL, here,
	     "expected the event order, and got the event gyre_input_closed");
	fail(expect_silence, NULL, here, "expected nothing, and got the end of the channel");
	fail(expect_read_as_another_kind, NULL, here, "have calls of their own");
}

static void act_without_a_pipeline(struct gyre_test *test, void *arg)
{
	(void)arg;
	cr_assert_eq(gyre_tap_do(gyre_tap_create(test), refuse, NULL), -EPIPE);
}

static int close_channel(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_channel_abort(gyre_context_channel(ctx), -ECANCELED);
	return 0;
}

static void act_on_a_closed_channel(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);

	(void)arg;
	cr_assert_eq(gyre_tap_do(both.tap, close_channel, NULL), 0);
	cr_assert_eq(gyre_tap_write_text(both.tap, "too late"), -EPIPE);
}

static void keep_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	(void)ctx;
	(void)type;
	(void)event;
}

static int init_deaf(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler keeps = { .name = "keeps", .event = keep_event };

	return gyre_pipeline_add(channel, GYRE_LAST, &keeps, arg);
}

static void act_behind_what_keeps_events(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = { .init_channel = init_deaf };
	struct gyre_test_channel *peer;
	struct gyre_tap *tap = gyre_tap_open(test, &options, &peer);

	(void)arg;
	cr_assert_eq(gyre_tap_do(tap, refuse, NULL), -EPIPE);
}

Test(sim_testkit_tap, fails_the_test_when_it_cannot_act)
{
	fail(act_without_a_pipeline, NULL, here, "it is in no pipeline");
	fail(act_on_a_closed_channel, NULL, here, "the tap cannot do this");
	fail(act_behind_what_keeps_events, NULL, here, "a handler in front keeps the event");
}

/* ---- memory ---- */

/* Its own memory is not what fails. */
static void lack_memory(struct gyre_test *test, void *arg)
{
	struct tapped_channel both = open_tapped(test);
	uint32_t *failed = (uint32_t *)arg;
	bool one = true;

	(void)gyre_tap_expect_none(both.tap, GYRE_MILLISECONDS(1));
	for (uint64_t number = 1; one; number++) {
		gyre_test_fail_allocation(test, number);
		cr_assert_eq(gyre_tap_write_text(both.tap, "x"), 0);
		one = gyre_test_recover(test);
		*failed += one ? 1 : 0;
		(void)gyre_test_channel_expect_text(both.peer, "x\n");
	}
}

Test(sim_testkit_tap, spends_no_memory_that_is_to_fail)
{
	uint32_t failed = 0;

	pass(lack_memory, &failed);
	cr_expect_eq(failed, 0);
}
