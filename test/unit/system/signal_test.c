/* Signals as events: who hears of them, what becomes of those that nobody watches any more. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gyre/outside.h>
#include <gyre/signal.h>

#include "fixture.h"

#include "base/atomic.h"
#include "system/signals.h"
#include "system/system.h"

TestSuite(signals, .timeout = 60);

enum { WATCHERS = 3 };

struct frame {
	struct gyre_future future;
	struct gyre_future other;
};

static uint32_t heard;
static uint32_t watching;
static struct gyre_address teller;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* As a program does that starts its system by itself. */
static void block(int signo)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, signo);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
}

static void play_event(gyre_handler_fn script, gyre_handler_fn event)
{
	const struct gyre_class class = {
		.name = "script",
		.frame_bytes = FIXTURE_FRAME_BYTES,
		.mount = script,
		.behaviour.event = event,
	};

	fixture_open(2);
	(void)spawn_outside(&class, 1);
	fixture_run();
	fixture_close();
}

/* ---- one watcher ---- */

static int watch_and_kill(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(kill(getpid(), SIGHUP) == 0);
	GYRE_END(stack);
}

static int hear_hangup(struct gyre_stack *stack)
{
	const struct gyre_signal *signal = gyre_message(stack, gyre_signal);

	expect(signal != NULL && signal->signo == SIGHUP && signal->count == 1);
	expect(signal->code == SI_USER && signal->pid == getpid());
	return fixture_end(stack);
}

Test(signals, come_as_events_to_who_watches)
{
	block(SIGHUP);
	play_event(watch_and_kill, hear_hangup);
}

static int watch_and_queue(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGRTMAX, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	for (int i = 0; i < 3; i++) {
		expect(sigqueue(getpid(), SIGRTMAX, (union sigval){ .sival_int = 7 + i }) == 0);
	}
	GYRE_END(stack);
}

static int hear_queued(struct gyre_stack *stack)
{
	const struct gyre_signal *signal = gyre_message(stack, gyre_signal);

	expect(signal != NULL && signal->signo == SIGRTMAX && signal->code == SI_QUEUE);
	heard += signal->count;
	if (heard < 3) {
		return gyre_return(stack);
	}
	expect((int)signal->value == 9);
	return fixture_end(stack);
}

Test(signals, that_queue_are_all_counted_and_tell_of_the_last)
{
	block(SIGRTMAX);
	play_event(watch_and_queue, hear_queued);
	cr_assert_eq(heard, 3);
}

/* ---- several ---- */

static int watch_usr1(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_signal_watch(stack, SIGUSR1, &frame->other) == 0);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR1, &frame->future)); /* once more */
	expect(gyre_future_error(&frame->future) == 0 && gyre_future_error(&frame->other) == 0);
	if (gy_fetch_add(&watching, 1) + 1 == WATCHERS) {
		expect(kill(getpid(), SIGUSR1) == 0);
	}
	GYRE_END(stack);
}

static int hear_usr1(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_signal)->signo == SIGUSR1);
	if (gy_fetch_add(&heard, 1) + 1 == WATCHERS) {
		return fixture_end(stack);
	}
	return gyre_return(stack);
}

static const struct gyre_class usr1_class = {
	.name = "usr1",
	.frame_bytes = sizeof(struct frame),
	.mount = watch_usr1,
	.behaviour.event = hear_usr1,
};

Test(signals, come_to_each_of_several_watchers_once)
{
	block(SIGUSR1);
	fixture_open(2);
	for (uint32_t i = 0; i < WATCHERS; i++) {
		(void)spawn_outside(&usr1_class, i % 2);
	}
	fixture_run();
	fixture_close();
	cr_assert_eq(heard, WATCHERS);
}

/* ---- ends of watches ---- */

static int unwatch_one(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_signal_unwatch(stack, SIGUSR1) == 0); /* nobody watches anything */
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR1, &frame->future));
	expect(gyre_signal_unwatch(stack, SIGUSR1) == 0);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR2, &frame->future));
	expect(kill(getpid(), SIGUSR1) == 0);
	expect(kill(getpid(), SIGUSR2) == 0);
	GYRE_END(stack);
}

/* Without a wait in between: the last call counts. */
static int change_its_mind(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_signal_watch(stack, SIGUSR1, &frame->other) == 0);
	expect(gyre_signal_unwatch(stack, SIGUSR1) == 0);
	expect(gyre_signal_watch(stack, SIGUSR2, &frame->other) == 0);
	expect(gyre_signal_unwatch(stack, SIGUSR2) == 0);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR2, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	/* What was given up has been by now: notices of one sender come in order. */
	expect(gyre_signal_unwatch(stack, SIGHUP) == 0);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, &frame->future));
	expect(kill(getpid(), SIGUSR1) == 0);
	expect(kill(getpid(), SIGUSR2) == 0);
	GYRE_END(stack);
}

static int hear_usr2(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_signal)->signo == SIGUSR2);
	return fixture_end(stack);
}

Test(signals, that_are_unwatched_come_no_more)
{
	sigset_t pending;

	block(SIGUSR1);
	block(SIGUSR2);
	play_event(unwatch_one, hear_usr2);
	(void)sigpending(&pending);
	cr_assert(sigismember(&pending, SIGUSR1));
	cr_assert_not(sigismember(&pending, SIGUSR2));
}

Test(signals, are_watched_or_not_as_the_last_call_says)
{
	sigset_t pending;

	block(SIGHUP);
	block(SIGUSR1);
	block(SIGUSR2);
	play_event(change_its_mind, hear_usr2);
	(void)sigpending(&pending);
	cr_assert(sigismember(&pending, SIGUSR1));
	cr_assert_not(sigismember(&pending, SIGUSR2));
}

static int watch_and_stop(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR1, &frame->future));
	expect(gyre_notify(stack, teller, gyre_new(stack, number, 1)) == 0);
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	GYRE_END(stack);
}

static const struct gyre_class short_class = { .name = "short",
					       .frame_bytes = sizeof(struct frame),
					       .mount = watch_and_stop,
					       .behaviour.event = hear_usr1 };

/* Until the end of the other has been heard of, which takes as long as it takes, it asks again. */
static int look_for_end(struct gyre_stack *stack)
{
	sigset_t pending;

	expect(kill(getpid(), SIGUSR1) == 0);
	(void)gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame_of(stack)->future);
	if (gyre_stack_state(stack) != 0) {
		(void)sigpending(&pending);
		if (sigismember(&pending, SIGUSR1)) {
			return fixture_end(stack);
		}
	}
	return gyre_await(stack, 1);
}

static const struct gyre_class teller_class = { .name = "teller",
						.frame_bytes = sizeof(struct frame),
						.behaviour.notice = look_for_end };

Test(signals, are_watched_no_longer_than_their_actor_lives)
{
	block(SIGUSR1);
	fixture_open(2);
	teller = spawn_outside(&teller_class, 1);
	(void)spawn_outside(&short_class, 1);
	fixture_run();
	fixture_close();
}

/* ---- refusals ---- */

static void ignore(int signo)
{
	(void)signo;
}

static int watch_in_vain(struct gyre_stack *stack)
{
	static const int never[] = { 0,	     -1,     65,     SIGKILL, SIGSTOP, SIGSEGV,
				     SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,  32 };
	struct frame *frame = frame_of(stack);

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		expect(gyre_signal_watch(stack, never[i], &frame->future) == -EINVAL);
		expect(gyre_future_error(&frame->future) == -EINVAL);
		expect(gyre_signal_unwatch(stack, never[i]) == -EINVAL);
	}
	expect(gyre_signal_watch(stack, SIGUSR2, &frame->future) == -EBUSY);
	gyre_system_stop(gyre_system_of(stack));
	expect(gyre_signal_watch(stack, SIGHUP, &frame->future) == -ESHUTDOWN);
	return gyre_return(stack);
}

Test(signals, that_cannot_be_watched_or_have_a_handler_are_refused)
{
	(void)signal(SIGUSR2, ignore);
	play(1, watch_in_vain);
}

/* ---- a program that runs its system ---- */

static int fds[2];

static int watch_both(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_signal_watch(stack, SIGHUP, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGTERM, &frame->other));
	expect(gyre_future_error(&frame->future) == 0 && gyre_future_error(&frame->other) == 0);
	expect(write(fds[1], "r", 1) == 1);
	GYRE_END(stack);
}

static int hear_both(struct gyre_stack *stack)
{
	const struct gyre_signal *signal = gyre_message(stack, gyre_signal);

	expect(write(fds[1], signal->signo == SIGHUP ? "h" : "t", 1) == 1);
	return gyre_return(stack);
}

static int unwatch_both(struct gyre_stack *stack)
{
	const struct gyre_signal *signal = gyre_message(stack, gyre_signal);

	if (signal->signo == SIGTERM) {
		expect(gyre_signal_unwatch(stack, SIGHUP) == 0);
		expect(gyre_signal_unwatch(stack, SIGTERM) == 0);
	}
	return hear_both(stack);
}

static int run_program(gyre_handler_fn event)
{
	const struct gyre_system_options options = { .loops = 2 };
	const struct gyre_class class = {
		.name = "both",
		.frame_bytes = sizeof(struct frame),
		.mount = watch_both,
		.behaviour.event = event,
	};
	struct gyre_system *system;
	struct gyre_address address;
	sigset_t term;
	int r;

	(void)alarm(120);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, NULL); /* what comes after the run has no meaning */
	if (gyre_system_create(&options, &system) != 0 ||
	    gyre_system_spawn(system, &class, GYRE_NO_ARGUMENT, NULL, &address) != 0) {
		return 2;
	}
	r = gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 && fixture.failure == NULL ? 0 : 3;
}

static pid_t start_program(gyre_handler_fn event)
{
	pid_t child;

	cr_assert_eq(pipe(fds), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		(void)signal(SIGHUP, SIG_DFL); /* whoever runs the tests may ignore it */
		_exit(run_program(event));
	}
	return child;
}

static void await(char what)
{
	char byte = 0;

	cr_assert_eq(read(fds[0], &byte, 1), 1);
	cr_assert_eq(byte, what);
}

static int end_of(pid_t child)
{
	int status;

	cr_assert_eq(waitpid(child, &status, 0), child);
	return status;
}

Test(signals, that_are_watched_neither_end_nor_drain_a_running_system)
{
	pid_t child = start_program(hear_both);

	await('r');
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(kill(child, SIGHUP), 0);
		await('h');
		cr_assert_eq(kill(child, SIGTERM), 0);
		await('t');
	}
	cr_assert_eq(kill(child, SIGINT), 0); /* which nobody watches */
	cr_assert_eq(end_of(child), 0);
}

Test(signals, that_nobody_watches_any_more_do_what_they_did)
{
	pid_t child = start_program(unwatch_both);
	int status;

	await('r');
	cr_assert_eq(kill(child, SIGTERM), 0);
	await('t');
	while (waitpid(child, &status, WNOHANG) == 0) {
		cr_assert_eq(kill(child, SIGTERM), 0);
		(void)sched_yield();
	}
	cr_assert_eq(status, 0); /* drained */
}

Test(signals, that_would_end_a_program_do_so_again_when_they_are_unwatched)
{
	pid_t child = start_program(unwatch_both);
	int status;

	await('r');
	cr_assert_eq(kill(child, SIGTERM), 0);
	await('t');
	while (waitpid(child, &status, WNOHANG) == 0) {
		cr_assert_eq(kill(child, SIGHUP), 0);
		(void)sched_yield();
	}
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(WTERMSIG(status), SIGHUP);
}

/* ---- a running thread that lags behind ---- */

static uint32_t answered; /* watches */

static int watch_or_not(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value == 0) {
		expect(gyre_signal_unwatch(stack, SIGHUP) == 0);
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	(void)gy_fetch_add(&answered, 1);
	GYRE_END(stack);
}

static int tell_answered(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, gy_load_acquire(&answered)));
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = watch_or_not, .ask = tell_answered },
};

static void await_watched(bool watched)
{
	while ((gy_load_acquire(&fixture.system->watched) != 0) != watched) {
		(void)sched_yield();
	}
}

/* The watcher has had each answer that was sent before. */
static uint64_t answers_of(struct gyre_address watcher)
{
	struct gyre_mail *answer = NULL;
	uint64_t count;

	cr_assert_eq(gyre_system_ask(fixture.system, watcher,
				     gyre_system_new(fixture.system, number, 0), GYRE_FOREVER,
				     &answer),
		     0);
	count = gyre_mail_get(answer, number)->value;
	gyre_mail_destroy(NULL, answer);
	return count;
}

/* The test is the thread that runs the system, and takes its time. */
Test(signals, are_not_watched_before_the_running_thread_has_heard_of_it_again)
{
	struct gyre_address watcher;
	sigset_t before;
	sigset_t late;

	(void)sigemptyset(&late);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	fixture_open(1);
	gy_store_relaxed(&fixture.system->has_runner, true);
	watcher = spawn_outside(&watcher_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t round = 0; round < 3; round++) {
		cr_assert_eq(notify_outside(watcher, 1), 0);
		await_watched(true);
		cr_assert_eq(answers_of(watcher), round);
		gy_signals_block(fixture.system, &before, &late);
		while (gy_load_acquire(&answered) == round) {
			(void)sched_yield();
		}
		cr_assert_eq(notify_outside(watcher, 0), 0);
		await_watched(false);
	}
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	fixture_close();
}

/* ---- without descriptors ---- */

enum { TRIES_MAX = 1000 };

static uint32_t tries;

static void limit_descriptors(rlim_t count)
{
	struct rlimit limit;

	expect(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
	expect(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static int watch_without_descriptors(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	limit_descriptors(3);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR2, &frame->future));
	expect(gyre_future_error(&frame->future) < 0);
	limit_descriptors(RLIM_INFINITY);
	do { /* the actor that has failed may still be about to end */
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other));
		GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGUSR2, &frame->future));
	} while (gyre_future_error(&frame->future) < 0 && ++tries < TRIES_MAX);
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(signals, can_be_watched_after_there_was_no_descriptor_for_them)
{
	block(SIGUSR2);
	play(2, watch_without_descriptors);
}
