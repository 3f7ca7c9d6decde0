/*
 * Peers: who sent a datagram, or whom it is for. A buffer that has one knows it by a small number,
 * which fits where a pointer would not and finds the address in a table of the loop. An address is
 * counted by those who have its number, so the datagrams that came together share one.
 *
 * The table grows by chunks, which do not move, and is given back as a whole when nobody has a
 * number of it; so it is never larger than what the buffers that lived at one time took.
 */
#ifndef GY_BUFFER_ADDRESS_TABLE_H
#define GY_BUFFER_ADDRESS_TABLE_H

#include <gyre/socket_address.h>

#include <netinet/in.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"

enum { GY_ADDRESS_TABLE_CHUNK = 64 };

struct gy_shared_address {
	uint32_t references;
	uint32_t next_free; /* a number, or 0 */
	struct gyre_socket_address address;
};

/* Cleared memory is an empty one. */
struct gy_address_table {
	struct gy_shared_address **chunks;
	uint32_t chunks_count;
	uint32_t free; /* a number, or 0 */
	uint32_t used;
};

/* The number, with one reference, of what a struct sockaddr of @bytes holds, and where it stands; 0
 * without memory. */
uint32_t gy_address_table_get(struct gy_address_table *addresses, const void *name, socklen_t bytes,
			      struct gy_shared_address **ret_at);
/* Gives the memory back if none is used; whether there is none any more. */
bool gy_address_table_trim(struct gy_address_table *addresses);

/* @peer is not 0. Where it stands is good for as long as somebody has a reference. */
static inline struct gy_shared_address *
gy_address_table_at(const struct gy_address_table *addresses, uint32_t peer)
{
	/* As there are never so many chunks, 0 lies beyond them too. */
	gy_assert((peer - 1) / GY_ADDRESS_TABLE_CHUNK < addresses->chunks_count);
	return &addresses->chunks[(peer - 1) / GY_ADDRESS_TABLE_CHUNK]
				 [(peer - 1) % GY_ADDRESS_TABLE_CHUNK];
}

/* Whether it is what a struct sockaddr of @bytes holds. */
static inline bool gy_shared_address_matches(const struct gy_shared_address *at, const void *name,
					     socklen_t bytes)
{
	const struct gyre_socket_address *address = &at->address;

	if (gy_likely(bytes == sizeof(struct sockaddr_in))) { /* without a call */
		return address->bytes == bytes &&
		       memcmp(&address->storage, name, sizeof(struct sockaddr_in)) == 0;
	}
	return address->bytes == bytes && memcmp(&address->storage, name, bytes) == 0;
}

/* Whether @peer, which may be 0, is at this address. */
static inline bool gy_address_table_matches(const struct gy_address_table *addresses, uint32_t peer,
					    const void *name, socklen_t bytes)
{
	return peer != 0 &&
	       gy_shared_address_matches(gy_address_table_at(addresses, peer), name, bytes);
}

static inline void gy_shared_address_ref(struct gy_shared_address *at)
{
	gy_assert(at->references > 0);
	at->references++;
}

static inline uint32_t gy_address_table_ref(struct gy_address_table *addresses, uint32_t peer)
{
	gy_shared_address_ref(gy_address_table_at(addresses, peer));
	return peer;
}

/* @peer, which stands at @at. */
static inline void gy_shared_address_unref(struct gy_address_table *addresses,
					   struct gy_shared_address *at, uint32_t peer)
{
	gy_assert(at->references > 0);
	if (--at->references == 0) {
		at->next_free = addresses->free;
		addresses->free = peer;
		addresses->used--;
	}
}

static inline void gy_address_table_unref(struct gy_address_table *addresses, uint32_t peer)
{
	gy_shared_address_unref(addresses, gy_address_table_at(addresses, peer), peer);
}

#endif
