/*
 * Tests: one actor, one class or one pipeline at a time, in virtual time. A test is a function that
 * runs beside a system of one loop on a simulated host. It sends as a probe, which is an actor with
 * a mailbox that the test reads. gyre/test_channel.h gives it the peers of channels too, and
 * gyre/tap.h what passes their pipelines.
 *
 *	static void it_counts(struct gyre_test *test, void *arg)
 *	{
 *		struct gyre_address counter =
 *			gyre_test_spawn(test, &counter_class, GYRE_NO_ARGUMENT);
 *		struct gyre_probe *probe = gyre_probe_create(test);
 *
 *		gyre_probe_notify(probe, counter, gyre_test_new(test, add, .count = 3));
 *		gyre_probe_ask(probe, counter, gyre_test_new(test, count_of), GYRE_SECONDS(1));
 *		gyre_test_check(test, gyre_probe_expect(probe, count, GYRE_SECONDS(1))->count == 3);
 *	}
 *
 *	int main(void)
 *	{
 *		return gyre_test_run(NULL, it_counts, NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
 *	}
 *
 * Under a framework for tests, gyre_test_run() is called in the framework's test.
 *
 * A failure is told to a function of the options. Without one its place, its text and the seed are
 * printed, and the program ends by abort(), which each framework takes for a failed test. Where
 * that function returns, the test goes on, and gyre_test_run() fails in the end.
 *
 * Time passes only while the test waits in one of these calls, and costs nothing: a test of a
 * time-out of a day takes milliseconds. Messages that are lost and memory that is not given back
 * are failures, unless the test expects them or the options allow them. All that gyre/sim.h says of
 * hosts holds for the host of a test.
 *
 * The functions that can fail a test have macros of their names without _at, which add the place:
 * the macros are what tests call.
 */
#ifndef GYRE_TEST_H
#define GYRE_TEST_H

#include <gyre/actor.h>
#include <gyre/counters.h>
#include <gyre/outside.h>
#include <gyre/sim.h>
#include <gyre/system.h>

GYRE_BEGIN_DECLS

struct gyre_probe;
struct gyre_test;

#define GYRE_TEST_TEXT_(LINE)	     #LINE
#define GYRE_TEST_PLACE_(FILE, LINE) FILE ":" GYRE_TEST_TEXT_(LINE)

/** GYRE_TEST_HERE - the place of a call, for the functions whose names end in _at */
#define GYRE_TEST_HERE GYRE_TEST_PLACE_(__FILE__, __LINE__)

/* ---- running ---- */

/**
 * gyre_test_fn - a test
 * @test: what it runs in
 * @arg: that of gyre_test_run()
 *
 * Runs in no phase of a loop: on the main thread of a simulated host, beside the loops of the
 * system. It may call all that a thread outside of the loops may, and it may block. It is not
 * re-entered; its first call is the last call.
 */
typedef void (*gyre_test_fn)(struct gyre_test *test, void *arg);

/**
 * gyre_test_failure_fn - hears that a test has failed
 * @place: the file and the line of the call, as "FILE:LINE"
 * @text: what was expected, and what came
 * @arg: @failure_arg of struct gyre_test_options
 *
 * Runs in no phase of a loop, where the call was made. It may end the process; when it returns the
 * test goes on. It is not re-entered. The last call is before gyre_test_run() returns. Both texts
 * are valid during the call.
 */
typedef void (*gyre_test_failure_fn)(const char *place, const char *text, void *arg);

/**
 * struct gyre_test_options - what a test runs in; all zero is the default
 * @sim: the simulation, as its seed and its trace; NULL for one of seed 0
 * @system: the system; NULL for one of defaults. @loops of 0 is 1 here. Its @dead_letter is called
 *   for each lost message too
 * @time_ns_max: a test that has not ended after so much time of the simulation fails; 0 for an hour
 * @allow_dead_letters: messages may be lost
 * @allow_leaks: what the test and its actors took from gyre may be kept
 * @failure: hears of each failure; NULL prints it and aborts the program
 * @failure_arg: for @failure
 */
struct gyre_test_options {
	const struct gyre_sim_options *sim;
	const struct gyre_system_options *system;
	uint64_t time_ns_max;
	bool allow_dead_letters;
	bool allow_leaks;
	gyre_test_failure_fn failure;
	void *failure_arg;
};

/**
 * gyre_test_run() - runs one test
 * @options: what it runs in; NULL for the defaults
 * @body: the test
 * @arg: for @body
 *
 * Makes a simulation with one host, whose clock runs as that of the simulation does, and starts a
 * system there. When @body has returned, the system has ten more milliseconds for what is under
 * way; then the dead letters are looked at, and the system stops. Mails, buffers and shared bytes
 * that nobody has given back by then are a failure too.
 *
 * Return: 0 when nothing has failed, or a negative errno.
 * Errors:
 *   -EINVAL  @body is NULL, or the call is made inside of a host
 *   -ENOTRECOVERABLE  the test has failed, and was told so
 *   others   the simulation or the system could not be made: see gyre_sim_create(),
 *     gyre_system_create() and gyre_system_start()
 * Ownership: nothing changes hands. All probes and channels of the test are freed.
 * Context: any thread, outside of simulated hosts.
 * Since: 0.1
 */
GYRE_API int gyre_test_run(const struct gyre_test_options *options, gyre_test_fn body, void *arg);

/**
 * gyre_test_system() - the system of a test
 * @test: the test
 *
 * For all calls of a thread outside of the loops, such as gyre_system_group_spawn().
 *
 * Return: the system.
 * Ownership: stays the test's, which stops it in the end.
 * Context: any thread of the test's host.
 * Since: 0.1
 */
GYRE_API struct gyre_system *gyre_test_system(const struct gyre_test *test);

/**
 * gyre_test_sim() - the simulation of a test
 * @test: the test
 *
 * For gyre_sim_random() and gyre_sim_now(), and whatever else may be called inside of hosts.
 *
 * Return: the simulation.
 * Ownership: stays the test's.
 * Context: any thread of the test's host.
 * Since: 0.1
 */
GYRE_API struct gyre_sim *gyre_test_sim(const struct gyre_test *test);

/** gyre_test_new() - a mail as by gyre_new(): gyre_test_new(test, price_of, .item = 7) */
#define gyre_test_new(TEST, ...) gyre_system_new(gyre_test_system(TEST), __VA_ARGS__)

/**
 * gyre_test_advance() - lets time pass
 * @test: the test
 * @ns: how long, in nanoseconds
 *
 * Timers are never early, and late by up to a tick of the system, a millisecond by default. So a
 * time-out of a second has not passed after GYRE_SECONDS(1) minus a nanosecond, and has after
 * GYRE_SECONDS(1) and two ticks. A handler that calls it is one that takes so long: its loop does
 * nothing else meanwhile.
 *
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host; blocks.
 * Since: 0.1
 */
GYRE_API void gyre_test_advance(struct gyre_test *test, uint64_t ns);

/**
 * gyre_test_fail_at() - fails a test
 * @test: the test
 * @place: GYRE_TEST_HERE
 * @text: why
 *
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API void gyre_test_fail_at(struct gyre_test *test, const char *place, const char *text);

/** gyre_test_fail() - fails a test here with a text */
#define gyre_test_fail(TEST, TEXT) gyre_test_fail_at((TEST), GYRE_TEST_HERE, (TEXT))

/** gyre_test_check() - fails a test here unless a condition holds */
#define gyre_test_check(TEST, CONDITION)                                               \
	do {                                                                           \
		if (!(CONDITION)) {                                                    \
			gyre_test_fail_at((TEST), GYRE_TEST_HERE, "not: " #CONDITION); \
		}                                                                      \
	} while (0)

/**
 * gyre_test_spawn_at() - makes an actor to be tested
 * @test: the test
 * @actor_class: the class of the actor
 * @argument: the message of its mount hook, made by gyre_test_new(), or GYRE_NO_ARGUMENT
 * @place: GYRE_TEST_HERE
 *
 * As gyre_system_spawn() without options.
 *
 * Return: its address; GYRE_NOBODY if it could not be made, and then the test has failed.
 * Errors:
 *   as gyre_system_spawn()
 * Ownership: @argument is taken, whatever is returned. @actor_class stays the caller's.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_test_spawn_at(struct gyre_test *test,
						const struct gyre_class *actor_class,
						struct gyre_mail *argument, const char *place);

/** gyre_test_spawn() - makes an actor to be tested, with the argument of its mount hook */
#define gyre_test_spawn(TEST, CLASS, ARGUMENT) \
	gyre_test_spawn_at((TEST), (CLASS), (ARGUMENT), GYRE_TEST_HERE)

/* ---- what is lost, and what cannot be had ---- */

/**
 * gyre_test_expect_dead_letter_at() - waits for a message to be lost, which is no failure then
 * @test: the test
 * @type: the type of the message
 * @reason: why it is lost
 * @within_ns: how long at most, in the simulation's nanoseconds; 0 for one that was lost before
 * @place: GYRE_TEST_HERE
 *
 * At most 64 that nobody has expected yet are kept. Each dead letter is expected once. What is
 * dropped since its timer was stopped (GYRE_DROP_CANCELLED) is no dead letter for a test, nor is
 * the failure of an ask whose asker does not wait any more, unless it carries a message.
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -ETIMEDOUT  none was lost
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_test_expect_dead_letter_at(struct gyre_test *test, const struct gyre_type *type,
					     enum gyre_drop reason, uint64_t within_ns,
					     const char *place);

/** gyre_test_expect_dead_letter() - waits for a message of type NAME to be lost */
#define gyre_test_expect_dead_letter(TEST, NAME, REASON, WITHIN_NS)                       \
	gyre_test_expect_dead_letter_at((TEST), &gyre_type_##NAME, (REASON), (WITHIN_NS), \
					GYRE_TEST_HERE)

/**
 * gyre_test_fail_allocation() - has an allocation of gyre fail
 * @test: the test
 * @number: which, counted from 1 for the next one; 0 for none
 *
 * Counted are the pieces of memory that gyre takes on other threads than the one of gyre_test_fn,
 * such as those of its loops, but not in handlers of probes. A test that is run again and
 * again, each time with the next number, until gyre_test_recover() is false, has seen each
 * allocation fail.
 *
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API void gyre_test_fail_allocation(struct gyre_test *test, uint64_t number);

/**
 * gyre_test_recover() - has no allocation fail any more
 * @test: the test
 *
 * Return: whether one has failed since gyre_test_fail_allocation().
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API bool gyre_test_recover(struct gyre_test *test);

/* ---- probes ---- */

/**
 * gyre_test_fits_fn - whether a message is the one that gyre_probe_fish() looks for
 * @message: the payload
 * @arg: that of gyre_probe_fish()
 *
 * Runs in no phase of a loop, inside of gyre_probe_fish(), which a test must not call from there:
 * it is not re-entered. The last call is the one that returns true, or the one before the time is
 * over.
 *
 * Return: whether it is.
 */
typedef bool (*gyre_test_fits_fn)(const void *message, void *arg);

/**
 * gyre_probe_create_at() - makes an actor that a test sends and receives by
 * @test: the test
 * @place: GYRE_TEST_HERE
 *
 * It keeps notices, asks, events and the answers to its own asks in the order in which they come,
 * until the test expects them. An event whose type has a tail cannot be kept: see tail.h.
 *
 * Return: the probe; NULL if it could not be made, and then the test has failed.
 * Errors:
 *   NULL  see gyre_system_spawn()
 * Ownership: stays the test's, until gyre_test_run() returns.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API struct gyre_probe *gyre_probe_create_at(struct gyre_test *test, const char *place);

/** gyre_probe_create() - makes a probe */
#define gyre_probe_create(TEST) gyre_probe_create_at((TEST), GYRE_TEST_HERE)

/**
 * gyre_probe_address() - the address of a probe
 * @probe: the probe
 *
 * Return: the address, for messages that name a receiver.
 * Ownership: a value.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_probe_address(const struct gyre_probe *probe);

/**
 * gyre_probe_notify_at() - sends a notice as the probe
 * @probe: the probe
 * @to: the receiver; a stale address is allowed
 * @mail: the notice, made by gyre_test_new()
 * @place: GYRE_TEST_HERE
 *
 * Return: what gyre_notify() does. With -EINVAL and -ENOMEM the test has failed; with others @mail
 *   is with the dead letters, where the test may expect it.
 * Errors:
 *   as gyre_notify()
 * Ownership: @mail is taken, whatever is returned.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_notify_at(struct gyre_probe *probe, struct gyre_address to,
				  struct gyre_mail *mail, const char *place);

/** gyre_probe_notify() - sends a notice as the probe */
#define gyre_probe_notify(PROBE, TO, MAIL) \
	gyre_probe_notify_at((PROBE), (TO), (MAIL), GYRE_TEST_HERE)

/**
 * gyre_probe_ask_at() - asks as the probe, and does not wait
 * @probe: the probe
 * @to: the receiver; a stale address is allowed
 * @mail: the question, made by gyre_test_new()
 * @timeout_ns: how long the answer may take, as for gyre_ask()
 * @place: GYRE_TEST_HERE
 *
 * The answer comes to the probe's mailbox, for gyre_probe_expect(); so does the failure of the ask,
 * for gyre_probe_expect_failure().
 *
 * Return: 0, or a negative errno, and then the test has failed, but not in gyre_probe_do().
 * Errors:
 *   -ENOBUFS  it is one more than gyre_probe_do() allows; others as gyre_ask()
 * Ownership: @mail is taken, whatever is returned.
 * Context: any thread of the test's host, but no loop, where it blocks; or in gyre_probe_do().
 * Since: 0.1
 */
GYRE_API int gyre_probe_ask_at(struct gyre_probe *probe, struct gyre_address to,
			       struct gyre_mail *mail, uint64_t timeout_ns, const char *place);

/** gyre_probe_ask() - asks as the probe, and does not wait */
#define gyre_probe_ask(PROBE, TO, MAIL, TIMEOUT_NS) \
	gyre_probe_ask_at((PROBE), (TO), (MAIL), (TIMEOUT_NS), GYRE_TEST_HERE)

/**
 * gyre_probe_watch_at() - has the probe hear of an actor's end
 * @probe: the probe
 * @actor: the actor; a stale address is allowed
 * @place: GYRE_TEST_HERE
 *
 * The end comes as a message of type gyre_terminated: gyre_probe_expect(probe, gyre_terminated,
 * GYRE_SECONDS(1)).
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   as gyre_watch()
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_watch_at(struct gyre_probe *probe, struct gyre_address actor,
				 const char *place);

/** gyre_probe_watch() - has the probe hear of an actor's end */
#define gyre_probe_watch(PROBE, ACTOR) gyre_probe_watch_at((PROBE), (ACTOR), GYRE_TEST_HERE)

/**
 * gyre_test_do_fn - what a probe does as an actor
 * @stack: the stack of its handler, in which nothing can be awaited
 * @arg: that of gyre_probe_do()
 *
 * Runs in phase 3, on a loop, while gyre_probe_do() waits; it is not re-entered. Its first call is
 * the last call. Returns 0, or a negative errno. It may ask by gyre_probe_ask() of that probe, up
 * to 32 times: so all that it sends waits together for a receiver on its loop.
 */
typedef int (*gyre_test_do_fn)(struct gyre_stack *stack, void *arg);

/**
 * gyre_probe_do_at() - has the probe do what only actors can, as subscribe, or join a group
 * @probe: the probe
 * @function: what it does
 * @arg: for @function
 * @place: GYRE_TEST_HERE
 *
 * Return: what @function does; a negative errno has failed the test.
 * Errors:
 *   as @function, such as -ENOMEM
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_do_at(struct gyre_probe *probe, gyre_test_do_fn function, void *arg,
			      const char *place);

/** gyre_probe_do() - has the probe do what only actors can */
#define gyre_probe_do(PROBE, FUNCTION, ARG) \
	gyre_probe_do_at((PROBE), (FUNCTION), (ARG), GYRE_TEST_HERE)

/**
 * gyre_probe_expect_at() - takes the next message of a probe, which must be of a type
 * @probe: the probe
 * @type: the type
 * @within_ns: how long to wait for it at most, in the simulation's nanoseconds; 0 for what has come
 *   by now
 * @place: GYRE_TEST_HERE
 *
 * A message of another type is taken too, and fails the test.
 *
 * Return: the payload; NULL when there is none, and then the test has failed.
 * Errors:
 *   NULL  none came, one of another type came, or an ask of the probe has failed
 * Ownership: stays the probe's, until the next message is taken; that of an ask until it is
 *   answered.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API const void *gyre_probe_expect_at(struct gyre_probe *probe, const struct gyre_type *type,
					  uint64_t within_ns, const char *place);

/** gyre_probe_expect() - takes the next message, as const struct NAME *, or fails with NULL */
#define gyre_probe_expect(PROBE, NAME, WITHIN_NS)                                           \
	((const struct NAME *)gyre_probe_expect_at((PROBE), &gyre_type_##NAME, (WITHIN_NS), \
						   GYRE_TEST_HERE))

/**
 * gyre_probe_expect_failure_at() - waits for an ask of a probe to fail
 * @probe: the probe
 * @error: the negative errno that it must fail with
 * @within_ns: how long to wait at most, in the simulation's nanoseconds
 * @place: GYRE_TEST_HERE
 *
 * The next message is taken, whatever it is.
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG  another message or another errno came
 *   -ETIMEDOUT  nothing came
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_expect_failure_at(struct gyre_probe *probe, int error, uint64_t within_ns,
					  const char *place);

/** gyre_probe_expect_failure() - waits for an ask of a probe to fail with an errno */
#define gyre_probe_expect_failure(PROBE, ERROR, WITHIN_NS) \
	gyre_probe_expect_failure_at((PROBE), (ERROR), (WITHIN_NS), GYRE_TEST_HERE)

/**
 * gyre_probe_expect_none_at() - lets time pass in which no message may come
 * @probe: the probe
 * @for_ns: how long, in the simulation's nanoseconds; 0 for what has come by now
 * @place: GYRE_TEST_HERE
 *
 * Messages that came before and were not taken count. Returns at once when there is one, which
 * stays the next to be taken.
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG  a message came
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_expect_none_at(struct gyre_probe *probe, uint64_t for_ns,
				       const char *place);

/** gyre_probe_expect_none() - lets time pass in which no message may come */
#define gyre_probe_expect_none(PROBE, FOR_NS) \
	gyre_probe_expect_none_at((PROBE), (FOR_NS), GYRE_TEST_HERE)

/**
 * gyre_probe_fish_at() - takes messages of a probe until one fits, and forgets the others
 * @probe: the probe
 * @type: the type of that message
 * @fits: is asked of each message of the type; NULL for the first one
 * @arg: for @fits
 * @within_ns: how long to wait for it at most, in the simulation's nanoseconds
 * @place: GYRE_TEST_HERE
 *
 * Asks that are forgotten stay unanswered.
 *
 * Return: the payload of the one that fits; NULL when none came, and then the test has failed.
 * Errors:
 *   NULL  none came that fits
 * Ownership: stays the probe's, until the next message is taken; that of an ask until it is
 *   answered.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API const void *gyre_probe_fish_at(struct gyre_probe *probe, const struct gyre_type *type,
					gyre_test_fits_fn fits, void *arg, uint64_t within_ns,
					const char *place);

/** gyre_probe_fish() - takes messages until one of type NAME fits: const struct NAME * */
#define gyre_probe_fish(PROBE, NAME, FITS, ARG, WITHIN_NS)                                  \
	((const struct NAME *)gyre_probe_fish_at((PROBE), &gyre_type_##NAME, (FITS), (ARG), \
						 (WITHIN_NS), GYRE_TEST_HERE))

/**
 * gyre_probe_sender() - who sent the message that was taken last
 * @probe: the probe
 *
 * Return: the address; for an answer that of the actor which was asked; GYRE_NOBODY if no actor
 *   sent it, or none was taken.
 * Ownership: a value.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_probe_sender(const struct gyre_probe *probe);

/**
 * gyre_probe_reply_at() - answers the ask that was taken last
 * @probe: the probe
 * @mail: the answer, made by gyre_test_new()
 * @place: GYRE_TEST_HERE
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EALREADY   it was answered before
 *   -EINVAL     the message that was taken last is no ask
 *   -ETIMEDOUT  the asker does not wait any more
 *   others      as gyre_reply()
 * Ownership: @mail is taken, whatever is returned.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_reply_at(struct gyre_probe *probe, struct gyre_mail *mail,
				 const char *place);

/** gyre_probe_reply() - answers the ask that was taken last */
#define gyre_probe_reply(PROBE, MAIL) gyre_probe_reply_at((PROBE), (MAIL), GYRE_TEST_HERE)

/**
 * gyre_probe_throw_at() - fails the ask that was taken last
 * @probe: the probe
 * @error: the negative errno that the asker gets
 * @place: GYRE_TEST_HERE
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EALREADY   it was answered before
 *   -EINVAL     the message that was taken last is no ask, or @error is no negative errno
 *   -ETIMEDOUT  the asker does not wait any more
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_probe_throw_at(struct gyre_probe *probe, int error, const char *place);

/** gyre_probe_throw() - fails the ask that was taken last with an errno */
#define gyre_probe_throw(PROBE, ERROR) gyre_probe_throw_at((PROBE), (ERROR), GYRE_TEST_HERE)

GYRE_END_DECLS

#endif
