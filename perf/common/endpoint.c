/*
 * Sockets by plain system calls, outside of what is measured; only the address differs between TCP
 * and Unix.
 */
#include "common/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static const char unix_prefix[] = "unix:";

int perf_endpoint_parse(const char *host, uint16_t port, struct perf_endpoint *ret_endpoint)
{
	struct perf_endpoint endpoint = { 0 };
	size_t prefix = strlen(unix_prefix);

	if (strncmp(host, unix_prefix, prefix) == 0) {
		size_t length = strlen(host + prefix);

		if (length == 0 || length >= sizeof(endpoint.address.local.sun_path)) {
			return -EINVAL;
		}
		endpoint.address.local.sun_family = AF_UNIX;
		memcpy(endpoint.address.local.sun_path, host + prefix, length);
		endpoint.bytes = sizeof(endpoint.address.local);
	} else {
		endpoint.address.ip.sin_family = AF_INET;
		endpoint.address.ip.sin_port = htons(port);
		endpoint.bytes = sizeof(endpoint.address.ip);
		if (inet_pton(AF_INET, host, &endpoint.address.ip.sin_addr) != 1) {
			return -EINVAL;
		}
	}
	*ret_endpoint = endpoint;
	return 0;
}

/* A stream socket of its family, set up but not yet at its address. */
static int open_stream(const struct perf_endpoint *endpoint, int flags)
{
	int fd = socket(endpoint->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	int on = 1;

	if (fd < 0) {
		return -errno;
	}
	if (endpoint->address.any.sa_family == AF_INET &&
	    (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	     setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int perf_endpoint_connect(const struct perf_endpoint *endpoint)
{
	int fd = open_stream(endpoint, 0);

	if (fd >= 0 && connect(fd, &endpoint->address.any, endpoint->bytes) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int perf_endpoint_listen(const struct perf_endpoint *endpoint, int flags)
{
	int fd = open_stream(endpoint, flags);

	if (endpoint->address.any.sa_family == AF_UNIX) {
		(void)unlink(endpoint->address.local.sun_path);
	}
	if (fd >= 0 &&
	    (bind(fd, &endpoint->address.any, endpoint->bytes) < 0 || listen(fd, BACKLOG) < 0)) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}
