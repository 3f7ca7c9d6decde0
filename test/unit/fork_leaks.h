/*
 * Whether a test has freed all that it allocated.
 */
#ifndef GY_TEST_FORK_LEAKS_H
#define GY_TEST_FORK_LEAKS_H

#include <stdbool.h>

/* Before the first fork: does once what each of them would do again. */
void fork_leaks_prepare(void);
/* Counts what is allocated and freed from here on, and looks for leaks at the exit; at the
 * beginning of a test. Returns whether that works. */
bool fork_leaks_begin(void);

#endif
