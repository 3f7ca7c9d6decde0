/*
 * Channels that are not connected yet. Such a one has its handlers, and hears of orders and timers,
 * but has no operations; whoever made it gives it a connector, a table of functions for what its
 * head is told to do, and says when it is connected. From then on it is a channel like any other:
 * that it was none is not seen on the ways of bytes.
 */
#ifndef GY_CHANNEL_CONNECTOR_H
#define GY_CHANNEL_CONNECTOR_H

#include "channel/channel.h"

struct gy_connector;

struct gy_connector_ops {
	/* What reaches the head: 0 if it is done or begun; else the order may come again. The texts
	 * are good for the call only. Phase 2. */
	int (*bind)(struct gy_connector *connector, const char *local);
	int (*connect)(struct gy_connector *connector, const char *to, const char *local);
	/* It never was connected, and its handlers are gone. Phase 2; may be NULL. */
	void (*failed)(struct gy_connector *connector, int reason);
};

enum gy_connector_step {
	GY_CONNECTOR_NEW,
	GY_CONNECTOR_REGISTERED,
	GY_CONNECTOR_BINDING, /* the order is on its way, or kept by a handler */
	GY_CONNECTOR_BOUND,
	GY_CONNECTOR_CONNECTING, /* likewise */
	GY_CONNECTOR_ORDERED,	 /* all orders have reached the head */
};

/* Lives as long as its channel is not connected, nor closed. */
struct gy_connector {
	const struct gy_connector_ops *ops;
	const char *local; /* what is ordered; NULL for nothing */
	const char *to;
	struct gyre_handler_context *follower; /* comes behind who takes over; NULL for none */
	uint64_t handshake_ns;
	enum gy_connector_step step;
};

/* It is to end before it is connected. */
static inline bool gy_connector_ends(const struct gyre_channel *channel)
{
	return (channel->state & GY_CHANNEL_DISCARDING) != 0;
}

/*
 * As gy_channel_open(), but without a descriptor: it comes with gy_stream_connected(), unless the
 * channel ends before.
 */
int gy_stream_open(struct gy_house *house, struct gy_stack *stack,
		   const struct gy_channel_opening *opening, struct gy_connector *connector);
/* It is connected. Takes the descriptor; a channel that ends does not want it any more. Phase 2. */
void gy_stream_connected(struct gyre_channel *channel, int fd);

/* ---- for all kinds ---- */

/* The start of a kind that sends nothing yet. */
int gy_connector_start_nothing(struct gyre_channel *channel);
/* A run of a channel that is not connected: orders what is due, and does what else is. */
void gy_connector_run(struct gyre_channel *channel);
/* It is connected from now on: tells the handlers. */
void gy_connector_done(struct gyre_channel *channel);
/* It ends without: takes the handlers away. Its descriptor, if it has one, is still to be closed.
 */
void gy_connector_end(struct gyre_channel *channel);

/* ---- of the head ---- */

int gy_connector_bind(struct gyre_handler_context *ctx, const char *local);
int gy_connector_connect(struct gyre_handler_context *ctx, const char *to, const char *local);

#endif
