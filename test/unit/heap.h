/*
 * The heap of a test program, in the place of base/memory/memory.c: it can be made to have no more,
 * from an allocation on that is told by its number, and it knows how many are out. So a test goes
 * through a piece of work again and again, each time with one allocation more, until none fails;
 * then each of them has failed once, and each time with all that followed it.
 */
#ifndef TEST_UNIT_HEAP_H
#define TEST_UNIT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* From now on @count allocations succeed, and then none. */
void heap_end_after(uint32_t count);
/* The same, but only the one after them fails. */
void heap_lack_once_after(uint32_t count);
/* All succeed again; whether one has failed. */
bool heap_recover(void);
/* What was taken and not given back, without what the library keeps for threads that turn no loop.
 */
uint64_t heap_out(void);

#endif
