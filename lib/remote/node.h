/*
 * This node: its options, its secrets, and what it knows of other nodes.
 */
#ifndef GY_REMOTE_NODE_H
#define GY_REMOTE_NODE_H

#include <pthread.h>

#include <gyre/node.h>
#include <gyre/socket_address.h>

#include "actor/home.h"
#include "base/log/log_limit.h"
#include "remote/id_table.h"
#include "remote/membership.h"
#include "remote/peer/peer_state.h"
#include "remote/secret.h"
#include "remote/types.h"

struct gy_links;
struct gy_nodes;

/* This node, and all that it knows of. */
struct gy_nodes {
	struct gyre_system *system;
	struct gy_homes *homes;
	const struct gy_log *log;
	struct gyre_node_options options; /* no field is left at its default */
	char cluster[GYRE_NODE_NAME_BYTES_MAX + 1];
	struct gy_secret secrets[GY_SECRETS_MAX]; /* the present one first */
	uint32_t secrets_count;
	uint64_t incarnation; /* atomic: its life; written under the mutex */
	uint32_t loops_max;
	uint16_t port;
	bool listens; /* others can dial it; as @options say, whose texts are replaced later */
	char *listen; /* of its options, with the port that it got */
	char *listen_local;
	/* Its Unix socket, as it tells peers over others; "" for none. */
	char told_address[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	uint32_t users[GYRE_NODE_USERS_MAX]; /* of its options */
	struct gy_node_engine engines[2];    /* the static list, and perhaps another */
	bool ending;			     /* for it was declared down; under the mutex */
	struct gy_types types;
	struct gy_links *links; /* one a loop */
	struct gy_remote_ops ops;
	struct gy_remote_ops one_way_ops;    /* of a loop that has a link that is one-way */
	uint32_t lack_logged;		     /* atomic: that it does not listen */
	struct gy_log_limit refusals;	     /* of lines about those that have dialled; atomic */
	struct gy_log_limit watches_refused; /* of lines about watches_max; atomic */
	pthread_mutex_t mutex;
	struct gy_id_table peers; /* read without the mutex */
	struct gy_node_watcher *watchers;
	uint32_t watchers_count; /* atomic; written under the mutex */
	/* Calls of higher floors: the name directory, and the end of a system. */
	int (*look_up)(struct gyre_system *system, const char *name, struct gyre_address *ret);
	void (*declared_down)(struct gyre_system *system);
	void (*peer_lost)(struct gyre_system *system, uint16_t node); /* or NULL */
};

/* What the floor above gives a node. */
struct gy_nodes_life {
	uint32_t loops_max;
	struct gy_homes *homes;
	const struct gy_log *log;
	int (*look_up)(struct gyre_system *system, const char *name, struct gyre_address *ret);
	void (*declared_down)(struct gyre_system *system); /* it is to end with that; any thread */
	/* A peer is down, of which nobody is told yet; under the mutex. NULL for nothing. */
	void (*peer_lost)(struct gyre_system *system, uint16_t node);
};

/* A node of those options, without links; a bad option is named in the log. */
int gy_nodes_create(const struct gyre_node_options *options, const struct gy_nodes_life *life,
		    struct gy_nodes **ret_nodes);
/* A home has been made: it can have links. Its index is below loops_max. */
void gy_nodes_add_home(struct gy_nodes *nodes, struct gy_home *home);
/* All homes are made: listens, and looks for others. */
int gy_nodes_start(struct gy_nodes *nodes, struct gyre_system *system);
/* All loops have ended. NULL is allowed. */
void gy_nodes_destroy(struct gy_nodes *nodes);

/* Whether others can dial it, at one address at least. */
static inline bool gy_node_listens(const struct gy_nodes *nodes)
{
	return nodes->listens;
}

/* Told by an engine, or a user. */
int gy_node_peer_found(struct gyre_system *system, const struct gyre_node_peer *told);

#endif
