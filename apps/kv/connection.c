/*
 * A client: the last handler of its channel. Commands are run as they are parsed, and what they
 * reply is written once for each read. Commands for shards of other loops, and all behind them
 * until the end of the read, make up a round: see round.c. While a round is under way, or the
 * client does not read, its further commands wait in the channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum place { HERE = -1, SPREAD = -2 }; /* any shard; several shards */

/* ---- which shard ---- */

/* As in clusters of Redis, what stands in braces chooses the shard, so that keys can be kept
 * together. */
uint32_t shard_of(const struct kv *kv, struct slice key, uint64_t hash)
{
	const char *open = (const char *)memchr(key.bytes, '{', key.count);
	size_t rest = open == NULL ? 0 : key.count - (size_t)(open + 1 - key.bytes);
	const char *close = open == NULL ? NULL : (const char *)memchr(open + 1, '}', rest);

	if (close != NULL && close > open + 1) {
		hash = hash_of((struct slice){ open + 1, (size_t)(close - open) - 1 });
	}
	return (uint32_t)((hash >> 32) * kv->loops >> 32);
}

static int64_t place_of_keys(const struct call *call)
{
	const struct command *command = call->command;
	const struct kv *kv = call->shard->kv;
	uint32_t place = shard_of(kv, call->args[1], call->hash);

	if ((command->flags & MERGES) != 0) {
		for (size_t i = 1 + command->keys; i < call->count; i += command->keys) {
			if (shard_of(kv, call->args[i], hash_of(call->args[i])) != place) {
				return SPREAD;
			}
		}
	}
	return place;
}

static int64_t place_of(const struct call *call)
{
	const struct command *command = call->command;
	const struct kv *kv = call->shard->kv;
	int64_t cursor;

	if (command->keys > 0) {
		return kv->loops == 1 ? 0 : place_of_keys(call);
	}
	if ((command->flags & BY_CURSOR) != 0 && slice_integer(call->args[1], &cursor) &&
	    cursor >= 0) {
		return cursor % (int64_t)kv->loops;
	}
	return (command->flags & EVERYWHERE) != 0 && kv->loops > 1 ? SPREAD : HERE;
}

/* ---- transactions ---- */

static void end_transaction(struct client *client)
{
	gyre_buffer_destroy(client->queue);
	client->queue = NULL;
	client->queued = 0;
	client->in_transaction = false;
	client->is_spoilt = false;
	client->queue_place = HERE;
}

static void multi(struct call *call)
{
	if (call->client->in_transaction) {
		reply_text(call->reply, "-ERR MULTI calls can not be nested\r\n");
		return;
	}
	call->client->queue = gyre_context_buffer(call->client->ctx);
	call->client->in_transaction = call->client->queue != NULL;
	if (call->client->queue == NULL) {
		call_no_memory(call);
	} else {
		reply_ok(call->reply);
	}
}

static void discard(struct call *call)
{
	if (!call->client->in_transaction) {
		reply_text(call->reply, "-ERR DISCARD without MULTI\r\n");
		return;
	}
	end_transaction(call->client);
	reply_ok(call->reply);
}

/* Commands of a transaction are kept as they came; all are for one shard. */
static void queue(struct call *call, struct slice raw)
{
	struct client *client = call->client;
	int64_t place = place_of(call);
	const char *refusal = NULL;

	if ((call->command->flags & CONNECTION) != 0) {
		refusal = "-ERR Command not allowed inside a transaction\r\n";
	} else if (place == SPREAD ||
		   (place != HERE && client->queue_place != HERE && place != client->queue_place)) {
		refusal = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
	} else if (gyre_buffer_bytes(client->queue) + raw.count > QUEUE_BYTES_MAX) {
		refusal = "-ERR the transaction is too long\r\n";
	} else if (gyre_buffer_append(client->queue, raw.bytes, raw.count) < 0) {
		refusal = OUT_OF_MEMORY;
	}
	if (refusal != NULL) {
		client->is_spoilt = true;
		reply_text(call->reply, refusal);
		return;
	}
	client->queue_place = place == HERE ? client->queue_place : place;
	client->queued++;
	reply_text(call->reply, "+QUEUED\r\n");
}

/* Runs what was queued, or gives it to another loop's shard as one request. */
static void exec(struct call *call)
{
	struct client *client = call->client;
	struct slice requests = { "", gyre_buffer_bytes(client->queue) };
	const void *bytes = "";
	struct call each = *call;

	if (!client->in_transaction) {
		reply_text(call->reply, "-ERR EXEC without MULTI\r\n");
	} else if (client->is_spoilt) {
		reply_text(call->reply, "-EXECABORT Transaction discarded because of previous "
					"errors.\r\n");
	} else if (requests.count > 0 &&
		   gyre_buffer_linear(client->queue, requests.count, &bytes) < 0) {
		call_no_memory(call);
	} else {
		requests.bytes = (const char *)bytes;
		call_run_transaction(&each, &requests, client->queued);
	}
	end_transaction(client);
}

/* ---- running commands ---- */

static void close_after_reply(struct call *call)
{
	call->client->is_closing = true;
	reply_ok(call->reply);
}

static bool is_restricted(const struct call *call)
{
	return client_subscriptions(call->client) > 0 && !call->reply->resp3 &&
	       (call->command->flags & SUBSCRIBED) == 0;
}

/* Runs what needs no other shard; the reply comes behind those that other shards owe. */
static void run_here(struct call *call, bool is_valid, struct slice raw)
{
	struct client *client = call->client;
	struct frame frame = round_reply(client, &call->reply);

	if (!is_valid) {
		call_refuse(call);
		client->is_spoilt = client->in_transaction;
	} else if (is_restricted(call)) {
		reply_error(call->reply,
			    "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING "
			    "/ QUIT / RESET are allowed in this context",
			    call->command->name);
	} else if (client->in_transaction && (call->command->flags & IMMEDIATE) == 0) {
		queue(call, raw);
	} else {
		call_run(call);
	}
	reply_frame_end(call->reply, frame);
}

/* Runs the command that was parsed; false if it has to wait for the end of the round. */
static bool run(struct client *client, size_t bytes)
{
	struct call call = { .shard = client->shard,
			     .reply = &client->reply,
			     .stack = gyre_context_stack(client->ctx),
			     .client = client };
	struct slice raw = { NULL, bytes };
	const void *front;
	int64_t place = HERE;
	bool is_valid;

	(void)gyre_buffer_peek(client->input, 0, &front);
	raw.bytes = (const char *)front;
	call_init(&call, &client->shard->args);
	is_valid = call_is_valid(&call);
	if (is_valid && (call.command->flags & ALONE) != 0 && !round_is_idle(client)) {
		return false;
	}
	if (is_valid && call.command->run == exec) {
		place = client->is_spoilt ? HERE : client->queue_place;
	} else if (is_valid && !client->in_transaction && !is_restricted(&call)) {
		place = place_of(&call);
	}
	if (place == HERE || place == client->shard->index) {
		run_here(&call, is_valid, raw);
	} else if (place == SPREAD) {
		round_add_spread(&call);
	} else if (call.command->run == exec) {
		round_add_transaction(&call, (uint32_t)place);
		end_transaction(client);
	} else {
		round_add(&call, (uint32_t)place, raw);
	}
	return true;
}

static void refuse_protocol(struct client *client, const char *error)
{
	struct reply *reply = &client->reply;
	struct frame frame = round_reply(client, &reply);

	reply_error(reply, "ERR Protocol error: %s", error);
	reply_frame_end(reply, frame);
	client->is_closing = true;
}

/* ---- the channel ---- */

/* Writes what has been replied. */
void client_flush(struct client *client)
{
	struct gyre_buffer *buffer = client->reply.buffer;

	reply_commit(&client->reply);
	client->reply.buffer = NULL;
	if (client->reply.failed) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(client->ctx), -ENOBUFS);
	} else if (gyre_buffer_bytes(buffer) > 0) {
		(void)gyre_context_write(client->ctx, buffer);
	} else {
		gyre_buffer_destroy(buffer);
	}
}

bool client_can_reply(struct client *client)
{
	if (client->reply.buffer != NULL &&
	    gyre_buffer_bytes(client->reply.buffer) >= PENDING_BYTES_MAX) {
		client_flush(client);
	}
	if (client->reply.buffer == NULL) {
		client->reply.buffer = gyre_context_buffer(client->ctx);
		client->reply.failed |= client->reply.buffer == NULL;
	}
	return !client->reply.failed && gyre_channel_is_writable(gyre_context_channel(client->ctx));
}

static bool runs_next(struct client *client)
{
	return !client->is_closing && gyre_buffer_bytes(client->input) > 0 &&
	       round_takes_more(client) && client_can_reply(client);
}

/* Runs the commands that are there, as far as the client reads replies. */
void client_process(struct client *client)
{
	struct gyre_channel *channel = gyre_context_channel(client->ctx);
	const char *error = NULL;
	long bytes = 1;
	bool waits;

	shard_look_at_clock(client->shard);
	while (bytes > 0 && runs_next(client)) {
		bytes = resp_parse(&client->shard->args, client->input,
				   client->shard->kv->value_max, &error);
		if (bytes == -EPROTO) {
			refuse_protocol(client, error);
		} else if (bytes > 0 && client->shard->args.count > 0 &&
			   !run(client, (size_t)bytes)) {
			break;
		}
		client->reply.failed |= bytes == -ENOMEM;
		(void)gyre_buffer_skip(client->input, bytes > 0 ? (size_t)bytes : 0);
	}
	round_begin(client);
	client_flush(client);
	waits = round_waits(client);
	if (!waits &&
	    (client->is_closing ||
	     (client->is_ending && (bytes == 0 || gyre_buffer_bytes(client->input) == 0)))) {
		gyre_context_close(client->ctx);
	}
	/* A client that does not wait for replies is not read from. */
	waits = waits && gyre_buffer_bytes(client->input) > PENDING_BYTES_MAX;
	if (waits != client->is_paused) {
		client->is_paused = waits;
		gyre_channel_set_auto_read(channel, !waits);
	}
}

static struct client *client_of(struct gyre_handler_context *ctx)
{
	return (struct client *)gyre_context_arg(ctx);
}

static void begin(struct gyre_handler_context *ctx)
{
	struct client *client = client_of(ctx);
	struct shard *shard = (struct shard *)gyre_loop_data(gyre_context_stack(ctx));

	client->ctx = ctx;
	client->shard = shard;
	client->id = ++shard->counts[CONNECTIONS] * shard->kv->loops + shard->index;
	shard->counts[CLIENTS]++;
}

static void end(struct gyre_handler_context *ctx)
{
	struct client *client = client_of(ctx);

	client->shard->counts[CLIENTS]--;
	client_unsubscribe(client);
	end_transaction(client);
	round_destroy(client);
	gyre_buffer_destroy(client->input);
	client->input = NULL;
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct client *client = client_of(ctx);

	if (client->input == NULL) {
		client->input = data;
	} else if (gyre_buffer_join(client->input, data) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	client_process(client);
	if (gyre_buffer_bytes(client->input) == 0) {
		gyre_buffer_destroy(client->input);
		client->input = NULL;
	}
}

static void resume(struct gyre_handler_context *ctx, bool writable)
{
	struct client *client = client_of(ctx);

	if (writable && round_is_idle(client)) {
		client_process(client);
	} else if (writable) {
		round_advance(client);
	}
}

/* What was published; a subscriber that does not read it is cut off. */
static void push(struct client *client, const struct published *published)
{
	struct gyre_channel *channel = gyre_context_channel(client->ctx);
	struct gyre_buffer *buffer = gyre_context_buffer(client->ctx);

	if (gyre_channel_queued_bytes(channel) > PUSH_BYTES_MAX ||
	    gyre_buffer_append(buffer, client->reply.resp3 ? ">" : "*", 1) < 0 ||
	    gyre_buffer_append_shared(buffer, published->bytes) < 0) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(channel, -ENOBUFS);
		return;
	}
	(void)gyre_context_write(client->ctx, buffer);
}

static void take_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	struct client *client = client_of(ctx);

	switch (type->id) {
	case GYRE_ID(replies):
		round_receive(client, (const struct replies *)event);
		break;
	case GYRE_ID(published):
		push(client, (const struct published *)event);
		break;
	case GYRE_ID(gyre_input_closed):
		client->is_ending = true;
		if (round_is_idle(client)) {
			client_process(client);
		}
		break;
	default:
		gyre_context_fire_event(ctx, type, event);
	}
}

static void forget(struct gyre_handler_context *ctx)
{
	free(client_of(ctx));
}

static const struct gyre_handler handler = {
	.name = "kv",
	.removed = forget,
	.active = begin,
	.read = read_bytes,
	.event = take_event,
	.writability = resume,
	.inactive = end,
};

int client_init(struct gyre_channel *channel, void *kv)
{
	struct client *client = (struct client *)calloc(1, sizeof(*client));
	int r = client == NULL ? -ENOMEM : gyre_pipeline_add(channel, GYRE_LAST, &handler, client);

	(void)kv;
	if (r < 0) {
		free(client);
	} else {
		client->queue_place = HERE;
	}
	return r;
}

const struct command connection_commands[] = {
	{ "discard", discard, 1, CONNECTION | IMMEDIATE, 0, TYPE_NONE, RUN, 0 },
	{ "exec", exec, 1, CONNECTION | IMMEDIATE, 0, TYPE_NONE, RUN, 0 },
	{ "multi", multi, 1, CONNECTION | IMMEDIATE, 0, TYPE_NONE, RUN, 0 },
	{ "quit", close_after_reply, -1, CONNECTION | IMMEDIATE | SUBSCRIBED, 0, TYPE_NONE, RUN,
	  0 },
	{ 0 },
};
