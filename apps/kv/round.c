/*
 * A round: the commands of one read of a client from the first on that is for another shard. It is
 * one message, which is forwarded to each shard that has to run something of it, and at last back
 * to the client, who writes the replies in the order of the commands.
 *
 * When a shard has replied much, the round comes back at once, and is sent again when the
 * client has read those that are next. So a client that asks for much, or does not read, holds
 * little.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

/* A reply as it is, the element of an array of one, or a part of what is added up. */
enum kind { WHOLE, ELEMENT, PART, LAST_PART };

struct entry {
	uint32_t shard;
	enum kind kind;
	bool is_done;
	size_t queued; /* commands of a transaction; 0 for a plain command */
	size_t at;     /* where its commands are, or when it is done its reply, */
	size_t bytes;  /* and how long */
};

struct round {
	struct text entries;
	struct text commands;
	struct text replies;
	size_t next; /* of the entries, to be delivered */
	int64_t sum; /* of the parts so far */
	char error[128];
};

static struct entry *entry_at(const struct round *round, size_t index)
{
	return (struct entry *)(void *)round->entries.bytes + index;
}

static size_t count_of(const struct round *round)
{
	return round->entries.count / sizeof(struct entry);
}

static bool has_failed(const struct round *round)
{
	return round->entries.failed || round->commands.failed || round->replies.failed;
}

bool round_is_full(const struct round *round)
{
	return round != NULL && (count_of(round) >= ROUND_COMMANDS_MAX || has_failed(round) ||
				 round->commands.count + round->replies.count >= PENDING_BYTES_MAX);
}

void round_destroy(struct round *round)
{
	if (round != NULL) {
		free(round->entries.bytes);
		free(round->commands.bytes);
		free(round->replies.bytes);
		free(round);
	}
}

/* ---- at the client: what is to be done ---- */

/* Where replies go now. */
struct text *round_out(struct client *client)
{
	return client->round == NULL ? &client->shard->out : &client->round->replies;
}

static void add(struct client *client, struct entry entry)
{
	text_add(&client->round->entries, &entry, sizeof(entry));
}

/* What was replied from there on keeps its place behind what other shards will reply. */
void round_replied(struct client *client, size_t from)
{
	struct round *round = client->round;

	if (round != NULL) {
		add(client, (struct entry){ .is_done = true,
					    .at = from,
					    .bytes = round->replies.count - from });
	}
}

static bool begin(struct client *client)
{
	if (client->round == NULL) {
		client->round = (struct round *)calloc(1, sizeof(*client->round));
	}
	if (client->round == NULL) {
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
		return false;
	}
	client->round->replies.resp3 = client->resp3;
	return true;
}

/* Commands for another shard. */
void round_add(struct client *client, uint32_t shard, struct slice commands, size_t queued)
{
	if (begin(client)) {
		add(client, (struct entry){ .shard = shard,
					    .queued = queued,
					    .at = client->round->commands.count,
					    .bytes = commands.count });
		text_add(&client->round->commands, commands.bytes, commands.count);
	}
}

/* One of the commands that a command for several shards is divided into. */
static void add_part(const struct call *call, uint32_t shard, enum kind kind,
		     const struct slice *args, size_t count)
{
	struct round *round = call->client->round;
	struct entry entry = { .shard = shard, .kind = kind };

	if (shard == call->shard->index) {
		struct call part = *call;

		part.out = &round->replies;
		entry.at = round->replies.count;
		entry.is_done = true;
		call_set(&part, args, count);
		call_run(&part);
		entry.bytes = round->replies.count - entry.at;
	} else {
		entry.at = round->commands.count;
		(void)reply_head(&round->commands, '*', (int64_t)count);
		for (size_t i = 0; i < count; i++) {
			(void)reply_bulk(&round->commands, args[i]);
		}
		entry.bytes = round->commands.count - entry.at;
	}
	add(call->client, entry);
}

/* A command for all shards, or one whose keys are with several: as many commands as keys. */
void round_add_spread(const struct call *call)
{
	const struct kv *kv = call->shard->kv;
	uint32_t step = call->command->keys;
	size_t parts = step == 0 ? kv->loops : (call->count - 1) / step;
	bool is_list = (call->command->flags & LIST_UP) != 0;
	size_t from;

	if (!begin(call->client)) {
		return;
	}
	from = call->client->round->replies.count;
	if (is_list) {
		(void)reply_head(&call->client->round->replies, '*', (int64_t)parts);
		round_replied(call->client, from);
	}
	for (size_t i = 0; i < parts; i++) {
		enum kind kind = is_list ? ELEMENT : i + 1 < parts ? PART : LAST_PART;
		const struct slice *key = call->args + 1 + i * step;

		if (step == 0) {
			add_part(call, (uint32_t)i, kind, call->args, call->count);
		} else {
			struct slice args[3] = { call->args[0], key[0], key[step - 1] };

			add_part(call, shard_of(kv, key[0], hash_of(key[0])), kind, args,
				 step == 1 ? 2 : 3);
		}
	}
}

/* ---- the journey ---- */

static size_t first_undone(const struct round *round)
{
	size_t i = round->next;

	while (i < count_of(round) && entry_at(round, i)->is_done) {
		i++;
	}
	return i;
}

void round_send(struct client *client)
{
	struct round *round = client->round;
	struct gyre_stack *stack = gyre_context_stack(client->ctx);
	struct gyre_address shard;

	client->round = NULL;
	if (has_failed(round)) {
		round_destroy(round);
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
		return;
	}
	shard = client->shard->kv->actors[entry_at(round, first_undone(round))->shard];
	client->is_away = gyre_notify(stack, shard, gyre_new(stack, travel, round)) == 0;
	if (!client->is_away) {
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
	}
}

/* At a shard: runs what is for it, at least one command, and passes the round on. */
int round_visit(struct gyre_stack *stack)
{
	struct round *round = gyre_message(stack, travel)->round;
	struct shard *shard = (struct shard *)gyre_loop_data(stack);
	struct call call = { .shard = shard, .out = &round->replies, .stack = stack };
	size_t before = round->replies.count;
	size_t undone;

	shard_look_at_clock(shard);
	for (size_t i = first_undone(round); i < count_of(round); i++) {
		struct entry *entry = entry_at(round, i);
		size_t from = round->replies.count;

		if (entry->is_done || entry->shard != shard->index) {
			continue;
		}
		if (entry->queued > 0) {
			(void)reply_head(call.out, '*', (int64_t)entry->queued);
		}
		call_run_text(&call,
			      (struct slice){ round->commands.bytes + entry->at, entry->bytes });
		entry->at = from;
		entry->bytes = round->replies.count - from;
		entry->is_done = true;
		if (round->replies.count - before >= PENDING_BYTES_MAX) {
			return gyre_forward(stack, gyre_sender(stack));
		}
	}
	undone = first_undone(round);
	return gyre_forward(stack, undone == count_of(round)
					   ? gyre_sender(stack)
					   : shard->kv->actors[entry_at(round, undone)->shard]);
}

/* ---- at the client: what has come ---- */

/* Of what is added up an error is kept, if there is one; else all parts are numbers, or the same.
 */
static void deliver_part(struct round *round, struct text *out, struct slice reply, bool is_last)
{
	int64_t number = 0;

	if (reply.bytes[0] == ':') {
		(void)slice_integer((struct slice){ reply.bytes + 1, reply.count - 3 }, &number);
		round->sum += number;
	} else if (reply.bytes[0] == '-' && reply.count < sizeof(round->error)) {
		memcpy(round->error, reply.bytes, reply.count);
	}
	if (!is_last) {
		return;
	}
	if (round->error[0] != '\0') {
		reply_text(out, round->error);
	} else if (reply.bytes[0] == ':') {
		(void)reply_head(out, ':', round->sum);
	} else {
		text_add(out, reply.bytes, reply.count);
	}
	round->sum = 0;
	memset(round->error, 0, sizeof(round->error));
}

/* Keeps only the replies that are still to be delivered. */
static void compact(struct round *round)
{
	struct text left = { .resp3 = round->replies.resp3 };

	for (size_t i = round->next; i < count_of(round); i++) {
		struct entry *entry = entry_at(round, i);

		if (entry->is_done) {
			size_t at = left.count;

			text_add(&left, round->replies.bytes + entry->at, entry->bytes);
			entry->at = at;
		}
	}
	free(round->replies.bytes);
	round->replies = left;
}

/* Replies as far as the client reads and there is an answer. The round ends, or goes out again. */
void round_deliver(struct client *client)
{
	struct round *round = client->round;
	struct text *out = &client->shard->out;
	const size_t element = strlen("*1\r\n");

	while (round->next < count_of(round) && entry_at(round, round->next)->is_done &&
	       !has_failed(round) && client_can_reply(client)) {
		const struct entry *entry = entry_at(round, round->next++);
		struct slice reply = { round->replies.bytes + entry->at, entry->bytes };

		if (entry->kind == PART || entry->kind == LAST_PART) {
			deliver_part(round, out, reply, entry->kind == LAST_PART);
		} else if (entry->kind == ELEMENT) {
			text_add(out, reply.bytes + element, reply.count - element);
		} else {
			text_add(out, reply.bytes, reply.count);
		}
	}
	if (round->next == count_of(round)) {
		client->round = NULL;
		round_destroy(round);
	} else if (has_failed(round) || !entry_at(round, round->next)->is_done) {
		compact(round);
		round_send(client);
	}
}
