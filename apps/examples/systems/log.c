/*
 * Logging: lines of actors, and hooks for the log and for lost messages.
 *
 * An actor logs a line and fails, which is a warning of the library, and gets a message that it
 * does not understand, which is a dead letter. The hooks print all of it; those of a server would
 * write to its own log.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct task {
	char nothing;
};
GYRE_MESSAGE(task, 0x100);

struct riddle {
	char nothing;
};
GYRE_MESSAGE(riddle, 0x101);

/* Both hooks run on other threads, and must not call gyre. */
static void write_log(const struct gyre_log_line *line, void *arg)
{
	static const char *const levels[] = { "default", "debug", "info", "warning", "error" };

	(void)fprintf(arg, "[%s] %s\n", levels[line->level], line->text);
}

static void count_dead_letter(const struct gyre_type *type, struct gyre_address from,
			      struct gyre_address to, enum gyre_drop reason, void *arg)
{
	(void)from;
	(void)to;
	if (reason == GYRE_DROP_UNHANDLED) {
		(void)fprintf(arg, "[lost] nobody understands a %s\n", type->name);
	}
}

static int fail(struct gyre_stack *stack)
{
	gyre_log(stack, GYRE_LOG_INFO, "cannot do a %s: %s", stack->type->name, strerror(EIO));
	return gyre_throw(stack, -EIO);
}

/* The last call of an actor gets no stack. */
static void clean(void *state)
{
	(void)state;
	gyre_system_log(NULL, GYRE_LOG_INFO, "goes");
}

static const struct gyre_route notices[] = {
	GYRE_ROUTE(task, fail),
	GYRE_ROUTE_END,
};

static const struct gyre_class worker_class = { .name = "worker",
						.behaviour.notice_routes = notices,
						.clean = clean,
						.strategy = GYRE_STRATEGY_IGNORE };

static int run(struct gyre_stack *stack)
{
	struct gyre_future *stopped = gyre_frame(stack);
	struct gyre_address worker;
	int r;

	GYRE_BEGIN(stack);
	r = gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, NULL, &worker);
	r = r < 0 ? r : gyre_notify(stack, worker, gyre_new(stack, task, 0));
	r = r < 0 ? r : gyre_notify(stack, worker, gyre_new(stack, riddle, 0));
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, worker, GYRE_SECONDS(10), stopped));
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = run };

int main(int argc, char **argv)
{
	const struct gyre_system_options options = {
		.loops = 1,
		.log = write_log,
		.log_arg = stdout,
		.log_level = GYRE_LOG_INFO,
		.dead_letter = count_dead_letter,
		.dead_letter_arg = stdout,
	};

	return gyre_main(&main_class, argc, argv, &options);
}
