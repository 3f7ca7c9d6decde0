/*
 * Sockets that somebody else has opened for this process; see inherit.c.
 */
#ifndef GY_NET_INHERIT_H
#define GY_NET_INHERIT_H

#include <stdbool.h>
#include <stdint.h>

struct gy_listen_params;

/* Whether it is the text of a socket that somebody else has opened: "fd:NAME" or "fd:NUMBER". */
bool gy_inherit_is_meant(const char *text);
/* Takes at most @max such sockets, and returns how many; on failure none, and one line goes to the
 * log. */
int gy_inherit(const struct gy_listen_params *listening, uint32_t max, int *ret_fds);

#endif
