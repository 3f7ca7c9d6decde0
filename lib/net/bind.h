/*
 * Addresses of sockets, and the wait for those that the kernel still holds; see bind.c.
 */
#ifndef GY_NET_BIND_H
#define GY_NET_BIND_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/socket_address.h>

#include "base/log/log.h"

/* An address of a socket of @type; on failure one line goes to the log. */
int gy_bind_parse(const char *text, int type, const struct gy_log *log,
		  struct gyre_socket_address *ret_address);
/* The remedy when a socket could not have its address, for the log; @text is what was asked for, or
 * NULL for any port. */
const char *gy_bind_remedy(const char *text, int error);
/* After -EADDRINUSE: whether to try again, after a pause, for the kernel still closes what a
 * process had that was killed; until then by the machine's clock. Setup. */
bool gy_bind_pause(uint64_t until_ns);

#endif
