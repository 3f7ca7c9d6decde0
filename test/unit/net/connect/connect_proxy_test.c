/*
 * Reaching a server through a proxy: a handler takes the connection over, and it is open only when
 * that one says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>
#include <gyre/tls.h>

#include "base/atomic.h"
#include "channel/tls/tls_certs.h"
#include "echo.h"
#include "net/client_rig.h"
#include "net/proxy_rig.h"

static struct proxy first;  /* the one that is connected with */
static struct proxy second; /* the one that @first is asked for, if there are two */
static struct gyre_tls_options server;
static struct gyre_tls_options tls;
static struct tls_certs certs;

static void end(void)
{
	client_end();
	if (tls.context != NULL) {
		gyre_tls_context_unref(server.context);
		gyre_tls_context_unref(tls.context);
		tls_certs_close(&certs);
	}
}

TestSuite(connect_proxy, .timeout = 60, .init = client_begin, .fini = end);

/* ---- behind the proxy's handler ---- */

static void on_active(struct gyre_handler_context *ctx)
{
	trace('a');
	gyre_context_fire_active(ctx);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	trace('i');
	gyre_context_fire_inactive(ctx);
}

static const struct gyre_handler behind = { .active = on_active, .inactive = on_inactive };

static int init_client(struct gyre_channel *channel, void *arg)
{
	int r = proxy_add(channel, first.address);

	if (r == 0 && second.fd != 0) {
		r = proxy_add(channel, second.address);
	}
	if (r == 0 && tls.context != NULL) {
		r = gyre_tls_client_add(channel, GYRE_LAST, &tls);
	}
	if (r == 0) {
		r = gyre_pipeline_add(channel, GYRE_LAST, &behind, NULL);
	}
	return r == 0 ? init_echo(channel, arg) : r;
}

static void report(struct gyre_stack *stack, const struct gyre_connection *connection,
		   struct gyre_channel *channel, void *arg)
{
	if (connection->step == GYRE_CONNECTION_OPEN) {
		trace('o');
	}
	client_report(stack, connection, channel, arg);
}

static struct gyre_connect_options options_for(uint16_t port)
{
	struct gyre_connect_options options = client_options(port);

	options.init_channel = init_client;
	options.report = report;
	return options;
}

/* ---- success ---- */

Test(connect_proxy, reaches_a_server_through_it)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for(port);
	struct gyre_connection open;

	proxy_open(&first);
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	open = client_next(GYRE_CONNECTION_OPEN);
	cr_expect_neq(gyre_socket_address_port(&open.address), port,
		      "it is connected with the proxy");
	cr_expect_eq(client_next(GYRE_CONNECTION_CLOSED).reason, 0);
	proxy_close(&first);
	(void)close(fd);
	cr_expect_str_eq(traced, "oai", "open when those behind it are told");
	cr_expect_str_eq(first.asked_host, "127.0.0.1");
	cr_expect_eq(first.asked_port, port);
}

Test(connect_proxy, leaves_it_to_the_proxy_to_look_up_a_name)
{
	int fd = client_listen(&first.target);
	struct gyre_connect_options options = options_for(0);

	options.to = "tcp://server.invalid:80";
	proxy_open(&first);
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)client_next(GYRE_CONNECTION_CLOSED);
	proxy_close(&first);
	(void)close(fd);
	cr_expect_str_eq(first.asked_host, "server.invalid");
	cr_expect_eq(first.asked_port, 80);
}

Test(connect_proxy, reaches_a_server_through_two)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for(port);

	proxy_open(&first);
	proxy_open(&second);
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)client_next(GYRE_CONNECTION_CLOSED);
	proxy_close(&first);
	proxy_close(&second);
	(void)close(fd);
	cr_expect_str_eq(traced, "oai");
	cr_expect_neq(first.asked_port, port, "the first is asked for the second");
	cr_expect_eq(second.asked_port, port, "which is asked for the server");
}

static void write_early(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *early = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(early, "early", 5) == 0);
	expect(gyre_context_write(ctx, early) == 0);
	gyre_context_fire_registered(ctx);
}

static const struct gyre_handler writer = { .registered = write_early };

static int init_writer(struct gyre_channel *channel, void *arg)
{
	int r = proxy_add(channel, first.address);

	(void)arg;
	return r == 0 ? gyre_pipeline_add(channel, GYRE_LAST, &writer, NULL) : r;
}

Test(connect_proxy, sends_what_was_written_before_when_the_way_is_free)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for(port);
	char bytes[6] = "";
	int connection;

	options.init_channel = init_writer;
	proxy_open(&first);
	(void)client_connect(&options);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_eq(recv(connection, bytes, 5, MSG_WAITALL), 5);
	cr_expect_str_eq(bytes, "early");
	(void)close(connection);
	(void)client_until(GYRE_CONNECTION_CLOSED);
	proxy_close(&first);
	(void)close(fd);
}

/* ---- failure ---- */

static void expect_failures(enum proxy_manner manner, int reason)
{
	struct gyre_connect_options options = options_for(1);

	first.manner = manner;
	options.retries_max = 1;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	options.connect_timeout_ns = manner == PROXY_IS_SILENT ? GYRE_MILLISECONDS(100) : 0;
	proxy_open(&first);
	(void)client_connect(&options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, reason);
	cr_expect_eq(client_next(GYRE_CONNECTION_PAUSE).failures, 1);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, reason);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).failures, 2);
	proxy_close(&first);
	cr_expect_str_eq(traced, "", "nobody behind it has heard of it");
}

Test(connect_proxy, fails_like_any_other_when_it_refuses)
{
	expect_failures(PROXY_REFUSES, -ECONNREFUSED);
}

Test(connect_proxy, fails_like_any_other_when_the_server_is_not_there)
{
	expect_failures(PROXY_SERVES, -ECONNREFUSED);
}

Test(connect_proxy, fails_like_any_other_when_it_is_silent_for_too_long)
{
	expect_failures(PROXY_IS_SILENT, -ETIMEDOUT);
}

Test(connect_proxy, fails_like_any_other_when_it_is_none)
{
	expect_failures(PROXY_TALKS_NONSENSE, -EPROTO);
}

Test(connect_proxy, fails_like_any_other_when_it_closes)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = options_for(1);
	struct gyre_connection report;
	unsigned char greeting[3];
	int connection;

	(void)snprintf(first.address, sizeof(first.address), "tcp://127.0.0.1:%u", (unsigned)port);
	(void)client_connect(&options);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_eq(recv(connection, greeting, sizeof(greeting), MSG_WAITALL), 3);
	(void)close(connection); /* in good order: all was read */
	report = client_next(GYRE_CONNECTION_FAILED);
	cr_expect_eq(report.reason, -ECONNABORTED);
	cr_expect_eq(gyre_socket_address_port(&report.address), port);
	(void)client_next(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	cr_expect_str_eq(traced, "");
}

Test(connect_proxy, can_be_stopped_while_it_is_silent)
{
	struct gyre_connect_options options = options_for(1);
	struct gyre_address actor;

	first.manner = PROXY_IS_SILENT;
	proxy_open(&first);
	options.connect_timeout_ns = GYRE_FOREVER;
	actor = client_connect(&options);
	client_stop(actor);
	(void)client_connect(&options); /* the end of the system stops this one */
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	proxy_close(&first);
	cr_expect_str_eq(traced, "");
}

/* ---- with TLS ---- */

static char subject[64];
static char name[64];
static uint32_t sessions;

static void on_session(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	const struct gyre_tls_session *session = (const struct gyre_tls_session *)event;

	if (type->id != GYRE_ID(gyre_tls_session)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	if (ctx->arg != NULL) {
		(void)snprintf(name, sizeof(name), "%s", session->server_name);
	} else {
		(void)snprintf(subject, sizeof(subject), "%s", session->peer_subject);
	}
	(void)gy_fetch_add(&sessions, 1);
}

static void on_echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	if (ctx->arg != NULL) {
		(void)gyre_context_write(ctx, data);
		return;
	}
	trace('e');
	gyre_buffer_destroy(data);
	gyre_context_close(ctx);
}

static void say_something(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer;

	if (ctx->arg == NULL) {
		buffer = gyre_context_buffer(ctx);
		expect(gyre_buffer_append(buffer, "x", 1) == 0);
		expect(gyre_context_write(ctx, buffer) == 0);
	}
}

static const struct gyre_handler secret = { .event = on_session,
					    .read = on_echo,
					    .active = say_something };

static int init_secret_server(struct gyre_channel *channel, void *arg)
{
	int r = gyre_tls_server_add(channel, GYRE_LAST, arg);

	return r == 0 ? gyre_pipeline_add(channel, GYRE_LAST, &secret, arg) : r;
}

static int init_secret_client(struct gyre_channel *channel, void *arg)
{
	int r = first.fd == 0 ? 0 : proxy_add(channel, first.address);

	if (r == 0) {
		r = gyre_tls_client_add(channel, GYRE_LAST, arg);
	}
	return r == 0 ? gyre_pipeline_add(channel, GYRE_LAST, &secret, NULL) : r;
}

static void expect_secret(bool proxied)
{
	struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
						   .init_channel = init_secret_server };
	struct gyre_connect_options options = options_for(0);
	struct gyre_tls_context_options context = { 0 };

	tls_certs_open(&certs);
	context.certificate = certs.server.certificate;
	context.key = certs.server.key;
	cr_assert_eq(gyre_tls_context_create(NULL, &context, &server.context), 0);
	context = (struct gyre_tls_context_options){ .ca = certs.ca.certificate };
	cr_assert_eq(gyre_tls_context_create(NULL, &context, &tls.context), 0);
	tls.server_name = "localhost";
	listening.init_arg = &server;
	listening.ret_port = &first.target;
	cr_assert_eq(gyre_system_listen(fixture.system, &listening, NULL), 0);
	if (proxied) {
		proxy_open(&first);
	}
	options = options_for(first.target);
	options.init_channel = init_secret_client;
	options.init_arg = &tls;
	(void)client_connect(&options);
	cr_expect_eq(client_until(GYRE_CONNECTION_CLOSED).reason, 0);
	if (proxied) {
		proxy_close(&first);
	}
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_expect_eq(sessions, 2);
	cr_expect_str_eq(subject, "CN=server");
	cr_expect_str_eq(name, "localhost");
	cr_expect_str_eq(traced, "oe");
}

Test(connect_proxy, is_not_noticed_by_tls)
{
	expect_secret(true);
}

Test(connect_proxy, is_not_needed_by_tls)
{
	expect_secret(false);
}
