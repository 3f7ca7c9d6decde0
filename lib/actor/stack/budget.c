/*
 * The budget of a message: what its asker has left of the time that it gave. A call that waits and
 * names no time-out gets no more than that.
 *
 * It is told by the deadline in the mail, which may be later than the asker's, never earlier: see
 * mail.h. Once the ask is answered or passed on nobody waits any more, and nothing is inherited.
 */
#include <errno.h>

#include "actor/stack/budget.h"
#include "actor/stack/promise_places.h"

/* The time until a deadline has passed for sure; 0 when it has. */
static uint64_t time_until(const struct gy_stack *stack, uint32_t deadline)
{
	const uint64_t unit_ns = UINT64_C(1) << GY_DEADLINE_SHIFT;
	uint64_t sure_ns = gy_budget_sure_ns(stack);
	int32_t units = (int32_t)(deadline - (uint32_t)(sure_ns >> GY_DEADLINE_SHIFT));

	return units < 0 ? 0 : ((uint64_t)units + 1) * unit_ns - (sure_ns & (unit_ns - 1));
}

/* Whether an ask is there, and was not answered. */
static bool is_open(const struct gyre_mail *mail)
{
	return mail != NULL && mail->node.kind == GY_MAIL_ASK && mail->ask_id != 0;
}

static uint64_t time_of_ask(const struct gy_stack *stack, const struct gyre_mail *ask)
{
	return ask->deadline == 0 ? GYRE_FOREVER : time_until(stack, ask->deadline);
}

/* The longest of those that wait for a batch. Once an error is owed there, deadlines are errors. */
static uint64_t time_of_batch(const struct gy_stack *stack)
{
	const struct gy_batch *batch = stack->batch;
	uint64_t longest = 0;
	bool any = false;

	if (!batch->asks || stack->owed != 0) {
		return GYRE_FOREVER;
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct gyre_mail *ask = batch->mails[i];

		if (ask != NULL && ask->ask_id != 0) {
			uint64_t left = time_of_ask(stack, ask);

			longest = left > longest ? left : longest;
			any = true;
		}
	}
	return any ? longest : GYRE_FOREVER;
}

uint64_t gy_budget_left_ns(const struct gy_stack *stack)
{
	if (stack->batch != NULL) {
		return time_of_batch(stack);
	}
	return is_open(stack->mail) ? time_of_ask(stack, stack->mail) : GYRE_FOREVER;
}

int gy_budget_bound(const struct gy_stack *stack, uint64_t *timeout_ns)
{
	uint64_t left_ns = gy_budget_left_ns(stack);

	if (left_ns < *timeout_ns) {
		*timeout_ns = left_ns;
	}
	return left_ns == 0 ? -ETIMEDOUT : 0;
}

uint64_t gyre_time_left(const struct gyre_stack *stack)
{
	return gy_budget_left_ns(gy_stack_of_const(stack));
}

/*
 * Whether the promise of an asker on this loop is known to have ended. Of an asker that is away, or
 * lives elsewhere, nothing is known; nor of a channel.
 */
static bool has_given_up(const struct gy_home *home, const struct gyre_mail *ask)
{
	const struct gy_house *asker;

	if (ask->from.node != home->node || ask->from.loop != home->loop.index ||
	    ask->from.slot >= GY_CHANNEL_SLOTS) {
		return false;
	}
	asker = gy_house_find_occupied(home, ask->from.slot, ask->from.cookie);
	return asker == NULL ||
	       (!gy_house_is_away(asker) && gy_promise_find(home, asker, ask->ask_id) == NULL);
}

static bool is_awaited(const struct gy_stack *stack, const struct gyre_mail *ask)
{
	return time_of_ask(stack, ask) > 0 && !has_given_up(stack->home, ask);
}

bool gyre_is_awaited(const struct gyre_stack *stack)
{
	const struct gy_stack *s = gy_stack_of_const(stack);
	const struct gy_batch *batch = s->batch;

	if (batch == NULL) {
		return is_open(s->mail) && is_awaited(s, s->mail);
	}
	for (uint32_t i = 0; batch->asks && i < batch->count; i++) {
		const struct gyre_mail *ask = batch->mails[i];

		if (ask != NULL && ask->ask_id != 0 && (s->owed != 0 || is_awaited(s, ask))) {
			return true;
		}
	}
	return false;
}
