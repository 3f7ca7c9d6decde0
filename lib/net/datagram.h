/*
 * What the files about datagrams of this floor share: the sockets, and the actor that owns the
 * channel of one.
 */
#ifndef GY_NET_DATAGRAM_H
#define GY_NET_DATAGRAM_H

#include <gyre/datagram.h>

#include "net/net.h"

/* What sockets are to be, and what became of them. */
struct gy_datagram_sockets {
	const struct gyre_datagram_options *options;
	const struct gy_log *log;
	struct gyre_socket_address address; /* bound to; of 0 bytes before, for any */
	struct gyre_socket_address peer;    /* of 0 bytes when it is not connected */
	uint32_t count;
	bool batched;  /* the kernel can cut what is sent (GSO) */
	bool of_actor; /* opened by one: nothing may block, and the caller tells of failures */
};

/* Finds out what the options' addresses are, and how many sockets there are to be of @loops. */
int gy_datagram_sockets_plan(struct gy_datagram_sockets *sockets, uint32_t loops);
/* Opens them; on failure none is left, and one line goes to the log. */
int gy_datagram_sockets_open(struct gy_datagram_sockets *sockets, int *ret_fds);

/* ---- multicast.c ---- */

/* Joins groups and sets how datagrams leave to such, as the options say. */
int gy_multicast_prepare(int fd, int family, const struct gyre_datagram_options *options);

/* ---- datagram.c ---- */

/* What the sockets of one call share. All but @references under homes->placing. */
struct gy_datagram_group {
	uint32_t references; /* atomic */
	struct gy_homes *homes;
	bool ended; /* its actors have been told to stop */
	uint32_t count;
	struct gyre_address actors[]; /* of each socket, wherever that is */
};

/* A socket on its way to its actor, from the heap; the actor keeps it. */
struct gy_datagram_seed {
	struct gy_transit transit;
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
	bool connected;
	bool is_unix;
	bool batched;
	struct gy_socket_file file;	 /* the first actor's */
	struct gy_datagram_group *group; /* a reference */
	uint32_t number;		 /* of the socket */
};

/* The argument of its mount. */
struct gy_datagram_argument {
	struct gy_datagram_seed *seed;
};
GYRE_MESSAGE(gy_datagram_argument, 0x30);

extern const struct gyre_class gy_datagram_class;

#endif
