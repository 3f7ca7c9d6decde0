/*
 * Waiting until enough of some have answered, or until so many have failed that the rest is not
 * enough any more. The promises are marked as for gyre_await_all(), and the stack has two numbers:
 * of answers that are still to come, and of failures that are still allowed. A completion counts
 * one of them down, so that its cost does not depend on how many were asked, and the handler is
 * resumed once; see ends_wait() in promise.c. Here all are counted, when the wait begins and when
 * it has ended.
 *
 * If every promise of the stack completes first the handler is resumed by that, as always. A
 * handler that cancels some, or adds some, does so while it runs, and is counted anew when it
 * waits again.
 */
#include <errno.h>

#include <gyre/group.h>

#include "actor/stack/promise_places.h"
#include "actor/stack/stack.h"

static bool are_own(const struct gy_stack *stack, const struct gyre_asked *asked, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct gy_promise *promise = gy_promise_of(&asked[i].future);

		if (promise != NULL && promise->stack != stack) {
			return false;
		}
	}
	return true;
}

uint32_t gyre_asked_answered(const struct gyre_asked *asked, uint32_t count)
{
	uint32_t answered = 0;

	for (uint32_t i = 0; i < count; i++) {
		answered += gyre_future_error(&asked[i].future) == 0;
	}
	return answered;
}

static uint32_t count_outstanding(const struct gyre_asked *asked, uint32_t count)
{
	uint32_t outstanding = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct gy_promise *promise = gy_promise_of(&asked[i].future);

		outstanding += promise != NULL && !gy_promise_is_done(promise);
	}
	return outstanding;
}

/* What has completed is marked too, to be kept. */
static void mark(const struct gyre_asked *asked, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gy_promise *promise = gy_promise_of(&asked[i].future);

		if (promise != NULL) {
			promise->is_awaited = true;
		}
	}
}

static bool are_valid(const struct gyre_asked *asked, uint32_t count)
{
	return count <= GYRE_GROUP_MEMBERS_MAX && (asked != NULL || count == 0);
}

int gyre_await_quorum(struct gyre_stack *stack, uint32_t point, const struct gyre_asked *asked,
		      uint32_t count, uint32_t quorum)
{
	struct gy_stack *s = gy_stack_of(stack);
	uint32_t answered;
	uint32_t outstanding;
	uint32_t needed;

	if (point == 0 || !are_valid(asked, count) || !are_own(s, asked, count)) {
		return -EINVAL;
	}
	answered = gyre_asked_answered(asked, count);
	outstanding = count_outstanding(asked, count);
	if (answered >= quorum || quorum - answered > outstanding) {
		return 0;
	}
	needed = quorum - answered;
	if (s->marked || s->marked_any) {
		gy_promises_remove_marks(s);
	}
	mark(asked, count);
	s->marked_any = true; /* marks of those that do not count any more may stay behind */
	s->by_quorum = true;
	s->spare = outstanding - needed;
	gy_promises_recycle_others(s);
	return gy_stack_suspend(s, point, needed);
}

int gyre_asked_cancel(struct gyre_stack *stack, const struct gyre_asked *asked, uint32_t count)
{
	int given_up = 0;

	if (!are_valid(asked, count)) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < count; i++) {
		given_up += gyre_cancel(stack, &asked[i].future) == 0;
	}
	return given_up;
}
