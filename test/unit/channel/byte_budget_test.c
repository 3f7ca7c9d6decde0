/*
 * The limit on what all channels of a loop hold: what counts, what follows from too much, and when
 * that is over.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/codec.h>

#include "channel/output/output.h"
#include "rig.h"

TestSuite(byte_budget, .timeout = 60);

enum {
	MANY = 64,
	PIECE = 20000,
	SHARE = 1 << 20,
	OVER = SHARE / 4 * 3,
	UNDER = SHARE / 2,
	PIECES = OVER / PIECE, /* that many are not too much, and one more is */
};

static const struct rig_options limited = { .channel_bytes_max = SHARE,
					    .linger_ns = GYRE_SECONDS(3600) };

static struct rig rig;
static struct gyre_channel *channels[MANY];
static int fds[MANY];
static uint32_t opened;
static uint32_t reads;
static uint32_t writable;
static uint32_t unwritable;
static uint32_t inactive;
static int reason;

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	reads++;
	gyre_context_fire_read(ctx, data);
}

static void on_writability(struct gyre_handler_context *ctx, bool is)
{
	(void)ctx;
	writable += is;
	unwritable += !is;
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	inactive++;
	reason = gyre_channel_reason(gyre_context_channel(ctx));
}

static const struct gyre_handler noting = {
	.name = "noting",
	.read = on_read,
	.writability = on_writability,
	.inactive = on_inactive,
};
static const struct gyre_handler *const noting_only[] = { &noting, NULL };

/* What is written to them stays with us until the peers read. */
static void open_channels(uint32_t count)
{
	static const char bytes[4096];

	for (uint32_t i = 0; i < count; i++) {
		fds[i] = rig_open(&rig, noting_only, NULL, NULL, &channels[i]);
		while (send(channels[i]->endpoint.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
		}
	}
	opened = count;
	rig_settle(&rig);
}

static void begin(void)
{
	rig_init(&rig, &limited);
}

static void end(void)
{
	for (uint32_t i = 0; i < opened; i++) {
		(void)close(fds[i]);
	}
	rig_fini(&rig);
}

static const struct gy_channels_counters *counters(void)
{
	return gy_channels_counters(&rig.home);
}

static uint64_t held(void)
{
	return rig_channels(&rig)->byte_budget.bytes;
}

static bool is_over(void)
{
	return rig_channels(&rig)->byte_budget.over != 0;
}

static struct gyre_buffer *buffer_of(size_t count)
{
	static unsigned char bytes[SHARE];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

static int write_to(uint32_t index, size_t count)
{
	return gyre_context_write(gyre_channel_tail(channels[index]), buffer_of(count));
}

static int try_write_to(uint32_t index, size_t count)
{
	struct gyre_buffer *buffer = buffer_of(count);
	int r = gyre_context_try_write(gyre_channel_tail(channels[index]), buffer);

	if (r < 0) {
		cr_expect_eq(gyre_buffer_bytes(buffer), count, "it stays the caller's");
		gyre_buffer_destroy(buffer);
	}
	return r;
}

/* Writes to channels, from the first on and one piece each, until it is too much. */
static void fill(void)
{
	uint32_t i = 0;

	while (!is_over()) {
		cr_assert_lt(i, MANY);
		cr_assert_eq(write_to(i++, PIECE), 0);
	}
	cr_expect_eq(i, PIECES + 1);
	cr_expect_gt(held(), OVER);
	rig.warnings_expected++;
	rig_settle(&rig);
	cr_assert(is_over());
}

/* What the peer of a channel has is read. */
static void read_one(uint32_t index)
{
	static unsigned char bytes[65536];

	while (recv(fds[index], bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
}

/* The same of the first @count. */
static void read_all(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		read_one(i);
	}
}

static bool is_relieved(struct rig *of, void *arg)
{
	(void)of;
	read_all(*(const uint32_t *)arg);
	return !is_over();
}

/* Reads at one peer alone. */
static bool is_drained(struct rig *of, void *arg)
{
	uint32_t index = *(const uint32_t *)arg;

	(void)of;
	read_one(index);
	return gyre_channel_queued_bytes(channels[index]) == 0;
}

static void relieve(void)
{
	uint32_t all = opened;

	cr_assert(rig_until(&rig, is_relieved, &all));
}

static bool all_sent(struct rig *of, void *arg)
{
	(void)of;
	read_all(*(const uint32_t *)arg);
	return held() == 0;
}

static bool has_reads(struct rig *of, void *arg)
{
	(void)of;
	return reads >= *(const uint32_t *)arg;
}

/* ---- too much ---- */

Test(byte_budget, by_many_channels_whose_peers_do_not_read_stops_the_reading_of_all, .init = begin,
     .fini = end)
{
	uint32_t one = 1;

	open_channels(MANY);
	fill();
	cr_expect_eq(counters()->held_periods, 1);
	cr_expect_eq(counters()->held_reads_paused, MANY);
	cr_expect_eq(counters()->reads_paused, 0, "that is another reason");
	cr_expect_eq(rig.logged, 1);
	cr_expect_not_null(strstr(rig.last_log, "channel_bytes_max"), "%s", rig.last_log);
	cr_assert_eq(send(fds[MANY - 1], "x", 1, MSG_NOSIGNAL), 1);
	rig_settle(&rig);
	cr_expect_eq(reads, 0);
	relieve();
	cr_expect(rig_until(&rig, has_reads, &one), "what came meanwhile is not lost");
	cr_expect_eq(counters()->held_periods, 1);
	cr_expect_eq(rig.logged, 1);
}

Test(byte_budget, too_much_refuses_writes_that_can_wait, .init = begin, .fini = end)
{
	open_channels(MANY);
	cr_assert_eq(try_write_to(MANY - 1, 100), 0);
	read_one(MANY - 1);
	rig_settle(&rig);
	cr_assert_eq(held(), 0);
	unwritable = 0;
	fill();
	cr_expect_eq(unwritable, MANY, "all handlers are told");
	cr_expect(!gyre_channel_is_writable(channels[MANY - 1]));
	cr_expect_eq(try_write_to(MANY - 1, 100), -EAGAIN);
	cr_expect_eq(try_write_to(MANY - 1, 100), -EAGAIN);
	cr_expect_eq(counters()->held_refused, 2);
	cr_expect_eq(inactive, 0);
	relieve();
	rig_settle(&rig);
	cr_expect_eq(writable, MANY);
	cr_expect(gyre_channel_is_writable(channels[MANY - 1]));
	cr_expect_eq(try_write_to(MANY - 1, 100), 0);
}

/* Less than half is held, so that nothing need ever change. */
Test(byte_budget, little_by_a_silent_peer_does_not_make_a_large_write_too_much, .init = begin,
     .fini = end)
{
	open_channels(2);
	cr_assert_eq(write_to(0, 1), 0);
	cr_expect_eq(try_write_to(1, SHARE - 64), -EMSGSIZE);
	cr_expect_eq(try_write_to(1, UNDER + 1), -EMSGSIZE);
	cr_expect_eq(counters()->held_periods, 0, "it would be for ever");
	cr_expect(gyre_channel_is_writable(channels[1]));
	cr_expect_eq(try_write_to(1, UNDER), 0);
}

Test(byte_budget, too_much_leaves_channels_unwritable_whose_output_has_gone, .init = begin,
     .fini = end)
{
	open_channels(MANY);
	fill();
	cr_expect_eq(write_to(MANY - 1, 100), 0);
	cr_expect(!gyre_channel_is_writable(channels[MANY - 1]));
	read_one(MANY - 1);
	rig_settle(&rig);
	cr_expect_eq(gyre_channel_queued_bytes(channels[MANY - 1]), 0);
	cr_expect(!gyre_channel_is_writable(channels[MANY - 1]), "though it has gone");
	relieve();
	cr_expect(gyre_channel_is_writable(channels[MANY - 1]));
}

/* As a link is, which has marks of its own all the same. */
Test(byte_budget, too_much_keeps_no_exempt_channel_unwritable_whose_output_has_gone, .init = begin,
     .fini = end)
{
	struct gyre_channel *exempt;
	uint32_t only = MANY - 1;

	open_channels(MANY);
	exempt = channels[only];
	gy_channel_exempt(exempt);
	fill();
	cr_expect(gyre_channel_is_writable(exempt));
	cr_expect_eq(write_to(only, exempt->write_high_bytes + 1), 0);
	cr_expect(!gyre_channel_is_writable(exempt));
	cr_assert(rig_until(&rig, is_drained, &only));
	cr_expect(is_over());
	cr_expect(gyre_channel_is_writable(exempt));
	relieve();
}

Test(byte_budget, all_there_may_be_closes_the_channel_that_grows_and_no_other, .init = begin,
     .fini = end)
{
	uint32_t i;

	open_channels(MANY);
	fill();
	for (i = PIECES + 1; held() + PIECE <= SHARE; i++) {
		cr_assert_eq(write_to(i, PIECE), 0);
	}
	cr_assert_lt(i, MANY - 1);
	cr_expect_eq(write_to(i, PIECE), -ENOBUFS);
	cr_expect_leq(held(), SHARE);
	rig_settle(&rig);
	cr_expect_eq(inactive, 1);
	cr_expect_eq(reason, -ENOBUFS);
	cr_expect_eq(counters()->held_closed, 1);
	rig.warnings_expected++; /* which names the class, and the bytes */
	cr_expect_eq(gyre_channel_reason(channels[0]), 0);
	relieve();
}

Test(byte_budget, much_is_over_below_half_and_comes_again_over_three_quarters, .init = begin,
     .fini = end)
{
	uint32_t aborted = 0;

	open_channels(MANY);
	fill();
	while (held() > UNDER) {
		cr_assert(is_over());
		gyre_channel_abort(channels[aborted++], 0);
		rig_settle(&rig);
	}
	cr_assert(!is_over());
	for (uint32_t i = 0; i < aborted - 1; i++) {
		cr_assert_eq(write_to(MANY - 1 - i, PIECE), 0);
		cr_assert(!is_over());
	}
	cr_expect_eq(counters()->held_periods, 1);
	cr_assert_eq(write_to(MANY - aborted, PIECE), 0);
	cr_expect(is_over());
	cr_expect_eq(counters()->held_periods, 2);
	rig.warnings_expected++;
}

Test(byte_budget, a_write_that_never_fits_is_too_long, .init = begin, .fini = end)
{
	open_channels(1);
	rig_channels(&rig)->options.channel_bytes_max = 1000;
	cr_expect_eq(try_write_to(0, 501), -EMSGSIZE);
	cr_expect_eq(try_write_to(0, 500), 0);
	cr_expect_eq(counters()->held_refused, 0);
}

Test(byte_budget, a_new_channel_does_not_read_either, .init = begin, .fini = end)
{
	uint32_t one = 1;

	open_channels(MANY - 1);
	fill();
	fds[MANY - 1] = rig_open(&rig, noting_only, NULL, NULL, &channels[MANY - 1]);
	opened++;
	cr_assert_eq(send(fds[MANY - 1], "x", 1, MSG_NOSIGNAL), 1);
	rig_settle(&rig);
	cr_expect_eq(reads, 0);
	cr_expect(!gyre_channel_is_writable(channels[MANY - 1]));
	relieve();
	cr_expect(rig_until(&rig, has_reads, &one));
}

Test(byte_budget, too_much_and_short_memory_are_both_waited_for, .init = begin, .fini = end)
{
	uint32_t one = 1;

	open_channels(MANY);
	fill();
	gy_channels_set_busy(&rig.home, true);
	gy_channels_set_busy(&rig.home, false);
	cr_assert_eq(send(fds[MANY - 1], "x", 1, MSG_NOSIGNAL), 1);
	rig_settle(&rig);
	cr_expect_eq(reads, 0);
	gy_channels_set_busy(&rig.home, true);
	relieve();
	rig_settle(&rig);
	cr_expect_eq(reads, 0);
	gy_channels_set_busy(&rig.home, false);
	cr_expect(rig_until(&rig, has_reads, &one));
}

Test(byte_budget, goes_with_channels_that_are_aborted, .init = begin, .fini = end)
{
	open_channels(MANY);
	fill();
	for (uint32_t i = 0; i < PIECES; i++) {
		gyre_channel_abort(channels[i], 0);
	}
	rig_settle(&rig);
	cr_expect(!is_over());
}

/* ---- what counts ---- */

Test(byte_budget, output_counts_until_the_kernel_has_it, .init = begin, .fini = end)
{
	uint32_t one = 1;

	open_channels(1);
	cr_assert_eq(write_to(0, PIECE), 0);
	cr_expect_eq(held(), PIECE);
	cr_assert_eq(write_to(0, 10), 0);
	cr_expect_eq(held(), PIECE + 10);
	cr_expect(rig_until(&rig, all_sent, &one));
}

static bool holds(struct rig *of, void *arg)
{
	(void)of;
	return held() == *(const uint64_t *)arg;
}

Test(byte_budget, input_counts_until_handlers_have_it, .init = begin, .fini = end)
{
	static const char bytes[3000];
	uint64_t wanted = sizeof(bytes);

	open_channels(1);
	gyre_channel_set_auto_read(channels[0], false);
	cr_assert_eq(send(fds[0], bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	cr_expect(rig_until(&rig, holds, &wanted));
	gyre_context_read(gyre_channel_tail(channels[0]));
	rig_settle(&rig);
	cr_expect_eq(held(), 0);
	cr_assert_eq(send(fds[0], bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	rig_settle(&rig);
}

static void write_back(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	cr_expect_eq(gyre_context_write(ctx, data), 0);
}

static const struct gyre_handler echoing = { .name = "echoing", .read = write_back };

/* The last channel holds input that nobody has asked for, and the others hold the rest of the
 * share. */
static void hold_all(size_t count)
{
	static const char bytes[PIECE] = { 0 };
	uint32_t last = MANY - 1;
	uint64_t wanted = count;

	gyre_channel_set_auto_read(channels[last], false);
	cr_assert_eq(send(fds[last], bytes, count, MSG_NOSIGNAL), (ssize_t)count);
	cr_assert(rig_until(&rig, holds, &wanted));
	fill();
	for (uint32_t i = PIECES + 1; held() < SHARE; i++) {
		uint64_t room = SHARE - held();

		cr_assert_lt(i, last);
		cr_assert_eq(write_to(i, room < PIECE ? (size_t)room : PIECE), 0);
	}
}

Test(byte_budget, input_does_not_count_twice_when_it_is_written_back, .init = begin, .fini = end)
{
	struct gyre_channel *echo;

	open_channels(MANY);
	echo = channels[MANY - 1];
	cr_assert_eq(gyre_pipeline_add(echo, GYRE_FIRST, &echoing, NULL), 0);
	hold_all(3000);
	gyre_context_read(gyre_channel_tail(echo));
	rig_settle(&rig);
	cr_expect_eq(held(), SHARE, "what was input is output");
	cr_expect_eq(gyre_channel_queued_bytes(echo), 3000);
	cr_expect_eq(inactive, 0);
	relieve();
}

Test(byte_budget, input_does_not_count_twice_when_a_codec_keeps_it, .init = begin, .fini = end)
{
	struct gyre_channel *framed;

	open_channels(MANY);
	framed = channels[MANY - 1];
	cr_assert_eq(gyre_line_codec_add(framed, GYRE_FIRST, NULL), 0);
	hold_all(3000);
	gyre_context_read(gyre_channel_tail(framed));
	rig_settle(&rig);
	cr_expect_eq(held(), SHARE);
	cr_expect_eq(framed->frame_bytes, 3000);
	cr_expect_eq(inactive, 0);
	relieve();
}

Test(byte_budget, what_a_codec_keeps_counts, .init = begin, .fini = end)
{
	static const char bytes[3000] = { 0 };
	uint64_t wanted = sizeof(bytes);

	open_channels(2);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(gyre_line_codec_add(channels[i], GYRE_FIRST, NULL), 0);
		cr_assert_eq(send(fds[i], bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
		cr_expect(rig_until(&rig, holds, &wanted));
		wanted += sizeof(bytes);
	}
	cr_assert_eq(send(fds[0], "\n", 1, MSG_NOSIGNAL), 1);
	wanted = sizeof(bytes);
	cr_expect(rig_until(&rig, holds, &wanted));
	gyre_channel_abort(channels[1], 0);
	rig_settle(&rig);
	cr_expect_eq(held(), 0);
}

Test(byte_budget, that_is_kept_does_not_make_bytes_that_a_handler_withholds_writable, .init = begin,
     .fini = end)
{
	open_channels(1);
	cr_assert_eq(gy_output_withhold(channels[0], 300000), 0);
	rig_settle(&rig);
	cr_assert_eq(unwritable, 1);
	gyre_channel_set_auto_read(channels[0], true);
	rig_settle(&rig);
	cr_expect(!gyre_channel_is_writable(channels[0]));
	cr_expect_eq(writable, 0);
	gy_output_release(channels[0], 300000, 0);
	rig_settle(&rig);
	cr_expect(gyre_channel_is_writable(channels[0]));
	cr_expect_eq(writable, 1);
}

/* ---- what is held can go ---- */

/* Lets each channel keep part of a frame of @count bytes, until that is too much. */
static void fill_with_frames(size_t count)
{
	static const char bytes[PIECE] = { 0 };
	const struct gyre_line_options long_lines = { .frame_bytes_max = SHARE };

	for (uint32_t i = 0; i < MANY && !is_over(); i++) {
		uint64_t wanted = held() + count;

		cr_assert_eq(gyre_line_codec_add(channels[i], GYRE_FIRST, &long_lines), 0);
		cr_assert_eq(send(fds[i], bytes, count, MSG_NOSIGNAL), (ssize_t)count);
		cr_assert(rig_until(&rig, holds, &wanted));
	}
	cr_assert(is_over());
	rig.warnings_expected++;
}

static bool is_less(struct rig *of, void *arg)
{
	(void)of;
	(void)arg;
	return !is_over();
}

Test(byte_budget, by_frames_that_are_not_complete_goes_with_their_ends, .init = begin, .fini = end)
{
	open_channels(MANY);
	fill_with_frames(PIECE);
	for (uint32_t i = 0; i < PIECES; i++) {
		cr_assert_eq(send(fds[i], "\n", 1, MSG_NOSIGNAL), 1);
	}
	cr_expect(rig_until(&rig, is_less, NULL), "those read on");
	cr_expect_eq(inactive, 0);
}

Test(byte_budget, by_frames_may_not_be_more_than_all, .init = begin, .fini = end)
{
	static const char bytes[PIECE] = { 0 };

	open_channels(MANY);
	fill_with_frames(PIECE);
	while (inactive == 0) {
		cr_assert_leq(held(), SHARE + 100000, "what one turn receives is over it");
		(void)send(fds[0], bytes, 4000, MSG_DONTWAIT | MSG_NOSIGNAL);
		rig_turn(&rig);
	}
	cr_expect_eq(reason, -ENOBUFS);
	cr_expect_eq(counters()->held_closed, 1);
	rig.warnings_expected++; /* which names the class, and the bytes */
	rig_settle(&rig);
	cr_expect_eq(inactive, 1);
}

Test(byte_budget, by_input_goes_when_the_output_that_stands_against_it_does, .init = begin,
     .fini = end)
{
	static const char bytes[PIECE] = { 0 };
	uint32_t last = MANY - 1;

	open_channels(MANY);
	/* Over its own high mark: what it receives has to wait. */
	cr_assert_eq(write_to(last, 300000), 0);
	cr_assert_eq(send(fds[last], bytes, PIECE, MSG_NOSIGNAL), PIECE);
	rig_settle(&rig);
	cr_expect_eq(reads, 0);
	while (!is_over()) {
		cr_assert_eq(write_to(opened - 2, PIECE), 0);
		opened--;
	}
	rig.warnings_expected++;
	opened = MANY;
	while (reads == 0) {
		read_one(last);
		rig_turn(&rig);
	}
	cr_expect(is_over() || held() <= UNDER);
}

Test(byte_budget, nothing_counts_without_a_limit)
{
	rig_init(&rig, &(struct rig_options){ .linger_ns = GYRE_SECONDS(3600) });
	open_channels(2);
	cr_assert_eq(write_to(0, PIECE), 0);
	gyre_channel_set_auto_read(channels[1], false);
	cr_assert_eq(send(fds[1], "x", 1, MSG_NOSIGNAL), 1);
	rig_settle(&rig);
	cr_expect_eq(held(), 0);
	end();
}
