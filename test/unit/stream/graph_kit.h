/*
 * Graphs on the testkit: on one loop, in virtual time.
 */
#ifndef GY_TEST_GRAPH_KIT_H
#define GY_TEST_GRAPH_KIT_H

#include "graph_parts.h"
#include "kit_test.h"

/* Runs a graph to its end; how long that took, in nanoseconds. */
uint64_t graph_run(struct gyre_test *test, build_fn build);
/* How starting it ends that was built wrong, without running it. */
int graph_refuse(struct gyre_test *test, build_fn build);

#endif
