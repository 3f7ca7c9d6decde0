/*
 * Publishing. A shard has the names of channels and patterns that clients of its loop are
 * subscribed to, and as the members of each name these clients, to which it writes what is
 * published. What is published goes to every shard, in the order of the publisher's commands, and
 * is in memory once for each name of a shard, however many subscribers it has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum { CHANNELS = 0, PATTERNS = 1 }; /* the variants of commands, and the scores of names */

/* A client as the member of a name. */
#define MEMBER(CLIENT) ((struct slice){ (const char *)&(CLIENT), sizeof(CLIENT) })

/* ---- publishing ---- */

struct publication {
	const struct call *call;
	struct text text; /* what subscribers read after the first byte: '*', or '>' under RESP3 */
	struct gyre_bytes *bytes; /* the same */
	int64_t receivers;
};

/* Writes to a subscriber. One that does not read, or is too slow, is cut off. */
static void push(struct item *member, void *arg)
{
	struct publication *publication = (struct publication *)arg;
	struct gyre_buffer *buffer;
	struct client *client;

	memcpy((void *)&client, member->bytes, sizeof(client));
	publication->receivers++;
	if (client == publication->call->client) { /* behind the reply of this command */
		text_add(&client->shard->late, client->resp3 ? ">" : "*", 1);
		text_add(&client->shard->late, publication->text.bytes, publication->text.count);
		return;
	}
	buffer = gyre_context_buffer(client->ctx);
	if (gyre_channel_queued_bytes(gyre_context_channel(client->ctx)) > PUSH_BYTES_MAX ||
	    gyre_buffer_append(buffer, client->resp3 ? ">" : "*", 1) < 0 ||
	    gyre_buffer_append_shared(buffer, publication->bytes) < 0) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOBUFS);
	} else {
		(void)gyre_context_write(client->ctx, buffer);
	}
}

static void publish_to(struct item *name, void *arg)
{
	struct publication *publication = (struct publication *)arg;
	const struct call *call = publication->call;
	struct text *text = &publication->text;
	bool is_pattern = name->score == PATTERNS;

	if (is_pattern && !glob_match(item_key(name), call->args[1])) {
		return;
	}
	text->count = 0;
	(void)reply_text(text, is_pattern ? "4\r\n$8\r\npmessage\r\n" : "3\r\n$7\r\nmessage\r\n");
	if (is_pattern) {
		(void)reply_bulk(text, item_key(name));
	}
	(void)reply_bulk(text, call->args[1]);
	(void)reply_bulk(text, call->args[2]);
	publication->bytes = text->failed ? NULL : gyre_bytes_create(text->bytes, text->count);
	if (publication->bytes != NULL) {
		tree_visit(name->members, 0, SSIZE_MAX, false, push, publication);
		gyre_bytes_unref(publication->bytes);
	}
}

static const char *publish(struct call *call)
{
	struct publication publication = { .call = call };
	struct item *names = call->shard->names;
	struct item *channel = tree_find(names, CHANNELS, call->args[1]);

	if (channel != NULL) {
		publish_to(channel, &publication);
	}
	tree_visit(names, (ssize_t)tree_rank(names, CHANNELS, NOTHING, true), SSIZE_MAX, false,
		   publish_to, &publication);
	free(publication.text.bytes);
	return reply_head(call->out, ':', publication.receivers);
}

/* ---- subscribing ---- */

static void reply_subscribed(const struct call *call, struct slice name)
{
	(void)reply_head(call->out, call->out->resp3 ? '>' : '*', 3);
	(void)reply_string(call->out, call->command->name);
	(void)reply_bulk(call->out, name);
	(void)reply_head(call->out, ':', (int64_t)tree_count(call->client->names));
}

/* @name may be of an item that was taken from the names of the client. */
static void unsubscribe_from(struct client *client, int kind, struct slice name)
{
	struct item *item = tree_find(client->shard->names, kind, name);

	if (item != NULL) {
		tree_remove(&item->members, 0, MEMBER(client));
		if (item->members == NULL) {
			tree_remove(&client->shard->names, kind, name);
		}
	}
	tree_remove(&client->names, kind, name);
}

static bool subscribe_to(struct client *client, int kind, struct slice name)
{
	struct item *item = tree_make(&client->shard->names, kind, name, 0);

	if (item == NULL || !tree_put(&item->members, 0, MEMBER(client), SLICE("")) ||
	    !tree_put(&client->names, kind, name, SLICE(""))) {
		unsubscribe_from(client, kind, name);
		return false;
	}
	return true;
}

static const char *subscribe(struct call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		if (call->args[i].count > KEY_BYTES_MAX) {
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
	struct item **names = &call->client->names;
	size_t first = tree_rank(*names, kind, NOTHING, false);
	size_t end = tree_rank(*names, kind, NOTHING, true);

	for (size_t i = 1; i < call->count; i++) {
		unsubscribe_from(call->client, kind, call->args[i]);
		reply_subscribed(call, call->args[i]);
	}
	if (call->count == 1 && first == end) {
		reply_subscribed(call, NOTHING);
	}
	for (; call->count == 1 && first < end; end--) {
		struct item *name = tree_take(names, first);

		unsubscribe_from(call->client, kind, item_key(name));
		reply_subscribed(call, item_key(name));
		item_destroy(name);
	}
	return NULL;
}

void client_unsubscribe(struct client *client)
{
	while (client->names != NULL) {
		struct item *name = tree_take(&client->names, 0);

		unsubscribe_from(client, (int)name->score, item_key(name));
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
