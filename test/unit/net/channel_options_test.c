/* What the options of a channel do to its marks, and to the buffers that the kernel keeps for it.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/connect.h>

#include "buffer/socket_address.h"
#include "channel/rig.h"
#include "system/system.h"

TestSuite(channel_options, .timeout = 60);

enum { LOW = 1000, HIGH = 2000, MAX = 3000, RECEIVE = 32768, SEND = 16384 };

static struct rig rig;
static struct gyre_channel *seen;

static int init_seen(struct gyre_channel *channel, void *arg)
{
	(void)arg;
	seen = channel;
	return 0;
}

static void begin(void)
{
	rig_init(&rig, NULL);
	seen = NULL;
}

static void end(void)
{
	rig_fini(&rig);
}

static struct gyre_system *the_system(void)
{
	return (struct gyre_system *)(void *)&rig.homes;
}

static int listen_with(const char *bind, const struct gyre_channel_options *channel,
		       struct gyre_socket_address *ret_address)
{
	const struct gyre_acceptor_options options = { .bind = bind,
						       .init_channel = init_seen,
						       .channel = *channel,
						       .ret_address = ret_address };

	return gyre_system_listen(the_system(), &options, NULL);
}

static bool was_seen(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return seen != NULL;
}

/* A connection to it, whose channel is in @seen. */
static int connect_there(const struct gyre_socket_address *address)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (const struct sockaddr *)&address->storage, address->bytes), 0);
	cr_assert(rig_until(&rig, was_seen, NULL));
	return fd;
}

/* A channel accepted with these options; its far end. */
static int open_with(const char *bind, const struct gyre_channel_options *channel)
{
	struct gyre_socket_address address;

	cr_assert_eq(listen_with(bind, channel, &address), 0);
	return connect_there(&address);
}

static int option_of(const struct gyre_channel *channel, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	cr_assert_eq(getsockopt(gyre_channel_descriptor(channel), SOL_SOCKET, name, &value, &bytes),
		     0);
	return value;
}

/* ---- marks ---- */

static int write_bytes(size_t count)
{
	static const unsigned char zeros[2 * MAX];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, zeros, count), 0);
	return gyre_context_write(gyre_channel_tail(seen), buffer);
}

Test(channel_options, give_channels_of_a_listener_marks_of_their_own, .init = begin, .fini = end)
{
	const struct gyre_channel_options options = { .write_low_bytes = LOW,
						      .write_high_bytes = HIGH,
						      .write_max_bytes = MAX };
	int fd = open_with("tcp://127.0.0.1:0", &options);

	cr_expect_eq(write_bytes(HIGH), 0);
	cr_expect(gyre_channel_is_writable(seen));
	cr_expect_eq(write_bytes(1), 0);
	cr_expect(!gyre_channel_is_writable(seen));
	cr_expect_eq(write_bytes(MAX - HIGH), -ENOBUFS);
	cr_expect_eq(gyre_channel_reason(seen), -ENOBUFS);
	rig.warnings_expected++;
	(void)close(fd);
}

Test(channel_options, without_marks_leave_those_of_the_system, .init = begin, .fini = end)
{
	const struct gyre_channel_options none = { 0 };
	int fd = open_with("tcp://127.0.0.1:0", &none);

	cr_expect_eq(write_bytes(2 * MAX), 0);
	cr_expect(gyre_channel_is_writable(seen));
	(void)close(fd);
}

/* Of the rig's system: 64 KiB, 256 KiB and 1 MiB. */
static const struct gyre_channel_options wrong[] = {
	{ .write_high_bytes = 65535 },
	{ .write_low_bytes = (256 << 10) + 1 },
	{ .write_high_bytes = (1 << 20) + 1 },
	{ .write_max_bytes = (256 << 10) - 1 },
	{ .write_low_bytes = 1, .write_high_bytes = 1023 },
	{ .write_max_bytes = (1 << 30) + 1 },
};
static const struct gyre_channel_options right[] = {
	{ .write_high_bytes = 65536 },
	{ .write_low_bytes = 256 << 10 },
	{ .write_high_bytes = 1 << 20 },
	{ .write_max_bytes = 256 << 10 },
	{ .write_low_bytes = 1, .write_high_bytes = 1024 },
	{ .write_max_bytes = 1 << 30 },
};
static const struct gyre_channel_options too_large[] = {
	{ .receive_buffer_bytes = (uint32_t)INT32_MAX + 1 },
	{ .send_buffer_bytes = (uint32_t)INT32_MAX + 1 },
};

Test(channel_options, have_to_be_in_the_order_and_the_bounds_of_the_systems, .init = begin,
     .fini = end)
{
	for (size_t i = 0; i < gy_countof(wrong); i++) {
		cr_expect_eq(listen_with("tcp://127.0.0.1:0", &wrong[i], NULL), -EINVAL, "%zu", i);
		cr_expect_not_null(strstr(rig.last_log, "write_high_bytes"), "%s", rig.last_log);
		cr_expect_eq(listen_with("tcp://127.0.0.1:0", &right[i], NULL), 0, "%zu", i);
	}
	cr_expect_eq(rig.logged, gy_countof(wrong));
	rig.warnings_expected = gy_countof(wrong);
}

static void see(struct gyre_handler_context *ctx)
{
	seen = gyre_context_channel(ctx);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler seeing = { .active = see };

static int init_client(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &seeing, arg);
}

static int connect_with(const struct gyre_channel_options *channel, const char *to)
{
	const struct gyre_connect_options options = { .to = to,
						      .init_channel = init_client,
						      .channel = *channel,
						      .place = { .place = GYRE_PLACE_LOOP } };
	struct gyre_address actor;

	return gyre_system_connect(the_system(), &options, &actor);
}

Test(channel_options, of_a_client_are_refused_likewise, .init = begin, .fini = end)
{
	for (size_t i = 0; i < gy_countof(wrong); i++) {
		cr_expect_eq(connect_with(&wrong[i], "tcp://127.0.0.1:1"), -EINVAL, "%zu", i);
	}
	for (size_t i = 0; i < gy_countof(too_large); i++) {
		cr_expect_eq(connect_with(&too_large[i], "tcp://127.0.0.1:1"), -EINVAL);
		cr_expect_eq(listen_with("tcp://127.0.0.1:0", &too_large[i], NULL), -EINVAL);
	}
	cr_expect_eq(rig.logged, gy_countof(too_large), "of listeners, and not of clients");
	rig.warnings_expected = gy_countof(too_large);
}

/* ---- buffers of the kernel, which shows twice of what it was told ---- */

static const struct gyre_channel_options sized = { .receive_buffer_bytes = RECEIVE,
						   .send_buffer_bytes = SEND };

Test(channel_options, give_connections_over_tcp_buffers_of_a_size, .init = begin, .fini = end)
{
	int fd = open_with("tcp://127.0.0.1:0", &sized);

	cr_expect_eq(option_of(seen, SO_RCVBUF), 2 * RECEIVE);
	cr_expect_eq(option_of(seen, SO_SNDBUF), 2 * SEND);
	(void)close(fd);
}

Test(channel_options, give_connections_of_unix_sockets_buffers_of_a_size, .init = begin,
     .fini = end)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof(name), "unix:@gyre-options-%d", (int)getpid());
	fd = open_with(name, &sized);
	cr_expect_eq(option_of(seen, SO_SNDBUF), 2 * SEND);
	(void)close(fd);
}

static void expect_client_sized(const char *text, sa_family_t family)
{
	struct gyre_socket_address address;
	char to[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(gy_socket_address_of(fd, &address), 0);
	cr_assert_geq(gyre_socket_address_format(&address, sizeof(to), to), 0);
	cr_assert_eq(connect_with(&sized, to), 0);
	cr_assert(rig_until(&rig, was_seen, NULL));
	rig.opened++;
	cr_expect_eq(option_of(seen, SO_RCVBUF), 2 * RECEIVE);
	cr_expect_eq(option_of(seen, SO_SNDBUF), 2 * SEND);
	(void)close(fd);
}

Test(channel_options, give_clients_over_tcp_buffers_of_a_size, .init = begin, .fini = end)
{
	expect_client_sized("tcp://127.0.0.1:0", AF_INET);
}

Test(channel_options, give_clients_of_unix_sockets_buffers_of_a_size, .init = begin, .fini = end)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "unix:@gyre-options-%d", (int)getpid());
	expect_client_sized(name, AF_UNIX);
}
