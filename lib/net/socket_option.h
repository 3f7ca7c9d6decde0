/*
 * Options of sockets that are numbers, and those that the options of streams and of datagrams have
 * in common; and what of them can be said to a socket that was opened elsewhere.
 */
#ifndef GY_NET_SOCKET_OPTION_H
#define GY_NET_SOCKET_OPTION_H

#include <stdint.h>

#include "ring/socket.h"

/* Who has opened a socket that gets the options of a call. */
enum gy_socket_origin {
	GY_SOCKET_OURS,	  /* we have, and it has what is zero in the options */
	GY_SOCKET_PASSED, /* a predecessor, with other options perhaps: all is set that can be */
	GY_SOCKET_GIVEN,  /* a supervisor, who has set what is zero in the options as it likes */
};

/* 0, or a negative errno. */
static inline int gy_socket_set(int fd, int level, int name, int value)
{
	return gy_socket_set_option(fd, level, name, &value, sizeof(value));
}

/* Sizes of the kernel's buffers of a socket; 0 leaves them as they are. 0, or a negative errno. */
static inline int gy_socket_size_buffers(int fd, uint32_t receive_bytes, uint32_t send_bytes)
{
	int r = 0;

	if (receive_bytes > 0) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_RCVBUF, (int)receive_bytes);
	}
	if (r == 0 && send_bytes > 0) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_SNDBUF, (int)send_bytes);
	}
	return r;
}

#endif
