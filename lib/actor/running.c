/*
 * What an actor does at this moment, for whoever interrupts it. The mail that one run takes from
 * the mailboxes is taken before any of it is freed, so within a run no two messages have the same
 * place in memory. What a class has handled is counted at the end of a run. Calls that have no
 * message of their own are counted as steps.
 */
#include "actor/stack.h"

bool gy_home_get_running(const struct gy_home *home, struct gy_running *ret_look)
{
	const struct gy_house *house = home->hook;
	const struct gy_stack *stack = home->resumed;
	struct gy_running look = { .steps = home->steps };

	/* While a hook runs, what is left in the scratch stack is an older message. */
	if (house == NULL) {
		house = home->running;
		if (house == NULL ||
		    (house->status != GY_HOUSE_RUNNING && !gy_house_is_away(house))) {
			return false;
		}
		stack = stack != NULL ? stack : home->scratch[house->class_info->stack_class];
		look.type = stack == NULL ? NULL : stack->head.type;
		look.message = stack == NULL ? NULL : stack->head.message;
	}
	look.class_info = house->class_info;
	look.handled = house->class_info->handled;
	look.first = house->status == GY_HOUSE_MOUNTING;
	*ret_look = look;
	return true;
}
