/*
 * What the files of this floor share: the sockets that listen, and the two actors that each loop
 * has for them. The acceptor accepts; it asks its worker to take each connection, or where fewer
 * listen than there are loops the workers of all in turn; the worker makes a channel of it and owns
 * it from then on.
 */
#ifndef GY_NET_NET_H
#define GY_NET_NET_H

#include <gyre/listen.h>
#include <gyre/socket_address.h>

#include "channel/channels.h"
#include "net/admission.h"
#include "net/listeners.h"
#include "net/pending_open.h"
#include "net/socket_option.h"
#include "net/socket_registry.h"

/* ---- bind.c ---- */

/* An address of a socket of @type; on failure one line goes to the log. */
int gy_bind_parse(const char *text, int type, const struct gy_log *log,
		  struct gyre_socket_address *ret_address);
/* What can be done where a socket could not have its address, for the log. */
const char *gy_bind_remedy(int error);
/* After -EADDRINUSE: whether to try again, after a pause, for the kernel still closes what a
 * process had that was killed; until then by the machine's clock. Setup. */
bool gy_bind_pause(uint64_t until_ns);

/* ---- sockets.c ---- */

struct gy_listen_params {
	const char *text; /* of the address, for the log */
	const struct gy_log *log;
	int backlog;		      /* 0 for what a socket has that was opened elsewhere */
	uint32_t mode;		      /* of a Unix socket's file; 0 for that of the process */
	enum gy_socket_origin origin; /* of sockets that are adopted */
	const struct gyre_channel_options *channel; /* NULL for datagrams */
	bool datagrams;				    /* not listening, in truth */
	uint64_t bound_until_ns;		    /* see gy_bind_pause() */
	bool patient; /* -EADDRINUSE is not logged: there is another attempt */
};

/* How many sockets can listen on the address side by side, if @count are wanted. */
uint32_t gy_sockets_count(const struct gyre_socket_address *address, uint32_t count);

/*
 * Opens @count sockets that listen on the address, which nobody else may do; on failure none is
 * left, and one line goes to the log. With port 0 it puts the port that was found into @address.
 */
int gy_sockets_listen(struct gyre_socket_address *address, const struct gy_listen_params *listening,
		      uint32_t count, int *ret_fds);
/* One more socket beside those; on failure nothing is logged. */
int gy_sockets_join(const struct gyre_socket_address *address,
		    const struct gy_listen_params *listening, int *ret_fd);

/* What can be set of a socket that listens on the address already: 0, or a negative errno. */
int gy_sockets_adopt(int fd, const struct gyre_socket_address *address,
		     const struct gy_listen_params *listening);

/* ---- inherit.c ---- */

/* Whether it is the text of a socket that somebody else has opened: "fd:NAME" or "fd:NUMBER". */
bool gy_inherit_is_meant(const char *text);
/* Such sockets, at most @max: how many; on failure none, and one line goes to the log. */
int gy_inherit(const struct gy_listen_params *listening, uint32_t max, int *ret_fds);

/* ---- listen.c ---- */

/* Takes back an actor that was spawned for a call that then failed. */
void gy_stop_from_outside(struct gy_home *home, struct gyre_address actor);

/* ---- worker.c ---- */

/* The argument of a worker's mount. */
struct gy_worker_argument {
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
	struct gy_admission *admission; /* a reference; NULL for none */
	struct gy_listener *listener;	/* a reference until it is mounted */
	struct gy_home *home;
};
void gy_worker_argument_destroy(struct gy_worker_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_worker_argument, 0x11, gy_worker_argument_destroy);

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

/* The ask: take this. Who answers it, with whatever error, has taken the connection. */
struct gy_handover {
	struct gy_accepted *accepted;
};
GYRE_OWN_MESSAGE_(gy_handover, 0x12);

struct gy_taken {
	int error;
};
GYRE_OWN_MESSAGE_(gy_taken, 0x13);

extern const struct gyre_class gy_worker_class;

/* ---- listener.c: under homes->placing, if nothing else is said ---- */

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
	bool inherited;	  /* the sockets are not ours: none is opened beside them */
	struct {
		struct gyre_address acceptor; /* of this loop's socket, wherever that stands */
		struct gyre_address worker;   /* on this loop */
	} stands[]; /* one for each loop that there may be, and each socket; nobody for none */
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
	int *carried;		       /* connections that come along */
	struct gyre_address workers[]; /* room for one a loop */
};

/* What gyre_system_listen() has found out. */
struct gy_listener_plan {
	const struct gyre_acceptor_options *options;
	struct gyre_socket_address address;
	uint32_t sockets;
	uint32_t sockets_max;
	bool inherited;
	bool passed; /* they are another process's too */
};

/* Without acceptors, with a reference; when there is no memory, none. */
int gy_listener_make(struct gy_homes *homes, const struct gy_listener_plan *plan,
		     struct gy_listener **ret_listener);
/* Without the mutex. */
void gy_listener_unref(struct gy_listener *listener);
/* Without the mutex: for a socket, and room for connections; NULL when there is no memory. */
struct gy_acceptor_socket *gy_acceptor_socket_create(struct gy_listener *listener, uint32_t number,
						     int fd, uint32_t carried_count);
/* Without the mutex: of one that was placed, with its connections but not with its socket. */
void gy_acceptor_socket_destroy(struct gy_channels *channels,
				struct gy_acceptor_socket *listen_socket);
/* Workers on all loops, if connections go to all. */
int gy_listener_place_workers(struct gy_listener *listener);
/* Spawns an acceptor where the socket is to stand now. Takes @seed if that works. */
int gy_listener_place(struct gy_acceptor_socket *listen_socket);
/* The same without the mutex; -ESHUTDOWN when the listener has ended. */
int gy_listener_move(struct gy_acceptor_socket *listen_socket);
/* Without the mutex: the one that is to take the next connection of this acceptor. */
struct gyre_address gy_listener_next_worker(struct gy_acceptor_socket *listen_socket);
/* Without the mutex: an acceptor has ended. */
void gy_listener_left(struct gy_listener *listener, uint32_t number, struct gyre_address acceptor);
/* Without the mutex: all other acceptors are to stop too. */
void gy_listener_end(struct gy_listener *listener, struct gy_home *home);
/* Without the mutex: an acceptor could not be made. Its socket is closed; what came along too. */
void gy_listener_lost_acceptor(struct gy_acceptor_socket *listen_socket);
/* Without the mutex: a worker could not be made. The next connection has it tried again. */
void gy_listener_lost_worker(struct gy_listener *listener, struct gy_home *home);
/* Without the mutex: the socket is about to be closed here, and with the first its file. */
void gy_listener_closes(struct gy_listener *listener, uint32_t number);

/* ---- acceptor.c ---- */

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
