/*
 * Puppets: actors that do what a test sends them. The model runs them between two steps of a loop
 * (model.h), or the testkit does (puppet_kit.h).
 */
#ifndef GY_TEST_PUPPET_H
#define GY_TEST_PUPPET_H

#include <gyre/stack.h>

struct call {
	gyre_handler_fn function;
};
GYRE_MESSAGE(call, 0x1010);

/* What a puppet has in its frame. */
struct puppet_frame {
	struct gyre_future future;
	struct gyre_future other;
	uint64_t value;
};

/* The handler of its notices and asks: calls the function, which may wait. */
int puppet_run(struct gyre_stack *stack);
struct puppet_frame *puppet_frame(struct gyre_stack *stack);
extern const struct gyre_class puppet_class;
/* For them: fails with -EIO. */
int puppet_fail(struct gyre_stack *stack);
/* For them: waits, with a trace before and after it. */
int puppet_trace_wait(struct gyre_stack *stack, char begin, char end, uint64_t ns);
/* Puppets that count their restarts; tests say how many they may have. */
extern struct gyre_class puppet_failing_class;
extern uint32_t puppet_restarts;

#endif
