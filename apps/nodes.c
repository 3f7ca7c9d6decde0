/*
 * Two programs that talk over a network. One serves a counter, which has a name; the other finds
 * it, watches it, and asks it again and again. Kill one of them and start it anew, and see what the
 * other is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

#include "options.h"

enum { HEARTBEATS_PER_DOWN = 10, SUSPECT_AFTER = 3 };

static const char counter_name[] = "counter";

static const char usage[] =
	"usage: gyre-nodes --node ID --listen ADDRESS [OPTION]...\n"
	"Serves a counter to other nodes; with --peer, asks that of another node instead.\n"
	"\n"
	"In one terminal:   gyre-nodes --node 1 --listen tcp://127.0.0.1:9001\n"
	"In another:        gyre-nodes --node 2 --listen tcp://127.0.0.1:9002 \\\n"
	"                       --peer tcp://127.0.0.1:9001\n"
	"\n"
	"  --node ID           the id of this node, unique in its cluster\n"
	"  --listen ADDRESS    where other nodes reach this one, as tcp://127.0.0.1:9001, or\n"
	"                      unix:/run/node.socket for those of the same machine\n"
	"  --listen-local ADDRESS  a Unix socket besides, for nodes of the same machine\n"
	"  --users ID[,ID...]  users whose processes may have links over Unix sockets, besides\n"
	"                      the own one\n"
	"  --peer ADDRESS      where the node is that has the counter, likewise\n"
	"  --peer-node ID      the id of that node; 1\n"
	"  --cluster NAME      which nodes must agree in; gyre\n"
	"  --secret TEXT       which nodes must share, as `openssl rand -hex 32` makes it; links\n"
	"                      are encrypted. A listener on an address that is not the loopback\n"
	"                      one has to have it, or TLS\n"
	"  --secret-before TEXT  the one that it takes the place of: both are taken\n"
	"  --no-encryption     the secret is proved only, and links go on in the clear\n"
	"  --tls-cert FILE     encrypts links, by this certificate in PEM\n"
	"  --tls-key FILE      its key\n"
	"  --tls-ca FILE       the CA that has to have signed the certificates of all nodes\n"
	"  --interval-ms N     between two asks; 1000\n"
	"  --down-ms N         silence after which a node is down, at least 100; 10000\n"
	"  --end-when-declared-down  exit with status 75 when another node has declared this one\n"
	"                      down; without it, take a new life and go on\n"
	"  --answers N         stop after so many; 0, the default, for no end\n"
	"  --help              this text\n";

struct settings {
	uint64_t node;
	uint64_t peer_node;
	uint64_t interval_ms;
	uint64_t down_ms;
	uint64_t answers;
	const char *listen;
	const char *listen_local;
	const char *users_text;
	uint32_t users[GYRE_NODE_USERS_MAX];
	uint32_t users_count;
	const char *peer;
	const char *cluster;
	const char *secret;
	const char *secret_before;
	bool no_encryption;
	bool end_when_declared_down;
	const char *tls_ca;
	const char *tls_cert;
	const char *tls_key;
};

/* ---- messages ---- */

struct count_one {
};
GYRE_MESSAGE(count_one, 0x300);

struct counted {
	uint64_t value;
};
GYRE_MESSAGE(counted, 0x301);

struct client_argument {
	const struct settings *settings;
};
GYRE_MESSAGE(client_argument, 0x302);

/* Its own word to begin, and to begin again. */
struct find_it {
};
GYRE_MESSAGE(find_it, 0x303);

static const struct gyre_type *const types[] = { &gyre_type_count_one, &gyre_type_counted, NULL };

static void say(const char *text)
{
	(void)puts(text);
	(void)fflush(stdout);
}

/* ---- the counter ---- */

struct counter {
	uint64_t value;
};

static int counter_ask(struct gyre_stack *stack)
{
	struct counter *self = (struct counter *)gyre_state(stack);

	return gyre_reply(stack, gyre_new(stack, counted, ++self->value));
}

static int counter_mount(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, counter_name);

	if (r < 0) {
		return gyre_throw(stack, r);
	}
	say("the counter is ready");
	return gyre_return(stack);
}

static const struct gyre_class counter_class = { .name = "counter",
						 .state_bytes = sizeof(struct counter),
						 .behaviour.ask = counter_ask,
						 .mount = counter_mount };

/* ---- the client ---- */

struct client {
	const struct settings *settings;
	struct gyre_address counter;
	uint64_t answers;
};

struct client_frame {
	struct gyre_future future;
};

static void say_state(const struct gyre_node_event *event)
{
	static const char *const states[] = {
		[GYRE_NODE_UNKNOWN] = "unknown",	 [GYRE_NODE_UP] = "up",
		[GYRE_NODE_SUSPECT] = "suspect",	 [GYRE_NODE_DOWN] = "down",
		[GYRE_NODE_QUARANTINED] = "quarantined",
	};

	printf("node %u is %s\n", event->node, states[event->state]);
	(void)fflush(stdout);
}

static void say_error(const char *what, int error)
{
	printf("%s: %s\n", what, error == 0 ? "it has stopped" : strerror(-error));
	(void)fflush(stdout);
}

static int client_event(struct gyre_stack *stack)
{
	const struct gyre_node_event *state = gyre_message(stack, gyre_node_event);
	const struct gyre_terminated *end = gyre_message(stack, gyre_terminated);

	if (state != NULL) {
		say_state(state);
	} else if (end != NULL) {
		say_error("the counter has ended", end->reason);
	}
	return gyre_return(stack);
}

/* What has come of an ask; whether there are to be more. */
static bool take_answer(struct client *self, const struct gyre_future *future)
{
	printf("the counter is %" PRIu64 "\n", gyre_future_get(future, counted)->value);
	(void)fflush(stdout);
	return ++self->answers != self->settings->answers;
}

static uint64_t pause_ns(const struct client *self)
{
	return GYRE_MILLISECONDS(self->settings->interval_ms);
}

/* Asks until that fails, and then begins again. */
static int client_notice(struct gyre_stack *stack)
{
	struct client *self = (struct client *)gyre_state(stack);
	struct client_frame *frame = (struct client_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, (uint16_t)self->settings->peer_node, counter_name,
					   0, &frame->future));
	if (gyre_future_error(&frame->future) == 0) {
		self->counter = gyre_future_get(&frame->future, gyre_node_found)->address;
		say("found the counter");
		(void)gyre_watch(stack, self->counter);
	} else {
		say_error("cannot find the counter", gyre_future_error(&frame->future));
	}
	while (gyre_future_error(&frame->future) == 0) {
		GYRE_AWAIT(stack, gyre_ask(stack, self->counter, gyre_new(stack, count_one), 0,
					   &frame->future));
		if (gyre_future_error(&frame->future) < 0) {
			say_error("the counter does not answer", gyre_future_error(&frame->future));
			break;
		}
		if (!take_answer(self, &frame->future)) {
			gyre_system_stop(gyre_system_of(stack));
			return gyre_return(stack);
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, pause_ns(self), &frame->future));
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, pause_ns(self), &frame->future));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, find_it));
	GYRE_END(stack);
}

static int client_mount(struct gyre_stack *stack)
{
	struct client *self = (struct client *)gyre_state(stack);
	int r = gyre_node_watch(stack);

	self->settings = gyre_message(stack, client_argument)->settings;
	if (r == 0) {
		r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, find_it));
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class client_class = {
	.name = "client",
	.state_bytes = sizeof(struct client),
	.frame_bytes = sizeof(struct client_frame),
	.behaviour = { .notice = client_notice, .event = client_event },
	.mount = client_mount,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- the process ---- */

static int run(struct gyre_system *system, const struct settings *settings)
{
	struct gyre_address actor;
	int r;

	if (settings->peer == NULL) {
		r = gyre_system_spawn(system, &counter_class, GYRE_NO_ARGUMENT, NULL, &actor);
	} else {
		r = gyre_system_spawn(system, &client_class,
				      gyre_system_new(system, client_argument, settings), NULL,
				      &actor);
	}
	return r < 0 ? r : gyre_system_run(system);
}

/* TLS that is half given must not leave the links in the clear. */
static bool is_tls_sound(const struct settings *settings)
{
	bool any =
		settings->tls_ca != NULL || settings->tls_cert != NULL || settings->tls_key != NULL;

	return !any || (settings->tls_cert != NULL && settings->tls_key != NULL);
}

static int make_tls(const struct settings *settings, struct gyre_tls_context **ret_tls)
{
	const struct gyre_tls_context_options options = { .certificate = settings->tls_cert,
							  .key = settings->tls_key,
							  .ca = settings->tls_ca };

	return settings->tls_cert == NULL ? 0 : gyre_tls_context_create(NULL, &options, ret_tls);
}

/* Numbers with commas between them. */
static bool read_users(struct settings *settings)
{
	const char *text = settings->users_text;
	char last = '\0';

	while (text != NULL) {
		char *end;
		unsigned long long user = strtoull(text, &end, 10);

		if (*text < '0' || *text > '9' || user >= UINT32_MAX ||
		    settings->users_count == GYRE_NODE_USERS_MAX) {
			return false;
		}
		settings->users[settings->users_count++] = (uint32_t)user;
		last = *end;
		text = last == ',' ? end + 1 : NULL;
	}
	return last == '\0';
}

static int run_node(const struct settings *settings, struct gyre_tls_context *tls)
{
	const uint64_t down_ns = GYRE_MILLISECONDS(settings->down_ms);
	const struct gyre_node_peer peers[] = { { (uint16_t)settings->peer_node, settings->peer },
						{ 0, NULL } };
	const struct gyre_node_options node = {
		.id = (uint16_t)settings->node,
		.cluster = settings->cluster,
		.listen_local = settings->listen_local,
		.listen = settings->listen,
		.peers = settings->peer == NULL ? NULL : peers,
		.types = types,
		.secret = settings->secret,
		.secret_before = settings->secret_before,
		.no_encryption = settings->no_encryption,
		.tls = tls,
		.heartbeat_ns = down_ns / HEARTBEATS_PER_DOWN,
		.suspect_ns = down_ns / HEARTBEATS_PER_DOWN * SUSPECT_AFTER,
		.down_ns = down_ns,
		.end_when_declared_down = settings->end_when_declared_down,
		.users = settings->users,
		.users_count = settings->users_count,
	};
	const struct gyre_system_options options = { .loops = 1, .node = &node };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	if (r == 0) {
		r = run(system, settings);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : r == -ESTALE ? GYRE_NODE_EXIT_DECLARED_DOWN : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct settings settings = { .peer_node = 1, .interval_ms = 1000, .down_ms = 10000 };
	const struct app_option options[] = {
		{ "node", APP_NUMBER, &settings.node, 1, UINT16_MAX },
		{ "listen", APP_TEXT, (void *)&settings.listen, 0, 0 },
		{ "listen-local", APP_TEXT, (void *)&settings.listen_local, 0, 0 },
		{ "users", APP_TEXT, (void *)&settings.users_text, 0, 0 },
		{ "peer", APP_TEXT, (void *)&settings.peer, 0, 0 },
		{ "peer-node", APP_NUMBER, &settings.peer_node, 1, UINT16_MAX },
		{ "cluster", APP_TEXT, (void *)&settings.cluster, 0, 0 },
		{ "secret", APP_TEXT, (void *)&settings.secret, 0, 0 },
		{ "secret-before", APP_TEXT, (void *)&settings.secret_before, 0, 0 },
		{ "no-encryption", APP_FLAG, &settings.no_encryption, 0, 0 },
		{ "end-when-declared-down", APP_FLAG, &settings.end_when_declared_down, 0, 0 },
		{ "tls-ca", APP_TEXT, (void *)&settings.tls_ca, 0, 0 },
		{ "tls-cert", APP_TEXT, (void *)&settings.tls_cert, 0, 0 },
		{ "tls-key", APP_TEXT, (void *)&settings.tls_key, 0, 0 },
		{ "interval-ms", APP_NUMBER, &settings.interval_ms, 1, 3600000 },
		{ "down-ms", APP_NUMBER, &settings.down_ms, 100, 600000 },
		{ "answers", APP_NUMBER, &settings.answers, 0, UINT64_MAX },
	};
	const struct app app = { .name = "gyre-nodes",
				 .usage = usage,
				 .options = options,
				 .options_count = sizeof(options) / sizeof(options[0]) };
	enum app_parsed parsed = app_parse(&app, argc, argv);
	struct gyre_tls_context *tls = NULL;
	int r;

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (settings.node == 0 || (settings.listen == NULL && settings.listen_local == NULL)) {
		(void)fputs("gyre-nodes: --node and --listen are needed; see --help\n", stderr);
		return EXIT_FAILURE;
	}
	if (!is_tls_sound(&settings)) {
		(void)fputs("gyre-nodes: TLS needs --tls-cert and --tls-key\n", stderr);
		return EXIT_FAILURE;
	}
	if (!read_users(&settings)) {
		(void)fprintf(stderr,
			      "gyre-nodes: --users %s: up to %d ids of users, with commas between "
			      "them; see `id -u`\n",
			      settings.users_text, GYRE_NODE_USERS_MAX);
		return EXIT_FAILURE;
	}
	if (make_tls(&settings, &tls) < 0) {
		return EXIT_FAILURE;
	}
	r = run_node(&settings, tls);
	gyre_tls_context_unref(tls);
	return r;
}
