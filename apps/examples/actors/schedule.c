/*
 * Schedule: a clock sends notices to somebody else after a time and in periods.
 *
 * One of them is called off before its time. Then the clock sleeps until a date. Its own first
 * notice has been sent by the main thread, after a time too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gyre/gyre.h>

struct strike {
	const char *says;
};
GYRE_MESSAGE(strike, 0x100);

struct opening {
	uint64_t asked_ns;
};
GYRE_MESSAGE(opening, 0x101);

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return GYRE_SECONDS((uint64_t)now.tv_sec) + (uint64_t)now.tv_nsec;
}

static int hear(struct gyre_stack *stack)
{
	printf("%s\n", gyre_message(stack, strike)->says);
	return gyre_return(stack);
}

static const struct gyre_class hearer_class = { .name = "hearer", .behaviour.notice = hear };

enum { TICKS = 1, ALARM = 2, CALL = 3 }; /* keys of the timers */

struct frame {
	struct gyre_address hearer;
	struct gyre_future rest;
};

static int open_day(struct gyre_stack *stack)
{
	const struct gyre_timer_options ticks = { .delay_ns = GYRE_MILLISECONDS(20),
						  .period_ns = GYRE_MILLISECONDS(200) };
	const struct gyre_timer_options once = { .delay_ns = GYRE_MILLISECONDS(100) };
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	printf("it opens after %" PRIu64 " ms\n",
	       (gyre_now(stack) - gyre_message(stack, opening)->asked_ns) / GYRE_MILLISECONDS(1));
	(void)gyre_spawn(stack, &hearer_class, GYRE_NO_ARGUMENT, NULL, &frame->hearer);
	(void)gyre_send_after(stack, TICKS, frame->hearer, gyre_new(stack, strike, "tick"), &ticks);
	(void)gyre_send_after(stack, ALARM, frame->hearer, gyre_new(stack, strike, "ring"), &once);
	(void)gyre_send_after(stack, CALL, frame->hearer, gyre_new(stack, strike, "no"), &once);
	printf("the call is %s\n", gyre_timer_stop(stack, CALL) == 0 ? "off" : "on");
	GYRE_AWAIT(stack,
		   gyre_sleep_until(stack, read_clock(CLOCK_REALTIME) + GYRE_MILLISECONDS(320),
				    &frame->rest));
	(void)gyre_timer_stop(stack, TICKS);
	(void)gyre_notify(stack, frame->hearer, gyre_new(stack, strike, "the date has come"));
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->hearer, GYRE_SECONDS(10), &frame->rest));
	gyre_system_stop(gyre_system_of(stack));
	GYRE_END(stack);
}

static const struct gyre_class clock_class = { .name = "clock",
					       .frame_bytes = sizeof(struct frame),
					       .behaviour.notice = open_day };

static int run(struct gyre_system *system)
{
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(30) };
	struct gyre_address to;
	int r = gyre_system_spawn(system, &clock_class, GYRE_NO_ARGUMENT, NULL, &to);

	r = r < 0 ? r : gyre_system_start(system);
	r = r < 0 ? r
		  : gyre_system_send_after(
			    system, 1, to,
			    gyre_system_new(system, opening, read_clock(CLOCK_MONOTONIC)), &soon);
	return r < 0 ? r : gyre_system_wait(system);
}

int main(void)
{
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&(struct gyre_system_options){ .loops = 1 }, &system);

	r = r < 0 ? r : run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
