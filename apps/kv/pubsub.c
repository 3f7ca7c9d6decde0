/*
 * Publishing, on gyre's event stream: a client subscribes to the key of a channel or a pattern of
 * its own loop, and what is published there reaches it, as shared bytes that are in memory once.
 * The stream knows nothing of patterns, so each shard counts the names that its clients are
 * subscribed to. What is published goes to every shard in the order of the publisher's commands,
 * and each publishes it under its own keys.
 */
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum { CHANNELS = 0, PATTERNS = 1 }; /* the variants of commands */

struct topic {
	uint16_t shard;
	uint16_t kind;
	char name[GYRE_EVENT_KEY_BYTES_MAX - 2 * sizeof(uint16_t)];
};

static struct gyre_event_key topic_of(struct topic *topic, const struct shard *shard, int kind,
				      struct slice name)
{
	topic->shard = (uint16_t)shard->index;
	topic->kind = (uint16_t)kind;
	memcpy(topic->name, name.bytes, name.count);
	return (struct gyre_event_key){ topic,
					(uint32_t)(offsetof(struct topic, name) + name.count) };
}

static bool is_too_long(struct slice name)
{
	return name.count > sizeof(((struct topic *)NULL)->name);
}

/* ---- publishing ---- */

struct publication {
	struct call *call;
	int64_t receivers;
};

static void publish_to(struct publication *publication, int kind, struct slice name)
{
	const struct call *call = publication->call;
	struct text text = { 0 };
	struct gyre_bytes *bytes;
	struct topic topic;
	int count;

	reply_text(&text, kind == PATTERNS ? "4\r\n$8\r\npmessage\r\n" : "3\r\n$7\r\nmessage\r\n");
	if (kind == PATTERNS) {
		reply_bulk(&text, name);
	}
	reply_bulk(&text, call->args[1]);
	reply_bulk(&text, call->args[2]);
	bytes = text.failed ? NULL : gyre_bytes_create(text.bytes, text.count);
	free(text.bytes);
	count = bytes == NULL ? 0
			      : gyre_publish(call->stack, gyre_new(call->stack, published, bytes),
					     topic_of(&topic, call->shard, kind, name));
	publication->receivers += count > 0 ? count : 0;
}

static void publish_if_it_matches(struct item *pattern, void *arg)
{
	struct publication *publication = (struct publication *)arg;

	if (glob_match(item_key(pattern), publication->call->args[1])) {
		publish_to(publication, PATTERNS, item_key(pattern));
	}
}

static void publish(struct call *call)
{
	struct publication publication = { .call = call };
	struct item **names = call->shard->names;
	struct slice channel = call->args[1];

	if (*tree_find(&names[CHANNELS], (double)hash_of(channel), channel) != NULL) {
		publish_to(&publication, CHANNELS, channel);
	}
	tree_visit(names[PATTERNS], 0, tree_count(names[PATTERNS]), false, publish_if_it_matches,
		   &publication);
	reply_head(call->out, ':', publication.receivers);
}

/* ---- subscribing ---- */

size_t client_subscriptions(const struct client *client)
{
	return tree_count(client->names[0]) + tree_count(client->names[1]);
}

static void reply_subscribed(const struct call *call, struct slice name)
{
	reply_head(call->out, call->out->resp3 ? '>' : '*', 3);
	reply_string(call->out, call->command->name);
	if (name.bytes == NULL) {
		reply_null(call->out);
	} else {
		reply_bulk(call->out, name);
	}
	reply_head(call->out, ':', (int64_t)client_subscriptions(call->client));
}

/* Counts the clients of a shard that are subscribed to a name. */
static bool count_name(struct shard *shard, int kind, struct slice name, uint64_t change)
{
	double hash = (double)hash_of(name);
	const struct item *item = *tree_find(&shard->names[kind], hash, name);
	uint64_t count = 0;

	if (item != NULL) {
		memcpy(&count, item_value(item).bytes, sizeof(count));
	}
	count += change;
	if (count == 0) {
		tree_remove(&shard->names[kind], hash, name);
		return true;
	}
	return tree_put(&shard->names[kind], hash, name,
			(struct slice){ (const char *)&count, sizeof(count) }) != NULL;
}

static void unsubscribe_from(struct client *client, int kind, struct slice name)
{
	double hash = (double)hash_of(name);
	struct topic topic;

	if (*tree_find(&client->names[kind], hash, name) != NULL) {
		(void)gyre_unsubscribe(gyre_context_stack(client->ctx), &gyre_type_published,
				       topic_of(&topic, client->shard, kind, name));
		(void)count_name(client->shard, kind, name, UINT64_MAX);
		tree_remove(&client->names[kind], hash, name);
	}
}

static bool subscribe_to(struct client *client, int kind, struct slice name)
{
	const struct gyre_subscribe_options options = { .waiting_max = PUSHES_MAX };
	double hash = (double)hash_of(name);
	struct topic topic;

	if (*tree_find(&client->names[kind], hash, name) != NULL) {
		return true;
	}
	if (!count_name(client->shard, kind, name, 1)) {
		return false;
	}
	if (tree_put(&client->names[kind], hash, name, SLICE("")) == NULL) {
		(void)count_name(client->shard, kind, name, UINT64_MAX);
		return false;
	}
	if (gyre_subscribe(gyre_context_stack(client->ctx), &gyre_type_published,
			   topic_of(&topic, client->shard, kind, name), &options) < 0) {
		unsubscribe_from(client, kind, name);
		return false;
	}
	return true;
}

static void subscribe(struct call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		if (is_too_long(call->args[i])) {
			(void)call_refuse(call, "-ERR the name of a channel is too long\r\n");
			return;
		}
		if (!subscribe_to(call->client, call->command->variant, call->args[i])) {
			(void)call_refuse(call, OUT_OF_MEMORY);
			return;
		}
		reply_subscribed(call, call->args[i]);
	}
}

static void unsubscribe(struct call *call)
{
	int kind = call->command->variant;
	struct item **own = &call->client->names[kind];

	for (size_t i = 1; i < call->count; i++) {
		unsubscribe_from(call->client, kind, call->args[i]);
		reply_subscribed(call, call->args[i]);
	}
	if (call->count == 1 && *own == NULL) {
		reply_subscribed(call, (struct slice){ NULL, 0 });
	}
	while (call->count == 1 && *own != NULL) {
		struct item *name = item_create(0, item_key(*own), 0);

		if (name == NULL) {
			(void)call_refuse(call, OUT_OF_MEMORY);
			return;
		}
		unsubscribe_from(call->client, kind, item_key(name));
		reply_subscribed(call, item_key(name));
		item_destroy(name);
	}
}

/* Of a client whose actor ends, and with that its subscriptions. */
void client_unsubscribe(struct client *client)
{
	for (int kind = 0; kind < 2; kind++) {
		while (client->names[kind] != NULL) {
			struct item *name = tree_take(&client->names[kind], 0);

			(void)count_name(client->shard, kind, item_key(name), UINT64_MAX);
			item_destroy(name);
		}
	}
}

const struct command pubsub_commands[] = {
	{ "psubscribe", subscribe, -2, UNQUEUED | SUBSCRIBED | ALONE, 0, NONE, RUN, PATTERNS },
	{ "publish", publish, 3, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "punsubscribe", unsubscribe, -1, UNQUEUED | SUBSCRIBED | ALONE, 0, NONE, RUN, PATTERNS },
	{ "subscribe", subscribe, -2, UNQUEUED | SUBSCRIBED | ALONE, 0, NONE, RUN, CHANNELS },
	{ "unsubscribe", unsubscribe, -1, UNQUEUED | SUBSCRIBED | ALONE, 0, NONE, RUN, CHANNELS },
	{ 0 },
};
