/*
 * The watchdog of a system on a host: it says that a call stalls, and leaves the signal alone by
 * which it asks loops of the process.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sim_rig.h"

#include "system/observe/watchdog.h"

struct order {
	uint32_t seconds;
};
GYRE_MESSAGE(order, 0x7001);

static int take_long(struct gyre_stack *stack)
{
	(void)sleep(gyre_message(stack, order)->seconds);
	return gyre_return(stack);
}

static const struct gyre_class long_class = { .name = "long",
					      .behaviour = { .notice = take_long } };

struct seen {
	uint32_t stalls;
};

static void count_stalls(const struct gyre_log_line *line, void *arg)
{
	struct seen *seen = (struct seen *)arg;

	seen->stalls += strstr(line->text, "stall: an actor has been running") != NULL;
}

static int boot(void *arg)
{
	const struct gyre_system_options options = {
		.loops = 1, .stall_ns = GYRE_MILLISECONDS(400), .log = count_stalls, .log_arg = arg
	};
	struct gyre_system *system;
	struct gyre_address to;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_spawn(system, &long_class, GYRE_NO_ARGUMENT, NULL, &to), 0);
	cr_assert_eq(gyre_system_notify(system, to, gyre_system_new(system, order, .seconds = 20)),
		     0);
	(void)sleep(1000);
	return 0;
}

Test(sim_stall, of_a_host_is_logged_and_takes_no_signal_of_the_process)
{
	struct gyre_sim *sim = sim_make(1);
	struct seen seen = { 0 };
	uint32_t host = sim_add(sim, "alpha", boot, &seen);
	struct sigaction action;
	int signal;

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	cr_assert_eq(seen.stalls, 1);
	cr_assert_eq(gyre_sim_crash(sim, host), 0);
	gyre_sim_destroy(sim);
	/* A system of the process that comes later takes one, and has it handled. */
	signal = gy_stall_signal_get();
	cr_assert(signal > 0);
	cr_assert_eq(sigaction(signal, NULL, &action), 0);
	cr_assert_neq(action.sa_handler, SIG_DFL);
	gy_stall_signal_put();
}
