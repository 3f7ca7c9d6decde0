/*
 * Signals: an actor gets SIGHUP and SIGTERM as events, and decides when the program ends.
 *
 * A signal is an event of the actors that watch it. Its handler interrupts nothing, and so may call
 * anything. While an actor watches SIGTERM, that does not stop the system by itself.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gyre/gyre.h>

struct frame {
	struct gyre_future hangup;
	struct gyre_future terminate;
};

static int watch_both(struct gyre_stack *stack, struct frame *frame)
{
	int r = gyre_signal_watch(stack, SIGHUP, &frame->hangup);

	return r < 0 ? r : gyre_signal_watch(stack, SIGTERM, &frame->terminate);
}

static int start(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, watch_both(stack, frame));
	if (gyre_future_failed(&frame->hangup) || gyre_future_failed(&frame->terminate)) {
		return gyre_throw(stack, -EBUSY);
	}
	printf("try: kill -HUP %ld\n", (long)getpid());
	(void)fflush(stdout);
	GYRE_END(stack);
}

static int take_signal(struct gyre_stack *stack)
{
	const struct gyre_signal *signal = gyre_message(stack, gyre_signal);

	printf("%s\n", strsignal(signal->signo));
	(void)fflush(stdout);
	return signal->signo == SIGTERM ? gyre_stop(stack, gyre_self(stack)) : gyre_return(stack);
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_signal, take_signal),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = start,
					      .behaviour.event_routes = events };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
