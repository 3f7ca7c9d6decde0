/*
 * Where a node learns of others. Engines tell it, through a table of functions; the list in its
 * options is the engine that every node has, so that another one has nothing to do that this has
 * not.
 */
#include "remote/membership.h"

#include <errno.h>

#include "base/assert.h"
#include "base/memory/memory.h"
#include "remote/node.h"
#include "remote/node_address.h"

/* ---- the static list ---- */

/* The list itself is the engine. */
static int start_list(const void *arg, void **ret_engine)
{
	*ret_engine = (void *)(uintptr_t)arg;
	return 0;
}

static int publish_nothing(void *engine, const struct gyre_node_peer *self)
{
	(void)engine;
	(void)self;
	return 0;
}

static int watch_list(void *engine, gyre_node_told_fn tell, struct gyre_system *system)
{
	const struct gyre_node_peer *peer = (const struct gyre_node_peer *)engine;
	int r = 0;

	for (; peer != NULL && peer->id != 0 && r == 0; peer++) {
		r = peer->address == NULL ? -EINVAL : tell(system, peer);
	}
	return r;
}

static void stop_list(void *engine)
{
	(void)engine;
}

static const struct gyre_membership static_list = {
	.start = start_list,
	.publish = publish_nothing,
	.watch = watch_list,
	.stop = stop_list,
};

/* ---- engines ---- */

static int start(struct gy_nodes *nodes, struct gy_node_engine *it,
		 const struct gyre_membership *membership, const void *arg)
{
	const struct gyre_node_peer self = { nodes->options.id, nodes->options.listen };
	struct gyre_system *system = nodes->system;
	int r = membership->start(arg, &it->engine);

	if (r < 0) {
		return r;
	}
	it->membership = membership;
	if (self.address != NULL) {
		r = membership->publish(it->engine, &self);
	}
	return r < 0 ? r : membership->watch(it->engine, gy_node_peer_found, system);
}

/* Says what is wrong with the first peer of the list that is refused with @error. */
static void explain(const struct gy_nodes *nodes, int error)
{
	const struct gyre_node_peer *peer = nodes->options.peers;
	uint16_t id = nodes->options.id;

	while (peer->id != 0 && peer->id != id && peer->address != NULL &&
	       gy_node_address_check(peer->address) == 0) {
		peer++;
	}
	gy_assert(peer->id != 0);
	if (peer->id == id) {
		gy_log(nodes->log, GYRE_LOG_ERROR,
		       "peer %u=%s is node %u itself: name the other nodes alone", peer->id,
		       peer->address == NULL ? "" : peer->address, id);
	} else if (peer->address == NULL) {
		gy_log(nodes->log, GYRE_LOG_ERROR, "peer %u of node %u has no address: %s",
		       peer->id, id, gy_node_address_remedy(error));
	} else {
		gy_log(nodes->log, GYRE_LOG_ERROR,
		       "peer %u of node %u has \"%s\", which is no address of a node: %s", peer->id,
		       id, peer->address, gy_node_address_remedy(error));
	}
}

int gy_membership_start(struct gy_nodes *nodes, struct gyre_system *system)
{
	const struct gyre_node_options *options = &nodes->options;
	int r;

	nodes->system = system;
	r = start(nodes, &nodes->engines[0], &static_list, options->peers);
	if (r == -EINVAL || r == -ENAMETOOLONG) {
		explain(nodes, r);
	}
	if (r == 0 && options->membership != NULL) {
		r = start(nodes, &nodes->engines[1], options->membership, options->membership_arg);
	}
	nodes->options.peers = NULL; /* the caller's, who may free them now */
	return r;
}

void gy_membership_stop(struct gy_nodes *nodes)
{
	for (size_t i = gy_countof(nodes->engines); i-- > 0;) {
		struct gy_node_engine *it = &nodes->engines[i];

		if (it->membership != NULL) {
			it->membership->stop(it->engine);
			it->membership = NULL;
		}
	}
}
