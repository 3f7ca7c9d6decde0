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

enum { SPARE_BYTES_MAX = 16 << 10 };

enum {
	DONE = 1,
	ELEMENT = 2, /* its reply is an array of one element, and that is the reply */
	PART = 4,    /* its reply is to be added up with others */
	MORE = 8,    /* what follows is of the same reply */
};

/* Small, for the processors of two shards hand it to each other. */
struct step {
	uint16_t shard;
	uint16_t flags;
	uint32_t at;	/* where its commands are, or when it is done its reply, */
	uint32_t bytes; /* and how long */
};

struct round {
	struct text steps;
	struct text commands;
	struct text replies;
	size_t next; /* of the steps, to be delivered */
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
	while (i < count_of(round) && (step_at(round, i)->flags & DONE) != 0) {
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

void round_destroy(struct round *round)
{
	if (round != NULL) {
		free(round->steps.bytes);
		free(round->commands.bytes);
		free(round->replies.bytes);
		free(round);
	}
}

/* ---- at the client: what is to be done ---- */

/* A step, of what is in a text from some place on. */
static void add(struct round *round, struct step step, const struct text *text)
{
	step.bytes = (uint32_t)text->count - step.at;
	text_add(&round->steps, &step, sizeof(step));
}

/* What was replied at the client keeps its place behind what other shards will reply. */
void round_take_replies(struct client *client)
{
	struct round *round = client->round;
	struct text *out = &client->shard->out;

	if (round != NULL && out->count > 0) {
		struct step step = { .flags = DONE, .at = (uint32_t)round->replies.count };

		text_add(&round->replies, out->bytes, out->count);
		add(round, step, &round->replies);
		out->count = 0;
	}
}

/* The round of a client; NULL without memory. It takes what was replied before along, so that all
 * is written at once. */
static struct round *begin(struct client *client)
{
	struct shard *shard = client->shard;

	if (client->round == NULL) {
		client->round = shard->spares_count > 0
					? shard->spares[--shard->spares_count]
					: (struct round *)calloc(1, sizeof(struct round));
		if (client->round == NULL) {
			client_fail(client);
			return NULL;
		}
		client->round->replies.resp3 = client->resp3;
		round_take_replies(client);
	}
	return client->round;
}

/* The beginning of an array, whose elements follow. */
static void add_head(struct round *round, size_t count)
{
	struct step step = { .flags = DONE | MORE, .at = (uint32_t)round->replies.count };

	(void)reply_head(&round->replies, '*', (int64_t)count);
	add(round, step, &round->replies);
}

/* A command for another shard; or those of a transaction, so many of them. */
void round_add(const struct call *call, uint32_t shard, struct slice commands, size_t queued)
{
	struct round *round = begin(call->client);

	if (round != NULL) {
		struct step step = { .shard = (uint16_t)shard,
				     .at = (uint32_t)round->commands.count };

		if (queued > 0) {
			add_head(round, queued);
		}
		text_add(&round->commands, commands.bytes, commands.count);
		add(round, step, &round->commands);
	}
}

static void add_command(struct text *commands, const struct call *call)
{
	(void)reply_list(commands, '*', call->count);
	for (size_t i = 0; i < call->count; i++) {
		(void)reply_bulk(commands, call->args[i]);
	}
}

/* A command for all shards, which share its text, or one whose keys are with several: as many
 * commands as keys. Those for the client's own shard are run at once, as they would be by
 * themselves, until the round is full: nothing is added to it then, so that the actor of the shard
 * may run the others. */
void round_add_parts(const struct call *call)
{
	struct round *round = begin(call->client);
	size_t width = command_width(call->command);
	size_t parts = width == 0 ? call->shard->kv->loops : (call->count - 1) / width;
	bool is_list = (call->command->flags & LIST_UP) != 0;
	struct slice args[3] = { call->args[0] };
	struct call part = *call;
	size_t at;

	if (round == NULL) {
		return;
	}
	part.out = &round->replies;
	at = round->commands.count;
	if (width == 0) {
		add_command(&round->commands, call);
	} else {
		part.args = args;
		part.count = 1 + width;
	}
	if (is_list) {
		add_head(round, parts);
	}
	for (size_t i = 0; i < parts; i++) {
		struct step step = { .shard = (uint16_t)i, .flags = is_list ? ELEMENT : PART };

		step.flags |= i + 1 < parts ? MORE : 0;
		if (width > 0) {
			memcpy(args + 1, call->args + 1 + i * width, width * sizeof(*args));
			part.hash = hash_of(args[1]);
			step.shard = (uint16_t)shard_of(call->shard->kv, args[1], part.hash);
		}
		if (step.shard == call->shard->index && round->replies.count < PENDING_BYTES_MAX) {
			step.flags |= DONE;
			step.at = (uint32_t)round->replies.count;
			call_run(&part);
			add(round, step, &round->replies);
			continue;
		}
		if (width > 0) {
			at = round->commands.count;
			add_command(&round->commands, &part);
		}
		step.at = (uint32_t)at;
		add(round, step, &round->commands);
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
		client_fail(client);
	}
}

/* Runs the commands of a step. */
static void run(struct call *call, struct round *round, struct step *step)
{
	const struct slice commands = { round->commands.bytes + step->at, step->bytes };
	size_t from = round->replies.count;

	call_run_text(call, commands);
	step->at = (uint32_t)from;
	step->bytes = (uint32_t)(round->replies.count - from);
	step->flags |= DONE;
}

/* At a shard: runs what is for it, at least one command, and passes the round on. */
int round_visit(struct gyre_stack *stack)
{
	struct round *round = gyre_message(stack, travel)->round;
	struct shard *shard = (struct shard *)gyre_loop_data(stack);
	struct call call = { .shard = shard, .out = &round->replies };
	size_t full = round->replies.count + PENDING_BYTES_MAX;
	size_t i = round->next;

	shard_look_at_clock(shard);
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

/* The end of the steps that can be replied next; 0 if that is not there yet. What is added up is
 * there only as a whole; and so are arrays for a subscriber, so that nothing that is published gets
 * between their elements. */
static size_t end_of_next(const struct client *client)
{
	const struct round *round = client->round;
	bool is_whole =
		(step_at(round, round->next)->flags & PART) != 0 || client_names(client) > 0;

	for (size_t i = round->next; (step_at(round, i)->flags & DONE) != 0; i++) {
		if (!is_whole || (step_at(round, i)->flags & MORE) == 0) {
			return i + 1;
		}
	}
	return 0;
}

/* Replies up to some step. Parts come to an error, if there is one; else all are numbers, or the
 * same. */
static void deliver(struct round *round, size_t end, struct text *out)
{
	struct slice whole = SLICE("");
	int64_t sum = 0;

	for (; round->next < end; round->next++) {
		uint16_t flags = step_at(round, round->next)->flags;
		struct slice reply = reply_of(round, round->next);
		size_t head = (flags & ELEMENT) != 0 ? strlen("*1\r\n") : 0;
		int64_t number = 0;

		if ((flags & PART) == 0) {
			text_add(out, reply.bytes + head, reply.count - head);
		} else if (slice_integer((struct slice){ reply.bytes + 1, reply.count - 3 },
					 &number)) {
			sum += number;
		} else if (*reply.bytes == '-' || whole.count == 0) {
			whole = reply;
		}
		if ((flags & (PART | MORE)) == PART && whole.count == 0) {
			(void)reply_head(out, ':', sum);
		}
	}
	text_add(out, whole.bytes, whole.count);
}

/* Keeps only the replies that are still to be delivered. */
static void compact(struct round *round)
{
	struct text left = { .resp3 = round->replies.resp3, .failed = round->replies.failed };

	for (size_t i = round->next; i < count_of(round); i++) {
		if ((step_at(round, i)->flags & DONE) != 0) {
			struct slice reply = reply_of(round, i);

			step_at(round, i)->at = (uint32_t)left.count;
			text_add(&left, reply.bytes, reply.count);
		}
	}
	free(round->replies.bytes);
	round->replies = left;
}

/* Small rounds are kept for other clients: to free memory that shards have written to, and to get
 * it again, costs more than the rest of a round. */
static void finish(struct client *client)
{
	struct shard *shard = client->shard;
	struct round *round = client->round;

	client->round = NULL;
	if (shard->spares_count == SPARES_MAX ||
	    round->steps.room + round->commands.room + round->replies.room > SPARE_BYTES_MAX) {
		round_destroy(round);
		return;
	}
	round->steps.count = round->commands.count = round->replies.count = round->next = 0;
	shard->spares[shard->spares_count++] = round;
}

/* Replies as far as the client reads and there is an answer. The round ends, or goes out again. */
void round_deliver(struct client *client)
{
	struct round *round = client->round;
	bool is_there = !has_failed(round);

	while (is_there && round->next < count_of(round) && client_can_reply(client)) {
		size_t end = end_of_next(client);

		is_there = end > 0;
		deliver(round, end, &client->shard->out);
	}
	if (!is_there) {
		compact(round);
		round_send(client);
	} else if (round->next == count_of(round)) {
		finish(client);
	}
}
