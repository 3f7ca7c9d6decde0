/* Connecting to names: a name server of the test's own, and whom the client then takes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/resolve.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "buffer/socket_address.h"
#include "channel/channels.h"
#include "net/client_rig.h"

TestSuite(resolving, .timeout = 60);

enum {
	QUERY_HEADER = 12,
	TYPE_A = 1,
	TYPE_AAAA = 28,
	NAME_ERROR = 3,
	SERVER_FAILURE = 2,
	TRUNCATED = 2,
	LOST = 3
};

/* The name server: it answers by the first letter of the name. */
static struct {
	int fd;
	int stream_fd; /* has the same port */
	pthread_t thread;
	char text[64];
	uint32_t asked;		  /* atomic */
	uint32_t asked_by_stream; /* atomic */
} server;

static int descriptors;

/* ---- the name server ---- */

static size_t answer_with(unsigned char *packet, size_t bytes, const void *address, size_t count)
{
	const unsigned char head[] = {
		0xc0, QUERY_HEADER,	   0, count == 4 ? TYPE_A : TYPE_AAAA, 0, 1, 0, 0, 0, 1,
		0,    (unsigned char)count
	};

	memcpy(packet + bytes, head, sizeof(head));
	memcpy(packet + bytes + sizeof(head), address, count);
	packet[7]++;
	return bytes + sizeof(head) + count;
}

/*
 * "both", "six" and "four" have such addresses, "many" has ten; "nobody" is not known; "broken"
 * fails; "silent" gets no answer at all, and "faint", which has an IPv4 address, none about IPv6;
 * and the first queries for "forgotten" are lost. The answer about "long" is cut where it comes as
 * a datagram.
 */
static size_t answer(unsigned char *packet, size_t bytes)
{
	const unsigned char four[] = { 127, 0, 0, 1 };
	struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
	char first = (char)packet[QUERY_HEADER + 1];
	unsigned char type = packet[bytes - 3];

	packet[2] = 0x84;
	packet[3] = first == 'n'				      ? NAME_ERROR
		    : first == 'b' && packet[QUERY_HEADER + 2] == 'r' ? SERVER_FAILURE
								      : 0;
	memset(packet + 6, 0, 6);
	if (packet[3] != 0) {
		return bytes;
	}
	if (type == TYPE_AAAA && (first == 'b' || packet[QUERY_HEADER + 2] == 'i')) {
		return answer_with(packet, bytes, &six, sizeof(six));
	}
	for (unsigned char i = 0; type == TYPE_A && first == 'm' && i < 10; i++) {
		const unsigned char other[] = { 127, 0, 0, (unsigned char)(2 + i) };

		bytes = answer_with(packet, bytes, other, sizeof(other));
	}
	if (type == TYPE_A && strchr("bflm", first) != NULL) {
		return answer_with(packet, bytes, four, sizeof(four));
	}
	return bytes;
}

static bool is_unanswered(const unsigned char *packet, size_t bytes)
{
	static uint32_t forgotten;
	const unsigned char *name = packet + QUERY_HEADER + 1;

	return memcmp(name, "silent", 6) == 0 ||
	       (memcmp(name, "faint", 5) == 0 && packet[bytes - 3] == TYPE_AAAA) ||
	       (memcmp(name, "forgotten", 9) == 0 && forgotten++ < LOST);
}

static void *serve(void *arg)
{
	unsigned char packet[512];
	struct sockaddr_in from;

	(void)arg;
	for (;;) {
		socklen_t from_bytes = sizeof(from);
		ssize_t r = recvfrom(server.fd, packet, sizeof(packet) / 2, 0,
				     (struct sockaddr *)&from, &from_bytes);
		size_t bytes = (size_t)r;

		if (r <= QUERY_HEADER) {
			return NULL; /* the test ends */
		}
		if (packet[11] != 0) {
			bytes -= 11; /* an OPT record, which is not understood here */
		}
		(void)gy_fetch_add(&server.asked, 1);
		if (!is_unanswered(packet, bytes)) {
			bytes = answer(packet, bytes);
			packet[2] |= packet[QUERY_HEADER + 1] == 'l' ? TRUNCATED : 0;
			(void)sendto(server.fd, packet, bytes, 0, (struct sockaddr *)&from,
				     from_bytes);
		}
	}
}

/* Answers the queries of one connection; each has its length before it. */
static void *serve_stream(void *arg)
{
	unsigned char packet[2 + 512];
	int fd = accept(server.stream_fd, NULL, NULL);

	(void)arg;
	while (recv(fd, packet, 2, MSG_WAITALL) == 2) {
		size_t bytes = (size_t)packet[0] << 8 | packet[1];

		if (bytes > 256 || recv(fd, packet + 2, bytes, MSG_WAITALL) != (ssize_t)bytes) {
			break;
		}
		bytes = answer(packet + 2, bytes - (packet[2 + 11] != 0 ? 11 : 0));
		packet[0] = (unsigned char)(bytes >> 8);
		packet[1] = (unsigned char)bytes;
		must_hold(send(fd, packet, 2 + bytes, MSG_NOSIGNAL) > 0, "it is answered");
		(void)gy_fetch_add(&server.asked_by_stream, 1);
	}
	(void)close(fd);
	return NULL;
}

/* A port of datagrams whose streams another program may have. Whether both are the server's now. */
static bool bind_server(struct gyre_socket_address *ret_address)
{
	server.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	server.stream_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(gyre_socket_address_parse("udp://127.0.0.1:0", ret_address), 0);
	cr_assert_eq(bind(server.fd, (struct sockaddr *)&ret_address->storage, ret_address->bytes),
		     0);
	cr_assert_eq(gy_socket_address_of(server.fd, ret_address), 0);
	if (bind(server.stream_fd, (struct sockaddr *)&ret_address->storage, ret_address->bytes) ==
	    0) {
		return true;
	}
	cr_assert_eq(errno, EADDRINUSE);
	(void)close(server.fd);
	(void)close(server.stream_fd);
	return false;
}

static void begin(void)
{
	struct gyre_socket_address address;

	descriptors = descriptors_open();
	while (!bind_server(&address)) {
	}
	(void)snprintf(server.text, sizeof(server.text), "127.0.0.1:%u",
		       (unsigned)gyre_socket_address_port(&address));
	cr_assert_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
	fixture_open(1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void end(void)
{
	struct gyre_socket_address address;

	fixture_close();
	must_hold(gy_socket_address_of(server.fd, &address) == 0, "the server is there");
	(void)sendto(server.fd, "", 0, 0, (struct sockaddr *)&address.storage, address.bytes);
	(void)pthread_join(server.thread, NULL);
	(void)close(server.fd);
	(void)close(server.stream_fd);
	must_hold(descriptors_open() == descriptors, "none is left");
}

/* ---- the client ---- */

static struct gyre_connect_options options_for(const char *name, uint16_t port)
{
	static char text[128];
	struct gyre_connect_options options = client_options(port);

	(void)snprintf(text, sizeof(text), "tcp://%s:%u", name, (unsigned)port);
	options.to = text;
	options.name_servers = server.text;
	return options;
}

static int listen_on_both(int *ret_six, uint16_t *ret_port)
{
	const int one = 1;
	char text[64];
	uint16_t port;
	int four = client_bind("tcp://127.0.0.1:0", ret_port);

	(void)snprintf(text, sizeof(text), "tcp://[::1]:%u", (unsigned)*ret_port);
	*ret_six = client_bind(text, &port);
	cr_assert_eq(setsockopt(*ret_six, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)), -1,
		     "it is bound already, to one address");
	return four;
}

static void expect_open(const char *address)
{
	struct gyre_connection report = client_until(GYRE_CONNECTION_OPEN);
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	cr_assert_gt(gyre_socket_address_format(&report.address, sizeof(text), text), 0);
	cr_expect_eq(strncmp(text, address, strlen(address)), 0, "%s", text);
}

Test(resolving, finds_a_name_by_its_server, .init = begin, .fini = end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for("four.example", port);

	(void)client_connect(&options);
	(void)close(client_accept(fd));
	expect_open("tcp://127.0.0.1:");
	(void)close(fd);
}

Test(resolving, asks_by_a_connection_when_an_answer_is_cut, .init = begin, .fini = end)
{
	pthread_t thread;
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for("long.example", port);

	cr_assert_eq(listen(server.stream_fd, 1), 0);
	cr_assert_eq(pthread_create(&thread, NULL, serve_stream, NULL), 0);
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	expect_open("tcp://127.0.0.1:");
	(void)pthread_join(thread, NULL);
	cr_expect_gt(gy_load_relaxed(&server.asked_by_stream), 0);
	(void)close(fd);
}

Test(resolving, knows_the_names_of_the_machine_without_a_server, .init = begin, .fini = end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for("localhost", port);

	(void)client_connect(&options);
	(void)close(client_accept(fd));
	expect_open("tcp://127.0.0.1:");
	cr_expect_eq(gy_load_relaxed(&server.asked), 0);
	(void)close(fd);
}

Test(resolving, takes_the_other_family_when_one_is_refused, .init = begin, .fini = end)
{
	uint16_t port;
	int six;
	int four = listen_on_both(&six, &port);
	struct gyre_connect_options options = options_for("both.example", port);
	struct gyre_connection report;

	cr_assert_eq(listen(four, 1), 0);
	(void)client_connect(&options);
	report = client_next(GYRE_CONNECTION_FAILED);
	cr_expect_eq(report.reason, -ECONNREFUSED);
	cr_expect_eq(report.address.storage.ss_family, AF_INET6);
	(void)close(client_accept(four));
	expect_open("tcp://127.0.0.1:");
	(void)close(four);
	(void)close(six);
}

Test(resolving, takes_the_other_family_when_one_does_not_answer, .init = begin, .fini = end)
{
	uint16_t port;
	int six;
	int four = listen_on_both(&six, &port);
	struct gyre_connect_options options = options_for("both.example", port);
	struct client_hole hole;

	client_hole_open(&hole, six);
	cr_assert_eq(listen(four, 1), 0);
	(void)client_connect(&options);
	(void)close(client_accept(four));
	(void)client_next(
		GYRE_CONNECTION_OPEN); /* nothing has failed before: the other is cancelled */
	(void)close(four);
	client_hole_close(&hole);
}

Test(resolving, takes_the_other_family_when_no_server_answers_about_one, .init = begin, .fini = end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for("faint.example.", port);

	(void)client_connect(&options);
	(void)close(client_accept(fd));
	expect_open("tcp://127.0.0.1:");
	(void)close(fd);
}

Test(resolving, prefers_the_first_family_when_both_answer, .init = begin, .fini = end)
{
	uint16_t port;
	int six;
	int four = listen_on_both(&six, &port);
	struct gyre_connect_options options = options_for("both.example", port);

	cr_assert_eq(listen(four, 1), 0);
	cr_assert_eq(listen(six, 1), 0);
	(void)client_connect(&options);
	(void)close(client_accept(six));
	expect_open("tcp://[::1]:");
	(void)close(four);
	(void)close(six);
}

Test(resolving, tries_all_addresses_and_tells_what_explains_most, .init = begin, .fini = end)
{
	uint16_t port;
	int fd = client_bind("tcp://127.0.0.1:0", &port);
	struct gyre_connect_options options = options_for("many.example", port);

	(void)client_connect(&options);
	for (int i = 0; i < 11; i++) {
		cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECONNREFUSED);
	}
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, -ECONNREFUSED);
	(void)close(fd);
}

Test(resolving, tells_a_refusal_rather_than_that_there_was_no_way, .init = begin, .fini = end)
{
	uint16_t port;
	int fd = client_bind("tcp://127.0.0.1:0", &port);
	struct gyre_connect_options options = options_for("both.example", port);

	options.local = "tcp://127.0.0.1:0"; /* from which there is no way to IPv6 */
	(void)client_connect(&options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -EAFNOSUPPORT);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECONNREFUSED);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, -ECONNREFUSED);
	(void)close(fd);
}

/* ---- failures ---- */

static void expect_failure(const struct gyre_connect_options *options, int reason)
{
	struct gyre_connection report;

	(void)client_connect(options);
	report = client_next(GYRE_CONNECTION_FAILED);
	cr_expect_eq(report.reason, reason, "%d", report.reason);
	cr_expect_eq(report.address.bytes, 0, "there is none");
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, reason);
}

Test(resolving, tells_that_a_name_is_not_known, .init = begin, .fini = end)
{
	struct gyre_connect_options options = options_for("nobody.example.", 1);

	expect_failure(&options, -ENXIO);
}

Test(resolving, tells_that_a_server_fails, .init = begin, .fini = end)
{
	struct gyre_connect_options options = options_for("broken.example.", 1);

	expect_failure(&options, -EAGAIN);
}

Test(resolving, tells_that_no_server_is_there, .init = begin, .fini = end)
{
	struct gyre_connect_options options = options_for("four.example.", 1);

	options.name_servers = "127.0.0.1:1";
	expect_failure(&options, -EAGAIN);
}

Test(resolving, tells_that_there_is_no_descriptor_for_a_question, .init = begin, .fini = end)
{
	struct gyre_connect_options options = options_for("four.example.", 1);
	struct rlimit before;
	struct rlimit none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	expect_failure(&options, -EMFILE);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}

Test(resolving, tells_that_a_server_does_not_answer_in_time, .init = begin, .fini = end)
{
	struct gyre_connect_options options = options_for("silent.example.", 1);

	options.connect_timeout_ns = GYRE_MILLISECONDS(100);
	expect_failure(&options, -ETIMEDOUT);
}

/* It asks again soon, and for so long that no machine is too slow. */
static void begin_impatiently(void)
{
	cr_assert_eq(setenv("RES_OPTIONS", "retrans:50 retry:9", 1), 0);
	begin();
}

Test(resolving, asks_again_when_a_query_is_lost, .init = begin_impatiently, .fini = end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for("forgotten.example.", port);

	options.connect_timeout_ns = GYRE_SECONDS(50);
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	expect_open("tcp://127.0.0.1:");
	cr_expect_gt(gy_load_relaxed(&server.asked), LOST);
	(void)close(fd);
}

/* ---- lookups of an actor's own ---- */

static struct {
	const char *text;
	struct gyre_resolve_options options;
	uint64_t timeout_ns;
	int error;
	struct gyre_resolved found;
	uint32_t done; /* atomic */
} question;

struct question_frame {
	struct gyre_future future;
};

static int ask_for_name(struct gyre_stack *stack)
{
	struct question_frame *frame = (struct question_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_resolve(stack, question.text, &question.options, question.timeout_ns,
				       &frame->future));
	question.error = gyre_future_error(&frame->future);
	if (!gyre_future_failed(&frame->future)) {
		question.found = *gyre_future_get(&frame->future, gyre_resolved);
	}
	gy_store_release(&question.done, 1);
	GYRE_END(stack);
}

static const struct gyre_class asker_class = { .name = "asker",
					       .frame_bytes = sizeof(struct question_frame),
					       .behaviour.notice = ask_for_name };

static void look_up(const char *text, uint64_t timeout_ns)
{
	question.text = text;
	question.options.name_servers =
		question.options.name_servers == NULL ? server.text : question.options.name_servers;
	question.timeout_ns = timeout_ns;
	gy_store_release(&question.done, 0);
	cr_assert_eq(notify_outside(spawn_outside(&asker_class, 0), 1), 0);
	while (gy_load_acquire(&question.done) == 0) {
		(void)sched_yield();
	}
}

static void expect_found(uint32_t index, const char *address)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	cr_assert_eq(question.error, 0, "%d", question.error);
	cr_assert_lt(index, question.found.count);
	cr_assert_gt(
		gyre_socket_address_format(&question.found.addresses[index], sizeof(text), text),
		0);
	cr_expect_str_eq(text, address);
}

Test(resolving, answers_an_actor_with_all_addresses, .init = begin, .fini = end)
{
	look_up("udp://both.example:53", GYRE_FOREVER);
	cr_assert_eq(question.found.count, 2);
	expect_found(0, "udp://[::1]:53");
	expect_found(1, "udp://127.0.0.1:53");
	look_up("tcp://many.example:80", 0);
	cr_assert_eq(question.found.count, 11);
}

Test(resolving, answers_an_address_as_it_is, .init = begin, .fini = end)
{
	look_up("tcp://[::1]:7000", 0);
	expect_found(0, "tcp://[::1]:7000");
	look_up("unix:/run/server", 0);
	expect_found(0, "unix:/run/server");
	cr_expect_eq(question.found.count, 1);
	cr_expect_eq(gy_load_relaxed(&server.asked), 0);
}

Test(resolving, tells_an_actor_why_there_is_no_answer, .init = begin, .fini = end)
{
	look_up("tcp://nobody.example.:1", 0);
	cr_expect_eq(question.error, -ENXIO);
	look_up("tcp://broken.example.:1", 0);
	cr_expect_eq(question.error, -EAGAIN);
	look_up("tcp://silent.example.:1", GYRE_MILLISECONDS(100));
	cr_expect_eq(question.error, -ETIMEDOUT);
	look_up("nonsense", 0);
	cr_expect_eq(question.error, -EINVAL);
	look_up(NULL, 0);
	cr_expect_eq(question.error, -EINVAL);
}

Test(resolving, refuses_servers_that_are_no_addresses, .init = begin, .fini = end)
{
	const char *bad[] = { "",
			      "no address",
			      "localhost",
			      "127.0.0.1:70000",
			      "127.0.0.1:0",
			      "127.0.0.1:",
			      "[::1]:65536",
			      "[::1",
			      ",127.0.0.1:1",
			      "127.0.0.1:1,",
			      "127.0.0.1:1,no",
			      "[127.0.0.1]:1",
			      "[::1]",
			      "fe80::1%lo",
			      "*:53",
			      "127.0.0.1:1, ::1" };

	for (size_t i = 0; i < gy_countof(bad); i++) {
		question.options.name_servers = bad[i];
		look_up("tcp://four.example.:1", 0);
		cr_expect_eq(question.error, -EINVAL, "\"%s\": %d", bad[i], question.error);
	}
}

Test(resolving, asks_servers_of_both_families_with_a_port_and_without, .init = begin, .fini = end)
{
	static char servers[256];

	(void)snprintf(servers, sizeof(servers), "%s,127.0.0.1,::1,[::1]:65535", server.text);
	question.options.name_servers = servers;
	look_up("tcp://four.example.:1", 0);
	cr_expect_eq(question.error, 0);
	expect_found(0, "tcp://127.0.0.1:1");
}

Test(resolving, brings_addresses_of_one_family_if_that_is_wanted, .init = begin, .fini = end)
{
	question.options.family = AF_INET;
	look_up("udp://both.example:53", 0);
	cr_assert_eq(question.found.count, 1);
	expect_found(0, "udp://127.0.0.1:53");
	question.options.family = AF_INET6;
	look_up("udp://both.example:53", 0);
	cr_assert_eq(question.found.count, 1);
	expect_found(0, "udp://[::1]:53");
	look_up("tcp://four.example.:1", 0);
	cr_expect_eq(question.error, -ENXIO);
}

Test(resolving, refuses_an_address_of_another_family_and_families_there_are_not, .init = begin,
     .fini = end)
{
	question.options.family = AF_INET6;
	look_up("tcp://127.0.0.1:1", 0);
	cr_expect_eq(question.error, -EINVAL);
	question.options.family = AF_UNIX;
	look_up("tcp://four.example.:1", 0);
	cr_expect_eq(question.error, -EINVAL);
}

static uint32_t *lookups(void)
{
	return &gy_channels_of(&gy_homes_of(fixture.system)->homes[0])->lookups;
}

Test(resolving, has_so_many_lookups_under_way_and_no_more, .init = begin, .fini = end)
{
	gy_store_relaxed(lookups(), GYRE_RESOLVES_MAX - 1);
	look_up("tcp://four.example.:1", 0);
	expect_found(0, "tcp://127.0.0.1:1");
	while (gy_load_relaxed(lookups()) == GYRE_RESOLVES_MAX) {
		(void)sched_yield(); /* the one that has answered ends */
	}
	gy_store_relaxed(lookups(), GYRE_RESOLVES_MAX);
	look_up("tcp://four.example.:1", 0);
	cr_expect_eq(question.error, -ENOBUFS);
	look_up("tcp://127.0.0.1:1", 0);
	expect_found(0, "tcp://127.0.0.1:1");
	cr_expect_eq(gy_load_relaxed(lookups()), GYRE_RESOLVES_MAX);
}

Test(resolving, gives_up_what_an_actor_has_asked_for_that_ends, .init = begin, .fini = end)
{
	struct gyre_address asker = spawn_outside(&asker_class, 0);

	question.text = "tcp://silent.example.:1";
	question.options.name_servers = server.text;
	question.timeout_ns = GYRE_FOREVER;
	cr_assert_eq(notify_outside(asker, 1), 0);
	while (gy_load_relaxed(&server.asked) == 0) {
		(void)sched_yield();
	}
	cr_expect_eq(gy_load_relaxed(lookups()), 1);
	client_stop(asker);
	while (gy_load_relaxed(lookups()) != 0) {
		(void)sched_yield(); /* by itself it would wait for longer than this test may */
	}
}

Test(resolving, takes_no_list_of_servers_without_end, .init = begin, .fini = end)
{
	static char servers[1025];

	memset(servers, '1', sizeof(servers) - 1);
	question.options.name_servers = servers;
	look_up("tcp://four.example.:1", 0);
	cr_expect_eq(question.error, -ENAMETOOLONG);
}

Test(resolving, ends_with_the_system_while_it_waits_for_a_server, .init = begin, .fini = end)
{
	question.text = "tcp://silent.example.:1";
	question.options.name_servers = server.text;
	question.timeout_ns = GYRE_FOREVER;
	cr_assert_eq(notify_outside(spawn_outside(&asker_class, 0), 1), 0);
	while (gy_load_relaxed(&server.asked) == 0) {
		(void)sched_yield();
	}
}

/* ---- the end ---- */

Test(resolving, can_be_stopped_while_it_waits_for_a_server, .init = begin, .fini = end)
{
	struct gyre_connect_options options = options_for("silent.example.", 1);
	struct gyre_address actor;

	options.connections = 3;
	actor = client_connect(&options);
	while (gy_load_relaxed(&server.asked) < 3) {
		sched_yield();
	}
	client_stop(actor);
	(void)client_connect(&options); /* the end of the system stops this one */
}

Test(resolving, looks_a_name_up_anew_in_each_round, .init = begin, .fini = end)
{
	uint16_t port;
	int fd = client_bind("tcp://127.0.0.1:0", &port);
	struct gyre_connect_options options = options_for("four.example.", port);

	options.retries_max = 3;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	cr_expect_geq(gy_load_relaxed(&server.asked), 4);
	(void)close(fd);
}
