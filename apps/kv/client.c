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
	free(client->queue.bytes);
	client->queue = (struct text){ 0 };
	client->queued = 0;
	client->in_transaction = client->is_spoilt = false;
	client->queue_place = HERE;
}

static const char *multi(struct call *call)
{
	if (call->client->in_transaction) {
		return "-ERR MULTI calls can not be nested\r\n";
	}
	call->client->in_transaction = true;
	return OK;
}

static const char *discard(struct call *call)
{
	bool applies = call->client->in_transaction;

	end_transaction(call->client);
	return applies ? OK : "-ERR DISCARD without MULTI\r\n";
}

static void queue(struct call *call, struct slice raw)
{
	struct client *client = call->client;
	int64_t place = command_place(call);
	const char *refusal = NULL;

	if ((call->command->flags & UNQUEUED) != 0) {
		refusal = "-ERR Command not allowed inside a transaction\r\n";
	} else if (place == SPREAD ||
		   (place != HERE && client->queue_place != HERE && place != client->queue_place)) {
		refusal = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
	} else if (client->queue.count + raw.count > QUEUE_BYTES_MAX) {
		refusal = "-ERR the transaction is too long\r\n";
	} else {
		text_add(&client->queue, raw.bytes, raw.count);
		refusal = client->queue.failed ? OUT_OF_MEMORY : NULL;
	}
	client->is_spoilt |= refusal != NULL;
	client->queue_place = place == HERE ? client->queue_place : place;
	client->queued++;
	reply_text(call->out, refusal != NULL ? refusal : "+QUEUED\r\n");
}

static const char *exec(struct call *call)
{
	struct client *client = call->client;
	bool is_spoilt = client->is_spoilt;
	struct call each = *call;

	if (!client->in_transaction) {
		return "-ERR EXEC without MULTI\r\n";
	}
	if (!is_spoilt) {
		(void)reply_head(call->out, '*', (int64_t)client->queued);
		call_run_text(&each, (struct slice){ client->queue.bytes, client->queue.count });
	}
	end_transaction(client);
	return is_spoilt ? "-EXECABORT Transaction discarded because of previous errors.\r\n"
			 : NULL;
}

/* ---- running commands ---- */

static const char *quit(struct call *call)
{
	call->client->is_closing = true;
	return OK;
}

/* What needs no shard: a refusal, or that a command was queued. */
static bool is_answered(struct call *call, struct slice raw)
{
	struct client *client = call->client;

	if (!call_is_valid(call)) {
		client->is_spoilt = client->in_transaction;
	} else if (client->names != NULL && !client->resp3 &&
		   (call->command->flags & SUBSCRIBED) == 0) {
		(void)reply_format(
			call->out,
			"-ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING "
			"/ QUIT / RESET are allowed in this context",
			call->command->name);
	} else if (client->in_transaction && (call->command->flags & IMMEDIATE) == 0) {
		queue(call, raw);
	} else {
		return false;
	}
	return true;
}

/* False if it has to wait for the end of a round. */
static bool run(struct client *client, struct slice raw)
{
	struct call call = { .shard = client->shard,
			     .out = round_out(client),
			     .stack = gyre_context_stack(client->ctx),
			     .client = client };
	const struct slice queued = { client->queue.bytes, client->queue.count };
	size_t from = call.out->count;
	int64_t place = HERE;
	bool is_exec;

	call_set(&call);
	is_exec = call.command != NULL && call.command->run == exec;
	if (client->round != NULL && call.command != NULL && (call.command->flags & ALONE) != 0) {
		return false;
	}
	if (!is_answered(&call, raw)) {
		place = !is_exec	    ? command_place(&call)
			: client->is_spoilt ? HERE
					    : client->queue_place;
		if (place == HERE || place == client->shard->index) {
			place = HERE;
			call_run(&call);
		}
	}
	if (place == HERE) {
		round_replied(client, from);
	} else if (place == SPREAD) {
		round_add_spread(&call);
	} else {
		round_add(&call, (uint32_t)place, is_exec ? queued : raw, client->queued);
	}
	if (place != HERE && is_exec) {
		end_transaction(client);
	}
	return true;
}

/* ---- the channel ---- */

static void fail(struct client *client)
{
	gyre_channel_abort(gyre_context_channel(client->ctx), -ENOMEM);
}

/* Writes what has been replied. What is long is given away, and not copied. */
static void flush(struct client *client)
{
	struct text *out = &client->shard->out;
	bool is_copied = !out->failed && out->count <= COPIED_BYTES_MAX;
	struct gyre_buffer *buffer;
	int r = -ENOMEM;

	if (out->count == 0 && !out->failed) {
		return;
	}
	buffer = gyre_context_buffer(client->ctx);
	if (is_copied) {
		r = gyre_buffer_append(buffer, out->bytes, out->count);
		out->count = 0;
	} else if (out->failed) {
		free(out->bytes);
	} else {
		r = gyre_buffer_append_memory(buffer, out->bytes, out->count, free, out->bytes);
	}
	if (!is_copied) {
		*out = (struct text){ .resp3 = out->resp3 };
	}
	if (r < 0) {
		gyre_buffer_destroy(buffer);
		fail(client);
	} else {
		(void)gyre_context_write(client->ctx, buffer);
	}
}

/* Writes what was published while a reply was under way, behind that reply. */
void client_write_late(struct client *client)
{
	struct gyre_buffer *late = client->late;

	client->late = NULL;
	flush(client);
	(void)gyre_context_write(client->ctx, late);
}

/* Whether the client reads. */
bool client_can_reply(struct client *client)
{
	if (client->shard->out.count >= PENDING_BYTES_MAX || client->shard->out.failed) {
		flush(client);
	}
	return gyre_channel_is_writable(gyre_context_channel(client->ctx));
}

static void refuse_protocol(struct client *client)
{
	struct text *out = round_out(client);
	size_t from = out->count;

	(void)reply_format(out, "-ERR Protocol error: %s", client->shard->args.error);
	round_replied(client, from);
	client->is_closing = true;
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
		fail(client);
		return false;
	}
	while (bytes > 0 && used < there && !client->is_closing && !round_is_full(client->round) &&
	       client_can_reply(client)) {
		struct slice rest = { (const char *)input + used, there - used };

		bytes = resp_parse(args, rest, client->shard->kv->value_max);
		if (bytes < 0) {
			refuse_protocol(client);
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

/* A client that does not wait for replies is not read from. */
static void pace(struct client *client)
{
	bool waits = client->is_away && gyre_buffer_bytes(client->input) > PENDING_BYTES_MAX;

	if (waits != client->is_paused) {
		client->is_paused = waits;
		gyre_channel_set_auto_read(gyre_context_channel(client->ctx), !waits);
	}
}

static void process(struct client *client)
{
	struct shard *shard = client->shard;
	bool is_done;

	shard->out.resp3 = client->resp3;
	shard_look_at_clock(shard);
	is_done = !run_all(client);
	if (client->round != NULL) {
		round_send(client);
	}
	flush(client);
	if (!client->is_away && (client->is_closing || (client->is_ending && is_done))) {
		gyre_context_close(client->ctx);
	}
	pace(client);
}

/* Writes what a round has brought, and sends it again for what it has not; or goes on. */
static void advance(struct client *client)
{
	if (client->round != NULL) {
		client->shard->out.resp3 = client->resp3;
		round_deliver(client);
		flush(client);
	}
	if (client->round == NULL && !client->is_away) {
		process(client);
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
	client->queue_place = HERE;
	client->id = ++shard->counts[CONNECTIONS] * shard->kv->loops + shard->index;
	shard->counts[CLIENTS]++;
}

static void end(struct gyre_handler_context *ctx)
{
	struct client *client = client_of(ctx);

	client->shard->counts[CLIENTS]--;
	client_unsubscribe(client);
	end_transaction(client);
	round_destroy(client->round);
	gyre_buffer_destroy(client->input);
	gyre_buffer_destroy(client->late);
	*client = (struct client){ 0 };
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct client *client = client_of(ctx);

	if (client->input == NULL) {
		client->input = data;
	} else if (gyre_buffer_join(client->input, data) < 0) {
		fail(client);
		return;
	}
	if (client->is_away) {
		pace(client);
	} else if (gyre_buffer_bytes(client->input) >= client->needed) {
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

/* ---- the actor ---- */

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

/* Writes what was published, or keeps it until an array that is replied in part is whole. */
static int write_published(struct client *client, struct gyre_buffer *buffer)
{
	if (client->is_within && client->late != NULL) {
		return gyre_buffer_join(client->late, buffer);
	}
	if (client->is_within) {
		client->late = buffer;
	} else {
		(void)gyre_context_write(client->ctx, buffer);
	}
	return 0;
}

/* A subscriber that does not read what was published, or is too slow, is cut off. */
static int push(struct gyre_stack *stack)
{
	struct client *client = (struct client *)gyre_state(stack);
	struct gyre_channel *channel = gyre_actor_channel(stack);
	struct gyre_buffer *buffer = channel == NULL ? NULL : gyre_buffer_create(stack);

	if (channel != NULL &&
	    (gyre_message(stack, gyre_events_missed) != NULL ||
	     gyre_channel_queued_bytes(channel) + gyre_buffer_bytes(client->late) >
		     PUSH_BYTES_MAX ||
	     gyre_buffer_append(buffer, client->resp3 ? ">" : "*", 1) < 0 ||
	     gyre_buffer_append_shared(buffer, gyre_message(stack, published)->bytes) < 0)) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(channel, -ENOBUFS);
	} else if (channel != NULL && write_published(client, buffer) < 0) {
		gyre_channel_abort(channel, -ENOMEM);
	}
	return gyre_return(stack);
}

static const struct gyre_route notices[] = { GYRE_ROUTE(travel, take_round), GYRE_ROUTE_END };
static const struct gyre_route events[] = { GYRE_ROUTE(published, push),
					    GYRE_ROUTE(gyre_events_missed, push), GYRE_ROUTE_END };

const struct gyre_class client_class = {
	.name = "client",
	.state_bytes = sizeof(struct client),
	.behaviour = { .notice_routes = notices, .event_routes = events },
};

const struct command client_commands[] = {
	{ "discard", discard, 1, IMMEDIATE, 0, NONE, RUN, 0 },
	{ "exec", exec, 1, IMMEDIATE, 0, NONE, RUN, 0 },
	{ "multi", multi, 1, IMMEDIATE, 0, NONE, RUN, 0 },
	{ "quit", quit, -1, IMMEDIATE | SUBSCRIBED, 0, NONE, RUN, 0 },
	{ 0 },
};
