/*
 * The buffer of a log by itself: order, bounds, losses, and lines that go round its end.
 */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log/log_buffer.h"

enum { BYTES = 4096, ROUNDS = 5000 };

static struct gy_log_buffer *buffer;

static void open_buffer(void)
{
	buffer = gy_log_buffer_create(NULL, BYTES);
	cr_assert_not_null(buffer);
}

static void close_buffer(void)
{
	gy_log_buffer_destroy(buffer);
}

TestSuite(log_buffer, .init = open_buffer, .fini = close_buffer);

static bool put(uint64_t time_ns, const char *text)
{
	return gy_log_buffer_put(buffer, GYRE_LOG_INFO, time_ns, text, strlen(text));
}

/* Puts a line that is as long as @number says, and begins with it. */
static bool put_number(uint32_t number)
{
	char text[GY_LOG_LINE_BYTES];
	size_t count = 10 + number % (GY_LOG_LINE_BYTES - 10);

	memset(text, 'x', sizeof(text));
	(void)snprintf(text, sizeof(text), "%09u", number);
	text[9] = ' ';
	return gy_log_buffer_put(buffer, GYRE_LOG_DEBUG, number, text, count);
}

static void expect_number(uint32_t number, uint64_t lost)
{
	struct gy_log_record record;
	uint64_t time_ns;

	cr_assert(gy_log_buffer_peek(buffer, &time_ns));
	cr_assert_eq(time_ns, number);
	gy_log_buffer_take(buffer, &record);
	cr_assert_eq(strtoul(record.text, NULL, 10), number);
	cr_assert_eq(strlen(record.text), 10 + number % (GY_LOG_LINE_BYTES - 10));
	cr_assert_eq(strspn(record.text + 10, "x"), strlen(record.text) - 10);
	cr_assert_eq(record.time_ns, number);
	cr_assert_eq(record.lost, lost);
	cr_assert_eq(record.level, GYRE_LOG_DEBUG);
}

Test(log_buffer, gives_lines_with_level_and_time_in_their_order)
{
	struct gy_log_record record;
	uint64_t time_ns = 0;

	cr_assert_not(gy_log_buffer_has_any(buffer));
	cr_assert(put(7, "first"));
	cr_assert(gy_log_buffer_put(buffer, GYRE_LOG_ERROR, 5, "second", 6));
	cr_assert(gy_log_buffer_has_any(buffer));
	cr_assert(gy_log_buffer_peek(buffer, &time_ns));
	cr_expect_eq(time_ns, 7);
	gy_log_buffer_take(buffer, &record);
	cr_expect_str_eq(record.text, "first");
	cr_expect_eq(record.level, GYRE_LOG_INFO);
	gy_log_buffer_take(buffer, &record);
	cr_expect_str_eq(record.text, "second");
	cr_expect_eq(record.level, GYRE_LOG_ERROR);
	cr_expect_eq(record.time_ns, 5);
	cr_expect_not(gy_log_buffer_peek(buffer, &time_ns));
	cr_expect_not(gy_log_buffer_has_any(buffer));
}

Test(log_buffer, takes_a_line_of_nothing)
{
	struct gy_log_record record;

	cr_assert(put(1, ""));
	gy_log_buffer_take(buffer, &record);
	cr_expect_str_eq(record.text, "");
	cr_expect_not(gy_log_buffer_has_any(buffer));
}

Test(log_buffer, goes_round_its_end_with_lines_of_every_length)
{
	uint32_t taken = 0;

	for (uint32_t number = 0; number < ROUNDS; number++) {
		while (!put_number(number)) {
			cr_assert_lt(taken, number, "an empty buffer takes any line");
			expect_number(taken++, 0);
			(void)gy_log_buffer_take_lost(buffer);
		}
	}
	while (taken < ROUNDS) {
		expect_number(taken++, 0);
	}
	cr_expect_not(gy_log_buffer_has_any(buffer));
}

Test(log_buffer, loses_lines_that_do_not_fit_and_keeps_those_before)
{
	uint32_t count = 0;
	uint64_t bytes = 0;

	while (put_number(count)) {
		bytes += 10 + count;
		count++;
	}
	cr_expect_gt(count, 20);
	cr_expect_leq(bytes, BYTES);
	cr_expect(gy_log_buffer_has_any(buffer));
	for (uint32_t number = 0; number < count; number++) {
		expect_number(number, 0);
	}
	cr_expect(gy_log_buffer_has_any(buffer), "there is a loss to be told of");
	cr_expect_eq(gy_log_buffer_take_lost(buffer), 1);
	cr_expect_eq(gy_log_buffer_take_lost(buffer), 0, "it is told of once");
	cr_expect_not(gy_log_buffer_has_any(buffer));
}

Test(log_buffer, counts_losses_before_the_line_that_follows_them)
{
	uint32_t count = 0;

	while (put_number(count)) {
		count++;
	}
	cr_assert_not(put_number(count));
	cr_assert_not(put_number(count));
	expect_number(0, 0);
	expect_number(1, 0);
	expect_number(2, 0);
	cr_assert(put_number(11), "it fits into the place of the three");
	cr_expect_eq(gy_log_buffer_take_lost(buffer), 0, "the line has the count");
	for (uint32_t number = 3; number < count; number++) {
		expect_number(number, 0);
	}
	expect_number(11, 3);
}
