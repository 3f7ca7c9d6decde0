/*
 * The threads that a test program's library starts, in the place of base/thread.c: the kernel can
 * be made to have no more, from one on that is told by its number.
 */
#ifndef TEST_UNIT_THREADS_H
#define TEST_UNIT_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on @count threads can be started, and then none. */
void threads_end_after(uint32_t count);
/* All can be started again; whether one could not. */
bool threads_recover(void);

#endif
