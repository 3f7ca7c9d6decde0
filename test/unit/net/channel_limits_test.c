/*
 * Limits of channels as programs set them: what all of them hold, and a client's time for a
 * handshake. test/unit/sim/patience_test.c has the times of a listener.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/inspect.h>
#include <gyre/listen.h>

#include "client_rig.h"
#include "fixture.h"

TestSuite(channel_limits, .timeout = 60);

enum { CONNECTIONS = 16, CHUNK = 65536, LIMIT = 1 << 20 };

static struct gyre_socket_address address;

static int init(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, (const struct gyre_handler *)arg, NULL);
}

static int listen_with(const struct gyre_handler *handler, const struct gyre_channel_options *of)
{
	const struct gyre_acceptor_options options = {
		.bind = "tcp://127.0.0.1:0",
		.init_channel = init,
		.init_arg = (void *)(uintptr_t)handler,
		.channel = *of,
		.ret_address = &address,
	};

	return gyre_system_listen(fixture.system, &options, NULL);
}

static void start(const struct gyre_system_options *options, const struct gyre_handler *handler,
		  const struct gyre_channel_options *of)
{
	fixture_open_with(options);
	cr_assert_eq(listen_with(handler, of), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static int connect_there(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static struct gyre_counters counters(void)
{
	struct gyre_counters now;

	cr_assert_eq(gyre_system_counters(fixture.system, &now), 0);
	return now;
}

/* ---- handshakes ---- */

static const struct gyre_channel_options a_moment = { .handshake_ns = GYRE_MILLISECONDS(20) };

Test(channel_limits, of_a_client_close_its_channel_to_a_server_that_says_nothing)
{
	struct gyre_connect_options options;
	struct gyre_connection lost;
	uint16_t port;
	int fd;

	fd = client_listen(&port);
	fixture_open(1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	options = client_options(port);
	options.channel = a_moment;
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	lost = client_next(GYRE_CONNECTION_CLOSED);
	cr_expect_eq(lost.reason, -ETIMEDOUT);
	cr_expect_eq(client_until(GYRE_CONNECTION_GIVEN_UP).reason, -ETIMEDOUT);
	fixture_close();
	(void)close(fd);
	cr_expect_eq(fixture.counters.handshake_timeouts, 1);
}

/* ---- output ---- */

static void write_too_much(struct gyre_handler_context *ctx)
{
	static const unsigned char zeros[LIMIT + 1];
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, zeros, sizeof(zeros)) == 0);
	expect(gyre_context_write(ctx, buffer) == -ENOBUFS);
}

Test(channel_limits, of_queued_output_are_counted)
{
	static const struct gyre_handler handler = { .active = write_too_much };
	const struct gyre_channel_options plain = { 0 };
	char byte;
	int fd;

	start(&(struct gyre_system_options){ .loops = 1, .write_max_bytes = LIMIT }, &handler,
	      &plain);
	fd = connect_there();
	cr_expect_leq(recv(fd, &byte, 1, 0), 0);
	(void)close(fd);
	fixture_close();
	cr_expect_eq(fixture.counters.write_max_closed, 1);
	cr_expect_eq(fixture.counters.idle_closed, 0);
}

/* ---- what is held ---- */

/* Writes as long as it may. */
static void write_on(struct gyre_handler_context *ctx)
{
	static const char bytes[CHUNK];
	struct gyre_channel *channel = gyre_context_channel(ctx);

	while (gyre_channel_is_writable(channel)) {
		struct gyre_buffer *buffer = gyre_context_buffer(ctx);

		if (buffer == NULL || gyre_buffer_append(buffer, bytes, sizeof(bytes)) < 0 ||
		    gyre_context_write(ctx, buffer) < 0) {
			break;
		}
	}
}

static void on_writability(struct gyre_handler_context *ctx, bool writable)
{
	if (writable) {
		write_on(ctx);
	}
}

static const struct gyre_handler flood = { .name = "flood",
					   .active = write_on,
					   .writability = on_writability };

static struct gyre_loop_snapshot loop_0(char **ret_text)
{
	struct gyre_loop_snapshot loop;
	struct gyre_snapshot *snapshot;
	size_t bytes;

	cr_assert_eq(gyre_system_inspect(fixture.system, &snapshot), 0);
	if (ret_text != NULL) {
		FILE *file = open_memstream(ret_text, &bytes);

		cr_assert_eq(gyre_snapshot_print(snapshot, file), 0);
		(void)fclose(file);
	}
	loop = snapshot->loops[0];
	gyre_snapshot_destroy(snapshot);
	return loop;
}

Test(channel_limits, on_what_they_hold_are_shown_and_counted)
{
	const struct gyre_channel_options usual = { 0 };
	int fds[CONNECTIONS];
	struct gyre_loop_snapshot loop;
	char *text = NULL;

	start(&(struct gyre_system_options){ .loops = 1, .channel_bytes_max = LIMIT }, &flood,
	      &usual);
	for (int i = 0; i < CONNECTIONS; i++) {
		fds[i] = connect_there();
	}
	/* It is over three quarters, and under a half, again and again until the kernel is full
	 * too. */
	do {
		free(text);
		loop = loop_0(&text);
		cr_assert_eq(loop.held_max, LIMIT);
		cr_assert_leq(loop.held_bytes, LIMIT);
	} while (!loop.held_over || loop.held_bytes <= LIMIT / 2);
	cr_expect_not_null(strstr(text, "do not read"), "%s", text);
	cr_expect_eq(counters().held_closed, 0, "handlers that heed the marks are safe");
	free(text);
	for (int i = 0; i < CONNECTIONS; i++) {
		(void)close(fds[i]);
	}
	while (loop_0(NULL).held_bytes > 0) {
		sched_yield();
	}
	cr_expect(!loop_0(NULL).held_over);
	fixture_close();
	cr_expect_geq(fixture.counters.held_periods, 1);
	cr_expect_not_null(strstr(fixture.line, "channel_bytes_max"), "%s", fixture.line);
}

Test(channel_limits, show_nothing_where_there_is_none)
{
	char *text = NULL;

	fixture_open(1);
	cr_expect_eq(loop_0(&text).held_max, 0);
	cr_expect_null(strstr(text, "channels hold"), "%s", text);
	free(text);
	fixture_close();
}
