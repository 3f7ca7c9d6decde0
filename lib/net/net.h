/*
 * What the files of this floor share: the sockets that listen, and the two actors that each loop
 * has for them. The acceptor accepts; it asks its worker to take each connection; the worker makes
 * a channel of it and owns it from then on.
 */
#ifndef GY_NET_NET_H
#define GY_NET_NET_H

#include <sys/socket.h>

#include <gyre/listen.h>

#include "channel/channels.h"
#include "net/listeners.h"

/* ---- bind.c ---- */

struct gy_bind {
	struct sockaddr_storage address;
	socklen_t bytes;
};

/* An address to bind a stream socket to; on failure one line goes to the log. */
int gy_bind_parse(const char *text, const struct gy_log *log, struct gy_bind *ret_bind);

/* ---- sockets.c ---- */

struct gy_listening {
	const char *text; /* of the address, for the log */
	const struct gy_log *log;
	int backlog;
	bool allow_delay;
};

/*
 * Opens @count sockets that listen on the address, which nobody else may do; on failure none is
 * left, and one line goes to the log. With port 0 it puts the port that was found into @bind.
 */
int gy_sockets_listen(struct gy_bind *bind, const struct gy_listening *listening, uint32_t count,
		      int *ret_fds);
/* One more socket beside those; on failure nothing is logged. */
int gy_sockets_join(const struct gy_bind *bind, uint32_t backlog, bool allow_delay, int *ret_fd);
uint16_t gy_bind_port(const struct gy_bind *bind);

/* ---- worker.c ---- */

/* The argument of a worker's mount. */
struct gy_worker_argument {
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
};
GYRE_MESSAGE(gy_worker_argument, 0x11);

/* An accepted connection on its way from acceptor to worker; in the pool of parts. */
struct gy_accepted {
	struct gy_transit transit;
	struct gy_link link;
	struct gy_list item; /* in acceptor->untaken, until the worker is asked */
};

/* The ask: take this. Who answers it, with whatever error, has taken the connection. */
struct gy_handover {
	struct gy_accepted *accepted;
};
GYRE_MESSAGE(gy_handover, 0x12);

struct gy_taken {
	int error;
};
GYRE_MESSAGE(gy_taken, 0x13);

extern const struct gyre_class gy_worker_class;

/* ---- acceptor.c ---- */

/* ---- listener.c: under homes->placing, if nothing else is said ---- */

struct gy_listener {
	struct gy_list item; /* in homes->listeners */
	struct gy_homes *homes;
	struct gyre_acceptor_options options;
	struct gy_bind bind;
	uint32_t references;
	bool ended; /* its acceptors have been told to stop */
	struct {
		struct gyre_address acceptor; /* of this loop's socket, wherever that stands */
		struct gyre_address worker;   /* on this loop */
	} stands[]; /* one for each loop that there may be; nobody for none */
};

/*
 * A listening socket on its way to its acceptor, from the heap. The acceptor keeps it.
 */
struct gy_seed {
	struct gy_transit transit;
	struct gyre_address worker;
	struct gy_listener *listener; /* a reference */
	uint32_t number;	      /* of the socket */
};

/* Without acceptors, with a reference; NULL when there is no memory. */
struct gy_listener *gy_listener_make(struct gy_homes *homes,
				     const struct gyre_acceptor_options *options,
				     const struct gy_bind *bind);
/* Without the mutex. */
void gy_listener_unref(struct gy_listener *listener);
/* Without the mutex: gives up its reference too. */
void gy_seed_free(struct gy_seed *seed);
/* Spawns an acceptor for a socket where it is to stand now. Takes @fd if that works. */
int gy_listener_place(struct gy_listener *listener, uint32_t number, int fd);
/* The same without the mutex; -ESHUTDOWN when the listener has ended. */
int gy_listener_move(struct gy_listener *listener, uint32_t number, int fd);
/* Without the mutex: an acceptor has ended. */
void gy_listener_left(struct gy_listener *listener, uint32_t number, struct gyre_address acceptor);
/* Without the mutex: all other acceptors are to stop too. */
void gy_listener_end(struct gy_listener *listener, struct gy_home *home);
/* An acceptor that is mounted goes where its socket is to stand now. On its loop. */
void gy_acceptor_leave(struct gy_house *house);

/* The argument of an acceptor's mount. */
struct gy_acceptor_argument {
	struct gy_seed *seed;
};
GYRE_MESSAGE(gy_acceptor_argument, 0x14);

extern const struct gyre_class gy_acceptor_class;

/* Takes the descriptor out of @accepted, which is freed; -1 if it was closed on the way. */
int gy_accepted_end(struct gy_channels *channels, struct gy_accepted *accepted);

#endif
