/*
 * Where a call of a program logs what it has to say of its arguments.
 */
#ifndef GY_ACTOR_LOG_OF_H
#define GY_ACTOR_LOG_OF_H

#include "actor/home.h"
#include "actor/stack/stack.h"

static inline const struct gy_log *gy_log_of_stack(struct gyre_stack *stack)
{
	return gy_stack_of(stack)->home->loop.options.log;
}

/* NULL, which is the default log, for no system. */
static inline const struct gy_log *gy_log_of_system(struct gyre_system *system)
{
	return system == NULL ? NULL : gy_homes_of(system)->log;
}

#endif
