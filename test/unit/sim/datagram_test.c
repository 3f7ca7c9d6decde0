/*
 * UDP between simulated hosts.
 */
#include <netinet/udp.h>

#include "net_rig.h"

enum { DATAGRAMS = 1000 };

struct seen {
	uint32_t count;
	uint32_t overtaken;
	uint32_t twice;
	bool of_each[DATAGRAMS];
	int r;
	bool served;
	bool called;
};

static void run(struct gyre_sim *sim, const struct seen *seen, const struct gyre_sim_link *link)
{
	if (link != NULL) {
		cr_assert_eq(gyre_sim_link_set(sim, 1, 0, link), 0);
	}
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert(seen->served && seen->called);
	gyre_sim_destroy(sim);
}

/* Counts what comes until there was nothing for a second. */
static int serve_and_count(void *arg)
{
	const struct timeval second = { .tv_sec = 1 };
	struct seen *seen = (struct seen *)arg;
	int fd = net_bind(SOCK_DGRAM, NET_PORT);
	uint32_t last = 0;
	uint32_t number;

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)), 0);
	while (recv(fd, &number, sizeof(number), 0) == sizeof(number)) {
		cr_assert(number < DATAGRAMS);
		seen->count++;
		seen->overtaken += number < last;
		seen->twice += seen->of_each[number];
		seen->of_each[number] = true;
		last = number;
	}
	cr_assert_eq(errno, EAGAIN);
	(void)close(fd);
	seen->served = true;
	return 0;
}

static int call_many_times(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_connect_type(SOCK_DGRAM, 0, NET_PORT);

	net_pause(GYRE_MILLISECONDS(10));
	for (uint32_t i = 0; i < DATAGRAMS; i++) {
		cr_assert_eq(send(fd, &i, sizeof(i), 0), sizeof(i));
		net_pause(GYRE_MICROSECONDS(100));
	}
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_datagram, comes_in_order_over_a_good_link)
{
	struct seen seen = { 0 };

	run(net_make(1, serve_and_count, call_many_times, &seen), &seen, NULL);
	cr_assert_eq(seen.count, DATAGRAMS);
	cr_assert_eq(seen.overtaken + seen.twice, 0);
}

Test(sim_datagram, is_lost_as_often_as_the_link_says)
{
	const struct gyre_sim_link link = { .loss = 200000 };
	struct seen seen = { 0 };

	run(net_make(2, serve_and_count, call_many_times, &seen), &seen, &link);
	cr_assert(seen.count > 700 && seen.count < 900);
	cr_assert_eq(seen.overtaken + seen.twice, 0);
}

Test(sim_datagram, comes_twice_as_often_as_the_link_says)
{
	const struct gyre_sim_link link = { .duplicates = 200000 };
	struct seen seen = { 0 };

	run(net_make(3, serve_and_count, call_many_times, &seen), &seen, &link);
	cr_assert(seen.twice > 100 && seen.twice < 300);
	cr_assert_eq(seen.count - seen.twice, DATAGRAMS);
}

Test(sim_datagram, overtakes_others_where_there_is_jitter)
{
	const struct gyre_sim_link link = { .jitter_ns = GYRE_MILLISECONDS(1) };
	struct seen seen = { 0 };

	run(net_make(4, serve_and_count, call_many_times, &seen), &seen, &link);
	cr_assert_eq(seen.count, DATAGRAMS);
	cr_assert(seen.overtaken > 0);
}

static int call_with_a_burst(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_connect_type(SOCK_DGRAM, 0, NET_PORT);

	for (uint32_t i = 0; i < DATAGRAMS; i++) {
		cr_assert_eq(send(fd, &i, sizeof(i), 0), sizeof(i));
	}
	(void)close(fd);
	seen->called = true;
	return 0;
}

static int serve_late(void *arg)
{
	int fd = net_bind(SOCK_DGRAM, NET_PORT);
	struct seen *seen = (struct seen *)arg;
	uint32_t number;

	net_pause(GYRE_SECONDS(1));
	while (recv(fd, &number, sizeof(number), MSG_DONTWAIT) > 0) {
		seen->count++;
	}
	(void)close(fd);
	seen->served = true;
	return 0;
}

Test(sim_datagram, is_dropped_where_the_buffer_is_full)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(5, serve_late, call_with_a_burst, &seen);
	const struct gyre_sim_link link = { .delay_ns = GYRE_MILLISECONDS(10) };

	run(sim, &seen, &link);
	cr_assert(seen.count > 100 && seen.count < DATAGRAMS);
}

/* ---- one at a time ---- */

static int serve_cut_off(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_bind(SOCK_DGRAM, NET_PORT);
	struct sockaddr_in from;
	char bytes[4];
	struct iovec slice = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &slice, .msg_iovlen = 1
	};

	cr_assert_eq(recvmsg(fd, &message, 0), 4);
	cr_assert_eq(message.msg_flags & MSG_TRUNC, MSG_TRUNC);
	cr_assert_eq(message.msg_namelen, sizeof(from));
	cr_assert_eq(from.sin_addr.s_addr, inet_addr("10.0.0.2"));
	cr_assert_eq(recvmsg(fd, &message, MSG_TRUNC), 8);
	cr_assert_eq(sendto(fd, "back", 4, 0, (struct sockaddr *)&from, sizeof(from)), 4);
	(void)close(fd);
	seen->served = true;
	return 0;
}

static int call_at_length(void *arg)
{
	const struct sockaddr_in to = net_address(0, NET_PORT);
	static char much[65508];
	struct seen *seen = (struct seen *)arg;
	char bytes[8];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	net_pause(GYRE_MILLISECONDS(10));
	cr_assert(send(fd, "x", 1, 0) < 0 && errno == EDESTADDRREQ);
	cr_assert(sendto(fd, much, sizeof(much), 0, (const struct sockaddr *)&to, sizeof(to)) < 0 &&
		  errno == EMSGSIZE);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(sendto(fd, "12345678", 8, 0, (const struct sockaddr *)&to, sizeof(to)),
			     8);
	}
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 4);
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_datagram, is_cut_off_where_there_is_too_little_room_for_it)
{
	struct seen seen = { 0 };

	run(net_make(6, serve_cut_off, call_at_length, &seen), &seen, NULL);
}

static int serve_nothing(void *arg)
{
	((struct seen *)arg)->served = true;
	net_pause(GYRE_SECONDS(5));
	return 0;
}

static int call_nobody(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char byte;
	int fd = net_connect_type(SOCK_DGRAM, 0, NET_PORT);

	net_pause(GYRE_MILLISECONDS(10));
	cr_assert_eq(send(fd, "x", 1, 0), 1);
	cr_assert(recv(fd, &byte, 1, 0) < 0);
	seen->r = -errno;
	cr_assert(recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	(void)close(fd);
	seen->called = true;
	return 0;
}

Test(sim_datagram, is_refused_where_nobody_has_the_port)
{
	struct seen seen = { 0 };

	run(net_make(7, serve_nothing, call_nobody, &seen), &seen, NULL);
	cr_assert_eq(seen.r, -ECONNREFUSED);
}

static int serve_two_callers(void *arg)
{
	const struct sockaddr_in to = net_address(1, NET_PORT + 1);
	struct seen *seen = (struct seen *)arg;
	int listening = net_bind(SOCK_DGRAM, NET_PORT);
	int on = 1;
	int connected = socket(AF_INET, SOCK_DGRAM, 0);
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(NET_PORT) };
	char byte;

	cr_assert_eq(setsockopt(listening, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	cr_assert_eq(setsockopt(connected, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	cr_assert_eq(bind(connected, (const struct sockaddr *)&any, sizeof(any)), 0);
	cr_assert_eq(connect(connected, (const struct sockaddr *)&to, sizeof(to)), 0);
	cr_assert(recv(connected, &byte, 1, 0) == 1 && byte == 'a');
	cr_assert(recv(listening, &byte, 1, 0) == 1 && byte == 'b');
	seen->served = true;
	return 0;
}

static int call_from_two_ports(void *arg)
{
	const struct sockaddr_in to = net_address(0, NET_PORT);
	struct seen *seen = (struct seen *)arg;
	int a = net_bind(SOCK_DGRAM, NET_PORT + 1);
	int b = net_bind(SOCK_DGRAM, NET_PORT + 2);

	net_pause(GYRE_MILLISECONDS(10));
	cr_assert_eq(sendto(b, "b", 1, 0, (const struct sockaddr *)&to, sizeof(to)), 1);
	cr_assert_eq(sendto(a, "a", 1, 0, (const struct sockaddr *)&to, sizeof(to)), 1);
	seen->called = true;
	return 0;
}

Test(sim_datagram, goes_to_the_socket_that_is_connected_to_its_sender)
{
	struct seen seen = { 0 };

	run(net_make(8, serve_two_callers, call_from_two_ports, &seen), &seen, NULL);
}

static int refuse_groups(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_bind(SOCK_DGRAM, NET_PORT);
	int on = 1;

	cr_assert(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &on, sizeof(on)) < 0 &&
		  errno == EOPNOTSUPP);
	seen->served = true;
	seen->called = true;
	return 0;
}

Test(sim_datagram, knows_no_groups)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = sim_make(9);

	(void)sim_add(sim, "alpha", refuse_groups, &seen);
	run(sim, &seen, NULL);
}

/* ---- batches ---- */

static void send_cut(int fd, const struct sockaddr_in *to, int each)
{
	static const char text[] = "aaabbbcc";

	cr_assert_eq(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &each, sizeof(each)), 0);
	cr_assert_eq(sendto(fd, text, 8, 0, (const struct sockaddr *)to, sizeof(*to)), 8);
}

/* What comes next, and of what size the datagrams in it are; 0: it is one. */
static ssize_t receive_batch(int fd, char text[9], int *ret_each)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec slice = { .iov_base = text, .iov_len = 8 };
	struct msghdr message = { .msg_iov = &slice,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);

	*ret_each = 0;
	text[got < 0 ? 0 : got] = '\0';
	if (got >= 0 && message.msg_controllen > 0) {
		cr_assert_eq(control.head.cmsg_type, UDP_GRO);
		memcpy(ret_each, CMSG_DATA(&control.head), sizeof(*ret_each));
	}
	return got;
}

static int cut_and_join(void *arg)
{
	const struct sockaddr_in to = net_address(UINT32_MAX, NET_PORT);
	int in = net_bind(SOCK_DGRAM, NET_PORT);
	int out = socket(AF_INET, SOCK_DGRAM, 0);
	int on = 1;
	char text[9];
	int each;

	send_cut(out, &to, 3);
	cr_assert_eq(receive_batch(in, text, &each), 3);
	cr_assert_eq(receive_batch(in, text, &each), 3);
	cr_assert_str_eq(text, "bbb");
	cr_assert_eq(receive_batch(in, text, &each), 2);
	cr_assert_eq(each, 0);
	cr_assert_eq(setsockopt(in, SOL_UDP, UDP_GRO, &on, sizeof(on)), 0);
	send_cut(out, &to, 3);
	cr_assert_eq(receive_batch(in, text, &each), 8);
	cr_assert_str_eq(text, "aaabbbcc");
	cr_assert_eq(each, 3);
	send_cut(out, &to, 8);
	cr_assert_eq(receive_batch(in, text, &each), 8);
	cr_assert_eq(each, 0, "it is one");
	cr_assert_eq(setsockopt(out, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	cr_assert_eq(setsockopt(out, SOL_UDP, UDP_SEGMENT, &on, sizeof(on)), 0);
	cr_assert_eq(sendto(out, "ab", 2, 0, (const struct sockaddr *)&to, sizeof(to)), -1);
	cr_assert_eq(errno, EINVAL);
	*(bool *)arg = true;
	return 0;
}

Test(sim_datagram, travels_with_others_of_its_size_as_one)
{
	struct gyre_sim *sim = sim_make(1);
	bool done = false;

	(void)sim_add(sim, "alpha", cut_and_join, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static int send_afar(void *arg)
{
	const struct sockaddr_in to = net_address(0, NET_PORT);

	(void)arg;
	net_pause(GYRE_MILLISECONDS(10));
	send_cut(socket(AF_INET, SOCK_DGRAM, 0), &to, 3);
	return 0;
}

static int receive_singly(void *arg)
{
	int fd = net_bind(SOCK_DGRAM, NET_PORT);
	int on = 1;
	char text[9];
	int each;

	cr_assert_eq(setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on)), 0);
	net_pause(GYRE_SECONDS(1));
	cr_assert_eq(receive_batch(fd, text, &each), 3);
	cr_assert_eq(receive_batch(fd, text, &each), 3);
	cr_assert_eq(receive_batch(fd, text, &each), 2);
	*(bool *)arg = true;
	return 0;
}

Test(sim_datagram, leaves_its_host_alone)
{
	bool done = false;
	struct gyre_sim *sim = net_make(1, receive_singly, send_afar, &done);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}
