/*
 * Channels that get much at a time receive it into a page of their own, and those that get little
 * do not.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/channel.h"
#include "rig.h"

enum { TIMES_MAX = 64, MANY_BYTES = 8 << 20 };

TestSuite(large_receive, .timeout = 120);

static struct rig rig;
static struct gyre_channel *channel;
static struct rig_stream stream;
static bool had_page;

static void watch_and_echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gy_large_receive_update(gyre_context_channel(ctx), gyre_buffer_bytes(data));
	had_page = had_page || channel->large_page != NULL;
	(void)gyre_context_write(ctx, data);
}

/* Frees what it gets at once, as links do. */
static void watch_and_check(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char bytes[GY_POOL_PAGE_BYTES];
	size_t count;

	gy_large_receive_update(gyre_context_channel(ctx), gyre_buffer_bytes(data));
	had_page = had_page || channel->large_page != NULL;
	while ((count = gyre_buffer_copy(data, 0, bytes, sizeof(bytes))) > 0) {
		stream.wrong = stream.wrong || !rig_check(bytes, count, stream.received);
		stream.received += count;
		(void)gyre_buffer_skip(data, count);
	}
	gyre_buffer_destroy(data);
}

static const struct gyre_handler echo = { .name = "watching echo", .read = watch_and_echo };
static const struct gyre_handler check = { .name = "watching check", .read = watch_and_check };
static const struct gyre_handler *const echo_only[] = { &echo, NULL };
static const struct gyre_handler *const check_only[] = { &check, NULL };

static void open_with(const struct gyre_handler *const *handlers, const struct rig_options *options)
{
	const int room = 1 << 20;

	rig_init(&rig, options);
	stream = (struct rig_stream){ .total = MANY_BYTES };
	had_page = false;
	stream.fd = rig_open_tcp(&rig, handlers, NULL, NULL, &channel);
	/* So much that several pages are full, however the kernel would let it grow by itself. */
	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)),
		     0);
}

static bool has_all(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	if (stream.sent < stream.total) {
		rig_stream_send(&stream);
	}
	return stream.received == stream.total;
}

static bool has_page(struct rig *r, void *arg)
{
	(void)arg;
	(void)has_all(r, NULL);
	return channel->large_page != NULL && channel->receive.armed;
}

static void receive_all(void)
{
	cr_expect(rig_until(&rig, has_all, NULL), "stuck at %lu", stream.received);
	cr_expect_not(stream.wrong);
}

static void end(void)
{
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(large_receive, comes_byte_for_byte_into_a_page_of_the_channel)
{
	open_with(check_only, NULL);
	receive_all();
	cr_expect(had_page);
	end();
}

Test(large_receive, comes_byte_for_byte_where_what_came_before_is_kept)
{
	open_with(echo_only, NULL);
	cr_expect(rig_until(&rig, rig_streamed, &stream), "stuck at %lu", stream.received);
	cr_expect_not(stream.wrong);
	cr_expect(had_page);
	end();
}

Test(large_receive, is_over_when_little_comes)
{
	int times = 0;

	open_with(check_only, NULL);
	cr_assert(rig_until(&rig, has_page, NULL));
	receive_all();
	for (; times < TIMES_MAX && channel->large_page != NULL; times++) {
		stream.total++;
		receive_all();
	}
	cr_expect_null(channel->large_page);
	stream.total += MANY_BYTES;
	had_page = false;
	receive_all();
	cr_expect(had_page, "and begins again");
	end();
}

Test(large_receive, is_not_what_comes_in_small_pieces)
{
	open_with(check_only, NULL);
	stream.total = 0;
	for (int i = 0; i < TIMES_MAX; i++) {
		stream.total += 100;
		receive_all();
		cr_assert_not(had_page);
	}
	end();
}

Test(large_receive, waits_while_memory_is_short)
{
	open_with(check_only, NULL);
	cr_assert(rig_until(&rig, has_page, NULL));
	gy_channels_set_busy(&rig.home, true);
	rig_settle(&rig);
	cr_expect_not(channel->receive.armed);
	cr_expect_lt(stream.received, stream.total);
	gy_channels_set_busy(&rig.home, false);
	receive_all();
	end();
}

static bool is_gone(struct rig *r, void *arg)
{
	(void)arg;
	return rig_channels(r)->open == 0;
}

Test(large_receive, ends_with_the_peer)
{
	open_with(check_only, NULL);
	cr_assert(rig_until(&rig, has_page, NULL));
	receive_all();
	(void)close(stream.fd);
	cr_expect(rig_until(&rig, is_gone, NULL));
	rig_fini(&rig);
}

Test(large_receive, ends_with_the_channel_whose_receive_is_under_way)
{
	open_with(check_only, NULL);
	cr_assert(rig_until(&rig, has_page, NULL));
	gyre_channel_abort(channel, -ECONNABORTED);
	cr_expect(rig_until(&rig, is_gone, NULL));
	end();
}

Test(large_receive, is_thrown_away_by_a_channel_that_closes)
{
	open_with(check_only, NULL);
	cr_assert(rig_until(&rig, has_page, NULL));
	gyre_context_close(gyre_channel_tail(channel));
	rig_stream_send(&stream);
	rig_settle(&rig);
	end();
}

Test(large_receive, does_without_a_page_of_the_ring)
{
	const struct rig_options few = { .buffer_count = 16, .buffer_bytes = 512 };

	open_with(check_only, &few);
	receive_all();
	cr_expect(had_page);
	end();
}
