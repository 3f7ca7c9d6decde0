/*
 * The orders to bind and to connect on their way through the pipelines of datagrams, whose sockets
 * are bound before: what is passed on as it was changes nothing, and what is not has a socket
 * opened anew.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/datagram.h>
#include <gyre/resize.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "buffer/socket_address.h"
#include "net/order_rig.h"

TestSuite(datagram_order, .timeout = 60, .init = order_begin, .fini = order_end);

static struct gyre_socket_address given; /* where it was bound by the call */
static char elsewhere[GYRE_SOCKET_ADDRESS_TEXT_MAX];
static struct gyre_address actor;
static uint32_t actives;
static uint32_t ended;
static int end_reason;
static int calls;

/* ---- the system's side ---- */

static void count_active(struct gyre_handler_context *ctx)
{
	(void)gy_fetch_add(&actives, 1);
	gyre_context_fire_active(ctx);
}

static void await_count(const uint32_t *count, uint32_t wanted)
{
	while (gy_load_acquire(count) < wanted) {
		(void)sched_yield();
	}
}

static void open_one(const char *bind, const char *connect)
{
	const struct gyre_datagram_options options = { .bind = bind,
						       .connect = connect,
						       .one_loop = true,
						       .init_channel = order_init_channel,
						       .ret_address = &given };

	order_plan.active = order_plan.active == NULL ? count_active : order_plan.active;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
}

static int watcher_event(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated != NULL) {
		end_reason = terminated->reason;
		gy_store_release(&ended, 1);
	}
	return gyre_return(stack);
}

/* Opens and watches, so that nothing of the end is missed. */
static int watcher_mount(struct gyre_stack *stack)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = order_init_channel,
						       .ret_address = &given };

	expect(gyre_datagram_open(stack, &options, &actor) == 0);
	expect(gyre_watch(stack, actor) == 0);
	return gyre_return(stack);
}

static const struct gyre_class watcher = { .name = "watcher",
					   .mount = watcher_mount,
					   .behaviour.event = watcher_event };

static void expect_end(int reason, const char *traced_then)
{
	(void)spawn_outside(&watcher, 0);
	await_count(&ended, 1);
	order_expect(traced_then);
	cr_expect_eq(order_heard.reason, reason);
	cr_expect_eq(end_reason, reason);
}

/* ---- the other side ---- */

/* A socket of the test at an address, which becomes the text @elsewhere. */
static int other_socket(const char *address)
{
	struct gyre_socket_address at;
	int fd;

	cr_assert_eq(gyre_socket_address_parse(address, &at), 0);
	fd = socket(at.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&at.storage, at.bytes), 0);
	cr_assert_eq(gy_socket_address_of(fd, &at), 0);
	cr_assert_gt(gyre_socket_address_format(&at, sizeof(elsewhere), elsewhere), 0);
	return fd;
}

/* A port that the kernel gives to nobody, and that two tests at one time do not have both. */
static unsigned own_port(void)
{
	return 20000 + (unsigned)getpid() % 10000;
}

static void find_elsewhere(void)
{
	(void)snprintf(elsewhere, sizeof(elsewhere), "udp://127.0.0.77:%u", own_port());
}

static int connect_there(const char *address)
{
	struct gyre_socket_address to;
	int fd;

	cr_assert_eq(gyre_socket_address_parse(address, &to), 0);
	fd = socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (to.storage.ss_family == AF_UNIX) {
		const sa_family_t unnamed = AF_UNIX;

		cr_assert_eq(bind(fd, (const struct sockaddr *)&unnamed, sizeof(unnamed)), 0);
	}
	cr_assert_eq(connect(fd, (struct sockaddr *)&to.storage, to.bytes), 0);
	return fd;
}

static void expect_echo(const char *address)
{
	int fd = connect_there(address);
	char byte = 'x';

	cr_assert_eq(send(fd, &byte, 1, 0), 1);
	cr_assert_eq(recv(fd, &byte, 1, 0), 1, "%s", address);
	(void)close(fd);
}

static const char *text_of(const struct gyre_socket_address *address)
{
	static char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	cr_assert_gt(gyre_socket_address_format(address, sizeof(text), text), 0);
	return text;
}

/* ---- the order of things ---- */

Test(datagram_order, comes_between_registered_and_active)
{
	open_one("udp://127.0.0.1:0", NULL);
	await_count(&actives, 1);
	expect_echo(text_of(&given));
	order_expect("rbaiux");
	cr_expect_str_eq(order_heard.bound, text_of(&given), "with the port that it got");
}

Test(datagram_order, comes_too_where_any_address_will_do)
{
	open_one(NULL, NULL);
	await_count(&actives, 1);
	order_expect("rbaiux");
	cr_expect_str_eq(order_heard.bound, text_of(&given));
}

Test(datagram_order, is_to_connect_only_where_the_address_is_the_kernels_choice)
{
	int fd = other_socket("udp://127.0.0.1:0");

	open_one(NULL, elsewhere);
	await_count(&actives, 1);
	(void)close(fd);
	order_expect("rcaiux");
	cr_expect_str_eq(order_heard.to, elsewhere);
	cr_expect_str_eq(order_heard.local, "");
}

Test(datagram_order, is_to_bind_and_then_to_connect)
{
	int fd = other_socket("udp://127.0.0.1:0");

	open_one("udp://127.0.0.1:0", elsewhere);
	await_count(&actives, 1);
	(void)close(fd);
	order_expect("rbcaiux");
	cr_expect_str_eq(order_heard.to, elsewhere);
	cr_expect_str_eq(order_heard.local, text_of(&given));
}

Test(datagram_order, does_not_come_to_sockets_that_others_have_bound)
{
	int fd = other_socket("udp://127.0.0.1:0");
	char text[32];

	(void)snprintf(text, sizeof(text), "fd:%d", fd);
	open_one(text, NULL);
	await_count(&actives, 1);
	(void)close(fd);
	order_expect("raiux");
}

/* ---- other addresses ---- */

static int bind_elsewhere(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_context_bind(ctx, elsewhere);
}

Test(datagram_order, may_be_passed_on_with_another_address)
{
	char first[64];
	int fd;

	find_elsewhere();
	(void)snprintf(first, sizeof(first), "udp://127.0.0.78:%u", own_port());
	order_plan.bind = bind_elsewhere;
	open_one(first, NULL);
	await_count(&actives, 1);
	expect_echo(elsewhere);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_expect_eq(bind(fd, (struct sockaddr *)&given.storage, given.bytes), 0,
		     "the first is free again");
	(void)close(fd);
	order_expect("rbaiux");
}

Test(datagram_order, may_be_passed_on_with_an_address_of_another_family)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		cr_skip_test("there is no IPv6 here");
	}
	(void)close(fd);
	(void)snprintf(elsewhere, sizeof(elsewhere), "udp://[::1]:%u", own_port());
	order_plan.bind = bind_elsewhere;
	open_one("udp://127.0.0.1:0", NULL);
	await_count(&actives, 1);
	expect_echo(elsewhere);
}

/* As one does that wants the first free port of some. */
static int bind_to_the_first_free(struct gyre_handler_context *ctx, const char *local)
{
	expect(gyre_context_bind(ctx, elsewhere) == -EADDRINUSE);
	expect(gyre_context_bind(ctx, "udp://192.0.2.1:0") == -EADDRNOTAVAIL);
	expect(gyre_context_bind(ctx, "nowhere") == -EINVAL);
	expect(gyre_context_bind(ctx, "tcp://127.0.0.1:0") == -EINVAL);
	expect(gyre_context_bind(ctx, "udp://localhost:0") == -ENOENT);
	expect(gyre_context_bind(ctx, "unix+dgram:@gyre") == -EAFNOSUPPORT);
	expect(gyre_context_connect(ctx, elsewhere, NULL) == -EINVAL);
	calls++;
	expect(gyre_context_bind(ctx, local) == 0);
	expect(gyre_context_bind(ctx, local) == -EALREADY);
	return 0;
}

static void ask_too_late(struct gyre_handler_context *ctx)
{
	expect(gyre_context_bind(ctx, "udp://127.0.0.1:0") == -EISCONN);
	expect(gyre_context_connect(ctx, elsewhere, NULL) == -EISCONN);
	count_active(ctx);
}

Test(datagram_order, is_refused_by_the_head_when_it_is_wrong_and_may_come_again)
{
	int fd = other_socket("udp://127.0.0.1:0");

	order_plan.bind = bind_to_the_first_free;
	order_plan.active = ask_too_late;
	open_one("udp://127.0.0.1:0", NULL);
	await_count(&actives, 1);
	expect_echo(text_of(&given));
	(void)close(fd);
	order_finish();
	cr_expect_eq(calls, 1);
}

static char path[64];

static int bind_to_path(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_context_bind(ctx, path);
}

Test(datagram_order, moves_the_file_of_a_unix_socket)
{
	char first[64];

	(void)snprintf(first, sizeof(first), "unix+dgram:/tmp/gyre-order-%d-1", (int)getpid());
	(void)snprintf(path, sizeof(path), "unix+dgram:/tmp/gyre-order-%d-2", (int)getpid());
	order_plan.bind = bind_to_path;
	open_one(first, NULL);
	await_count(&actives, 1);
	cr_expect_lt(access(strchr(first, '/'), F_OK), 0);
	expect_echo(path);
	order_finish();
	cr_expect_lt(access(strchr(path, '/'), F_OK), 0);
}

Test(datagram_order, leaves_sockets_of_several_loops_together)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = order_init_channel };

	find_elsewhere();
	order_plan.bind = bind_elsewhere;
	order_plan.active = count_active;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	await_count(&actives, 2);
	for (int i = 0; i < 20; i++) {
		expect_echo(elsewhere);
	}
}

static const struct timeval long_time = { .tv_sec = 10 };

Test(datagram_order, opens_a_socket_that_is_like_the_first)
{
	const struct gyre_multicast group = { .group = "239.255.77.2", .interface = "lo" };
	const struct gyre_datagram_options options = { .bind = "udp://0.0.0.0:0",
						       .groups = &group,
						       .groups_count = 1,
						       .multicast_interface = "lo",
						       .init_channel = order_init_channel };
	const struct ip_mreqn by = { .imr_ifindex = (int)if_nametoindex("lo") };
	struct gyre_socket_address to;
	char text[64];
	char byte = 'x';
	int fd;

	(void)snprintf(text, sizeof(text), "udp://239.255.77.2:%u", own_port());
	(void)snprintf(elsewhere, sizeof(elsewhere), "udp://0.0.0.0:%u", own_port());
	order_plan.bind = bind_elsewhere;
	order_plan.active = count_active;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	await_count(&actives, 1);
	cr_assert_eq(gyre_socket_address_parse(text, &to), 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)) < 0 ||
	    sendto(fd, &byte, 1, 0, (struct sockaddr *)&to.storage, to.bytes) < 0) {
		(void)close(fd);
		cr_skip_test("there is no way to a group here");
	}
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time)), 0);
	cr_expect_eq(receive_in_time(fd, &byte, 1), 1, "it is in the group: errno %d", errno);
	(void)close(fd);
}

static char peer_text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

static int connect_with_peer(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_context_connect(ctx, "udp://localhost:1", local) == -ENOENT);
	expect(gyre_context_connect(ctx, "tcp://127.0.0.1:1", local) == -EINVAL);
	expect(gyre_context_connect(ctx, to, "nowhere") == -EINVAL);
	if (local != NULL) { /* else the kernel's choice becomes another one */
		expect(gyre_context_connect(ctx, "udp://[2001:db8::1]:1", NULL) < 0);
	}
	calls++;
	return gyre_context_connect(ctx, peer_text, local);
}

static void write_early(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, "early", 5) == 0);
	expect(gyre_context_write(ctx, buffer) == 0);
	gyre_context_flush(ctx);
}

/* What is written goes to the other peer, also what was written before that was known. */
static void expect_other_peer(const char *bind)
{
	int wrong = other_socket("udp://127.0.0.1:0");
	char wrong_text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	char bytes[6] = "";
	int right;

	(void)memcpy(wrong_text, elsewhere, sizeof(wrong_text));
	right = other_socket("udp://127.0.0.1:0");
	(void)memcpy(peer_text, elsewhere, sizeof(peer_text));
	order_plan.registered = write_early;
	order_plan.connect = connect_with_peer;
	open_one(bind, wrong_text);
	cr_assert_eq(recv(right, bytes, 5, 0), 5);
	cr_expect_str_eq(bytes, "early");
	cr_expect_lt(recv(wrong, bytes, 5, MSG_DONTWAIT), 0);
	(void)close(right);
	(void)close(wrong);
	order_finish();
	cr_expect_eq(calls, 1);
}

Test(datagram_order, may_be_passed_on_with_another_peer)
{
	expect_other_peer(NULL);
}

Test(datagram_order, may_be_passed_on_with_another_peer_where_it_is_bound)
{
	expect_other_peer("udp://127.0.0.1:0");
}

static int come_from_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)local;
	return gyre_context_connect(ctx, to, peer_text);
}

Test(datagram_order, may_be_passed_on_with_another_address_to_come_from)
{
	int fd;
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);
	struct gyre_socket_address address;
	char byte;

	find_elsewhere();
	(void)memcpy(peer_text, elsewhere, sizeof(peer_text));
	fd = other_socket("udp://127.0.0.1:0");
	order_plan.registered = write_early;
	order_plan.connect = come_from_elsewhere;
	open_one("udp://127.0.0.1:0", elsewhere);
	cr_assert_eq(recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &bytes), 1);
	gy_socket_address_set(&address, SOCK_DGRAM, (struct sockaddr *)&from, bytes);
	cr_expect_str_eq(text_of(&address), peer_text);
	(void)close(fd);
}

/* ---- ends ---- */

static int refuse_to_bind(struct gyre_handler_context *ctx, const char *local)
{
	(void)ctx;
	(void)local;
	return -EACCES;
}

Test(datagram_order, may_be_refused_which_is_its_actors_end)
{
	order_plan.bind = refuse_to_bind;
	expect_end(-EACCES, "rux");
}

static void close_it(struct gyre_handler_context *ctx)
{
	gyre_context_close(ctx);
}

Test(datagram_order, does_not_come_to_a_channel_that_is_closed_when_it_is_registered)
{
	order_plan.registered = close_it;
	expect_end(-ECANCELED, "rux");
}

static int close_and_bind(struct gyre_handler_context *ctx, const char *local)
{
	gyre_context_close(ctx);
	expect(gyre_context_bind(ctx, local) == -EPIPE);
	return 0;
}

Test(datagram_order, ends_with_a_channel_that_is_closed_when_it_is_bound)
{
	order_plan.bind = close_and_bind;
	expect_end(-ECANCELED, "rbux");
}

static void write_and_close(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_set_peer(buffer, &given) == 0);
	expect(gyre_context_write(ctx, buffer) == 0);
	gyre_context_close(ctx);
}

Test(datagram_order, leaves_nothing_of_what_was_written_before_it_was_refused)
{
	order_plan.registered = write_and_close;
	expect_end(-ECANCELED, "rux");
}

static uint32_t kept;

static int keep(struct gyre_handler_context *ctx, const char *local)
{
	(void)ctx;
	(void)local;
	(void)gy_fetch_add(&kept, 1);
	return 0;
}

Test(datagram_order, ends_with_the_system)
{
	order_plan.bind = keep;
	open_one("udp://127.0.0.1:0", NULL);
	await_count(&kept, 1);
	order_expect("rux");
	cr_expect_eq(order_heard.reason, -ESHUTDOWN);
}

static int keep_for_a_while(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_context_timer_start(ctx, 1, GYRE_MILLISECONDS(20));
}

static void pass_on(struct gyre_handler_context *ctx)
{
	expect(gyre_context_bind(ctx, elsewhere) == 0);
}

Test(datagram_order, may_be_passed_on_when_a_timer_fires)
{
	find_elsewhere();
	order_plan.bind = keep_for_a_while;
	order_plan.timer = pass_on;
	open_one("udp://127.0.0.1:0", NULL);
	await_count(&actives, 1);
	expect_echo(elsewhere);
	order_expect("rbaiux");
}

/* The socket goes to another loop, whose channel has the order anew. */
Test(datagram_order, goes_with_the_socket_when_the_loop_retires)
{
	const struct gyre_datagram_options options = {
		.bind = "udp://127.0.0.1:0",
		.one_loop = true,
		.place = { .place = GYRE_PLACE_LOOP, .loop = 1 },
		.init_channel = order_init_channel,
	};

	order_plan.bind = keep;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	await_count(&kept, 1);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	await_count(&kept, 2);
	order_finish();
	cr_expect_eq(order_heard.pipelines, 2);
	cr_expect_null(strchr(traced, 'a'), "%s", traced);
}
