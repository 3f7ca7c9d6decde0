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

/*
 * The event that an ask to another node is not answered: it or its answer was lost on the way. Its
 * ask id is that of the ask; its sender tells the node. It means nothing where the ask has ended.
 */
extern const struct gyre_type gy_type_unanswered;
/* NULL without memory. The sender is left to the caller. */
struct gyre_mail *gy_unanswered_make(struct gy_home *home, uint64_t ask_id, int error);
int gy_unanswered_error(const struct gyre_mail *mail);
/* Takes the mail; NULL for a house that has ended. */
void gy_unanswered_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);

#endif
