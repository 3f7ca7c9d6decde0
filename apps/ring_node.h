/*
 * The ring over processes: each is a node with one actor.
 */
#ifndef GYRE_APPS_RING_NODE_H
#define GYRE_APPS_RING_NODE_H

#include <stdbool.h>
#include <stdint.h>

struct ring_node {
	uint64_t node;	    /* this one, from 1 */
	uint64_t nodes;	    /* in the ring */
	uint64_t base_port; /* of node 1; the others follow */
	uint64_t messages;  /* tokens that go round at once */
	uint64_t payload;   /* bytes of each */
	uint64_t seconds;   /* measured */
	int64_t spin_ns;    /* as in gyre_system_options */
	const char *cpus;
	const char *secret;  /* NULL for links in the clear */
	const char *sockets; /* the folder of their Unix sockets; NULL for TCP */
	bool json;
};

/* An exit status. */
int ring_node_run(const struct ring_node *settings);

#endif
