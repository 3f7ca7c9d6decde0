/*
 * By default a node gives up peers that are slow within seconds; where many tests share a machine a
 * thread may well not run for so long. What is to run out in a test is set there.
 */
#include "remote/patience.h"

static void set(uint64_t *time_ns, uint64_t patience_ns)
{
	if (*time_ns == 0) {
		*time_ns = patience_ns;
	}
}

void patience_of_node(struct gyre_node_options *node)
{
	set(&node->greeting_ns, GYRE_SECONDS(60));
	set(&node->suspect_ns, GYRE_SECONDS(1000));
	set(&node->down_ns, GYRE_SECONDS(2000));
	set(&node->away_ns, GYRE_SECONDS(1000));
}
