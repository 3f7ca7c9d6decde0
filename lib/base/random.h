/*
 * A small generator of random numbers (splitmix64) for spreading things: never for secrets. Its
 * state is the caller's, so that a simulator can seed it.
 */
#ifndef GY_BASE_RANDOM_H
#define GY_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t gy_random_next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
