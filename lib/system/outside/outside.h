/*
 * Mail from threads that turn no loop; see outside.c.
 */
#ifndef GY_SYSTEM_OUTSIDE_OUTSIDE_H
#define GY_SYSTEM_OUTSIDE_OUTSIDE_H

#include <gyre/address.h>
#include <gyre/counters.h>

#include "actor/mail/mail.h"

struct gyre_system;

/* Mail from outside that no loop will take any more: counted as lost in the shutdown, and freed. */
void gy_outside_lost(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail);
/* The loop by which mail from outside goes to an address, always the same one; -EINVAL for none. */
int gy_outside_loop(const struct gyre_system *system, struct gyre_address to);
/* Counts mail from the heap that is lost, and tells who listens; the mail stays. Any thread. */
void gy_outside_drop(struct gyre_system *system, const struct gyre_mail *mail,
		     struct gyre_address to, enum gyre_drop reason);

#endif
