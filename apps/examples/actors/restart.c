/*
 * Restarts: an actor that fails is restarted, and stopped when it fails too often.
 *
 * Every third job fails. The worker keeps its address, its state and the jobs that wait; it is
 * restarted after a pause that doubles each time. With the third failure within a minute it stops
 * for good, and its parent, which watches it, hears why.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { JOBS = 12 };

struct job {
	uint32_t number;
};
GYRE_MESSAGE(job, 0x100);

struct worker {
	uint32_t done;
};

static int work(struct gyre_stack *stack)
{
	struct worker *worker = gyre_state(stack);
	uint32_t number = gyre_message(stack, job)->number;

	if (number % 3 == 0) {
		printf("job %" PRIu32 " fails\n", number);
		return gyre_throw(stack, -EIO);
	}
	worker->done++;
	printf("job %" PRIu32 " is done\n", number);
	return gyre_return(stack);
}

static int restart(struct gyre_stack *stack)
{
	struct worker *worker = gyre_state(stack);

	printf("restart, with %" PRIu32 " jobs done\n", worker->done);
	return gyre_return(stack);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct worker),
	.behaviour.notice = work,
	.strategy = GYRE_STRATEGY_RESTART,
	.restart = restart,
	.restarts_max = 2,
	.restart_delay_ns = GYRE_MILLISECONDS(10),
};

static int start(struct gyre_stack *stack)
{
	struct gyre_address worker;
	int r = gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, NULL, &worker);

	r = r < 0 ? r : gyre_watch(stack, worker);
	for (uint32_t i = 1; i <= JOBS && r == 0; i++) {
		r = gyre_notify(stack, worker, gyre_new(stack, job, i));
	}
	return r;
}

static int see_end(struct gyre_stack *stack)
{
	printf("the worker has ended: %s\n",
	       strerror(-gyre_message(stack, gyre_terminated)->reason));
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_terminated, see_end),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = { .name = "main",
					      .mount = start,
					      .behaviour.event_routes = events };

int main(int argc, char **argv)
{
	/* Failures are warnings in the log; here they are wanted. */
	const struct gyre_system_options options = { .loops = 1, .log_level = GYRE_LOG_ERROR };

	return gyre_main(&main_class, argc, argv, &options);
}
