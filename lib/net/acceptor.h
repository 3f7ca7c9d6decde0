/*
 * The actor that accepts connections from one listening socket; see acceptor.c.
 */
#ifndef GY_NET_ACCEPTOR_H
#define GY_NET_ACCEPTOR_H

#include <gyre/actor.h>

#include "channel/channels.h"

struct gy_acceptor_socket;
struct gy_admission;

/* An accepted connection on its way from acceptor to worker; in the acceptor's pool of parts. */
struct gy_accepted {
	struct gy_fd_transit transit;
	struct gy_task freed;	      /* by a worker of another loop */
	struct gy_channels *channels; /* of the acceptor */
	struct gyre_address worker;
	struct gy_admission *admission; /* that has counted it in, for the worker's loop */
	struct gy_fifo_item link;
	struct gy_list item; /* in acceptor->untaken, until the worker is asked */
};

/* An acceptor that is mounted goes where its socket is to stand now. On its loop. */
void gy_acceptor_leave(struct gy_house *house);
/* One looks into its backlog anew. */
void gy_acceptor_retry(struct gy_house *house);

/* The argument of an acceptor's mount. */
struct gy_acceptor_argument {
	struct gy_acceptor_socket *listen_socket;
};
void gy_acceptor_argument_destroy(struct gy_acceptor_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_acceptor_argument, 0x14, gy_acceptor_argument_destroy);

extern const struct gyre_class gy_acceptor_class;

/* The descriptor of @accepted, from now on the caller's; -1 if it was closed on the way. Any loop.
 */
int gy_accepted_take(struct gy_accepted *accepted);
/* When there is an owner for what was taken: frees @accepted. On the loop of @channels, any one. */
void gy_accepted_free(struct gy_channels *channels, struct gy_accepted *accepted);

#endif
