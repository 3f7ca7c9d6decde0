/*
 * The table of peers, and how users see the peer of a buffer.
 */
#include "buffer/address_table.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory.h"
#include "buffer/buffer.h"

static int grow(struct gy_address_table *addresses)
{
	uint32_t count = addresses->chunks_count;
	struct gy_shared_address *chunk =
		(struct gy_shared_address *)gy_memory_get(GY_ADDRESS_TABLE_CHUNK * sizeof(*chunk));
	struct gy_shared_address **chunks = NULL;

	if (chunk != NULL) {
		chunks = (struct gy_shared_address **)gy_memory_resize(
			addresses->chunks, count * sizeof(chunk), (count + 1) * sizeof(chunk));
	}
	if (chunks == NULL) {
		gy_memory_put(chunk);
		return -ENOMEM;
	}
	chunks[count] = chunk;
	addresses->chunks = chunks;
	addresses->chunks_count = count + 1;
	for (uint32_t i = GY_ADDRESS_TABLE_CHUNK; i > 0; i--) {
		chunk[i - 1].next_free = addresses->free;
		addresses->free = count * GY_ADDRESS_TABLE_CHUNK + i;
	}
	return 0;
}

uint32_t gy_address_table_get(struct gy_address_table *addresses, const void *name, socklen_t bytes,
			      struct gy_shared_address **ret_at)
{
	uint32_t peer;
	struct gy_shared_address *at;

	gy_assert(bytes > 0 && bytes <= sizeof(at->address.storage));
	if (gy_unlikely(addresses->free == 0) && grow(addresses) < 0) {
		return 0;
	}
	peer = addresses->free;
	at = gy_address_table_at(addresses, peer);
	addresses->free = at->next_free;
	addresses->used++;
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
	*ret_at = at;
	return peer;
}

bool gy_address_table_trim(struct gy_address_table *addresses)
{
	if (addresses->used > 0) {
		return false;
	}
	for (uint32_t i = 0; i < addresses->chunks_count; i++) {
		gy_memory_put(addresses->chunks[i]);
	}
	gy_memory_put(addresses->chunks);
	*addresses = (struct gy_address_table){ 0 };
	return true;
}

/* ---- of a buffer ---- */

const struct gyre_socket_address *gyre_buffer_peer(const struct gyre_buffer *buffer)
{
	if (buffer == NULL || buffer->first.peer == 0) {
		return NULL;
	}
	return &gy_address_table_at(&buffer->pools->addresses, buffer->first.peer)->address;
}

int gyre_buffer_set_peer(struct gyre_buffer *buffer, const struct gyre_socket_address *peer)
{
	struct gy_address_table *addresses;
	struct gy_shared_address *at;
	uint32_t number = 0;

	if (buffer == NULL || (peer != NULL && (peer->bytes <= sizeof(sa_family_t) ||
						peer->bytes > sizeof(peer->storage)))) {
		return -EINVAL;
	}
	addresses = &buffer->pools->addresses;
	if (peer != NULL) {
		number = gy_address_table_get(addresses, &peer->storage, peer->bytes, &at);
		if (number == 0) {
			return -ENOMEM;
		}
	}
	if (buffer->first.peer != 0) {
		gy_address_table_unref(addresses, buffer->first.peer);
	}
	buffer->first.peer = number;
	return 0;
}
