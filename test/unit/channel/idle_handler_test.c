/*
 * The idle handler, in virtual time: progress is bytes, and nothing is told too early.
 */
#include <errno.h>

#include <gyre/idle.h>
#include <gyre/tap.h>

#include "kit_test.h"

enum { EVENTS = 64, LOW_BYTES = 1000, HIGH_BYTES = 4000, PIECE_BYTES = 65536 };

static struct gyre_test_channel *peer;
static struct gyre_tap *tap;
static struct gyre_idle events[EVENTS];
static size_t events_count;
static bool close_it;
static bool remove_it;

static void heard(struct gyre_handler_context *ctx, const struct gyre_type *type, const void *event)
{
	if (type->id != GYRE_ID(gyre_idle)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	cr_assert_lt(events_count, EVENTS);
	events[events_count++] = *(const struct gyre_idle *)event;
	if (close_it) {
		gyre_context_close(ctx);
	}
	if (remove_it) {
		cr_assert_eq(gyre_pipeline_remove(gyre_context_channel(ctx), "idle"), 0);
	}
}

static const struct gyre_handler listener = { .name = "listener", .event = heard };

static int init_listener(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &listener, arg);
}

static void open_with(struct gyre_test *test, struct gyre_channel_options channel)
{
	const struct gyre_acceptor_options options = { .channel = channel,
						       .init_channel = init_listener };

	tap = gyre_tap_open(test, &options, &peer);
}

static void begin(struct gyre_test *test)
{
	open_with(test, (struct gyre_channel_options){ .write_low_bytes = LOW_BYTES,
						       .write_high_bytes = HIGH_BYTES });
}

static int add_idle(struct gyre_handler_context *ctx, void *options)
{
	return gyre_idle_add(gyre_context_channel(ctx), GYRE_FIRST,
			     (const struct gyre_idle_options *)options);
}

static void measure(struct gyre_idle_options options)
{
	cr_assert_eq(gyre_tap_do(tap, add_idle, &options), 0);
}

static void wait_ms(struct gyre_test *test, uint64_t time_ms)
{
	gyre_test_advance(test, GYRE_MILLISECONDS(time_ms));
}

static void expect_event(size_t number, enum gyre_idle_kind kind, uint32_t count, uint64_t bytes)
{
	cr_assert_gt(events_count, number);
	cr_expect_eq(events[number].kind, kind);
	cr_expect_eq(events[number].count, count);
	cr_expect_eq(events[number].bytes, bytes, "%lu bytes", (unsigned long)events[number].bytes);
}

static void feed(const char *text)
{
	(void)gyre_test_channel_write_text(peer, text);
}

static int set_auto_read(struct gyre_handler_context *ctx, void *arg)
{
	gyre_channel_set_auto_read(gyre_context_channel(ctx), *(const bool *)arg);
	return 0;
}

static void read_by_itself(bool whether)
{
	cr_assert_eq(gyre_tap_do(tap, set_auto_read, &whether), 0);
}

static int request_read(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_context_read(ctx);
	return 0;
}

static void ask_for_read(void)
{
	cr_assert_eq(gyre_tap_do(tap, request_read, NULL), 0);
}

static void write_bytes(size_t count)
{
	static const char bytes[PIECE_BYTES];

	cr_assert_leq(count, sizeof(bytes));
	cr_assert_eq(gyre_tap_write(tap, bytes, count), 0);
}

/* Writes until the buffers of both sockets are full, and the channel stays over its mark. */
static void fill_output(void)
{
	int welcome = 1;

	while (welcome == 1) {
		const struct gyre_tapped *seen;

		write_bytes(PIECE_BYTES);
		while ((seen = gyre_tap_take(tap, GYRE_MICROSECONDS(10))) != NULL) {
			welcome = seen->kind == GYRE_TAPPED_WRITABILITY ? seen->error : welcome;
		}
	}
}

/* The peer takes so many pieces of what has been written, or all of it. */
static void take_pieces(uint32_t pieces)
{
	static char bytes[PIECE_BYTES];

	while (pieces-- > 0 && gyre_test_channel_read(peer, bytes, sizeof(bytes), 0) > 0) {
		continue;
	}
}

KIT_TEST(idle, input_that_does_not_come_is_told_again_and_again)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	wait_ms(test, 49);
	cr_expect_eq(events_count, 0);
	wait_ms(test, 3);
	expect_event(0, GYRE_IDLE_READ, 1, 0);
	cr_expect_geq(events[0].duration_ns, GYRE_MILLISECONDS(50));
	wait_ms(test, 53);
	expect_event(1, GYRE_IDLE_READ, 2, 0);
	feed("x");
	wait_ms(test, 49);
	cr_expect_eq(events_count, 2);
	wait_ms(test, 3);
	expect_event(2, GYRE_IDLE_READ, 1, 0);
}

KIT_TEST(idle, input_in_time_is_not_idle)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	for (int i = 0; i < 20; i++) {
		wait_ms(test, 40);
		feed("x");
	}
	cr_expect_eq(events_count, 0);
}

KIT_TEST(idle, a_peer_that_drips_makes_the_progress_of_its_bytes)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50),
					    .read_bytes_min = 10 });
	for (int i = 0; i < 9; i++) {
		wait_ms(test, 5);
		feed("x");
	}
	wait_ms(test, 7);
	expect_event(0, GYRE_IDLE_READ, 1, 9);
	feed("x");
	wait_ms(test, 49);
	cr_expect_eq(events_count, 1, "these were ten");
}

KIT_TEST(idle, output_is_idle_when_none_is_written_and_when_none_is_taken)
{
	begin(test);
	measure((struct gyre_idle_options){ .write_ns = GYRE_MILLISECONDS(80) });
	wait_ms(test, 82);
	expect_event(0, GYRE_IDLE_WRITE, 1, 0);
	wait_ms(test, 84);
	expect_event(1, GYRE_IDLE_WRITE, 2, 0);
	fill_output();
	for (int i = 0; i < 8; i++) {
		write_bytes(PIECE_BYTES); /* which the channel keeps */
	}
	wait_ms(test, 60);
	for (int i = 0; i < 4; i++) {
		take_pieces(2); /* of less TCP does not tell the sender */
		wait_ms(test, 60);
	}
	cr_expect_eq(events_count, 2);
	wait_ms(test, 40);
	expect_event(2, GYRE_IDLE_WRITE, 1, 0);
}

KIT_TEST(idle, all_is_not_idle_while_either_direction_moves)
{
	begin(test);
	measure((struct gyre_idle_options){ .all_ns = GYRE_MILLISECONDS(80) });
	for (int i = 0; i < 4; i++) {
		wait_ms(test, 60);
		feed("x");
		wait_ms(test, 60);
		write_bytes(10);
	}
	cr_expect_eq(events_count, 0);
	wait_ms(test, 100);
	expect_event(0, GYRE_IDLE_ALL, 1, 0);
}

KIT_TEST(idle, time_in_which_nothing_is_read_is_not_the_fault_of_the_peer)
{
	begin(test);
	fill_output();
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50),
					    .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(50) });
	wait_ms(test, 500);
	cr_expect_eq(events_count, 0);
	take_pieces(UINT32_MAX);
	wait_ms(test, 160);
	cr_expect_geq(events_count, 2);
}

KIT_TEST(idle, time_before_the_channel_reads_again_is_not_the_fault_of_the_peer)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	read_by_itself(false);
	wait_ms(test, 45);
	read_by_itself(true);
	wait_ms(test, 49);
	cr_expect_eq(events_count, 0, "the timer has fired, and it was reading then");
	/* What is not held back cannot be read again. */
	ask_for_read();
	wait_ms(test, 3);
	expect_event(0, GYRE_IDLE_READ, 1, 0);
}

KIT_TEST(idle, a_rate_is_not_measured_where_the_channel_held_reading_back)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(50) });
	read_by_itself(false);
	wait_ms(test, 45);
	read_by_itself(true);
	wait_ms(test, 10);
	cr_expect_eq(events_count, 0);
	wait_ms(test, 50);
	expect_event(0, GYRE_SLOW_READ, 1, 0);
}

/* Each read is asked for, and none is held back for long. */
static void drip_read_by_read(struct gyre_test *test, int bytes, uint64_t pause_ms)
{
	ask_for_read();
	for (int i = 0; i < bytes; i++) {
		wait_ms(test, pause_ms);
		feed("x");
		wait_ms(test, 1);
		ask_for_read();
	}
}

KIT_TEST(idle, a_peer_that_drips_into_reads_that_are_asked_for_makes_the_progress_of_its_bytes)
{
	open_with(test, (struct gyre_channel_options){ .manual_read = true });
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50),
					    .read_bytes_min = 10 });
	drip_read_by_read(test, 9, 5);
	wait_ms(test, 7);
	expect_event(0, GYRE_IDLE_READ, 1, 9);
}

KIT_TEST(idle, input_below_its_least_rate_is_told_where_each_read_is_asked_for)
{
	open_with(test, (struct gyre_channel_options){ .manual_read = true });
	measure((struct gyre_idle_options){ .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(50) });
	drip_read_by_read(test, 10, 5);
	expect_event(0, GYRE_SLOW_READ, 1, events[0].bytes);
	cr_expect_gt(events[0].bytes, 0);
}

static int add_second(struct gyre_handler_context *ctx, void *options)
{
	struct gyre_position position = GYRE_FIRST;

	position.name = "second";
	return gyre_idle_add(gyre_context_channel(ctx), position,
			     (const struct gyre_idle_options *)options);
}

static int remove_named(struct gyre_handler_context *ctx, void *name)
{
	return gyre_pipeline_remove(gyre_context_channel(ctx), (const char *)name);
}

KIT_TEST(idle, handlers_that_were_removed_hear_nothing_of_reads_that_go_on)
{
	struct gyre_idle_options options = { .read_ns = GYRE_MILLISECONDS(50) };
	char idle[] = "idle";
	char second[] = "second";

	begin(test);
	measure(options);
	cr_assert_eq(gyre_tap_do(tap, add_second, &options), 0);
	cr_assert_eq(gyre_tap_do(tap, remove_named, idle), 0);
	read_by_itself(false);
	wait_ms(test, 45);
	read_by_itself(true);
	wait_ms(test, 49);
	cr_expect_eq(events_count, 0);
	wait_ms(test, 3);
	cr_expect_eq(events_count, 1);
	cr_assert_eq(gyre_tap_do(tap, remove_named, second), 0);
	read_by_itself(false);
	read_by_itself(true);
	wait_ms(test, 100);
	cr_expect_eq(events_count, 1);
}

KIT_TEST(idle, input_below_its_least_rate_is_told_after_the_grace)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(100),
					    .rate_grace_ns = GYRE_MILLISECONDS(200) });
	wait_ms(test, 290);
	cr_expect_eq(events_count, 0);
	feed("0123456789");
	wait_ms(test, 20);
	expect_event(0, GYRE_SLOW_READ, 1, 10);
	for (int i = 0; i < 30; i++) {
		feed("0123456789012345");
		wait_ms(test, 10);
	}
	cr_expect_eq(events_count, 1, "1600 bytes a second are enough");
	wait_ms(test, 250);
	expect_event(1, GYRE_SLOW_READ, 1, events[1].bytes);
	expect_event(2, GYRE_SLOW_READ, 2, events[2].bytes);
}

KIT_TEST(idle, output_below_its_least_rate_is_told_while_there_is_some)
{
	begin(test);
	measure((struct gyre_idle_options){ .write_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(100) });
	wait_ms(test, 500);
	cr_expect_eq(events_count, 0, "there was nothing to be sent");
	fill_output();
	wait_ms(test, 250);
	cr_assert_geq(events_count, 1);
	cr_expect_eq(events[0].kind, GYRE_SLOW_WRITE);
	events_count = 0;
	take_pieces(UINT32_MAX);
	wait_ms(test, 500);
	cr_expect_eq(events_count, 0, "all has been taken");
}

static void expect_closed(struct gyre_test *test, int reason, uint64_t counted)
{
	struct gyre_counters counters;

	(void)gyre_test_channel_expect_end(peer, 0);
	gyre_test_channel_close(peer);
	wait_ms(test, 500);
	(void)gyre_tap_expect_inactive(tap, reason, 0);
	cr_expect_eq(events_count, 1, "it hears no more");
	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	cr_expect_eq(counters.idle_closed, counted);
}

KIT_TEST(idle, a_channel_is_closed_if_that_is_wished)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50), .close = true });
	wait_ms(test, 52);
	cr_expect_eq(events_count, 1);
	expect_closed(test, -ETIMEDOUT, 1);
}

KIT_TEST(idle, a_handler_that_closes_needs_no_other_reason)
{
	close_it = true;
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50), .close = true });
	wait_ms(test, 52);
	expect_closed(test, 0, 0);
}

KIT_TEST(idle, the_handler_may_be_removed_from_inside_its_event)
{
	remove_it = true;
	begin(test);
	measure((struct gyre_idle_options){
		.read_ns = GYRE_MILLISECONDS(50), .all_ns = GYRE_MILLISECONDS(50), .close = true });
	wait_ms(test, 500);
	cr_expect_eq(events_count, 1);
	(void)gyre_test_channel_expect_none(peer, 0);
}

KIT_TEST(idle, options_that_measure_nothing_are_refused)
{
	struct gyre_idle_options none = { .close = true, .read_bytes_min = 5 };

	begin(test);
	cr_expect_eq(gyre_tap_do(tap, add_idle, &none), -EINVAL);
	cr_expect_eq(gyre_tap_do(tap, add_idle, NULL), -EINVAL);
}

/* Holds the beginning back for a tenth of a second. */
static void hold_active(struct gyre_handler_context *ctx)
{
	cr_assert_eq(gyre_context_timer_start(ctx, 1, GYRE_MILLISECONDS(100)), 0);
}

static void pass_active(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	gyre_context_fire_active(ctx);
}

static int init_late(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler holds = { .name = "holds",
						   .active = hold_active,
						   .timer = pass_active };
	static const struct gyre_idle_options options = { .read_ns = GYRE_MILLISECONDS(50) };
	int r = gyre_pipeline_add(channel, GYRE_LAST, &holds, NULL);

	r = r < 0 ? r : gyre_idle_add(channel, GYRE_LAST, &options);
	return r < 0 ? r : init_listener(channel, arg);
}

KIT_TEST(idle, its_times_begin_when_the_channel_is_active)
{
	const struct gyre_acceptor_options options = { .init_channel = init_late };

	tap = gyre_tap_open(test, &options, &peer);
	wait_ms(test, 149);
	cr_expect_eq(events_count, 0);
	wait_ms(test, 4);
	cr_expect_eq(events_count, 1);
}

KIT_TEST(idle, times_may_be_longer_than_any_clock)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = UINT64_MAX, .write_ns = UINT64_MAX / 2 });
	wait_ms(test, 10);
	write_bytes(1);
	wait_ms(test, 10);
	cr_expect_eq(events_count, 0);
}

static const struct gyre_system_options lingers = { .linger_ns = GYRE_MILLISECONDS(100) };

KIT_TEST_WITH(idle, a_silent_peer_is_left_in_the_end, &lingers)
{
	begin(test);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(20), .close = true });
	(void)gyre_test_channel_expect_end(peer, GYRE_MILLISECONDS(22));
	(void)gyre_tap_expect_inactive(tap, -ETIMEDOUT, GYRE_SECONDS(1));
}
