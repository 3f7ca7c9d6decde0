/*
 * Asks of an actor that serves its asker alone, as one that makes the connection that is awaited.
 * When such an ask is given up, by the end of its stack, its time-out or gyre_cancel(), nobody else
 * would stop that actor.
 *
 * So there is never such an actor without somebody who waits: all that the ask needs is made before
 * the actor. And the order to stop is not lost for lack of memory: the promise stays with the home
 * and stands for the order until that can be sent. A stack that has cancelled reads the end of the
 * promise meanwhile; whichever of the two has done with it last frees it.
 */
#include "actor/stack/bound_ask.h"

#include <errno.h>

#include "actor/mail/send.h"
#include "actor/memory_retry.h"
#include "actor/stack/promise_pool.h"
#include "actor/stack/stack.h"

int gy_bound_ask_make(struct gy_stack *stack, const struct gyre_type *type, uint64_t timeout_ns,
		      struct gyre_mail **ret_ask, struct gyre_future *ret_future)
{
	struct gyre_mail *ask = gy_mail_get(stack->home, type);
	uint64_t id = ask == NULL ? 0 : gy_promise_open(stack, timeout_ns, ret_future);

	if (id == 0) {
		gyre_mail_destroy(&stack->head, ask);
		*ret_future = (struct gyre_future){ .error = -ENOMEM };
		return -ENOMEM;
	}
	ask->node.kind = GY_MAIL_ASK;
	ask->ask_id = id;
	ask->deadline = gy_patience(timeout_ns);
	gy_mail_from(ask, stack->house);
	*ret_ask = ask;
	return 0;
}

void gy_bound_ask_send(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *ask,
		       const struct gyre_future *future)
{
	struct gy_promise *promise = future->promise;

	gy_assert(promise->stack == stack && promise->id == ask->ask_id && promise->lost == 0);
	promise->to = gy_origin_of(to);
	promise->lost = GY_LOST_STOPS;
	(void)gy_send_away(stack->home, to, ask);
}

void gy_bound_ask_drop(struct gy_stack *stack, struct gyre_mail *ask, int error,
		       struct gyre_future *future)
{
	gy_assert(error < 0);
	gy_mail_put(stack->home, ask);
	gy_promise_cancel(stack, future->promise);
	*future = (struct gyre_future){ .error = error };
}

bool gy_bound_ask_stop(struct gy_home *home, const struct gy_promise *promise)
{
	return gy_send_signal(home, gy_origin_address(promise->to), &gy_type_stop, GY_MAIL_EVENT) !=
	       -ENOMEM; /* it may have ended */
}

bool gy_bound_ask_end(struct gy_home *home, struct gy_promise *promise, bool is_read)
{
	gy_assert(promise->lost == GY_LOST_STOPS && !gy_timer_is_started(&promise->timer));
	if (gy_bound_ask_stop(home, promise)) {
		return true;
	}
	promise->lost = is_read ? GY_LOST_OWED_AND_READ : GY_LOST_RELEASED;
	promise->previous = home->stops_owed;
	home->stops_owed = promise;
	gy_home_retry_later(home);
	return false;
}

/* The stack and the home may be on different loops: the actor was stolen when it gave up. */
bool gy_bound_ask_release(struct gy_promise *promise)
{
	return gy_exchange(&promise->lost, GY_LOST_RELEASED) == GY_LOST_RELEASED;
}

static void release_first(struct gy_home *home)
{
	struct gy_promise *promise = home->stops_owed;

	home->stops_owed = promise->previous;
	promise->previous = NULL;
	if (gy_bound_ask_release(promise)) {
		gy_promise_put(home, promise);
	}
}

bool gy_bound_asks_stop(struct gy_home *home)
{
	while (home->stops_owed != NULL) {
		if (!gy_bound_ask_stop(home, home->stops_owed)) {
			return false;
		}
		release_first(home);
	}
	return true;
}

void gy_bound_asks_fini(struct gy_home *home)
{
	while (home->stops_owed != NULL) {
		release_first(home);
	}
}
