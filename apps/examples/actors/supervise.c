/*
 * Supervision: a parent decides about the failures of its children, by the message they carry.
 *
 * The workers of a desk leave their failures to it. The desk restarts both when one has failed, for
 * they share what they do, but only twice a minute: the third failure is its own, with which it
 * ends. Who watches it hears at which job.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct job {
	uint32_t number;
};
GYRE_MESSAGE(job, 0x100);

/* Of a failure; 0 where there was no memory to send it along. */
static uint32_t number_of(const struct job *job)
{
	return job == NULL ? 0 : job->number;
}

/* Every third job fails. */
static int work(struct gyre_stack *stack)
{
	uint32_t number = gyre_message(stack, job)->number;

	if (number % 3 == 0) {
		return gyre_throw_with(stack, -EIO, gyre_new(stack, job, number));
	}
	printf("job %u is done\n", number);
	return gyre_return(stack);
}

static int restart(struct gyre_stack *stack)
{
	char path[GYRE_PATH_TEXT_MAX];

	(void)gyre_path(stack, sizeof(path), path);
	printf("%s restarts\n", path);
	return gyre_return(stack);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.behaviour.notice = work,
	.strategy = GYRE_STRATEGY_ESCALATE,
	.restart = restart,
};

static enum gyre_decision decide(void *state, const struct gyre_failure *failure)
{
	const struct job *job = gyre_failure_cause(failure, job);

	(void)state;
	printf("%s has failed at job %u: %s\n", failure->path, number_of(job),
	       strerror(-failure->error));
	return GYRE_DECISION_RESTART;
}

static int open_desk(struct gyre_stack *stack)
{
	struct gyre_address workers[2];
	int r = gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, NULL, &workers[0]);

	r = r < 0 ? r : gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, NULL, &workers[1]);
	for (uint32_t i = 1; i <= 12 && r == 0; i++) {
		r = gyre_notify(stack, workers[i % 2], gyre_new(stack, job, i));
	}
	return r;
}

static const struct gyre_class desk_class = {
	.name = "desk",
	.mount = open_desk,
	.strategy = GYRE_STRATEGY_STOP,
	.supervision = { .scope = GYRE_ALL_FOR_ONE, .decide = decide, .restarts_max = 2 },
};

static int start(struct gyre_stack *stack)
{
	struct gyre_address desk;
	int r = gyre_spawn(stack, &desk_class, GYRE_NO_ARGUMENT, NULL, &desk);

	r = r < 0 ? r : gyre_watch(stack, desk);
	return r < 0 ? r : gyre_receive_timeout_start(stack, GYRE_SECONDS(30));
}

static int see_end(struct gyre_stack *stack)
{
	if (gyre_message(stack, gyre_terminated) == NULL) {
		return gyre_throw(stack, -ETIMEDOUT); /* a worker could not restart */
	}
	printf("the desk has ended at job %u\n", number_of(gyre_terminated_cause(stack, job)));
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class main_class = { .name = "main",
					      .mount = start,
					      .strategy = GYRE_STRATEGY_ESCALATE,
					      .behaviour.event = see_end };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv,
			 &(struct gyre_system_options){ .loops = 1, .log_level = GYRE_LOG_ERROR });
}
