/*
 * The actor of each loop that makes channels of accepted connections; see worker.c. An acceptor
 * asks its worker to take each connection, or where fewer listen than there are loops the workers
 * of all in turn; the worker makes a channel of it and owns it from then on. Where the program
 * names a class, the worker spawns an actor that does so in its place.
 */
#ifndef GY_NET_LISTEN_WORKER_H
#define GY_NET_LISTEN_WORKER_H

#include <gyre/channel.h>
#include <gyre/listen.h>

#include "channel/channels.h"

struct gy_accepted;
struct gy_admission;
struct gy_listener;

/* The argument of a worker's mount. */
struct gy_worker_argument {
	gyre_init_channel_fn init_channel;
	void *init_arg;
	const struct gyre_class *actor_class; /* NULL for none: the worker owns the channels */
	enum gyre_channel_bond bond;
	struct gyre_channel_options channel;
	struct gy_admission *admission; /* a reference; NULL for none */
	struct gy_listener *listener;	/* a reference until it is mounted */
	struct gy_home *home;
};
void gy_worker_argument_destroy(struct gy_worker_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_worker_argument, 0x11, gy_worker_argument_destroy);

/* The ask: take this, which it holds. Who answers it, with whatever error, has taken the
 * connection.
 */
struct gy_take_connection {
	struct gy_accepted *accepted;
};
void gy_take_connection_destroy(struct gy_take_connection *take);
GYRE_OWN_MESSAGE_OWNING_(gy_take_connection, 0x12, gy_take_connection_destroy);

struct gy_taken {
	int error;
};
GYRE_OWN_MESSAGE_(gy_taken, 0x13);

extern const struct gyre_class gy_worker_class;

/* The listener of this worker has ended, and nobody asks it any more: it stops when it has no
 * connections. */
void gy_worker_end(struct gy_house *house);

#endif
