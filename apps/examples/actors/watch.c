/*
 * Watching: a keeper hears of the end of its worker, and puts another in its place.
 *
 * An actor that watches another hears of its end exactly once, whatever the cause, and after all
 * mail that the other has sent. So an actor that keeps addresses knows when they are stale.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { WORKERS = 3 };

struct hired {
	uint32_t number;
};
GYRE_MESSAGE(hired, 0x100);

/* The first worker fails, the second stops by itself; the third stays until its parent stops. */
static int work(struct gyre_stack *stack)
{
	switch (gyre_message(stack, hired)->number) {
	case 1:
		return gyre_throw(stack, -EIO);
	case 2:
		return gyre_stop(stack, gyre_self(stack));
	default:
		return gyre_notify(stack, gyre_parent(stack), gyre_new(stack, hired, WORKERS));
	}
}

static const struct gyre_class worker_class = { .name = "worker", .mount = work };

struct keeper {
	uint32_t hired;
};

static int hire(struct gyre_stack *stack)
{
	struct keeper *keeper = gyre_state(stack);
	struct gyre_address worker;
	int r = gyre_spawn(stack, &worker_class, gyre_new(stack, hired, ++keeper->hired), NULL,
			   &worker);

	return r < 0 ? r : gyre_watch(stack, worker);
}

static int see_end(struct gyre_stack *stack)
{
	const struct keeper *keeper = gyre_state(stack);
	int reason = gyre_message(stack, gyre_terminated)->reason;

	printf("worker %" PRIu32 " has ended: %s\n", keeper->hired,
	       reason == 0 ? "stopped" : strerror(-reason));
	return hire(stack);
}

static int see_start(struct gyre_stack *stack)
{
	printf("worker %" PRIu32 " works\n", gyre_message(stack, hired)->number);
	return gyre_stop(stack, gyre_self(stack)); /* and its child first */
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_terminated, see_end),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = {
	.name = "keeper",
	.state_bytes = sizeof(struct keeper),
	.mount = hire,
	.behaviour = { .notice = see_start, .event_routes = events },
};

int main(int argc, char **argv)
{
	/* The failure of the first worker is a warning in the log; here it is wanted. */
	const struct gyre_system_options options = { .loops = 1, .log_level = GYRE_LOG_ERROR };

	return gyre_main(&main_class, argc, argv, &options);
}
