/*
 * Waiting for all or for any of some of the promises of a stack, while others may stay
 * outstanding.
 *
 * The promises that are awaited are marked, and the stack has the number of those that have to
 * complete: of all, or 1. Another completion costs a look at the mark, and the last that counts
 * resumes the handler, however many there are. Marks go as promises complete. They are left over
 * after a wait for any, and where a handler thinks better of it and waits in another way, which
 * looks at no marks; so the next wait of this kind removes them first. Which completion ends a wait
 * is decided in ends_wait() of promise.c.
 */
#include <errno.h>

#include "actor/stack/promise_places.h"
#include "actor/stack/stack.h"

/* Whether there are futures alone, none of which is the promise of another stack. */
static bool may_await(const struct gy_stack *stack, const struct gyre_future *const *futures,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct gy_promise *promise =
			futures[i] == NULL ? NULL : gy_promise_of(futures[i]);

		if (futures[i] == NULL || (promise != NULL && promise->stack != stack)) {
			return false;
		}
	}
	return true;
}

static bool any_outstanding(const struct gyre_future *const *futures, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct gy_promise *promise = gy_promise_of(futures[i]);

		if (promise != NULL && !gy_promise_is_done(promise)) {
			return true;
		}
	}
	return false;
}

static bool all_outstanding(const struct gyre_future *const *futures, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct gy_promise *promise = gy_promise_of(futures[i]);

		if (promise == NULL || gy_promise_is_done(promise)) {
			return false;
		}
	}
	return true;
}

/* Marks what is outstanding, and what is complete, to be kept. Returns how many are outstanding. */
static uint32_t mark(const struct gyre_future *const *futures, uint32_t count)
{
	uint32_t outstanding = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct gy_promise *promise = gy_promise_of(futures[i]);

		if (promise != NULL && !promise->is_awaited) {
			promise->is_awaited = true;
			outstanding += !gy_promise_is_done(promise);
		}
	}
	return outstanding;
}

/* The same, after the marks of earlier waits have been removed. */
static uint32_t mark_anew(struct gy_stack *stack, const struct gyre_future *const *futures,
			  uint32_t count)
{
	uint32_t outstanding;

	if (stack->marked || stack->marked_any) {
		gy_promises_remove_marks(stack);
	}
	stack->by_quorum = false;
	outstanding = mark(futures, count);
	gy_assert(outstanding > 0);
	return outstanding;
}

static bool are_valid(const struct gy_stack *stack, uint32_t point,
		      const struct gyre_future *const *futures, uint32_t count)
{
	return point != 0 && futures != NULL && count != 0 && count <= GYRE_AWAIT_ALL_MAX &&
	       may_await(stack, futures, count);
}

int gyre_await_all(struct gyre_stack *stack, uint32_t point,
		   const struct gyre_future *const *futures, uint32_t count)
{
	struct gy_stack *s = gy_stack_of(stack);
	uint32_t awaited_count;

	if (!are_valid(s, point, futures, count)) {
		return -EINVAL;
	}
	if (!any_outstanding(futures, count)) {
		return 0;
	}
	awaited_count = mark_anew(s, futures, count);
	s->marked = true;
	gy_promises_recycle_others(s);
	return gy_stack_suspend(s, point, awaited_count);
}

int gyre_await_any(struct gyre_stack *stack, uint32_t point,
		   const struct gyre_future *const *futures, uint32_t count)
{
	struct gy_stack *s = gy_stack_of(stack);

	if (!are_valid(s, point, futures, count)) {
		return -EINVAL;
	}
	if (!all_outstanding(futures, count)) {
		return 0;
	}
	(void)mark_anew(s, futures, count);
	s->marked_any = true;
	gy_promises_recycle_others(s);
	return gy_stack_suspend(s, point, 1);
}
