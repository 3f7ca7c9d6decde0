/*
 * Publishing. Each loop knows its own subscribers: channels and patterns are trees, and below each
 * name are its clients. What is published goes to every shard, and from there as shared bytes,
 * which are in memory once, to the subscribed clients.
 */
#include <stdlib.h>
#include <string.h>

#include "kv.h"

struct publication {
	const struct call *call;
	bool is_pattern;
	struct gyre_bytes *bytes;
	int64_t receivers;
};

static void send_to(struct item *subscriber, void *arg)
{
	struct publication *publication = (struct publication *)arg;
	struct gyre_stack *stack = publication->call->stack;
	struct gyre_address to;

	memcpy(&to, item_value(subscriber).bytes, sizeof(to));
	(void)gyre_notify(stack, to,
			  gyre_new(stack, published, gyre_bytes_ref(publication->bytes)));
	publication->receivers++;
}

static void publish_to(struct item *name, void *arg)
{
	struct publication *publication = (struct publication *)arg;
	const struct slice *args = publication->call->args;
	struct text text = { 0 };

	if (publication->is_pattern && !glob_match(item_key(name), args[1])) {
		return;
	}
	reply_text(&text,
		   publication->is_pattern ? "4\r\n$8\r\npmessage\r\n" : "3\r\n$7\r\nmessage\r\n");
	if (publication->is_pattern) {
		reply_bulk(&text, item_key(name));
	}
	reply_bulk(&text, args[1]);
	reply_bulk(&text, args[2]);
	publication->bytes = text.failed ? NULL : gyre_bytes_create(text.bytes, text.count);
	if (publication->bytes != NULL) {
		tree_visit(name->members, 0, tree_count(name->members), false, send_to,
			   publication);
	}
	gyre_bytes_unref(publication->bytes);
	free(text.bytes);
}

static void publish(struct call *call)
{
	struct publication publication = { .call = call };
	struct item **names = call->shard->names;
	struct item *name = *tree_find(&names[0], (double)hash_of(call->args[1]), call->args[1]);

	if (name != NULL) {
		publish_to(name, &publication);
	}
	publication.is_pattern = true;
	tree_visit(names[1], 0, tree_count(names[1]), false, publish_to, &publication);
	reply_head(call->out, ':', publication.receivers);
}

/* ---- subscribing: to channels, whose variant is 0, and to patterns ---- */

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

static void unsubscribe_from(struct client *client, int kind, struct slice name)
{
	const struct slice self = { (const char *)&client, sizeof(client) };
	struct item **names = &client->shard->names[kind];
	double hash = (double)hash_of(name);
	struct item *item = *tree_find(names, hash, name);

	if (item != NULL) {
		tree_remove(&item->members, 0, self);
		if (item->members == NULL) {
			tree_remove(names, hash, name);
		}
	}
	tree_remove(&client->names[kind], hash, name);
}

static bool subscribe_to(struct client *client, int kind, struct slice name)
{
	const struct gyre_address address = gyre_self(gyre_context_stack(client->ctx));
	const struct slice self = { (const char *)&client, sizeof(client) };
	double hash = (double)hash_of(name);
	struct item *item = tree_put(&client->shard->names[kind], hash, name, SLICE(""));

	if (item == NULL ||
	    tree_put(&item->members, 0, self,
		     (struct slice){ (const char *)&address, sizeof(address) }) == NULL ||
	    tree_put(&client->names[kind], hash, name, SLICE("")) == NULL) {
		unsubscribe_from(client, kind, name);
		return false;
	}
	return true;
}

static void subscribe(struct call *call)
{
	for (size_t i = 1; i < call->count; i++) {
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
		struct item *name = tree_take(own, 0);

		unsubscribe_from(call->client, kind, item_key(name));
		reply_subscribed(call, item_key(name));
		item_destroy(name);
	}
}

void client_unsubscribe(struct client *client)
{
	for (int kind = 0; kind < 2; kind++) {
		while (client->names[kind] != NULL) {
			struct item *name = tree_take(&client->names[kind], 0);

			unsubscribe_from(client, kind, item_key(name));
			item_destroy(name);
		}
	}
}

const struct command pubsub_commands[] = {
	{ "psubscribe", subscribe, -2, UNQUEUED | SUBSCRIBED, 0, NONE, RUN, 1 },
	{ "publish", publish, 3, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "punsubscribe", unsubscribe, -1, UNQUEUED | SUBSCRIBED, 0, NONE, RUN, 1 },
	{ "subscribe", subscribe, -2, UNQUEUED | SUBSCRIBED, 0, NONE, RUN, 0 },
	{ "unsubscribe", unsubscribe, -1, UNQUEUED | SUBSCRIBED, 0, NONE, RUN, 0 },
	{ 0 },
};
