/*
 * Running until a signal or an actor ends it.
 */
#include "fixture.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/macros.h"

static int ready_fds[2];
static uint32_t cleaned;

static int say_ready(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .period_ns = GYRE_MILLISECONDS(1) };

	expect(gyre_timer_start(stack, 1, &often) == 0);
	expect(write(ready_fds[1], "r", 1) == 1);
	return gyre_return(stack);
}

static int notify_oneself(struct gyre_stack *stack)
{
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 1));
}

static bool raise_at_end;

/* The actors of both loops end in the drain: the last one may be followed closely by its end. */
static void clean(void *state)
{
	(void)state;
	if (gy_fetch_add(&cleaned, 1) == 1 && raise_at_end) {
		(void)kill(getpid(), SIGINT);
	}
}

/* Always has something under way. */
static const struct gyre_class restless_class = {
	.name = "restless",
	.mount = say_ready,
	.behaviour = { .notice = notify_oneself, .event = notify_oneself },
	.clean = clean,
};

static int conserved(struct gyre_system *system)
{
	struct gyre_counters counters;
	uint64_t ends;

	(void)gyre_system_counters(system, &counters);
	ends = counters.handled;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	return counters.sent == ends && counters.spawned == 2 && counters.stopped == 2;
}

/* What the forked program does: its exit status tells what went wrong. */
static int run_program(void)
{
	const struct gyre_system_options options = { .loops = 2 };
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct gyre_system *system;
	struct gyre_address address;
	sigset_t before;
	sigset_t after;

	(void)pthread_sigmask(SIG_BLOCK, NULL, &before);
	if (gyre_system_create(&options, &system) != 0 ||
	    gyre_system_spawn(system, &restless_class, GYRE_NO_ARGUMENT, NULL, &address) != 0 ||
	    gyre_system_spawn(system, &restless_class, GYRE_NO_ARGUMENT, &there, &address) != 0) {
		return 2;
	}
	if (gyre_system_run(system) != 0) {
		return 3;
	}
	if (!conserved(system)) {
		return 4;
	}
	gyre_system_destroy(system);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int signal = 1; signal < NSIG; signal++) {
		if (sigismember(&before, signal) != sigismember(&after, signal)) {
			return 5;
		}
	}
	return cleaned == 2 && fixture.failure == NULL ? 0 : 6;
}

static void assert_drained_by(int first, int second)
{
	char bytes[2];
	pid_t child;
	int status;

	cr_assert_eq(pipe(ready_fds), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		(void)alarm(120);
		_exit(run_program());
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(read(ready_fds[0], bytes, 1), 1);
	}
	/* Stopped meanwhile, so that the second signal does not come when all is over. */
	cr_assert_eq(kill(child, SIGSTOP), 0);
	cr_assert_eq(kill(child, first), 0);
	cr_assert(second == 0 || kill(child, second) == 0);
	cr_assert_eq(kill(child, SIGCONT), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	(void)close(ready_fds[0]);
	(void)close(ready_fds[1]);
	cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "exit status %d", WEXITSTATUS(status));
}

Test(run, is_drained_by_sigterm_and_loses_nothing_uncounted)
{
	assert_drained_by(SIGTERM, 0);
}

Test(run, is_drained_by_sigint)
{
	assert_drained_by(SIGINT, 0);
}

Test(run, takes_a_second_signal_while_it_drains)
{
	assert_drained_by(SIGTERM, SIGINT);
}

Test(run, is_not_killed_by_a_signal_that_comes_as_the_drain_ends)
{
	raise_at_end = true;
	for (int i = 0; i < 100; i++) {
		assert_drained_by(SIGTERM, 0);
	}
}

static int end_at_once(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

Test(run, is_ended_by_an_actor_too)
{
	const struct gyre_class class = { .name = "ending", .mount = end_at_once };

	fixture_open(2);
	(void)spawn_outside(&class, 1);
	cr_assert_eq(gyre_system_run(fixture.system), 0);
	fixture_close();
}

/* For this thread alone. */
static void forbid(long call)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = gy_countof(steps), .filter = steps };

	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *run_without_poll(void *arg)
{
#if defined(SYS_poll)
	forbid(SYS_poll);
#endif
	forbid(SYS_ppoll);
	*(int *)arg = gyre_system_run(fixture.system);
	return NULL;
}

Test(run, stops_and_says_why_when_it_cannot_wait_for_signals)
{
	int result = 0;
	pthread_t thread;

	fixture_open(1);
	cr_assert_eq(pthread_create(&thread, NULL, run_without_poll, &result), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(result, -EPERM);
	cr_expect_eq(fixture.errors, 1);
	cr_expect_not_null(strstr(fixture.line, "poll"), "%s", fixture.line);
	fixture.errors = 0;
	fixture_close();
}
