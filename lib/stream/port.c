/*
 * What inlets and outlets have in common: their peers, and what they tell them within a system.
 */
#include "stream/port.h"

#include <errno.h>

#include <gyre/outside.h>
#include <gyre/watch.h>

#include "stream/post.h"

int gy_window_read(const struct gyre_window *window, struct gyre_window *ret_window)
{
	struct gyre_window read = window == NULL ? (struct gyre_window){ 0 } : *window;

	if (read.elements_max > GY_WINDOW_ELEMENTS_MAX || read.bytes_max > GY_WINDOW_BYTES_MAX ||
	    read.reserved != 0) {
		return -EINVAL;
	}
	if (read.elements_max == 0) {
		read.elements_max = GY_WINDOW_ELEMENTS;
	}
	if (read.bytes_max == 0) {
		read.bytes_max = GY_WINDOW_BYTES;
	}
	*ret_window = read;
	return 0;
}

bool gy_port_is_inlet(const struct gy_port *port)
{
	return port->stage.ops->pull != NULL;
}

bool gy_port_is_consumer(const struct gy_port *port)
{
	return port->kind == GY_PORT_ACTOR && !gy_port_is_inlet(port);
}

bool gy_port_asks(const struct gy_port *port)
{
	return port->is_far || (port->due & GY_TELL_ATTACH) != 0;
}

bool gy_port_is_open(const struct gy_port *port)
{
	return port->due != 0 || port->is_busy;
}

static struct gyre_stream_ref ref_of(const struct gy_port *port)
{
	return gyre_stream_ref_of(port->stage.island->self, port->stage.index);
}

/* A mail that can be sent without a stack; NULL without memory. */
static struct gyre_mail *make_farewell(const struct gy_port *port)
{
	struct gyre_system *system = port->stage.island->system;

	if (port->kind == GY_PORT_CHANNEL) {
		return gyre_system_new(system, gy_stream_control, .port = port->peer_port,
				       .order = GY_STREAM_CANCEL, .reason = -ECANCELED);
	}
	return gy_port_is_inlet(port)
		       ? gyre_system_new(system, gyre_stream_cancelled, .stream = ref_of(port),
					 .tag = port->tag, .reason = -ECANCELED)
		       : gyre_system_new(system, gyre_stream_ended, .stream = ref_of(port),
					 .tag = port->tag, .reason = -ECANCELED);
}

int gy_port_expect(struct gy_port *port, struct gyre_system *system)
{
	gy_assert(port->kind == GY_PORT_CHANNEL && port->farewell == NULL);
	port->stage.island->system = system;
	port->farewell = make_farewell(port);
	port->has_peer = port->farewell != NULL;
	return port->farewell == NULL ? -ENOMEM : 0;
}

/* 0 or why the peer cannot be the other end. */
static int see_peer(struct gy_port *port)
{
	struct gy_island *island = port->stage.island;
	int r = 0;

	if (port->kind == GY_PORT_ACTOR && port->is_far) {
		return -EOPNOTSUPP; /* elements are offered to other nodes */
	}
	if (port->kind == GY_PORT_ACTOR) { /* a channel has one since before the start */
		island->system = gyre_system_of(island->stack);
		port->farewell = make_farewell(port);
		r = port->farewell == NULL ? -ENOMEM : 0;
	}
	if (r == 0 && (port->kind == GY_PORT_ACTOR || port->kind == GY_PORT_GRAPH)) {
		r = gyre_watch(island->stack, port->peer);
		port->is_watched = r == 0;
	}
	return r;
}

void gy_port_meet(struct gy_port *port, struct gyre_address peer, uint32_t peer_port)
{
	int r;

	port->peer = peer;
	port->peer_port = peer_port;
	port->has_peer = true;
	port->is_far = peer.node != port->stage.island->self.node;
	r = see_peer(port);
	if (r < 0) {
		gy_port_lose(port, r);
	}
}

void gy_port_lose(struct gy_port *port, int reason)
{
	gy_assert(reason < 0);
	port->due = 0;
	port->has_peer = false; /* there is nobody to be told */
	port->is_finished = true;
	if (port->is_closed) {
		return;
	}
	if (gy_port_is_inlet(port)) {
		gy_inlet_end((struct gy_inlet *)(void *)port, port->passed, reason);
	} else {
		gy_outlet_cancel((struct gy_outlet *)(void *)port, reason);
	}
}

/* The graph may have ended in any way; the system may be about to. */
void gy_port_fini(struct gy_port *port)
{
	struct gyre_mail *mail = port->farewell;

	port->farewell = NULL;
	if (mail != NULL && !port->is_finished && port->has_peer) {
		if (!gy_port_is_inlet(port)) {
			((struct gyre_stream_ended *)gyre_payload(mail))->elements = port->passed;
		}
		(void)gyre_system_notify(port->stage.island->system, port->peer, mail);
	} else {
		gyre_mail_destroy(NULL, mail);
	}
}

/* ---- telling within a system ---- */

static int tell_producer(struct gy_inlet *inlet, uint32_t what)
{
	struct gy_port *port = &inlet->port;
	struct gyre_stack *stack = port->stage.island->stack;
	int r;

	if (what == GY_TELL_CANCEL) {
		return gyre_notify(stack, port->peer,
				   gyre_new(stack, gyre_stream_cancelled, .stream = ref_of(port),
					    .tag = port->tag, .reason = port->reason));
	}
	r = gyre_notify(stack, port->peer,
			gyre_new(stack, gyre_stream_demand, .stream = ref_of(port),
				 .tag = port->tag, .elements = port->granted - inlet->told,
				 .bytes = port->granted_bytes - inlet->told_bytes));
	if (r == 0) {
		inlet->told = port->granted;
		inlet->told_bytes = port->granted_bytes;
	}
	return r;
}

static int tell_consumer(struct gy_port *port, uint32_t what)
{
	struct gyre_stack *stack = port->stage.island->stack;

	if (what == GY_TELL_OPENED) {
		return gyre_notify(stack, port->peer,
				   gyre_new(stack, gyre_stream_opened, .stream = ref_of(port),
					    .tag = port->tag));
	}
	return gyre_notify(stack, port->peer,
			   gyre_new(stack, gyre_stream_ended, .stream = ref_of(port),
				    .tag = port->tag, .elements = port->passed,
				    .reason = port->reason));
}

static int tell_port(struct gy_port *port, uint32_t what)
{
	struct gyre_stack *stack = port->stage.island->stack;
	uint32_t order = what == GY_TELL_CREDIT	  ? GY_STREAM_CREDIT
			 : what == GY_TELL_CANCEL ? GY_STREAM_CANCEL
						  : GY_STREAM_END;

	struct gyre_mail *mail =
		gyre_new(stack, gy_stream_control,
			 .elements = order == GY_STREAM_END ? port->passed : port->granted,
			 .bytes = port->granted_bytes, .port = port->peer_port, .order = order,
			 .reason = port->reason);

	return port->kind == GY_PORT_CHANNEL ? gyre_notify(stack, port->peer, mail)
					     : gy_stream_post(stack, port->peer, mail);
}

static int tell(struct gy_port *port, uint32_t what)
{
	if (port->kind != GY_PORT_ACTOR) {
		return tell_port(port, what);
	}
	return gy_port_is_inlet(port) ? tell_producer((struct gy_inlet *)(void *)port, what)
				      : tell_consumer(port, what);
}

void gy_port_tell(struct gy_port *port)
{
	if (port->due == 0 || port->is_busy) {
		return;
	}
	if (gy_port_asks(port)) {
		port->is_busy = gy_island_work(&port->stage) == 0;
		if (!port->is_busy) {
			gy_island_retry_later(port->stage.island);
		}
		return;
	}
	while (port->due != 0) {
		uint32_t what = port->due & -port->due;
		int r = tell(port, what);

		if (r == -ENOMEM || r == -ENOBUFS) {
			gy_island_retry_later(port->stage.island);
			return;
		}
		port->due &= ~what; /* a peer that is gone is told of by its watch */
		port->is_finished = port->is_finished ||
				    what == (gy_port_is_inlet(port) ? GY_TELL_CANCEL : GY_TELL_END);
	}
}
