/*
 * Tests of Criterion that are played with the testkit, so in virtual time: their body has a system
 * of one loop, and is called with struct gyre_test *test.
 */
#ifndef GY_TEST_KIT_TEST_H
#define GY_TEST_KIT_TEST_H

#include <criterion/criterion.h>

#include <gyre/test.h>

static inline void kit_failed(const char *place, const char *text, void *arg)
{
	(void)arg;
	cr_assert_fail("%s: %s", place, text);
}

static inline void kit_run(gyre_test_fn body, void *arg, const struct gyre_test_options *options)
{
	struct gyre_test_options told = *options;

	told.failure = kit_failed;
	cr_assert_eq(gyre_test_run(&told, body, arg), 0);
}

/* Waits of more than a day are over in no time, too. */
static inline void kit_play(gyre_test_fn body, const struct gyre_system_options *system)
{
	kit_run(body, NULL,
		&(struct gyre_test_options){ .system = system,
					     .time_ns_max = GYRE_SECONDS(200000) });
}

/* What a body of kit_sweep() is told, and tells. */
struct kit_sweep {
	uint64_t number; /* of the allocation that it has fail, by gyre_test_fail_allocation() */
	bool failed;	 /* what gyre_test_recover() has returned */
};

/* Plays a body again and again, in a system of its own, until it has seen each allocation fail. */
static inline void kit_sweep(gyre_test_fn body, const struct gyre_test_options *options)
{
	struct kit_sweep sweep = { .failed = true };

	while (sweep.failed) {
		sweep.number++;
		kit_run(body, &sweep, options);
	}
	cr_assert_gt(sweep.number, 1, "nothing was allocated");
}

/* With options of the system, or NULL. */
#define KIT_TEST_WITH(SUITE, NAME, SYSTEM)                              \
	static void SUITE##_##NAME(struct gyre_test *test);             \
	static void SUITE##_##NAME##_play(struct gyre_test *t, void *a) \
	{                                                               \
		(void)a;                                                \
		SUITE##_##NAME(t);                                      \
	}                                                               \
	Test(SUITE, NAME)                                               \
	{                                                               \
		kit_play(SUITE##_##NAME##_play, (SYSTEM));              \
	}                                                               \
	static void SUITE##_##NAME(struct gyre_test *test)

#define KIT_TEST(SUITE, NAME) KIT_TEST_WITH(SUITE, NAME, NULL)

#endif
