/*
 * Random numbers. Those of the kernel are for secrets, and for seeds that an attacker must not
 * guess; a simulator puts numbers of its own behind these two calls. The small generator
 * (splitmix64) is for spreading things: never for secrets. Its state is the caller's.
 */
#ifndef GY_BASE_RANDOM_H
#define GY_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Fills @memory with @bytes that nobody can guess: nonces and keys. 0, or -EIO where the kernel has
 * none. Any thread. Waits only until a machine that has just begun to run has collected enough.
 */
int gy_random_fill(void *memory, size_t bytes);
/*
 * Fills @memory with @bytes of a seed, at most 256, that differs from run to run: of the kernel, or
 * of the clock where the kernel would have to wait. Any thread. Never waits.
 */
void gy_random_seed(void *memory, size_t bytes);

static inline uint64_t gy_random_next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
