/*
 * Asks of an actor that serves its asker alone, and is to stop when nobody waits for its answer any
 * more; see bound_ask.c.
 */
#ifndef GY_ACTOR_STACK_BOUND_ASK_H
#define GY_ACTOR_STACK_BOUND_ASK_H

#include "actor/home.h"
#include "actor/stack/promise.h"

/* Makes the ask, before the actor that it is for; 0, or -ENOMEM, which the future then shows too.
 */
int gy_bound_ask_make(struct gy_stack *stack, const struct gyre_type *type, uint64_t timeout_ns,
		      struct gyre_mail **ret_ask, struct gyre_future *ret_future);
/* The actor is there: sends the ask, which is taken. */
void gy_bound_ask_send(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *ask,
		       const struct gyre_future *future);
/* There is no such actor, for a negative errno, which the future then shows. The ask is taken. */
void gy_bound_ask_drop(struct gy_stack *stack, struct gyre_mail *ask, int error,
		       struct gyre_future *future);

/* ---- for promise.c ---- */

/* Orders the actor that was asked to stop; false without memory. */
bool gy_bound_ask_stop(struct gy_home *home, const struct gy_promise *promise);
/* The same for a promise that nobody waits for. Without memory the home keeps the promise until it
 * can send the order; @is_read: its stack keeps it too. */
GY_COLD bool gy_bound_ask_end(struct gy_home *home, struct gy_promise *promise, bool is_read);
/* Stack or home has done with a promise that both keep, or kept; whether the other has too. */
GY_COLD bool gy_bound_ask_release(struct gy_promise *promise);

/* ---- for the home ---- */

/* Sends the orders that have waited for memory; false if some still wait. */
bool gy_bound_asks_stop(struct gy_home *home);
/* All actors of the system have ended: no order is needed. */
void gy_bound_asks_fini(struct gy_home *home);

#endif
