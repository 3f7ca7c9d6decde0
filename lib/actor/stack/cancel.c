/*
 * Giving up one promise, while its stack goes on. It completes at once, for the handler that runs;
 * an answer that comes later finds no promise, and is dropped as any late one.
 */
#include <errno.h>

#include "actor/home.h"
#include "actor/stack/stack.h"

int gyre_cancel(struct gyre_stack *stack, const struct gyre_future *future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_promise *promise = future == NULL ? NULL : future->promise;

	if (future == NULL) {
		return -EINVAL;
	}
	if (promise == NULL || gy_load_relaxed(&promise->id) != future->id) {
		return -EALREADY; /* it was never made, or its end was read */
	}
	if (promise->stack != s) {
		return -EINVAL;
	}
	gy_promise_cancel(s, promise);
	return 0;
}
