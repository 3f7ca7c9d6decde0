/*
 * Connections of TCP between simulated hosts.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "net_seen.h"

enum { BIG = 1 << 20, CHUNK = 16384 };

static int serve_nobody(void *arg)
{
	((struct seen *)arg)->served = true;
	(void)sleep(1000000);
	return 0;
}

/* ---- connecting ---- */

static int serve_echo(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);
	char bytes[64];
	ssize_t count;

	while ((count = read(fd, bytes, sizeof(bytes))) > 0) {
		cr_assert_eq(write(fd, bytes, (size_t)count), count);
	}
	cr_assert_eq(count, 0);
	(void)close(fd);
	seen->served = true;
	return 0;
}

static int call_echo(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char bytes[8] = { 0 };
	uint64_t from_ns;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	from_ns = net_now_ns();
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	seen->took_ns = net_now_ns() - from_ns;
	cr_assert_eq(send(fd, "hello", 5, 0), 5);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 5);
	cr_assert_str_eq(bytes, "hello");
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 0);
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, takes_a_round_trip_to_connect_and_brings_bytes_both_ways)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(1, serve_echo, call_echo, &seen);

	run(sim, &seen, GYRE_SECONDS(1));
	cr_assert(seen.took_ns >= GYRE_MICROSECONDS(99) && seen.took_ns < GYRE_MICROSECONDS(200));
}

static int call_nobody(void *arg)
{
	struct seen *seen = (struct seen *)arg;

	net_pause(GYRE_MILLISECONDS(10));
	seen->r = net_connect(0, NET_PORT);
	seen->called = true;
	return 0;
}

Test(sim_stream, is_refused_where_nobody_listens)
{
	struct seen seen = { 0 };

	run(net_make(2, serve_nobody, call_nobody, &seen), &seen, GYRE_SECONDS(1));
	cr_assert_eq(seen.r, -ECONNREFUSED);
}

static int call_without_waiting(void *arg)
{
	const struct sockaddr_in to = net_address(0, NET_PORT);
	const struct sockaddr *name = (const struct sockaddr *)&to;
	struct seen *seen = (struct seen *)arg;
	struct pollfd one = { .events = POLLOUT };
	socklen_t bytes = sizeof(seen->error);

	net_pause(GYRE_MILLISECONDS(10));
	one.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	cr_assert(connect(one.fd, name, sizeof(to)) < 0 && errno == EINPROGRESS);
	cr_assert(connect(one.fd, name, sizeof(to)) < 0 && errno == EALREADY);
	cr_assert_eq(poll(&one, 1, 1000), 1);
	seen->events = one.revents;
	cr_assert_eq(getsockopt(one.fd, SOL_SOCKET, SO_ERROR, &seen->error, &bytes), 0);
	if (seen->error == 0) {
		cr_assert_eq(connect(one.fd, name, sizeof(to)), 0);
		cr_assert(connect(one.fd, name, sizeof(to)) < 0 && errno == EISCONN);
	}
	(void)close(one.fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, tells_a_nonblocking_socket_that_it_is_connected)
{
	struct seen seen = { 0 };

	run(net_make(3, serve_echo, call_without_waiting, &seen), &seen, GYRE_SECONDS(2));
	cr_assert_eq(seen.events, POLLOUT);
	cr_assert_eq(seen.error, 0);
}

Test(sim_stream, tells_a_nonblocking_socket_that_it_was_refused)
{
	struct seen seen = { 0 };

	run(net_make(4, serve_nobody, call_without_waiting, &seen), &seen, GYRE_SECONDS(2));
	cr_assert_eq(seen.events, POLLOUT | POLLERR | POLLHUP);
	cr_assert_eq(seen.error, ECONNREFUSED);
}

static int call_and_time(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	uint64_t from_ns;

	net_pause(GYRE_MILLISECONDS(10));
	from_ns = net_now_ns();
	seen->r = net_connect(0, NET_PORT);
	seen->took_ns = net_now_ns() - from_ns;
	seen->called = true;
	return 0;
}

Test(sim_stream, gives_up_connecting_over_a_link_that_is_cut)
{
	const struct gyre_sim_link cut = { .cut = true };
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(5, serve_nobody, call_and_time, &seen);

	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &cut), 0);
	run(sim, &seen, GYRE_SECONDS(200));
	cr_assert_eq(seen.r, -ETIMEDOUT);
	cr_assert_eq((seen.took_ns + GYRE_MILLISECONDS(100)) / GYRE_SECONDS(1), 127);
}

/* ---- ends ---- */

static int serve_and_look(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);
	char byte;

	net_pause(GYRE_MILLISECONDS(10));
	seen->events = net_events(fd);
	cr_assert_eq(recv(fd, &byte, 1, 0), 1);
	cr_assert_eq(recv(fd, &byte, 1, 0), 0);
	cr_assert_eq(send(fd, "y", 1, 0), 1);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_assert_eq(net_events(fd), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	cr_assert(send(fd, "z", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
	(void)close(fd);
	seen->served = true;
	return 0;
}

static int call_and_half_close(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char byte = 0;
	int left = 0;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert_eq(send(fd, "x", 1, 0), 1);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_assert(ioctl(fd, SIOCOUTQ, &left) == 0 && left == 2);
	cr_assert_eq(recv(fd, &byte, 1, 0), 1);
	cr_assert_eq(byte, 'y');
	cr_assert(ioctl(fd, SIOCOUTQ, &left) == 0 && left == 0);
	cr_assert_eq(recv(fd, &byte, 1, 0), 0);
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, ends_one_direction_and_goes_on_with_the_other)
{
	struct seen seen = { 0 };

	run(net_make(6, serve_and_look, call_and_half_close, &seen), &seen, GYRE_SECONDS(2));
	cr_assert_eq(seen.events, POLLIN | POLLOUT | POLLRDHUP);
}

/* Closes with something unread, which cuts the connection off. */
static int serve_rudely(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);

	cr_assert_eq(send(fd, "bye", 3, 0), 3);
	net_pause(GYRE_MILLISECONDS(10));
	(void)close(fd);
	seen->served = true;
	(void)sleep(1);
	return 0;
}

static int call_and_be_reset(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char bytes[8];
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert_eq(send(fd, "hello", 5, 0), 5);
	net_pause(GYRE_MILLISECONDS(20));
	seen->events = net_events(fd);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 3); /* what came before */
	cr_assert(recv(fd, bytes, sizeof(bytes), 0) < 0 && errno == ECONNRESET);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 0); /* told once */
	cr_assert(send(fd, "more", 4, MSG_NOSIGNAL) < 0 && errno == EPIPE);
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, is_reset_by_a_close_with_unread_bytes)
{
	struct seen seen = { 0 };

	run(net_make(7, serve_rudely, call_and_be_reset, &seen), &seen, GYRE_SECONDS(2));
	cr_assert_eq(seen.events, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
}

static int serve_and_leave(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);

	(void)close(fd);
	seen->served = true;
	(void)sleep(1);
	return 0;
}

static int call_who_left(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	net_pause(GYRE_MILLISECONDS(10));
	cr_assert_eq(net_events(fd), POLLIN | POLLOUT | POLLRDHUP);
	cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	net_pause(GYRE_MILLISECONDS(10));
	cr_assert(send(fd, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, cannot_be_written_after_the_peer_has_closed_and_said_so)
{
	struct seen seen = { 0 };

	run(net_make(8, serve_and_leave, call_who_left, &seen), &seen, GYRE_SECONDS(2));
}

static int serve_in_a_hurry(void *arg)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	(void)close(fd);
	seen->served = true;
	(void)sleep(1);
	return 0;
}

Test(sim_stream, is_reset_by_a_close_that_does_not_linger)
{
	struct seen seen = { 0 };

	run(net_make(19, serve_in_a_hurry, call_and_wait, &seen), &seen, GYRE_SECONDS(2));
	cr_assert_eq(seen.r, -ECONNRESET);
}

/* Some bytes, then a reset in the midst of what the peer wants or has to send; twice. */
static int serve_parts(void *arg)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct seen *seen = (struct seen *)arg;

	for (uint32_t i = 0; i < 3; i++) {
		int fd = net_accept_one(NET_PORT);

		cr_assert_eq(send(fd, "some", 4, 0), 4);
		net_pause(GYRE_MILLISECONDS(100));
		cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
		(void)close(fd);
	}
	seen->served = true;
	return 0;
}

static int call_for_wholes(void *arg)
{
	static char bytes[8 << 20];
	struct seen *seen = (struct seen *)arg;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert_eq(recv(fd, bytes, 100, MSG_WAITALL), 4);
	cr_assert_eq(recv(fd, bytes, 100, MSG_WAITALL), -1);
	cr_assert_eq(errno, ECONNRESET);
	cr_assert_eq(recv(fd, bytes, 100, MSG_WAITALL), 0);
	(void)close(fd);
	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0);
	cr_assert_eq(send(fd, bytes, 1, MSG_NOSIGNAL), -1);
	cr_assert_eq(errno, ECONNRESET);
	cr_assert_eq(send(fd, bytes, 1, MSG_NOSIGNAL), -1);
	cr_assert_eq(errno, EPIPE);
	(void)close(fd);
	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(write(fd, bytes, sizeof(bytes)) > 0);
	cr_assert_eq(write(fd, bytes, 1), -1);
	cr_assert_eq(errno, ECONNRESET);
	seen->called = true;
	return 0;
}

Test(sim_stream, tells_an_error_that_has_ended_a_call_in_its_midst_to_the_next_one)
{
	struct seen seen = { 0 };

	run(net_make(20, serve_parts, call_for_wholes, &seen), &seen, GYRE_SECONDS(5));
}

/* ---- back-pressure ---- */

static size_t write_all_there_is_room_for(int fd)
{
	static char bytes[CHUNK];
	size_t done = 0;
	ssize_t count;

	while ((count = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		done += (size_t)count;
	}
	cr_assert(count < 0 && errno == EAGAIN);
	return done;
}

static size_t read_to_end(int fd)
{
	static char bytes[CHUNK];
	size_t done = 0;
	ssize_t count;

	while ((count = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		done += (size_t)count;
	}
	cr_assert_eq(count, 0);
	return done;
}

static int serve_late(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);

	net_pause(GYRE_SECONDS(5));
	seen->bytes = read_to_end(fd);
	(void)close(fd);
	seen->served = true;
	return 0;
}

static int call_and_fill(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	int epoll = epoll_create1(0);
	uint64_t from_ns;
	int fd;
	size_t done;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 0), 1);
	done = write_all_there_is_room_for(fd);
	net_pause(GYRE_SECONDS(1));
	done += write_all_there_is_room_for(fd);
	cr_assert_eq(done, (128 + 256) * 1024); /* both buffers */
	cr_assert_eq(net_events(fd), 0);
	while (epoll_wait(epoll, &event, 1, 0) == 1) {
	}
	from_ns = net_now_ns();
	cr_assert_eq(epoll_wait(epoll, &event, 1, -1), 1); /* an edge, when room comes */
	seen->took_ns = net_now_ns() - from_ns;
	cr_assert_eq(event.events, EPOLLOUT);
	done += write_all_there_is_room_for(fd);
	(void)close(fd);
	(void)close(epoll);
	seen->error = (int)done;
	seen->called = true;
	return 0;
}

Test(sim_stream, takes_no_more_than_the_buffers_hold_until_the_peer_reads)
{
	struct seen seen = { 0 };

	run(net_make(9, serve_late, call_and_fill, &seen), &seen, GYRE_SECONDS(20));
	cr_assert(seen.took_ns > GYRE_SECONDS(3));
	cr_assert_eq(seen.bytes, (size_t)seen.error);
}

/* ---- bad links ---- */

static int serve_all(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);
	static unsigned char bytes[CHUNK];
	ssize_t count;

	while ((count = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		for (ssize_t i = 0; i < count; i++) {
			cr_assert_eq(bytes[i], (unsigned char)((seen->bytes + (size_t)i) % 251));
		}
		seen->bytes += (size_t)count;
	}
	cr_assert_eq(count, 0);
	(void)close(fd);
	seen->served = true;
	return 0;
}

static int call_with_much(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	unsigned char *bytes = (unsigned char *)malloc(BIG);
	uint64_t from_ns;
	int fd;

	for (size_t i = 0; i < BIG; i++) {
		bytes[i] = (unsigned char)(i % 251);
	}
	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	from_ns = net_now_ns();
	cr_assert_eq(send(fd, bytes, BIG, 0), BIG);
	seen->took_ns = net_now_ns() - from_ns;
	(void)close(fd);
	free(bytes);
	seen->called = true;
	return 0;
}

Test(sim_stream, brings_all_bytes_in_order_over_a_link_that_loses_and_delays)
{
	const struct gyre_sim_link bad = { .delay_ns = GYRE_MILLISECONDS(5),
					   .jitter_ns = GYRE_MILLISECONDS(20),
					   .loss = 100000 };

	for (uint64_t seed = 0; seed < 10; seed++) {
		struct seen seen = { 0 };
		struct gyre_sim *sim = net_make(seed, serve_all, call_with_much, &seen);

		cr_assert_eq(gyre_sim_link_set(sim, 0, 1, &bad), 0);
		cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &bad), 0);
		run(sim, &seen, GYRE_SECONDS(600));
		cr_assert_eq(seen.bytes, BIG);
	}
}

Test(sim_stream, brings_all_bytes_when_calls_do_less_than_they_could)
{
	const struct gyre_sim_options options = { .seed = 1, .faults = 300000 };
	struct seen seen = { 0 };
	struct gyre_sim *sim;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	(void)sim_add(sim, "alpha", serve_all, &seen);
	(void)sim_add(sim, "beta", call_with_much, &seen);
	run(sim, &seen, GYRE_SECONDS(100));
	cr_assert_eq(seen.bytes, BIG);
}

static void run_with_trouble(const struct gyre_sim_link *trouble, struct seen *seen,
			     uint64_t trouble_ns)
{
	const struct gyre_sim_link slow = { .delay_ns = GYRE_MILLISECONDS(20) };
	struct gyre_sim *sim = net_make(11, serve_all, call_with_much, seen);

	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &slow), 0);
	cr_assert_eq(gyre_sim_link_set(sim, 0, 1, &slow), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(120)), 0);
	cr_assert(seen->bytes > 0 && seen->bytes < BIG);
	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, trouble), 0);
	cr_assert_eq(gyre_sim_run(sim, trouble_ns), 0);
	cr_assert(!seen->served);
	gyre_sim_heal(sim);
	run(sim, seen, GYRE_SECONDS(2));
	cr_assert_eq(seen->bytes, BIG);
}

Test(sim_stream, goes_on_when_a_link_that_was_cut_heals)
{
	const struct gyre_sim_link cut = { .cut = true };
	struct seen seen = { 0 };

	run_with_trouble(&cut, &seen, GYRE_SECONDS(60));
	cr_assert(seen.took_ns > GYRE_SECONDS(59));
}

Test(sim_stream, goes_on_when_a_link_is_no_longer_clogged)
{
	const struct gyre_sim_link clog = { .clog = true };
	struct seen seen = { 0 };

	run_with_trouble(&clog, &seen, GYRE_SECONDS(60));
	cr_assert(seen.took_ns > GYRE_SECONDS(59));
}

static int call_and_lose_patience(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct pollfd one = { .events = POLLRDHUP };
	char byte;
	uint64_t from_ns;

	net_pause(GYRE_MILLISECONDS(10));
	one.fd = net_connect(0, NET_PORT);
	cr_assert(one.fd >= 0);
	if (seen->r != 0) {
		cr_assert_eq(setsockopt(one.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &seen->r,
					sizeof(seen->r)),
			     0);
	}
	net_pause(GYRE_SECONDS(5));
	from_ns = net_now_ns();
	cr_assert_eq(send(one.fd, "x", 1, 0), 1);
	cr_assert_eq(poll(&one, 1, -1), 1);
	seen->took_ns = net_now_ns() - from_ns;
	cr_assert(recv(one.fd, &byte, 1, 0) < 0 && errno == ETIMEDOUT);
	(void)close(one.fd);
	seen->called = true;
	return 0;
}

static int serve_and_stay(void *arg)
{
	int fd = net_accept_one(NET_PORT);

	((struct seen *)arg)->served = true;
	(void)sleep(100000);
	(void)close(fd);
	return 0;
}

static void run_cut_after_a_second(uint64_t seed, gyre_sim_boot_fn call, struct seen *seen)
{
	const struct gyre_sim_link cut = { .cut = true };
	struct gyre_sim *sim = net_make(seed, serve_and_stay, call, seen);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &cut), 0);
	run(sim, seen, GYRE_SECONDS(2000));
}

Test(sim_stream, times_out_when_nothing_is_acknowledged_for_a_quarter_of_an_hour)
{
	struct seen seen = { 0 };

	run_cut_after_a_second(12, call_and_lose_patience, &seen);
	cr_assert(seen.took_ns > GYRE_SECONDS(900) && seen.took_ns < GYRE_SECONDS(1000));
}

Test(sim_stream, times_out_as_soon_as_TCP_USER_TIMEOUT_says)
{
	struct seen seen = { .r = 3000 };

	run_cut_after_a_second(13, call_and_lose_patience, &seen);
	cr_assert_eq((seen.took_ns + GYRE_MILLISECONDS(10)) / GYRE_SECONDS(1), 3);
}

static int call_and_keep_alive(void *arg)
{
	const struct {
		int level;
		int name;
		int value;
	} options[] = { { SOL_SOCKET, SO_KEEPALIVE, 1 },
			{ IPPROTO_TCP, TCP_KEEPIDLE, 10 },
			{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },
			{ IPPROTO_TCP, TCP_KEEPCNT, 5 } };
	struct seen *seen = (struct seen *)arg;
	uint64_t from_ns;
	char byte;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		cr_assert_eq(setsockopt(fd, options[i].level, options[i].name, &options[i].value,
					sizeof(int)),
			     0);
	}
	from_ns = net_now_ns();
	cr_assert(recv(fd, &byte, 1, 0) < 0 && errno == ETIMEDOUT);
	seen->took_ns = net_now_ns() - from_ns;
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, finds_out_about_a_dead_peer_by_keeping_alive)
{
	struct seen seen = { 0 };

	run_cut_after_a_second(14, call_and_keep_alive, &seen);
	cr_assert_eq((seen.took_ns + GYRE_MILLISECONDS(10)) / GYRE_SECONDS(1), 15);
}

/* ---- crashes ---- */

static int call_and_meet_a_crash(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char byte;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	net_pause(GYRE_SECONDS(2));	       /* it crashes meanwhile */
	cr_assert_eq(net_events(fd), POLLOUT); /* and says nothing */
	cr_assert_eq(send(fd, "x", 1, 0), 1);
	net_pause(GYRE_SECONDS(1));
	seen->events = net_events(fd);
	seen->r = recv(fd, &byte, 1, 0) < 0 ? -errno : 0; /* it is up again */
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_stream, hears_nothing_of_a_crash_until_the_host_is_up_again)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(15, serve_and_stay, call_and_meet_a_crash, &seen);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(9)), 0);
	cr_assert_eq(seen.events, POLLOUT);
	cr_assert(!seen.called);
	cr_assert_eq(gyre_sim_restart(sim, 0), 0);
	run(sim, &seen, GYRE_SECONDS(60));
	cr_assert_eq(seen.r, -ECONNRESET);
}

static void *wait_for_bytes(void *arg)
{
	char byte;

	(void)recv(*(const int *)arg, &byte, 1, 0);
	return NULL;
}

/* Waits in three ways. */
static int call_and_crash(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct pollfd polled[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int waited[2];
	pthread_t thread;

	net_pause(GYRE_MILLISECONDS(10));
	polled[0].fd = net_connect(0, NET_PORT);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, waited), 0);
	polled[1].fd = waited[1];
	cr_assert_eq(pthread_create(&thread, NULL, wait_for_bytes, &polled[0].fd), 0);
	cr_assert_eq(pthread_create(&thread, NULL, wait_for_bytes, &waited[0]), 0);
	seen->called = true;
	(void)poll(polled, 2, -1);
	cr_assert_fail();
	return 0;
}

Test(sim_stream, lets_go_of_what_tasks_of_a_host_wait_for_when_it_crashes)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(20, serve_and_stay, call_and_crash, &seen);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, 1), 0);
	run(sim, &seen, GYRE_SECONDS(10));
}

static int call_again_and_again(void *arg)
{
	struct seen *seen = (struct seen *)arg;

	do {
		net_pause(GYRE_MILLISECONDS(10));
		seen->r = net_connect(0, NET_PORT);
	} while (seen->r < 0);
	seen->took_ns = gyre_sim_now(seen->sim);
	seen->called = true;
	return 0;
}

Test(sim_stream, reaches_a_host_that_boots_while_it_connects)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(16, serve_and_stay, call_again_and_again, &seen);

	seen.sim = sim;
	cr_assert_eq(gyre_sim_run(sim, 1), 0);
	cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert_eq(gyre_sim_restart(sim, 0), 0);
	run(sim, &seen, GYRE_SECONDS(60));
	cr_assert(seen.took_ns > GYRE_SECONDS(10) && seen.took_ns < GYRE_SECONDS(20));
}

/* ---- the same again ---- */

static uint64_t digest_of(uint64_t seed)
{
	const struct gyre_sim_link bad = { .jitter_ns = GYRE_MILLISECONDS(2), .loss = 50000 };
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(seed, serve_all, call_with_much, &seen);
	uint64_t digest;

	cr_assert_eq(gyre_sim_link_set(sim, 0, 1, &bad), 0);
	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &bad), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(100)), 0);
	cr_assert(seen.served && seen.called);
	digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_stream, does_the_same_with_the_same_seed)
{
	cr_assert_eq(digest_of(17), digest_of(17));
	cr_assert_neq(digest_of(17), digest_of(18));
}
