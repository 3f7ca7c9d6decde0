/*
 * Notices that are sent later: after a time, at a date, in periods, to anybody; and how they end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gyre/stack.h>
#include <gyre/timer.h>
#include <gyre/watch.h>

#include "kit_test.h"

/* As late as it may be: a tick, and some time to be handled. */
#define LATE_NS GYRE_MICROSECONDS(1100)

struct letter {
	char what;
};
GYRE_MESSAGE(letter, 0x1001);

static struct gyre_probe *sender;
static struct gyre_probe *hearer;

static int after(struct gyre_stack *stack, uint64_t key, uint64_t ms, char what)
{
	return gyre_send_after(stack, key, gyre_probe_address(hearer),
			       gyre_new(stack, letter, what),
			       &GYRE_VALUE(gyre_timer_options, .delay_ns = GYRE_MILLISECONDS(ms)));
}

static void open_probes(struct gyre_test *test)
{
	sender = gyre_probe_create(test);
	hearer = gyre_probe_create(test);
}

/* The sender does it in a handler. */
static void act(gyre_test_do_fn what)
{
	cr_assert_eq(gyre_probe_do(sender, what, NULL), 0);
}

/* The next letter comes after @ns, and not before. */
static void expect_after(uint64_t ns, char what)
{
	const struct letter *letter;

	(void)gyre_probe_expect_none(hearer, ns - GYRE_MICROSECONDS(100));
	letter = gyre_probe_expect(hearer, letter, LATE_NS + GYRE_MICROSECONDS(100));
	cr_assert_eq(letter->what, what);
	cr_assert(gyre_address_equal(gyre_probe_sender(hearer), gyre_probe_address(sender)));
}

/* ---- when ---- */

static int send_some(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	cr_assert_eq(after(stack, 1, 30, 'c'), 0);
	cr_assert_eq(after(stack, 2, 10, 'a'), 0);
	return after(stack, 3, 20, 'b');
}

KIT_TEST(send_after, sends_each_when_its_time_has_come)
{
	open_probes(test);
	act(send_some);
	expect_after(GYRE_MILLISECONDS(10), 'a');
	cr_assert_eq(gyre_probe_expect(hearer, letter, GYRE_MILLISECONDS(11))->what, 'b');
	cr_assert_eq(gyre_probe_expect(hearer, letter, GYRE_MILLISECONDS(11))->what, 'c');
}

static int relay_letter(struct gyre_stack *stack)
{
	const struct letter *letter = gyre_message(stack, letter);

	return gyre_notify(stack, gyre_probe_address(hearer),
			   gyre_new(stack, letter, letter->what));
}

static const struct gyre_class relay_class = { .name = "relay", .behaviour.notice = relay_letter };

static int send_to_other_loop(struct gyre_stack *stack, void *arg)
{
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(30) };

	return gyre_send_after(stack, 1, *(const struct gyre_address *)arg,
			       gyre_new(stack, letter, 'z'), &soon);
}

static const struct gyre_system_options two_loops = { .loops = 2 };

KIT_TEST_WITH(send_after, reaches_another_loop, &two_loops)
{
	struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };
	struct gyre_address relay;

	open_probes(test);
	options.loop = 1 - gyre_probe_address(sender).loop;
	cr_assert_eq(gyre_system_spawn(gyre_test_system(test), &relay_class, GYRE_NO_ARGUMENT,
				       &options, &relay),
		     0);
	cr_assert_neq(relay.loop, gyre_probe_address(sender).loop);
	cr_assert_eq(gyre_probe_do(sender, send_to_other_loop, &relay), 0);
	(void)gyre_probe_expect_none(hearer, GYRE_MILLISECONDS(30) - LATE_NS);
	cr_assert_eq(gyre_probe_expect(hearer, letter, 2 * LATE_NS)->what, 'z');
}

static int send_one(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	return after(stack, 1, 10, 'a');
}

static int find_no_timer(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	cr_expect_eq(gyre_timer_stop(stack, 1), -ENOENT);
	return 0;
}

KIT_TEST(send_after, is_not_early_and_leaves_no_timer)
{
	open_probes(test);
	act(send_one);
	expect_after(GYRE_MILLISECONDS(10), 'a');
	act(find_no_timer);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	cr_assert_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

struct sleep_frame {
	struct gyre_future future;
	uint64_t from_ns;
};

static int send_at_date(struct gyre_stack *stack)
{
	struct sleep_frame *frame = (struct sleep_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->from_ns = wall_ns();
	cr_expect_eq(gyre_send_after(stack, 1, gyre_probe_address(hearer),
				     gyre_new(stack, letter, 'a'),
				     &GYRE_VALUE(gyre_timer_options, .date_ns = frame->from_ns)),
		     0);
	GYRE_AWAIT(stack,
		   gyre_sleep_until(stack, frame->from_ns + GYRE_MILLISECONDS(20), &frame->future));
	cr_expect_geq(wall_ns(), frame->from_ns + GYRE_MILLISECONDS(20));
	cr_expect_eq(after(stack, 1, 0, 'b'), 0);
	GYRE_AWAIT(stack, gyre_sleep_until(stack, 1, &frame->future));
	cr_expect_eq(gyre_future_error(&frame->future), 0);
	cr_expect_eq(gyre_sleep_until(stack, 1, NULL), -EINVAL);
	GYRE_END(stack);
}

static const struct gyre_class dated_class = {
	.name = "dated",
	.frame_bytes = sizeof(struct sleep_frame),
	.mount = send_at_date,
};

KIT_TEST(send_after, takes_dates_as_sleeps_do)
{
	open_probes(test);
	(void)gyre_test_spawn(test, &dated_class, GYRE_NO_ARGUMENT);
	cr_assert_eq(gyre_probe_expect(hearer, letter, LATE_NS)->what, 'a');
	(void)gyre_probe_expect_none(hearer, GYRE_MILLISECONDS(20) - LATE_NS);
	cr_assert_eq(gyre_probe_expect(hearer, letter, 3 * LATE_NS)->what, 'b');
}

static int send_in_periods(struct gyre_stack *stack, void *arg)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_MILLISECONDS(5),
						    .period_ns = GYRE_MILLISECONDS(10) };

	(void)arg;
	return gyre_send_after(stack, 7, gyre_probe_address(hearer), gyre_new(stack, letter, 'p'),
			       &options);
}

static int stop_periods(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	return gyre_timer_stop(stack, 7);
}

KIT_TEST(send_after, sends_copies_in_periods_until_it_is_stopped)
{
	open_probes(test);
	act(send_in_periods);
	gyre_test_advance(test, GYRE_MILLISECONDS(40));
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(gyre_probe_expect(hearer, letter, 0)->what, 'p');
	}
	(void)gyre_probe_expect_none(hearer, 0);
	act(stop_periods);
	(void)gyre_probe_expect_none(hearer, GYRE_SECONDS(60));
}

/* ---- how it ends ---- */

static int replace_and_stop(struct gyre_stack *stack, void *arg)
{
	const struct gyre_timer_options soon = { .delay_ns = 1 };
	struct gyre_address to = gyre_probe_address(hearer);

	(void)arg;
	cr_expect_eq(after(stack, 1, 5, 'a'), 0);
	cr_expect_eq(after(stack, 1, 5, 'b'), 0);
	cr_expect_eq(after(stack, 2, 5, 'c'), 0);
	cr_expect_eq(gyre_timer_stop(stack, 2), 0);
	cr_expect_eq(after(stack, 3, 5, 'd'), 0);
	cr_expect_eq(gyre_timer_start(stack, 3, &soon), 0);
	cr_expect_eq(gyre_timer_stop(stack, 3), 0);
	cr_expect_eq(gyre_send_after(stack, 4, to, NULL, &soon), -ENOMEM);
	cr_expect_eq(gyre_send_after_sized(stack, 4, to, gyre_new(stack, letter, 'e'), NULL,
					   sizeof(soon)),
		     -EINVAL);
	return 0;
}

KIT_TEST(send_after, shares_its_keys_with_timers_and_is_replaced_and_stopped_as_they_are)
{
	open_probes(test);
	act(replace_and_stop);
	expect_after(GYRE_MILLISECONDS(5), 'b');
	(void)gyre_probe_expect_none(hearer, GYRE_SECONDS(60));
}

static int send_far_away(struct gyre_stack *stack)
{
	return after(stack, 1, 1000000, 'a');
}

static const struct gyre_class brief_class = { .name = "brief", .mount = send_far_away };

static int stop_it(struct gyre_stack *stack, void *actor)
{
	return gyre_stop(stack, *(const struct gyre_address *)actor);
}

KIT_TEST(send_after, is_a_dead_letter_when_its_actor_stops_first)
{
	struct gyre_address brief;

	open_probes(test);
	brief = gyre_test_spawn(test, &brief_class, GYRE_NO_ARGUMENT);
	(void)gyre_probe_watch(sender, brief);
	cr_assert_eq(gyre_probe_do(sender, stop_it, &brief), 0);
	(void)gyre_probe_expect(sender, gyre_terminated, GYRE_SECONDS(1));
	(void)gyre_test_expect_dead_letter(test, letter, GYRE_DROP_STOPPED, 0);
}

static uint32_t lost_in_shutdown;

static void count_lost(const struct gyre_type *type, struct gyre_address from,
		       struct gyre_address to, enum gyre_drop reason, void *arg)
{
	(void)from;
	(void)to;
	(void)arg;
	lost_in_shutdown += type->id == GYRE_ID(letter) && reason == GYRE_DROP_SHUTDOWN;
}

static const struct gyre_system_options counts_lost = { .dead_letter = count_lost };

static void leave_one(struct gyre_test *test, void *arg)
{
	(void)arg;
	open_probes(test);
	(void)gyre_test_spawn(test, &brief_class, GYRE_NO_ARGUMENT);
	gyre_test_advance(test, GYRE_MILLISECONDS(1));
}

Test(send_after, is_a_dead_letter_when_the_system_stops_first)
{
	kit_play(leave_one, &counts_lost);
	cr_assert_eq(lost_in_shutdown, 1);
}

/* ---- what it owns ---- */

struct owning {
	char *text;
};

static uint32_t freed;

static void free_owning(struct owning *owning)
{
	free(owning->text);
	freed++;
}
GYRE_MESSAGE_OWNING(owning, 0x1009, free_owning);

static struct gyre_mail *new_owning(struct gyre_stack *stack)
{
	return gyre_new(stack, owning, .text = strdup("text"));
}

static int send_owning(struct gyre_stack *stack, void *arg)
{
	const struct gyre_timer_options periods = { .period_ns = 1 };
	const struct gyre_timer_options once = { .delay_ns = GYRE_SECONDS(1000) };
	struct gyre_address to = gyre_probe_address(hearer);

	(void)arg;
	cr_expect_eq(gyre_send_after(stack, 1, to, new_owning(stack), &periods), -EINVAL);
	cr_expect_eq(freed, 1);
	cr_expect_eq(gyre_send_after(stack, 1, to, new_owning(stack), &once), 0);
	cr_expect_eq(gyre_timer_stop(stack, 1), 0);
	cr_expect_eq(freed, 2);
	return gyre_send_after(stack, 1, to, new_owning(stack),
			       &GYRE_VALUE(gyre_timer_options, .delay_ns = 1));
}

KIT_TEST(send_after, destroys_what_a_notice_owns_once)
{
	open_probes(test);
	act(send_owning);
	(void)gyre_probe_expect(hearer, owning, LATE_NS);
	cr_assert_eq(freed, 2);
	cr_assert_eq(gyre_probe_notify(sender, gyre_probe_address(hearer),
				       gyre_test_new(test, letter, 'a')),
		     0);
	(void)gyre_probe_expect(hearer, letter, LATE_NS); /* the one before is forgotten */
	cr_assert_eq(freed, 3);
}
