/*
 * Mail of threads that turn no loop, and that nobody gets; see outside_loss.c.
 */
#ifndef GY_SYSTEM_OUTSIDE_LOSS_H
#define GY_SYSTEM_OUTSIDE_LOSS_H

#include <gyre/address.h>
#include <gyre/counters.h>

#include "actor/mail/mail.h"

struct gyre_system;

/*
 * Tells the hook of the system, and who has subscribed to dead letters. @home is that of the
 * calling loop, or NULL.
 */
void gy_letter_lost(struct gyre_system *system, struct gy_home *home, const struct gyre_mail *mail,
		    struct gyre_address to, enum gyre_drop reason);
/* Counts mail from the heap that is lost, and tells who listens; the mail stays. Any thread. */
void gy_outside_drop(struct gyre_system *system, const struct gyre_mail *mail,
		     struct gyre_address to, enum gyre_drop reason);
/* Counts it likewise, and frees it. */
void gy_outside_lost(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail,
		     enum gyre_drop reason);

#endif
