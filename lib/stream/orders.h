/*
 * Handlers of the actor of an island, for what its ports are told.
 */
#ifndef GY_STREAM_ORDERS_H
#define GY_STREAM_ORDERS_H

#include <gyre/stack.h>

/* Events, of this system. */
int gy_orders_block(struct gyre_stack *stack);
int gy_orders_control(struct gyre_stack *stack);
/* Asks, of this system or another node. */
int gy_orders_far_control(struct gyre_stack *stack);
int gy_orders_frame(struct gyre_stack *stack);
int gy_orders_attach(struct gyre_stack *stack);

#endif
