/*
 * Commands about the server and the connection.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv.h"

#define REDIS_VERSION "7.0.0" /* whose commands clients may expect */

static void ping(struct call *call)
{
	if (call->client != NULL && !call->out->resp3 && client_subscriptions(call->client) > 0) {
		reply_head(call->out, '*', 2);
		reply_string(call->out, "pong");
		reply_bulk(call->out, call->count > 1 ? call->args[1] : SLICE(""));
	} else if (call->count > 1) {
		reply_bulk(call->out, call->args[1]);
	} else {
		reply_text(call->out, "+PONG\r\n");
	}
}

static void echo(struct call *call)
{
	reply_bulk(call->out, call->args[1]);
}

static void choose_database(struct call *call)
{
	int64_t index;

	if (call_integer(call, 1, &index)) {
		reply_text(call->out, index == 0 ? "+OK\r\n" : "-ERR DB index is out of range\r\n");
	}
}

/* Names have no spaces, so that lists of clients stay readable. */
static bool set_name(struct client *client, struct slice name)
{
	for (size_t i = 0; i < name.count; i++) {
		if (name.bytes[i] < '!' || name.bytes[i] > '~') {
			return false;
		}
	}
	if (name.count >= sizeof(client->name)) {
		return false;
	}
	memcpy(client->name, name.bytes, name.count);
	client->name[name.count] = '\0';
	return true;
}

static void hello(struct call *call)
{
	struct text *out = call->out;
	int64_t version = out->resp3 ? 3 : 2;

	if (call->count > 1 && !slice_integer(call->args[1], &version)) {
		reply_text(out, "-ERR Protocol version is not an integer or out of range\r\n");
		return;
	}
	if (version < 2 || version > 3) {
		reply_text(out, "-NOPROTO unsupported protocol version\r\n");
		return;
	}
	for (size_t i = 2; i < call->count; i += 2) {
		if (!slice_is(call->args[i], "setname") || i + 1 == call->count ||
		    !set_name(call->client, call->args[i + 1])) {
			reply_error(out, "ERR Syntax error in HELLO option '%.*s'",
				    SHOWN(call->args[i]));
			return;
		}
	}
	out->resp3 = call->client->resp3 = version == 3;
	reply_list(out, '%', 14);
	reply_string(out, "server");
	reply_string(out, "redis");
	reply_string(out, "version");
	reply_string(out, REDIS_VERSION);
	reply_string(out, "proto");
	reply_head(out, ':', version);
	reply_string(out, "id");
	reply_head(out, ':', (int64_t)call->client->id);
	reply_string(out, "mode");
	reply_string(out, "standalone");
	reply_string(out, "role");
	reply_string(out, "master");
	reply_string(out, "modules");
	reply_head(out, '*', 0);
}

static void client(struct call *call)
{
	struct slice what = call->args[1];

	if (slice_is(what, "id") && call->count == 2) {
		reply_head(call->out, ':', (int64_t)call->client->id);
	} else if (slice_is(what, "getname") && call->count == 2) {
		reply_string(call->out, call->client->name);
	} else if (slice_is(what, "setname") && call->count == 3) {
		reply_text(call->out, set_name(call->client, call->args[2])
					      ? "+OK\r\n"
					      : "-ERR Client names cannot contain spaces, newlines "
						"or special characters.\r\n");
	} else {
		reply_error(call->out,
			    "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try "
			    "CLIENT HELP.",
			    SHOWN(what));
	}
}

/* What redis-benchmark asks for. */
static void config(struct call *call)
{
	bool save = call->count == 3 && slice_is(call->args[2], "save");
	bool append_only = call->count == 3 && slice_is(call->args[2], "appendonly");

	if (!slice_is(call->args[1], "get")) {
		reply_text(call->out, "-ERR only CONFIG GET is supported\r\n");
		return;
	}
	reply_list(call->out, '%', save || append_only ? 2 : 0);
	if (save || append_only) {
		reply_bulk(call->out, call->args[2]);
		reply_string(call->out, save ? "" : "no");
	}
}

/* Clients ask for a list of the commands, and do without. */
static void command(struct call *call)
{
	reply_head(call->out, '*', 0);
}

static size_t sum_of(const struct kv *kv, enum figure figure)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < kv->loops; i++) {
		sum += atomic_load_explicit(&kv->shards[i]->figures[figure], memory_order_relaxed);
	}
	return (size_t)sum;
}

/* The figures of other loops may be a tick old. */
static void info(struct call *call)
{
	const struct kv *kv = call->shard->kv;
	char text[1024];

	shard_show_figures(call->shard);
	(void)snprintf(text, sizeof(text),
		       "# Server\r\nredis_version:" REDIS_VERSION "\r\nredis_mode:standalone\r\n"
		       "gyre_loops:%zu\r\nprocess_id:%d\r\n\r\n"
		       "# Clients\r\nconnected_clients:%zu\r\n\r\n"
		       "# Memory\r\nused_memory:%zu\r\nmaxmemory:%zu\r\n\r\n"
		       "# Stats\r\ntotal_connections_received:%zu\r\n"
		       "total_commands_processed:%zu\r\nexpired_keys:%zu\r\n\r\n"
		       "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"
		       "# Keyspace\r\ndb0:keys=%zu,expires=%zu,avg_ttl=0\r\n",
		       (size_t)kv->loops, (int)getpid(), sum_of(kv, CLIENTS), sum_of(kv, MEMORY),
		       (size_t)kv->memory_max, sum_of(kv, CONNECTIONS), sum_of(kv, COMMANDS),
		       sum_of(kv, EXPIRED), sum_of(kv, KEYS), sum_of(kv, EXPIRING));
	reply_string(call->out, text);
}

const struct command server_commands[] = {
	{ "ping", ping, -1, SUBSCRIBED, 0, NONE, RUN, 0 },
	{ "client", client, -2, UNQUEUED, 0, NONE, RUN, 0 },
	{ "command", command, -1, 0, 0, NONE, RUN, 0 },
	{ "config", config, -2, 0, 0, NONE, RUN, 0 },
	{ "echo", echo, 2, 0, 0, NONE, RUN, 0 },
	{ "hello", hello, -1, UNQUEUED | ALONE, 0, NONE, RUN, 0 },
	{ "info", info, -1, 0, 0, NONE, RUN, 0 },
	{ "select", choose_database, 2, 0, 0, NONE, RUN, 0 },
	{ 0 },
};
