/*
 * A load generator for echo servers: many connections, each with some requests under way, over TCP,
 * UDP and Unix sockets.
 *
 * Without a rate it is a closed loop: a reply makes room for the next request, and a slow server is
 * asked less. With a rate requests have their times whatever the server does, and their latency
 * counts from those times: what waits because the server is slow counts as waiting for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options.h"
#include "load.h"

enum { CONNECTIONS_MAX = 1000000, RATE_MAX = 100000000, DATAGRAM_SIZE_MIN = 8 };

static const char usage[] =
	"usage: gyre-load ADDRESS [options]\n"
	"\n"
	"Sends requests to an echo server, and tells how many it answers a second and how fast.\n"
	"ADDRESS is tcp://HOST:PORT or unix:PATH, or for datagrams udp://HOST:PORT or\n"
	"unix+dgram:PATH, whose answers come to sockets in TMPDIR or /tmp.\n"
	"\n"
	"  --connections N  how many (50)\n"
	"  --size BYTES     of a request and its reply, 1 to 1048576 (64); datagrams 8 to 65507\n"
	"  --depth N        requests under way on each connection, at most, 1 to 1024 (1)\n"
	"  --rate N         requests a second over all connections, whose latency counts from\n"
	"                   when they are due; without it a reply makes room for the next one\n"
	"  --duration S     how long to measure (10)\n"
	"  --warmup S       how long to run before that (1)\n"
	"  --timeout S      how long connecting and a reply may take (5; for datagrams 0.2); a\n"
	"                   connection without replies is closed, a datagram is lost\n"
	"  --reconnect      make connections again that were refused or lost\n"
	"  --verify         compare every byte; a connection with a wrong one is closed\n"
	"  --loops N        loops, 1 to 1024 (one for each CPU); datagrams go from one\n"
	"  --cpus LIST      CPUs for the loops, as 0-3,8 (those allowed)\n"
	"  --json           print one JSON object, and no progress\n"
	"  --help\n"
	"\n"
	"Exit status 1 if no request was answered, or with --verify an answer was wrong.";

static enum app_parsed parse(int argc, char **argv, struct load_settings *settings)
{
	const uint64_t day_ns = GYRE_SECONDS(24 * 60 * 60);
	const struct app_option options[] = {
		{ "connections", APP_NUMBER, &settings->connections, 1, CONNECTIONS_MAX },
		{ "cpus", APP_TEXT, &settings->cpus, 0, 0 },
		{ "depth", APP_NUMBER, &settings->depth, 1, LOAD_DEPTH_MAX },
		{ "duration", APP_SECONDS, &settings->duration_ns, 1000000, day_ns },
		{ "json", APP_FLAG, &settings->json, 0, 0 },
		{ "loops", APP_NUMBER, &settings->loops, 1, APP_LOOPS_MAX },
		{ "rate", APP_NUMBER, &settings->rate, 1, RATE_MAX },
		{ "reconnect", APP_FLAG, &settings->reconnect, 0, 0 },
		{ "size", APP_NUMBER, &settings->size_bytes, 1, LOAD_SIZE_MAX },
		{ "timeout", APP_SECONDS, &settings->timeout_ns, 1000000, day_ns },
		{ "verify", APP_FLAG, &settings->verify, 0, 0 },
		{ "warmup", APP_SECONDS, &settings->warmup_ns, 0, day_ns },
	};
	const struct app app = { "gyre-load", usage, options, sizeof(options) / sizeof(*options),
				 &settings->to };

	return app_parse(&app, argc, argv);
}

static int mistake(const char *what)
{
	(void)fprintf(stderr, "gyre-load: %s; see --help\n", what);
	return -1;
}

/* Whether it can be looked up and connected to. */
static bool is_address(const struct load_settings *settings)
{
	struct gyre_socket_address address;
	int r = gyre_socket_address_parse(settings->to, &address);

	return r == 0 || r == -ENOENT;
}

/* What depends on more than one option. */
static int complete(struct load_settings *settings)
{
	if (settings->to == NULL) {
		return mistake("no ADDRESS");
	}
	settings->datagrams = gyre_socket_address_text_type(settings->to) == SOCK_DGRAM;
	if (!is_address(settings)) {
		(void)fprintf(stderr,
			      "gyre-load: \"%s\" is not tcp://HOST:PORT, udp://HOST:PORT, "
			      "unix:PATH or unix+dgram:PATH\n",
			      settings->to);
		return -1;
	}
	if (settings->timeout_ns == 0) {
		settings->timeout_ns =
			settings->datagrams ? GYRE_MILLISECONDS(200) : GYRE_SECONDS(5);
	}
	if (!settings->datagrams) {
		return 0;
	}
	if (settings->size_bytes < DATAGRAM_SIZE_MIN ||
	    settings->size_bytes > GYRE_DATAGRAM_BYTES_MAX) {
		return mistake("datagrams have 8 to 65507 bytes");
	}
	if (settings->loops > 1) {
		return mistake("datagrams go from one loop");
	}
	settings->loops = 1;
	return 0;
}

/* ---- connections ---- */

static void hear(struct gyre_stack *stack, const struct gyre_connection *connection,
		 struct gyre_channel *channel, void *arg)
{
	struct load_loop *loop = (struct load_loop *)arg;

	(void)stack;
	(void)channel;
	switch (connection->step) {
	case GYRE_CONNECTION_OPEN:
		loop->counts.settled++;
		break;
	case GYRE_CONNECTION_PAUSE:
	case GYRE_CONNECTION_GIVEN_UP:
		/* One that was lost has been counted when its channel ended. */
		if (connection->failures > 0) {
			loop->counts.settled++;
			load_count_error(loop, connection->reason);
		}
		break;
	default:
		break;
	}
}

static int connect_streams(struct gyre_system *system, struct load_loop *loop)
{
	const struct load_settings *settings = loop->settings;
	struct gyre_connect_options options = {
		.to = settings->to,
		.init_channel = load_init_stream,
		.init_arg = loop,
		/* A server that waits for its output to be read must not be waited for. */
		.channel = { .keep_reading = true, .no_linger = true },
		.connect_timeout_ns = settings->timeout_ns,
		.retries_max = settings->reconnect ? GYRE_RETRIES_UNLIMITED : 0,
		.retry_max_ns = GYRE_MILLISECONDS(200), /* what is measured is to go on */
		.report = hear,
		.report_arg = loop,
		.place = { .place = GYRE_PLACE_LOOP, .loop = loop->index },
	};
	uint32_t left = loop->connections_max;
	int r = 0;

	while (r == 0 && left > 0) {
		struct gyre_address connector;

		options.connections = left < GYRE_CONNECTIONS_MAX ? left : GYRE_CONNECTIONS_MAX;
		left -= options.connections;
		r = gyre_system_connect(system, &options, &connector);
	}
	return r;
}

static int open_datagrams(struct gyre_system *system, struct load_loop *loop)
{
	struct gyre_datagram_options options = {
		.connect = loop->settings->to,
		.init_channel = load_init_datagram,
		.init_arg = loop,
		.channel = { .keep_reading = true },
	};
	char name[LOAD_NAME_MAX];
	int r = 0;

	for (uint32_t i = 0; i < loop->connections_max && r == 0; i++) {
		options.bind = load_folder_name(loop->settings, i, name);
		r = gyre_system_datagram_open(system, &options, NULL);
	}
	return r;
}

/* ---- loops ---- */

static int start_loop(struct gyre_system *system, struct load *load, uint32_t index)
{
	const struct load_settings *settings = &load->settings;
	const struct gyre_spawn_options place = { .place = GYRE_PLACE_LOOP, .loop = index };
	struct load_loop *loop = &load->loops[index];
	uint64_t share = settings->connections / settings->loops +
			 (index < settings->connections % settings->loops);
	int r;

	loop->settings = settings;
	loop->pattern = load->pattern;
	loop->index = index;
	loop->connections_max = (uint32_t)share;
	histogram_init(&loop->latency);
	loop->connections = (struct load_connection **)calloc(share + 1, sizeof(void *));
	if (loop->connections == NULL) {
		return -ENOMEM;
	}
	r = gyre_system_spawn(system, &load_pacer_class,
			      gyre_system_new(system, load_pacer_start, loop), &place,
			      &loop->pacer);
	if (r == 0) {
		r = settings->datagrams ? open_datagrams(system, loop)
					: connect_streams(system, loop);
	}
	return r;
}

static int start(struct gyre_system *system, struct load *load)
{
	const struct gyre_spawn_options place = { .place = GYRE_PLACE_LOOP, .loop = 0 };
	struct gyre_address leader;
	int r = 0;

	load->settings.loops = gyre_system_loops(system);
	load->loops = (struct load_loop *)calloc(load->settings.loops, sizeof(*load->loops));
	load->pattern = load_pattern_create(&load->settings);
	if (load->loops == NULL || load->pattern == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < load->settings.loops && r == 0; i++) {
		r = start_loop(system, load, i);
	}
	if (r == 0) {
		r = gyre_system_spawn(system, &load_leader_class,
				      gyre_system_new(system, load_leader_start, load), &place,
				      &leader);
	}
	return r;
}

static void finish(struct load *load)
{
	for (uint64_t i = 0; load->loops != NULL && i < load->settings.loops; i++) {
		free(load->loops[i].connections);
	}
	free(load->loops);
	free(load->pattern);
}

/* ---- the program ---- */

static int run(struct gyre_system *system, struct load *load)
{
	int r = start(system, load);

	if (r < 0) {
		(void)fprintf(stderr, "gyre-load: %s: %s\n", load->settings.to, strerror(-r));
		return r;
	}
	r = gyre_system_run(system);
	/* What a server would not read until the end is of no interest. */
	if (r < 0 && r != -ETIMEDOUT) {
		return r;
	}
	for (uint64_t i = 0; i < load->settings.loops; i++) {
		histogram_merge(&load->latency, &load->loops[i].latency);
	}
	load_print_report(load);
	return load->total.requests == 0 || load->total.errors[LOAD_CORRUPT] > 0 ? -EIO : 0;
}

int main(int argc, char **argv)
{
	static struct load load = { .settings = { .connections = 50,
						  .size_bytes = 64,
						  .depth = 1,
						  .duration_ns = GYRE_SECONDS(10),
						  .warmup_ns = GYRE_SECONDS(1) } };
	enum app_parsed parsed = parse(argc, argv, &load.settings);
	struct gyre_system *system = NULL;
	/* Output is bounded by the depth. Timers are fine, and phase 3 is short, for the pacers. */
	struct gyre_system_options options = { .timer_tick_ns = 100000,
					       .min_budget_ns = 1000,
					       .steal_floor = 1000000,
					       .write_low_bytes = 1 << 29,
					       .write_high_bytes = 1 << 30,
					       .write_max_bytes = 1 << 30,
					       .drain_timeout_ns = GYRE_SECONDS(1) };
	int r;

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (complete(&load.settings) < 0) {
		return EXIT_FAILURE;
	}
	options.cpus = load.settings.cpus;
	options.loops = (uint32_t)load.settings.loops;
	histogram_init(&load.latency);
	r = load_folder_make(&load.settings);
	if (r < 0) {
		(void)fprintf(stderr, "gyre-load: no folder for sockets in TMPDIR or /tmp: %s\n",
			      strerror(-r));
	}
	if (r == 0) {
		r = gyre_system_create(&options, &system);
	}
	if (r == 0) {
		r = run(system, &load);
	}
	gyre_system_destroy(system);
	load_folder_remove(&load.settings);
	finish(&load);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
