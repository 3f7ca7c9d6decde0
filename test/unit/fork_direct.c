/*
 * A test is played as it is: in the first thread of its process, on the machine.
 */
#include "fork_runner.h"

#include <criterion/criterion.h>

void fork_course(const struct criterion_test *test)
{
	test->test();
}
