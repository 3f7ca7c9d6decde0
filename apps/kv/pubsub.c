/*
 * Publishing. Each loop knows its own subscribers: a dictionary of channels, and one of patterns,
 * lead to dictionaries of clients. What is published goes to every shard, and from there as shared
 * bytes, which are in memory once, to the channels of the subscribed clients.
 */
#include <string.h>

#include "kv.h"

/* ---- patterns ---- */

/* Whether a class such as [a-z^] has @byte; @at is behind its bracket, and then behind its end. */
static bool class_has(struct slice pattern, size_t *at, unsigned char byte)
{
	bool negated = *at < pattern.count && pattern.bytes[*at] == '^';
	bool found = false;

	for (*at += negated; *at < pattern.count && pattern.bytes[*at] != ']'; ++*at) {
		unsigned char low;
		unsigned char high;

		*at += pattern.bytes[*at] == '\\' && *at + 1 < pattern.count;
		low = high = (unsigned char)pattern.bytes[*at];
		if (*at + 2 < pattern.count && pattern.bytes[*at + 1] == '-') {
			*at += 2;
			high = (unsigned char)pattern.bytes[*at];
		}
		found |= low <= high ? byte >= low && byte <= high : byte >= high && byte <= low;
	}
	*at += *at < pattern.count;
	return found != negated;
}

/* Whether the next of a pattern, which is no '*', stands for @byte; then @at is behind it. */
static bool stands_for(struct slice pattern, size_t *at, char byte)
{
	char element = pattern.bytes[(*at)++];

	if (element == '[') {
		return class_has(pattern, at, (unsigned char)byte);
	}
	if (element == '\\' && *at < pattern.count) {
		return pattern.bytes[(*at)++] == byte;
	}
	return element == '?' || element == byte;
}

/* After a mismatch only the last '*' takes a byte more, so that no pattern takes long. */
bool glob_match(struct slice pattern, struct slice text)
{
	size_t at = 0;
	size_t star = SIZE_MAX;
	size_t star_text = 0;

	for (size_t i = 0; i < text.count;) {
		if (at < pattern.count && pattern.bytes[at] == '*') {
			star = ++at;
			star_text = i;
		} else if (at < pattern.count && stands_for(pattern, &at, text.bytes[i])) {
			i++;
		} else if (star != SIZE_MAX) {
			at = star;
			i = ++star_text;
		} else {
			return false;
		}
	}
	while (at < pattern.count && pattern.bytes[at] == '*') {
		at++;
	}
	return at == pattern.count;
}

/* ---- publishing ---- */

struct publication {
	struct call *call;
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

/* Sends to the subscribers of a channel, or of a pattern that it matches. */
static void publish_to(const struct item *item, bool is_pattern, struct publication *publication)
{
	struct call *call = publication->call;
	struct reply text = { .buffer = gyre_buffer_create(call->stack) };

	if (text.buffer != NULL) {
		reply_text(&text,
			   is_pattern ? "4\r\n$8\r\npmessage\r\n" : "3\r\n$7\r\nmessage\r\n");
		if (is_pattern) {
			reply_bulk(&text, item_key(item));
		}
		reply_bulk(&text, call->args[1]);
		reply_bulk(&text, call->args[2]);
		reply_commit(&text);
		publication->bytes = text.failed ? NULL : gyre_bytes_of_buffer(text.buffer);
	}
	if (publication->bytes != NULL) {
		dict_visit((struct dict *)item->object, send_to, publication);
	}
	gyre_bytes_unref(publication->bytes);
	publication->bytes = NULL;
	gyre_buffer_destroy(text.buffer);
}

static void publish_by_pattern(struct item *item, void *arg)
{
	struct publication *publication = (struct publication *)arg;

	if (glob_match(item_key(item), publication->call->args[1])) {
		publish_to(item, true, publication);
	}
}

static void publish(struct call *call)
{
	struct publication publication = { .call = call };
	const struct item *item =
		dict_get(&call->shard->channels, hash_of(call->args[1]), call->args[1]);

	if (item != NULL) {
		publish_to(item, false, &publication);
	}
	dict_visit(&call->shard->patterns, publish_by_pattern, &publication);
	reply_integer(call->reply, publication.receivers);
}

/* ---- subscribing ---- */

static struct dict *own_names(struct client *client, bool is_pattern)
{
	return is_pattern ? &client->patterns : &client->channels;
}

static struct slice name_of(struct client *const *client)
{
	return (struct slice){ (const char *)client, sizeof(*client) };
}

/* The subscribers of a channel or a pattern, which is added if it is missing; NULL without memory.
 */
static struct dict *subscribers_of(struct dict *names, struct slice name)
{
	struct item *item = dict_get(names, hash_of(name), name);
	struct dict *subscribers;

	if (item != NULL) {
		return (struct dict *)item->object;
	}
	subscribers = (struct dict *)memory_resize(NULL, sizeof(*subscribers));
	item = subscribers == NULL ? NULL : dict_add(names, hash_of(name), name, 0);
	if (item == NULL) {
		memory_put(subscribers);
		return NULL;
	}
	*subscribers = (struct dict){ 0 };
	item->object = subscribers;
	return subscribers;
}

static void unsubscribe_from(struct client *client, bool is_pattern, struct slice name)
{
	struct dict *names = is_pattern ? &client->shard->patterns : &client->shard->channels;
	struct item *item = dict_get(names, hash_of(name), name);
	struct slice own = name_of(&client);
	struct dict *subscribers;

	if (item != NULL) {
		struct item *subscriber;

		subscribers = (struct dict *)item->object;
		subscriber = dict_get(subscribers, hash_of(own), own);
		if (subscriber != NULL) {
			dict_remove(subscribers, subscriber);
		}
		if (subscribers->count == 0) {
			dict_clear(subscribers);
			memory_put(subscribers);
			dict_remove(names, item);
		}
	}
}

static bool subscribe_to(struct client *client, bool is_pattern, struct slice name)
{
	struct dict *names = is_pattern ? &client->shard->patterns : &client->shard->channels;
	struct gyre_address address = gyre_channel_address(gyre_context_channel(client->ctx));
	struct slice value = { (const char *)&address, sizeof(address) };
	struct dict *subscribers = subscribers_of(names, name);

	if (subscribers == NULL || dict_put(subscribers, name_of(&client), value) == NULL ||
	    dict_put(own_names(client, is_pattern), name, SLICE("")) == NULL) {
		unsubscribe_from(client, is_pattern, name);
		return false;
	}
	return true;
}

static void reply_subscribed(struct call *call, struct slice name, size_t count)
{
	reply_head(call->reply, call->reply->resp3 ? '>' : '*', 3);
	reply_string(call->reply, call->command->name);
	if (name.bytes == NULL) {
		reply_null(call->reply);
	} else {
		reply_bulk(call->reply, name);
	}
	reply_integer(call->reply, (int64_t)count);
}

size_t client_subscriptions(const struct client *client)
{
	return client->channels.count + client->patterns.count;
}

static void subscribe(struct call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		if (!subscribe_to(call->client, call->command->variant == 'p', call->args[i])) {
			call_no_memory(call);
			return;
		}
		reply_subscribed(call, call->args[i], client_subscriptions(call->client));
	}
}

/* The name may be that of the item which is removed. */
static void unsubscribe_one(struct call *call, struct slice name)
{
	bool is_pattern = call->command->variant == 'p';
	struct dict *own = own_names(call->client, is_pattern);
	struct item *item = dict_get(own, hash_of(name), name);
	size_t left = client_subscriptions(call->client) - (item != NULL);

	unsubscribe_from(call->client, is_pattern, name);
	reply_subscribed(call, name, left);
	if (item != NULL) {
		dict_remove(own, item);
	}
}

static void unsubscribe(struct call *call)
{
	struct dict *own = own_names(call->client, call->command->variant == 'p');

	for (size_t i = 1; i < call->count; i++) {
		unsubscribe_one(call, call->args[i]);
	}
	if (call->count == 1 && own->count == 0) {
		reply_subscribed(call, (struct slice){ NULL, 0 },
				 client_subscriptions(call->client));
	}
	while (call->count == 1 && own->count > 0) {
		unsubscribe_one(call, item_key(dict_random(own)));
	}
}

static void forget(struct client *client, bool is_pattern)
{
	struct dict *own = own_names(client, is_pattern);

	while (own->count > 0) {
		struct item *item = dict_random(own);

		unsubscribe_from(client, is_pattern, item_key(item));
		dict_remove(own, item);
	}
	dict_clear(own);
}

void client_unsubscribe(struct client *client)
{
	forget(client, false);
	forget(client, true);
}

const struct command pubsub_commands[] = {
	{ "psubscribe", subscribe, -2, CONNECTION | SUBSCRIBED, 0, TYPE_NONE, RUN, 'p' },
	{ "publish", publish, 3, EVERYWHERE | MERGE_SUM, 0, TYPE_NONE, RUN, 0 },
	{ "punsubscribe", unsubscribe, -1, CONNECTION | SUBSCRIBED, 0, TYPE_NONE, RUN, 'p' },
	{ "subscribe", subscribe, -2, CONNECTION | SUBSCRIBED, 0, TYPE_NONE, RUN, 0 },
	{ "unsubscribe", unsubscribe, -1, CONNECTION | SUBSCRIBED, 0, TYPE_NONE, RUN, 0 },
	{ 0 },
};
