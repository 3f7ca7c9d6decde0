/* A test as a user would build it: it waits for half an hour by the clock that it reads itself. */
#include <stdlib.h>
#include <time.h>

#include <gyre/test.h>

enum { WAITED_S = 1800 };

static void waits(struct gyre_test *test, void *arg)
{
	struct timespec before;
	struct timespec after;

	(void)arg;
	gyre_test_check(test, clock_gettime(CLOCK_MONOTONIC, &before) == 0);
	gyre_test_advance(test, GYRE_SECONDS(WAITED_S));
	gyre_test_check(test, clock_gettime(CLOCK_MONOTONIC, &after) == 0);
	gyre_test_check(test, after.tv_sec - before.tv_sec >= WAITED_S);
}

int main(void)
{
	return gyre_test_run(NULL, waits, NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
