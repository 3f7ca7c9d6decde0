/*
 * What ports are told by their other ends: whether it comes from there, and what is to be done.
 */
#include "stream/orders.h"

#include <gyre/move.h>

#include "stream/port.h"
#include "stream/post.h"

/* The island that has a stage, for messages of those who only know the first one; NULL if that is
 * this one, or there is no such stage. */
static const struct gy_island *owner_of(const struct gy_island *island, uint32_t port)
{
	const struct gyre_graph *graph = island->graph;

	return island->index == 0 && port < graph->count && graph->stages[port]->island != island
		       ? graph->stages[port]->island
		       : NULL;
}

/* Whether a message comes from the other end of a port. Of a boundary the other island may have
 * begun before this one; a channel speaks as its actor, and through the first island. */
static bool is_peer(const struct gy_port *port, struct gyre_address from)
{
	const struct gyre_graph *graph = port->stage.graph;

	switch (port->kind) {
	case GY_PORT_INNER:
		return gyre_address_equal(graph->stages[port->peer_port]->island->self, from);
	case GY_PORT_CHANNEL:
		return from.node == port->stage.island->self.node;
	default:
		return port->has_peer && gyre_address_equal(port->peer, from);
	}
}

/* ---- within a system ---- */

int gy_orders_block(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);
	struct gyre_address from = gyre_sender(stack);
	const struct gy_island *owner;
	struct gy_stream_block message;
	struct gy_port *port;

	island->stack = stack;
	(void)gyre_move(stack, gy_stream_block, &message);
	owner = owner_of(island, message.port);
	if (owner != NULL) { /* without memory the block is lost, and the end does not add up */
		return gy_stream_post(stack, owner->self,
				      gyre_new(stack, gy_stream_block, .block = message.block,
					       .port = message.port)) == -ENOMEM
			       ? -ENOMEM
			       : 0;
	}
	port = gy_port_find(island, message.port);
	if (port == NULL || !gy_port_is_inlet(port) || port->is_far || !is_peer(port, from)) {
		gy_block_destroy(message.block);
		return gyre_return(stack);
	}
	gy_inlet_take_block((struct gy_inlet *)(void *)port, message.block);
	return gy_island_turn(island, stack);
}

static void obey_request(struct gy_outlet *outlet, uint64_t elements)
{
	uint64_t granted = outlet->port.granted;

	gy_outlet_credit(outlet, granted + elements < granted ? UINT64_MAX : granted + elements,
			 UINT64_MAX);
}

/* 0, or why the order is not obeyed. */
static int obey(struct gy_island *island, const struct gy_stream_control *control,
		struct gyre_address from)
{
	struct gy_port *port = gy_port_find(island, control->port);
	int reason = gy_reason_of(control->reason);

	if (port == NULL || !is_peer(port, from)) {
		return -ESRCH;
	}
	if (gy_port_is_inlet(port)) {
		if (control->order != GY_STREAM_END) {
			return -EINVAL;
		}
		gy_inlet_end((struct gy_inlet *)(void *)port, control->elements, reason);
		return 0;
	}
	switch (control->order) {
	case GY_STREAM_CREDIT:
		gy_outlet_credit((struct gy_outlet *)(void *)port, control->elements,
				 control->bytes);
		return 0;
	case GY_STREAM_REQUEST:
		obey_request((struct gy_outlet *)(void *)port, control->elements);
		return 0;
	case GY_STREAM_CANCEL:
		gy_outlet_cancel((struct gy_outlet *)(void *)port, reason);
		return 0;
	default:
		return -EINVAL;
	}
}

int gy_orders_control(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);
	const struct gy_stream_control *control = gyre_message(stack, gy_stream_control);
	const struct gy_island *owner = owner_of(island, control->port);

	island->stack = stack;
	if (owner != NULL) {
		return gy_stream_post(stack, owner->self,
				      gyre_new_copy(stack, gy_stream_control, control)) == -ENOMEM
			       ? -ENOMEM
			       : 0;
	}
	gy_island_introduce(island);
	(void)obey(island, control, gyre_sender(stack));
	return gy_island_turn(island, stack);
}

/* ---- asks ---- */

/* An ask was obeyed, or not; what comes of it runs in any case. */
static int answer(struct gyre_stack *stack, int error)
{
	struct gy_island *island = gy_island_of(stack);
	int r = error < 0 ? 0 : gyre_reply(stack, gyre_new(stack, gy_stream_receipt, island->self));

	if (gy_island_turn(island, stack) < 0) {
		gy_island_die(island); /* an ask that fails does not end the actor */
	}
	return error < 0 ? gyre_throw(stack, error) : r;
}

int gy_orders_far_control(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);

	island->stack = stack;
	return answer(stack,
		      obey(island, gyre_message(stack, gy_stream_control), gyre_sender(stack)));
}

int gy_orders_frame(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);
	const struct gy_stream_frame *frame = gyre_message(stack, gy_stream_frame);
	struct gy_port *port = gy_port_find(island, frame->port);

	island->stack = stack;
	if (port == NULL || !gy_port_is_inlet(port) || !port->is_far ||
	    !is_peer(port, gyre_sender(stack))) {
		return gyre_throw(stack, -ESRCH);
	}
	return answer(stack, gy_far_receive((struct gy_inlet *)(void *)port, frame));
}

int gy_orders_attach(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);
	const struct gy_stream_attach *attach = gyre_message(stack, gy_stream_attach);
	const struct gy_island *owner = owner_of(island, attach->port);
	struct gy_port *port = gy_port_find(island, attach->port);
	int r;

	island->stack = stack;
	if (owner != NULL) {
		return gyre_forward(stack, owner->self);
	}
	if (port == NULL || gy_port_is_inlet(port)) {
		return gyre_throw(stack, -ESRCH);
	}
	if (!island->started) { /* an ask overtakes the event by which it begins */
		return gyre_stash(stack);
	}
	r = gy_outlet_attach((struct gy_outlet *)(void *)port, attach, gyre_sender(stack));
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	gy_island_turn_later(island); /* the end may follow at once, and must not come first */
	return gyre_reply(stack, gyre_new(stack, gy_stream_receipt, island->self));
}
