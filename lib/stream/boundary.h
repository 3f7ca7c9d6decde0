/*
 * Boundaries, and the islands that they make of a graph.
 */
#ifndef GY_STREAM_BOUNDARY_H
#define GY_STREAM_BOUNDARY_H

#include "stream/graph.h"

/* Makes the islands of a graph whose stages are complete. -ENOMEM. */
int gy_islands_make(struct gyre_graph *graph);

#endif
