/*
 * What listens on one address: its sockets, acceptors and workers; see listener.c. Functions are
 * called with homes->placing held, if nothing else is said.
 */
#ifndef GY_NET_LISTEN_LISTENER_H
#define GY_NET_LISTEN_LISTENER_H

#include <gyre/listen.h>
#include <gyre/socket_address.h>

#include "channel/channels.h"
#include "net/listen/admission.h"
#include "net/socket_registry.h"

/* Nobody for none. */
struct gy_listener_stand {
	struct gyre_address acceptor; /* of this loop's socket, wherever that stands */
	struct gyre_address worker;   /* on this loop */
	struct gy_socket_order stop;  /* of the acceptor */
	struct gy_socket_order end;   /* of the worker */
	struct gy_listener *listener; /* a reference while one of them is on its way */
};

struct gy_listener {
	struct gy_socket_entry entry;
	struct gy_homes *homes;
	struct gyre_acceptor_options options;
	struct gyre_socket_address address;
	struct gy_admission *admission; /* a reference; NULL for none; read by anybody */
	uint32_t references;		/* atomic; the last one goes with the mutex held */
	uint32_t lacking;		/* atomic: the lack of a worker is in the log */
	uint32_t sockets_max;		/* there are no more, however many loops come */
	uint32_t stands_max;
	uint32_t version; /* atomic: grows when workers come or go */
	bool while_busy;  /* see gy_system_listen_while_busy() */
	bool inherited;	  /* the sockets are not ours: none is opened beside them */
	struct gy_listener_stand
		stands[]; /* one for each loop that there may be, and each socket */
};

/*
 * A listening socket on its way to its acceptor, from the heap. The acceptor keeps it, with what it
 * knows of its listener.
 */
struct gy_acceptor_socket {
	struct gy_fd_transit transit;
	struct gy_channels *channels; /* of the loop that it goes to */
	struct gy_listener *listener; /* a reference */
	uint32_t number;	      /* of the socket */
	struct gyre_address worker;   /* of the loop */
	uint32_t version;	      /* of the listener's workers, as known here */
	uint32_t next_worker;	      /* the one that takes the next connection */
	uint32_t workers_count;
	uint32_t carried_count;
	bool told;		       /* subscribers have heard that it listens */
	int *carried;		       /* connections that come along */
	struct gyre_address workers[]; /* room for one a loop */
};

/* A listener that gyre_system_listen() is about to make. */
struct gy_listener_plan {
	const struct gyre_acceptor_options *options;
	struct gyre_socket_address address;
	uint32_t sockets;
	uint32_t sockets_max;
	bool inherited;
	bool while_busy; /* see gy_system_listen_while_busy() */
	bool passed;	 /* they are another process's too */
};

/* Without acceptors, with a reference; when there is no memory, none. */
int gy_listener_make(struct gy_homes *homes, const struct gy_listener_plan *plan,
		     struct gy_listener **ret_listener);
/* Without the mutex. With the last one go the workers, if the loops of the system still turn. */
void gy_listener_unref(struct gy_listener *listener, bool loops_turn);
/* Without the mutex: for a socket, and room for connections; NULL when there is no memory. */
struct gy_acceptor_socket *gy_acceptor_socket_create(struct gy_listener *listener, uint32_t number,
						     int fd, uint32_t carried_count);
/* Without the mutex: of one that was placed, with its connections but not with its socket. */
void gy_acceptor_socket_destroy(struct gy_channels *channels,
				struct gy_acceptor_socket *listen_socket, bool loops_turn);
/* Workers on all loops, if connections go to all. */
int gy_listener_place_workers(struct gy_listener *listener);
/* Spawns an acceptor where the socket is to stand now. Takes @listen_socket if that
 * works. */
int gy_listener_place(struct gy_acceptor_socket *listen_socket);
/* Places the socket without the mutex; -ESHUTDOWN when the listener has ended. */
int gy_listener_move(struct gy_acceptor_socket *listen_socket);
/* Without the mutex: the one that is to take the next connection of this acceptor. */
struct gyre_address gy_listener_next_worker(struct gy_acceptor_socket *listen_socket);
/* Without the mutex: an acceptor has ended. */
void gy_listener_left(struct gy_listener *listener, uint32_t number, struct gyre_address acceptor);
/* The acceptors from socket @first on are to stop. */
void gy_listener_stop(struct gy_listener *listener, uint32_t first);
/* Without the mutex: all other acceptors than the first are to stop too. */
void gy_listener_end(struct gy_listener *listener);
/* Without the mutex: an acceptor could not be made. Its socket is closed; what came along too. */
void gy_listener_lost_acceptor(struct gy_acceptor_socket *listen_socket);
/* Without the mutex: a worker could not be made. The next connection has it tried again. */
void gy_listener_lost_worker(struct gy_listener *listener, struct gy_home *home);
/* Without the mutex: the socket is about to be closed here, and with the first its file. */
void gy_listener_closes(struct gy_listener *listener, uint32_t number);
/* Without the mutex: tells subscribers to struct gyre_listening. Only what was told of as begun is
 * told of as ended. */
void gy_listener_tell_begun(struct gy_acceptor_socket *listen_socket);
void gy_listener_tell_ended(struct gy_acceptor_socket *listen_socket);
void gy_listener_tell_failed(const struct gy_acceptor_socket *listen_socket, int reason);

/* Without the mutex: as gyre_system_listen(), but connections are accepted also while the system is
 * short of memory. Whoever serves them bounds their number. */
int gy_system_listen_while_busy(struct gyre_system *system,
				const struct gyre_acceptor_options *options);

/* ---- for the floor above, with homes->placing held ---- */

/* The loops from @from to below @to take part from now on: all listeners listen there. What cannot
 * be had for one is logged. */
void gy_listeners_grow(struct gy_homes *homes, uint32_t from, uint32_t to);
/* The loops from @to on retire. Their sockets follow when the loops are told to leave. */
void gy_listeners_shrink(struct gy_homes *homes, uint32_t to);
/* Without the mutex: the process before has left, and all acceptors look for what it was called for
 * and has not taken. */
void gy_listeners_retry(struct gy_homes *homes);

#endif
