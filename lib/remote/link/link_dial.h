/*
 * How a link gets its connection; see link_dial.c.
 */
#ifndef GY_REMOTE_LINK_LINK_DIAL_H
#define GY_REMOTE_LINK_LINK_DIAL_H

struct gy_link;

void gy_link_init_redial(struct gy_link *link);
/* Dials, unless it does already or is in a pause; -EHOSTUNREACH without an address, -ESHUTDOWN on a
 * loop that does not take part. */
int gy_link_dial(struct gy_link *link);
/* The same, and if that fails again after a pause: something waits. */
void gy_link_ensure_dialled(struct gy_link *link);

#endif
