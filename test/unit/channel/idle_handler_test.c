/*
 * The idle handler, in a time that the tests themselves let go by: progress is bytes, and nothing
 * is told too early.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/idle.h>

#include "codec/codec_rig.h"
#include "rig.h"

TestSuite(idle, .timeout = 60);

enum { EVENTS = 64 };

static struct codec_rig rig;
static struct gyre_idle events[EVENTS];
static size_t events_count;
static bool close_it;
static bool remove_it;

static void heard(struct gyre_handler_context *ctx, const struct gyre_type *type, const void *event)
{
	cr_assert_eq(type->id, GYRE_ID(gyre_idle));
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

static void begin(void)
{
	codec_rig_init(&rig);
	cr_assert_eq(codec_rig_add(&rig, &listener, NULL), 0);
	events_count = 0;
}

static void end(void)
{
	codec_rig_fini(&rig);
}

static void measure(struct gyre_idle_options options)
{
	cr_assert_eq(gyre_idle_add(&rig.channel, GYRE_FIRST, &options), 0);
}

static void wait_ms(uint64_t time_ms)
{
	codec_rig_wait(&rig, GYRE_MILLISECONDS(time_ms));
}

static void expect_event(size_t number, enum gyre_idle_kind kind, uint32_t count, uint64_t bytes)
{
	cr_assert_gt(events_count, number);
	cr_expect_eq(events[number].kind, kind);
	cr_expect_eq(events[number].count, count);
	cr_expect_eq(events[number].bytes, bytes, "%lu bytes", (unsigned long)events[number].bytes);
}

static void write_bytes(size_t count)
{
	static const char bytes[4096];

	cr_assert_eq(gyre_context_write(gyre_channel_tail(&rig.channel),
					codec_rig_buffer(&rig, bytes, count, count)),
		     0);
}

/* The peer takes some of what is queued. */
static void take_bytes(size_t count)
{
	struct gyre_buffer *first = rig.channel.output.first;

	cr_assert_not_null(first);
	rig.channel.output_bytes -= (uint32_t)count;
	if (count == first->bytes) {
		gy_buffer_put(gy_buffer_queue_pop(&rig.channel.output));
		rig.channel.output_buffers--;
	} else {
		gy_buffer_consume(first, count);
	}
}

Test(idle, input_that_does_not_come_is_told_again_and_again, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	wait_ms(49);
	cr_expect_eq(events_count, 0);
	wait_ms(3);
	expect_event(0, GYRE_IDLE_READ, 1, 0);
	cr_expect_geq(events[0].duration_ns, GYRE_MILLISECONDS(50));
	wait_ms(53);
	expect_event(1, GYRE_IDLE_READ, 2, 0);
	codec_rig_feed(&rig, "x", 1, 1);
	wait_ms(49);
	cr_expect_eq(events_count, 2);
	wait_ms(3);
	expect_event(2, GYRE_IDLE_READ, 1, 0);
}

Test(idle, input_in_time_is_not_idle, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	for (int i = 0; i < 20; i++) {
		wait_ms(40);
		codec_rig_feed(&rig, "x", 1, 1);
	}
	cr_expect_eq(events_count, 0);
}

Test(idle, a_peer_that_drips_makes_the_progress_of_its_bytes, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50),
					    .read_bytes_min = 10 });
	for (int i = 0; i < 9; i++) {
		wait_ms(5);
		codec_rig_feed(&rig, "x", 1, 1);
	}
	wait_ms(7);
	expect_event(0, GYRE_IDLE_READ, 1, 9);
	codec_rig_feed(&rig, "x", 1, 1);
	wait_ms(49);
	cr_expect_eq(events_count, 1, "these were ten");
}

Test(idle, output_is_idle_when_none_is_written_and_when_none_is_taken, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .write_ns = GYRE_MILLISECONDS(80) });
	wait_ms(82);
	expect_event(0, GYRE_IDLE_WRITE, 1, 0);
	write_bytes(100);
	wait_ms(84);
	expect_event(1, GYRE_IDLE_WRITE, 2, 0);
	for (int i = 0; i < 4; i++) {
		take_bytes(25);
		wait_ms(60);
	}
	cr_expect_eq(events_count, 2);
	wait_ms(40);
	expect_event(2, GYRE_IDLE_WRITE, 1, 0);
}

Test(idle, all_is_not_idle_while_either_direction_moves, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .all_ns = GYRE_MILLISECONDS(80) });
	for (int i = 0; i < 4; i++) {
		wait_ms(60);
		codec_rig_feed(&rig, "x", 1, 1);
		wait_ms(60);
		write_bytes(10);
		take_bytes(10);
	}
	cr_expect_eq(events_count, 0);
	wait_ms(100);
	expect_event(0, GYRE_IDLE_ALL, 1, 0);
}

Test(idle, time_in_which_nothing_is_read_is_not_the_fault_of_the_peer, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50),
					    .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(50) });
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	wait_ms(500);
	cr_expect_eq(events_count, 0);
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	wait_ms(160);
	cr_expect_geq(events_count, 2);
}

Test(idle, time_before_the_channel_reads_again_is_not_the_fault_of_the_peer, .init = begin,
     .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	gy_channel_add_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	wait_ms(45);
	gy_channel_remove_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	wait_ms(49);
	cr_expect_eq(events_count, 0, "the timer has fired, and it was reading then");
	/* What is not held back cannot be read again. */
	gy_channel_remove_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	wait_ms(3);
	expect_event(0, GYRE_IDLE_READ, 1, 0);
}

Test(idle, a_rate_is_not_measured_where_the_channel_held_reading_back, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(50) });
	gy_channel_add_no_read(&rig.channel, GY_NO_READ_STARVED);
	wait_ms(45);
	gy_channel_remove_no_read(&rig.channel, GY_NO_READ_STARVED);
	wait_ms(10);
	cr_expect_eq(events_count, 0);
	wait_ms(50);
	expect_event(0, GYRE_SLOW_READ, 1, 0);
}

/* As where each read is asked for: none is held back for long. */
static void drip_read_by_read(int bytes, uint64_t pause_ms)
{
	for (int i = 0; i < bytes; i++) {
		wait_ms(pause_ms);
		gy_channel_add_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
		codec_rig_feed(&rig, "x", 1, 1);
		wait_ms(1);
		gy_channel_remove_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	}
}

Test(idle, a_peer_that_drips_into_reads_that_are_asked_for_makes_the_progress_of_its_bytes,
     .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50),
					    .read_bytes_min = 10 });
	drip_read_by_read(9, 5);
	wait_ms(7);
	expect_event(0, GYRE_IDLE_READ, 1, 9);
}

Test(idle, input_below_its_least_rate_is_told_where_each_read_is_asked_for, .init = begin,
     .fini = end)
{
	measure((struct gyre_idle_options){ .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(50) });
	drip_read_by_read(10, 5);
	expect_event(0, GYRE_SLOW_READ, 1, events[0].bytes);
	cr_expect_gt(events[0].bytes, 0);
}

Test(idle, handlers_that_were_removed_hear_nothing_of_reads_that_go_on, .init = begin, .fini = end)
{
	const struct gyre_idle_options options = { .read_ns = GYRE_MILLISECONDS(50) };
	const struct gyre_position another = { .where = GYRE_WHERE_FIRST, .name = "second" };

	measure(options);
	cr_assert_eq(gyre_idle_add(&rig.channel, another, &options), 0);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "idle"), 0);
	gy_channel_add_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	wait_ms(45);
	gy_channel_remove_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	wait_ms(49);
	cr_expect_eq(events_count, 0);
	wait_ms(3);
	cr_expect_eq(events_count, 1);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "second"), 0);
	gy_channel_add_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	gy_channel_remove_no_read(&rig.channel, GY_NO_READ_NOT_ASKED);
	wait_ms(100);
	cr_expect_eq(events_count, 1);
}

Test(idle, input_below_its_least_rate_is_told_after_the_grace, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(100),
					    .rate_grace_ns = GYRE_MILLISECONDS(200) });
	wait_ms(290);
	cr_expect_eq(events_count, 0);
	codec_rig_feed(&rig, "0123456789", 10, 10);
	wait_ms(20);
	expect_event(0, GYRE_SLOW_READ, 1, 10);
	for (int i = 0; i < 30; i++) {
		codec_rig_feed(&rig, "0123456789012345", 16, 16);
		wait_ms(10);
	}
	cr_expect_eq(events_count, 1, "1600 bytes a second are enough");
	wait_ms(250);
	expect_event(1, GYRE_SLOW_READ, 1, events[1].bytes);
	expect_event(2, GYRE_SLOW_READ, 2, events[2].bytes);
}

Test(idle, output_below_its_least_rate_is_told_while_there_is_some, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .write_rate_min = 1000,
					    .rate_window_ns = GYRE_MILLISECONDS(100) });
	wait_ms(500);
	cr_expect_eq(events_count, 0, "there was nothing to be sent");
	write_bytes(4000);
	wait_ms(150);
	for (int i = 0; i < 20; i++) {
		take_bytes(20);
		wait_ms(10);
	}
	cr_assert_geq(events_count, 1);
	cr_expect_eq(events[0].kind, GYRE_SLOW_WRITE);
	events_count = 0;
	take_bytes(3600);
	wait_ms(500);
	cr_expect_eq(events_count, 0, "all has been taken");
}

Test(idle, a_channel_is_closed_if_that_is_wished, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50), .close = true });
	wait_ms(52);
	cr_expect_eq(events_count, 1);
	cr_expect_eq(gyre_channel_reason(&rig.channel), -ETIMEDOUT);
	cr_expect(gy_channel_is_ending(&rig.channel));
	wait_ms(500);
	cr_expect_eq(events_count, 1, "it hears no more");
	cr_expect_eq(rig.channels.counters.idle_closed, 1);
}

Test(idle, a_handler_that_closes_needs_no_other_reason, .init = begin, .fini = end)
{
	close_it = true;
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50), .close = true });
	wait_ms(52);
	cr_expect_eq(gyre_channel_reason(&rig.channel), 0);
	cr_expect_eq(rig.channels.counters.idle_closed, 0);
}

Test(idle, the_handler_may_be_removed_from_inside_its_event, .init = begin, .fini = end)
{
	remove_it = true;
	measure((struct gyre_idle_options){
		.read_ns = GYRE_MILLISECONDS(50), .all_ns = GYRE_MILLISECONDS(50), .close = true });
	wait_ms(500);
	cr_expect_eq(events_count, 1);
	cr_expect_not(gy_channel_is_ending(&rig.channel));
}

Test(idle, options_that_measure_nothing_are_refused, .init = begin, .fini = end)
{
	static const struct gyre_idle_options none = { .close = true, .read_bytes_min = 5 };

	cr_expect_eq(gyre_idle_add(&rig.channel, GYRE_BEFORE("last"), &none), -EINVAL);
	cr_expect_eq(gyre_idle_add(&rig.channel, GYRE_BEFORE("last"), NULL), -EINVAL);
}

Test(idle, its_times_begin_when_the_channel_is_active, .init = begin, .fini = end)
{
	codec_rig_flags(&rig, GY_EVENT_ACTIVE, 0);
	measure((struct gyre_idle_options){ .read_ns = GYRE_MILLISECONDS(50) });
	wait_ms(100);
	cr_expect_eq(events_count, 0);
	codec_rig_flags(&rig, 0, GY_EVENT_ACTIVE);
	gyre_context_fire_active(&rig.channel.pipeline.head.head);
	wait_ms(52);
	cr_expect_eq(events_count, 1);
}

Test(idle, times_may_be_longer_than_any_clock, .init = begin, .fini = end)
{
	measure((struct gyre_idle_options){ .read_ns = UINT64_MAX, .write_ns = UINT64_MAX / 2 });
	wait_ms(10);
	write_bytes(1);
	wait_ms(10);
	cr_expect_eq(events_count, 0);
}

/* ---- with a socket ---- */

static int reason;

static void on_inactive(struct gyre_handler_context *ctx)
{
	reason = gyre_channel_reason(gyre_context_channel(ctx));
}

static const struct gyre_handler ending = { .name = "ending", .inactive = on_inactive };
static const struct gyre_handler *const ending_only[] = { &ending, NULL };

static bool is_gone(struct rig *r, void *arg)
{
	(void)arg;
	return rig_channels(r)->open == 0;
}

Test(idle, a_silent_peer_is_left_in_the_end)
{
	const struct gyre_idle_options options = { .read_ns = GYRE_MILLISECONDS(20),
						   .close = true };
	struct gyre_channel *channel;
	struct rig live;
	int far;

	rig_init(&live, &(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	far = rig_open(&live, ending_only, NULL, NULL, &channel);
	cr_assert_eq(gyre_idle_add(channel, GYRE_FIRST, &options), 0);
	cr_expect(rig_until_later(&live, is_gone, NULL));
	cr_expect_eq(reason, -ETIMEDOUT);
	(void)close(far);
	rig_fini(&live);
}
