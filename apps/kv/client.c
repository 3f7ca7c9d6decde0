/*
 * A client: the actor of a channel, whose state the channel's handler reaches. Commands are run as
 * they are parsed, and what they reply is written once for each read. A command for the shard of
 * another loop begins a round: see round.c. Until that has come back, or while the client does not
 * read, its further commands wait in the channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum { COPIED_BYTES_MAX = 16 << 10 };

/* ---- transactions: commands of one shard, kept as they came ---- */

static void end_transaction(struct client *client)
{
	free(client->transaction.commands.bytes);
	client->transaction = (struct transaction){ .place = HERE };
}

static const char *multi(struct call *call)
{
	if (call->client->transaction.is_open) {
		return "-ERR MULTI calls can not be nested\r\n";
	}
	call->client->transaction.is_open = true;
	return OK;
}

static const char *discard(struct call *call)
{
	bool applies = call->client->transaction.is_open;

	end_transaction(call->client);
	return applies ? OK : "-ERR DISCARD without MULTI\r\n";
}

static const char *queue(const struct call *call, int64_t place, struct slice raw)
{
	struct transaction *transaction = &call->client->transaction;
	const char *refusal = NULL;

	if ((call->command->flags & UNQUEUED) != 0) {
		refusal = "-ERR Command not allowed inside a transaction\r\n";
	} else if (place == SPREAD ||
		   (place != HERE && transaction->place != HERE && place != transaction->place)) {
		refusal = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
	} else if (transaction->commands.count + raw.count > QUEUE_BYTES_MAX) {
		refusal = TOO_LONG;
	} else {
		text_add(&transaction->commands, raw.bytes, raw.count);
		refusal = transaction->commands.failed ? OUT_OF_MEMORY : NULL;
	}
	transaction->is_spoilt |= refusal != NULL;
	transaction->place = place == HERE ? transaction->place : place;
	transaction->count++;
	return refusal != NULL ? refusal : "+QUEUED\r\n";
}

static const char *exec(struct call *call)
{
	const struct transaction *transaction = &call->client->transaction;
	struct slice commands = { transaction->commands.bytes, transaction->commands.count };
	struct call each = *call;
	const char *refusal = NULL;

	if (!transaction->is_open) {
		return "-ERR EXEC without MULTI\r\n";
	}
	if (transaction->is_spoilt) {
		refusal = "-EXECABORT Transaction discarded because of previous errors.\r\n";
	} else if (transaction->place == HERE || transaction->place == call->shard->index) {
		(void)reply_list(call->out, '*', transaction->count);
		call_run_text(&each, commands);
	} else {
		round_add(call, (uint32_t)transaction->place, commands, transaction->count);
	}
	end_transaction(call->client);
	return refusal;
}

/* ---- running commands ---- */

static const char *quit(struct call *call)
{
	call->client->is_closing = true;
	return OK;
}

/* Runs a command, or adds it to the round. False if it has to wait for the end of that. */
static bool run(struct client *client, struct slice raw)
{
	struct shard *shard = client->shard;
	struct call call = { .shard = shard, .out = &shard->out, .client = client };
	int64_t place;

	call_set(&call);
	if (client->round != NULL && call.command != NULL && (call.command->flags & ALONE) != 0) {
		return false;
	}
	place = call_place(&call);
	if (place == REFUSED || call.command == NULL) {
		client->transaction.is_spoilt = client->transaction.is_open;
	} else if (client_names(client) > 0 && !client->resp3 &&
		   (call.command->flags & SUBSCRIBED) == 0) {
		(void)reply_format(
			call.out,
			"-ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING "
			"/ QUIT / RESET are allowed in this context",
			call.command->name);
	} else if (client->transaction.is_open && (call.command->flags & IMMEDIATE) == 0) {
		(void)reply_text(call.out, queue(&call, place, raw));
	} else if (place == SPREAD) {
		round_add_parts(&call);
	} else if (place != HERE && place != shard->index) {
		round_add(&call, (uint32_t)place, raw, 0);
	} else {
		call_run(&call);
	}
	round_take_replies(client);
	return true;
}

/* ---- the channel ---- */

/* There is no memory. */
void client_fail(struct client *client)
{
	gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
}

/* Writes what has been replied. What is long is given away, and not copied. */
void client_flush(struct client *client)
{
	struct text *out = &client->shard->out;
	struct gyre_buffer *buffer;
	int r;

	if (out->count == 0 && !out->failed) {
		return;
	}
	buffer = gyre_context_buffer(client->ctx);
	if (out->count <= COPIED_BYTES_MAX && !out->failed) {
		r = gyre_buffer_append(buffer, out->bytes, out->count);
		out->count = 0;
	} else {
		r = gyre_buffer_append_memory(buffer, out->bytes, out->count, free, out->bytes);
		r = out->failed ? -ENOMEM : r;
		*out = (struct text){ .resp3 = out->resp3 };
	}
	if (r < 0) {
		gyre_buffer_destroy(buffer);
		client_fail(client);
	} else {
		(void)gyre_context_write(client->ctx, buffer);
	}
}

/* Whether the client reads. */
bool client_can_reply(struct client *client)
{
	if (client->shard->out.count >= PENDING_BYTES_MAX || client->shard->out.failed) {
		client_flush(client);
	}
	return gyre_channel_is_writable(gyre_context_channel(client->ctx));
}

/* Runs the commands that are whole, as far as replies are read. False if no whole one is left. */
static bool run_all(struct client *client)
{
	struct args *args = &client->shard->args;
	size_t there = gyre_buffer_bytes(client->input);
	const void *input = NULL;
	size_t used = 0;
	ssize_t bytes = 1;

	if (there > 0 && gyre_buffer_linear(client->input, there, &input) < 0) {
		client_fail(client);
		return false;
	}
	while (bytes > 0 && used < there && !client->is_closing && !round_is_full(client->round) &&
	       client_can_reply(client)) {
		struct slice rest = { (const char *)input + used, there - used };

		bytes = resp_parse(args, rest, client->shard->kv->value_max);
		if (bytes < 0) {
			(void)reply_format(&client->shard->out, "-ERR Protocol error: %s",
					   args->error);
			round_take_replies(client);
			client->is_closing = true;
			break;
		}
		rest.count = (size_t)bytes;
		if (bytes > 0 && args->count > 0 && !run(client, rest)) {
			break;
		}
		used += rest.count;
	}
	(void)gyre_buffer_skip(client->input, used);
	client->needed = bytes == 0 ? args->needed : 0;
	return bytes > 0 && used < there;
}

/* Writes what a round has brought, and sends it again for what it has not; or goes on. */
static void advance(struct client *client)
{
	struct shard *shard = client->shard;
	bool is_done;

	shard->out.resp3 = client->resp3;
	if (client->round != NULL) {
		round_deliver(client);
		client_flush(client);
	}
	if (client->round != NULL || client->is_away) {
		return;
	}
	shard_look_at_clock(shard);
	is_done = !run_all(client);
	if (client->round != NULL) {
		round_send(client);
	}
	client_flush(client);
	if (!client->is_away && (client->is_closing || (client->is_ending && is_done))) {
		gyre_context_close(client->ctx);
	}
	if (client->is_paused && !client->is_away) {
		client->is_paused = false;
		gyre_channel_set_auto_read(gyre_context_channel(client->ctx), true);
	}
}

static struct client *client_of(const struct gyre_handler_context *ctx)
{
	return (struct client *)gyre_channel_actor_state(gyre_context_channel(ctx));
}

static void begin(struct gyre_handler_context *ctx)
{
	struct client *client = client_of(ctx);
	struct shard *shard = (struct shard *)gyre_loop_data(gyre_context_stack(ctx));

	client->ctx = ctx;
	client->shard = shard;
	client->transaction.place = HERE;
	shard_count(shard, CONNECTIONS, 1);
	shard_count(shard, CLIENTS, 1);
	client->id = shard->counts[CONNECTIONS] * shard->kv->loops + shard->index;
	if (kv_sum(shard->kv, CLIENTS) > shard->kv->clients_max) {
		client->is_closing = true;
		(void)reply_text(&shard->out, "-ERR max number of clients reached\r\n");
		client_flush(client);
		gyre_context_close(ctx);
	}
}

static void end(struct gyre_handler_context *ctx)
{
	struct client *client = client_of(ctx);

	shard_count(client->shard, CLIENTS, UINT64_MAX);
	client_unsubscribe(client);
	end_transaction(client);
	round_destroy(client->round);
	gyre_buffer_destroy(client->input);
	*client = (struct client){ 0 };
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct client *client = client_of(ctx);

	if (client->input == NULL) {
		client->input = data;
	} else if (gyre_buffer_join(client->input, data) < 0) {
		client_fail(client);
		return;
	}
	if (client->is_away && gyre_buffer_bytes(client->input) > PENDING_BYTES_MAX) {
		client->is_paused = true;
		gyre_channel_set_auto_read(gyre_context_channel(ctx), false);
	} else if (!client->is_away && gyre_buffer_bytes(client->input) >= client->needed) {
		advance(client);
	}
	if (gyre_buffer_bytes(client->input) == 0) {
		gyre_buffer_destroy(client->input);
		client->input = NULL;
	}
}

static void go_on(struct gyre_handler_context *ctx, bool writable)
{
	if (writable) {
		advance(client_of(ctx));
	}
}

static void take_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	if (type->id == GYRE_ID(gyre_input_closed)) {
		client_of(ctx)->is_ending = true;
		advance(client_of(ctx));
	} else {
		gyre_context_fire_event(ctx, type, event);
	}
}

int client_init(struct gyre_channel *channel, void *kv)
{
	static const struct gyre_handler handler = { .name = "kv",
						     .active = begin,
						     .read = read_bytes,
						     .event = take_event,
						     .writability = go_on,
						     .inactive = end };

	return gyre_pipeline_add(channel, GYRE_LAST, &handler, kv);
}

/* A round that has come back. */
static int take_round(struct gyre_stack *stack)
{
	struct client *client = (struct client *)gyre_state(stack);
	struct travel travel;

	if (gyre_actor_channel(stack) != NULL && gyre_move(stack, travel, &travel) == 0) {
		client->round = travel.round;
		client->is_away = false;
		advance(client);
	}
	return gyre_return(stack);
}

static const struct gyre_route notices[] = { GYRE_ROUTE(travel, take_round), GYRE_ROUTE_END };

const struct gyre_class client_class = {
	.name = "client",
	.state_bytes = sizeof(struct client),
	.behaviour = { .notice_routes = notices },
};

const struct command client_commands[] = {
	{ "discard", discard, 1, IMMEDIATE, NONE, RUN, 0 },
	{ "exec", exec, 1, IMMEDIATE, NONE, RUN, 0 },
	{ "multi", multi, 1, IMMEDIATE, NONE, RUN, 0 },
	{ "quit", quit, -1, IMMEDIATE | SUBSCRIBED, NONE, RUN, 0 },
	{ 0 },
};
