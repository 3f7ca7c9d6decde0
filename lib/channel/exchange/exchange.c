/*
 * The life of an exchange, and what it does in a run of its channel.
 */
#include "channel/exchange/exchange.h"
#include "base/sized.h"
#include "channel/exchange/shared_options.h"

#include <errno.h>

enum { FRAME_BYTES_MAX = 8192 };

static const uint64_t stall_min_ns = GYRE_MILLISECONDS(1);
static const uint64_t stall_max_ns = GYRE_SECONDS(86400);

static bool is_stall(uint64_t ns)
{
	return ns == 0 || ns == GYRE_ASK_STALL_NEVER || (ns >= stall_min_ns && ns <= stall_max_ns);
}

static bool are_valid(const struct gyre_exchange_options *options)
{
	uint64_t id_max = options->id_max == 0 ? UINT32_MAX : options->id_max;

	return (options->request != NULL || options->ask != NULL) &&
	       (options->request == NULL || options->reply != NULL) &&
	       options->frame_bytes <= FRAME_BYTES_MAX && options->asks_max <= id_max &&
	       is_stall(options->ask_stall_ns);
}

static void end(struct gy_exchange *exchange)
{
	gy_requests_end(exchange);
	gy_asks_end(exchange);
}

static void discard(struct gy_exchange *exchange)
{
	gy_assert(!gy_timer_is_started(&exchange->asks.timer));
	gy_shared_options_put(&exchange->mailbox->channel->channels->mailboxes, exchange->options);
	gy_sizes_delete(&gy_exchange_home(exchange)->parts, exchange, sizeof(*exchange));
}

static void left(struct gy_exchange *exchange, const struct gyre_handler_context *ctx)
{
	struct gy_channel_mailbox *mailbox = exchange->mailbox;

	if (exchange->ctx != ctx) {
		return;
	}
	end(exchange);
	gy_channel_remove_no_read(mailbox->channel, GY_NO_READ_FULL);
	gy_channel_ready(mailbox->channel);
	mailbox->exchange = NULL;
	exchange->closed = true;
	if (!exchange->running) {
		discard(exchange);
	}
}

static bool is_due(const struct gy_exchange *exchange)
{
	return exchange->more || (exchange->blocked && gy_exchange_may_write(exchange));
}

static bool is_blocked(const struct gy_exchange *exchange)
{
	return exchange->blocked;
}

/*
 * Stacks of an owner that is stopping do not run any more, so the channel does not wait for them;
 * but answers that they have given are written.
 */
static bool owes(const struct gy_exchange *exchange)
{
	const struct gyre_channel *channel = exchange->mailbox->channel;

	return channel->endpoint.owner->house->status == GY_HOUSE_STOPPING
		       ? gy_requests_have_answer(exchange)
		       : exchange->requests.count + exchange->requests.pending_count > 0;
}

static bool takes(struct gy_exchange *exchange, struct gyre_mail *ask)
{
	if (exchange->options->ask == NULL || ask->type->id < GY_IDS_OF_GYRE) {
		return false;
	}
	gy_asks_add(exchange, ask);
	return true;
}

static void run(struct gy_exchange *exchange)
{
	gy_assert(!exchange->running && !exchange->closed);
	exchange->running = true;
	exchange->more = false;
	gy_requests_run(exchange);
	gy_asks_run(exchange);
	exchange->running = false;
	exchange->blocked = !gy_exchange_may_write(exchange) &&
			    (gy_requests_wait(exchange) || exchange->asks.pending.first != NULL);
	if (exchange->closed) {
		discard(exchange);
	}
}

static const struct gy_exchange_ops exchange_ops = {
	.takes = takes,
	.run = run,
	.is_due = is_due,
	.is_blocked = is_blocked,
	.owes = owes,
	.connected = gy_asks_connected,
	.note_reads = gy_asks_note_reads,
	.end = end,
	.left = left,
};

/* ---- the public calls ---- */

static int open_exchange(struct gyre_handler_context *ctx,
			 const struct gyre_exchange_options *options)
{
	struct gy_exchange *exchange;
	struct gy_channel_mailbox *mailbox;

	if (ctx == NULL || options == NULL || !are_valid(options)) {
		return -EINVAL;
	}
	if ((ctx->channel->state & GY_CHANNEL_ENDING) != 0) {
		return -EPIPE;
	}
	mailbox = gy_channel_mailbox_get(ctx->channel);
	if (mailbox == NULL || mailbox->exchange != NULL) {
		return mailbox == NULL ? -ENOMEM : -EEXIST;
	}
	exchange = (struct gy_exchange *)gy_sizes_new(&ctx->channel->channels->home->parts,
						      sizeof(*exchange));
	if (exchange == NULL) {
		return -ENOMEM;
	}
	*exchange = (struct gy_exchange){ .mailbox = mailbox, .ctx = ctx };
	exchange->options = gy_shared_options_get(&ctx->channel->channels->mailboxes, options);
	if (exchange->options == NULL) {
		gy_sizes_delete(&ctx->channel->channels->home->parts, exchange, sizeof(*exchange));
		return -ENOMEM;
	}
	gy_requests_init(exchange);
	gy_asks_init(exchange);
	mailbox->exchange = exchange;
	mailbox->exchange_ops = &exchange_ops;
	return 0;
}

int gyre_exchange_open_sized(struct gyre_handler_context *ctx,
			     const struct gyre_exchange_options *options, size_t options_bytes)
{
	struct gyre_exchange_options whole;
	int r = GY_SIZED_READ(gyre_exchange_options, &whole, options, options_bytes,
			      ctx == NULL ? NULL : ctx->channel->channels->home->loop.options.log);

	return r < 0 ? r : open_exchange(ctx, options == NULL ? NULL : &whole);
}

static int get_load(const struct gyre_handler_context *ctx, struct gyre_exchange_load *ret_load)
{
	const struct gy_channel_mailbox *mailbox = ctx == NULL ? NULL : ctx->channel->mailbox;
	const struct gy_exchange *exchange = mailbox == NULL ? NULL : mailbox->exchange;

	if (exchange == NULL || ret_load == NULL) {
		return -EINVAL;
	}
	*ret_load =
		(struct gyre_exchange_load){ .requests = exchange->requests.count,
					     .requests_pending = exchange->requests.pending_count,
					     .asks = exchange->asks.count,
					     .asks_pending = exchange->asks.pending_count };
	return 0;
}

int gyre_exchange_look_sized(const struct gyre_handler_context *ctx,
			     struct gyre_exchange_load *ret_load, size_t ret_load_bytes)
{
	struct gyre_exchange_load whole;
	int r = get_load(ctx, ret_load == NULL ? NULL : &whole);

	if (r == 0) {
		gy_sized_write(ret_load, ret_load_bytes, &whole, sizeof(whole));
	}
	return r;
}
