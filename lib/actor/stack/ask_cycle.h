/*
 * Cycles of waits, which are found when an ask times out.
 */
#ifndef GY_ACTOR_STACK_ASK_CYCLE_H
#define GY_ACTOR_STACK_ASK_CYCLE_H

#include <stdbool.h>

#include "base/macros.h"

struct gy_home;
struct gy_promise;
struct gyre_mail;

/*
 * An ask has timed out: logs the cycle of waits that it is part of, if any. True when the search
 * goes on on another loop and needs the cycle to stand: then gy_promise_cycle_checked() follows.
 */
GY_COLD bool gy_ask_cycle_check(const struct gy_promise *promise);
/* Takes the mail. */
void gy_ask_cycle_probe_arrived(struct gy_home *home, struct gyre_mail *mail);

#endif
