/*
 * Looking up a host's name without blocking: c-ares speaks to the name servers, and the loop's ring
 * waits for its sockets. One lookup belongs to one endpoint, whose processing drives it.
 */
#ifndef GY_NET_CONNECT_RESOLVE_H
#define GY_NET_CONNECT_RESOLVE_H

#include <ares.h>

#include <gyre/socket_address.h>

#include "channel/endpoint.h"

enum { GY_RESOLVE_SOCKETS = 16, GY_RESOLVE_ADDRESSES_MAX = 16 };

struct gy_resolve;

struct gy_resolve_socket {
	struct gy_op poll;
	struct gy_op close;
	struct gy_resolve *resolve;
	int fd;		 /* a duplicate of @theirs; -1 for none */
	int theirs;	 /* as c-ares knows it */
	uint32_t wanted; /* poll events that c-ares waits for */
	uint32_t armed;	 /* of the poll under way */
	uint32_t fired;	 /* that have come, and c-ares has not heard of */
	bool cancelled;
	bool closing;
};

struct gy_resolve {
	struct gy_endpoint *endpoint;
	struct gy_channels *channels;
	ares_channel ares; /* NULL for none */
	const char *host;
	struct gy_timer timer;
	struct gy_timer patience; /* with an answer about both families together */
	bool timed_out;
	bool impatient; /* @patience has run out, and each is to be asked for by itself */
	bool done;
	int type;
	int family; /* AF_UNSPEC for both; set before the start */
	uint16_t port;
	int error; /* when it is done: 0 or a negative errno */
	int lack;  /* -EMFILE once a socket for a question has found no descriptor; else 0 */
	uint32_t count;
	struct gyre_socket_address addresses[GY_RESOLVE_ADDRESSES_MAX];
	struct gy_resolve_socket sockets[GY_RESOLVE_SOCKETS];
};

/* Of a list of name servers, or NULL: 0, -EINVAL if not each is an address, or -ENAMETOOLONG. */
int gy_resolve_check_servers(const char *servers);
void gy_resolve_init(struct gy_resolve *resolve, struct gy_endpoint *endpoint,
		     struct gy_channels *channels);
/*
 * Begins; @host stays in place, and @servers is "ADDRESS:PORT,..." or NULL for those of the
 * machine. It may be done at once.
 * Whatever else becomes of it is told by making the endpoint ready.
 */
void gy_resolve_start(struct gy_resolve *resolve, const char *host, uint16_t port, int type,
		      const char *servers);
/* Does what has become due. Phase 2. */
void gy_resolve_process(struct gy_resolve *resolve);
/* Gives up, or cleans up; whether no operation is under way any more, else to be called again. */
bool gy_resolve_end(struct gy_resolve *resolve);

#endif
