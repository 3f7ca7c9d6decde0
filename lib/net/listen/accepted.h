/*
 * A connection on its way from an acceptor to a worker; see accepted.c.
 */
#ifndef GY_NET_LISTEN_ACCEPTED_H
#define GY_NET_LISTEN_ACCEPTED_H

#include <gyre/stack.h>

#include "channel/channels.h"

struct gy_admission;
struct gy_listener;

/* An accepted connection on its way from acceptor to worker; in the acceptor's pool of parts. */
struct gy_accepted {
	struct gy_fd_transit transit;
	struct gy_task ended;	      /* the last holder was on another loop */
	struct gy_channels *channels; /* of the acceptor */
	struct gyre_address worker;
	struct gy_admission *admission; /* that has counted it in, for the worker's loop */
	uint32_t holders;		/* atomic: the acceptor, and each ask for it */
	bool taken;			/* its descriptor has another owner */
	bool asked;			/* a worker was */
	union {
		struct gy_fifo_item link;     /* of one that waits for room, before that */
		struct gy_listener *listener; /* then: a reference, without its acceptor */
	};
	struct gy_list item; /* in acceptor->untaken */
};

/* On the acceptor's loop: takes the descriptor; NULL without memory, and then it is closed. The
 * caller holds it. */
struct gy_accepted *gy_accepted_create(struct gy_channels *channels, int fd);
/* For the acceptor: asks the worker to take it; the ask holds it too. As gyre_ask(). */
int gy_accepted_ask(struct gy_accepted *accepted, struct gyre_stack *stack,
		    struct gyre_future *ret_future);
/* On the acceptor's loop: the acceptor ends, and lets go. For what a worker was asked to take, its
 * listener waits. */
void gy_accepted_leave(struct gy_accepted *accepted, struct gy_listener *listener);
/* For a holder, any loop: the descriptor, from now on the caller's; -1 if it was closed on the way.
 */
int gy_accepted_take(struct gy_accepted *accepted);
/* For a holder, on the loop of @channels, or on any for NULL: it holds the connection no more. With
 * the last holder the record goes, and the connection is closed if nobody has taken it. */
void gy_accepted_let_go(const struct gy_channels *channels, struct gy_accepted *accepted);

#endif
