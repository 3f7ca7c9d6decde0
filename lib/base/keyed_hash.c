/*
 * SipHash-2-4, of Aumasson and Bernstein: "SipHash: a fast short-input PRF".
 */
#include "base/keyed_hash.h"

#include <endian.h>
#include <string.h>

enum { WORD = sizeof(uint64_t), ROUNDS_A_WORD = 2, ROUNDS_AT_LAST = 4 };

struct state {
	uint64_t a;
	uint64_t b;
	uint64_t c;
	uint64_t d;
};

static inline uint64_t turned(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void mix(struct state *state, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		state->a += state->b;
		state->c += state->d;
		state->b = turned(state->b, 13) ^ state->a;
		state->d = turned(state->d, 16) ^ state->c;
		state->a = turned(state->a, 32);
		state->a += state->d;
		state->c += state->b;
		state->d = turned(state->d, 21) ^ state->a;
		state->b = turned(state->b, 17) ^ state->c;
		state->c = turned(state->c, 32);
	}
}

static inline void take(struct state *state, uint64_t word)
{
	state->d ^= word;
	mix(state, ROUNDS_A_WORD);
	state->a ^= word;
}

uint64_t gy_keyed_hash(const struct gy_hash_key *key, const void *bytes, size_t count)
{
	struct state state = { key->low ^ UINT64_C(0x736f6d6570736575),
			       key->high ^ UINT64_C(0x646f72616e646f6d),
			       key->low ^ UINT64_C(0x6c7967656e657261),
			       key->high ^ UINT64_C(0x7465646279746573) };
	const unsigned char *at = (const unsigned char *)bytes;
	uint64_t last = (uint64_t)count << 56;
	uint64_t word;

	for (size_t left = count; left >= WORD; left -= WORD) {
		memcpy(&word, at, WORD);
		take(&state, le64toh(word));
		at += WORD;
	}
	for (size_t i = 0; i < count % WORD; i++) {
		last |= (uint64_t)at[i] << (8 * i);
	}
	take(&state, last);
	state.c ^= 0xff;
	mix(&state, ROUNDS_AT_LAST);
	return state.a ^ state.b ^ state.c ^ state.d;
}
