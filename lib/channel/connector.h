/*
 * Channels that are not connected yet. Such a channel has its handlers, and gets mail and timers,
 * but has no operations. Its maker gives it a connector, a table of functions for the orders that
 * reach the head, and reports when it is connected. From then on it is a channel like any other:
 * the paths of bytes do not see that it ever was unconnected.
 */
#ifndef GY_CHANNEL_CONNECTOR_H
#define GY_CHANNEL_CONNECTOR_H

#include "channel/channel.h"

struct gy_connector;

struct gy_connector_ops {
	/*
	 * Called when an order reaches the head: 0 if it is done or begun; else the order may come
	 * again. The texts are valid for the call only. Phase 2.
	 */
	int (*bind)(struct gy_connector *connector, const char *local);
	int (*connect)(struct gy_connector *connector, const char *to, const char *local);
	/* The channel never was connected, and its handlers are gone. Phase 2; may be NULL. */
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

/* Whether the channel ends before it is connected. */
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
/*
 * The channel is connected, of which its handlers hear in a run of its own actor. Takes the
 * descriptor, and closes it if the channel ends before. Phase 2.
 */
void gy_stream_connected(struct gyre_channel *channel, int fd);

/* ---- for all kinds ---- */

/* The start of a kind that sends nothing yet. */
int gy_connector_start_nothing(struct gyre_channel *channel);
/* A run of a channel that is not connected: orders what is due, and does what else is. */
void gy_connector_run(struct gyre_channel *channel);
/* Tells the handlers that the channel is connected. */
void gy_connector_done(struct gyre_channel *channel);
/*
 * The channel ends unconnected: removes its handlers. A descriptor, if there is one, is left to be
 * closed.
 */
void gy_connector_end(struct gyre_channel *channel);

/* ---- of the head ---- */

int gy_connector_bind(struct gyre_handler_context *ctx, const char *local);
int gy_connector_connect(struct gyre_handler_context *ctx, const char *to, const char *local);

#endif
