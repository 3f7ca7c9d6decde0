/*
 * The orders to bind and to connect on their way through a client's pipeline: who hears them and
 * when, what may be done with them, and what becomes of a channel that is not connected.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/listen.h>
#include <gyre/pipe.h>

#include "base/atomic.h"
#include "channel/socket_address.h"
#include "echo.h"
#include "net/order_rig.h"

TestSuite(connect_order, .timeout = 60, .init = order_begin, .fini = order_end);

static uint16_t open_port; /* where somebody listens */
static int calls;

/* Connects, has the peer close, and waits until all is over. */
static void connect_once(const struct gyre_connect_options *options, int fd)
{
	(void)client_connect(options);
	(void)client_until(GYRE_CONNECTION_OPEN);
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
}

/* A port where nobody listens; @ret_fd keeps it from others. */
static uint16_t closed_port(int *ret_fd)
{
	uint16_t port;

	*ret_fd = client_bind("tcp://127.0.0.1:0", &port);
	return port;
}

static void expect_failure(const struct gyre_connect_options *options, int reason)
{
	(void)client_connect(options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, reason);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, reason);
}

/* Nobody is called on: what fails does so before. */
static void expect_no_attempt(int reason, const char *traced_then)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	expect_failure(&options, reason);
	cr_expect_eq(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 0);
	(void)close(fd);
	order_expect(traced_then);
	cr_expect_eq(order_heard.reason, reason);
}

/* ---- the order of things ---- */

Test(connect_order, comes_between_registered_and_active)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcaiux");
	cr_expect_str_eq(order_heard.to, order_address("127.0.0.1", open_port));
	cr_expect_str_eq(order_heard.local, "", "there is none");
}

Test(connect_order, comes_after_that_to_bind)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rbcaiux");
	cr_expect_str_eq(order_heard.bound, "tcp://127.0.0.1:0");
	cr_expect_str_eq(order_heard.local, "tcp://127.0.0.1:0");
}

static int trace_first(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	trace('1');
	expect(gyre_channel_connect(ctx, to, local) == 0);
	trace('2');
	return 0;
}

Test(connect_order, goes_from_the_tail_to_the_head)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = trace_first;
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("r1c2aiux");
}

Test(connect_order, is_heard_of_by_each_round_anew)
{
	int fd;
	struct gyre_connect_options options = order_options(closed_port(&fd));

	options.retries_max = 2;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECONNREFUSED);
		(void)client_next(GYRE_CONNECTION_PAUSE);
	}
	(void)client_next(GYRE_CONNECTION_FAILED);
	(void)client_next(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	order_expect("rcuxrcuxrcux");
	cr_expect_eq(order_heard.reason, -ECONNREFUSED);
	cr_expect_eq(order_heard.pipelines, 3);
}

Test(connect_order, is_heard_of_again_when_a_connection_is_lost)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);
	struct gyre_address actor;

	options.retries_max = 1;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	actor = client_connect(&options);
	for (int i = 0; i < 2; i++) {
		(void)close(client_accept(fd));
		(void)client_next(GYRE_CONNECTION_OPEN);
		(void)client_next(GYRE_CONNECTION_CLOSED);
		(void)client_next(GYRE_CONNECTION_PAUSE);
	}
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_PAUSE);
	client_stop(actor);
	(void)close(fd);
	order_finish();
	cr_expect_eq(strncmp(traced, "rcaiuxrcaiuxrcaiux", 18), 0, "%s", traced);
}

Test(connect_order, is_never_heard_of_by_those_who_are_called)
{
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = order_init_channel,
							 .ret_port = &open_port };
	struct gyre_connect_options options = client_options(0);

	cr_assert_eq(gyre_listen(fixture.system, &listening, NULL), 0);
	options.to = order_address("127.0.0.1", open_port);
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	order_finish();
	cr_expect_eq(strncmp(traced, "ra", 2), 0, "%s", traced);
	cr_expect_null(strpbrk(traced, "bc"), "%s", traced);
}

/* ---- other addresses ---- */

static int go_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_channel_connect(ctx, order_address("127.0.0.1", open_port), local);
}

Test(connect_order, may_be_passed_on_with_another_address)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(closed_port(&nobody));
	struct gyre_connection report;

	order_plan.connect = go_elsewhere;
	(void)client_connect(&options);
	report = client_next(GYRE_CONNECTION_OPEN);
	cr_expect_eq(gyre_socket_address_port(&report.address), open_port);
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	(void)close(nobody);
	order_expect("rcaiux");
	cr_expect_str_eq(order_heard.to, order_address("127.0.0.1", open_port));
}

static int go_to_a_name(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_channel_connect(ctx, order_address("localhost", open_port), local);
}

Test(connect_order, may_be_passed_on_with_a_name)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(closed_port(&nobody));

	order_plan.connect = go_to_a_name;
	connect_once(&options, fd);
	(void)close(fd);
	(void)close(nobody);
	order_expect("rcaiux");
}

static char unix_text[64];

static int go_to_a_path(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_channel_connect(ctx, unix_text, local);
}

Test(connect_order, may_be_passed_on_to_a_unix_socket)
{
	struct gyre_connect_options options = order_options(1);
	struct gyre_socket_address address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(unix_text, sizeof(unix_text), "unix:@gyre-order-%d", (int)getpid());
	cr_assert_eq(gyre_socket_address_parse(unix_text, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(listen(fd, 1), 0);
	order_plan.connect = go_to_a_path;
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcaiux");
}

/* Where the next connection comes from. */
static void expect_from(int fd, const char *address)
{
	struct gyre_socket_address from;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int connection;

	(void)client_next(GYRE_CONNECTION_OPEN);
	connection = client_accept(fd);
	cr_assert_eq(gy_socket_address_of_peer(connection, &from), 0);
	cr_assert_gt(gyre_socket_address_format(&from, sizeof(text), text), 0);
	cr_expect_eq(strncmp(text, address, strlen(address)), 0, "%s", text);
	(void)close(connection);
	(void)close(fd);
}

static int come_from_three(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)local;
	return gyre_channel_connect(ctx, to, "tcp://127.0.0.3:0");
}

Test(connect_order, may_be_passed_on_with_another_address_to_come_from)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = come_from_three;
	(void)client_connect(&options);
	expect_from(fd, "tcp://127.0.0.3:");
}

static int bind_to_two(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_channel_bind(ctx, "tcp://127.0.0.2:0");
}

Test(connect_order, comes_from_where_a_handler_has_bound_it)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_plan.bind = bind_to_two;
	(void)client_connect(&options);
	expect_from(fd, "tcp://127.0.0.2:");
	order_finish();
	cr_expect_str_eq(order_heard.bound, "tcp://127.0.0.2:0");
	cr_expect_str_eq(order_heard.local, "tcp://127.0.0.2:0");
}

static int come_from_anywhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(strcmp(local, "tcp://127.0.0.2:0") == 0);
	return gyre_channel_connect(ctx, to, NULL);
}

Test(connect_order, may_be_passed_on_without_an_address_to_come_from)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.2:0";
	order_plan.connect = come_from_anywhere;
	(void)client_connect(&options);
	expect_from(fd, "tcp://127.0.0.1:");
}

Test(connect_order, fails_where_an_address_is_not_the_machines)
{
	struct gyre_connect_options options = order_options(1);

	options.local = "tcp://192.0.2.1:0";
	expect_failure(&options, -EADDRNOTAVAIL);
	order_expect("rbcux");
}

Test(connect_order, is_for_each_connection_of_many)
{
	enum { COUNT = 20 };
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(closed_port(&nobody));
	int connections[COUNT];

	order_plan.connect = go_elsewhere;
	options.connections = COUNT;
	(void)client_connect(&options);
	for (size_t i = 0; i < COUNT; i++) {
		connections[i] = client_accept(fd);
		(void)client_next(GYRE_CONNECTION_OPEN);
	}
	for (size_t i = 0; i < COUNT; i++) {
		(void)close(connections[i]);
	}
	(void)close(fd);
	(void)close(nobody);
	order_finish();
	cr_expect_eq(order_heard.pipelines, COUNT);
}

/* ---- refusing ---- */

static int refuse_to_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)ctx;
	(void)to;
	(void)local;
	return -EACCES;
}

static int refuse_to_bind(struct gyre_handler_context *ctx, const char *local)
{
	(void)ctx;
	(void)local;
	return -EACCES;
}

Test(connect_order, may_be_refused)
{
	order_plan.connect = refuse_to_connect;
	expect_no_attempt(-EACCES, "rbux");
}

Test(connect_order, may_be_refused_when_it_binds)
{
	order_plan.bind = refuse_to_bind;
	expect_no_attempt(-EACCES, "rux");
}

static int change_its_mind(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_channel_connect(ctx, to, local) == 0);
	return -EACCES;
}

Test(connect_order, may_be_refused_when_it_has_been_passed_on)
{
	order_plan.connect = change_its_mind;
	expect_no_attempt(-EACCES, "rbcux");
}

Test(connect_order, is_tried_again_like_any_other_when_it_was_refused)
{
	struct gyre_connect_options options = order_options(1);

	options.retries_max = 1;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	order_plan.connect = refuse_to_connect;
	(void)client_connect(&options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -EACCES);
	cr_expect_eq(client_next(GYRE_CONNECTION_PAUSE).failures, 1);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -EACCES);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).failures, 2);
	order_expect("ruxrux");
}

Test(connect_order, does_not_come_to_handlers_that_were_refused)
{
	struct gyre_connect_options options = order_options(1);

	order_plan.init = -EPERM;
	expect_failure(&options, -EPERM);
	order_expect("x");
}

/* ---- closing ---- */

static void close_it(struct gyre_handler_context *ctx)
{
	gyre_channel_close(ctx);
}

static void abort_it(struct gyre_handler_context *ctx)
{
	gyre_channel_abort(gyre_context_channel(ctx), -EPERM);
}

static void fail_it(struct gyre_handler_context *ctx)
{
	gyre_fire_exception(ctx, -EBADMSG);
}

static int close_and_bind(struct gyre_handler_context *ctx, const char *local)
{
	gyre_channel_close(ctx);
	expect(gyre_channel_bind(ctx, local) == -EPIPE);
	return 0;
}

static int close_and_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	gyre_channel_close(ctx);
	expect(gyre_channel_connect(ctx, to, local) == -EPIPE);
	return 0;
}

static int connect_and_close(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_channel_connect(ctx, to, local) == 0);
	gyre_channel_close(ctx);
	return 0;
}

Test(connect_order, does_not_come_to_a_channel_that_is_closed_when_it_is_registered)
{
	order_plan.registered = close_it;
	expect_no_attempt(-ECANCELED, "rux");
}

Test(connect_order, does_not_come_to_a_channel_that_is_aborted_when_it_is_registered)
{
	order_plan.registered = abort_it;
	expect_no_attempt(-EPERM, "rux");
}

Test(connect_order, does_not_come_to_a_channel_whose_handler_fails_when_it_is_registered)
{
	order_plan.registered = fail_it;
	expect_no_attempt(-EBADMSG, "rux");
}

Test(connect_order, ends_with_a_channel_that_is_closed_when_it_is_bound)
{
	order_plan.bind = close_and_bind;
	expect_no_attempt(-ECANCELED, "rbux");
}

Test(connect_order, ends_with_a_channel_that_is_closed_when_it_is_to_be_connected)
{
	order_plan.connect = close_and_connect;
	expect_no_attempt(-ECANCELED, "rbcux");
}

Test(connect_order, ends_with_a_channel_that_is_closed_behind_it)
{
	order_plan.connect = connect_and_close;
	expect_no_attempt(-ECANCELED, "rbcux");
}

static int connect_and_start(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_context_timer_start(ctx, 1, GYRE_MILLISECONDS(20)) == 0);
	return gyre_channel_connect(ctx, to, local);
}

Test(connect_order, is_given_up_when_the_channel_is_closed_while_nobody_answers)
{
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &open_port));
	options = order_options(open_port);
	options.connect_timeout_ns = GYRE_FOREVER;
	order_plan.connect = connect_and_start;
	order_plan.timer = close_it;
	expect_failure(&options, -ECANCELED);
	client_hole_close(&hole);
	order_expect("rcux");
	cr_expect_eq(order_heard.reason, -ECANCELED);
}

Test(connect_order, fails_when_nobody_answers_in_time)
{
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &open_port));
	options = order_options(open_port);
	options.connect_timeout_ns = GYRE_MILLISECONDS(50);
	expect_failure(&options, -ETIMEDOUT);
	client_hole_close(&hole);
	order_expect("rcux");
	cr_expect_eq(order_heard.reason, -ETIMEDOUT);
}

/* ---- keeping ---- */

static int keep_for_ever(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)ctx;
	(void)to;
	(void)local;
	return 0;
}

static int keep_the_address(struct gyre_handler_context *ctx, const char *local)
{
	(void)ctx;
	(void)local;
	return 0;
}

Test(connect_order, may_be_kept_but_not_for_longer_than_the_round)
{
	struct gyre_connect_options options = order_options(1);

	options.connect_timeout_ns = GYRE_MILLISECONDS(50);
	order_plan.connect = keep_for_ever;
	expect_failure(&options, -ETIMEDOUT);
	order_expect("rux");
	cr_expect_eq(order_heard.reason, -ETIMEDOUT);
}

Test(connect_order, is_not_given_before_that_to_bind_is_done)
{
	struct gyre_connect_options options = order_options(1);

	options.local = "tcp://127.0.0.1:0";
	options.connect_timeout_ns = GYRE_MILLISECONDS(50);
	order_plan.bind = keep_the_address;
	expect_failure(&options, -ETIMEDOUT);
	order_expect("rux");
}

static int keep_for_a_while(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	(void)local;
	return gyre_context_timer_start(ctx, 1, GYRE_MILLISECONDS(20));
}

static void pass_on(struct gyre_handler_context *ctx)
{
	expect(gyre_channel_connect(ctx, order_address("127.0.0.1", open_port), NULL) == 0);
	expect(gyre_channel_connect(ctx, order_address("127.0.0.1", open_port), NULL) == -EALREADY);
}

Test(connect_order, may_be_passed_on_when_a_timer_fires)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = keep_for_a_while;
	order_plan.timer = pass_on;
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rccaiux"); /* the second went as far as the head */
}

static int keep_the_address_for_a_while(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_context_timer_start(ctx, 1, GYRE_MILLISECONDS(20));
}

static void pass_the_address_on(struct gyre_handler_context *ctx)
{
	expect(gyre_channel_bind(ctx, "tcp://127.0.0.2:0") == 0);
}

Test(connect_order, goes_on_when_that_to_bind_is_passed_on_later)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_plan.bind = keep_the_address_for_a_while;
	order_plan.timer = pass_the_address_on;
	(void)client_connect(&options);
	expect_from(fd, "tcp://127.0.0.2:");
	order_finish();
	cr_expect_eq(strncmp(traced, "rbca", 4), 0, "%s", traced);
}

static uint32_t is_kept;

static int keep_for_a_message(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)ctx;
	(void)to;
	(void)local;
	gy_store_release(&is_kept, 1);
	return 0;
}

/* Until the handler has the order. */
static void wait_until_kept(void)
{
	while (gy_load_acquire(&is_kept) == 0) {
		(void)usleep(100);
	}
}

Test(connect_order, may_be_passed_on_when_a_message_comes)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = keep_for_a_message;
	order_plan.event = pass_on;
	(void)client_connect(&options);
	wait_until_kept();
	cr_assert_eq(notify_outside(order_heard.channel, 1), 0);
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	order_expect("rccaiux");
}

Test(connect_order, is_given_up_when_its_channel_is_told_to_stop)
{
	struct gyre_connect_options options = order_options(1);

	order_plan.connect = keep_for_a_message;
	(void)client_connect(&options);
	wait_until_kept();
	client_stop(order_heard.channel);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECANCELED);
	(void)client_next(GYRE_CONNECTION_GIVEN_UP);
	order_expect("rux");
}

Test(connect_order, ends_with_its_actor)
{
	struct gyre_connect_options options = order_options(1);
	struct gyre_address actor;

	options.connect_timeout_ns = GYRE_FOREVER;
	order_plan.connect = keep_for_a_message;
	actor = client_connect(&options);
	wait_until_kept();
	client_stop(actor);
	order_expect("rux");
	cr_expect_eq(order_heard.reason, -ESHUTDOWN);
}

static int connect_and_tell(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	int r = gyre_channel_connect(ctx, to, local);

	gy_store_release(&is_kept, 1);
	return r;
}

Test(connect_order, ends_with_the_system)
{
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &open_port));
	options = order_options(open_port);
	options.connect_timeout_ns = GYRE_FOREVER;
	order_plan.connect = connect_and_tell;
	(void)client_connect(&options);
	wait_until_kept();
	client_hole_close(&hole);
	order_expect("rcux");
	cr_expect_eq(order_heard.reason, -ESHUTDOWN);
}

/* ---- what changes meanwhile ---- */

static int leave(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	gyre_context_remove(ctx);
	return gyre_channel_connect(ctx, to, local);
}

Test(connect_order, may_be_passed_on_by_a_handler_that_leaves)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = leave;
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcaiux");
}

static int leave_for_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	gyre_context_remove(ctx);
	return go_elsewhere(ctx, to, local);
}

Test(connect_order, may_be_passed_on_elsewhere_by_a_handler_that_leaves)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(closed_port(&nobody));

	order_plan.connect = leave_for_elsewhere;
	connect_once(&options, fd);
	(void)close(fd);
	(void)close(nobody);
	order_expect("rcaiux");
}

static int remove_near(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_pipeline_remove(gyre_context_channel(ctx), "near") == 0);
	return gyre_channel_connect(ctx, to, local);
}

Test(connect_order, does_not_come_to_one_that_was_removed)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = remove_near;
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rx");
}

static int late_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	trace('L');
	return gyre_channel_connect(ctx, to, local);
}

static const struct gyre_handler late_handler = { .name = "late", .connect = late_connect };
static const struct gyre_handler too_late_handler = { .name = "too late", .connect = late_connect };

static int add_others(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	expect(gyre_pipeline_add_first(channel, &late_handler, NULL) == 0);
	expect(gyre_pipeline_add_last(channel, &too_late_handler, NULL) == 0);
	return gyre_channel_connect(ctx, to, local);
}

Test(connect_order, comes_to_those_that_were_added_nearer_to_the_head)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = add_others;
	connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcLaiux");
}

/* ---- what the head refuses ---- */

static void ask_too_early(struct gyre_handler_context *ctx)
{
	expect(gyre_channel_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EINVAL);
	expect(gyre_channel_bind(ctx, "tcp://127.0.0.1:0") == -EINVAL);
}

static int bind_badly(struct gyre_handler_context *ctx, const char *local)
{
	expect(gyre_channel_bind(ctx, NULL) == -EINVAL);
	expect(gyre_channel_bind(NULL, local) == -EINVAL);
	expect(gyre_channel_bind(ctx, "nowhere") == -EINVAL);
	expect(gyre_channel_bind(ctx, "udp://127.0.0.1:0") == -EINVAL);
	expect(gyre_channel_bind(ctx, "tcp://localhost:0") == -ENOENT);
	expect(gyre_channel_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EINVAL);
	expect(gyre_channel_bind(ctx, local) == 0);
	expect(gyre_channel_bind(ctx, local) == -EALREADY);
	return 0;
}

static int connect_badly(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_channel_connect(ctx, NULL, local) == -EINVAL);
	expect(gyre_channel_connect(NULL, to, local) == -EINVAL);
	expect(gyre_channel_connect(ctx, "nowhere", local) == -EINVAL);
	expect(gyre_channel_connect(ctx, "udp://127.0.0.1:1", local) == -EINVAL);
	expect(gyre_channel_connect(ctx, to, "udp://127.0.0.1:1") == -EINVAL);
	expect(gyre_channel_connect(ctx, to, "tcp://localhost:1") == -ENOENT);
	expect(gyre_channel_bind(ctx, "tcp://127.0.0.1:0") == -EALREADY);
	expect(gyre_channel_connect(ctx, to, local) == 0);
	expect(gyre_channel_connect(ctx, to, local) == -EALREADY);
	return 0;
}

static void ask_too_late(struct gyre_handler_context *ctx)
{
	expect(gyre_channel_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EISCONN);
	expect(gyre_channel_bind(ctx, "tcp://127.0.0.1:0") == -EISCONN);
	calls++;
	gyre_fire_active(ctx);
}

Test(connect_order, is_refused_by_the_head_when_it_is_wrong_and_may_come_again)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_plan.registered = ask_too_early;
	order_plan.bind = bind_badly;
	order_plan.connect = connect_badly;
	order_plan.active = ask_too_late;
	connect_once(&options, fd);
	(void)close(fd);
	order_finish();
	cr_expect_eq(calls, 1);
}

static void ask_when_accepted(struct gyre_handler_context *ctx)
{
	ask_too_late(ctx);
	gyre_channel_close(ctx);
	expect(gyre_channel_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EPIPE);
	expect(gyre_channel_bind(ctx, "tcp://127.0.0.1:1") == -EPIPE);
}

static const struct gyre_handler asker = { .name = "asker", .active = ask_when_accepted };

static int init_asker(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add_last(channel, &asker, arg);
}

Test(connect_order, is_refused_where_somebody_else_has_connected)
{
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = init_asker,
							 .ret_port = &open_port };
	struct gyre_connect_options options;

	cr_assert_eq(gyre_listen(fixture.system, &listening, NULL), 0);
	options = client_options(open_port);
	(void)client_connect(&options);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	order_finish();
	cr_expect_eq(calls, 1);
}

Test(connect_order, is_refused_by_a_pipe)
{
	int ends[2];
	struct gyre_pipe_options options = { .init_channel = init_asker, .no_output = true };

	cr_assert_eq(pipe(ends), 0);
	options.input_fd = ends[0];
	cr_assert_eq(gyre_pipe_open(fixture.system, &options, NULL), 0);
	(void)close(ends[1]);
	order_finish();
	cr_expect_eq(calls, 1);
}

/* ---- what is done before there is a connection ---- */

static struct gyre_buffer *some_bytes(const struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, "early", 5) == 0);
	return buffer;
}

static void written(struct gyre_channel *channel, int error, void *arg)
{
	(void)channel;
	(void)arg;
	trace(error == 0 ? 'w' : error == -ECONNREFUSED ? 'W' : '?');
}

static void write_early(struct gyre_handler_context *ctx)
{
	expect(gyre_channel_write_then(ctx, some_bytes(ctx), written, NULL) == 0);
	gyre_channel_flush(ctx);
	expect(gyre_channel_queued_bytes(gyre_context_channel(ctx)) == 5);
}

Test(connect_order, leaves_what_was_written_before_to_be_sent)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);
	char bytes[6] = "";
	int connection;

	order_plan.registered = write_early;
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_eq(recv(connection, bytes, 5, MSG_WAITALL), 5);
	cr_expect_str_eq(bytes, "early");
	(void)close(connection);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	order_expect("rcawiux");
}

Test(connect_order, tells_those_who_have_written_before_that_it_has_failed)
{
	int fd;
	struct gyre_connect_options options = order_options(closed_port(&fd));

	order_plan.registered = write_early;
	expect_failure(&options, -ECONNREFUSED);
	(void)close(fd);
	order_expect("rcWux");
}

static void shut_down_early(struct gyre_handler_context *ctx)
{
	write_early(ctx);
	gyre_channel_shutdown(ctx);
	expect(gyre_channel_write(ctx, some_bytes(ctx)) == -EPIPE);
}

Test(connect_order, leaves_a_shutdown_to_be_done)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);
	char bytes[6] = "";
	int connection;

	order_plan.registered = shut_down_early;
	(void)client_connect(&options);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_eq(recv(connection, bytes, 6, MSG_WAITALL), 5, "and then the end");
	(void)close(connection);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
}

/* The order is kept for longer than the peer has for its handshake, then passed on. */
Test(connect_order, does_not_count_for_the_time_of_a_handshake)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);
	int connection;

	options.channel.handshake_ns = GYRE_MILLISECONDS(10);
	order_plan.connect = keep_for_a_while;
	order_plan.timer = pass_on;
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	cr_expect_eq(client_next(GYRE_CONNECTION_CLOSED).reason, -ETIMEDOUT, "the peer is silent");
	(void)close(connection);
	(void)close(fd);
}

Test(connect_order, counts_only_connections_that_were_made)
{
	int fd;
	struct gyre_connect_options options = order_options(closed_port(&fd));

	options.retries_max = 3;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	order_expect("rcuxrcuxrcuxrcux");
	cr_expect_eq(fixture.counters.connected, 0);
	cr_expect_eq(fixture.counters.closed, 0);
}
