/*
 * A channel as a source: a handler at the end of its pipeline that does what an outlet does.
 *
 * The handler belongs to the channel, and the inlet to the actor of the graph; between them go
 * messages alone. They share nothing but what the handler is given before the graph starts: the
 * address of the actor, which the handler gets in the same call in which it is spawned. The mail
 * that tells the end is made beforehand, so that the end of a channel is told without memory.
 */
#include <errno.h>

#include <gyre/channel.h>
#include <gyre/move.h>

#include "actor/mail/mail.h"
#include "base/atomic.h"
#include "base/memory/memory.h"
#include "channel/channel.h"
#include "stream/channel_ends.h"
#include "stream/port.h"
#include "stream/post.h"

/* The handler's; and the graph's until that has started. */
struct gy_tap {
	struct gy_tap *next;
	struct gyre_handler_context *ctx; /* NULL once the handler has left */
	struct gyre_mail *end;		  /* NULL once it was sent */
	struct gyre_address graph;
	uint32_t port; /* of the graph */
	uint32_t id;   /* by which the graph names it */
	uint64_t granted;
	uint64_t granted_bytes;
	uint64_t passed;
	uint64_t passed_bytes;
	bool is_built;	/* into a graph that has not started */
	bool has_graph; /* that has started */
	bool has_ended; /* and @reason is why */
	int reason;
};

/* Of the process: a late order to a handler that has left finds no other one. */
static uint32_t next_id;

static struct gy_tap *tap_of(const struct gyre_handler_context *ctx)
{
	return (struct gy_tap *)gyre_context_arg(ctx);
}

/* ---- the handler ---- */

static bool may_read(const struct gy_tap *tap)
{
	return !tap->has_ended && tap->passed < tap->granted &&
	       tap->passed_bytes < tap->granted_bytes;
}

/* Tells the graph, if it has started. */
static void send_end(struct gy_tap *tap, struct gyre_stack *stack)
{
	struct gyre_mail *mail = tap->end;

	if (mail != NULL && tap->has_graph && stack != NULL) {
		struct gy_stream_control *control = (struct gy_stream_control *)gyre_payload(mail);

		*control = (struct gy_stream_control){ .elements = tap->passed,
						       .port = tap->port,
						       .order = GY_STREAM_END,
						       .reason = tap->reason };
		tap->end = NULL;
		(void)gy_stream_post(stack, tap->graph, mail);
	}
}

static void tell_end(struct gyre_handler_context *ctx, int reason)
{
	struct gy_tap *tap = tap_of(ctx);

	if (!tap->has_ended) {
		tap->has_ended = true;
		tap->reason = reason;
	}
	send_end(tap, gyre_context_stack(ctx));
}

static void take_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gy_tap *tap = tap_of(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gy_block *block = gy_block_make(&gyre_type_gyre_chunk, 1);
	struct gyre_chunk chunk = { tap->has_ended ? NULL : gyre_bytes_of_buffer(data) };
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_gy_stream_block);
	bool good = chunk.bytes != NULL && block != NULL && mail != NULL;

	gyre_buffer_destroy(data);
	if (!good) {
		gyre_chunk_fini(&chunk);
		gy_block_destroy(block);
		gyre_mail_destroy(stack, mail);
		if (!tap->has_ended) { /* the bytes are lost, and so is the stream */
			tell_end(ctx, -ENOMEM);
			gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		}
		return;
	}
	tap->passed++;
	tap->passed_bytes += gy_element_weight(&gyre_type_gyre_chunk, &chunk);
	block->weight = gy_element_weight(&gyre_type_gyre_chunk, &chunk);
	memcpy(block->elements, &chunk, sizeof(chunk));
	block->count = 1;
	(void)gy_stream_post(
		stack, tap->graph,
		gyre_fill_gy_stream_block(mail, (struct gy_stream_block){ block, tap->port }));
	gyre_channel_set_auto_read(gyre_context_channel(ctx), may_read(tap));
}

static void obey(struct gyre_handler_context *ctx, const struct gyre_type *type,
		 const void *message)
{
	struct gy_tap *tap = tap_of(ctx);
	const struct gy_stream_control *control = (const struct gy_stream_control *)message;

	if (type->id != GYRE_ID(gy_stream_control) || control->port != tap->id) {
		gyre_context_fire_event(ctx, type, message); /* of a graph before, for example */
		return;
	}
	if (control->order == GY_STREAM_CREDIT) {
		tap->granted = control->elements;
		tap->granted_bytes = control->bytes;
		gyre_channel_set_auto_read(gyre_context_channel(ctx), may_read(tap));
		return;
	}
	gyre_channel_set_auto_read(gyre_context_channel(ctx), false);
	tap->has_ended = true;
	gyre_context_remove(ctx);
}

static void peer_has_ended(struct gyre_handler_context *ctx)
{
	tell_end(ctx, 0);
	gyre_context_fire_read_end(ctx);
}

static void is_inactive(struct gyre_handler_context *ctx)
{
	int reason = gyre_channel_reason(gyre_context_channel(ctx));

	tell_end(ctx, reason < 0 ? reason : -ECANCELED);
	gyre_context_fire_inactive(ctx);
}

/* Frees what neither a pipeline nor a graph has. */
static void drop(struct gy_tap *tap)
{
	if (tap->ctx == NULL && !tap->is_built) {
		gyre_mail_destroy(NULL, tap->end);
		gy_memory_put(tap);
	}
}

static void is_removed(struct gyre_handler_context *ctx)
{
	struct gy_tap *tap = tap_of(ctx);

	tell_end(ctx, -ECANCELED);
	tap->ctx = NULL;
	drop(tap);
}

static int is_added(struct gyre_handler_context *ctx)
{
	tap_of(ctx)->ctx = ctx;
	return 0;
}

static const struct gyre_handler tap_handler = {
	.name = "gyre-stream",
	.added = is_added,
	.removed = is_removed,
	.read = take_bytes,
	.event = obey,
	.inactive = is_inactive,
	.read_end = peer_has_ended,
};

/* ---- the graph ---- */

int gy_taps_prepare(struct gy_tap *taps, struct gyre_graph *graph, struct gyre_system *system)
{
	int r = 0;

	for (struct gy_tap *tap = taps; r == 0 && tap != NULL; tap = tap->next) {
		struct gy_stage *stage = graph->stages[tap->port];

		r = gy_port_expect((struct gy_port *)(void *)stage, system);
	}
	return r;
}

void gy_taps_connect(struct gy_tap *taps, struct gyre_address graph, struct gyre_stack *stack)
{
	while (taps != NULL) {
		struct gy_tap *tap = taps;

		taps = tap->next;
		tap->graph = graph;
		tap->has_graph = true;
		tap->is_built = false;
		if (tap->ctx != NULL) { /* until there is credit */
			gyre_channel_set_auto_read(gyre_context_channel(tap->ctx), false);
		}
		if (tap->has_ended) {
			send_end(tap, stack); /* it has before there was anybody to be told */
		}
		drop(tap);
	}
}

void gy_taps_drop(struct gy_tap *taps)
{
	while (taps != NULL) {
		struct gy_tap *tap = taps;

		taps = tap->next;
		tap->is_built = false;
		if (tap->ctx != NULL) {
			gyre_context_remove(tap->ctx);
		} else {
			drop(tap);
		}
	}
}

static struct gy_tap *make_tap(struct gyre_channel *channel)
{
	struct gyre_stack *stack = gyre_context_stack(gyre_channel_tail(channel));
	struct gy_tap *tap = (struct gy_tap *)gy_memory_get(sizeof(*tap));

	if (tap != NULL && stack != NULL) {
		tap->end = gyre_mail_keep(
			stack, gyre_new(stack, gy_stream_control, .order = GY_STREAM_END));
	}
	if (tap != NULL && tap->end == NULL) {
		gy_memory_put(tap);
		return NULL;
	}
	return tap;
}

/* Where all handlers have heard of the peer's end, a later one does not: nothing comes any more. */
static void see_ended(struct gy_tap *tap, const struct gyre_channel *channel)
{
	if (channel->told_read_end && (channel->state & GY_INPUT_END_TOLD) != 0) {
		tap->has_ended = true; /* the graph is told when it starts */
		tap->reason = 0;
	}
}

static int add_tap(struct gyre_graph *graph, struct gy_inlet *inlet, struct gyre_channel *channel)
{
	struct gyre_address address = gyre_channel_address(channel);
	struct gy_tap *tap;
	int r;

	if (gyre_address_is_nobody(address)) {
		return -ENOMEM;
	}
	tap = make_tap(channel);
	if (tap == NULL) {
		return -ENOMEM;
	}
	r = gyre_pipeline_add(channel, GYRE_LAST, &tap_handler, tap);
	if (r < 0) {
		drop(tap);
		return r;
	}
	tap->port = inlet->port.stage.index;
	tap->id = gy_add_relaxed(&next_id, 1);
	inlet->port.peer_port = tap->id;
	see_ended(tap, channel);
	tap->is_built = true;
	tap->next = graph->taps;
	graph->taps = tap;
	inlet->port.peer = address;
	return 0;
}

struct gyre_stream gyre_stream_read_channel(struct gyre_graph *graph, struct gyre_channel *channel)
{
	static const struct gyre_window window = { 16, 1 << 20, 0 };
	struct gy_inlet *inlet =
		gy_inlet_add(graph, &gyre_type_gyre_chunk, GY_PORT_CHANNEL, &window);
	int r = channel == NULL ? -EINVAL : inlet == NULL ? 0 : add_tap(graph, inlet, channel);

	if (r < 0) {
		gy_graph_fail(graph, r);
	}
	return gy_graph_stream(graph, inlet, 0);
}
