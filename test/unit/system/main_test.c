/*
 * Programs that are one main actor, and their exit status.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

#include "heap.h"

static char program[] = "program";
static char one[] = "one";
static char two[] = "two";
static char *arguments[] = { program, one, two, NULL };
static char last_line[512];
static bool cleaned;
static bool child_cleaned;

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
}

static int run(const struct gyre_class *main_class, uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops, .log = logged };

	return gyre_main(main_class, 3, arguments, &options);
}

static void note_clean(void *state)
{
	(void)state;
	cleaned = true;
}

static void note_child(void *state)
{
	(void)state;
	child_cleaned = !cleaned;
}

static bool arguments_are_right(struct gyre_stack *stack)
{
	const struct gyre_arguments *got = gyre_message(stack, gyre_arguments);

	return got != NULL && got->argc == 3 && strcmp(got->argv[2], "two") == 0;
}

static int stop_at_once(struct gyre_stack *stack)
{
	if (!arguments_are_right(stack)) {
		return gyre_throw(stack, -EINVAL);
	}
	return gyre_stop(stack, gyre_self(stack));
}

Test(main, ends_with_its_actor_and_status_0)
{
	const struct gyre_class class = { .name = "main",
					  .mount = stop_at_once,
					  .clean = note_clean };

	cr_assert_eq(run(&class, 2), 0, "%s", last_line);
	cr_assert(cleaned);
}

/* Also the guardian may find no memory, with whose end all ends. */
Test(main, ends_though_an_allocation_fails, .timeout = 120)
{
	const struct gyre_class class = { .name = "main", .mount = stop_at_once };
	uint32_t number = 0;
	bool lacked;

	do {
		int status;

		last_line[0] = '\0';
		heap_lack_once_after(number++);
		status = run(&class, 2);
		lacked = heap_recover();
		cr_expect(status == 0 || (lacked && last_line[0] != '\0'), "round %u: %s", number,
			  last_line);
	} while (lacked);
	cr_expect_gt(number, 1);
}

static int user; /* what main() has */

static int expect_user(struct gyre_stack *stack)
{
	if (gyre_system_user(gyre_system_of(stack)) != &user) {
		return gyre_throw(stack, -EINVAL);
	}
	return gyre_stop(stack, gyre_self(stack));
}

Test(main, hands_on_what_the_program_has_for_its_actor)
{
	const struct gyre_class class = { .name = "main", .mount = expect_user };
	const struct gyre_system_options options = { .loops = 1, .log = logged, .user = &user };

	cr_assert_eq(gyre_main(&class, 3, arguments, &options), 0, "%s", last_line);
	cr_assert_neq(run(&class, 1), 0, "there is none");
	cr_assert_null(gyre_system_user(NULL));
}

static int exit_twice(struct gyre_stack *stack)
{
	gyre_exit(stack, 7);
	gyre_exit(stack, 8);
	return gyre_return(stack);
}

Test(main, ends_with_the_first_status_that_is_given)
{
	const struct gyre_class class = { .name = "main",
					  .mount = exit_twice,
					  .clean = note_clean };

	cr_assert_eq(run(&class, 1), 7);
	cr_assert(cleaned);
}

static const struct gyre_class child_class = {
	.name = "child",
	.mount = exit_twice,
	.clean = note_child,
};

static int spawn_child(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct gyre_address child;

	return gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &options, &child);
}

Test(main, may_be_ended_by_a_child_which_ends_before_it)
{
	const struct gyre_class class = { .name = "main",
					  .mount = spawn_child,
					  .clean = note_clean };

	cr_assert_eq(run(&class, 2), 7);
	cr_assert(cleaned);
	cr_assert(child_cleaned);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

Test(main, that_fails_ends_with_status_1_and_says_why)
{
	const struct gyre_class class = { .name = "main", .mount = fail };

	cr_assert_eq(run(&class, 1), 1);
	cr_assert_not_null(strstr(last_line, strerror(EIO)), "%s", last_line);
}

static int hand_on_a_shutdown(struct gyre_stack *stack)
{
	return gyre_throw(stack, -ESHUTDOWN);
}

Test(main, that_fails_with_what_another_was_stopped_for_ends_with_status_1_too)
{
	const struct gyre_class class = { .name = "main", .mount = hand_on_a_shutdown };

	cr_assert_eq(run(&class, 1), 1);
	cr_assert_not_null(strstr(last_line, strerror(ESHUTDOWN)), "%s", last_line);
}

static int spawn_failing_child(struct gyre_stack *stack)
{
	static const struct gyre_class class = {
		.name = "fatal",
		.behaviour.notice = fail,
		.strategy = GYRE_STRATEGY_SHUT_DOWN,
	};
	struct gyre_address child;
	int r = gyre_spawn(stack, &class, GYRE_NO_ARGUMENT, NULL, &child);

	return r < 0 ? r : gyre_notify(stack, child, gyre_new(stack, gyre_timeout, 1, 1));
}

Test(main, that_is_shut_down_for_a_failure_ends_with_status_1)
{
	const struct gyre_class class = { .name = "main", .mount = spawn_failing_child };

	cr_assert_eq(run(&class, 2), 1);
	cr_assert_not_null(strstr(last_line, strerror(EIO)), "%s", last_line);
}

Test(main, of_no_class_or_a_wrong_one_ends_with_status_1_and_says_why)
{
	const struct gyre_class nameless = { .mount = spawn_failing_child };
	const struct gyre_class huge = { .name = "huge", .state_bytes = SIZE_MAX };

	cr_assert_eq(run(NULL, 1), 1);
	cr_assert_not_null(strstr(last_line, strerror(EINVAL)), "%s", last_line);
	cr_assert_eq(run(&nameless, 1), 1);
	cr_assert_not_null(strstr(last_line, "main actor without a name could not"), "%s",
			   last_line);
	cr_assert_eq(run(&huge, 1), 1);
	cr_assert_not_null(strstr(last_line, "main actor huge could not"), "%s", last_line);
}

Test(main, of_a_system_that_cannot_be_made_ends_with_status_1)
{
	const struct gyre_system_options options = { .loops = 1000000, .log = logged };
	const struct gyre_class class = { .name = "main", .mount = stop_at_once };

	cr_assert_eq(gyre_main(&class, 3, arguments, &options), 1);
}

static int raise_term(struct gyre_stack *stack)
{
	(void)kill(getpid(), SIGTERM);
	return gyre_return(stack);
}

Test(main, is_ended_by_a_signal_with_status_0)
{
	const struct gyre_class class = { .name = "main",
					  .mount = raise_term,
					  .clean = note_clean };

	cr_assert_eq(run(&class, 1), 0);
	cr_assert(cleaned);
}
