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

/* ---- publishing ---- */

struct publication {
	const struct call *call;
	int64_t receivers;
};

static void publish_to(struct item *topic_name, void *arg)
{
	struct publication *publication = (struct publication *)arg;
	const struct call *call = publication->call;
	struct slice name = item_key(topic_name);
	bool is_pattern = topic_name->score == PATTERNS;
	struct text text = { 0 };
	struct gyre_bytes *bytes;
	struct topic topic;
	int count;

	if (is_pattern && !glob_match(name, call->args[1])) {
		return;
	}
	reply_text(&text, is_pattern ? "4\r\n$8\r\npmessage\r\n" : "3\r\n$7\r\nmessage\r\n");
	if (is_pattern) {
		(void)reply_bulk(&text, name);
	}
	(void)reply_bulk(&text, call->args[1]);
	(void)reply_bulk(&text, call->args[2]);
	bytes = text.failed ? NULL : gyre_bytes_create(text.bytes, text.count);
	free(text.bytes);
	count = bytes == NULL ? 0
			      : gyre_publish(call->stack, gyre_new(call->stack, published, bytes),
					     topic_of(&topic, call->shard,
						      is_pattern ? PATTERNS : CHANNELS, name));
	publication->receivers += count > 0 ? count : 0;
}

static const char *publish(struct call *call)
{
	struct publication publication = { .call = call };
	struct item *names = call->shard->names;
	struct item *channel = tree_find(names, CHANNELS, call->args[1]);

	if (channel != NULL) {
		publish_to(channel, &publication);
	}
	tree_visit(names, (ssize_t)tree_rank(names, PATTERNS, (struct slice){ 0 }, false),
		   SSIZE_MAX, false, publish_to, &publication);
	return reply_head(call->out, ':', publication.receivers);
}

/* ---- subscribing ---- */

static void reply_subscribed(const struct call *call, struct slice name)
{
	(void)reply_head(call->out, call->out->resp3 ? '>' : '*', 3);
	(void)reply_string(call->out, call->command->name);
	if (name.bytes == NULL) {
		(void)reply_value(call->out, NULL);
	} else {
		(void)reply_bulk(call->out, name);
	}
	(void)reply_head(call->out, ':', (int64_t)tree_count(call->client->names));
}

/* Counts the clients of a shard that are subscribed to a name. */
static bool count_name(struct shard *shard, int kind, struct slice name, uint64_t change)
{
	const struct item *item = tree_find(shard->names, kind, name);
	uint64_t count = 0;

	if (item != NULL) {
		memcpy(&count, item_value(item).bytes, sizeof(count));
	}
	count += change;
	if (count == 0) {
		tree_remove(&shard->names, kind, name);
		return true;
	}
	return tree_put(&shard->names, kind, name,
			(struct slice){ (const char *)&count, sizeof(count) });
}

/* Of a name that was taken from those of the client. */
static void end_subscription(struct client *client, struct item *name)
{
	struct topic topic;

	(void)gyre_unsubscribe(gyre_context_stack(client->ctx), &gyre_type_published,
			       topic_of(&topic, client->shard, (int)name->score, item_key(name)));
	(void)count_name(client->shard, (int)name->score, item_key(name), UINT64_MAX);
}

static void unsubscribe_from(struct client *client, int kind, struct slice name)
{
	struct item *own = tree_find(client->names, kind, name);

	if (own != NULL) {
		end_subscription(client, own);
		tree_remove(&client->names, kind, name);
	}
}

static bool subscribe_to(struct client *client, int kind, struct slice name)
{
	const struct gyre_subscribe_options options = { .waiting_max = PUSHES_MAX };
	struct topic topic;

	if (tree_find(client->names, kind, name) != NULL) {
		return true;
	}
	if (!tree_put(&client->names, kind, name, SLICE(""))) {
		return false;
	}
	if (!count_name(client->shard, kind, name, 1)) {
		tree_remove(&client->names, kind, name);
		return false;
	}
	if (gyre_subscribe(gyre_context_stack(client->ctx), &gyre_type_published,
			   topic_of(&topic, client->shard, kind, name), &options) < 0) {
		unsubscribe_from(client, kind, name);
		return false;
	}
	return true;
}

static const char *subscribe(struct call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		if (call->args[i].count > sizeof(((struct topic *)NULL)->name)) {
			return "-ERR the name of a channel is too long\r\n";
		}
		if (!subscribe_to(call->client, call->command->variant, call->args[i])) {
			return OUT_OF_MEMORY;
		}
		reply_subscribed(call, call->args[i]);
	}
	return NULL;
}

/* From the names of the arguments; without any, from all. */
static const char *unsubscribe(struct call *call)
{
	int kind = call->command->variant;
	struct client *client = call->client;
	size_t first = tree_rank(client->names, kind, (struct slice){ 0 }, false);
	size_t end = tree_rank(client->names, kind, (struct slice){ 0 }, true);

	for (size_t i = 1; i < call->count; i++) {
		unsubscribe_from(client, kind, call->args[i]);
		reply_subscribed(call, call->args[i]);
	}
	if (call->count == 1 && first == end) {
		reply_subscribed(call, (struct slice){ NULL, 0 });
	}
	for (; call->count == 1 && first < end; end--) {
		struct item *name = tree_take(&client->names, first);

		end_subscription(client, name);
		reply_subscribed(call, item_key(name));
		item_destroy(name);
	}
	return NULL;
}

/* Of a client whose actor ends, and with that its subscriptions. */
void client_unsubscribe(struct client *client)
{
	while (client->names != NULL) {
		struct item *name = tree_take(&client->names, 0);

		(void)count_name(client->shard, (int)name->score, item_key(name), UINT64_MAX);
		item_destroy(name);
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
