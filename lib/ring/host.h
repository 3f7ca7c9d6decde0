/*
 * Names that the machine knows: of hosts and of its interfaces. A part of the seam to the kernel:
 * see ring/socket.h. Each call returns 0 or a negative errno.
 */
#ifndef GY_RING_HOST_H
#define GY_RING_HOST_H

#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Looks a host up for binding a socket of @type to it; the first address that there is, with port
 * 0. A thread that may wait for files and name servers. On failure @ret_why says why.
 *
 *   -EAGAIN   it may be known later
 *   -ENOMEM
 *   -ENXIO    nobody knows it
 */
int gy_host_look_up(const char *host, int type, struct sockaddr_storage *ret_name,
		    socklen_t *ret_bytes, const char **ret_why);

/* The number of an interface; -ENODEV where there is none of that name. Any thread. */
int gy_interface_index(const char *name, uint32_t *ret_index);
/* The name of an interface; -ENODEV where there is none of that number. Any thread. */
int gy_interface_name(uint32_t index, char ret_name[IF_NAMESIZE]);

#endif
