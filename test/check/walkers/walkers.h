/*
 * Damage that the walkers must find. A case builds a small structure, damages it if it is told to,
 * and calls the walker: without damage it returns, with damage the program ends with SIGABRT.
 * walkers_test.py runs each case both ways, in a process of its own.
 *
 * A new walker gets a file here, its cases in a table, and the table a line in main.c.
 */
#ifndef TEST_CHECK_WALKERS_WALKERS_H
#define TEST_CHECK_WALKERS_WALKERS_H

#include <stdbool.h>
#include <stddef.h>

struct walker_case {
	const char *name; /* "walker: the damage" */
	void (*run)(bool damaged);
};

/* Each table ends with a case without name. */
extern const struct walker_case pool_cases[];
extern const struct walker_case wheel_cases[];
extern const struct walker_case loop_cases[];
extern const struct walker_case house_cases[];
extern const struct walker_case buffer_cases[];
extern const struct walker_case channel_cases[];
extern const struct walker_case link_cases[];
extern const struct walker_case inlet_cases[];

#endif
