/*
 * What subscribers hear of links: that one is open, has ended, or could not be had.
 */
#ifndef GY_REMOTE_LINK_LINK_EVENT_H
#define GY_REMOTE_LINK_LINK_EVENT_H

#include <gyre/event.h>

struct gy_link;

/* Remembers where its peer is: the text that it dials, or the other end of its connection for NULL.
 */
void gy_link_set_address(struct gy_link *link, const char *text);
/* Publishes a struct gyre_link_event, if anybody listens. */
void gy_link_publish(struct gy_link *link, enum gyre_link_step step, int reason);
/* Its connection has ended, for that reason. */
void gy_link_publish_end(struct gy_link *link, int reason);

#endif
