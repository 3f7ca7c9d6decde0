/*
 * Place: an actor with a loop of its own answers in time, whatever the others do.
 *
 * The system has one loop for all actors, which a handler holds up, and one for an actor that was
 * spawned with GYRE_PLACE_PINNED. That one ticks on by its timer; its ticks are counted while the
 * first loop stands still. When it ends, its loop is free for the next.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <gyre/gyre.h>

enum { TICK = 1, TICKS = 5 };

static atomic_uint ticks;

static int start_ticking(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .period_ns = GYRE_MILLISECONDS(1) };

	return gyre_timer_start(stack, TICK, &often);
}

static int tick(struct gyre_stack *stack)
{
	(void)atomic_fetch_add(&ticks, 1);
	return gyre_return(stack);
}

static const struct gyre_class ticker_class = { .name = "ticker",
						.mount = start_ticking,
						.behaviour.event = tick };

/* A handler must not do this where other actors live. */
static void hold_up_the_loop(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (atomic_load(&ticks) < TICKS) {
		(void)nanosleep(&pause, NULL);
	}
	printf("the ticker has gone on meanwhile\n");
}

struct frame {
	struct gyre_address tickers[2];
	struct gyre_future future;
};

static int run(struct gyre_stack *stack)
{
	static const struct gyre_spawn_options pinned = { .place = GYRE_PLACE_PINNED };
	struct frame *frame = gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = gyre_spawn(stack, &ticker_class, GYRE_NO_ARGUMENT, &pinned, &frame->tickers[0]);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	printf("the ticker is on loop %u of its own\n", frame->tickers[0].loop);
	/* What goes to another loop leaves when the handlers of this one have had their turns. */
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	hold_up_the_loop();
	r = gyre_spawn(stack, &ticker_class, GYRE_NO_ARGUMENT, &pinned, &frame->tickers[1]);
	printf("another one: %s\n", r == -ENOBUFS ? "no loop is free" : strerror(-r));
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->tickers[0], GYRE_SECONDS(1), &frame->future));
	r = gyre_spawn(stack, &ticker_class, GYRE_NO_ARGUMENT, &pinned, &frame->tickers[1]);
	printf("when the first has stopped: %s\n", r == 0 ? "here it is" : strerror(-r));
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	const struct gyre_system_options options = {
		.loops = 1, .loops_max = 1, .loops_pinned = 1, .stall_ns = GYRE_STALL_NEVER
	};

	return gyre_main(&main_class, argc, argv, &options);
}
