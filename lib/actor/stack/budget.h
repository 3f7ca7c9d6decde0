/*
 * The time that the asker of a stack's message has left, as far as this loop can tell: never less
 * than it has.
 */
#ifndef GY_ACTOR_STACK_BUDGET_H
#define GY_ACTOR_STACK_BUDGET_H

#include "actor/stack/stack.h"

/* What is sure to be past by the clock of the loop that the actor lives on, which has set the
 * deadlines of its mail. */
static inline uint64_t gy_budget_sure_ns(const struct gy_stack *stack)
{
	const struct gy_home *home = stack->home;
	uint16_t loop = stack->house->self.loop;

	return gy_likely(loop == home->loop.index)
		       ? home->loop.sure_ns
		       : gy_load_relaxed(&gy_home_peer(home, loop)->loop.sure_ns);
}

/*
 * Turns the deadline of an ask that the actor has been handed into the time that is left, as mail
 * carries it on its way; 0 stays 0. False when nothing is.
 */
static inline bool gy_budget_to_patience(const struct gy_stack *stack, uint32_t *deadline)
{
	/* A deadline grows by a part at each loop, yet no asker has given more than this. */
	const int32_t longest = (int32_t)gy_patience(GY_DEADLINE_SPAN_NS);
	int32_t left;

	if (*deadline == 0) {
		return true;
	}
	left = (int32_t)(*deadline - (uint32_t)(gy_budget_sure_ns(stack) >> GY_DEADLINE_SHIFT));
	*deadline = left <= 0 ? 1 : (uint32_t)(left < longest ? left : longest);
	return left >= 0;
}

/* What the asker of the message has left, of a batch the one that waits longest: 0 for nothing;
 * GYRE_FOREVER without a limit, and where nobody waits for an answer. */
uint64_t gy_budget_left_ns(const struct gy_stack *stack);
/* Shortens a time-out to what is left; -ETIMEDOUT when nothing is. */
int gy_budget_bound(const struct gy_stack *stack, uint64_t *timeout_ns);

/* Whether something may be inherited: an ask that is unanswered owes an answer. */
static inline bool gy_budget_may_bound(const struct gy_stack *stack)
{
	return (stack->owed | (uintptr_t)stack->batch) != 0;
}

/* The time-out of a call, which is 0 where the call names none; -ETIMEDOUT when nothing is left. */
static inline int gy_budget_timeout(const struct gy_stack *stack, uint64_t *timeout_ns)
{
	if (*timeout_ns != 0) {
		return 0;
	}
	*timeout_ns = stack->home->options.ask_timeout_ns;
	return gy_budget_may_bound(stack) ? gy_budget_bound(stack, timeout_ns) : 0;
}

#endif
