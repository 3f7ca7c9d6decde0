/*
 * Actors on other nodes: what a loop has to do for its own actors when such a node is lost.
 */
#ifndef GY_ACTOR_AFAR_H
#define GY_ACTOR_AFAR_H

#include "actor/house.h"

/*
 * All actors of a node have ended: asks to them fail with @error, and watches are over with it. Or,
 * for 0, only mail from there may be lost: watches are renewed. Takes time in proportion to the
 * actors of the loop.
 */
void gy_home_tell_afar(struct gy_home *home, uint16_t node, int error);

/* The same for one that was away. Takes the mail. */
extern const struct gyre_type gy_type_afar;
void gy_afar_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);

#endif
