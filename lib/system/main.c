/*
 * The guardian: the parent of a program's main actor. It watches it, and with its end stops the
 * system. Its argument has a destructor, which knows when there was no memory for the guardian
 * itself: nobody would stop the system then.
 */
#include "system/main.h"

#include <gyre/main.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/move.h>
#include <gyre/node.h>
#include <gyre/watch.h>

#include "actor/class_sized.h"
#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "system/system.h"

enum { STATUS_NONE = -1, STATUS_MAX = 255 };

static void set_status(struct gyre_system *system, int status)
{
	int none = STATUS_NONE;

	(void)gy_compare_exchange_relaxed(&system->exit_status, &none, status);
}

void gy_system_fail(struct gyre_system *system, int error)
{
	int none = 0;

	set_status(system, EXIT_FAILURE);
	if (error < 0 && gy_load_relaxed(&system->stop) == 0) {
		(void)gy_compare_exchange_relaxed(&system->error, &none, error);
	}
	gyre_system_stop(system);
}

void gy_system_was_declared_down(struct gyre_system *system)
{
	int none = 0;

	set_status(system, GYRE_NODE_EXIT_DECLARED_DOWN);
	(void)gy_compare_exchange_relaxed(&system->error, &none, -ESTALE);
	gyre_system_stop(system);
}

void gyre_exit(struct gyre_stack *stack, int status)
{
	struct gyre_system *system = gyre_system_of(stack);

	set_status(system, status & STATUS_MAX);
	gyre_system_stop(system);
}

struct guardian_argument {
	struct gyre_system *system;
	const struct gyre_class *main_class;
	struct gyre_arguments arguments;
};

static void fail_to_begin(struct gyre_system *system, const struct gyre_class *main_class,
			  int error)
{
	const char *name = main_class == NULL ? NULL : main_class->name;

	gy_log(&system->log, GYRE_LOG_ERROR, "the main actor %s could not be made: %s",
	       name == NULL ? "without a name" : name, strerror(-error));
	gy_system_fail(system, 0);
}

static void destroy_argument(struct guardian_argument *argument)
{
	if (gy_load_relaxed(&argument->system->stop) == 0) {
		fail_to_begin(argument->system, argument->main_class, -ENOMEM);
	}
}
GYRE_OWN_MESSAGE_OWNING_(guardian_argument, 0x15, destroy_argument);

static int mount_guardian(struct gyre_stack *stack)
{
	struct guardian_argument argument;
	struct gyre_address main_actor;
	struct gyre_mail *mail;
	int r = gyre_message_move(stack, &gyre_type_guardian_argument, &argument);

	if (r < 0) {
		return r;
	}
	mail = gyre_new(stack, gyre_arguments, argument.arguments.argc, argument.arguments.argv);
	r = mail == NULL ? -ENOMEM
			 : gyre_spawn(stack, argument.main_class, mail, NULL, &main_actor);
	if (r == 0) {
		r = gyre_watch(stack, main_actor);
	}
	if (r < 0) {
		fail_to_begin(argument.system, argument.main_class, r);
	}
	return gyre_return(stack);
}

/* A main actor may itself fail with -ESHUTDOWN, as when it hands on what an ask has failed with. */
static bool has_failed(const struct gyre_system *system, int reason)
{
	return reason < 0 && (reason != -ESHUTDOWN || gy_load_relaxed(&system->stop) == 0);
}

static int hear_of_the_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (has_failed(gyre_system_of(stack), terminated->reason)) {
		gy_log(gy_homes_of(gyre_system_of(stack))->log, GYRE_LOG_ERROR,
		       "the main actor has failed: %s", strerror(-terminated->reason));
		set_status(gyre_system_of(stack), EXIT_FAILURE);
	}
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static const struct gyre_class guardian_class = {
	.name = "guardian",
	.mount = mount_guardian,
	.behaviour.event = hear_of_the_end,
	.strategy = GYRE_STRATEGY_ESCALATE,
	.supervision.decision = GYRE_DECISION_ESCALATE,
};

static int spawn_guardian(struct gyre_system *system, const struct gyre_class *main_class, int argc,
			  char **argv)
{
	struct gy_spawn_order order = { .class = &guardian_class, .is_root = true };
	struct gyre_address guardian;

	order.argument =
		gyre_system_new(system, guardian_argument, system, main_class, { argc, argv });
	return order.argument == NULL
		       ? -ENOMEM
		       : gy_spawn_from_outside(&system->homes.homes[0], &order, &guardian);
}

int gyre_main_sized(const struct gyre_class *main_class, int argc, char **argv,
		    const struct gyre_system_options *options, struct gyre_sizes sizes)
{
	struct gyre_system *system = NULL;
	int status = EXIT_FAILURE;
	int r = gyre_system_create_sized(options, sizes, &system);

	if (r == 0) {
		system->exit_status = STATUS_NONE;
		r = gy_class_sized(&system->homes, &main_class, sizes.actor_class);
	}
	if (r == 0) {
		r = spawn_guardian(system, main_class, argc, argv);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	if (system != NULL) {
		status = system->exit_status;
	}
	gyre_system_destroy(system);
	if (status == STATUS_NONE) {
		status = r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	return status;
}
