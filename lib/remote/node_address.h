/*
 * Where nodes are: texts of addresses; see node_address.c.
 */
#ifndef GY_REMOTE_NODE_ADDRESS_H
#define GY_REMOTE_NODE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct gyre_socket_address;

/* Whether the address is that of a Unix socket, or is meant to be. */
bool gy_node_address_is_unix(const char *text);
/* 0 for "tcp://HOST:PORT", whose end is not looked at, and for the address of a Unix socket that a
 * node can have; -EINVAL, or -ENAMETOOLONG. */
int gy_node_address_check(const char *text);
/* What is to be done about an address that was refused with that error. */
const char *gy_node_address_remedy(int error);
/* Whether others than those of the machine may reach it. */
bool gy_node_address_is_public(const struct gyre_socket_address *address);

#endif
