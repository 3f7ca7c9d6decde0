/*
 * Commands about the server and the connection.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv.h"

#define REDIS_VERSION "7.0.0" /* whose commands clients may expect */

static void reply_pair(struct reply *reply, const char *name, const char *value)
{
	reply_string(reply, name);
	reply_string(reply, value);
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

static void ping(struct call *call)
{
	bool pushes = call->client != NULL && !call->reply->resp3 &&
		      client_subscriptions(call->client) > 0;

	if (call->count > 2) {
		reply_error(call->reply, "ERR wrong number of arguments for 'ping' command");
	} else if (pushes) {
		reply_array(call->reply, 2);
		reply_string(call->reply, "pong");
		reply_bulk(call->reply, call->count == 2 ? call->args[1] : SLICE(""));
	} else if (call->count == 2) {
		reply_bulk(call->reply, call->args[1]);
	} else {
		reply_text(call->reply, "+PONG\r\n");
	}
}

static void echo(struct call *call)
{
	reply_bulk(call->reply, call->args[1]);
}

static void choose_database(struct call *call)
{
	int64_t index;

	if (!call_integer(call, 1, &index)) {
		return;
	}
	if (index == 0) {
		reply_ok(call->reply);
	} else {
		reply_text(call->reply, "-ERR DB index is out of range\r\n");
	}
}

static void hello(struct call *call)
{
	struct reply *reply = call->reply;
	int64_t version = reply->resp3 ? 3 : 2;

	if (call->count > 1 && !slice_integer(call->args[1], &version)) {
		reply_text(reply, "-ERR Protocol version is not an integer or out of range\r\n");
		return;
	}
	if (version < 2 || version > 3) {
		reply_text(reply, "-NOPROTO unsupported protocol version\r\n");
		return;
	}
	for (size_t i = 2; i < call->count; i += 2) {
		if (!slice_is(call->args[i], "setname") || i + 1 == call->count ||
		    !set_name(call->client, call->args[i + 1])) {
			reply_error(reply, "ERR Syntax error in HELLO option '%.*s'",
				    (int)(call->args[i].count & 63), call->args[i].bytes);
			return;
		}
	}
	reply->resp3 = version == 3;
	call->client->reply.resp3 = reply->resp3;
	reply_map(reply, 7);
	reply_pair(reply, "server", "redis");
	reply_pair(reply, "version", REDIS_VERSION);
	reply_string(reply, "proto");
	reply_integer(reply, version);
	reply_string(reply, "id");
	reply_integer(reply, (int64_t)call->client->id);
	reply_pair(reply, "mode", "standalone");
	reply_pair(reply, "role", "master");
	reply_string(reply, "modules");
	reply_array(reply, 0);
}

static void client(struct call *call)
{
	struct slice what = call->args[1];

	if (slice_is(what, "id") && call->count == 2) {
		reply_integer(call->reply, (int64_t)call->client->id);
	} else if (slice_is(what, "getname") && call->count == 2) {
		if (*call->client->name == '\0') {
			reply_null(call->reply);
		} else {
			reply_string(call->reply, call->client->name);
		}
	} else if (slice_is(what, "setname") && call->count == 3) {
		if (set_name(call->client, call->args[2])) {
			reply_ok(call->reply);
		} else {
			reply_text(call->reply, "-ERR Client names cannot contain spaces, newlines "
						"or special characters.\r\n");
		}
	} else {
		reply_error(call->reply,
			    "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try "
			    "CLIENT HELP.",
			    what.count < 128 ? (int)what.count : 128, what.bytes);
	}
}

/* What redis-benchmark and client libraries ask for. */
static void config(struct call *call)
{
	const struct kv *kv = call->shard->kv;
	char memory[24];
	char value[24];
	const char *const pairs[][2] = { { "appendonly", "no" },
					 { "databases", "1" },
					 { "maxmemory", memory },
					 { "proto-max-bulk-len", value },
					 { "save", "" } };
	bool wanted[5] = { false };
	size_t count = 0;

	if (!slice_is(call->args[1], "get") || call->count < 3) {
		reply_text(call->reply, "-ERR only CONFIG GET is supported\r\n");
		return;
	}
	(void)snprintf(memory, sizeof(memory), "%zu", (size_t)kv->memory_max);
	(void)snprintf(value, sizeof(value), "%zu", (size_t)kv->value_max);
	for (size_t i = 0; i < 5; i++) {
		struct slice name = { pairs[i][0], strlen(pairs[i][0]) };

		for (size_t j = 2; j < call->count && !wanted[i]; j++) {
			wanted[i] = glob_match(call->args[j], name);
		}
		count += wanted[i];
	}
	reply_map(call->reply, count);
	for (size_t i = 0; i < 5; i++) {
		if (wanted[i]) {
			reply_pair(call->reply, pairs[i][0], pairs[i][1]);
		}
	}
}

/* COMMAND and COMMAND COUNT; for all else there is nothing to tell. */
static void command(struct call *call)
{
	const struct command *command;
	size_t count = 0;

	for (size_t at = 0; command_next(&at) != NULL;) {
		count++;
	}
	if (call->count > 1) {
		if (slice_is(call->args[1], "count")) {
			reply_integer(call->reply, (int64_t)count);
		} else {
			reply_map(call->reply, 0);
		}
		return;
	}
	reply_array(call->reply, count);
	for (size_t at = 0; (command = command_next(&at)) != NULL;) {
		bool many = command->keys > 0 &&
			    (command->flags & (MERGE_SUM | MERGE_JOIN | MERGE_SAME)) != 0;

		reply_array(call->reply, 6);
		reply_string(call->reply, command->name);
		reply_integer(call->reply, command->arity);
		reply_set(call->reply, 0);
		reply_integer(call->reply, command->keys > 0);
		reply_integer(call->reply, command->keys == 0 ? 0 : many ? -1 : 1);
		reply_integer(call->reply, (int64_t)command->keys);
	}
}

static uint64_t sum_of(const struct kv *kv, enum figure figure)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < kv->loops; i++) {
		sum += atomic_load_explicit(&kv->shards[i]->figures[figure], memory_order_relaxed);
	}
	return sum;
}

/* The figures of other loops may be a tick old. */
static void info(struct call *call)
{
	const struct kv *kv = call->shard->kv;
	char text[1024];
	int count;

	shard_show_figures(call->shard);
	count = snprintf(text, sizeof(text),
			 "# Server\r\nredis_version:" REDIS_VERSION "\r\nredis_mode:standalone\r\n"
			 "gyre_loops:%zu\r\nprocess_id:%d\r\n\r\n"
			 "# Clients\r\nconnected_clients:%zu\r\n\r\n"
			 "# Memory\r\nused_memory:%zu\r\nmaxmemory:%zu\r\n\r\n"
			 "# Stats\r\ntotal_connections_received:%zu\r\n"
			 "total_commands_processed:%zu\r\nexpired_keys:%zu\r\n\r\n"
			 "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n# Keyspace\r\n",
			 (size_t)kv->loops, (int)getpid(), (size_t)sum_of(kv, CLIENTS),
			 (size_t)sum_of(kv, MEMORY), (size_t)kv->memory_max,
			 (size_t)sum_of(kv, CONNECTIONS), (size_t)sum_of(kv, COMMANDS),
			 (size_t)sum_of(kv, EXPIRED));
	if (sum_of(kv, KEYS) > 0) {
		count += snprintf(text + count, sizeof(text) - (size_t)count,
				  "db0:keys=%zu,expires=%zu,avg_ttl=0\r\n",
				  (size_t)sum_of(kv, KEYS), (size_t)sum_of(kv, EXPIRING));
	}
	if (call->reply->resp3) {
		reply_head(call->reply, '=', count + 4);
		reply_text(call->reply, "txt:");
		reply_text(call->reply, text);
		reply_text(call->reply, "\r\n");
	} else {
		reply_string(call->reply, text);
	}
}

const struct command server_commands[] = {
	{ "ping", ping, -1, SUBSCRIBED, 0, TYPE_NONE, RUN, 0 },
	{ "client", client, -2, CONNECTION, 0, TYPE_NONE, RUN, 0 },
	{ "command", command, -1, 0, 0, TYPE_NONE, RUN, 0 },
	{ "config", config, -2, 0, 0, TYPE_NONE, RUN, 0 },
	{ "echo", echo, 2, 0, 0, TYPE_NONE, RUN, 0 },
	{ "hello", hello, -1, CONNECTION | ALONE, 0, TYPE_NONE, RUN, 0 },
	{ "info", info, -1, 0, 0, TYPE_NONE, RUN, 0 },
	{ "select", choose_database, 2, 0, 0, TYPE_NONE, RUN, 0 },
	{ 0 },
};
