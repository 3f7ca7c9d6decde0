/*
 * Listings of a service that find no memory: they come later, and so do those after them.
 */
#include "kit_test.h"

#include <gyre/service.h>

enum { MEMBERS = 20, MORE = 250 };

struct told {
	uint32_t value;
};
GYRE_MESSAGE(told, 0x1001);
GYRE_SERVICE(telling, 0x2001, told);

static uint32_t joined;
static uint32_t listed; /* by the last listing */

static int join(struct gyre_stack *stack)
{
	int r = gyre_service_join(stack, &gyre_service_telling);

	cr_assert(r == 0 || r == -ENOMEM);
	joined += r == 0;
	return gyre_return(stack);
}

static int take(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_class member_class = { .name = "member",
						.mount = join,
						.behaviour.notice = take };

static int watch(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_service_watch(stack, &gyre_service_telling, 0), 0);
	return gyre_return(stack);
}

static int keep_count(struct gyre_stack *stack)
{
	listed = gyre_message(stack, gyre_listing)->count;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = watch,
						 .behaviour.event = keep_count };

static void join_without_memory(struct gyre_test *test, void *arg)
{
	struct kit_sweep *sweep = (struct kit_sweep *)arg;

	joined = 0;
	(void)gyre_test_spawn(test, &watcher_class, GYRE_NO_ARGUMENT);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		(void)gyre_test_spawn(test, &member_class, GYRE_NO_ARGUMENT);
	}
	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	cr_assert_eq(listed, MEMBERS);
	gyre_test_fail_allocation(test, sweep->number);
	for (uint32_t i = 0; i < MORE; i++) { /* each listing is longer than the one before */
		(void)gyre_test_spawn(test, &member_class, GYRE_NO_ARGUMENT);
		gyre_test_advance(test, GYRE_MILLISECONDS(1));
	}
	sweep->failed = gyre_test_recover(test);
	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	cr_assert_eq(listed, joined, "after allocation %lu", (unsigned long)sweep->number);
	(void)gyre_test_spawn(test, &member_class, GYRE_NO_ARGUMENT);
	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	cr_assert_eq(listed, joined, "behind allocation %lu", (unsigned long)sweep->number);
	cr_assert_geq(joined, MEMBERS + MORE);
}

Test(service_memory, comes_for_the_listing_and_for_those_after_it)
{
	kit_sweep(join_without_memory, &(struct gyre_test_options){ 0 });
}
