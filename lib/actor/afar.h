/*
 * Actors on other nodes: what a loop has to do for its own actors when such a node is lost.
 */
#ifndef GY_ACTOR_AFAR_H
#define GY_ACTOR_AFAR_H

#include "actor/house.h"

/*
 * All actors of a node have ended: asks to them fail with @error, and watches are over with it.
 * False if some actors are with another loop at present, and have to be looked at again. Takes
 * time in proportion to the actors of the loop.
 */
bool gy_home_lost_node(struct gy_home *home, uint16_t node, int error);

#endif
