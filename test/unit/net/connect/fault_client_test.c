/*
 * What servers, and the lack of descriptors, do to connections that we make: each is reported as
 * closed, once, with its reason.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "net/client_rig.h"

TestSuite(client_fault, .timeout = 60);

enum { MUCH = 900000 };

/* What the client does when it is connected. */
enum deed { NOTHING, SHUT_DOWN, CLOSE, WRITE_MUCH, WRITE_MUCH_AND_CLOSE, WRITE_AND_SHUT_DOWN };

static int descriptors;
static enum deed the_deed; /* it is looked at until the system has ended */

static void begin(void)
{
	descriptors = descriptors_open();
	fixture_open_with(
		&(struct gyre_system_options){ .loops = 2, .linger_ns = GYRE_SECONDS(30) });
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void end(void)
{
	fixture_close();
	must_hold(descriptors_open() == descriptors, "none is left");
}

/* ---- the client ---- */

static void write_bytes(struct gyre_handler_context *ctx, size_t count)
{
	static const unsigned char bytes[MUCH];
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, bytes, count) == 0);
	(void)gyre_context_write(ctx, buffer);
}

static void on_active(struct gyre_handler_context *ctx)
{
	enum deed deed = *(enum deed *)gyre_context_arg(ctx);

	if (deed == WRITE_MUCH || deed == WRITE_MUCH_AND_CLOSE) {
		write_bytes(ctx, MUCH);
	} else if (deed == WRITE_AND_SHUT_DOWN) {
		write_bytes(ctx, 5);
	}
	if (deed == SHUT_DOWN || deed == WRITE_AND_SHUT_DOWN) {
		gyre_context_shutdown(ctx);
	} else if (deed == CLOSE || deed == WRITE_MUCH_AND_CLOSE) {
		gyre_context_close(ctx);
	}
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	if (*(enum deed *)gyre_context_arg(ctx) == NOTHING) {
		(void)gyre_context_write(ctx, data);
	} else {
		trace('r');
		gyre_buffer_destroy(data);
	}
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	(void)event;
	if (type->id == GYRE_ID(gyre_input_closed)) {
		write_bytes(ctx, MUCH);
		gyre_context_close(ctx);
	}
}

static int init(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = {
		.name = "client", .active = on_active, .read = on_read, .event = on_event
	};

	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

static struct gyre_connect_options options_of(uint16_t port, enum deed deed)
{
	struct gyre_connect_options options = client_options(port);

	options.init_channel = init;
	options.init_arg = &the_deed;
	the_deed = deed;
	return options;
}

/* ---- the server ---- */

static void reset(int fd)
{
	const struct linger none = { .l_onoff = 1 };

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	cr_assert_eq(close(fd), 0);
}

/* Reads so many bytes, or to the end for UINT64_MAX; returns how many there were. */
static uint64_t read_bytes(int fd, uint64_t count)
{
	unsigned char bytes[65536];
	uint64_t got = 0;
	ssize_t r = 1;

	while (r > 0 && got < count) {
		size_t most = count - got < sizeof(bytes) ? (size_t)(count - got) : sizeof(bytes);

		r = recv(fd, bytes, most, 0);
		cr_assert_geq(r, 0, "%s", strerror(errno));
		got += (uint64_t)r;
	}
	return got;
}

static int accept_on(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

static void expect_closed(int reason)
{
	cr_expect_eq(client_until(GYRE_CONNECTION_CLOSED).reason, reason);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, reason);
}

/* ---- resets ---- */

Test(client_fault, reset_before_the_server_has_accepted_is_a_reason, .init = begin, .fini = end)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, NOTHING);

	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)close(listener); /* and with it what waits in its queue */
	expect_closed(-ECONNRESET);
}

/* The server reads @until so many bytes, and resets. */
static void expect_reset(enum deed deed, uint64_t until)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, deed);
	int fd;

	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN); /* else the connect could be what fails */
	fd = accept_on(listener);
	(void)read_bytes(fd, until);
	reset(fd);
	expect_closed(-ECONNRESET);
	(void)close(listener);
}

Test(client_fault, reset_before_the_first_byte_is_a_reason, .init = begin, .fini = end)
{
	expect_reset(NOTHING, 0);
}

Test(client_fault, reset_while_a_send_is_under_way_is_a_reason, .init = begin, .fini = end)
{
	expect_reset(WRITE_MUCH, 1);
}

Test(client_fault, reset_in_a_linger_is_a_reason, .init = begin, .fini = end)
{
	expect_reset(CLOSE, UINT64_MAX);
}

Test(client_fault, reset_in_a_linger_with_output_is_a_reason, .init = begin, .fini = end)
{
	expect_reset(WRITE_MUCH_AND_CLOSE, 1);
}

Test(client_fault, reset_after_a_shutdown_is_a_reason, .init = begin, .fini = end)
{
	expect_reset(SHUT_DOWN, UINT64_MAX);
}

Test(client_fault, reset_in_the_middle_of_a_request_is_a_reason, .init = begin, .fini = end)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, NOTHING);
	int fd;

	(void)client_connect(&options);
	fd = client_accept(listener); /* a byte there and back */
	cr_assert_eq(send(fd, "half", 4, MSG_NOSIGNAL), 4);
	reset(fd);
	expect_closed(-ECONNRESET);
	(void)close(listener);
}

Test(client_fault, reset_while_its_actor_stops_is_a_reason, .init = begin, .fini = end)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, WRITE_MUCH);
	struct gyre_address actor;
	const int small = 4096;
	int fd;

	cr_assert_eq(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	actor = client_connect(&options);
	fd = accept_on(listener);
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)read_bytes(fd, 1);
	client_stop(actor);
	reset(fd);
	cr_expect_eq(client_until(GYRE_CONNECTION_CLOSED).reason, -ECONNRESET);
	(void)close(listener);
}

/* ---- half-close ---- */

Test(client_fault, end_of_the_server_first_lets_it_read_on, .init = begin, .fini = end)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, NOTHING);
	int fd;

	options.channel.allow_half_close = true;
	(void)client_connect(&options);
	fd = accept_on(listener);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_expect_eq(read_bytes(fd, UINT64_MAX), MUCH);
	(void)close(fd);
	expect_closed(0);
	(void)close(listener);
}

Test(client_fault, end_of_the_client_first_lets_it_read_on, .init = begin, .fini = end)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, WRITE_AND_SHUT_DOWN);
	int fd;

	(void)client_connect(&options);
	fd = accept_on(listener);
	cr_expect_eq(read_bytes(fd, UINT64_MAX), 5);
	cr_assert_eq(send(fd, "answer", 6, MSG_NOSIGNAL), 6);
	(void)close(fd);
	expect_closed(0);
	cr_expect_str_eq(traced, "r");
	(void)close(listener);
}

/* ---- descriptors ---- */

Test(client_fault, lack_of_descriptors_is_waited_out, .init = begin, .fini = end)
{
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	struct rlimit before;
	struct rlimit none;

	options.retries_max = GYRE_RETRIES_UNLIMITED;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	options.retry_max_ns = GYRE_MILLISECONDS(5);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	(void)client_connect(&options);
	for (uint32_t i = 1; i <= 5; i++) {
		cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -EMFILE);
		cr_expect_eq(client_next(GYRE_CONNECTION_PAUSE).failures, i);
	}
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(client_until(GYRE_CONNECTION_OPEN).reason, 0);
	(void)close(client_accept(listener));
	(void)close(listener);
}

/* ---- the end while it connects, at any moment ---- */

Test(client_fault, stop_at_any_moment_of_connecting_loses_nothing, .init = begin, .fini = end)
{
	enum { TIMES = 100 };
	uint16_t port;
	int listener = client_listen(&port);
	struct gyre_connect_options options = options_of(port, WRITE_MUCH);
	uint32_t open = 0;

	options.report = NULL;
	for (uint32_t i = 0; i < TIMES; i++) {
		struct gyre_address actor = client_connect(&options);

		if (i % 2 == 0) {
			client_stop(actor);
			continue;
		}
		reset(accept_on(listener));
		open++;
		client_stop(actor);
	}
	cr_expect_eq(open, TIMES / 2);
	(void)close(listener);
}
