/*
 * Room in a full mailbox, where the class has the oldest mail dropped for it.
 */
#ifndef GY_ACTOR_MAIL_OVERFLOW_H
#define GY_ACTOR_MAIL_OVERFLOW_H

#include <stdbool.h>

#include "actor/mail/mail.h"

struct gy_house;

/* Drops the oldest ask or notice that waits and is not urgent, of that lane if it has any. False if
 * there is none. What waits is not counted anew: another takes its place. */
bool gy_overflow_drop_oldest(struct gy_house *house, enum gy_lane lane);

#endif
