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
	bool batched;	/* the kernel can cut what is sent (GSO) */
	bool inherited; /* somebody else has opened them */
	bool of_actor;	/* opened by one: nothing may block, and the caller tells of failures */
};

/* Finds out what the options' addresses are, and how many sockets there are to be of @loops. */
int gy_datagram_sockets_plan(struct gy_datagram_sockets *sockets, uint32_t loops);
/* Opens them; on failure none is left, and one line goes to the log. */
int gy_datagram_sockets_open(struct gy_datagram_sockets *sockets, int *ret_fds);
/*
 * Instead of that: @count of them are there already. Opens more beside those, up to @wanted; what
 * there can be is in sockets->count, which is never less than @count.
 */
void gy_datagram_sockets_adopt(struct gy_datagram_sockets *sockets, uint32_t count, uint32_t wanted,
			       int *fds);

/* ---- multicast.c ---- */

/* Joins groups and sets how datagrams leave to such, as the options say. */
int gy_multicast_prepare(int fd, int family, const struct gyre_datagram_options *options);

/* ---- datagram.c ---- */

/* What the sockets of one call share. All but @references under homes->placing. */
struct gy_datagram_group {
	struct gy_holding holding;
	uint32_t references; /* atomic */
	struct gy_homes *homes;
	uint32_t count;
	struct gyre_address actors[]; /* of each socket, wherever that is; nobody for none */
};

/* A socket on its way to its actor, from the heap; the actor keeps it. */
struct gy_datagram_seed {
	struct gy_transit transit;
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
	gyre_datagram_fn report; /* NULL for nobody */
	void *report_arg;
	bool connected;
	bool is_unix;
	bool batched;
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
