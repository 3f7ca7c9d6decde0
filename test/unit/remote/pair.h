/*
 * Two nodes in one process. The first is the fixture's, with the script; the second has actors that
 * are registered by name.
 */
#ifndef GY_TEST_PAIR_H
#define GY_TEST_PAIR_H

#include <gyre/encode.h>
#include <gyre/node.h>

#include "fixture.h"

struct pair {
	gyre_handler_fn script;
	const struct gyre_class
		*class; /* of an actor of the second with the name "other"; or NULL */
	struct gyre_node_options first; /* on top of what makes them know each other */
	struct gyre_node_options second;
	uint32_t loops;	       /* of each */
	uint32_t loops_pinned; /* of the first */
	bool dial_only;	       /* the first does not listen */
	bool locally;	       /* the first dials where the second listens besides (listen_local) */
};

/* An order with a string and an array, which it owns. */
struct order {
	char *customer;
	uint32_t *items;
	uint32_t count;
};

void pair_order_destroy(struct order *order);
extern const struct gyre_encoding pair_order_encoding;
GYRE_MESSAGE_ENCODED(order, 0x1100, pair_order_encoding, pair_order_destroy);
/* How many there are. Atomic. */
extern uint32_t pair_orders;
/* Fills one in, with a customer of so many letters and items that count up. */
struct gyre_mail *pair_order(struct gyre_stack *stack, uint32_t letters, uint32_t count);
/* Whether it is as it was filled in. */
bool pair_order_is_whole(const struct order *order, uint32_t letters, uint32_t count);

/* An actor that answers a large order with one, and a script that orders of the "other". */
extern const struct gyre_class pair_shop_class;
int pair_orders_much(struct gyre_stack *stack);

struct pair_frame {
	struct gyre_future future;
	struct gyre_address other;
	uint64_t number;
};

static inline struct pair_frame *pair_frame_of(struct gyre_stack *stack)
{
	return (struct pair_frame *)gyre_frame(stack);
}

/* The second one. */
extern struct gyre_system *pair_other;
/* An actor there. */
struct gyre_address pair_find(const char *name);
/* Counts its notices. */
extern const struct gyre_class pair_hearer_class;
extern uint32_t pair_heard; /* atomic */

void pair_play(const struct pair *pair);
/* How much the second one has lost for that reason. */
uint64_t pair_other_lost(enum gyre_drop reason);

#endif
