/*
 * Schedule: a clock sends notices to somebody else after a time and in periods.
 *
 * One of them is called off before its time.
 */
#include <stdio.h>

#include <gyre/gyre.h>

struct strike {
	const char *says;
};
GYRE_MESSAGE(strike, 0x100);

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

static int run(struct gyre_stack *stack)
{
	const struct gyre_timer_options ticks = { .delay_ns = GYRE_MILLISECONDS(20),
						  .period_ns = GYRE_MILLISECONDS(200) };
	const struct gyre_timer_options once = { .delay_ns = GYRE_MILLISECONDS(100) };
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gyre_spawn(stack, &hearer_class, GYRE_NO_ARGUMENT, NULL, &frame->hearer);
	(void)gyre_send_after(stack, TICKS, frame->hearer, gyre_new(stack, strike, "tick"), &ticks);
	(void)gyre_send_after(stack, ALARM, frame->hearer, gyre_new(stack, strike, "ring"), &once);
	(void)gyre_send_after(stack, CALL, frame->hearer, gyre_new(stack, strike, "no"), &once);
	printf("the call is %s\n", gyre_timer_stop(stack, CALL) == 0 ? "off" : "on");
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(320), &frame->rest));
	(void)gyre_timer_stop(stack, TICKS);
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->hearer, GYRE_SECONDS(10), &frame->rest));
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
