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

/* A client as the member of a name. */
#define MEMBER(CLIENT) ((struct slice){ (const char *)&(CLIENT), sizeof(CLIENT) })

/* ---- publishing ---- */

struct publication {
	struct call *call; /* whose sum is how many have got it */
	struct gyre_bytes
		*bytes; /* what subscribers read after the first: '*', or '>' under RESP3 */
};

/* Writes to a subscriber. One that does not read, or is too slow, is cut off. */
static void push(struct item *member, void *arg)
{
	struct publication *publication = (struct publication *)arg;
	struct gyre_buffer *buffer;
	struct client *client;

	memcpy((void *)&client, member->bytes, sizeof(client));
	buffer = gyre_context_buffer(client->ctx);
	if (gyre_channel_queued_bytes(gyre_context_channel(client->ctx)) > PUSH_BYTES_MAX ||
	    gyre_buffer_append(buffer, client->resp3 ? ">" : "*", 1) < 0 ||
	    gyre_buffer_append_shared(buffer, publication->bytes) < 0) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOBUFS);
	} else {
		(void)gyre_context_write(client->ctx, buffer);
	}
	publication->call->sum++;
}

/* Writes a message of three parts, or for a pattern four, to those who are subscribed to a name. */
static void publish_to(struct item *name, struct call *call, bool is_pattern)
{
	struct publication publication = { .call = call };
	struct text text = { 0 };

	(void)reply_text(&text, is_pattern ? "4\r\n$8\r\npmessage\r\n" : "3\r\n$7\r\nmessage\r\n");
	if (is_pattern) {
		(void)reply_bulk(&text, item_key(name));
	}
	(void)reply_bulk(&text, call->args[1]);
	(void)reply_bulk(&text, call->args[2]);
	publication.bytes = text.failed ? NULL : gyre_bytes_create(text.bytes, text.count);
	free(text.bytes);
	if (publication.bytes != NULL) {
		tree_visit(name->members, 0, SSIZE_MAX, push, &publication);
		gyre_bytes_unref(publication.bytes);
	}
}

static void publish_to_pattern(struct item *pattern, void *arg)
{
	struct call *call = (struct call *)arg;

	if (glob_match(item_key(pattern), call->args[1])) {
		publish_to(pattern, call, true);
	}
}

static const char *publish(struct call *call)
{
	struct item *channel = tree_find(call->shard->names[CHANNELS], 0, call->args[1]);

	if (channel != NULL) {
		publish_to(channel, call, false);
	}
	tree_visit(call->shard->names[PATTERNS], 0, SSIZE_MAX, publish_to_pattern, call);
	return reply_number(call->out, call->sum);
}

/* ---- subscribing ---- */

static const char *reply_subscribed(const struct call *call, struct slice name)
{
	(void)reply_head(call->out, call->out->resp3 ? '>' : '*', 3);
	(void)reply_string(call->out, call->command->name);
	(void)reply_bulk(call->out, name);
	return reply_number(call->out, client_names(call->client));
}

/* @name may be of an item that was taken from the names of the client. */
static void unsubscribe_from(struct client *client, int kind, struct slice name)
{
	struct item **names = &client->shard->names[kind];
	struct item *item = tree_find(*names, 0, name);

	if (item != NULL) {
		tree_remove(&item->members, 0, MEMBER(client));
		if (item->members == NULL) {
			tree_remove(names, 0, name);
		}
	}
	tree_remove(&client->names[kind], 0, name);
}

static bool subscribe_to(struct client *client, int kind, struct slice name)
{
	struct item *item = tree_make(&client->shard->names[kind], 0, name, 0);

	if (item == NULL || !tree_put(&item->members, 0, MEMBER(client), SLICE("")) ||
	    !tree_put(&client->names[kind], 0, name, SLICE(""))) {
		unsubscribe_from(client, kind, name);
		return false;
	}
	return true;
}

static const char *subscribe(struct call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		if (call->args[i].count > KEY_BYTES_MAX) {
			return TOO_LONG;
		}
		if (!subscribe_to(call->client, call->command->variant, call->args[i])) {
			return OUT_OF_MEMORY;
		}
		(void)reply_subscribed(call, call->args[i]);
	}
	client_flush(call->client); /* before what is published to it */
	return NULL;
}

/* From all names of a kind; a command tells of each. */
static void unsubscribe_from_all(struct client *client, int kind, const struct call *call)
{
	while (client->names[kind] != NULL) {
		struct item *name = tree_take(&client->names[kind], 0);

		unsubscribe_from(client, kind, item_key(name));
		if (call != NULL) {
			(void)reply_subscribed(call, item_key(name));
		}
		item_destroy(name);
	}
}

/* From the names of the arguments; without any, from all. */
static const char *unsubscribe(struct call *call)
{
	int kind = call->command->variant;

	for (size_t i = 1; i < call->count; i++) {
		unsubscribe_from(call->client, kind, call->args[i]);
		(void)reply_subscribed(call, call->args[i]);
	}
	if (call->count == 1 && call->client->names[kind] == NULL) {
		return reply_subscribed(call, NOTHING);
	}
	if (call->count == 1) {
		unsubscribe_from_all(call->client, kind, call);
	}
	return NULL;
}

void client_unsubscribe(struct client *client)
{
	unsubscribe_from_all(client, CHANNELS, NULL);
	unsubscribe_from_all(client, PATTERNS, NULL);
}

const struct command pubsub_commands[] = {
	{ "psubscribe", subscribe, -2, UNQUEUED | SUBSCRIBED | ALONE, NONE, RUN, PATTERNS },
	{ "publish", publish, 3, EVERYWHERE, NONE, RUN, 0 },
	{ "punsubscribe", unsubscribe, -1, UNQUEUED | SUBSCRIBED | ALONE, NONE, RUN, PATTERNS },
	{ "subscribe", subscribe, -2, UNQUEUED | SUBSCRIBED | ALONE, NONE, RUN, CHANNELS },
	{ "unsubscribe", unsubscribe, -1, UNQUEUED | SUBSCRIBED | ALONE, NONE, RUN, CHANNELS },
	{ 0 },
};
