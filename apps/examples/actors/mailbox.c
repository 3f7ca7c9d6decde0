/*
 * Mailboxes: a worker takes at most eight jobs in advance, and says when it is behind.
 *
 * Each job takes some time. It is a barrier, so that all others wait for its end. An urgent job is
 * done before those that wait. Above the limit the sender learns at once that a job is refused. The
 * marks are events of the worker itself, which may then ask for help, or tell its senders.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { JOBS = 10, URGENT = 7, LIMIT = 8, HIGH = 6, LOW = 2 };

struct job {
	uint32_t number;
	bool is_urgent;
};
GYRE_MESSAGE(job, 0x100);

static bool is_job(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(job);
}

static bool is_urgent(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(job) && ((const struct job *)message)->is_urgent;
}

static int work(struct gyre_stack *stack)
{
	uint32_t number = gyre_message(stack, job)->number;
	uint32_t *done = gyre_state(stack);
	struct gyre_future *worked = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), worked));
	printf("job %" PRIu32 " is done\n", number);
	return ++*done == LIMIT ? gyre_stop(stack, gyre_self(stack)) : gyre_return(stack);
	GYRE_END(stack);
}

static int see_mark(struct gyre_stack *stack)
{
	const struct gyre_mailbox_mark *mark = gyre_message(stack, gyre_mailbox_mark);

	printf("%s: %" PRIu32 " wait\n", mark->high ? "behind" : "in time again", mark->waiting);
	return gyre_return(stack);
}

static const struct gyre_route worker_events[] = {
	GYRE_ROUTE(gyre_mailbox_mark, see_mark),
	GYRE_ROUTE_END,
};

static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(uint32_t), /* jobs done */
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour = { .notice = work, .event_routes = worker_events },
	.barrier = is_job,
	.urgent = is_urgent,
	.mailbox_limit = LIMIT,
	.mailbox_high = HIGH,
	.mailbox_low = LOW,
};

static int run(struct gyre_stack *stack)
{
	struct gyre_address worker;
	int r = gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, NULL, &worker);

	r = r < 0 ? r : gyre_watch(stack, worker);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	for (uint32_t i = 1; i <= JOBS; i++) {
		r = gyre_notify(stack, worker, gyre_new(stack, job, i, i == URGENT));
		if (r < 0) {
			printf("job %" PRIu32 " is refused: %s\n", i, strerror(-r));
		}
	}
	return gyre_return(stack);
}

static int see_end(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_terminated, see_end),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = { .name = "main",
					      .mount = run,
					      .behaviour.event_routes = events };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
