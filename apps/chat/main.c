/*
 * The program gyre-chat: its options, a group that all rooms join, and a place to listen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options.h"
#include "chat.h"

struct settings {
	const char *bind;
	const char *cpus;
	uint64_t loops;
	struct chat chat;
	char address[GYRE_SOCKET_ADDRESS_TEXT_MAX]; /* where it listens */
};

static const char usage[] =
	"usage: gyre-chat [options]\n"
	"\n"
	"A chat server: clients such as nc send lines, and see those of all in their room.\n"
	"\n"
	"  --bind ADDRESS   where to listen (tcp://[::]:7001), or unix:PATH; port 0 is any\n"
	"  --members-max N  of a room, 1 to 1000000 (1000)\n"
	"  --loops N        loops, 1 to 1024 (one for each CPU)\n"
	"  --cpus LIST      CPUs for the loops, as 0-3,8 (those allowed)\n"
	"  --help";

static enum app_parsed parse(int argc, char **argv, struct settings *settings)
{
	const struct app_option options[] = {
		{ "bind", APP_TEXT, &settings->bind, 0, 0 },
		{ "cpus", APP_TEXT, &settings->cpus, 0, 0 },
		{ "loops", APP_NUMBER, &settings->loops, 1, APP_LOOPS_MAX },
		{ "members-max", APP_NUMBER, &settings->chat.members_max, 1, 1000000 },
	};
	const struct app app = { "gyre-chat", usage, options, sizeof(options) / sizeof(*options),
				 NULL };

	return app_parse(&app, argc, argv);
}

static void print_listening(struct gyre_system *system, void *arg)
{
	(void)system;
	(void)printf("listening on %s\n", (const char *)arg);
	(void)fflush(stdout);
}

static int serve(struct gyre_system *system, struct settings *settings)
{
	const struct gyre_group_options all = { .routing = GYRE_ROUTING_ALL };
	struct gyre_socket_address address;
	const struct gyre_acceptor_options options = {
		.bind = settings->bind,
		.init_channel = init_connection,
		.init_arg = &settings->chat,
		.actor_class = &session_class,
		.channel = { .manual_read = true, .allow_half_close = true },
		.ret_address = &address,
	};
	int r = gyre_system_group_create(system, &all, &settings->chat.rooms);

	if (r == 0) {
		r = gyre_system_listen(system, &options, NULL);
	}
	if (r == 0) {
		r = gyre_socket_address_format(&address, sizeof(settings->address),
					       settings->address);
	}
	return r < 0 ? r : gyre_system_run(system);
}

int main(int argc, char **argv)
{
	struct settings settings = { .bind = "tcp://[::]:7001", .chat = { .members_max = 1000 } };
	enum app_parsed parsed = parse(argc, argv, &settings);
	struct gyre_system *system = NULL;
	struct gyre_system_options options = { 0 };
	int r;

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	options.loops = (uint32_t)settings.loops;
	options.cpus = settings.cpus;
	options.started = print_listening;
	options.started_arg = settings.address;
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = serve(system, &settings);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
