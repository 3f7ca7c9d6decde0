/*
 * Commands about the server and the connection.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv.h"

#define REDIS_VERSION "7.0.0" /* whose commands clients may expect */

static const char *ping(struct call *call)
{
	if (call->count > 2) {
		return refuse_count(call);
	}
	if (call->client != NULL && !call->out->resp3 && client_names(call->client) > 0) {
		(void)reply_text(call->out, "*2\r\n$4\r\npong\r\n");
		return reply_bulk(call->out, call->count > 1 ? call->args[1] : SLICE(""));
	}
	return call->count > 1 ? reply_bulk(call->out, call->args[1]) : "+PONG\r\n";
}

static const char *echo(struct call *call)
{
	return reply_bulk(call->out, call->args[1]);
}

/* Names have no spaces, so that lists of clients stay readable. */
static const char *set_name(struct client *client, struct slice name)
{
	bool is_good = name.count < sizeof(client->name);

	for (size_t i = 0; i < name.count; i++) {
		is_good = is_good && name.bytes[i] >= '!' && name.bytes[i] <= '~';
	}
	if (!is_good) {
		return "-ERR Client names cannot contain spaces, newlines or special "
		       "characters.\r\n";
	}
	*(char *)mempcpy(client->name, name.bytes, name.count) = '\0';
	return OK;
}

static const char *hello(struct call *call)
{
	int64_t version = call->out->resp3 ? 3 : 2;
	char text[256];

	if (call->count > 1 && !slice_integer(call->args[1], &version)) {
		return "-ERR Protocol version is not an integer or out of range\r\n";
	}
	if (version < 2 || version > 3) {
		return "-NOPROTO unsupported protocol version\r\n";
	}
	for (size_t i = 2; i < call->count; i += 2) {
		const char *reply;

		if (!slice_is(call->args[i], "setname") || i + 1 == call->count) {
			return reply_format(call->out, "-ERR Syntax error in HELLO option '%.*s'",
					    SHOWN(call->args[i]));
		}
		reply = set_name(call->client, call->args[i + 1]);
		if (*reply == '-') {
			return reply;
		}
	}
	call->out->resp3 = call->client->resp3 = version == 3;
	(void)snprintf(text, sizeof(text),
		       "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n" REDIS_VERSION
		       "\r\n$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%zu\r\n$4\r\nmode\r\n$10\r\n"
		       "standalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
		       (int)version, (size_t)call->client->id);
	(void)reply_list(call->out, '%', 14);
	return reply_text(call->out, text);
}

static const char *refuse_part(const struct call *call, const char *name)
{
	return reply_format(call->out,
			    "-ERR unknown subcommand or wrong number of arguments for '%.*s'. Try "
			    "%s HELP.",
			    SHOWN(call->args[1]), name);
}

static const char *client(struct call *call)
{
	struct slice what = call->args[1];

	if (slice_is(what, "id") && call->count == 2) {
		return reply_head(call->out, ':', (int64_t)call->client->id);
	}
	if (slice_is(what, "getname") && call->count == 2) {
		return reply_string(call->out, call->client->name);
	}
	if (slice_is(what, "setname") && call->count == 3) {
		return set_name(call->client, call->args[2]);
	}
	return refuse_part(call, "CLIENT");
}

/* redis-benchmark asks how its server is configured, and is content with nothing. */
static const char *config(struct call *call)
{
	if (!slice_is(call->args[1], "get")) {
		return refuse_part(call, "CONFIG");
	}
	(void)reply_list(call->out, '%', 2);
	(void)reply_bulk(call->out, call->args[2]);
	return "$0\r\n\r\n";
}

/* Clients ask for a list of the commands, and do without. */
static const char *command(struct call *call)
{
	(void)call;
	return "*0\r\n";
}

/* The memory is that of the last ticks. */
static const char *info(struct call *call)
{
	const struct kv *kv = call->shard->kv;
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "# Server\r\nredis_version:" REDIS_VERSION "\r\nredis_mode:standalone\r\n"
		       "gyre_loops:%zu\r\nprocess_id:%d\r\n\r\n"
		       "# Clients\r\nconnected_clients:%zu\r\n\r\n"
		       "# Memory\r\nused_memory:%zu\r\nmaxmemory:%zu\r\n\r\n"
		       "# Stats\r\ntotal_connections_received:%zu\r\n"
		       "total_commands_processed:%zu\r\nexpired_keys:%zu\r\n\r\n"
		       "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"
		       "# Keyspace\r\ndb0:keys=%zu,expires=%zu,avg_ttl=0\r\n",
		       (size_t)kv->loops, (int)getpid(), kv_sum(kv, CLIENTS), kv_sum(kv, MEMORY),
		       (size_t)kv->memory_max, kv_sum(kv, CONNECTIONS), kv_sum(kv, COMMANDS),
		       kv_sum(kv, EXPIRED), kv_sum(kv, KEYS), kv_sum(kv, EXPIRING));
	return reply_string(call->out, text);
}

const struct command server_commands[] = {
	{ "ping", ping, -1, SUBSCRIBED, NONE, RUN, 0 },
	{ "client", client, -2, UNQUEUED, NONE, RUN, 0 },
	{ "command", command, -1, 0, NONE, RUN, 0 },
	{ "config", config, 3, 0, NONE, RUN, 0 },
	{ "echo", echo, 2, 0, NONE, RUN, 0 },
	{ "hello", hello, -1, UNQUEUED | ALONE, NONE, RUN, 0 },
	{ "info", info, -1, 0, NONE, RUN, 0 },
	{ 0 },
};
