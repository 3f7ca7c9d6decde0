/*
 * The watchdog: what it logs of handlers that stay too long, what it takes for no stall, and that
 * it sleeps when there is nothing to watch.
 *
 * A handler that is to be seen blocks in a read, which the line that tells of it ends; so a stall
 * that is missed hangs, and the alarm of the fixture says so. A handler of which nothing is to be
 * heard may be kept off its CPU: what is too long is much more than that takes.
 */
#include "fixture.h"

#include <gyre/inspect.h>

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "system/observe/watchdog.h"

#if GY_INSPECT

enum { LINES_MAX = 32, LINE_BYTES = 1024, STALL_MS = 200, HANG_SECONDS = 120 };

static char lines[LINES_MAX][LINE_BYTES];
static uint32_t lines_count;
static int released[2]; /* a byte for each stall that was told in full */
static const char *releasing = "backtrace";

static void logged(const struct gyre_log_line *line, void *arg)
{
	uint32_t place = gy_fetch_add(&lines_count, 1);

	(void)arg;
	expect(line->level <= GYRE_LOG_WARNING && place < LINES_MAX);
	(void)snprintf(lines[place], LINE_BYTES, "%s", line->text);
	if (strstr(line->text, releasing) != NULL) {
		expect(write(released[1], "", 1) == 1);
	}
}

static uint32_t lines_with(const char *what)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lines_count; i++) {
		count += strstr(lines[i], what) != NULL;
	}
	return count;
}

static void open_watched_with(struct gyre_system_options options)
{
	options.log = logged;
	options.log_level = GYRE_LOG_INFO;
	(void)alarm(HANG_SECONDS);
	cr_assert_eq(pipe(released), 0);
	cr_assert_eq(gyre_system_create(&options, &fixture.system), 0);
}

static void open_watched(uint32_t loops, int64_t stall_ns)
{
	open_watched_with((struct gyre_system_options){ .loops = loops, .stall_ns = stall_ns });
}

static void close_watched(void)
{
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	gyre_system_destroy(fixture.system);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
}

static void run_watched(void)
{
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	close_watched();
}

static void get_stuck(void)
{
	char byte;

	expect(read(released[0], &byte, 1) == 1);
}

static void stay_busy_ms(uint64_t ms)
{
	uint64_t end_ns = gy_clock_machine_ns() + GYRE_MILLISECONDS(ms);

	while (gy_clock_machine_ns() < end_ns) {
		gy_pause();
	}
}

static int get_stuck_and_end(struct gyre_stack *stack)
{
	get_stuck();
	return fixture_end(stack);
}

static const struct gyre_class stuck_class = {
	.name = "stuck",
	.behaviour.notice = get_stuck_and_end,
};

Test(watchdog, tells_class_and_message_of_a_handler_that_stays_too_long_and_where_it_is)
{
	struct gyre_snapshot *snapshot;

	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	cr_assert_eq(notify_outside(spawn_outside(&stuck_class, 0), 1), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(gyre_system_inspect(fixture.system, &snapshot), 0);
	cr_assert_eq(snapshot->stalls, 1);
	gyre_snapshot_destroy(snapshot);
	close_watched();
	cr_assert_eq(lines_count, 2);
	cr_assert_not_null(strstr(lines[0], "loop 0: stall: actor stuck has been"), "%s", lines[0]);
	cr_assert_not_null(strstr(lines[0], "message number"), "%s", lines[0]);
	cr_assert_not_null(strstr(lines[1], "loop 0: backtrace: "), "%s", lines[1]);
	cr_assert_not_null(strstr(lines[1], " < "), "%s", lines[1]);
}

static int get_stuck_for_long(struct gyre_stack *stack)
{
	get_stuck();
	stay_busy_ms(STALL_MS * 3);
	return fixture_end(stack);
}

Test(watchdog, tells_each_stall_once)
{
	const struct gyre_class class = { .name = "long", .behaviour.notice = get_stuck_for_long };

	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	cr_assert_eq(notify_outside(spawn_outside(&class, 0), 1), 0);
	run_watched();
	cr_assert_eq(lines_with("stall:"), 1);
}

static int get_stuck_in_mount(struct gyre_stack *stack)
{
	get_stuck();
	return gyre_stop(stack, gyre_self(stack));
}

static void get_stuck_in_clean(void *state)
{
	(void)state;
	get_stuck();
	gyre_system_stop(fixture.system);
}

Test(watchdog, sees_hooks_which_have_no_message)
{
	const struct gyre_class class = {
		.name = "hooks",
		.mount = get_stuck_in_mount,
		.clean = get_stuck_in_clean,
	};

	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	(void)spawn_outside(&class, 0);
	run_watched();
	cr_assert_eq(lines_with("actor hooks has been in one handler"), 2);
	cr_assert_eq(lines_with("with no message"), 2);
}

struct sleeper_frame {
	struct gyre_future slept;
};

static int get_stuck_after_sleep(struct gyre_stack *stack)
{
	struct sleeper_frame *frame = (struct sleeper_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->slept));
	get_stuck();
	return fixture_end(stack);
	GYRE_END(stack);
}

static int ignore_event(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

Test(watchdog, knows_the_message_of_a_handler_that_has_waited)
{
	const struct gyre_class class = {
		.name = "sleeper",
		.frame_bytes = sizeof(struct sleeper_frame),
		.behaviour = { .notice = get_stuck_after_sleep, .event = ignore_event },
	};

	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	cr_assert_eq(notify_outside(spawn_outside(&class, 0), 1), 0);
	run_watched();
	cr_assert_eq(lines_with("actor sleeper has been"), 1);
	cr_assert_eq(lines_with("message number"), 1);
}

static uint64_t longest_ns; /* on a busy machine a loop may be kept off its CPU */

static int be_short(struct gyre_stack *stack)
{
	uint64_t left = gyre_message(stack, number)->value;
	uint64_t from_ns = gy_clock_machine_ns();

	stay_busy_ms(2);
	from_ns = gy_clock_machine_ns() - from_ns;
	longest_ns = from_ns > longest_ns ? from_ns : longest_ns;
	return left == 0 ? fixture_end(stack) : gyre_return(stack);
}

Test(watchdog, takes_many_short_messages_in_one_run_for_no_stall)
{
	enum { MESSAGES = 150, LIMIT_MS = 100 };
	const struct gyre_class class = { .name = "short", .behaviour.notice = be_short };
	struct gyre_address address;

	open_watched(1, GYRE_MILLISECONDS(LIMIT_MS));
	address = spawn_outside(&class, 0);
	for (uint64_t left = MESSAGES; left-- > 0;) {
		cr_assert_eq(notify_outside(address, left), 0);
	}
	run_watched();
	cr_assert(lines_count == 0 || longest_ns >= GYRE_MILLISECONDS(LIMIT_MS), "%s", lines[0]);
}

static int stall_until_seen(struct gyre_stack *stack)
{
	uint64_t before = gyre_message(stack, number)->value;

	while (gy_load_relaxed(&fixture.system->stalls) == before) {
		(void)sched_yield();
	}
	return before == 6 ? fixture_end(stack) : gyre_return(stack);
}

Test(watchdog, logs_five_stalls_a_minute_and_counts_the_rest)
{
	const struct gyre_class class = { .name = "often", .behaviour.notice = stall_until_seen };
	struct gyre_address address;

	open_watched(1, GYRE_MILLISECONDS(100));
	address = spawn_outside(&class, 0);
	for (uint64_t i = 0; i < 7; i++) {
		cr_assert_eq(notify_outside(address, i), 0);
	}
	run_watched();
	cr_assert_eq(lines_with("stall:"), 5);
	cr_assert_eq(lines_with("backtrace:"), 5);
	cr_assert_eq(lines_with("2 stalls were not logged"), 1);
}

static int end_unwatched(struct gyre_stack *stack)
{
	expect(fixture.system->watchdog == NULL);
	return fixture_end(stack);
}

Test(watchdog, is_not_there_when_nobody_wants_it)
{
	const struct gyre_class class = { .name = "unwatched", .mount = end_unwatched };

	open_watched(1, GYRE_STALL_NEVER);
	(void)spawn_outside(&class, 0);
	run_watched();
}

static void wait_until_asleep(const struct gy_watchdog *dog)
{
	while (gy_load_relaxed(&dog->watch.asleep) == 0) {
		(void)sched_yield();
	}
}

/* Waits for what never comes. */
static void wait_ms(int ms)
{
	struct pollfd nothing = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };

	cr_assert_eq(poll(&nothing, 1, ms), 0);
	(void)close(nothing.fd);
}

Test(watchdog, sleeps_while_all_loops_are_parked_and_wakes_with_the_first_that_is_not)
{
	struct gyre_address address;
	const struct gy_watchdog *dog;
	uint64_t ticks;

	open_watched(2, GYRE_MILLISECONDS(STALL_MS));
	address = spawn_outside(&stuck_class, 1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	dog = fixture.system->watchdog;
	do { /* a loop that begins late wakes it once more */
		wait_until_asleep(dog);
		ticks = gy_load_relaxed(&dog->ticks);
		wait_ms(STALL_MS * 2);
	} while (gy_load_relaxed(&dog->ticks) != ticks);
	cr_assert_eq(notify_outside(address, 1), 0);
	close_watched();
	cr_assert_eq(lines_with("loop 1: stall: actor stuck"), 1);
}

/* ---- the signal ---- */

static void ignore_signal(int number)
{
	(void)number;
}

static void occupy(int from, int to)
{
	const struct sigaction action = { .sa_handler = ignore_signal };

	for (int number = from; number <= to; number++) {
		cr_assert_eq(sigaction(number, &action, NULL), 0);
	}
}

static bool is_occupied_by(int number, void (*handler)(int))
{
	struct sigaction action;

	cr_assert_eq(sigaction(number, NULL, &action), 0);
	return action.sa_handler == handler;
}

/* It may get stuck before it has ever been parked. */
Test(watchdog, is_woken_by_a_loop_that_begins)
{
	struct gy_worker worker = { .home = NULL };
	const struct gy_watchdog *dog;
	uint64_t ticks;

	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	worker.system = fixture.system;
	worker.home = &fixture.system->homes.homes[0];
	gy_watchdog_start(fixture.system);
	dog = fixture.system->watchdog;
	wait_until_asleep(dog);
	ticks = gy_load_relaxed(&dog->ticks);
	gy_watchdog_enter(&worker);
	cr_expect_eq(gy_load_relaxed(&dog->watch.asleep), 0);
	while (gy_load_relaxed(&dog->ticks) == ticks) {
		(void)sched_yield();
	}
	gy_watchdog_leave(&worker);
	gy_watchdog_stop(fixture.system);
	gyre_system_destroy(fixture.system);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
}

Test(watchdog, tells_less_where_no_signal_is_free)
{
	occupy(SIGRTMIN + 5, SIGRTMAX);
	releasing = "stall:";
	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	cr_assert_eq(notify_outside(spawn_outside(&stuck_class, 0), 1), 0);
	run_watched();
	cr_assert_eq(lines_with("no real-time signal is free"), 1);
	/* One that is kept off its CPU for so long looks the same. */
	cr_assert_geq(lines_with("loop 0: stall: an actor has been running for"), 1);
	cr_assert_eq(lines_count, 1 + lines_with("loop 0: stall: an actor has been running for"));
}

Test(watchdog, takes_a_signal_that_nobody_has_and_gives_it_back)
{
	struct gyre_system *first;

	occupy(SIGRTMIN + 5, SIGRTMIN + 5);
	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	first = fixture.system;
	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	cr_assert_eq(gyre_system_start(first), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert(is_occupied_by(SIGRTMIN + 5, ignore_signal));
	cr_assert_not(is_occupied_by(SIGRTMIN + 6, SIG_DFL));
	gyre_system_destroy(first);
	cr_assert_not(is_occupied_by(SIGRTMIN + 6, SIG_DFL));
	gyre_system_stop(fixture.system);
	close_watched();
	cr_assert(is_occupied_by(SIGRTMIN + 6, SIG_DFL));
	cr_assert(is_occupied_by(SIGRTMIN + 5, ignore_signal));
}

static int send_signal_to_oneself(struct gyre_stack *stack)
{
	expect(raise(fixture.system->watchdog->signal) == 0);
	return fixture_end(stack);
}

Test(watchdog, bears_its_signal_from_anybody_on_any_thread)
{
	const struct gyre_class class = { .name = "raiser", .mount = send_signal_to_oneself };

	open_watched(1, GYRE_MILLISECONDS(STALL_MS));
	(void)spawn_outside(&class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(raise(SIGRTMIN + 5), 0);
	close_watched();
	cr_assert_eq(lines_count, 0);
}

static void open_embedded(void)
{
	open_watched_with((struct gyre_system_options){
		.loops = 1, .stall_ns = GYRE_MILLISECONDS(STALL_MS), .embedded = true });
}

static bool is_pending(int number)
{
	sigset_t pending;

	expect(sigpending(&pending) == 0);
	return sigismember(&pending, number) == 1;
}

Test(watchdog, hears_of_a_thread_of_the_program_also_where_that_blocks_all_signals)
{
	sigset_t all;
	sigset_t before;
	int number;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGALRM);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
	open_embedded();
	cr_assert_eq(notify_outside(spawn_outside(&stuck_class, 0), 1), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	number = fixture.system->watchdog->signal;
	close_watched();
	cr_expect_eq(lines_with("loop 0: stall: actor stuck"), 1);
	cr_expect_not(is_pending(number));
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &all), 0);
	cr_expect_eq(sigismember(&all, number), 1);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

static int block_until_sent(struct gyre_stack *stack)
{
	int number = fixture.system->watchdog->signal;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	expect(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	while (!is_pending(number)) {
		gy_pause();
	}
	return fixture_end(stack);
}

/* It would end the process, whose it is again. */
Test(watchdog, leaves_no_signal_behind_that_a_thread_of_the_program_has_blocked)
{
	const struct gyre_class class = { .name = "blocking", .mount = block_until_sent };
	sigset_t set;
	int number;

	cr_assert_neq(signal(SIGPIPE, SIG_IGN), SIG_ERR); /* or each turn restores the mask */
	open_embedded();
	(void)spawn_outside(&class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	number = fixture.system->watchdog->signal;
	close_watched();
	cr_assert_not(is_pending(number));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	cr_assert_eq(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
}

/* A number of that many letters, where no code is: it is written as it stands. */
static void *nowhere(int letters)
{
	return (void *)(uintptr_t)(1ULL << (4 * (letters - (int)sizeof("0x"))));
}

/* One letter more or less decides where the text ends: each length is tried. */
Test(watchdog, ends_a_backtrace_that_is_too_long_within_its_text)
{
	struct {
		char text[GY_STALL_WHERE_BYTES];
		char behind[64];
	} where;
	struct gy_stall stall = { .frames_count = GY_STALL_FRAMES };

	for (int first = 3; first <= 18; first++) {
		for (int second = 3; second <= 18; second++) {
			memset(&where, 'x', sizeof(where));
			for (int i = 0; i < GY_STALL_FRAMES; i++) {
				stall.frames[i] = (void *)(uintptr_t)criterion_internal_test_main;
			}
			stall.frames[0] = nowhere(first);
			stall.frames[1] = nowhere(second);
			gy_stall_write_where(&stall, where.text);
			cr_assert_lt(strnlen(where.text, sizeof(where.text)), sizeof(where.text));
			for (size_t i = 0; i < sizeof(where.behind); i++) {
				cr_assert_eq(where.behind[i], 'x', "%d and %d letters", first,
					     second);
			}
		}
	}
}
#endif
