/*
 * The random programs of test/random, whose worlds are not those of this folder.
 */
#ifndef SIMULATE_ACTORS_H
#define SIMULATE_ACTORS_H

#include <stdint.h>

/* Plays the program that follows from @seed. Ends the process when something does not hold. */
void actors_play(uint64_t seed);

#endif
