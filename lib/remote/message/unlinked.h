/*
 * Mail that comes once, for peers that its loop lacks the memory to make a link to, or to send it
 * by another loop; see unlinked.c.
 */
#ifndef GY_REMOTE_MESSAGE_UNLINKED_H
#define GY_REMOTE_MESSAGE_UNLINKED_H

#include <stdbool.h>

#include "actor/mail/mail.h"

struct gy_link;
struct gy_links;
struct gy_peer;

/* Whether mail is not to be lost for want of a link: nobody would ask for it again. */
bool gy_unlinked_may_wait(const struct gyre_mail *mail);
/* Keeps such mail until there is memory for a link. Takes @mail. */
void gy_unlinked_keep(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail);
/* The link has been made: it gets what waited, ahead of all other mail. */
void gy_unlinked_adopt(struct gy_link *link);
/* The loop dials nobody: what waits for that peer leaves by loop 0. False if some still lacks
 * memory. */
bool gy_unlinked_leave(struct gy_links *links, const struct gy_peer *peer);
/* The loop drains: nothing waits any more. */
void gy_unlinked_drop(struct gy_links *links);
void gy_unlinked_init(struct gy_links *links);

#endif
