/* How datagram channels end, and what holds their output back. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "net/datagram_rig.h"

TestSuite(datagram_end, .timeout = 60, .init = datagram_begin, .fini = datagram_end);

static int unix_peer(const char *name, struct gyre_socket_address *ret_address)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	cr_assert_eq(gyre_socket_address_parse(datagram_name(name), ret_address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&ret_address->storage, ret_address->bytes), 0);
	return fd;
}

/* One that reads nothing, and soon has no room. */
static int deaf_peer(struct gyre_socket_address *ret_address)
{
	return unix_peer("deaf", ret_address);
}

static void open_unix(struct gyre_address *ret_actor)
{
	(void)datagram_open_with(
		&(struct gyre_datagram_options){ .bind = datagram_name("datagram") }, ret_actor);
}

static void write_numbers(const struct gyre_socket_address *to, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&datagram_rig)->pools);

		cr_assert_eq(gyre_buffer_append(buffer, &i, sizeof(i)), 0);
		cr_assert_eq(datagram_write(buffer, to), 0);
	}
}

/* A channel by those options, behind whose deaf peer a hundred numbers wait. */
static int begin_with_deaf_peer(const struct rig_options *options,
				struct gyre_socket_address *ret_address)
{
	int fd;

	datagram_begin_with(options);
	fd = deaf_peer(ret_address);
	open_unix(NULL);
	write_numbers(ret_address, 100);
	return fd;
}

static void expect_hundred_numbers(int fd)
{
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t number;

		cr_assert_eq(datagram_receive(fd, &number, sizeof(number)), sizeof(number));
		cr_assert_eq(number, i);
	}
}

Test(datagram_end, comes_when_all_is_sent_in_order)
{
	struct gyre_socket_address to;
	int fd = deaf_peer(&to);

	open_unix(NULL);
	write_numbers(&to, 100);
	gyre_context_close(gyre_channel_tail(datagrams.channel));
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.closed, 0, "the peer has no room");
	expect_hundred_numbers(fd);
	datagram_until_closed();
	cr_expect_eq(datagrams.reason, 0);
	(void)close(fd);
}

Test(datagram_end, of_waiting_comes_when_a_connected_peer_has_room_again)
{
	struct gyre_socket_address to;
	int fd = deaf_peer(&to);

	(void)datagram_open_with(
		&(struct gyre_datagram_options){ .connect = datagram_name("deaf") }, NULL);
	write_numbers(NULL, 100);
	rig_settle(&datagram_rig);
	cr_expect(gy_datagram_of(datagrams.channel)->room.armed);
	expect_hundred_numbers(fd);
	write_numbers(NULL, 100);
	rig_settle(&datagram_rig);
	gyre_channel_abort(datagrams.channel, 0);
	datagram_until_closed();
	(void)close(fd);
}

Test(datagram_end, does_not_wait_for_ever_for_a_peer_that_takes_nothing)
{
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(&(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) },
				      &to);

	gyre_context_close(gyre_channel_tail(datagrams.channel));
	datagram_until_closed();
	cr_expect_eq(datagrams.reason, -ETIMEDOUT);
	cr_expect_eq(datagram_counters()->linger_timeouts, 1);
	(void)close(fd);
}

Test(datagram_end, lets_the_loop_rest_while_it_waits_for_room)
{
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(
		&(struct rig_options){ .low_bytes = 1000, .high_bytes = 2000 }, &to);

	cr_assert(!gyre_channel_is_writable(datagrams.channel));
	gyre_context_close(gyre_channel_tail(datagrams.channel));
	rig_settle(&datagram_rig);
	cr_assert_eq(datagrams.closed, 0, "the peer has no room");
	cr_expect(!datagrams.channel->endpoint.ready, "nobody hears of the mark any more");
	cr_expect_eq(datagrams.unwritable, 0);
	gyre_channel_abort(datagrams.channel, 0);
	datagram_until_closed();
	(void)close(fd);
}

Test(datagram_end, has_a_reason_also_when_the_channel_was_not_writable)
{
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(&(struct rig_options){ .low_bytes = 1000,
							     .high_bytes = 2000,
							     .linger_ns = GYRE_MILLISECONDS(100) },
				      &to);

	gyre_context_close(gyre_channel_tail(datagrams.channel));
	datagram_until_closed();
	cr_expect_eq(datagrams.reason, -ETIMEDOUT);
	(void)close(fd);
}

Test(datagram_end, at_once_ends_what_is_in_flight)
{
	struct gyre_socket_address to;
	int fd = deaf_peer(&to);

	open_unix(NULL);
	write_numbers(&to, 100);
	rig_settle(&datagram_rig);
	gyre_channel_abort(datagrams.channel, -EIO);
	datagram_until_closed();
	cr_expect_eq(datagrams.reason, -EIO);
	(void)close(fd);
}

Test(datagram_end, comes_with_its_actor)
{
	struct gyre_socket_address to;
	int fd = deaf_peer(&to);
	struct gyre_address actor;

	open_unix(&actor);
	write_numbers(&to, 5);
	(void)gy_send_signal(&datagram_rig.home, actor, &gy_type_stop, GY_MAIL_EVENT);
	datagram_until_closed();
	cr_expect_eq(datagram_counters()->datagrams_sent, 5);
	rig_settle(&datagram_rig);
	cr_expect_null(gy_house_find(&datagram_rig.home, actor.slot, actor.cookie));
	(void)close(fd);
}

Test(datagram_end, takes_its_actor_along)
{
	struct gyre_address actor;

	open_unix(&actor);
	cr_assert_not_null(gy_house_find(&datagram_rig.home, actor.slot, actor.cookie));
	gyre_context_close(gyre_channel_tail(datagrams.channel));
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_null(gy_house_find(&datagram_rig.home, actor.slot, actor.cookie));
}

Test(datagram_end, of_a_drain_comes_after_what_was_received_is_answered)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);
	char bytes[4];

	gyre_channel_set_auto_read(datagrams.channel, false);
	datagram_send(fd, "last", 4);
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 0);
	datagram_rig.home.channel_ops->drain(&datagram_rig.home);
	datagram_until_closed();
	cr_expect_eq(datagrams.reads, 1);
	cr_expect_eq(datagram_receive(fd, bytes, sizeof(bytes)), 4);
	(void)close(fd);
}

Test(datagram_end, of_writing_leaves_reading)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	gyre_context_shutdown(gyre_channel_tail(datagrams.channel));
	datagram_send(fd, "x", 1);
	datagram_until_reads(1);
	cr_expect_eq(datagram_write(datagram_buffer(1), &at), -EPIPE);
	cr_expect_eq(datagrams.closed, 0);
	(void)close(fd);
}

/* ---- from inside every function of a handler ---- */

enum place { IN_ACTIVE, IN_READ, IN_COMPLETE, IN_WRITE, IN_EXCEPTION, IN_WRITABILITY, PLACES };

static enum place place;
static bool abortive;

static void end_at(struct gyre_handler_context *ctx, enum place here)
{
	if (here == place) {
		if (abortive) {
			gyre_channel_abort(ctx->channel, -EIO);
		} else {
			gyre_context_close(ctx);
		}
	}
}

static void ending_active(struct gyre_handler_context *ctx)
{
	end_at(ctx, IN_ACTIVE);
}

static void ending_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_buffer *other = gyre_context_buffer(ctx);
	struct gyre_socket_address nowhere = *gyre_buffer_peer(data);

	datagrams.reads++;
	end_at(ctx, IN_READ);
	gy_socket_address_set_port(&nowhere, 0); /* it fails */
	(void)gyre_buffer_set_peer(other, &nowhere);
	(void)gyre_context_write(ctx, other);
	(void)gyre_context_write(ctx, data);
}

static void ending_complete(struct gyre_handler_context *ctx)
{
	end_at(ctx, IN_COMPLETE);
}

static void ending_exception(struct gyre_handler_context *ctx, int error)
{
	(void)error;
	datagrams.exceptions++;
	end_at(ctx, IN_EXCEPTION);
}

static void ending_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)writable;
	end_at(ctx, IN_WRITABILITY);
}

static int ending_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	end_at(ctx, IN_WRITE);
	return gyre_context_write(ctx, data);
}

static void ending_inactive(struct gyre_handler_context *ctx)
{
	(void)ctx;
	datagrams.closed++;
}

static const struct gyre_handler ending = {
	.active = ending_active,
	.read = ending_read,
	.read_complete = ending_complete,
	.exception = ending_exception,
	.writability = ending_writability,
	.inactive = ending_inactive,
	.write = ending_write,
};

static const struct gyre_handler writing = { .write = ending_write };

static int init_ending(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_LAST, &writing, arg);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &ending, arg);
}

Test(datagram_end, can_be_asked_for_in_every_function_of_a_handler)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_ending };
	static const char bytes[1100];

	datagram_begin_with(&(struct rig_options){ .low_bytes = 1, .high_bytes = 1024 });
	for (int i = 0; i < 2 * PLACES; i++) {
		struct gyre_socket_address at;
		int fd;

		datagrams.closed = 0;
		place = (enum place)(i / 2);
		abortive = i % 2 == 1;
		at = datagram_open_with(&options, NULL);
		fd = datagram_client(&at, NULL);
		for (int k = 0; k < 3; k++) {
			(void)send(fd, bytes, sizeof(bytes), 0);
		}
		datagram_until_closed();
		rig_settle(&datagram_rig);
		cr_expect_eq(datagrams.closed, 1);
		(void)close(fd);
	}
}

static int init_refusing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return -EPERM;
}

Test(datagram_end, comes_at_once_when_the_initialiser_refuses)
{
	(void)datagram_open_with(&(struct gyre_datagram_options){ .bind = "udp://127.0.0.1:0",
								  .init_channel = init_refusing },
				 NULL);
	datagram_rig.warnings_expected = 1; /* the mount has failed */
	cr_expect_eq(datagram_rig.home.channel_ops->open_count(&datagram_rig.home), 0);
}

/* ---- what holds the output back ---- */

Test(datagram_end, of_room_is_told_by_the_marks_and_the_cap_costs_one_datagram)
{
	struct gyre_socket_address to;
	uint32_t written = 0;
	char byte;
	int fd;
	int r;

	datagram_begin_with(
		&(struct rig_options){ .low_bytes = 1000, .high_bytes = 4000, .max_bytes = 8000 });
	fd = deaf_peer(&to);
	open_unix(NULL);
	while ((r = datagram_write(datagram_buffer(0), &to)) == 0) {
		written++;
		if (written == 62) {
			cr_expect(gyre_channel_is_writable(datagrams.channel));
		}
		cr_assert_leq(written, 1000);
	}
	cr_expect_eq(r, -ENOBUFS);
	cr_expect_eq(written, 125, "empty ones count too");
	cr_expect(!gyre_channel_is_writable(datagrams.channel));
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.unwritable, 1);
	cr_expect_eq(datagrams.closed, 0);
	cr_expect_eq(datagram_counters()->datagrams_failed, 1);
	for (uint32_t i = 0; i < written; i++) {
		cr_assert_eq(datagram_receive(fd, &byte, 1), 0);
	}
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.writable, 1);
	cr_expect(gyre_channel_is_writable(datagrams.channel));
	(void)close(fd);
}

Test(datagram_end, of_room_may_be_the_channels_own)
{
	const struct gyre_datagram_options options = {
		.bind = datagram_name("datagram"),
		.channel = { .write_low_bytes = 1000,
			     .write_high_bytes = 4000,
			     .write_max_bytes = 8000 },
	};
	struct gyre_socket_address to;
	uint32_t written = 0;
	char byte;
	int fd;

	datagram_begin();
	fd = deaf_peer(&to);
	(void)datagram_open_with(&options, NULL);
	while (datagram_write(datagram_buffer(0), &to) == 0) {
		written++;
		cr_assert_eq(gyre_channel_is_writable(datagrams.channel), written <= 62);
		cr_assert_leq(written, 1000);
	}
	cr_expect_eq(written, 125);
	for (uint32_t i = 0; i < written; i++) {
		cr_assert_eq(datagram_receive(fd, &byte, 1), 0);
	}
	(void)close(fd);
}

Test(datagram_end, of_reading_lasts_while_output_stands_over_the_mark)
{
	struct gyre_socket_address to;
	struct gyre_socket_address at;
	struct gyre_socket_address client;
	char byte;
	int fd;
	int from;

	datagram_begin_with(&(struct rig_options){ .low_bytes = 1000, .high_bytes = 2000 });
	fd = deaf_peer(&to);
	open_unix(NULL);
	cr_assert_eq(gyre_socket_address_parse(datagram_name("datagram"), &at), 0);
	from = datagram_client(&at, datagram_name("client"));
	cr_assert_eq(gy_socket_address_of(from, &client), 0);
	write_numbers(&to, 50);
	datagram_send(from, "x", 1);
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 0);
	for (uint32_t i = 0; i < 50; i++) {
		(void)datagram_receive(fd, &byte, 1);
	}
	datagram_until_reads(1);
	(void)close(from);
	(void)close(fd);
}

/* A number in two slices: the first half is somebody else's memory. */
static void write_halves(const struct gyre_socket_address *to, uint32_t number)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&datagram_rig)->pools);
	struct gyre_bytes *half = gyre_bytes_create(&number, 2);

	cr_assert_eq(gyre_buffer_append_shared(buffer, half), 0);
	cr_assert_eq(gyre_buffer_append(buffer, (const char *)&number + 2, 2), 0);
	cr_assert_eq(datagram_write(buffer, to), 0);
	gyre_bytes_unref(half);
}

static uint32_t pages_in_use(void)
{
	const struct gy_pool *pages = &rig_channels(&datagram_rig)->pools.pages;

	return pages->total - pages->free_count;
}

static void expect_numbers(int fd, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t number;

		cr_assert_eq(datagram_receive(fd, &number, sizeof(number)), sizeof(number));
		cr_assert_eq(number, i);
	}
}

Test(datagram_end, of_room_has_short_ones_wait_in_as_much_memory_as_they_count)
{
	enum { COUNT = 400, PAGES = COUNT * (4 + GY_BUFFER_BYTES) / GY_POOL_PAGE_BYTES + 1 };
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(
		&(struct rig_options){ .high_bytes = 1 << 20, .max_bytes = 1 << 21 }, &to);

	rig_settle(&datagram_rig);
	cr_expect_leq(pages_in_use(), PAGES);
	for (uint32_t i = 100; i < COUNT; i++) {
		write_halves(&to, i);
		rig_settle(&datagram_rig);
		cr_assert_leq(pages_in_use(), PAGES);
	}
	expect_numbers(fd, 0, COUNT);
	(void)close(fd);
}

Test(datagram_end, of_room_leaves_long_ones_where_they_are)
{
	unsigned char bytes[2 * GY_BUFFER_COPY_BYTES_MAX];
	unsigned char written[sizeof(bytes)];
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(NULL, &to);

	rig_fill(written, sizeof(written), 0);
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(datagram_write(datagram_buffer(sizeof(bytes)), &to), 0);
		write_halves(&to, 100 + i);
	}
	rig_settle(&datagram_rig);
	cr_expect_leq(pages_in_use(), 12);
	expect_numbers(fd, 0, 100);
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(datagram_receive(fd, bytes, sizeof(bytes)), sizeof(bytes));
		cr_assert_eq(memcmp(bytes, written, sizeof(bytes)), 0);
		expect_numbers(fd, 100 + i, 101 + i);
	}
	(void)close(fd);
}

Test(datagram_end, of_waiting_for_one_who_is_in_the_way_of_others_comes_in_time)
{
	struct gyre_socket_address to;
	struct gyre_socket_address other;
	uint32_t number;
	uint32_t taken = 0;
	int fd;
	int hearing;

	datagram_begin_with(&(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	fd = deaf_peer(&to);
	hearing = unix_peer("hearing", &other);
	open_unix(NULL);
	write_numbers(&to, 100);
	write_numbers(&other, 1);
	write_numbers(&to, 100);
	write_numbers(&other, 1);
	cr_expect_eq(datagram_receive(hearing, &number, sizeof(number)), sizeof(number));
	cr_expect_eq(datagram_receive(hearing, &number, sizeof(number)), sizeof(number));
	while (recv(fd, &number, sizeof(number), 0) > 0) {
		cr_expect_eq(number, taken++);
	}
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.exceptions, 200 - taken, "the rest is lost");
	cr_expect_eq(datagrams.error, -ETIMEDOUT);
	cr_expect_eq(datagram_counters()->datagrams_failed, 200 - taken);
	cr_expect_eq(datagrams.closed, 0);
	write_numbers(&to, 1);
	cr_expect_eq(datagram_receive(fd, &number, sizeof(number)), sizeof(number));
	(void)close(hearing);
	(void)close(fd);
}

static bool is_writable(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return gyre_channel_is_writable(datagrams.channel);
}

Test(datagram_end, of_waiting_for_one_who_makes_the_channel_unwritable_comes_in_time)
{
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(&(struct rig_options){ .low_bytes = 1000,
							     .high_bytes = 2000,
							     .linger_ns = GYRE_MILLISECONDS(100) },
				      &to);

	cr_assert(!gyre_channel_is_writable(datagrams.channel));
	cr_assert(rig_until_later(&datagram_rig, is_writable, NULL));
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.error, -ETIMEDOUT);
	cr_expect_eq(datagrams.writable, 1);
	(void)close(fd);
}

Test(datagram_end, of_waiting_for_one_who_is_in_nobodys_way_does_not_come)
{
	struct gyre_socket_address to;
	int fd = begin_with_deaf_peer(&(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) },
				      &to);

	for (int i = 0; i < 50; i++) {
		rig_pass(&datagram_rig, GYRE_MILLISECONDS(20));
	}
	cr_expect_eq(datagrams.exceptions, 0);
	expect_hundred_numbers(fd);
	(void)close(fd);
}

Test(datagram_end, of_reading_lasts_while_memory_is_short)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	gy_channels_set_busy(&datagram_rig.home, true);
	rig_settle(&datagram_rig);
	datagram_send(fd, "x", 1);
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 0);
	cr_expect(!datagrams.channel->receive.armed);
	gy_channels_set_busy(&datagram_rig.home, false);
	datagram_until_reads(1);
	(void)close(fd);
}
