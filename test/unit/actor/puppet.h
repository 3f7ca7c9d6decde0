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

#endif
