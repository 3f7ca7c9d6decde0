/*
 * How events go through a pipeline: each call finds the next place that handles it and calls the
 * handler there. At the ends stand the head, which acts on the channel, and the tail, which
 * disposes of all that no handler kept.
 */
#include <errno.h>

#include "actor/stack/stack.h"
#include "base/sized.h"
#include "buffer/buffer.h"
#include "channel/channel.h"
#include "channel/connector.h"
#include "channel/file/region.h"
#include "channel/half_close.h"
#include "channel/output/output.h"
#include "channel/pipeline/pipeline.h"

struct gyre_stack *gyre_context_stack(const struct gyre_handler_context *ctx)
{
	struct gy_stack *stack = ctx->channel->channels->stack;

	return stack == NULL ? NULL : &stack->head;
}

struct gyre_buffer *gyre_context_buffer(const struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gy_buffer_get(&ctx->channel->channels->pools);

	if (gy_likely(buffer != NULL)) {
		gy_context_gets(gy_container_of(ctx, const struct gy_context, head), buffer);
	}
	return buffer;
}

/* ---- towards the tail ---- */

void gyre_context_fire_registered(struct gyre_handler_context *ctx)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_REGISTERED);

	next->handler->registered(&next->head);
}

void gyre_context_fire_active(struct gyre_handler_context *ctx)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_ACTIVE);

	next->handler->active(&next->head);
}

void gyre_context_fire_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gy_context *context = gy_context_of(ctx);
	struct gy_context *next = gy_likely(!context->removed)
					  ? context->next_read
					  : gy_context_next(context, GY_ON_READ);

	if (gy_likely(data != NULL)) {
		gy_context_gets(next, data);
		next->handler->read(&next->head, data);
	}
}

void gyre_context_fire_read_complete(struct gyre_handler_context *ctx)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_READ_COMPLETE);

	next->handler->read_complete(&next->head);
}

void gyre_context_fire_read_end(struct gyre_handler_context *ctx)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_READ_END);

	next->handler->read_end(&next->head);
}

void gyre_context_fire_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
			     const void *event)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_EVENT);

	next->handler->event(&next->head, type, event);
}

void gyre_context_fire_writability(struct gyre_handler_context *ctx, bool writable)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_WRITABILITY);

	next->handler->writability(&next->head, writable);
}

void gyre_context_fire_exception(struct gyre_handler_context *ctx, int error)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_EXCEPTION);

	next->handler->exception(&next->head, error);
}

void gyre_context_fire_inactive(struct gyre_handler_context *ctx)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_INACTIVE);

	next->handler->inactive(&next->head);
}

void gyre_context_fire_unregistered(struct gyre_handler_context *ctx)
{
	struct gy_context *next = gy_context_next(gy_context_of(ctx), GY_ON_UNREGISTERED);

	next->handler->unregistered(&next->head);
}

/* ---- towards the head ---- */

/* Not just from the first handler that writes to the channel. */
static __attribute__((noinline)) int write_slow(struct gyre_handler_context *ctx,
						struct gyre_buffer *data)
{
	struct gy_context *to;

	if (data == NULL) {
		return -ENOMEM;
	}
	if (ctx == NULL) {
		gy_buffer_put(data);
		return -EINVAL;
	}
	to = gy_context_previous(gy_context_of(ctx), GY_ON_WRITE);
	return to->handler->write(&to->head, data);
}

int gyre_context_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	if (gy_unlikely(data == NULL || ctx == NULL || gy_context_of(ctx)->removed ||
			gy_context_of(ctx)->previous_write != &ctx->channel->pipeline.head)) {
		return write_slow(ctx, data);
	}
	return gy_output_add(ctx->channel, data);
}

int gyre_context_try_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	int r;

	if (ctx == NULL || data == NULL) {
		return ctx == NULL ? -EINVAL : -ENOMEM;
	}
	r = gy_output_check(ctx->channel, data->bytes);
	if (r == 0 && ctx->channel->kind->check_write != NULL) {
		r = ctx->channel->kind->check_write(ctx->channel, data);
	}
	if (r < 0) {
		return r;
	}
	/* The bytes are taken now: an error of a handler in between can no longer be reported. */
	(void)gyre_context_write(ctx, data);
	return 0;
}

static int send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
		     const struct gyre_file_region *what)
{
	struct gy_context *to;

	if (ctx == NULL) {
		return -EINVAL;
	}
	to = gy_context_previous(gy_context_of(ctx), GY_ON_WRITE | GY_ON_SEND_FILE);
	return (to->mask & GY_ON_SEND_FILE) == 0 ? -EOPNOTSUPP
						 : to->handler->send_file(&to->head, file, what);
}

int gyre_context_send_file_sized(struct gyre_handler_context *ctx, struct gyre_file *file,
				 const struct gyre_file_region *what, size_t what_bytes)
{
	struct gyre_file_region whole;
	int r = GY_SIZED_READ(gyre_file_region, &whole, what, what_bytes,
			      ctx == NULL ? NULL : ctx->channel->channels->home->loop.options.log);

	return r < 0 ? r : send_file(ctx, file, what == NULL ? NULL : &whole);
}

void gyre_context_flush(struct gyre_handler_context *ctx)
{
	struct gy_context *to = gy_context_previous(gy_context_of(ctx), GY_ON_FLUSH);

	to->handler->flush(&to->head);
}

void gyre_context_read(struct gyre_handler_context *ctx)
{
	struct gy_context *to = gy_context_previous(gy_context_of(ctx), GY_ON_READ_REQUEST);

	to->handler->read_request(&to->head);
}

void gyre_context_shutdown(struct gyre_handler_context *ctx)
{
	struct gy_context *to = gy_context_previous(gy_context_of(ctx), GY_ON_SHUTDOWN);

	to->handler->shutdown(&to->head);
}

void gyre_context_close(struct gyre_handler_context *ctx)
{
	struct gy_context *to = gy_context_previous(gy_context_of(ctx), GY_ON_CLOSE);

	to->handler->close(&to->head);
}

/* ---- the ends ---- */

static int head_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	return gy_output_add(ctx->channel, data);
}

static void head_flush(struct gyre_handler_context *ctx)
{
	if (ctx->channel->kind->start(ctx->channel) < 0) {
		gy_channel_ready(ctx->channel);
	}
}

static void head_read_request(struct gyre_handler_context *ctx)
{
	gy_channel_remove_no_read(ctx->channel, GY_NO_READ_NOT_ASKED);
	gy_channel_ready(ctx->channel);
}

static void head_shutdown(struct gyre_handler_context *ctx)
{
	gy_half_close_shut_down(ctx->channel);
}

static void head_close(struct gyre_handler_context *ctx)
{
	gy_channel_end_in_order(ctx->channel);
}

static int head_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
			  const struct gyre_file_region *what)
{
	return gy_region_add(ctx->channel, file, what);
}

const struct gyre_handler gy_head_handler = {
	.name = "head",
	.bind = gy_connector_bind,
	.connect = gy_connector_connect,
	.write = head_write,
	.flush = head_flush,
	.read_request = head_read_request,
	.shutdown = head_shutdown,
	.close = head_close,
	.send_file = head_send_file,
};

static void tail_ignore(struct gyre_handler_context *ctx)
{
	(void)ctx;
}

static void tail_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	gy_buffer_put(data);
}

static void tail_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	(void)type;
	(void)event;
	tail_ignore(ctx);
}

static void tail_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)writable;
	tail_ignore(ctx);
}

static void tail_exception(struct gyre_handler_context *ctx, int error)
{
	if (gy_channel_is_datagram(ctx->channel)) {
		return; /* one datagram is not the others' fault */
	}
	gy_channel_set_reason(ctx->channel, error);
	gy_channel_end_in_order(ctx->channel);
}

const struct gyre_handler gy_tail_handler = {
	.name = "tail",
	.registered = tail_ignore,
	.active = tail_ignore,
	.read = tail_read,
	.read_complete = tail_ignore,
	.read_end = tail_ignore,
	.event = tail_event,
	.writability = tail_writability,
	.exception = tail_exception,
	.inactive = tail_ignore,
	.unregistered = tail_ignore,
};
