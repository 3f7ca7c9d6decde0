/*
 * Channels as sources, and the start of the graph that they belong to. All of it is done on the
 * channels' loop, inside the handler that builds and starts the graph.
 */
#ifndef GY_STREAM_CHANNEL_ENDS_H
#define GY_STREAM_CHANNEL_ENDS_H

#include <gyre/stack.h>
#include <gyre/stream.h>

struct gy_tap;

/* The graph is about to start, and is prepared: 0, or -ENOMEM. However it ends from now on, the
 * handlers hear of it. */
int gy_taps_prepare(struct gy_tap *taps, struct gyre_graph *graph, struct gyre_system *system);
/* The graph has started: the channels know its actor from now on. */
void gy_taps_connect(struct gy_tap *taps, struct gyre_address graph, struct gyre_stack *stack);
/* It will not start: its handlers leave the pipelines. */
void gy_taps_drop(struct gy_tap *taps);

#endif
