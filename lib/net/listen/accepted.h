/*
 * A connection on its way from an acceptor to a worker; see accepted.c.
 */
#ifndef GY_NET_LISTEN_ACCEPTED_H
#define GY_NET_LISTEN_ACCEPTED_H

#include "channel/channels.h"

struct gy_admission;
struct gy_listener;

/* An accepted connection on its way from acceptor to worker; in the acceptor's pool of parts. */
struct gy_accepted {
	struct gy_fd_transit transit;
	struct gy_task freed;	      /* by a worker of another loop */
	struct gy_channels *channels; /* of the acceptor */
	struct gyre_address worker;
	struct gy_admission *admission; /* that has counted it in, for the worker's loop */
	bool asked;			/* the worker was, and has not answered */
	union {
		struct gy_fifo_item link;     /* of one that waits for room, before that */
		struct gy_listener *listener; /* then: a reference, without its acceptor */
	};
	struct gy_list item; /* in acceptor->untaken */
};

/* On the acceptor's loop: takes the descriptor; NULL without memory, and then it is closed. */
struct gy_accepted *gy_accepted_create(struct gy_channels *channels, int fd);
/* On the acceptor's loop: the record alone, of which the descriptor was taken. */
void gy_accepted_destroy(struct gy_accepted *accepted);
/* On the acceptor's loop: no worker takes it, and the connection is closed. */
void gy_accepted_drop(struct gy_accepted *accepted);
/* On the acceptor's loop: its worker is about to be asked to take it. */
void gy_accepted_ask(struct gy_accepted *accepted);
/* On the acceptor's loop: the acceptor ends. What no worker was asked to take is dropped; for the
 * others their listener waits. */
void gy_accepted_leave(struct gy_accepted *accepted, struct gy_listener *listener);
/* Any loop: the descriptor, from now on the caller's; -1 if it was closed on the way. */
int gy_accepted_take(struct gy_accepted *accepted);
/* On the loop of @channels, any one: what was taken has an owner, and the record is destroyed. */
void gy_accepted_free(struct gy_channels *channels, struct gy_accepted *accepted);

#endif
