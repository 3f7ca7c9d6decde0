/*
 * A coarse clock that lies behind, and asks with short time-outs meanwhile.
 */
#ifndef GY_TEST_LAGGING_H
#define GY_TEST_LAGGING_H

#include <gyre/stack.h>

struct lagging_frame {
	struct gyre_future future;
	struct gyre_address to;
	uint64_t asked_ns;
	uint32_t lag;
	uint32_t timeout;
};

struct lagging_frame *lagging_frame(struct gyre_stack *stack);

/* Asks @to of the frame while the coarse clock lies behind by 5 to 50 ms, with time-outs of 1 to
 * 100 ms, some after long work; then ends the system. */
int lagging_asks(struct gyre_stack *stack);
/* How many of them have timed out before their time. */
extern uint32_t lagging_early;

#endif
