/*
 * What the files of this floor share: the sockets that listen, and the two actors that each loop
 * has for them. The acceptor accepts; it asks its worker to take each connection, or where fewer
 * listen than there are loops the workers of all in turn; the worker makes a channel of it and owns
 * it from then on.
 */
#ifndef GY_NET_NET_H
#define GY_NET_NET_H

#include <sys/types.h>

#include <gyre/listen.h>
#include <gyre/socket_address.h>

#include "channel/channels.h"
#include "net/admission.h"

/* ---- bind.c ---- */

/* An address of a socket of @type; on failure one line goes to the log. */
int gy_bind_parse(const char *text, int type, const struct gy_log *log,
		  struct gyre_socket_address *ret_address);

/* ---- socket_file.c ---- */

struct gy_socket_file {
	char path[GYRE_SOCKET_ADDRESS_BYTES_MAX]; /* "" for none */
	dev_t device;
	ino_t inode;
};

/* Whether a socket bound to @address has a file. */
bool gy_socket_file_is_one(const struct gyre_socket_address *address);
/* Binds a Unix socket to its path, where an abandoned file may stand. @mode 0 is as usual. */
int gy_socket_file_bind(int fd, const struct gyre_socket_address *address, uint32_t mode);
/* The file that was made there, or none if @address has none. */
void gy_socket_file_set(struct gy_socket_file *file, const struct gyre_socket_address *address);
/* Removes the file if it is still the same; then there is none. */
void gy_socket_file_remove(struct gy_socket_file *file);

/* ---- sockets.c ---- */

struct gy_listening {
	const char *text; /* of the address, for the log */
	const struct gy_log *log;
	int backlog;
	uint32_t mode; /* of a Unix socket's file; 0 for that of the process */
	bool allow_delay;
};

/* How many sockets can listen on the address side by side, if @count are wanted. */
uint32_t gy_sockets_count(const struct gyre_socket_address *address, uint32_t count);

/*
 * Opens @count sockets that listen on the address, which nobody else may do; on failure none is
 * left, and one line goes to the log. With port 0 it puts the port that was found into @address.
 */
int gy_sockets_listen(struct gyre_socket_address *address, const struct gy_listening *listening,
		      uint32_t count, int *ret_fds);

/* ---- inherit.c ---- */

/* Whether it is the text of a socket that somebody else has opened: "fd:NAME" or "fd:NUMBER". */
bool gy_inherit_is_meant(const char *text);
/* Such sockets, at most @max: how many; on failure none, and one line goes to the log. */
int gy_inherit(const struct gy_listening *listening, uint32_t max, int *ret_fds);
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
};
void gy_worker_argument_destroy(struct gy_worker_argument *argument);
GYRE_MESSAGE_OWNING(gy_worker_argument, 0x11, gy_worker_argument_destroy);

/* An accepted connection on its way from acceptor to worker; in the acceptor's pool of parts. */
struct gy_accepted {
	struct gy_transit transit;
	struct gy_task freed;	      /* by a worker of another loop */
	struct gy_channels *channels; /* of the acceptor */
	struct gyre_address worker;
	struct gy_admission *admission; /* that has counted it in, for the worker's loop */
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

/*
 * A listening socket on its way to its acceptor, from the heap. The acceptor keeps it, for the
 * acceptors of the other loops: the first one has them all, and they end with it.
 */
struct gy_seed {
	struct gy_transit transit;
	struct gy_socket_file file;	/* of the socket */
	struct gy_admission *admission; /* a reference; NULL for none */
	uint32_t others_count;
	uint32_t workers_count;
	uint32_t next_worker; /* the one that takes the next connection */
	const struct gyre_address *others;
	const struct gyre_address *workers;
	struct gyre_address addresses[]; /* of both */
};

/* The argument of an acceptor's mount. */
struct gy_acceptor_argument {
	struct gy_seed *seed;
};
GYRE_MESSAGE(gy_acceptor_argument, 0x14);

extern const struct gyre_class gy_acceptor_class;

/* The descriptor of @accepted, from now on the caller's; -1 if it was closed on the way. Any loop.
 */
int gy_accepted_take(struct gy_accepted *accepted);
/* When there is an owner for what was taken: frees @accepted. On the loop of @channels, any one. */
void gy_accepted_free(struct gy_channels *channels, struct gy_accepted *accepted);

#endif
