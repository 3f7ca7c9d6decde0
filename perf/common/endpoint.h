/*
 * Where a server listens: a port of an IPv4 address, or the path of a Unix socket.
 */
#ifndef PERF_COMMON_ENDPOINT_H
#define PERF_COMMON_ENDPOINT_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct perf_endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in ip;
		struct sockaddr_un local;
	} address;
	socklen_t bytes;
};

/* @host is an IPv4 address or unix:PATH, which has no port. 0, or -EINVAL. */
int perf_endpoint_parse(const char *host, uint16_t port, struct perf_endpoint *ret_endpoint);

/* A stream connected to it, without delay where it is TCP: the descriptor or a negative errno. */
int perf_endpoint_connect(const struct perf_endpoint *endpoint);

/*
 * A stream socket that listens there; what it accepts inherits TCP_NODELAY. A path that is left
 * over from before is removed. @flags goes to socket(). The descriptor or a negative errno.
 */
int perf_endpoint_listen(const struct perf_endpoint *endpoint, int flags);

#endif
