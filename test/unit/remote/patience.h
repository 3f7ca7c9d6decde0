/*
 * Times that are too long to run out in a test, however busy the machine is.
 */
#ifndef TEST_UNIT_REMOTE_PATIENCE_H
#define TEST_UNIT_REMOTE_PATIENCE_H

#include <gyre/node.h>

/* For an ask that names none, and is to be answered. */
#define PATIENCE_ASK_NS GYRE_SECONDS(1000)

/* Gives them to a node, as far as the test has chosen none. */
void patience_of_node(struct gyre_node_options *node);

#endif
