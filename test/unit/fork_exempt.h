/*
 * Tests that a program does not run: those of a list, each with its reason.
 *
 * A line of the list is SUITE/NAME, a colon, and the reason. Empty lines and those that begin with
 * # say nothing. The list may not have more than a tenth of a program's tests, nor name a test that
 * the program does not have.
 */
#ifndef GY_TEST_FORK_EXEMPT_H
#define GY_TEST_FORK_EXEMPT_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the list at @path. False, and the reason is on standard error: it is none. */
bool fork_exempt_read(const char *path);
/* The reason why a test is not run; NULL: it is. Also notes that there is this test. */
const char *fork_exempt_reason(const char *identifier);
/* Whether the list is one for a program of @tests_count tests, after all of them were asked for.
 * Otherwise the reason is on standard error. */
bool fork_exempt_fits(size_t tests_count);

#endif
