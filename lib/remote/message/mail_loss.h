/*
 * Mail for another node that cannot go there; see mail_loss.c.
 */
#ifndef GY_REMOTE_MESSAGE_MAIL_LOSS_H
#define GY_REMOTE_MESSAGE_MAIL_LOSS_H

#include "actor/house.h"

/*
 * Takes mail that is lost for that reason, and tells who has to know. Returns @error, or 0 where
 * the mail has ended in another way.
 */
int gy_mail_loss(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail, int error);
/* Mail to a life that is over, or that the link does not know; an answer's asker has ended with it.
 */
int gy_mail_loss_stale(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

#endif
