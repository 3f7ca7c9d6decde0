/*
 * Outlets: sinks that send elements elsewhere, as far as they have credit.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "remote/types.h"
#include "stream/port.h"
#include "stream/post.h"

static struct gy_outlet *outlet_of(struct gy_stage *stage)
{
	return (struct gy_outlet *)(void *)stage;
}

/* Its stream has ended, or cannot go on: the other end is told. */
static enum gy_sink_state finish(struct gy_outlet *outlet, int reason)
{
	struct gy_port *port = &outlet->port;

	gy_block_destroy(outlet->block);
	outlet->block = NULL;
	outlet->has_ended = true;
	port->reason = reason;
	if (port->has_peer && (!port->is_closed || port->kind == GY_PORT_ACTOR)) {
		port->due |= GY_TELL_END;
		gy_port_tell(port);
	}
	port->is_closed = true;
	return gy_sink_end(&port->stage, reason);
}

/* ---- sending ---- */

/* How many elements may be sent now, in one block. */
static uint32_t room_of(const struct gy_outlet *outlet)
{
	const struct gy_port *port = &outlet->port;
	const struct gyre_type *type = gy_stage_in_type(&port->stage);
	uint64_t room = port->granted - port->passed;
	uint64_t most = gy_parcel_elements(type);

	if (port->granted_bytes <= port->passed_bytes) {
		return 0;
	}
	if (type->id == GYRE_ID(gyre_chunk)) {
		most = 1; /* how much it weighs shows when it is there */
	} else if (type->bytes > 0) {
		uint64_t bytes = port->granted_bytes - port->passed_bytes; /* at least 1 */
		uint64_t fit = (bytes - 1) / type->bytes + 1;

		most = fit < most ? fit : most;
	}
	return (uint32_t)(room < most ? room : most);
}

static int send_block(struct gy_outlet *outlet)
{
	struct gy_port *port = &outlet->port;
	struct gyre_stack *stack = port->stage.island->stack;
	struct gy_block *block = outlet->block;
	int r;

	outlet->block = NULL;
	r = gy_stream_post(
		stack, port->peer,
		gyre_new(stack, gy_stream_block, .block = block, .port = port->peer_port));
	return r == -ENOMEM ? r : 0;
}

/* Each element as a notice of its own. */
static int send_notices(struct gy_outlet *outlet)
{
	struct gyre_stack *stack = outlet->port.stage.island->stack;
	struct gy_block *block = outlet->block;
	int r = 0;

	while (r == 0 && block->first < block->count) {
		struct gyre_mail *mail = gyre_mail_create(stack, block->type);

		if (mail != NULL) {
			memcpy(gyre_payload(mail),
			       gy_element_at(block->type, block->elements, block->first++),
			       block->type->bytes);
		}
		r = gyre_notify(stack, outlet->port.peer, mail);
		outlet->port.passed += r == 0;
		outlet->port.stage.counted += r == 0;
	}
	return r;
}

/* A block with room; kept from the last time, or new. */
static struct gy_block *block_for(struct gy_outlet *outlet)
{
	const struct gyre_type *type = gy_stage_in_type(&outlet->port.stage);

	if (outlet->block == NULL) {
		outlet->block = gy_block_make(type, gy_parcel_elements(type));
	}
	if (outlet->block != NULL) {
		outlet->block->first = 0;
		outlet->block->count = 0;
	}
	return outlet->block;
}

static enum gy_sink_state send_elements(struct gy_outlet *outlet, uint32_t count)
{
	struct gy_port *port = &outlet->port;
	struct gy_block *block = outlet->block;
	int r;

	block->count = count;
	block->weight = gy_elements_weight(block->type, block->elements, count);
	port->passed_bytes += block->weight;
	if (port->kind != GY_PORT_ACTOR) {
		port->passed += count;
		port->stage.counted += count;
	}
	if (port->is_far) {
		port->due |= GY_TELL_BLOCK;
		gy_port_tell(port);
		return GY_SINK_MOVES; /* it may have made room for another sink */
	}
	r = port->kind == GY_PORT_ACTOR ? send_notices(outlet) : send_block(outlet);
	if (r < 0) {
		gy_edge_cancel(&port->stage.in[0], r);
		return finish(outlet, r);
	}
	return GY_SINK_MOVES;
}

static enum gy_sink_state run_outlet(struct gy_stage *stage)
{
	struct gy_outlet *outlet = outlet_of(stage);
	struct gy_port *port = &outlet->port;
	uint32_t room;
	int32_t pulled;

	if (outlet->has_ended) {
		return finish(outlet, port->reason);
	}
	if (!port->has_peer || (port->due & GY_TELL_BLOCK) != 0 ||
	    (port->is_far && outlet->block != NULL && outlet->block->count > 0)) {
		return GY_SINK_WAITS;
	}
	room = room_of(outlet);
	if (room == 0) { /* an end needs none */
		if (!gy_edge_is_dry(&stage->in[0])) {
			return GY_SINK_WAITS;
		}
		room = 1;
	}
	if (block_for(outlet) == NULL) {
		return finish(outlet, -ENOMEM);
	}
	pulled = gy_edge_pull(&stage->in[0], outlet->block->elements, room);
	if (gy_pull_is_over(pulled)) {
		return finish(outlet, gy_pull_reason(pulled));
	}
	if (pulled <= 0) {
		return pulled == GY_PULL_AGAIN ? GY_SINK_MOVES : GY_SINK_WAITS;
	}
	return send_elements(outlet, (uint32_t)pulled);
}

/* ---- its life ---- */

static void start_outlet(struct gy_stage *stage)
{
	struct gy_outlet *outlet = outlet_of(stage);
	struct gy_port *port = &outlet->port;

	if (port->kind == GY_PORT_GRAPH) {
		if (outlet->accept_ns != GYRE_FOREVER &&
		    gy_island_timer(stage, outlet->accept_ns) < 0) {
			gy_outlet_cancel(outlet, -ENOMEM);
		}
		return;
	}
	gy_port_meet(port, port->peer, port->peer_port);
	if (port->kind == GY_PORT_ACTOR) {
		port->due |= GY_TELL_OPENED;
		gy_port_tell(port);
	}
}

/* Nobody has accepted the offer. */
static void outlet_is_late(struct gy_stage *stage)
{
	struct gy_outlet *outlet = outlet_of(stage);

	if (!outlet->port.has_peer) {
		gy_outlet_cancel(outlet, -ETIMEDOUT);
	}
}

static void retry_outlet(struct gy_stage *stage)
{
	gy_port_tell(&outlet_of(stage)->port);
}

static bool outlet_is_open(const struct gy_stage *stage)
{
	return gy_port_is_open((const struct gy_port *)(const void *)stage);
}

static void fini_outlet(struct gy_stage *stage)
{
	gy_block_destroy(outlet_of(stage)->block);
	gy_port_fini(&outlet_of(stage)->port);
}

static const struct gy_stage_ops outlet_ops = {
	.name = "outlet",
	.start = start_outlet,
	.run = run_outlet,
	.timeout = outlet_is_late,
	.work = gy_far_work,
	.retry = retry_outlet,
	.is_open = outlet_is_open,
	.fini = fini_outlet,
};

struct gy_outlet *gy_outlet_add(const struct gyre_stream *from, enum gy_port_kind kind,
				bool is_inner)
{
	struct gy_outlet *outlet = (struct gy_outlet *)gy_graph_add(from->graph, &outlet_ops,
								    sizeof(*outlet), NULL, from, 1);

	if (outlet != NULL) {
		outlet->port.kind = kind;
		outlet->port.stage.is_inner = is_inner;
	}
	return outlet;
}

/* ---- what comes ---- */

void gy_outlet_credit(struct gy_outlet *outlet, uint64_t elements, uint64_t bytes)
{
	struct gy_port *port = &outlet->port;

	if (elements > port->granted) {
		port->granted = elements;
	}
	if (bytes > port->granted_bytes) {
		port->granted_bytes = bytes;
	}
}

void gy_outlet_cancel(struct gy_outlet *outlet, int reason)
{
	struct gy_port *port = &outlet->port;

	if (outlet->has_ended) {
		return;
	}
	outlet->has_ended = true; /* the sink ends with its next run */
	port->reason = reason;
	port->is_closed = true;
	port->due = 0;
	gy_stage_cancel_inputs(&port->stage, reason);
}

int gy_outlet_attach(struct gy_outlet *outlet, const struct gy_stream_attach *attach,
		     struct gyre_address from)
{
	struct gy_port *port = &outlet->port;
	const struct gyre_type *type = gy_stage_in_type(&port->stage);

	if (port->kind != GY_PORT_GRAPH || outlet->has_ended) {
		return -ESRCH;
	}
	if (port->has_peer) { /* it may say so again when it has not heard the answer */
		return gyre_address_equal(port->peer, from) && port->peer_port == attach->from_port
			       ? 0
			       : -EALREADY;
	}
	if (attach->type_id != type->id || attach->layout != gy_type_layout(type)) {
		return -EPROTO;
	}
	if (from.node != port->stage.island->self.node && !gy_element_travels(type)) {
		return -EOPNOTSUPP;
	}
	gy_island_timer_stop(&port->stage);
	gy_port_meet(port, from, attach->from_port);
	return 0;
}
