/*
 * The sleep of a loop: blocking in the ring, while RCU does not wait for the loop. A simulator,
 * whose threads take turns, puts a function without the fences of that in the place of this one.
 */
#ifndef GY_LOOP_SLEEP_H
#define GY_LOOP_SLEEP_H

#include <stdint.h>

struct gy_loop;

/* Submits, and waits for a completion or until @timeout_ns are over (UINT64_MAX: no limit). */
void gy_loop_sleep(struct gy_loop *loop, uint64_t timeout_ns);

#endif
