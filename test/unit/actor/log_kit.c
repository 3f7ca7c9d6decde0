/*
 * The lines of a log, in a ring.
 */
#include "log_kit.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

struct heard heard;

void hear_line(const struct gyre_log_line *line, void *arg)
{
	uint32_t place = heard.count++ % HEARD_MAX;

	(void)arg;
	heard.levels[place] = line->level;
	(void)snprintf(heard.lines[place], HEARD_BYTES, "%s", line->text);
	cr_assert(line->level < GYRE_LOG_ERROR || heard.errors_are_right, "%s", line->text);
}

const char *heard_line(uint32_t number)
{
	cr_assert(number < heard.count && number + HEARD_MAX >= heard.count,
		  "line %u of %u is not kept", number, heard.count);
	return heard.lines[number % HEARD_MAX];
}

const char *heard_last(void)
{
	cr_assert_gt(heard.count, 0, "nothing was logged");
	return heard_line(heard.count - 1);
}

uint32_t heard_with(const char *words)
{
	uint32_t kept = heard.count < HEARD_MAX ? heard.count : HEARD_MAX;
	uint32_t found = 0;

	for (uint32_t i = heard.count - kept; i < heard.count; i++) {
		found += strstr(heard_line(i), words) != NULL;
	}
	return found;
}
