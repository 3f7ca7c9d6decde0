/*
 * Houses that wait for memory: an event or a notice that must not be lost stays in its lane, which
 * is closed for a moment and then tried again.
 */
#ifndef GY_ACTOR_MEMORY_RETRY_H
#define GY_ACTOR_MEMORY_RETRY_H

#include <stdbool.h>

#include "actor/house.h"

void gy_memory_retry_init(struct gy_home *home);
/* Whether a mail that finds no memory for the stack of its handler is a notice to be kept. */
GY_COLD bool gy_house_keeps(const struct gy_house *house, const struct gyre_mail *mail);
/* Puts such a notice, which has left its lane, back to the head of it, and closes the lane for a
 * moment. Of a house that counts what waits it must not have left: see gy_house_retry_later(). */
GY_COLD void gy_house_keep(struct gy_house *house, struct gyre_mail *mail);
/* There is no memory for an event or for work of the channel floor, or for a notice: closes that
 * lane for a moment. One that is away tries again a moment after it is back. @reason: one of
 * GY_CLOSED_BY_NO_MEMORY. */
GY_COLD void gy_house_retry_later(struct gy_house *house, enum gy_closed_reason reason);
/* Retries all houses in a moment. */
GY_COLD void gy_home_retry_later(struct gy_home *home);
/* Returns whether a house of this loop is more than reserved. Other threads may be reserving it. */
bool gy_house_is_spawned(struct gy_home *home, const struct gy_house *house);

#endif
