/*
 * Addresses to bind to, as users write them: "tcp://HOST:PORT". What cannot be understood is
 * explained with an example of what can.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"

enum { HOST_BYTES_MAX = 256, PORT_BYTES_MAX = 6 };

static const char scheme[] = "tcp://";

/* Takes "HOST:PORT" or "[HOST]:PORT" apart. */
static int split(const char *text, char host[HOST_BYTES_MAX], char port[PORT_BYTES_MAX])
{
	const char *colon = strrchr(text, ':');
	size_t host_bytes = colon == NULL ? 0 : (size_t)(colon - text);
	size_t port_bytes = colon == NULL ? 0 : strlen(colon + 1);

	if (host_bytes > 1 && text[0] == '[') {
		if (text[host_bytes - 1] != ']') {
			return -EINVAL;
		}
		text++;
		host_bytes -= 2;
	} else if (memchr(text, ':', host_bytes) != NULL) {
		return -EINVAL; /* an IPv6 address without brackets */
	}
	if (host_bytes == 0 || host_bytes >= HOST_BYTES_MAX || port_bytes == 0 ||
	    port_bytes >= PORT_BYTES_MAX || strspn(colon + 1, "0123456789") != port_bytes ||
	    strtoul(colon + 1, NULL, 10) > UINT16_MAX) {
		return -EINVAL;
	}
	memcpy(host, text, host_bytes);
	host[host_bytes] = '\0';
	memcpy(port, colon + 1, port_bytes + 1);
	return 0;
}

static int errno_of(int r)
{
	switch (r) {
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return -errno;
	case EAI_AGAIN:
		return -EAGAIN;
	default:
		return -ENXIO;
	}
}

int gy_bind_parse(const char *text, const struct gy_log *log, struct gy_bind *ret_bind)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char host[HOST_BYTES_MAX];
	char port[PORT_BYTES_MAX];
	int r = -EINVAL;

	if (strncmp(text, scheme, sizeof(scheme) - 1) == 0) {
		r = split(text + sizeof(scheme) - 1, host, port);
	}
	if (r < 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cannot listen on \"%s\": an address looks like tcp://[::]:7000 or "
		       "tcp://127.0.0.1:7000, with a port up to 65535",
		       text);
		return r;
	}
	if (text[sizeof(scheme) - 1] == '[') {
		hints.ai_flags |= AI_NUMERICHOST; /* what stands in brackets is no name */
	}
	r = getaddrinfo(host, port, &hints, &found);
	if (r != 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cannot listen on %s: %s; use an address of this machine, or a name that it "
		       "knows",
		       text, gai_strerror(r));
		return errno_of(r);
	}
	*ret_bind = (struct gy_bind){ .bytes = found->ai_addrlen };
	memcpy(&ret_bind->address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}
