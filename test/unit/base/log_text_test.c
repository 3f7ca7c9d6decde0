/*
 * Text of lines: nothing in it ends a line or talks to a terminal, and it stays UTF-8 wherever it
 * is cut off.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "base/log/log_text.h"

enum { LIMIT = GY_LOG_LINE_BYTES - 1 };

static struct gy_log_text text;

static void add(const char *bytes, size_t limit)
{
	gy_log_text_add(&text, bytes, strlen(bytes), limit, false);
}

static void expect_escaped(const char *bytes, const char *escaped)
{
	text.count = 0;
	add(bytes, LIMIT);
	cr_expect_str_eq(text.bytes, escaped);
	cr_expect_eq(text.count, strlen(escaped));
}

Test(log_text, escapes_control_characters_as_in_c)
{
	expect_escaped("a\nb\rc\td", "a\\nb\\rc\\td");
	expect_escaped("\x1b[31m\x7f\x01", "\\x1b[31m\\x7f\\x01");
}

Test(log_text, escapes_a_zero_within_the_bytes)
{
	text.count = 0;
	gy_log_text_add(&text, "a\0b", 3, LIMIT, false);
	cr_assert_str_eq(text.bytes, "a\\x00b");
}

Test(log_text, escapes_the_controls_and_separators_of_unicode)
{
	expect_escaped("a\xc2\x9b"
		       "31m",
		       "a\\xc2\\x9b31m");
	expect_escaped("a\xc2\x85z", "a\\xc2\\x85z");
	expect_escaped("a\xe2\x80\xa8z\xe2\x80\xa9", "a\\xe2\\x80\\xa8z\\xe2\\x80\\xa9");
}

Test(log_text, keeps_all_other_characters_of_utf_8)
{
	expect_escaped("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \\n\"",
		       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \\n\"");
	expect_escaped("\xc2\xa0\xf4\x8f\xbf\xbf", "\xc2\xa0\xf4\x8f\xbf\xbf");
}

Test(log_text, escapes_bytes_that_are_no_utf_8)
{
	expect_escaped("\xff\x80x", "\\xff\\x80x");
	expect_escaped("\xc0\xaf", "\\xc0\\xaf");		    /* overlong */
	expect_escaped("\xe0\x80\xaf", "\\xe0\\x80\\xaf");	    /* overlong */
	expect_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");	    /* a surrogate */
	expect_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last */
	expect_escaped("\xe2\x82", "\\xe2\\x82");		    /* the end is missing */
	expect_escaped("\xe2\x82z", "\\xe2\\x82z");
}

Test(log_text, marks_where_it_was_cut_off)
{
	text.count = 0;
	add("0123456789", 9);
	cr_expect_str_eq(text.bytes, "012345...");
	text.count = 0;
	add("0123456789", 10);
	cr_expect_str_eq(text.bytes, "0123456789", "it fits");
	text.count = 0;
	gy_log_text_add(&text, "0123", 4, 10, true);
	cr_expect_str_eq(text.bytes, "0123...", "the rest was cut off before");
	text.count = 0;
	gy_log_text_add(&text, "0123456789", 10, 10, true);
	cr_expect_str_eq(text.bytes, "0123456...");
}

Test(log_text, is_cut_off_between_two_characters_and_not_inside_an_escape)
{
	static const char characters[] = "\xe2\x82\xac\xe2\x82\xac\x1b\x1b\xf0\x9f\x98\x80"
					 "\xe2\x82\xac\n\n\n\n\x01\x02\x03";

	for (size_t limit = 4; limit < 40; limit++) {
		text.count = 0;
		add(characters, limit);
		cr_assert_leq(text.count, limit);
		cr_assert_eq(strlen(text.bytes), text.count);
		if (strstr(text.bytes, "...") != NULL) {
			static struct gy_log_text again;
			size_t kept = text.count - 3;

			again.count = 0;
			gy_log_text_add(&again, text.bytes, kept, LIMIT, false);
			cr_assert_eq(again.count, kept, "limit %zu: %s", limit, text.bytes);
			cr_assert_neq(text.bytes[kept - (kept > 0)], '\\', "%s", text.bytes);
		}
	}
}

Test(log_text, goes_on_behind_what_is_there)
{
	text.count = 0;
	add("one ", 20);
	add("two\n", 20);
	cr_assert_str_eq(text.bytes, "one two\\n");
	add("and three", 12);
	cr_assert_str_eq(text.bytes, "one two\\n...");
}

Test(log_text, of_escapes_only_fills_no_more_than_a_line)
{
	char bytes[2 * LIMIT];

	memset(bytes, '\n', sizeof(bytes));
	text.count = 0;
	gy_log_text_add(&text, bytes, sizeof(bytes), LIMIT, false);
	cr_assert_eq(text.count, LIMIT);
	cr_assert_str_eq(text.bytes + LIMIT - 5, "\\n...");
}
