/* Listening: where it is possible and where not, and what becomes of connections. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <gyre/listen.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/mail/send.h"
#include "channel/rig.h"
#include "echo.h"
#include "net/bind.h"
#include "net/sockets.h"
#include "system/system.h"

TestSuite(listening, .timeout = 60);

enum { TEXT_BYTES = 64 };

static struct rig rig;
static in_addr_t host = INADDR_LOOPBACK; /* where connect_to() finds who listens */

/* Of this process alone: nobody else takes a port of it that is let go, and wanted again. */
static void use_own_host(void)
{
	host = INADDR_LOOPBACK + (in_addr_t)getpid();
}

static void print_address(char text[TEXT_BYTES], uint16_t port)
{
	char name[INET_ADDRSTRLEN];
	struct in_addr address = { htonl(host) };

	(void)snprintf(text, TEXT_BYTES, "tcp://%s:%u",
		       inet_ntop(AF_INET, &address, name, sizeof(name)), (unsigned)port);
}

static struct gyre_system *the_system(void)
{
	return (struct gyre_system *)(void *)&rig.homes;
}

static int listen_with(const char *address, gyre_init_channel_fn init, uint16_t *ret_port,
		       struct gyre_address *ret_acceptor)
{
	struct gyre_acceptor_options options = { .bind = address,
						 .init_channel = init,
						 .ret_port = ret_port };

	return gyre_system_listen(the_system(), &options, ret_acceptor);
}

static uint16_t listen_anywhere(gyre_init_channel_fn init)
{
	uint16_t port = 0;

	cr_assert_eq(listen_with("tcp://127.0.0.1:0", init, &port, NULL), 0);
	cr_assert_neq(port, 0);
	rig_settle(&rig);
	return port;
}

static void begin(void)
{
	rig_init(&rig, NULL);
}

static void end(void)
{
	rig_fini(&rig);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(host) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	return fd;
}

static void expect_echo(int fd)
{
	struct rig_stream stream = { .fd = fd, .total = 10000 };

	cr_expect(rig_until(&rig, rig_streamed, &stream));
	cr_expect(!stream.wrong && !stream.ended);
}

static const struct gy_channels_counters *counters(void)
{
	return gy_channels_counters(&rig.home);
}

/* ---- serving ---- */

Test(listening, serves_connections_on_a_port_that_it_tells, .init = begin, .fini = end)
{
	uint16_t port = listen_anywhere(init_echo);
	int fds[20];

	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_to(port);
		cr_assert_geq(fds[i], 0);
	}
	for (size_t i = 0; i < gy_countof(fds); i++) {
		expect_echo(fds[i]);
		(void)close(fds[i]);
	}
	cr_expect_eq(counters()->accepted, gy_countof(fds));
}

Test(listening, serves_both_families_on_the_address_of_all, .init = begin, .fini = end)
{
	uint16_t port = 0;
	int fd;

	cr_assert_eq(listen_with("tcp://[::]:0", init_echo, &port, NULL), 0);
	fd = connect_to(port);
	cr_assert_geq(fd, 0);
	expect_echo(fd);
	(void)close(fd);
}

Test(listening, finds_a_host_by_its_name, .init = begin, .fini = end)
{
	uint16_t port = 0;

	cr_expect_eq(listen_with("tcp://localhost:0", init_echo, &port, NULL), 0);
	cr_expect_neq(port, 0);
}

static struct gyre_channel *seen;

static int init_seen(struct gyre_channel *channel, void *arg)
{
	(void)arg;
	seen = channel;
	return 0;
}

static int no_delay_of(bool allow_delay)
{
	struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init_seen,
						 .channel.allow_delay = allow_delay };
	uint16_t port = 0;
	int value = -1;
	socklen_t bytes = sizeof(value);
	int fd;

	options.ret_port = &port;
	seen = NULL;
	cr_assert_eq(gyre_system_listen(the_system(), &options, NULL), 0);
	fd = connect_to(port);
	rig_settle(&rig);
	cr_assert_not_null(seen);
	cr_assert_eq(getsockopt(seen->endpoint.fd, IPPROTO_TCP, TCP_NODELAY, &value, &bytes), 0);
	(void)close(fd);
	return value;
}

Test(listening, gives_connections_no_delay_unless_it_is_allowed, .init = begin, .fini = end)
{
	cr_expect_neq(no_delay_of(false), 0);
	cr_expect_eq(no_delay_of(true), 0);
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	cr_assert_eq(getsockopt(fd, level, name, &value, &bytes), 0);
	return value;
}

Test(listening, asks_silent_peers_whether_they_are_there_if_that_is_wanted, .init = begin,
     .fini = end)
{
	struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init_seen };
	uint16_t port = 0;
	int plain;
	int fd;

	options.ret_port = &port;
	cr_assert_eq(gyre_system_listen(the_system(), &options, NULL), 0);
	plain = connect_to(port);
	rig_settle(&rig);
	cr_assert_not_null(seen);
	cr_expect_eq(option_of(seen->endpoint.fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	seen = NULL;
	options.channel.keep_alive_ns = GYRE_SECONDS(6) + 1;
	cr_assert_eq(gyre_system_listen(the_system(), &options, NULL), 0);
	fd = connect_to(port);
	rig_settle(&rig);
	cr_assert_not_null(seen);
	cr_expect_eq(option_of(seen->endpoint.fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_eq(option_of(seen->endpoint.fd, IPPROTO_TCP, TCP_KEEPIDLE), 7);
	cr_expect_eq(option_of(seen->endpoint.fd, IPPROTO_TCP, TCP_KEEPINTVL), 1);
	cr_expect_eq(option_of(seen->endpoint.fd, IPPROTO_TCP, TCP_KEEPCNT), 10);
	(void)close(plain);
	(void)close(fd);
}

static int init_every_other(struct gyre_channel *channel, void *arg)
{
	static uint32_t count;

	return count++ % 2 == 0 ? init_echo(channel, arg) : -EPERM;
}

Test(listening, closes_the_connection_whose_initialiser_fails_and_no_other, .init = begin,
     .fini = end)
{
	uint16_t port = listen_anywhere(init_every_other);
	struct rig_stream refused[3] = { 0 };
	int served[3];

	for (size_t i = 0; i < gy_countof(served); i++) {
		served[i] = connect_to(port);
		refused[i].fd = connect_to(port);
	}
	for (size_t i = 0; i < gy_countof(served); i++) {
		cr_expect(rig_until(&rig, rig_stream_ended, &refused[i]));
		expect_echo(served[i]);
		(void)close(served[i]);
		(void)close(refused[i].fd);
	}
}

static bool nobody_listens(struct rig *r, void *arg)
{
	int fd = connect_to(*(uint16_t *)arg);

	(void)r;
	if (fd >= 0) {
		(void)close(fd);
	}
	return fd == -ECONNREFUSED;
}

Test(listening, ends_with_its_acceptor_and_connections_stay, .init = begin, .fini = end)
{
	struct gyre_address acceptor;
	uint16_t port = 0;
	int fd;

	cr_assert_eq(listen_with("tcp://127.0.0.1:0", init_echo, &port, &acceptor), 0);
	fd = connect_to(port);
	expect_echo(fd);
	cr_assert_eq(gy_send_signal(&rig.home, acceptor, &gy_type_stop, GY_MAIL_EVENT), 0);
	cr_assert(rig_until(&rig, nobody_listens, &port));
	expect_echo(fd);
	(void)close(fd);
}

Test(listening, ends_at_once_when_the_system_drains_before_it_was_ever_run, .init = begin,
     .fini = end)
{
	uint16_t port = 0;
	struct rig_stream stream = { 0 };

	cr_assert_eq(listen_with("tcp://127.0.0.1:0", init_echo, &port, NULL), 0);
	stream.fd = connect_to(port);
	rig.home.channel_ops->drain(&rig.home);
	cr_expect(rig_until(&rig, rig_stream_ended, &stream));
	(void)close(stream.fd);
}

Test(listening, closes_what_it_has_accepted_when_the_system_drains, .init = begin, .fini = end)
{
	uint16_t port = listen_anywhere(init_echo);
	struct rig_stream streams[50] = { 0 };

	for (size_t i = 0; i < gy_countof(streams); i++) {
		streams[i].fd = connect_to(port);
	}
	(void)gy_ring_submit_and_wait(rig.home.loop.ring, 0);
	(void)gy_ring_reap(rig.home.loop.ring); /* accepted, and not handed over */
	rig.home.channel_ops->drain(&rig.home);
	for (size_t i = 0; i < gy_countof(streams); i++) {
		cr_expect(rig_until(&rig, rig_stream_ended, &streams[i]));
		(void)close(streams[i].fd);
	}
}

Test(listening, leaves_no_connection_without_an_owner_when_its_acceptor_stops, .init = begin,
     .fini = end)
{
	struct rig_stream streams[50] = { 0 };
	struct gyre_address acceptor;
	uint64_t open = 0;
	uint16_t port = 0;

	cr_assert_eq(listen_with("tcp://127.0.0.1:0", init_echo, &port, &acceptor), 0);
	rig_settle(&rig);
	for (size_t i = 0; i < gy_countof(streams); i++) {
		streams[i] = (struct rig_stream){ .fd = connect_to(port), .total = 100 };
	}
	cr_assert_eq(gy_send_signal(&rig.home, acceptor, &gy_type_stop, GY_MAIL_EVENT), 0);
	(void)gy_ring_submit_and_wait(rig.home.loop.ring, 0);
	(void)gy_ring_reap(rig.home.loop.ring); /* accepted, and not handed over */
	cr_assert_gt(counters()->accepted, 0);
	for (size_t i = 0; i < gy_countof(streams); i++) {
		cr_expect(rig_until(&rig, rig_streamed, &streams[i]), "a client waits");
		open += !streams[i].ended;
		(void)close(streams[i].fd);
	}
	cr_expect_lt(open, gy_countof(streams), "some were to lose their acceptor");
}

/* ---- refusals ---- */

static void expect_refused(const char *address, int error, const char *says)
{
	uint32_t before = rig.logged;

	rig.warnings_expected++;
	cr_expect_eq(listen_with(address, init_echo, NULL, NULL), error, "%s", address);
	cr_expect_eq(rig.logged, before + 1, "%s: one line", address);
	cr_expect_not_null(strstr(rig.last_log, says), "%s: %s", address, rig.last_log);
}

Test(listening, refuses_what_is_no_address_and_shows_one, .init = begin, .fini = end)
{
	static const char *const wrong[] = {
		"",
		"7000",
		"localhost:7000",
		"udp://localhost:7000",
		"tcp://",
		"tcp://:7000",
		"tcp://localhost",
		"tcp://localhost:",
		"tcp://localhost:65536",
		"tcp://localhost:123456",
		"tcp://localhost:-1",
		"tcp://localhost:http",
		"tcp://::1:7000",
		"tcp://[::1:7000",
		"tcp://[]:7000",
		"tcp://[no-address]:7000",
		"unix:",
		"unix+dgram:/tmp/socket",
		"tcp://[::1]",
	};

	for (size_t i = 0; i < gy_countof(wrong); i++) {
		expect_refused(wrong[i], -EINVAL, "tcp://[::]:7000");
	}
}

/* Which is found to be no name without asking anybody. */
#define TOO_LONG_A_LABEL "nobody-has-so-long-a-label-that-it-would-not-fit-into-the-63-bytes-of-one"

Test(listening, refuses_addresses_that_are_not_of_this_machine, .init = begin, .fini = end)
{
	expect_refused("tcp://192.0.2.1:0", -EADDRNOTAVAIL, "ip address");
	expect_refused("tcp://" TOO_LONG_A_LABEL ":0", -ENXIO, TOO_LONG_A_LABEL);
}

Test(listening, says_that_a_path_may_be_taken_by_what_is_no_socket, .init = begin, .fini = end)
{
	expect_refused("unix:/etc", -EADDRINUSE, "a file that is no socket");
	cr_expect_null(strstr(rig.last_log, "port"), "%s", rig.last_log);
}

Test(listening, has_one_remedy_for_ports_and_another_one_for_paths)
{
	const char *path = gy_bind_remedy("unix:/run/server.socket", -EACCES);
	const char *port = gy_bind_remedy("tcp://127.0.0.1:80", -EACCES);

	cr_expect_not_null(strstr(path, "the folder of the path"), "%s", path);
	cr_expect_null(strstr(path, "port"), "%s", path);
	cr_expect_not_null(strstr(port, "ports below 1024"), "%s", port);
	cr_expect_null(strstr(port, "folder"), "%s", port);
	cr_expect_str_eq(gy_bind_remedy("UNIX+dgram:/run/server.socket", -EROFS), path);
	cr_expect_str_eq(gy_bind_remedy(NULL, -EACCES), port);
	for (size_t i = 0; i < 2; i++) {
		const char *text = i == 0 ? "unix:@name" : "udp://[::]:7000";

		cr_expect_not_null(strstr(gy_bind_remedy(text, -EMFILE), "ulimit"));
		cr_expect_not_null(strstr(gy_bind_remedy(text, -EBADF), "each loop"));
	}
}

Test(listening, says_which_call_takes_an_address_of_datagrams, .init = begin, .fini = end)
{
	expect_refused("udp://127.0.0.1:7000", -EINVAL, "gyre_system_datagram_open()");
	expect_refused("unix+dgram:/tmp/socket", -EINVAL, "gyre_system_datagram_open()");
}

static int somebody_listens(bool reuse_port, uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(host) };
	socklen_t bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	if (reuse_port) {
		cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	}
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, bytes), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void expect_used(uint16_t port)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", (unsigned)port);
	expect_refused(text, -EADDRINUSE, "another program listens there");
	cr_expect_null(strstr(rig.last_log, "path"), "%s", rig.last_log);
	(void)snprintf(text, sizeof(text), "tcp://[::]:%u", (unsigned)port);
	expect_refused(text, -EADDRINUSE, "another program listens there");
}

Test(listening, refuses_a_used_port_also_if_its_user_would_share_it, .init = begin, .fini = end)
{
	for (int reuse_port = 0; reuse_port < 2; reuse_port++) {
		uint16_t port;
		int fd = somebody_listens(reuse_port != 0, &port);

		expect_used(port);
		(void)close(fd);
	}
}

Test(listening, refuses_a_port_that_is_used_by_an_earlier_call, .init = begin, .fini = end)
{
	expect_used(listen_anywhere(init_echo));
}

/* ---- waiting for a port ---- */

static int in_the_way; /* who listens there */
static uint32_t warnings;
static uint32_t errors;

/* Goes when the wait is told of. */
static void go_away(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	warnings += line->level == GYRE_LOG_WARNING;
	errors += line->level == GYRE_LOG_ERROR;
	if (in_the_way >= 0 && strstr(line->text, "somebody still listens") != NULL) {
		(void)close(in_the_way);
		in_the_way = -1;
	}
}

static void stay(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	warnings += line->level == GYRE_LOG_WARNING;
	errors += line->level == GYRE_LOG_ERROR;
}

static int wait_for_port(gyre_log_fn write, uint64_t wait_ns)
{
	struct gyre_acceptor_options options = { .init_channel = init_echo, .wait_ns = wait_ns };
	char text[TEXT_BYTES];
	uint16_t port;

	use_own_host();
	in_the_way = somebody_listens(false, &port);
	print_address(text, port);
	options.bind = text;
	rig.log.write = write;
	return gyre_system_listen(the_system(), &options, NULL);
}

Test(listening, waits_for_a_port_and_says_so_once, .init = begin, .fini = end)
{
	cr_expect_eq(wait_for_port(go_away, GYRE_SECONDS(60)), 0);
	cr_expect_eq(warnings, 1);
	cr_expect_eq(errors, 0);
}

Test(listening, waits_for_a_port_no_longer_than_it_may, .init = begin, .fini = end)
{
	cr_expect_eq(wait_for_port(stay, GYRE_MILLISECONDS(50)), -EADDRINUSE);
	cr_expect_eq(warnings, 1);
	cr_expect_eq(errors, 1);
	(void)close(in_the_way);
	cr_expect_eq(wait_for_port(stay, GYRE_SECONDS(60) + 1), -EINVAL);
	(void)close(in_the_way);
}

static const struct gyre_channel_options as_usual;

Test(listening, keeps_out_all_who_come_later, .init = begin, .fini = end)
{
	struct gyre_socket_address address;
	struct gy_listen_params listening = {
		.text = "here", .log = &rig.log, .backlog = 10, .channel = &as_usual
	};
	int fds[4];
	int late[4];
	char text[TEXT_BYTES];

	use_own_host();
	print_address(text, 0);
	cr_assert_eq(gy_bind_parse(text, SOCK_STREAM, &rig.log, &address), 0);
	cr_assert_eq(gy_sockets_listen(&address, &listening, gy_countof(fds), fds), 0);
	rig.warnings_expected++;
	cr_expect_eq(gy_sockets_listen(&address, &listening, gy_countof(late), late), -EADDRINUSE);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
	cr_assert_eq(gy_sockets_listen(&address, &listening, gy_countof(fds), fds), 0);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
}

Test(listening, shares_connections_among_the_sockets_of_one_call, .init = begin, .fini = end)
{
	struct gyre_socket_address address;
	struct gy_listen_params listening = {
		.text = "here", .log = &rig.log, .backlog = 1000, .channel = &as_usual
	};
	int fds[2];
	int clients[200];
	struct pollfd ready[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int shares[2] = { 0 };

	cr_assert_eq(gy_bind_parse("tcp://127.0.0.1:0", SOCK_STREAM, &rig.log, &address), 0);
	cr_assert_eq(gy_sockets_listen(&address, &listening, gy_countof(fds), fds), 0);
	for (size_t i = 0; i < gy_countof(clients); i++) {
		clients[i] = connect_to(gyre_socket_address_port(&address));
		cr_assert_geq(clients[i], 0);
	}
	ready[0].fd = fds[0];
	ready[1].fd = fds[1];
	while (shares[0] + shares[1] < (int)gy_countof(clients)) {
		cr_assert_gt(poll(ready, 2, -1), 0);
		for (size_t i = 0; i < gy_countof(fds); i++) {
			if ((ready[i].revents & POLLIN) != 0) {
				cr_assert_eq(close(accept(fds[i], NULL, NULL)), 0);
				shares[i]++;
			}
		}
	}
	(void)close(fds[0]);
	(void)close(fds[1]);
	cr_expect_gt(shares[0], 40, "%d and %d", shares[0], shares[1]);
	cr_expect_gt(shares[1], 40, "%d and %d", shares[0], shares[1]);
	for (size_t i = 0; i < gy_countof(clients); i++) {
		(void)close(clients[i]);
	}
}

Test(listening, is_not_kept_out_by_old_connections, .init = begin, .fini = end)
{
	uint16_t port = 0;
	char address[TEXT_BYTES];
	struct gyre_address acceptor;
	int fd;

	use_own_host();
	print_address(address, 0);
	cr_assert_eq(listen_with(address, init_every_other, &port, &acceptor), 0);
	for (int i = 0; i < 4; i++) { /* the server is the one that closes every other one */
		char byte;

		fd = connect_to(port);
		rig_settle(&rig);
		(void)recv(fd, &byte, 1, MSG_DONTWAIT);
		(void)close(fd);
	}
	cr_assert_eq(gy_send_signal(&rig.home, acceptor, &gy_type_stop, GY_MAIL_EVENT), 0);
	cr_assert(rig_until(&rig, nobody_listens, &port));
	print_address(address, port);
	cr_expect_eq(listen_with(address, init_echo, NULL, NULL), 0);
}

static void expect_wrong(const struct gyre_acceptor_options *options, const char *says)
{
	uint32_t before = rig.logged;

	rig.warnings_expected++;
	cr_expect_eq(gyre_system_listen(the_system(), options, NULL), -EINVAL, "%s", says);
	cr_expect_eq(rig.logged, before + 1, "%s: one line", says);
	cr_expect_not_null(strstr(rig.last_log, says), "%s: %s", says, rig.last_log);
}

Test(listening, answers_misuse_with_an_error, .init = begin, .fini = end)
{
	struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init_echo };

	cr_expect_eq(gyre_system_listen(NULL, &options, NULL), -EINVAL);
	cr_expect_eq(gyre_system_listen(the_system(), NULL, NULL), -EINVAL);
	cr_expect_eq(rig.logged, 0, "nobody knows what about");
	options.init_channel = NULL;
	expect_wrong(&options, "init_channel");
	options.init_channel = init_echo;
	options.bind = NULL;
	expect_wrong(&options, "bind");
}

Test(listening, names_the_number_that_is_out_of_its_bounds, .init = begin, .fini = end)
{
	const struct gyre_acceptor_options good = { .bind = "tcp://127.0.0.1:0",
						    .init_channel = init_echo };
	struct gyre_acceptor_options bad;

#define EXPECT_WRONG(FIELD, VALUE) \
	bad = good;                \
	bad.FIELD = (VALUE);       \
	expect_wrong(&bad, #FIELD)
	EXPECT_WRONG(backlog, (1 << 20) + 1);
	EXPECT_WRONG(mode, 01000);
	EXPECT_WRONG(accept_rate, 1000000001);
	EXPECT_WRONG(wait_ns, GYRE_SECONDS(60) + 1);
#undef EXPECT_WRONG
	bad = good;
	bad.channel.keep_alive_ns = GYRE_SECONDS(32767) + 1;
	expect_wrong(&bad, "keep_alive_ns");
	bad = good;
	bad.channel.receive_buffer_bytes = (uint32_t)INT32_MAX + 1;
	expect_wrong(&bad, "receive_buffer_bytes");
	bad = good;
	bad.channel.send_buffer_bytes = UINT32_MAX;
	expect_wrong(&bad, "send_buffer_bytes");
}

Test(listening, says_what_an_address_lacks, .init = begin, .fini = end)
{
	expect_refused("tcp://[fe80::1]:0", -EINVAL, "%eth0");
	expect_refused("tcp://[fe80::1%nowhere]:0", -ENODEV, "ip link");
}

/* ---- lack of descriptors ---- */

static bool has_stalled(struct rig *r, void *arg)
{
	(void)r;
	return counters()->accept_stalls >= *(uint64_t *)arg;
}

static bool all_accepted(struct rig *r, void *arg)
{
	(void)r;
	return counters()->accepted == *(uint64_t *)arg;
}

static void limit_descriptors(rlim_t soft)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = soft;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

Test(listening, pauses_without_descriptors_and_loses_no_connection, .init = begin, .fini = end)
{
	uint64_t stalls = 3;
	uint64_t wanted = 30;
	struct rlimit before;
	uint64_t began_ns;
	uint16_t port;
	int fds[30];

	/* The kernel looks at the limit when an accept is armed. */
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit_descriptors((rlim_t)rig_open_descriptors() + gy_countof(fds) + 10);
	port = listen_anywhere(init_echo);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_to(port);
		cr_assert_geq(fds[i], 0);
	}
	began_ns = rig.now_ns;
	cr_assert(rig_until_later(&rig, has_stalled, &stalls));
	/* 10 ms, then 20 ms, before the third. */
	cr_expect_geq(rig.now_ns - began_ns, UINT64_C(30000000));
	cr_expect_lt(counters()->accepted, wanted);
	limit_descriptors(before.rlim_cur);
	cr_expect(rig_until_later(&rig, all_accepted, &wanted));
	for (size_t i = 0; i < gy_countof(fds); i++) {
		expect_echo(fds[i]);
		(void)close(fds[i]);
	}
	rig.warnings_expected = 1;
	cr_expect_eq(rig.logged, 1, "logged once");
	cr_expect_not_null(strstr(rig.last_log, "ulimit"));
}
