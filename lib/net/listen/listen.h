/*
 * Listening, as users ask for it; see listen.c.
 */
#ifndef GY_NET_LISTEN_LISTEN_H
#define GY_NET_LISTEN_LISTEN_H

#include "actor/home.h"

/* Takes back an actor that was spawned for a call that then failed. */
void gy_stop_from_outside(struct gy_home *home, struct gyre_address actor);

#endif
