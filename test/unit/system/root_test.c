/*
 * Failures that no parent settles: the system stops, says whose failure it was, and has the error
 * as its result.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/actor.h>
#include <gyre/log.h>
#include <gyre/main.h>
#include <gyre/stack.h>
#include <gyre/system.h>

#include "base/atomic.h"

enum { LINE_BYTES = 512 };

static char line[LINE_BYTES];
static uint32_t errors;

static void keep(const struct gyre_log_line *logged, void *arg)
{
	(void)arg;
	if (logged->level == GYRE_LOG_ERROR) {
		errors++;
	}
	if (strstr(logged->text, "no parent") != NULL) {
		(void)strncpy(line, logged->text, sizeof(line) - 1);
	}
}

static const struct gyre_system_options options = { .loops = 2, .log = keep };

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EPIPE);
}

static const struct gyre_class failing_class = {
	.name = "failing",
	.mount = fail,
	.strategy = GYRE_STRATEGY_ESCALATE,
};

static int spawn_failing(struct gyre_stack *stack)
{
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct gyre_address child;

	return gyre_spawn(stack, &failing_class, GYRE_NO_ARGUMENT, &there, &child);
}

static const struct gyre_class escalating_class = {
	.name = "escalating",
	.mount = spawn_failing,
	.strategy = GYRE_STRATEGY_ESCALATE,
	.supervision.decision = GYRE_DECISION_ESCALATE,
};

static int run_with(const struct gyre_class *class)
{
	struct gyre_system *system;
	struct gyre_address actor;
	int r;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_spawn(system, class, GYRE_NO_ARGUMENT, NULL, &actor), 0);
	r = gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

Test(root, stops_the_system_with_the_error_of_an_actor_without_a_parent)
{
	cr_assert_eq(run_with(&failing_class), -EPIPE);
	cr_assert_eq(errors, 1);
	cr_assert_str_eq(line, "actor failing /user/failing-1: no parent has settled its failure: "
			       "Broken pipe; the system stops");
}

Test(root, stops_the_system_with_the_error_that_was_escalated_to_it)
{
	cr_assert_eq(run_with(&escalating_class), -EPIPE);
	cr_assert_eq(errors, 1);
	cr_assert_str_eq(line, "actor failing /user/escalating-1/failing-1: no parent has settled "
			       "its failure: Broken pipe; the system stops");
}

Test(root, of_a_program_is_above_its_main_actor)
{
	char name[] = "program";
	char *argv[] = { name, NULL };

	cr_assert_eq(gyre_main(&escalating_class, 1, argv, &options), EXIT_FAILURE);
	cr_assert_geq(errors, 1);
	cr_assert_not_null(strstr(line, "/user/escalating-1"), "%s", line);
}
