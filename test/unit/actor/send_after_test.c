/*
 * Notices that are sent later: after a time, at a date, in periods, to anybody; and how they end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gyre/timer.h>

#include "fixture.h"

struct frame {
	struct gyre_future future;
	struct gyre_address to;
	struct gyre_address sender;
	uint64_t from_ns;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int after(struct gyre_stack *stack, uint64_t key, struct gyre_address to, uint64_t ms,
		 uint64_t value)
{
	return gyre_send_after(stack, key, to, gyre_new(stack, number, value),
			       &GYRE_VALUE(gyre_timer_options, .delay_ns = GYRE_MILLISECONDS(ms)));
}

static struct gyre_address sender;

/* Traces the value as a letter; 'z' ends the system. */
static int hear(struct gyre_stack *stack)
{
	struct gyre_address from = gyre_sender(stack);
	char what = (char)gyre_message(stack, number)->value;

	expect(from.slot == sender.slot && from.cookie == sender.cookie);
	trace(what);
	return what == 'z' ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class hearer_class = { .name = "hearer", .behaviour.notice = hear };

/* ---- when ---- */

static uint32_t loop;

static int send_some(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_on(stack, &hearer_class, loop);

	sender = gyre_self(stack);
	expect(after(stack, 1, to, 30, 'z') == 0);
	expect(after(stack, 2, to, 10, 'a') == 0);
	expect(after(stack, 3, to, 20, 'b') == 0);
	return gyre_return(stack);
}

Test(send_after, sends_each_when_its_time_has_come)
{
	play_steady(send_some);
	cr_assert_str_eq(traced, "abz");
}

Test(send_after, reaches_another_loop)
{
	loop = 1;
	play(2, send_some);
	cr_assert_eq(traced[strlen(traced) - 1], 'z');
}

static int send_then_look(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	frame->to = spawn_here(stack, &hearer_class);
	expect(after(stack, 1, frame->to, 10, 'a') == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(9), &frame->future));
	expect(strcmp(traced, "") == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(3), &frame->future));
	expect(strcmp(traced, "a") == 0);
	expect(gyre_timer_stop(stack, 1) == -ENOENT);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(send_after, is_not_early_and_leaves_no_timer)
{
	play_steady(send_then_look);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

static int send_at_date(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	frame->to = spawn_here(stack, &hearer_class);
	frame->from_ns = wall_ns();
	expect(gyre_send_after(stack, 1, frame->to, gyre_new(stack, number, 'a'),
			       &GYRE_VALUE(gyre_timer_options, .date_ns = frame->from_ns)) == 0);
	GYRE_AWAIT(stack,
		   gyre_sleep_until(stack, frame->from_ns + GYRE_MILLISECONDS(20), &frame->future));
	expect(wall_ns() >= frame->from_ns + GYRE_MILLISECONDS(20));
	expect(strcmp(traced, "a") == 0);
	GYRE_AWAIT(stack, gyre_sleep_until(stack, 1, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_sleep_until(stack, 1, NULL) == -EINVAL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(send_after, takes_dates_as_sleeps_do)
{
	play(1, send_at_date);
}

static int send_in_periods(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_MILLISECONDS(5),
						    .period_ns = GYRE_MILLISECONDS(10) };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	frame->to = spawn_here(stack, &hearer_class);
	expect(gyre_send_after(stack, 7, frame->to, gyre_new(stack, number, 'p'), &options) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(40), &frame->future));
	expect(strcmp(traced, "pppp") == 0);
	expect(gyre_timer_stop(stack, 7) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(40), &frame->future));
	expect(strcmp(traced, "pppp") == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(send_after, sends_copies_in_periods_until_it_is_stopped)
{
	play_steady(send_in_periods);
}

/* ---- how it ends ---- */

static int replace_and_stop(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	frame->to = spawn_here(stack, &hearer_class);
	expect(after(stack, 1, frame->to, 5, 'a') == 0);
	expect(after(stack, 1, frame->to, 5, 'b') == 0);
	expect(after(stack, 2, frame->to, 5, 'c') == 0);
	expect(gyre_timer_stop(stack, 2) == 0);
	expect(after(stack, 3, frame->to, 5, 'd') == 0);
	expect(gyre_timer_start(stack, 3, &GYRE_VALUE(gyre_timer_options, .delay_ns = 1)) == 0);
	expect(gyre_send_after(stack, 4, frame->to, NULL,
			       &GYRE_VALUE(gyre_timer_options, .delay_ns = 1)) == -ENOMEM);
	expect(gyre_send_after_sized(stack, 4, frame->to, gyre_new(stack, number, 1), NULL,
				     sizeof(struct gyre_timer_options)) == -EINVAL);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame->future));
	expect(strcmp(traced, "b") == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(send_after, shares_its_keys_with_timers_and_is_replaced_and_stopped_as_they_are)
{
	play_steady(replace_and_stop);
}

static int send_far_away(struct gyre_stack *stack)
{
	sender = gyre_self(stack);
	return after(stack, 1, gyre_self(stack), 1000000, 'a');
}

static const struct gyre_class brief_class = { .name = "brief", .mount = send_far_away };

static int stop_brief(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &brief_class);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->to, 0, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(send_after, is_a_dead_letter_when_its_actor_stops_first)
{
	play(1, stop_brief);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
	cr_expect(gyre_address_equal(fixture.letters[0].from, sender));
}

static int end_with_one(struct gyre_stack *stack)
{
	(void)send_far_away(stack);
	return fixture_end(stack);
}

Test(send_after, is_a_dead_letter_when_the_system_stops_first)
{
	play(1, end_with_one);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SHUTDOWN], 1);
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

static int send_owning(struct gyre_stack *stack)
{
	const struct gyre_timer_options periods = { .period_ns = 1 };
	const struct gyre_timer_options once = { .delay_ns = GYRE_SECONDS(1000) };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &sink_class);
	expect(gyre_send_after(stack, 1, frame->to, new_owning(stack), &periods) == -EINVAL);
	expect(freed == 1);
	expect(gyre_send_after(stack, 1, frame->to, new_owning(stack), &once) == 0);
	expect(gyre_timer_stop(stack, 1) == 0);
	expect(freed == 2);
	expect(gyre_send_after(stack, 1, frame->to, new_owning(stack),
			       &GYRE_VALUE(gyre_timer_options, .delay_ns = 1)) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->future));
	expect(freed == 3);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(send_after, destroys_what_a_notice_owns_once)
{
	play_steady(send_owning);
}
