/*
 * What a test with the testkit hears of the log of its system. An error in it fails the test,
 * unless the test says before that one is right.
 */
#ifndef GY_TEST_LOG_KIT_H
#define GY_TEST_LOG_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/log.h>

enum { HEARD_MAX = 64, HEARD_BYTES = 1024 };

struct heard {
	uint32_t count; /* of all lines; the last HEARD_MAX of them are kept */
	enum gyre_log_level levels[HEARD_MAX];
	char lines[HEARD_MAX][HEARD_BYTES];
	bool errors_are_right;
};

/* Of this process, which is that of one test. */
extern struct heard heard;

/* In options of a system: lines of a level and graver are heard when they are logged. */
#define HEARD_FROM(LEVEL) \
	.log = hear_line, .log_level = (LEVEL), .log_buffer_bytes = GYRE_LOG_UNBUFFERED

void hear_line(const struct gyre_log_line *line, void *arg);
/* A line of those that are kept, by its number from 0, and the last one. */
const char *heard_line(uint32_t number);
const char *heard_last(void);
/* How many have these words. */
uint32_t heard_with(const char *words);

#endif
