/*
 * Swapping behaviours. Those that are kept underneath stand in a small array in the extra part.
 */
#include <gyre/behaviour.h>

#include <errno.h>

#include "actor/behaviour.h"
#include "actor/class_sized.h"
#include "actor/house_extra.h"
#include "actor/log_of.h"
#include "actor/stack/stack.h"

struct gy_nested {
	uint32_t count;
	const struct gyre_behaviour *behaviours[GYRE_NESTED_MAX];
};

int gyre_become(struct gyre_stack *stack, const struct gyre_behaviour *behaviour)
{
	if (behaviour == NULL || gy_behaviour_check(behaviour, gy_log_of_stack(stack)) < 0) {
		return -EINVAL;
	}
	gy_stack_of(stack)->house->behaviour = behaviour;
	return 0;
}

static struct gy_nested *nested_of(struct gy_house *house)
{
	struct gy_house_extra *extra = gy_house_extra_get(house);

	if (extra != NULL && extra->nested == NULL) {
		extra->nested = (struct gy_nested *)gy_sizes_new(&house->home->parts,
								 sizeof(struct gy_nested));
		if (extra->nested != NULL) {
			extra->nested->count = 0;
		}
	}
	return extra == NULL ? NULL : extra->nested;
}

int gyre_become_nested(struct gyre_stack *stack, const struct gyre_behaviour *behaviour)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_nested *nested = behaviour == NULL ? NULL : nested_of(house);

	if (behaviour == NULL || gy_behaviour_check(behaviour, gy_log_of_stack(stack)) < 0) {
		return -EINVAL;
	}
	if (nested == NULL) {
		return -ENOMEM;
	}
	if (nested->count == GYRE_NESTED_MAX) {
		return -ENOBUFS;
	}
	nested->behaviours[nested->count++] = house->behaviour;
	house->behaviour = behaviour;
	return 0;
}

void gyre_unbecome(struct gyre_stack *stack)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_nested *nested = house->extra == NULL ? NULL : house->extra->nested;

	house->behaviour = nested != NULL && nested->count > 0
				   ? nested->behaviours[--nested->count]
				   : &house->class_info->class->behaviour;
}

void gy_behaviour_reset(struct gy_house *house)
{
	struct gy_nested *nested = house->extra == NULL ? NULL : house->extra->nested;

	house->behaviour = &house->class_info->class->behaviour;
	if (nested != NULL) {
		gy_sizes_delete(&house->home->parts, nested, sizeof(*nested));
		house->extra->nested = NULL;
	}
}

gyre_handler_fn gy_route_find(const struct gyre_route *routes, uint32_t id)
{
	if (routes == NULL) {
		return NULL;
	}
	while (routes->id != id && routes->id != 0) {
		routes++;
	}
	return routes->handler;
}
