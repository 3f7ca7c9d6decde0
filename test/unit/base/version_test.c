/*
 * The version that the library tells, beside that of the headers.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include <gyre/version.h>

Test(version, of_the_library_is_that_of_the_headers_it_was_built_with)
{
	char text[32];

	cr_assert_eq(gyre_version(), GYRE_VERSION);
	cr_assert_str_eq(gyre_version_text(), GYRE_VERSION_TEXT);
	(void)snprintf(text, sizeof(text), "%d.%d.%d", GYRE_VERSION_MAJOR, GYRE_VERSION_MINOR,
		       GYRE_VERSION_PATCH);
	cr_assert_str_eq(gyre_version_text(), text);
}

Test(version, is_larger_when_it_is_later)
{
	cr_assert_lt(GYRE_VERSION_NUMBER(0, 1, 9), GYRE_VERSION_NUMBER(0, 2, 0));
	cr_assert_lt(GYRE_VERSION_NUMBER(0, 255, 255), GYRE_VERSION_NUMBER(1, 0, 0));
}
