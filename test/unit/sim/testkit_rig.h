/*
 * What the tests of the testkit share: messages, a shop that is tested, and runs that must not
 * fail, or must fail with a text.
 */
#ifndef TEST_SIM_TESTKIT_RIG_H
#define TEST_SIM_TESTKIT_RIG_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>
#include <gyre/test_channel.h>

#include <criterion/criterion.h>

struct order {
	uint32_t pieces;
};
GYRE_MESSAGE(order, 0x100);

struct price {
	uint32_t cents;
};
GYRE_MESSAGE(price, 0x101);

struct price_of {
	uint32_t pieces;
};
GYRE_MESSAGE(price_of, 0x102);

/* What a run has told of failures. */
struct told {
	uint32_t count;
	char place[256];
	char text[1024]; /* of the first one */
};

static inline void tell(const char *place, const char *text, void *arg)
{
	struct told *told = (struct told *)arg;

	if (told->count++ == 0) {
		(void)snprintf(told->place, sizeof(told->place), "%s", place);
		(void)snprintf(told->text, sizeof(told->text), "%s", text);
	}
}

/* The body has no failure. */
static inline void pass(gyre_test_fn body, void *arg)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .failure = tell, .failure_arg = &told };
	int r = gyre_test_run(&options, body, arg);

	cr_assert_eq(told.count, 0, "%s: %s", told.place, told.text);
	cr_assert_eq(r, 0);
}

/* The body has just this failure, which has @text in its text, in the file at @place. */
static inline void fail(gyre_test_fn body, void *arg, const char *place, const char *text)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .failure = tell, .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, body, arg), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 1);
	cr_assert_neq(strstr(told.text, text), NULL, "%s", told.text);
	cr_assert_neq(strstr(told.place, place), NULL, "%s", told.place);
}

#endif
