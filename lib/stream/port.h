/*
 * Ports: the ends of streams where elements enter and leave an island. An inlet is a source that
 * gets blocks from elsewhere, an outlet a sink that sends them.
 *
 * What is elsewhere may be another island of the graph, an actor, a channel's handler, or another
 * graph, perhaps on another node. An inlet grants credit, in elements and bytes; the other end
 * sends no more than that.
 *
 * What a port is to tell is kept as bits, so that it can be told again where there was no memory or
 * a link has broken. To another node it is told by asks, one at a time, in a stack of its own.
 */
#ifndef GY_STREAM_PORT_H
#define GY_STREAM_PORT_H

#include <gyre/stream_ends.h>

#include "remote/message/stream_wire.h"
#include "stream/block.h"
#include "stream/island.h"

enum {
	GY_WINDOW_ELEMENTS = 4096,
	GY_WINDOW_ELEMENTS_MAX = 1 << 20,
	GY_WINDOW_BYTES = 1 << 20,
	GY_WINDOW_BYTES_MAX = 1 << 30,
};

enum gy_port_kind {
	GY_PORT_INNER,	 /* of a boundary */
	GY_PORT_ACTOR,	 /* of a producer or a consumer */
	GY_PORT_CHANNEL, /* of the handler of a channel */
	GY_PORT_GRAPH,	 /* of an offer */
};

/* What is to be told, the first of them first. */
enum {
	GY_TELL_OPENED = 1 << 0,
	GY_TELL_ATTACH = 1 << 1,
	GY_TELL_BLOCK = 1 << 2,
	GY_TELL_CREDIT = 1 << 3,
	GY_TELL_CANCEL = 1 << 4,
	GY_TELL_END = 1 << 5,
};

struct gy_port {
	struct gy_stage stage;
	enum gy_port_kind kind;
	struct gyre_address peer;
	uint32_t peer_port;
	uint32_t due; /* what is to be told */
	bool is_far;  /* the peer is of another node */
	bool is_busy; /* a stack tells */
	bool has_peer;
	bool is_watched;
	bool is_closed;	  /* nothing comes from the peer any more, or goes to it */
	bool is_finished; /* the peer knows, or is gone */
	/* By which an actor or a channel hears of it if the graph is cut off; made beforehand, as
	 * nothing can be made then. NULL for other kinds. */
	struct gyre_mail *farewell;
	uint64_t tag;
	/* Elements and bytes from the begin of the stream on. */
	uint64_t granted;
	uint64_t granted_bytes;
	uint64_t passed; /* received by an inlet, sent by an outlet */
	uint64_t passed_bytes;
	int reason; /* of the end or of the cancel */
};

struct gy_inlet {
	struct gy_port port;
	struct gyre_window window;
	struct gy_block *oldest;
	struct gy_block *newest;
	uint64_t taken;
	uint64_t taken_bytes;
	uint64_t total; /* how many there are, once it has ended */
	uint64_t told;	/* credit that an actor knows of */
	uint64_t told_bytes;
	bool has_ended;
};

struct gy_outlet {
	struct gy_port port;
	struct gy_block *block; /* on its way to another node, or to be filled */
	uint64_t accept_ns;
	enum gyre_place place; /* of the island above a boundary */
	uint32_t loop;
	bool has_ended; /* its stream has, or its peer */
};

/* 0 in a field of a window stands for the default. -EINVAL. */
int gy_window_read(const struct gyre_window *window, struct gyre_window *ret_window);

struct gy_inlet *gy_inlet_add(struct gyre_graph *graph, const struct gyre_type *type,
			      enum gy_port_kind kind, const struct gyre_window *window);
/* @is_inner: no end of the graph. */
struct gy_outlet *gy_outlet_add(const struct gyre_stream *from, enum gy_port_kind kind,
				bool is_inner);

/* The port that a message is for; NULL where there is none such in the island. */
struct gy_port *gy_port_find(struct gy_island *island, uint32_t index);
bool gy_port_is_inlet(const struct gy_port *port);
bool gy_port_is_consumer(const struct gy_port *port); /* of an actor */
/* Tells what is due, or has it told later. */
void gy_port_tell(struct gy_port *port);
/* What is due is told by asks: to another node, and by which the two ends meet. */
bool gy_port_asks(const struct gy_port *port);
/* Something is still to be told. */
bool gy_port_is_open(const struct gy_port *port);
/* The peer is known: watches it, and sees whether it is of another node. */
void gy_port_meet(struct gy_port *port, struct gyre_address peer, uint32_t peer_port);
/* Of a channel, before its graph starts: the handler hears of an end that comes before the port is
 * started. 0, or -ENOMEM. */
int gy_port_expect(struct gy_port *port, struct gyre_system *system);
/* The peer has ended, or cannot be spoken to, for a negative errno. */
void gy_port_lose(struct gy_port *port, int reason);
/* Says farewell if the peer does not know. */
void gy_port_fini(struct gy_port *port);

/* Asserts what holds of its blocks and counts. */
void gy_inlet_check(const struct gy_inlet *inlet);
/* What has come for a port. */
void gy_inlet_take_block(struct gy_inlet *inlet, struct gy_block *block);
void gy_inlet_end(struct gy_inlet *inlet, uint64_t total, int reason);
void gy_outlet_credit(struct gy_outlet *outlet, uint64_t elements, uint64_t bytes);
void gy_outlet_cancel(struct gy_outlet *outlet, int reason);
/* An actor answers to an attach: 0 or a negative errno. */
int gy_outlet_attach(struct gy_outlet *outlet, const struct gy_stream_attach *attach,
		     struct gyre_address from);

/* What is told to another node: see far.c. */
enum gy_work_state gy_far_work(struct gy_stage *stage, struct gy_work *work);
/* Elements of another node: 0 or a negative errno, which fails the stream. */
int gy_far_receive(struct gy_inlet *inlet, const struct gy_stream_frame *frame);

#endif
