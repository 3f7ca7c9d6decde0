/*
 * Channels as sources and sinks: a server that passes what it receives through a graph, and clients
 * that are sockets of the test.
 */
#include "graph_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/listen.h>
#include <gyre/watch.h>

enum { BYTES = 3000000 };

static unsigned char sent[BYTES];
static unsigned char received[BYTES + 1];
static size_t received_count;
static int result = 1; /* of the graph */
static bool through_boundary;
static bool resets;

/* ---- the server: an echo by way of a graph ---- */

static struct gyre_address watcher; /* which hears of the end of the graph */
static struct gyre_address served;

static void begin_graph(struct gyre_handler_context *ctx)
{
	static const struct gyre_boundary_options next = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_read_channel(graph, channel);
	struct gyre_address address;

	if (through_boundary) {
		s = gyre_stream_boundary(s, &next);
	}
	gyre_stream_write_channel(s, gyre_channel_address(channel));
	expect(gyre_graph_start(stack, graph, &(struct gyre_graph_options){ .detached = true },
				&address) == 0);
	served = gyre_channel_address(channel);
	expect(gyre_notify(stack, watcher, gyre_new(stack, place, address)) == 0);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler begin_handler = { .name = "begin", .active = begin_graph };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &begin_handler, arg);
}

static int hear_of_graph(struct gyre_stack *stack)
{
	return gyre_watch(stack, gyre_message(stack, place)->address);
}

/* The graph has ended: the channel is closed, and the test with it. */
static int hear_end(struct gyre_stack *stack)
{
	result = gyre_message(stack, gyre_terminated)->reason;
	(void)gyre_stop(stack, served);
	return fixture_end(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = hear_of_graph, .event = hear_end }
};

/* ---- the client ---- */

static uint16_t port;

static int dial(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

static void *write_all(void *arg)
{
	int fd = *(const int *)arg;
	size_t at = 0;

	while (at < BYTES) {
		ssize_t n = send(fd, sent + at, BYTES - at, MSG_NOSIGNAL);

		if (n <= 0) {
			break;
		}
		at += (size_t)n;
	}
	(void)shutdown(fd, SHUT_WR);
	return NULL;
}

static void read_all(int fd)
{
	ssize_t n = 1;

	while (n > 0 && received_count < sizeof(received)) {
		n = recv(fd, received + received_count, sizeof(received) - received_count, 0);
		received_count += n > 0 ? (size_t)n : 0;
	}
}

static void *be_client(void *arg)
{
	static const struct linger at_once = { .l_onoff = 1 };
	int fd = dial();
	pthread_t writer;

	(void)arg;
	if (resets) {
		expect(send(fd, sent, 1000, MSG_NOSIGNAL) == 1000);
		expect(recv(fd, received, sizeof(received), 0) > 0);
		expect(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
		expect(close(fd) == 0);
		return NULL;
	}
	expect(pthread_create(&writer, NULL, write_all, &fd) == 0);
	read_all(fd);
	expect(pthread_join(writer, NULL) == 0);
	expect(close(fd) == 0);
	return NULL;
}

static void play_echo(void)
{
	const struct gyre_acceptor_options options = {
		.bind = "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.channel = { .allow_half_close = true },
		.ret_port = &port,
	};
	pthread_t client;

	for (size_t i = 0; i < BYTES; i++) {
		sent[i] = (unsigned char)(i * 11 + i / 251);
	}
	(void)alarm(100);
	fixture_open(2);
	watcher = spawn_outside(&watcher_class, 0);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(pthread_create(&client, NULL, be_client, NULL), 0);
	fixture_run();
	cr_assert_eq(pthread_join(client, NULL), 0);
	fixture_close();
}

/* The watch says -ESRCH where all had gone before the watcher's loop had its first turn. */
static void assert_result(int wanted)
{
	cr_assert(result == wanted || result == -ESRCH, "%d", result);
}

Test(channel_ends, pass_on_all_bytes_until_the_peer_has_ended)
{
	play_echo();
	assert_result(0);
	cr_assert_eq(received_count, BYTES);
	cr_assert_arr_eq(sent, received, BYTES);
}

Test(channel_ends, pass_on_bytes_by_way_of_another_loop)
{
	through_boundary = true;
	play_echo();
	assert_result(0);
	cr_assert_eq(received_count, BYTES);
	cr_assert_arr_eq(sent, received, BYTES);
}

Test(channel_ends, fail_when_the_peer_resets_the_connection)
{
	resets = true;
	play_echo();
	assert_result(-ECONNRESET);
}

/* ---- graphs that end before they begin, and channels that have ended before ---- */

enum { LOOKS_MAX = 100000 };

static enum { STOPPED, NO_SUCH_LOOP, ENDED_BEFORE } manner;
static uint32_t looks;
static bool tap_is_gone;

static void start_early_or_late(struct gyre_handler_context *ctx)
{
	static const struct gyre_boundary_options nowhere = { .place = GYRE_PLACE_LOOP,
							      .loop = 99 };
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_read_channel(graph, channel);
	struct gyre_address address;

	if (manner == NO_SUCH_LOOP) {
		s = gyre_stream_boundary(s, &nowhere);
	}
	gyre_stream_each(s, NULL, NULL);
	expect(gyre_graph_start(stack, graph, &(struct gyre_graph_options){ .detached = true },
				&address) == 0);
	if (manner == STOPPED) {
		expect(gyre_stop(stack, address) == 0);
	}
	served = gyre_channel_address(channel);
	expect(gyre_notify(stack, watcher, gyre_new(stack, place, address)) == 0);
}

static void start_on_active(struct gyre_handler_context *ctx)
{
	if (manner != ENDED_BEFORE) {
		start_early_or_late(ctx);
	}
	gyre_context_fire_active(ctx);
}

/* The end of the graph may be told first: looks until the handler has gone. */
static void look_for_tap(struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);

	tap_is_gone = gyre_pipeline_get(channel, "gyre-stream") == NULL;
	if (manner != ENDED_BEFORE && !tap_is_gone && ++looks < LOOKS_MAX) {
		expect(gyre_notify(stack, served, gyre_new(stack, number, 1)) == 0);
		return;
	}
	gyre_channel_abort(channel, -ECANCELED);
	(void)fixture_end(stack);
}

static void hear_in_channel(struct gyre_handler_context *ctx, const struct gyre_type *type,
			    const void *message)
{
	if (type->id == GYRE_ID(gyre_input_closed) && manner == ENDED_BEFORE) {
		start_early_or_late(ctx);
	} else if (type->id == GYRE_ID(number)) {
		look_for_tap(ctx);
	} else {
		gyre_context_fire_event(ctx, type, message);
	}
}

static const struct gyre_handler early_handler = { .name = "early",
						   .active = start_on_active,
						   .event = hear_in_channel };

static int init_early(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &early_handler, arg);
}

static int hear_early_end(struct gyre_stack *stack)
{
	result = gyre_message(stack, gyre_terminated)->reason;
	return gyre_notify(stack, served, gyre_new(stack, number, 1));
}

static const struct gyre_class early_watcher = {
	.name = "watcher", .behaviour = { .notice = hear_of_graph, .event = hear_early_end }
};

static void *be_quiet_client(void *arg)
{
	int fd = dial();
	char byte;

	(void)arg;
	if (manner == ENDED_BEFORE) {
		expect(shutdown(fd, SHUT_WR) == 0);
	}
	(void)recv(fd, &byte, 1, 0); /* until the channel is closed */
	expect(close(fd) == 0);
	return NULL;
}

static void play_early(void)
{
	const struct gyre_acceptor_options options = {
		.bind = "tcp://127.0.0.1:0",
		.init_channel = init_early,
		.channel = { .allow_half_close = true },
		.ret_port = &port,
	};
	pthread_t client;

	(void)alarm(60);
	fixture_open(1);
	watcher = spawn_outside(&early_watcher, 0);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(pthread_create(&client, NULL, be_quiet_client, NULL), 0);
	fixture_run();
	cr_assert_eq(pthread_join(client, NULL), 0);
	fixture_close();
}

Test(channel_ends, leave_the_channel_with_a_graph_that_is_stopped_before_it_begins)
{
	manner = STOPPED;
	play_early();
	cr_assert(tap_is_gone);
}

Test(channel_ends, leave_the_channel_with_a_graph_whose_parts_cannot_be_made)
{
	manner = NO_SUCH_LOOP;
	play_early();
	cr_assert_eq(result, -EINVAL, "%d", result);
	cr_assert(tap_is_gone);
}

Test(channel_ends, have_no_bytes_of_a_peer_that_has_ended_before)
{
	manner = ENDED_BEFORE;
	play_early();
	cr_assert_eq(result, 0, "%d", result);
}
