/*
 * A round: the commands of one read of a client of which at least one is for the shard of another
 * loop. For each shard there is a stream: requests to it, and its replies. The expected replies are
 * known in their order; each is written when it has come and all before it have been written.
 *
 * A shard runs as many commands as it has room for replies; the rest is sent again when the client
 * has read those. So a client that asks for much at once, or does not read, keeps little with each
 * shard.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum { REQUESTS_BYTES_MAX = COMMAND_BYTES_MAX + 65536, READ_BYTES_MAX = 1 << 16 };

struct stream {
	struct gyre_buffer *requests; /* that the shard has not run */
	struct reply replies;	      /* each behind its length */
	uint32_t ready;		      /* of these, whole ones */
};

/* A reply of a shard, or the beginning of one that is made of the next @parts replies. */
struct expected {
	uint32_t shard;
	uint32_t parts;
	uint32_t merge;
};

struct round {
	struct expected *expected;
	size_t count; /* of what is expected */
	size_t room;
	size_t done;	  /* of these, written or merged */
	size_t bytes;	  /* of requests */
	bool began;	  /* requests have been sent */
	uint32_t waiting; /* shards that have not answered */
	uint32_t parts;	  /* that are still to be merged */
	uint32_t merge;
	int64_t sum;
	char text[128]; /* what all parts reply, or an error of one */
	struct stream streams[];
};

static void fail(struct client *client)
{
	gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
}

/* ---- what is expected ---- */

bool round_is_idle(const struct client *client)
{
	return client->round == NULL || client->round->count == 0;
}

/* Whether a round is under way, so that all else has to wait. */
bool round_waits(const struct client *client)
{
	return !round_is_idle(client) && client->round->began;
}

bool round_takes_more(const struct client *client)
{
	const struct round *round = client->round;

	return round_is_idle(client) ||
	       (!round->began && round->count < ROUND_COMMANDS_MAX &&
		round->bytes < READ_BYTES_MAX &&
		gyre_buffer_bytes(round->streams[client->shard->index].replies.buffer) <
			PENDING_BYTES_MAX);
}

static bool make_round(struct client *client)
{
	size_t loops = client->shard->kv->loops;

	if (client->round == NULL) {
		client->round = (struct round *)calloc(1, sizeof(struct round) +
								  loops * sizeof(struct stream));
	}
	return client->round != NULL;
}

static bool expect(struct client *client, struct expected expected)
{
	struct round *round = client->round;

	if (round->count == round->room) {
		size_t room = round->room == 0 ? 16 : 2 * round->room;
		void *more = realloc(round->expected, room * sizeof(struct expected));

		if (more == NULL) {
			fail(client);
			return false;
		}
		round->expected = (struct expected *)more;
		round->room = room;
	}
	round->expected[round->count++] = expected;
	return true;
}

static struct gyre_buffer *get_buffer(struct client *client, struct gyre_buffer **buffer)
{
	if (*buffer == NULL) {
		*buffer = gyre_context_buffer(client->ctx);
	}
	return *buffer;
}

/* ---- collecting ---- */

/* Where a reply of the own shard goes: what is written at once, or its stream. */
struct frame round_reply(struct client *client, struct reply **ret_reply)
{
	struct frame none = { NULL, 0 };
	struct stream *stream;

	if (round_is_idle(client)) {
		return none;
	}
	stream = &client->round->streams[client->shard->index];
	if (!expect(client, (struct expected){ .shard = client->shard->index }) ||
	    get_buffer(client, &stream->replies.buffer) == NULL) {
		fail(client);
		return none;
	}
	stream->ready++;
	stream->replies.resp3 = client->reply.resp3;
	*ret_reply = &stream->replies;
	return reply_frame(&stream->replies);
}

/* A place for requests to another shard, or NULL. */
static struct gyre_buffer *request(struct client *client, uint32_t shard)
{
	if (!make_round(client) || !expect(client, (struct expected){ .shard = shard }) ||
	    get_buffer(client, &client->round->streams[shard].requests) == NULL) {
		fail(client);
		return NULL;
	}
	return client->round->streams[shard].requests;
}

void round_add(struct call *call, uint32_t shard, struct slice raw)
{
	struct gyre_buffer *requests = request(call->client, shard);

	if (requests == NULL) {
		return;
	}
	call->client->round->bytes += raw.count;
	if (gyre_buffer_append(requests, raw.bytes, raw.count) < 0) {
		fail(call->client);
	}
}

/* The client's queue, behind an EXEC that says how many commands it has. */
void round_add_transaction(struct call *call, uint32_t shard)
{
	struct client *client = call->client;
	struct gyre_buffer *requests = request(client, shard);
	struct slice exec[2] = { SLICE("exec"), { NULL, 0 } };
	char count[16];

	exec[1] = (struct slice){ count, (size_t)snprintf(count, sizeof(count), "%" PRIu32,
							  client->queued) };
	if (requests == NULL || resp_add_command(requests, exec, 2) < 0 ||
	    gyre_buffer_join(requests, client->queue) < 0) {
		fail(client);
	}
	client->queue = NULL;
	client->round->bytes = gyre_buffer_bytes(requests);
}

static void add_part(const struct call *call, uint32_t shard, const struct slice *args,
		     size_t count)
{
	struct client *client = call->client;
	struct gyre_buffer *requests;

	if (shard == client->shard->index) {
		struct call part = *call;
		struct frame frame = round_reply(client, &part.reply);

		part.args = args;
		part.count = count;
		part.hash = call->command->keys > 0 ? hash_of(args[1]) : 0;
		call_run(&part);
		reply_frame_end(part.reply, frame);
		return;
	}
	requests = request(client, shard);
	if (requests == NULL || resp_add_command(requests, args, count) < 0) {
		fail(client);
	}
	client->round->bytes += count * 16 + gyre_buffer_bytes(requests) / ROUND_COMMANDS_MAX;
}

/* A command for all shards, or one whose keys are with several: as many commands as keys. */
void round_add_spread(struct call *call)
{
	const struct command *command = call->command;
	const struct kv *kv = call->shard->kv;
	uint32_t step = command->keys;
	struct expected whole = { .merge = command->flags & MERGES };

	whole.parts = (uint32_t)(step == 0 ? kv->loops : (call->count - 1) / step);
	if (!make_round(call->client) || !expect(call->client, whole)) {
		fail(call->client);
		return;
	}
	for (uint32_t i = 0; i < whole.parts; i++) {
		const struct slice *keys = call->args + 1 + (size_t)i * step;
		struct slice args[3] = { call->args[0], keys[0], keys[step - (step > 0)] };

		if (step == 0) {
			add_part(call, i, call->args, call->count);
		} else {
			add_part(call, shard_of(kv, keys[0], hash_of(keys[0])), args, 1 + step);
		}
	}
}

/* ---- sending ---- */

static int send_stream(struct client *client, struct stream *stream, uint32_t shard)
{
	struct gyre_stack *stack = gyre_context_stack(client->ctx);
	size_t left = gyre_buffer_bytes(stream->requests);
	size_t bytes = left < REQUESTS_BYTES_MAX ? left : REQUESTS_BYTES_MAX;
	struct gyre_mail *mail =
		gyre_new_tail(stack, requests, bytes,
			      .channel = gyre_channel_address(gyre_context_channel(client->ctx)),
			      .resp3 = client->reply.resp3);

	if (mail != NULL) {
		struct requests *requests = (struct requests *)gyre_payload(mail);

		(void)gyre_buffer_copy(stream->requests, 0, requests->data, bytes);
	}
	return gyre_notify(stack, client->shard->kv->actors[shard], mail);
}

static void send_requests(struct client *client)
{
	struct round *round = client->round;

	for (uint32_t i = 0; i < client->shard->kv->loops; i++) {
		if (gyre_buffer_bytes(round->streams[i].requests) == 0) {
			continue;
		}
		if (send_stream(client, &round->streams[i], i) < 0) {
			fail(client);
			return;
		}
		round->waiting++;
	}
}

/* Ends the collecting. */
void round_begin(struct client *client)
{
	if (!round_is_idle(client) && !client->round->began) {
		client->round->began = true;
		reply_commit(&client->round->streams[client->shard->index].replies);
		send_requests(client);
	}
}

/* ---- delivering ---- */

static void move_reply(struct client *client, struct gyre_buffer *from, size_t bytes)
{
	while (bytes > 0) {
		const void *piece;
		size_t count = gyre_buffer_peek(from, 0, &piece);

		count = count < bytes ? count : bytes;
		reply_bytes(&client->reply, piece, count);
		bytes -= gyre_buffer_skip(from, count);
	}
}

static void begin_merge(struct client *client, const struct expected *whole)
{
	struct round *round = client->round;

	round->parts = whole->parts;
	round->merge = whole->merge;
	round->sum = 0;
	round->text[0] = '\0';
	if (whole->merge == MERGE_JOIN) {
		reply_array(&client->reply, whole->parts);
	}
}

/* A part is an array of one element, or a line; of lines the first error is kept, if there is one.
 */
static void merge_part(struct client *client, struct gyre_buffer *from, size_t bytes)
{
	struct round *round = client->round;
	char text[sizeof(round->text)] = "";
	int64_t number = 0;

	round->parts--;
	if (round->merge == MERGE_JOIN) {
		move_reply(client, from, bytes - gyre_buffer_skip(from, strlen("*1\r\n")));
		return;
	}
	(void)gyre_buffer_read(from, text, bytes < sizeof(text) ? bytes : sizeof(text) - 1);
	if (text[0] == ':' && bytes > 3) {
		(void)slice_integer((struct slice){ text + 1, bytes - 3 }, &number);
		round->sum += number;
	} else if (round->text[0] != '-') {
		memcpy(round->text, text, sizeof(text));
	}
	if (round->parts == 0 && round->text[0] == '\0') {
		reply_integer(&client->reply, round->sum);
	} else if (round->parts == 0) {
		reply_text(&client->reply, round->text);
	}
}

/* Writes the next reply; false if it has not come. */
static bool deliver(struct client *client)
{
	struct round *round = client->round;
	const struct expected *next;
	struct stream *stream;
	uint32_t bytes = 0;

	if (round->done == round->count) {
		return false;
	}
	next = &round->expected[round->done];
	stream = &round->streams[next->shard];
	if (next->parts == 0 && stream->ready == 0) {
		return false;
	}
	round->done++;
	if (next->parts > 0) {
		begin_merge(client, next);
		return true;
	}
	stream->ready--;
	(void)gyre_buffer_read(stream->replies.buffer, &bytes, sizeof(bytes));
	if (round->parts > 0) {
		merge_part(client, stream->replies.buffer, bytes);
	} else {
		move_reply(client, stream->replies.buffer, bytes);
	}
	return true;
}

static void clear(struct client *client)
{
	struct round *round = client->round;

	for (uint32_t i = 0; i < client->shard->kv->loops; i++) {
		struct stream *stream = &round->streams[i];

		reply_commit(&stream->replies);
		gyre_buffer_destroy(stream->replies.buffer);
		gyre_buffer_destroy(stream->requests);
		*stream = (struct stream){ 0 };
	}
	round->count = 0;
	round->done = 0;
	round->bytes = 0;
	round->began = false;
}

/* Goes on when all shards have answered, or the client reads again. */
void round_advance(struct client *client)
{
	struct round *round = client->round;

	if (!round->began || round->waiting > 0) {
		return;
	}
	while (client_can_reply(client) && deliver(client)) {
	}
	client_flush(client);
	if (round->done == round->count) {
		clear(client);
		client_process(client);
	} else if (gyre_channel_is_writable(gyre_context_channel(client->ctx))) {
		send_requests(client);
	}
}

void round_receive(struct client *client, const struct replies *replies)
{
	struct round *round = client->round;
	struct stream *stream = &round->streams[replies->shard];

	if (get_buffer(client, &stream->replies.buffer) == NULL ||
	    gyre_buffer_append(stream->replies.buffer, replies->data, replies->bytes) < 0) {
		fail(client);
		return;
	}
	(void)gyre_buffer_skip(stream->requests, replies->consumed);
	if (replies->count > 0) {
		stream->ready += replies->count;
		round->waiting--;
		round_advance(client);
	}
}

void round_destroy(struct client *client)
{
	if (client->round != NULL) {
		clear(client);
		free(client->round->expected);
		free(client->round);
		client->round = NULL;
	}
}
