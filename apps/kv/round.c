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

enum { SPARES_MAX = 64, SPARE_BYTES_MAX = 16 << 10 }; /* of a shard; of each of their texts */
enum { PREFETCHED_MAX = 64 };

/* A reply as it is, the element of an array of one, or a part of what is added up. */
enum kind { WHOLE, ELEMENT, PART, LAST_PART };

/* Small, for the processors of two shards hand it to each other. */
struct step {
	uint32_t hash; /* of its key, the lower half */
	uint16_t shard;
	uint8_t kind;
	bool is_done;
	uint32_t queued; /* commands of a transaction; 0 for a plain command */
	uint32_t at;	 /* where its commands are, or when it is done its reply, */
	uint32_t bytes;	 /* and how long */
};

struct round {
	struct text steps;
	struct text commands;
	struct text replies;
	size_t next; /* of the steps, to be delivered */
	struct round *spare;
};

static size_t count_of(const struct round *round)
{
	return round->steps.count / sizeof(struct step);
}

static struct step *step_at(const struct round *round, size_t index)
{
	return (struct step *)(void *)round->steps.bytes + index;
}

/* The first step from one on that is not done, or the end. */
static size_t first_undone(const struct round *round, size_t i)
{
	while (i < count_of(round) && step_at(round, i)->is_done) {
		i++;
	}
	return i;
}

static struct slice reply_of(const struct round *round, size_t index)
{
	const struct step *step = step_at(round, index);

	return (struct slice){ round->replies.bytes + step->at, step->bytes };
}

static bool has_failed(const struct round *round)
{
	return round->steps.failed || round->commands.failed || round->replies.failed;
}

bool round_is_full(const struct round *round)
{
	return round != NULL && (count_of(round) >= ROUND_COMMANDS_MAX || has_failed(round) ||
				 round->commands.count + round->replies.count >= PENDING_BYTES_MAX);
}

/* With those that are linked behind it. */
void round_destroy(struct round *round)
{
	while (round != NULL) {
		struct round *spare = round->spare;

		free(round->steps.bytes);
		free(round->commands.bytes);
		free(round->replies.bytes);
		free(round);
		round = spare;
	}
}

/* ---- at the client: what is to be done ---- */

/* Where replies go now. */
struct text *round_out(struct client *client)
{
	return client->round == NULL ? &client->shard->out : &client->round->replies;
}

/* A step, of what is in a text from some place on. */
static void add(struct round *round, struct step step, const struct text *text)
{
	step.bytes = (uint32_t)text->count - step.at;
	text_add(&round->steps, &step, sizeof(step));
}

/* What was replied from there on keeps its place behind what other shards will reply. */
void round_replied(struct client *client, size_t from)
{
	struct round *round = client->round;
	struct step *last =
		round == NULL || count_of(round) == 0 ? NULL : step_at(round, count_of(round) - 1);

	if (last != NULL && last->is_done && last->kind == WHOLE &&
	    last->at + last->bytes == from) {
		last->bytes = (uint32_t)round->replies.count - last->at;
	} else if (round != NULL) {
		add(round, (struct step){ .is_done = true, .at = (uint32_t)from }, &round->replies);
	}
}

/* Takes what was replied before along, so that all is written at once. Not of a subscriber: what is
 * published to it may come before the round is back, and is not to come before those replies. */
static void take_replies(struct round *round, struct client *client)
{
	struct text *out = &client->shard->out;
	struct text replies = round->replies;

	if (out->count > 0 && client->names == NULL) {
		round->replies = *out;
		*out = replies;
		round_replied(client, 0);
	}
}

/* The round of a client; NULL without memory. */
static struct round *begin(struct client *client)
{
	struct shard *shard = client->shard;
	struct round *round = client->round;

	if (round == NULL && shard->spares != NULL) {
		round = shard->spares;
		shard->spares = round->spare;
		shard->spares_count--;
		round->spare = NULL;
	} else if (round == NULL) {
		round = (struct round *)calloc(1, sizeof(*round));
	}
	if (round == NULL) {
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
	} else if (client->round == NULL) {
		round->replies.resp3 = client->resp3;
		client->round = round;
		take_replies(round, client);
	}
	return round;
}

/* Commands for another shard: one, or those of a transaction. */
void round_add(const struct call *call, uint32_t shard, struct slice commands, size_t queued)
{
	struct round *round = begin(call->client);

	if (round != NULL) {
		struct step step = { .hash = (uint32_t)call->hash,
				     .shard = (uint16_t)shard,
				     .queued = (uint32_t)queued,
				     .at = (uint32_t)round->commands.count };

		text_add(&round->commands, commands.bytes, commands.count);
		add(round, step, &round->commands);
	}
}

/* Runs the commands of a step. */
static void run(struct call *call, struct round *round, struct step *step)
{
	const struct slice commands = { round->commands.bytes + step->at, step->bytes };
	size_t from = round->replies.count;

	if (step->queued > 0) {
		(void)reply_head(call->out, '*', (int64_t)step->queued);
	}
	call_run_text(call, commands);
	step->at = (uint32_t)from;
	step->bytes = (uint32_t)(round->replies.count - from);
	step->is_done = true;
}

/* A command that has some of the arguments of another, from @key on. */
static void add_part(struct round *round, const struct call *call, const struct slice *key,
		     size_t count)
{
	(void)reply_head(&round->commands, '*', (int64_t)count);
	(void)reply_bulk(&round->commands, call->args[0]);
	for (size_t i = 0; i + 1 < count; i++) {
		(void)reply_bulk(&round->commands, key[i]);
	}
}

/* A command for all shards, or one whose keys are with several: as many commands as keys. Those for
 * the client's own shard are run at once, as they would be by themselves, until the round is full:
 * nothing is added to it then, so that the actor of the shard may run the others. */
void round_add_spread(const struct call *call)
{
	uint32_t width = call->command->keys;
	size_t parts = width == 0 ? call->shard->kv->loops : (call->count - 1) / width;
	size_t count = width == 0 ? call->count : 1 + width;
	bool is_list = (call->command->flags & LIST_UP) != 0;
	struct round *round = begin(call->client);
	struct call own = *call;
	size_t first;
	size_t at = 0;

	if (round == NULL) {
		return;
	}
	own.out = &round->replies;
	if (is_list) {
		size_t from = round->replies.count;

		(void)reply_head(&round->replies, '*', (int64_t)parts);
		round_replied(call->client, from);
	}
	first = count_of(round);
	for (size_t i = 0; i < parts; i++) {
		const struct slice *key = call->args + 1 + i * width;
		uint64_t hash = width == 0 ? 0 : hash_of(*key);
		struct step step = { .hash = (uint32_t)hash };

		if (width > 0 || i == 0) { /* otherwise all shards share the command */
			at = round->commands.count;
			add_part(round, call, key, count);
		}
		step.at = (uint32_t)at;
		step.kind = is_list ? ELEMENT : i + 1 < parts ? PART : LAST_PART;
		step.shard = (uint16_t)(width == 0 ? i : shard_of(call->shard->kv, *key, hash));
		add(round, step, &round->commands);
	}
	for (size_t i = first;
	     i < count_of(round) && !has_failed(round) && round->replies.count < PENDING_BYTES_MAX;
	     i++) {
		if (step_at(round, i)->shard == own.shard->index) {
			run(&own, round, step_at(round, i));
		}
	}
}

/* ---- the journey ---- */

/* Sends it to the first shard that has to do something. */
void round_send(struct client *client)
{
	struct round *round = client->round;
	struct gyre_stack *stack = gyre_context_stack(client->ctx);
	int r = -ENOMEM;

	client->round = NULL;
	if (has_failed(round)) {
		round_destroy(round);
	} else {
		uint32_t shard = step_at(round, first_undone(round, round->next))->shard;

		r = gyre_notify(stack, client->shard->kv->actors[shard],
				gyre_new(stack, travel, round));
	}
	client->is_away = r == 0;
	if (r < 0) {
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
	}
}

/* Has the processor get what the first steps will look at all at once, not one after the other. */
static void prefetch(const struct round *round, const struct shard *shard)
{
	size_t end = count_of(round);

	end = end - round->next < PREFETCHED_MAX ? end : round->next + PREFETCHED_MAX;
	for (size_t i = round->next; i < end; i++) {
		const struct step *step = step_at(round, i);

		if (!step->is_done && step->shard == shard->index) {
			shard_prefetch(shard, step->hash);
		}
	}
}

/* At a shard: runs what is for it, at least one command, and passes the round on. */
int round_visit(struct gyre_stack *stack)
{
	struct round *round = gyre_message(stack, travel)->round;
	struct shard *shard = (struct shard *)gyre_loop_data(stack);
	struct call call = { .shard = shard, .out = &round->replies, .stack = stack };
	size_t full = round->replies.count + PENDING_BYTES_MAX;
	size_t i = round->next;

	shard_look_at_clock(shard);
	prefetch(round, shard);
	while ((i = first_undone(round, i)) < count_of(round) && round->replies.count < full) {
		if (step_at(round, i)->shard == shard->index) {
			run(&call, round, step_at(round, i));
		}
		i++;
	}
	i = first_undone(round, round->next);
	return gyre_forward(stack, i == count_of(round) || round->replies.count >= full
					   ? gyre_sender(stack)
					   : shard->kv->actors[step_at(round, i)->shard]);
}

/* ---- at the client: what has come ---- */

/* Replies what the parts of a command come to: an error, if there is one; else all are numbers, or
 * the same. False if not all are done. */
static bool add_up(struct round *round, struct text *out)
{
	size_t undone = first_undone(round, round->next);
	struct slice whole = reply_of(round, round->next);
	int64_t sum = 0;
	size_t last = round->next;

	while (last < undone && step_at(round, last)->kind != LAST_PART) {
		last++;
	}
	if (last == undone) {
		return false;
	}
	for (; round->next <= last; round->next++) {
		struct slice part = reply_of(round, round->next);
		int64_t number = 0;

		whole = *part.bytes == '-' ? part : whole;
		(void)slice_integer((struct slice){ part.bytes + 1, part.count - 3 }, &number);
		sum += number;
	}
	if (*whole.bytes == ':') {
		(void)reply_head(out, ':', sum);
	} else {
		text_add(out, whole.bytes, whole.count);
	}
	return true;
}

/* Replies what is next; false if it is not there yet. */
static bool deliver_next(struct round *round, struct text *out)
{
	const struct step *step = step_at(round, round->next);
	size_t head = step->kind == ELEMENT ? strlen("*1\r\n") : 0;
	struct slice reply = reply_of(round, round->next);

	if (!step->is_done || step->kind >= PART) {
		return step->is_done && add_up(round, out);
	}
	text_add(out, reply.bytes + head, reply.count - head);
	round->next++;
	return true;
}

/* Keeps only the replies that are still to be delivered. */
static void compact(struct round *round)
{
	struct text left = { .resp3 = round->replies.resp3 };

	for (size_t i = round->next; i < count_of(round); i++) {
		if (step_at(round, i)->is_done) {
			struct slice reply = reply_of(round, i);

			step_at(round, i)->at = (uint32_t)left.count;
			text_add(&left, reply.bytes, reply.count);
		}
	}
	free(round->replies.bytes);
	round->replies = left;
}

/* Small rounds are kept for other clients: memory that shards have written to costs more to free,
 * and to get, than the rest of a round. */
static void end(struct client *client)
{
	struct shard *shard = client->shard;
	struct round *round = client->round;
	struct text *const texts[] = { &round->steps, &round->commands, &round->replies };
	bool is_small = shard->spares_count < SPARES_MAX;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		is_small = is_small && texts[i]->room <= SPARE_BYTES_MAX;
		texts[i]->count = 0;
	}
	client->round = NULL;
	if (!is_small) {
		round_destroy(round);
		return;
	}
	round->next = 0;
	round->spare = shard->spares;
	shard->spares = round;
	shard->spares_count++;
}

/* Remembers whether an array is replied in part, and if not, writes what waits for that. */
static void note_place(struct client *client)
{
	const struct round *round = client->round;

	client->is_within =
		round->next < count_of(round) && step_at(round, round->next)->kind == ELEMENT;
	if (client->late != NULL && !client->is_within) {
		client_write_late(client);
	}
}

/* Replies as far as the client reads and there is an answer. The round ends, or goes out again. */
void round_deliver(struct client *client)
{
	struct round *round = client->round;
	bool is_there = !has_failed(round);

	while (is_there && round->next < count_of(round) && client_can_reply(client)) {
		is_there = deliver_next(round, &client->shard->out);
		note_place(client);
	}
	if (!is_there) {
		if (!has_failed(round)) {
			compact(round);
		}
		round_send(client);
	} else if (round->next == count_of(round)) {
		end(client);
	}
}
