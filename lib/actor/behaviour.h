/*
 * The behaviour of an actor, and the handlers that routes name.
 */
#ifndef GY_ACTOR_BEHAVIOUR_H
#define GY_ACTOR_BEHAVIOUR_H

#include <gyre/actor.h>

#include <stdint.h>

struct gy_house;

/* Returns to the behaviour of the class, and forgets those underneath. */
void gy_behaviour_reset(struct gy_house *house);
/* NULL when the table has nothing for that id; @routes may be NULL. */
gyre_handler_fn gy_route_find(const struct gyre_route *routes, uint32_t id);

#endif
