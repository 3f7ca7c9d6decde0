/*
 * Graphs on a system of some loops.
 */
#ifndef GY_TEST_GRAPH_RIG_H
#define GY_TEST_GRAPH_RIG_H

#include "graph_parts.h"

/* Runs a graph, on @loops loops. */
void run_graph(uint32_t loops, build_fn build);
/* How starting it ends that was built wrong, without running it. */
int refuse_graph(build_fn build);

#endif
