/*
 * The table of peers, and how users see the peer of a buffer.
 */
#include "channel/peers.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "channel/buffer.h"

static int grow(struct gy_peers *peers)
{
	uint32_t count = peers->chunks_count;
	struct gy_peer *chunk = (struct gy_peer *)gy_memory_get(GY_PEERS_CHUNK * sizeof(*chunk));
	struct gy_peer **chunks = NULL;

	if (chunk != NULL) {
		chunks = (struct gy_peer **)gy_memory_resize(peers->chunks, count * sizeof(chunk),
							     (count + 1) * sizeof(chunk));
	}
	if (chunks == NULL) {
		gy_memory_put(chunk);
		return -ENOMEM;
	}
	chunks[count] = chunk;
	peers->chunks = chunks;
	peers->chunks_count = count + 1;
	for (uint32_t i = GY_PEERS_CHUNK; i > 0; i--) {
		chunk[i - 1].next_free = peers->free;
		peers->free = count * GY_PEERS_CHUNK + i;
	}
	return 0;
}

uint32_t gy_peer_get(struct gy_peers *peers, const void *name, socklen_t bytes)
{
	uint32_t peer;
	struct gy_peer *at;

	gy_assert(bytes > 0 && bytes <= sizeof(at->address.storage));
	if (gy_unlikely(peers->free == 0) && grow(peers) < 0) {
		return 0;
	}
	peer = peers->free;
	at = gy_peer_at(peers, peer);
	peers->free = at->next_free;
	peers->used++;
	at->references = 1;
	at->address.bytes = bytes;
	at->address.type = SOCK_DGRAM;
	if (gy_likely(bytes == sizeof(struct sockaddr_in))) { /* without a call */
		memcpy(&at->address.storage, name, sizeof(struct sockaddr_in));
	} else {
		memcpy(&at->address.storage, name, bytes);
	}
	if (bytes < sizeof(at->address.storage)) {
		((char *)&at->address.storage)[bytes] = '\0'; /* of a path */
	}
	return peer;
}

bool gy_peers_trim(struct gy_peers *peers)
{
	if (peers->used > 0) {
		return false;
	}
	for (uint32_t i = 0; i < peers->chunks_count; i++) {
		gy_memory_put(peers->chunks[i]);
	}
	gy_memory_put(peers->chunks);
	*peers = (struct gy_peers){ 0 };
	return true;
}

/* ---- of a buffer ---- */

const struct gyre_socket_address *gyre_buffer_peer(const struct gyre_buffer *buffer)
{
	if (buffer == NULL || buffer->first.peer == 0) {
		return NULL;
	}
	return &gy_peer_at(&buffer->channels->peers, buffer->first.peer)->address;
}

int gyre_buffer_set_peer(struct gyre_buffer *buffer, const struct gyre_socket_address *peer)
{
	struct gy_peers *peers;
	uint32_t number = 0;

	if (buffer == NULL || (peer != NULL && (peer->bytes <= sizeof(sa_family_t) ||
						peer->bytes > sizeof(peer->storage)))) {
		return -EINVAL;
	}
	peers = &buffer->channels->peers;
	if (peer != NULL) {
		number = gy_peer_get(peers, &peer->storage, peer->bytes);
		if (number == 0) {
			return -ENOMEM;
		}
	}
	if (buffer->first.peer != 0) {
		gy_peer_unref(peers, buffer->first.peer);
	}
	buffer->first.peer = number;
	return 0;
}
