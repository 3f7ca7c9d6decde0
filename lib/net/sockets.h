/*
 * Sockets that listen on an address, one or several side by side; see sockets.c.
 */
#ifndef GY_NET_SOCKETS_H
#define GY_NET_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/channel.h>
#include <gyre/socket_address.h>

#include "base/log/log.h"
#include "net/socket_option.h"

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
/* Opens one more socket beside those; on failure nothing is logged. */
int gy_sockets_join(const struct gyre_socket_address *address,
		    const struct gy_listen_params *listening, int *ret_fd);

/* Sets the options that can be set of a socket that listens already: 0, or a negative errno. */
int gy_sockets_adopt(int fd, const struct gyre_socket_address *address,
		     const struct gy_listen_params *listening);

#endif
