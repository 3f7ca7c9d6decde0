/*
 * The peers that a node knows of: made when somebody tells of them or when they come, and kept
 * until the node ends. They are found without the mutex, and made and changed under it.
 */
#include "remote/peer/peer.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory.h"
#include "remote/id_table.h"
#include "remote/node.h"
#include "remote/node_address.h"
#include "remote/peer/peer_life.h"

struct gy_peer *gy_peer_find(const struct gy_nodes *nodes, uint16_t id)
{
	return (struct gy_peer *)gy_id_table_find(&nodes->peers, id);
}

/* Under the mutex. */
static struct gy_peer *get_peer(struct gy_nodes *nodes, uint16_t id)
{
	struct gy_peer *peer = gy_peer_find(nodes, id);

	if (peer != NULL) {
		return peer;
	}
	peer = (struct gy_peer *)gy_memory_get(sizeof(*peer));
	if (peer != NULL) {
		peer->nodes = nodes;
		peer->id = id;
		if (gy_lives_init(peer) < 0 || gy_id_table_set(&nodes->peers, id, peer) < 0) {
			gy_lives_fini(peer);
			gy_memory_put(peer);
			peer = NULL;
		}
	}
	return peer;
}

struct gy_peer *gy_peer_get(struct gy_nodes *nodes, uint16_t id)
{
	struct gy_peer *peer;

	(void)pthread_mutex_lock(&nodes->mutex);
	peer = get_peer(nodes, id);
	(void)pthread_mutex_unlock(&nodes->mutex);
	return peer;
}

uint16_t gy_peer_next_known(struct gy_nodes *nodes, uint16_t id)
{
	uint32_t next = id + 1U;

	(void)pthread_mutex_lock(&nodes->mutex);
	for (; next < nodes->peers.end; next++) {
		const struct gy_peer *peer = gy_peer_find(nodes, (uint16_t)next);

		if (peer != NULL && peer->address != NULL) {
			break;
		}
		if (nodes->peers.pages[next / GY_PEER_PAGE] == NULL) {
			next |= GY_PEER_PAGE - 1; /* to the next page */
		}
	}
	next = next < nodes->peers.end ? next : 0;
	(void)pthread_mutex_unlock(&nodes->mutex);
	return (uint16_t)next;
}

static char *copy_text(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = (char *)gy_memory_get_raw(bytes);

	if (copy != NULL) {
		memcpy(copy, text, bytes);
	}
	return copy;
}

int gy_peer_address(struct gy_peer *peer, char **ret_address)
{
	int r = -EHOSTUNREACH;

	(void)pthread_mutex_lock(&peer->nodes->mutex);
	if (peer->address != NULL) {
		char *copy = copy_text(peer->address);

		r = copy == NULL ? -ENOMEM : 0;
		if (r == 0) {
			*ret_address = copy;
		}
	}
	(void)pthread_mutex_unlock(&peer->nodes->mutex);
	return r;
}

void gy_peer_learn_address(struct gy_peer *peer, const char *address)
{
	(void)pthread_mutex_lock(&peer->nodes->mutex);
	if (!peer->left && (peer->address == NULL || peer->learnt)) {
		char *copy = copy_text(address);

		if (copy != NULL) { /* else it is learnt the next time */
			gy_memory_put(peer->address);
			peer->address = copy;
			peer->learnt = true;
		}
	}
	(void)pthread_mutex_unlock(&peer->nodes->mutex);
}

int gy_peer_add(struct gy_nodes *nodes, const struct gyre_node_peer *told)
{
	char *address = NULL;
	struct gy_peer *peer;

	if (told->id == 0 || told->id == nodes->options.id) {
		return -EINVAL;
	}
	if (told->address != NULL) {
		int r = gy_node_address_check(told->address);

		if (r < 0) {
			return r;
		}
		address = copy_text(told->address);
		if (address == NULL) {
			return -ENOMEM;
		}
	}
	(void)pthread_mutex_lock(&nodes->mutex);
	peer = get_peer(nodes, told->id);
	if (peer != NULL) {
		char *before = peer->address;

		peer->address = address;
		peer->learnt = false;
		peer->left = told->address == NULL;
		address = before;
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
	gy_memory_put(address);
	return peer == NULL ? -ENOMEM : 0;
}

void gy_peers_fini(struct gy_nodes *nodes)
{
	for (uint32_t id = 0; id <= UINT16_MAX; id++) {
		struct gy_peer *peer = gy_peer_find(nodes, (uint16_t)id);

		if (peer != NULL) {
			gy_lives_fini(peer);
			gy_memory_put(peer->link_orders);
			gy_memory_put(peer->address);
			gy_memory_put(peer);
		}
	}
	gy_id_table_fini(&nodes->peers);
}
