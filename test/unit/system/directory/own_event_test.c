/*
 * The events that gyre publishes itself. Those of memory and of nodes are tested with what they
 * tell of.
 */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

#include <gyre/event.h>

#include "base/atomic.h"

enum { LOOPS = 2, ELSEWHERE = 1 };

static uint32_t mounted;
static uint32_t heard;
static struct gyre_dead_letter last_letter;
static uint32_t letters;

/* ---- failures and stalls ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class failing_class = { .name = "failing", .behaviour.notice = fail };

static int hear_failure(struct gyre_stack *stack)
{
	const struct gyre_failed *failed = gyre_message(stack, gyre_failed);

	expect(failed != NULL && failed->reason == -EIO && failed->actor.loop == ELSEWHERE &&
	       strcmp(failed->class_name, "failing") == 0);
	trace('f');
	return fixture_end(stack);
}

static int have_one_fail(struct gyre_stack *stack)
{
	struct gyre_address failing = spawn_on(stack, &failing_class, ELSEWHERE);

	expect(gyre_subscribe(stack, &gyre_type_gyre_failed, gyre_event_key_of(NULL), NULL) == 0);
	return gyre_notify(stack, failing, gyre_new(stack, number, 0));
}

static const struct gyre_class nurse_class = { .name = "nurse",
					       .mount = have_one_fail,
					       .behaviour.event = hear_failure };

Test(own_event, of_a_failure_tells_who_has_failed_and_with_what)
{
	fixture_open(LOOPS);
	(void)spawn_outside(&nurse_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_str_eq(traced, "f");
}

static int hear_stall(struct gyre_stack *stack)
{
	const struct gyre_stalled *stalled = gyre_message(stack, gyre_stalled);

	expect(stalled != NULL && stalled->loop == ELSEWHERE);
	expect(stalled->lasted_ns >= GYRE_MILLISECONDS(1));
	expect(strcmp(stalled->class_name, "sleeper") == 0 || stalled->class_name[0] == '\0');
	gy_store_release(&heard, 1);
	return fixture_end(stack);
}

static int subscribe_to_stalls(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_stalled, gyre_event_key_of(NULL), NULL) == 0);
	gy_store_release(&mounted, 1);
	return gyre_return(stack);
}

static const struct gyre_class watchman_class = { .name = "watchman",
						  .mount = subscribe_to_stalls,
						  .behaviour.event = hear_stall };

static int stall(struct gyre_stack *stack)
{
	while (gy_load_acquire(&heard) == 0) {
		gy_pause();
	}
	return gyre_return(stack);
}

static const struct gyre_class sleeper_class = { .name = "sleeper", .mount = stall };

Test(own_event, of_a_stall_comes_while_it_lasts)
{
	fixture_open_with(
		&(struct gyre_system_options){ .loops = LOOPS, .stall_ns = GYRE_MILLISECONDS(1) });
	(void)spawn_outside(&watchman_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (gy_load_acquire(&mounted) == 0) {
		gy_pause();
	}
	(void)spawn_outside(&sleeper_class, ELSEWHERE);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

static int hear_letter(struct gyre_stack *stack)
{
	const struct gyre_dead_letter *letter = gyre_message(stack, gyre_dead_letter);

	expect(letter != NULL);
	last_letter = *letter;
	(void)gy_fetch_add(&letters, 1);
	return fixture_end(stack);
}

static int lose_one(struct gyre_stack *stack)
{
	struct gyre_address nobody = gyre_self(stack);

	nobody.cookie++;
	expect(gyre_subscribe(stack, &gyre_type_gyre_dead_letter, gyre_event_key_of(NULL), NULL) ==
	       0);
	expect(gyre_notify(stack, nobody, gyre_new(stack, number, 1)) == -ESRCH);
	return gyre_return(stack);
}

static const struct gyre_class undertaker_class = { .name = "undertaker",
						    .mount = lose_one,
						    .behaviour.event = hear_letter };

Test(own_event, of_a_dead_letter_tells_what_was_lost_and_why)
{
	struct gyre_address undertaker;

	fixture_open(1);
	undertaker = spawn_outside(&undertaker_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_eq(last_letter.reason, GYRE_DROP_NO_ACTOR);
	cr_assert_eq(last_letter.type_id, gyre_type_number.id);
	cr_assert(gyre_address_equal(last_letter.from, undertaker));
	cr_assert_str_eq(last_letter.type_name, "number");
	cr_assert_str_eq(last_letter.type_name, "number");
	cr_assert_eq(last_letter.to.cookie, undertaker.cookie + 1);
	cr_assert_eq(fixture.lost[GYRE_DROP_NO_ACTOR], 1);
}

static const struct gyre_class deaf_class = { .name = "deaf", .mount = lose_one };

Test(own_event, of_a_dead_letter_that_is_lost_itself_leads_to_no_other)
{
	fixture_open(1);
	(void)spawn_outside(&deaf_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (gy_load_acquire(&fixture.letters_count) < 2) {
		gy_pause();
	}
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_UNHANDLED], 1);
	cr_assert_eq(fixture.letters_count, 2);
}

static void *lose_outside(void *arg)
{
	struct gyre_address nobody = spawn_outside(&sink_class, 0);

	(void)arg;
	while (gy_load_acquire(&mounted) == 0) {
		gy_pause();
	}
	nobody.cookie++;
	(void)notify_outside(nobody, 'x');
	return NULL;
}

static int subscribe_to_letters(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_dead_letter, gyre_event_key_of(NULL), NULL) ==
	       0);
	gy_store_release(&mounted, 1);
	return gyre_return(stack);
}

static const struct gyre_class coroner_class = { .name = "coroner",
						 .mount = subscribe_to_letters,
						 .behaviour.event = hear_letter };

Test(own_event, of_a_dead_letter_comes_also_for_those_of_other_threads)
{
	pthread_t thread;

	fixture_open(LOOPS);
	(void)spawn_outside(&coroner_class, ELSEWHERE);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(pthread_create(&thread, NULL, lose_outside, NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_eq(letters, 1);
	cr_assert_eq(last_letter.reason, GYRE_DROP_NO_ACTOR);
}
