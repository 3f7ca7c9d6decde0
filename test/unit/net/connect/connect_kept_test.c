/*
 * The order to connect where it is kept for a while, what may change meanwhile, what the head
 * refuses, and what is done to a channel before it is connected.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/listen.h>
#include <gyre/pipe.h>

#include "base/atomic.h"
#include "net/order_rig.h"

TestSuite(connect_kept, .timeout = 60, .init = order_begin, .fini = order_end);

static uint16_t open_port; /* where somebody listens */
static int calls;

static int go_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	return gyre_context_connect(ctx, order_address("127.0.0.1", open_port), local);
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

Test(connect_kept, may_be_kept_but_not_for_longer_than_the_round)
{
	struct gyre_connect_options options = order_options(1);

	options.connect_timeout_ns = GYRE_MILLISECONDS(50);
	order_plan.connect = keep_for_ever;
	order_expect_failure(&options, -ETIMEDOUT);
	order_expect("rux");
	cr_expect_eq(order_heard.reason, -ETIMEDOUT);
}

Test(connect_kept, is_not_given_before_that_to_bind_is_done)
{
	struct gyre_connect_options options = order_options(1);

	options.local = "tcp://127.0.0.1:0";
	options.connect_timeout_ns = GYRE_MILLISECONDS(50);
	order_plan.bind = keep_the_address;
	order_expect_failure(&options, -ETIMEDOUT);
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
	expect(gyre_context_connect(ctx, order_address("127.0.0.1", open_port), NULL) == 0);
	expect(gyre_context_connect(ctx, order_address("127.0.0.1", open_port), NULL) == -EALREADY);
}

Test(connect_kept, may_be_passed_on_when_a_timer_fires)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = keep_for_a_while;
	order_plan.timer = pass_on;
	order_connect_once(&options, fd);
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
	expect(gyre_context_bind(ctx, "tcp://127.0.0.2:0") == 0);
}

Test(connect_kept, goes_on_when_that_to_bind_is_passed_on_later)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_plan.bind = keep_the_address_for_a_while;
	order_plan.timer = pass_the_address_on;
	(void)client_connect(&options);
	order_expect_from(fd, "tcp://127.0.0.2:");
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
		(void)sched_yield();
	}
}

Test(connect_kept, may_be_passed_on_when_a_message_comes)
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

Test(connect_kept, is_given_up_when_its_channel_is_told_to_stop)
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

Test(connect_kept, ends_with_its_actor)
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
	int r = gyre_context_connect(ctx, to, local);

	gy_store_release(&is_kept, 1);
	return r;
}

Test(connect_kept, ends_with_the_system)
{
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &open_port));
	options = order_options(open_port);
	options.connect_timeout_ns = GYRE_FOREVER;
	order_plan.connect = connect_and_tell;
	(void)client_connect(&options);
	wait_until_kept();
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	client_hole_close(&hole);
	order_expect("rcux");
	cr_expect_eq(order_heard.reason, -ESHUTDOWN);
}

/* ---- what changes meanwhile ---- */

static int leave(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	gyre_context_remove(ctx);
	return gyre_context_connect(ctx, to, local);
}

Test(connect_kept, may_be_passed_on_by_a_handler_that_leaves)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = leave;
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcaiux");
}

static int leave_for_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	gyre_context_remove(ctx);
	return go_elsewhere(ctx, to, local);
}

Test(connect_kept, may_be_passed_on_elsewhere_by_a_handler_that_leaves)
{
	int fd = client_listen(&open_port);
	int nobody;
	struct gyre_connect_options options = order_options(order_closed_port(&nobody));

	order_plan.connect = leave_for_elsewhere;
	order_connect_once(&options, fd);
	(void)close(fd);
	(void)close(nobody);
	order_expect("rcaiux");
}

static int remove_near(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_pipeline_remove(gyre_context_channel(ctx), "near") == 0);
	return gyre_context_connect(ctx, to, local);
}

Test(connect_kept, does_not_come_to_one_that_was_removed)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = remove_near;
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("rx");
}

static int late_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	trace('L');
	return gyre_context_connect(ctx, to, local);
}

static const struct gyre_handler late_handler = { .name = "late", .connect = late_connect };
static const struct gyre_handler too_late_handler = { .name = "too late", .connect = late_connect };

static int add_others(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	expect(gyre_pipeline_add(channel, GYRE_FIRST, &late_handler, NULL) == 0);
	expect(gyre_pipeline_add(channel, GYRE_LAST, &too_late_handler, NULL) == 0);
	return gyre_context_connect(ctx, to, local);
}

Test(connect_kept, comes_to_those_that_were_added_nearer_to_the_head)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	order_plan.connect = add_others;
	order_connect_once(&options, fd);
	(void)close(fd);
	order_expect("rcLaiux");
}

/* ---- what the head refuses ---- */

static void ask_too_early(struct gyre_handler_context *ctx)
{
	expect(gyre_context_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EINVAL);
	expect(gyre_context_bind(ctx, "tcp://127.0.0.1:0") == -EINVAL);
}

static int bind_badly(struct gyre_handler_context *ctx, const char *local)
{
	expect(gyre_context_bind(ctx, NULL) == -EINVAL);
	expect(gyre_context_bind(NULL, local) == -EINVAL);
	expect(gyre_context_bind(ctx, "nowhere") == -EINVAL);
	expect(gyre_context_bind(ctx, "udp://127.0.0.1:0") == -EINVAL);
	expect(gyre_context_bind(ctx, "tcp://localhost:0") == -ENOENT);
	expect(gyre_context_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EINVAL);
	expect(gyre_context_bind(ctx, local) == 0);
	expect(gyre_context_bind(ctx, local) == -EALREADY);
	return 0;
}

static int connect_badly(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	expect(gyre_context_connect(ctx, NULL, local) == -EINVAL);
	expect(gyre_context_connect(NULL, to, local) == -EINVAL);
	expect(gyre_context_connect(ctx, "nowhere", local) == -EINVAL);
	expect(gyre_context_connect(ctx, "udp://127.0.0.1:1", local) == -EINVAL);
	expect(gyre_context_connect(ctx, to, "udp://127.0.0.1:1") == -EINVAL);
	expect(gyre_context_connect(ctx, to, "tcp://localhost:1") == -ENOENT);
	expect(gyre_context_bind(ctx, "tcp://127.0.0.1:0") == -EALREADY);
	expect(gyre_context_connect(ctx, to, local) == 0);
	expect(gyre_context_connect(ctx, to, local) == -EALREADY);
	return 0;
}

static void ask_too_late(struct gyre_handler_context *ctx)
{
	expect(gyre_context_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EISCONN);
	expect(gyre_context_bind(ctx, "tcp://127.0.0.1:0") == -EISCONN);
	calls++;
	gyre_context_fire_active(ctx);
}

Test(connect_kept, is_refused_by_the_head_when_it_is_wrong_and_may_come_again)
{
	int fd = client_listen(&open_port);
	struct gyre_connect_options options = order_options(open_port);

	options.local = "tcp://127.0.0.1:0";
	order_plan.registered = ask_too_early;
	order_plan.bind = bind_badly;
	order_plan.connect = connect_badly;
	order_plan.active = ask_too_late;
	order_connect_once(&options, fd);
	(void)close(fd);
	order_finish();
	cr_expect_eq(calls, 1);
}

static void ask_when_accepted(struct gyre_handler_context *ctx)
{
	ask_too_late(ctx);
	gyre_context_close(ctx);
	expect(gyre_context_connect(ctx, "tcp://127.0.0.1:1", NULL) == -EPIPE);
	expect(gyre_context_bind(ctx, "tcp://127.0.0.1:1") == -EPIPE);
}

static const struct gyre_handler asker = { .name = "asker", .active = ask_when_accepted };

static int init_asker(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &asker, arg);
}

Test(connect_kept, is_refused_where_somebody_else_has_connected)
{
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = init_asker,
							 .ret_port = &open_port };
	struct gyre_connect_options options;

	cr_assert_eq(gyre_system_listen(fixture.system, &listening, NULL), 0);
	options = client_options(open_port);
	(void)client_connect(&options);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	order_finish();
	cr_expect_eq(calls, 1);
}

Test(connect_kept, is_refused_by_a_pipe)
{
	int ends[2];
	struct gyre_pipe_options options = { .init_channel = init_asker, .no_output = true };

	cr_assert_eq(pipe(ends), 0);
	options.input_fd = ends[0];
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), 0);
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
	expect(gyre_context_write_then(ctx, some_bytes(ctx), written, NULL) == 0);
	gyre_context_flush(ctx);
	expect(gyre_channel_queued_bytes(gyre_context_channel(ctx)) == 5);
}

Test(connect_kept, leaves_what_was_written_before_to_be_sent)
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

Test(connect_kept, tells_those_who_have_written_before_that_it_has_failed)
{
	int fd;
	struct gyre_connect_options options = order_options(order_closed_port(&fd));

	order_plan.registered = write_early;
	order_expect_failure(&options, -ECONNREFUSED);
	(void)close(fd);
	order_expect("rcWux");
}

static void shut_down_early(struct gyre_handler_context *ctx)
{
	write_early(ctx);
	gyre_context_shutdown(ctx);
	expect(gyre_context_write(ctx, some_bytes(ctx)) == -EPIPE);
}

Test(connect_kept, leaves_a_shutdown_to_be_done)
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
Test(connect_kept, does_not_count_for_the_time_of_a_handshake)
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

Test(connect_kept, counts_only_connections_that_were_made)
{
	int fd;
	struct gyre_connect_options options = order_options(order_closed_port(&fd));

	options.retries_max = 3;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	order_expect("rcuxrcuxrcuxrcux");
	cr_expect_eq(fixture.counters.connected, 0);
	cr_expect_eq(fixture.counters.closed, 0);
}
