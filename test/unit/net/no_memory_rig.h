/*
 * Rounds of something that is done without memory, from each allocation on. A round is one attempt
 * on a home of its own, whose pools are empty in the beginning, so that what comes from them is an
 * allocation too. Rounds go on until one had all the memory it wanted; then it begins again, with
 * one allocation that fails, and more memory behind it. After each nothing may be left, neither in
 * pools nor in the heap.
 */
#ifndef TEST_UNIT_NET_NO_MEMORY_RIG_H
#define TEST_UNIT_NET_NO_MEMORY_RIG_H

#include <criterion/criterion.h>

#include "channel/rig.h"
#include "heap.h"

struct lean_round {
	uint32_t number; /* of the allocation that fails */
	bool once;	 /* and those behind it do not */
};

/* Of the round. */
extern struct rig lean_rig;
/* The actors that there are besides that of the rig while none has failed; 1 in the beginning. */
extern uint32_t lean_houses;

/* For tests that are one round of their own: the .init and .fini of their suite. */
void lean_open(void);
void lean_close(void);
/* Each says whether memory was lacking. */
void lean_play(bool (*play_round)(const struct lean_round *round));
struct gyre_system *lean_system(void);
/* From now on memory is short, if that is the round. */
void lean_begin(const struct lean_round *round);
/* It goes on so for a while, and then there is enough; whether any was lacking. */
bool lean_recover(void);
bool lean_has_failed(void);
/* Takes all stacks of the home that are free, so that each further one is an allocation. */
void lean_take_stacks(void);
void lean_give_stacks_back(void);
/* From now on there is no memory, nor mail in the pools of a home; until that is given back. */
void lean_take_all(struct gy_home *home);
void lean_give_all_back(void);

#endif
