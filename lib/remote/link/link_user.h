/*
 * The user at the other end of a link over a Unix socket; see link_user.c.
 */
#ifndef GY_REMOTE_LINK_LINK_USER_H
#define GY_REMOTE_LINK_LINK_USER_H

struct gy_link;
struct gy_links;
struct gyre_channel;

/* A connection that another process has made: 0, or why its user may have no link, which is logged.
 * Over TCP always 0. */
int gy_link_user_check_accepted(struct gy_links *links, const struct gyre_channel *channel);
/* The same for a connection that @link dials, before the next handler hears that it is there: gives
 * the channel, which has none yet, the handler that ends it otherwise. */
int gy_link_user_add_handler(struct gyre_channel *channel, struct gy_link *link);

#endif
