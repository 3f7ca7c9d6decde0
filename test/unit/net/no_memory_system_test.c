/* Making a system while there is no memory from each allocation on. */
#include <criterion/criterion.h>
#include <errno.h>

#include <gyre/system.h>

#include "heap.h"

TestSuite(no_memory_system, .timeout = 120);

enum { ROUNDS_MAX = 1000 };

static void count_errors(enum gyre_log_level level, const char *message, void *arg)
{
	(void)message;
	*(uint32_t *)arg += level >= GYRE_LOG_ERROR;
}

/* Whether memory was lacking. */
static bool play_round(uint32_t number)
{
	uint32_t errors = 0;
	const struct gyre_system_options options = { .loops = 2,
						     .log = count_errors,
						     .log_arg = &errors };
	struct gyre_system *system = NULL;
	uint64_t out = heap_out();
	bool lacked;
	int r;

	heap_end_after(number);
	r = gyre_system_create(&options, &system);
	lacked = heap_recover();
	if (r < 0) {
		cr_expect_eq(r, -ENOMEM, "round %u: %d", number, r);
		cr_expect_eq(errors, 1, "round %u: %u lines", number, errors);
		cr_expect_null(system);
	}
	gyre_system_destroy(system);
	cr_expect_eq(heap_out(), out, "round %u", number);
	return lacked;
}

Test(no_memory_system, of_its_making_is_told_in_one_line)
{
	uint32_t number = 0;

	while (play_round(number)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_gt(number, 0, "nothing was lacking");
}
