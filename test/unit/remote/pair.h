/*
 * Two nodes in one process. The first is the fixture's, with the script; the second has actors that
 * are registered by name.
 */
#ifndef GY_TEST_PAIR_H
#define GY_TEST_PAIR_H

#include <gyre/node.h>

#include "fixture.h"

struct pair {
	gyre_handler_fn script;
	struct gyre_node_options first; /* on top of what makes them know each other */
	struct gyre_node_options second;
	uint32_t loops;
};

struct pair_frame {
	struct gyre_future future;
	struct gyre_address other;
	uint64_t number;
};

/* The second one. */
extern struct gyre_system *pair_other;

void pair_play(const struct pair *pair);

#endif
