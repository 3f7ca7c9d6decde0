/*
 * A hash of bytes that strangers choose, under a key that they do not know (SipHash-2-4), so that
 * they cannot make many of one hash.
 */
#ifndef GY_BASE_KEYED_HASH_H
#define GY_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct gy_hash_key {
	uint64_t low;
	uint64_t high;
};

uint64_t gy_keyed_hash(const struct gy_hash_key *key, const void *bytes, size_t count);

#endif
