/*
 * The orders to bind and to connect on their way through a client's pipeline: who hears them and
 * when, what may be done with them, and what becomes of a channel that is not connected.
 */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/listen.h>

#include "buffer/socket_address.h"
#include "net/order_rig.h"

TestSuite(connect_order, .timeout = 60, .init = order_begin, .fini = order_end);

static uint16_t open_port; /* where somebody listens */

/* Nobody is called on: what fails does so before. */
static void expect_no_attempt(int reason, const char *traced_then)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_expect_failure(&options, reason);
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

	order_connect_once(&options, fd);
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
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("rbcaiux");
	cr_expect_str_eq(order_heard.bound, "tcp://127.0.0.1:0");
	cr_expect_str_eq(order_heard.local, "tcp://127.0.0.1:0");
}

static int trace_first(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	trace('1');
	expect(gyre_context_connect(ctx, to, local) == 0);
	trace('2');
	return 0;
}

Test(connect_order, goes_from_the_tail_to_the_head)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = trace_first;
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("r1c2aiux");
}

Test(connect_order, is_heard_of_by_each_round_anew)
{
	int fd;
	struct gyre_connect_options options = order_options(order_closed_port(&fd));

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

static sem_t called;

static void tell_called(struct gyre_handler_context *ctx)
{
	gyre_context_fire_active(ctx);
	(void)sem_post(&called);
}

/* The client may be connected before the listener knows of it. */
Test(connect_order, is_never_heard_of_by_those_who_are_called)
{
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = order_init_channel,
							 .ret_port = &open_port };
	struct gyre_connect_options options = client_options(0);

	cr_assert_eq(sem_init(&called, 0, 0), 0);
	order_plan.active = tell_called;
	cr_assert_eq(gyre_system_listen(fixture.system, &listening, NULL), 0);
	options.to = order_address("127.0.0.1", open_port);
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	cr_assert_eq(sem_wait(&called), 0);
	order_finish();
	cr_expect_eq(strncmp(traced, "ra", 2), 0, "%s", traced);
	cr_expect_null(strpbrk(traced, "bc"), "%s", traced);
}

/* ---- other addresses ---- */

static int go_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_context_connect(ctx, order_address("127.0.0.1", open_port), local);
}

Test(connect_order, may_be_passed_on_with_another_address)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(order_closed_port(&nobody));
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

static void pass_on_twice(struct gyre_handler_context *ctx)
{
	gyre_context_fire_active(ctx);
	gyre_context_fire_active(ctx);
}

Test(connect_order, leads_to_one_connection_however_often_its_handler_says_that_it_is_open)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(order_closed_port(&nobody));

	order_plan.connect = go_elsewhere;
	order_plan.active = pass_on_twice;
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)close(client_accept(fd));
	(void)client_next(GYRE_CONNECTION_CLOSED);
	(void)client_next(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	(void)close(nobody);
}

static int try_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_context_connect(ctx, "nowhere", local) == -EINVAL);
	return gyre_context_connect(ctx, to, local);
}

static void keep_active(struct gyre_handler_context *ctx)
{
	(void)ctx;
}

Test(connect_order, leaves_the_connection_where_it_was_if_nothing_else_could_be_passed_on)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = try_elsewhere;
	order_plan.active = keep_active;
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("rccaiux");
}

static int go_to_a_name(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_context_connect(ctx, order_address("localhost", open_port), local);
}

Test(connect_order, may_be_passed_on_with_a_name)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(order_closed_port(&nobody));

	order_plan.connect = go_to_a_name;
	order_connect_once(&options, fd);
	(void)close(fd);
	(void)close(nobody);
	order_expect("rcaiux");
}

static char unix_text[64];

static int go_to_a_path(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_context_connect(ctx, unix_text, local);
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
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcaiux");
}

static int come_from_three(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)local;
	return gyre_context_connect(ctx, to, "tcp://127.0.0.3:0");
}

Test(connect_order, may_be_passed_on_with_another_address_to_come_from)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = come_from_three;
	(void)client_connect(&options);
	order_expect_from(fd, "tcp://127.0.0.3:");
}

static int bind_to_two(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_context_bind(ctx, "tcp://127.0.0.2:0");
}

Test(connect_order, comes_from_where_a_handler_has_bound_it)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_plan.bind = bind_to_two;
	(void)client_connect(&options);
	order_expect_from(fd, "tcp://127.0.0.2:");
	order_finish();
	cr_expect_str_eq(order_heard.bound, "tcp://127.0.0.2:0");
	cr_expect_str_eq(order_heard.local, "tcp://127.0.0.2:0");
}

static int come_from_anywhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(strcmp(local, "tcp://127.0.0.2:0") == 0);
	return gyre_context_connect(ctx, to, NULL);
}

Test(connect_order, may_be_passed_on_without_an_address_to_come_from)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.2:0";
	order_plan.connect = come_from_anywhere;
	(void)client_connect(&options);
	order_expect_from(fd, "tcp://127.0.0.1:");
}

Test(connect_order, fails_where_an_address_is_not_the_machines)
{
	struct gyre_connect_options options = order_options(1);

	options.local = "tcp://192.0.2.1:0";
	order_expect_failure(&options, -EADDRNOTAVAIL);
	order_expect("rbcux");
}

Test(connect_order, is_for_each_connection_of_many)
{
	enum { COUNT = 20 };
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(order_closed_port(&nobody));
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
	expect(gyre_context_connect(ctx, to, local) == 0);
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
	order_expect_failure(&options, -EPERM);
	order_expect("x");
}

/* ---- closing ---- */

static void close_it(struct gyre_handler_context *ctx)
{
	gyre_context_close(ctx);
}

static void abort_it(struct gyre_handler_context *ctx)
{
	gyre_channel_abort(gyre_context_channel(ctx), -EPERM);
}

static void fail_it(struct gyre_handler_context *ctx)
{
	gyre_context_fire_exception(ctx, -EBADMSG);
}

static int close_and_bind(struct gyre_handler_context *ctx, const char *local)
{
	gyre_context_close(ctx);
	expect(gyre_context_bind(ctx, local) == -EPIPE);
	return 0;
}

static int close_and_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	gyre_context_close(ctx);
	expect(gyre_context_connect(ctx, to, local) == -EPIPE);
	return 0;
}

static int connect_and_close(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_context_connect(ctx, to, local) == 0);
	gyre_context_close(ctx);
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
	return gyre_context_connect(ctx, to, local);
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
	order_expect_failure(&options, -ECANCELED);
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
	options.connect_timeout_ns = GYRE_MILLISECONDS(500); /* it has to begin in that time */
	order_expect_failure(&options, -ETIMEDOUT);
	client_hole_close(&hole);
	order_expect("rcux");
	cr_expect_eq(order_heard.reason, -ETIMEDOUT);
}

Test(connect_order, fails_in_time_in_each_round_when_nobody_answers)
{
	enum { ROUNDS = 3 };
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &open_port));
	options = order_options(open_port);
	options.connect_timeout_ns = GYRE_MILLISECONDS(500);
	options.retries_max = ROUNDS - 1;
	options.retry_min_ns = options.retry_max_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		cr_assert_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ETIMEDOUT);
		(void)client_next(i < ROUNDS ? GYRE_CONNECTION_PAUSE : GYRE_CONNECTION_GIVEN_UP);
	}
	client_hole_close(&hole);
	order_expect("rcuxrcuxrcux");
}
