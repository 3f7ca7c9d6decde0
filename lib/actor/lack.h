/*
 * Houses that wait for memory: what must not be lost stays in its lane, which is closed for a
 * moment and then looked at again.
 */
#ifndef GY_ACTOR_LACK_H
#define GY_ACTOR_LACK_H

#include "actor/house.h"

void gy_home_init_lack(struct gy_home *home);
/* There is no memory for what waits in a lane, or for the channel floor, a bit as in @pending: in a
 * moment it is tried again. */
GY_COLD void gy_house_lacks(struct gy_house *house, uint32_t bit);
/* Whether a house of this loop is more than reserved, which other threads may be doing. */
bool gy_house_is_made(struct gy_home *home, const struct gy_house *house);

#endif
