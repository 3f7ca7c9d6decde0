/*
 * Mail from threads that turn no loop; see outside.c.
 */
#ifndef GY_SYSTEM_OUTSIDE_OUTSIDE_H
#define GY_SYSTEM_OUTSIDE_OUTSIDE_H

#include <gyre/address.h>

struct gyre_system;

/* The loop by which mail from outside goes to an address, always the same one; -EINVAL for none. */
int gy_outside_loop(const struct gyre_system *system, struct gyre_address to);

#endif
