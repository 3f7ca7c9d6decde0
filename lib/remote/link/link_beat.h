/*
 * The beat of the links of a loop, and how long a peer may be silent; see link_beat.c.
 */
#ifndef GY_REMOTE_LINK_LINK_BEAT_H
#define GY_REMOTE_LINK_LINK_BEAT_H

struct gy_link;
struct gy_links;

void gy_links_init_beat(struct gy_links *links);
/* Starts the beat, unless it runs or the loop drains. */
void gy_links_start_beat(struct gy_links *links);
/* Before a dial: nobody listened as long as there was nothing to send, so that what was not heard
 * then means nothing. */
void gy_link_excuse_silence(struct gy_link *link);

#endif
