/*
 * A race of connection attempts to the addresses of one host, as RFC 8305 describes it: each begins
 * a while after the one before, or when that has failed; the first to connect wins, and the others
 * are cancelled. It belongs to one endpoint, whose processing drives it.
 */
#ifndef GY_NET_CONNECT_HAPPY_EYEBALLS_H
#define GY_NET_CONNECT_HAPPY_EYEBALLS_H

#include <gyre/channel.h>
#include <gyre/socket_address.h>

#include "channel/endpoint.h"
#include "net/socket_file.h"

enum { GY_HAPPY_EYEBALLS_MAX = 16 };

struct gy_happy_eyeballs;

struct gy_attempt {
	struct gy_op connect;
	struct gy_op close;
	struct gy_happy_eyeballs *happy_eyeballs;
	struct gyre_socket_address address; /* in place while the kernel connects */
	int fd;				    /* -1 for none */
	int result;			    /* of the connect */
	bool running;			    /* and not seen to have ended */
	bool cancelled;
};

struct gy_happy_eyeballs_options {
	struct gyre_socket_address local; /* to be bound to first; of 0 bytes for none */
	const struct gyre_channel_options *channel;
	/* An attempt has failed. Phase 2. */
	void (*failed)(struct gy_happy_eyeballs *happy_eyeballs,
		       const struct gyre_socket_address *address, int error);
};

struct gy_happy_eyeballs {
	struct gy_endpoint *endpoint;
	struct gy_channels *channels;
	const struct gy_happy_eyeballs_options *options;
	const struct gyre_socket_address *addresses;
	uint32_t count;
	uint32_t next; /* of the addresses */
	uint32_t running;
	int error; /* the best explanation so far */
	bool due;  /* the next may begin */
	struct gy_timer timer;
	struct gy_socket_file file; /* of the local address; whoever has the winner removes it */
	struct gy_attempt attempts[GY_HAPPY_EYEBALLS_MAX];
};

void gy_happy_eyeballs_init(struct gy_happy_eyeballs *happy_eyeballs, struct gy_endpoint *endpoint,
			    struct gy_channels *channels,
			    const struct gy_happy_eyeballs_options *options);
/* Begins a race to at most GY_HAPPY_EYEBALLS_MAX addresses, which stay in place. The last one is
 * quiet. */
void gy_happy_eyeballs_start(struct gy_happy_eyeballs *happy_eyeballs,
			     const struct gyre_socket_address *addresses, uint32_t count);
/*
 * Does what has become due: the descriptor of the winner, then the caller's, and the race is over;
 * or -EINPROGRESS; or when all have failed why. Phase 2.
 */
int gy_happy_eyeballs_process(struct gy_happy_eyeballs *happy_eyeballs);
/* Fails what is still running, with @error. Phase 2. */
void gy_happy_eyeballs_abandon(struct gy_happy_eyeballs *happy_eyeballs, int error);
/* No other attempt begins, and those that run are of no interest any more. Any phase. */
void gy_happy_eyeballs_forget(struct gy_happy_eyeballs *happy_eyeballs);
/* Cleans up, of a race that is over; whether no operation is under way any more, else to be called
 * again. */
bool gy_happy_eyeballs_end(struct gy_happy_eyeballs *happy_eyeballs);

#endif
