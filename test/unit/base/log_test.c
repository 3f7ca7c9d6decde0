/*
 * The log: its hook, its levels, its length; and what an assertion that fails says.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log/log.h"

static int lines;
static enum gyre_log_level last_level;
static char last_line[2048];
static uint64_t last_time_ns;
static uint64_t last_date_ns;

static void hook(const struct gyre_log_line *line, void *arg)
{
	cr_assert_eq(arg, &lines);
	lines++;
	last_level = line->level;
	last_time_ns = line->time_ns;
	last_date_ns = line->date_ns;
	cr_assert_lt(strlen(line->text), sizeof(last_line));
	strncpy(last_line, line->text, sizeof(last_line) - 1);
}

static const struct gy_log to_hook = { .write = hook, .arg = &lines, .level = GYRE_LOG_INFO };

Test(log, formats_a_line_for_its_hook)
{
	gy_log(&to_hook, GYRE_LOG_ERROR, "%d %s", 42, "words");
	cr_assert_eq(lines, 1);
	cr_assert_eq(last_level, GYRE_LOG_ERROR);
	cr_assert_str_eq(last_line, "42 words");
}

Test(log, says_when_it_was_by_both_clocks)
{
	uint64_t before_ns = gy_clock_machine_ns();
	time_t before = time(NULL);

	gy_log(&to_hook, GYRE_LOG_ERROR, "now");
	cr_expect_geq(last_time_ns, before_ns);
	cr_expect_leq(last_time_ns, gy_clock_machine_ns());
	cr_expect_geq(last_date_ns / GYRE_SECONDS(1), (uint64_t)before);
	cr_expect_leq(last_date_ns / GYRE_SECONDS(1), (uint64_t)time(NULL));
}

Test(log, leaves_out_what_is_below_its_level)
{
	gy_log(&to_hook, GYRE_LOG_DEBUG, "no");
	cr_assert_eq(lines, 0);
	gy_log(&to_hook, GYRE_LOG_INFO, "yes");
	gy_log(&to_hook, GYRE_LOG_WARNING, "yes");
	cr_assert_eq(lines, 2);
}

Test(log, cuts_off_a_line_that_is_too_long)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	gy_log(&to_hook, GYRE_LOG_ERROR, "%s", text);
	cr_assert_eq(strlen(last_line), 1023);
	cr_assert_str_eq(last_line + 1019, "x...");
}

Test(log, makes_one_line_of_whatever_it_is_given)
{
	gy_log(&to_hook, GYRE_LOG_ERROR, "a peer says: %s\n\n", "x\r\ngyre: \x1b[31merror\x7f");
	cr_assert_str_eq(last_line, "a peer says: x\\r\\ngyre: \\x1b[31merror\\x7f");
	gy_log(&to_hook, GYRE_LOG_ERROR, "%s", "gr\xc3\xbc\xc3\x9f");
	cr_assert_str_eq(last_line, "gr\xc3\xbc\xc3\x9f", "bytes of UTF-8 stay");
	gy_log(&to_hook, GYRE_LOG_ERROR, "%s", "\n");
	cr_assert_str_eq(last_line, "");
}

__attribute__((format(printf, 3, 4))) static void log_between(const char *before, const char *after,
							      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)gy_log_between(&to_hook, GYRE_LOG_ERROR, before, after, format, args);
	va_end(args);
}

Test(log, keeps_what_stands_before_and_behind_a_line_that_is_too_long)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_between("actor a: ", " (and 7 more before it)", "%s", text);
	cr_expect_eq(strlen(last_line), 1023);
	cr_expect_eq(strncmp(last_line, "actor a: xx", 11), 0, "%s", last_line);
	cr_expect_str_eq(last_line + 1023 - 27, "x... (and 7 more before it)");
	log_between(text, "", "%s", "the line itself");
	cr_expect_str_eq(last_line + 511 - 4, "x...the line itself");
}

Test(log, escapes_what_stands_before_a_line_too)
{
	log_between("actor \x1b: ", "", "%s", "x\n");
	cr_assert_str_eq(last_line, "actor \\x1b: x");
}

Test(log, says_so_when_a_line_cannot_be_formatted)
{
	gy_log(&to_hook, GYRE_LOG_ERROR, "%ls", (const wchar_t[]){ 0x7fffffff, 0 });
	cr_assert_str_eq(last_line, "a line that cannot be formatted");
}

Test(log, without_a_hook_writes_warnings_and_errors_to_standard_error, .init = cr_redirect_stderr)
{
	gy_log(NULL, GYRE_LOG_INFO, "not this");
	gy_log(NULL, GYRE_LOG_WARNING, "number %d", 1);
	gy_log(NULL, GYRE_LOG_ERROR, "number %d", 2);
	(void)fflush(stderr);
	cr_assert_stderr_eq_str("gyre: warning: number 1\ngyre: error: number 2\n");
}

Test(assert, that_fails_ends_the_program, .signal = SIGABRT, .init = cr_redirect_stderr)
{
	gy_assert_failed("one == two", "file.c", 12);
}

Test(assert, that_holds_does_nothing)
{
	gy_assert(lines == 0);
	gy_verify(lines == 0);
}

/* Called where walkers are compiled. */
static __attribute__((unused)) void count_line(void)
{
	lines++;
}

Test(assert, calls_a_walker_only_at_the_level_full)
{
	lines = 0;
	gy_walk(count_line());
	cr_assert_eq(lines, GY_ASSERT_LEVEL >= 2);
}
