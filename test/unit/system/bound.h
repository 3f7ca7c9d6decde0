/* A socket that the process has bound somewhere, and that no call of gyre names: one that listens,
 * or one for datagrams. */
#ifndef TEST_UNIT_SYSTEM_BOUND_H
#define TEST_UNIT_SYSTEM_BOUND_H

#include <gyre/socket_address.h>

/* Any descriptor of one that is bound there and not connected. */
int bound_find(const struct gyre_socket_address *at);
/* An option of it that is a number. */
int bound_option(const struct gyre_socket_address *at, int level, int name);

#endif
