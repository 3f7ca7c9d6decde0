#include "marks.h"

#include <string.h>

#include <criterion/criterion.h>

enum { MARKS_BYTES = 256 };

static char marks[MARKS_BYTES];

void mark(char what)
{
	size_t count = strlen(marks);

	cr_assert_lt(count + 1, sizeof(marks));
	marks[count] = what;
}

const char *marked(void)
{
	return marks;
}

void expect_marks(const char *expected)
{
	cr_assert_str_eq(marks, expected);
}
