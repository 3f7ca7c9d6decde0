/*
 * The program gyre-chat: its options, a group that all rooms join, a porter who knows where they
 * are, and a place to listen.
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
	bool quiet;
	struct chat chat;
	struct node_settings node;
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
	"  --quiet          log errors alone, and do not say where it listens\n"
	"  --help\n"
	"\n"
	"Several servers can be nodes, whose clients meet in the same rooms. Each room lives on\n"
	"one of them. While nodes cannot reach each other, each part has rooms of its own; when\n"
	"they can again, those of one name become one. What is said while a room moves may be\n"
	"lost.\n"
	"\n"
	"  --node ID        the id of this node, unique in its cluster, 1 to 65535\n"
	"  --listen ADDRESS where other nodes reach this one, as tcp://127.0.0.1:9001\n"
	"  --peers LIST     the others, at most 63, as 2=tcp://127.0.0.1:9002, with commas\n"
	"  --cluster NAME   which nodes must agree in (gyre)\n"
	"  --secret TEXT    which nodes must share, as `openssl rand -hex 32` makes it; links are\n"
	"                   encrypted. Without it nodes listen on the loopback device alone\n"
	"  --no-encryption  the secret is proved only, and links go on in the clear\n"
	"  --down-ms N      silence after which a node is down, 100 to 600000 (10000)";

static enum app_parsed parse(int argc, char **argv, struct settings *settings)
{
	const struct app_option options[] = {
		{ "bind", APP_TEXT, &settings->bind, 0, 0 },
		{ "cluster", APP_TEXT, &settings->node.cluster, 0, 0 },
		{ "cpus", APP_TEXT, &settings->cpus, 0, 0 },
		{ "down-ms", APP_NUMBER, &settings->node.down_ms, 100, 600000 },
		{ "listen", APP_TEXT, &settings->node.listen, 0, 0 },
		{ "loops", APP_NUMBER, &settings->loops, 1, APP_LOOPS_MAX },
		{ "members-max", APP_NUMBER, &settings->chat.members_max, 1, 1000000 },
		{ "no-encryption", APP_FLAG, &settings->node.no_encryption, 0, 0 },
		{ "node", APP_NUMBER, &settings->node.id, 1, UINT16_MAX },
		{ "peers", APP_TEXT, &settings->node.peers_text, 0, 0 },
		{ "quiet", APP_FLAG, &settings->quiet, 0, 0 },
		{ "secret", APP_TEXT, &settings->node.secret, 0, 0 },
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
	struct chat *chat = &settings->chat;
	int r = gyre_system_group_create(system, &all, &chat->rooms);

	if (r == 0) {
		r = gyre_system_spawn(system, &porter_class, gyre_system_new(system, hiring, chat),
				      NULL, &chat->porter);
	}
	if (r == 0) {
		r = gyre_system_listen(system, &options, NULL);
	}
	if (r == 0) {
		r = gyre_socket_address_format(&address, sizeof(settings->address),
					       settings->address);
	}
	return r < 0 ? r : gyre_system_run(system);
}

static int run(struct settings *settings, const struct gyre_node_options *node)
{
	const struct gyre_system_options options = {
		.loops = (uint32_t)settings->loops,
		.cpus = settings->cpus,
		.node = node,
		.log_level = settings->quiet ? GYRE_LOG_ERROR : GYRE_LOG_DEFAULT,
		.started = settings->quiet ? NULL : print_listening,
		.started_arg = settings->address,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	if (r == 0) {
		r = serve(system, settings);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct settings settings = { .bind = "tcp://[::]:7001",
				     .chat = { .members_max = 1000 },
				     .node = { .down_ms = 10000 } };
	struct gyre_node_options node = { 0 };
	enum app_parsed parsed = parse(argc, argv, &settings);

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (settings.node.id == 0) {
		if (settings.node.listen != NULL || settings.node.peers_text != NULL ||
		    settings.node.secret != NULL || settings.node.cluster != NULL) {
			(void)fputs("gyre-chat: --listen, --peers, --secret and --cluster are of a "
				    "node: give its --node\n",
				    stderr);
			return EXIT_FAILURE;
		}
		return run(&settings, NULL);
	}
	settings.chat.node = settings.node.id;
	return make_node(&settings.node, &node) ? run(&settings, &node) : EXIT_FAILURE;
}
