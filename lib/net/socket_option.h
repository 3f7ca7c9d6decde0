/*
 * Options of sockets that are numbers, and those that the options of streams and of datagrams have
 * in common.
 */
#ifndef GY_NET_SOCKET_OPTION_H
#define GY_NET_SOCKET_OPTION_H

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

/* 0, or a negative errno. */
static inline int gy_socket_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* What the kernel keeps for a socket; 0 leaves it as it is. 0, or a negative errno. */
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
