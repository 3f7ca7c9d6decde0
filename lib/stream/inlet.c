/*
 * Inlets: sources whose elements come in blocks from elsewhere.
 *
 * Credit is granted up to a window beyond what was taken, and told again when half a window has
 * been taken since. So the other end has always half a window to go on with, and what waits here is
 * never more than a window.
 */
#include <errno.h>

#include "stream/port.h"

static struct gy_inlet *inlet_of(struct gy_stage *stage)
{
	return (struct gy_inlet *)(void *)stage;
}

void gy_inlet_check(const struct gy_inlet *inlet)
{
	const struct gy_port *port = &inlet->port;
	const struct gy_block *last = NULL;
	uint64_t waiting = 0;

	for (const struct gy_block *block = inlet->oldest; block != NULL; block = block->next) {
		gy_assert(block->first < block->count &&
			  block->type->bytes == port->stage.type->bytes);
		waiting += block->count - block->first;
		last = block;
	}
	gy_assert(last == inlet->newest && inlet->taken + waiting == port->passed);
	gy_assert(port->kind == GY_PORT_CHANNEL || port->passed <= port->granted);
	gy_assert(inlet->taken_bytes <= port->passed_bytes);
}

/* ---- credit ---- */

static void grant(struct gy_inlet *inlet)
{
	struct gy_port *port = &inlet->port;
	uint64_t elements = inlet->taken + inlet->window.elements_max;
	uint64_t bytes = inlet->taken_bytes + inlet->window.bytes_max;

	gy_assert(elements >= port->granted && bytes >= port->granted_bytes);
	if (port->is_closed || !port->has_peer ||
	    (elements - port->granted < (inlet->window.elements_max + 1) / 2 &&
	     bytes - port->granted_bytes < (inlet->window.bytes_max + 1) / 2)) {
		return;
	}
	port->granted = elements;
	port->granted_bytes = bytes;
	port->due |= GY_TELL_CREDIT;
	gy_port_tell(port);
}

static void start_inlet(struct gy_stage *stage)
{
	struct gy_inlet *inlet = inlet_of(stage);
	struct gy_port *port = &inlet->port;

	if (port->is_closed) {
		return; /* it was cancelled before */
	}
	if (port->kind == GY_PORT_GRAPH) {
		if (port->peer.node != stage->island->self.node &&
		    !gy_element_travels(stage->type)) {
			gy_inlet_end(inlet, 0, -EOPNOTSUPP);
			return;
		}
		port->due |= GY_TELL_ATTACH;
		gy_port_tell(port);
		return;
	}
	gy_port_meet(port, port->peer, port->peer_port);
	grant(inlet);
}

/* ---- taking ---- */

static void drop_blocks(struct gy_inlet *inlet)
{
	while (inlet->oldest != NULL) {
		struct gy_block *block = inlet->oldest;

		inlet->oldest = block->next;
		inlet->taken += block->count - block->first;
		gy_block_destroy(block);
	}
	inlet->newest = NULL;
}

static int32_t pull_inlet(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct gy_inlet *inlet = inlet_of(stage);
	struct gy_block *block = inlet->oldest;
	const struct gyre_type *type = stage->type;
	uint32_t count;
	void *from;

	gy_assert(outlet == 0);
	if (block == NULL) {
		return !inlet->has_ended	 ? GY_PULL_WAIT
		       : inlet->port.reason == 0 ? GY_PULL_END
						 : inlet->port.reason;
	}
	count = block->count - block->first;
	count = count < max ? count : max;
	from = gy_element_at(type, block->elements, block->first);
	memcpy(out, from, gy_elements_bytes(type, count));
	inlet->taken += count;
	inlet->taken_bytes += gy_elements_weight(type, from, count);
	block->first += count;
	if (block->first == block->count) {
		inlet->oldest = block->next;
		inlet->newest = inlet->oldest == NULL ? NULL : inlet->newest;
		gy_block_destroy(block);
	}
	gy_walk(gy_inlet_check(inlet));
	grant(inlet);
	return (int32_t)count;
}

static bool inlet_is_dry(const struct gy_stage *stage, uint32_t outlet)
{
	const struct gy_inlet *inlet = (const struct gy_inlet *)(const void *)stage;

	(void)outlet;
	return inlet->oldest == NULL && inlet->has_ended;
}

static void cancel_inlet(struct gy_stage *stage, uint32_t outlet, int reason)
{
	struct gy_inlet *inlet = inlet_of(stage);
	struct gy_port *port = &inlet->port;

	gy_assert(outlet == 0);
	drop_blocks(inlet);
	if (port->is_closed) {
		return;
	}
	port->is_closed = true;
	port->reason = reason;
	if ((port->due & GY_TELL_ATTACH) != 0 && !port->is_busy) {
		port->due = 0; /* the other end has not heard of us */
		return;
	}
	port->due = (port->due & GY_TELL_ATTACH) | GY_TELL_CANCEL;
	gy_port_tell(port);
}

static void retry_inlet(struct gy_stage *stage)
{
	gy_port_tell(&inlet_of(stage)->port);
}

static bool inlet_is_open(const struct gy_stage *stage)
{
	return gy_port_is_open((const struct gy_port *)(const void *)stage);
}

static void fini_inlet(struct gy_stage *stage)
{
	drop_blocks(inlet_of(stage));
	gy_port_fini(&inlet_of(stage)->port);
}

static const struct gy_stage_ops inlet_ops = {
	.name = "inlet",
	.start = start_inlet,
	.pull = pull_inlet,
	.is_dry = inlet_is_dry,
	.cancel = cancel_inlet,
	.work = gy_far_work,
	.retry = retry_inlet,
	.is_open = inlet_is_open,
	.fini = fini_inlet,
};

struct gy_inlet *gy_inlet_add(struct gyre_graph *graph, const struct gyre_type *type,
			      enum gy_port_kind kind, const struct gyre_window *window)
{
	struct gy_inlet *inlet =
		(struct gy_inlet *)gy_graph_add(graph, &inlet_ops, sizeof(*inlet), type, NULL, 0);
	struct gyre_window read = { 0 };
	int r = gy_window_read(window, &read);

	if (r < 0) {
		gy_graph_fail(graph, r);
	}
	if (inlet != NULL) {
		inlet->port.kind = kind;
		inlet->window = read;
	}
	return inlet;
}

/* ---- what comes ---- */

/* The other end has done what it must not. */
static void break_off(struct gy_inlet *inlet, int error)
{
	inlet->port.reason = error;
	inlet->has_ended = true;
	inlet->port.is_closed = true;
	inlet->port.due |= GY_TELL_CANCEL;
	gy_port_tell(&inlet->port);
}

/* A channel may have received more before it was told to stop. The bytes of actors are not counted,
 * and elsewhere one element may pass what they may be. */
static bool is_too_much(const struct gy_port *port, const struct gy_block *block)
{
	return port->kind != GY_PORT_CHANNEL &&
	       (block->count > port->granted - port->passed ||
		(port->kind != GY_PORT_ACTOR && port->passed_bytes >= port->granted_bytes));
}

void gy_inlet_take_block(struct gy_inlet *inlet, struct gy_block *block)
{
	struct gy_port *port = &inlet->port;
	bool same = block->type->id == port->stage.type->id &&
		    block->type->bytes == port->stage.type->bytes;
	int error = !same ? -EPROTO : is_too_much(port, block) ? -ENOBUFS : 0;

	if (port->is_closed || error != 0 || block->count == 0) {
		gy_block_destroy(block);
		if (!port->is_closed && error != 0) {
			break_off(inlet, error);
		}
		return;
	}
	port->passed += block->count;
	port->passed_bytes += block->weight;
	block->next = NULL;
	if (inlet->newest == NULL) {
		inlet->oldest = block;
	} else {
		inlet->newest->next = block;
	}
	inlet->newest = block;
}

void gy_inlet_end(struct gy_inlet *inlet, uint64_t total, int reason)
{
	struct gy_port *port = &inlet->port;

	if (port->is_closed) {
		return;
	}
	port->is_closed = true;
	port->is_finished = true;
	port->due = 0;
	inlet->has_ended = true;
	port->reason =
		total != port->passed && total != GY_ALL_ELEMENTS && reason == 0 ? -EPROTO : reason;
}
