/*
 * Names of hosts and interfaces, as the C library finds them. It says that there is no such thing
 * with numbers of its own or with ENXIO, which also is what a system call says that has failed.
 */
#include "ring/host.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/assert.h"

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

int gy_host_look_up(const char *host, int type, struct sockaddr_storage *ret_name,
		    socklen_t *ret_bytes, const char **ret_why)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = type };
	struct addrinfo *found;
	int r = getaddrinfo(host, NULL, &hints, &found);

	if (r != 0) {
		int error = errno_of(r);

		*ret_why = gai_strerror(r);
		return error;
	}
	gy_assert(found->ai_addrlen <= sizeof(*ret_name));
	memcpy(ret_name, found->ai_addr, found->ai_addrlen);
	*ret_bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int interface_error(void)
{
	return errno == ENXIO ? -ENODEV : -errno;
}

int gy_interface_index(const char *name, uint32_t *ret_index)
{
	uint32_t index = if_nametoindex(name);

	if (index == 0) {
		return interface_error();
	}
	*ret_index = index;
	return 0;
}

int gy_interface_name(uint32_t index, char ret_name[IF_NAMESIZE])
{
	gy_assert(index != 0);
	return if_indextoname(index, ret_name) == NULL ? interface_error() : 0;
}
