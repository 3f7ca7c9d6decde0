/*
 * What subscribers hear of listening: that a socket listens, does so no more, or cannot.
 */
#ifndef GY_NET_LISTENING_H
#define GY_NET_LISTENING_H

#include <gyre/event.h>

#include "actor/home.h"

struct gyre_socket_address;

/*
 * Publishes a struct gyre_listening, if anybody listens to those; of @address, or @text where that
 * is NULL or has none. On the thread of the loop.
 */
void gy_listening_tell(struct gy_home *home, enum gyre_listening_step step,
		       const struct gyre_socket_address *address, const char *text, int reason);
/* Publishes that a call has failed, before any loop had a socket. Any thread, with no lock held. */
void gy_listening_failed(struct gy_homes *homes, const char *text, int reason);
/* The same of one loop, that others do the work of meanwhile. */
void gy_listening_failed_on(struct gy_homes *homes, uint32_t loop,
			    const struct gyre_socket_address *address, int reason);

#endif
