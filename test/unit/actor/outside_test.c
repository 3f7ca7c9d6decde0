/*
 * What threads do that are not loops: they send and spawn before the start, while the system runs,
 * when it stops, and after it has.
 */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

#include "actor/mail/mail.h"
#include "base/atomic.h"
#include "loop/loop.h"
#include "system/drain.h"
#include "system/outside_count.h"
#include "system/system.h"
#include "system/threads.h"

enum { THREADS = 4, EACH = 2000 };

static uint64_t next[THREADS];
static uint64_t received;
static struct gyre_address receiver;

/* Numbers carry their thread in the upper half. */
static int count_each(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	expect(gyre_address_is_nobody(gyre_sender(stack)));
	expect(next[value >> 32] == (value & UINT32_MAX));
	next[value >> 32]++;
	return ++received == THREADS * EACH ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class counting_class = { .name = "counting",
						  .behaviour.notice = count_each };

static void *send_each(void *arg)
{
	uint64_t thread = *(const uint64_t *)arg;

	for (uint64_t i = 0; i < EACH; i++) {
		expect(notify_outside(receiver, thread << 32 | i) == 0);
	}
	return NULL;
}

static void run_threads(bool before_start)
{
	static uint64_t numbers[THREADS];
	pthread_t threads[THREADS];

	fixture_open(2);
	receiver = spawn_outside(&counting_class, 1);
	if (!before_start) {
		cr_assert_eq(gyre_system_start(fixture.system), 0);
	}
	for (uint64_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, send_each, &numbers[i]), 0);
	}
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	if (before_start) {
		cr_assert_eq(received, 0);
		cr_assert_eq(gyre_system_start(fixture.system), 0);
	}
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_eq(received, THREADS * EACH);
}

Test(outside, notices_of_each_thread_arrive_in_order_while_the_system_runs)
{
	run_threads(false);
}

Test(outside, notices_sent_before_the_start_are_handled_after_it)
{
	run_threads(true);
}

static int end_at_once(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static const struct gyre_class ending_class = { .name = "ending", .mount = end_at_once };

Test(outside, notices_sent_after_the_end_are_counted_as_lost)
{
	fixture_open(1);
	receiver = spawn_outside(&ending_class, 0);
	fixture_run();
	for (uint64_t i = 0; i < 5; i++) {
		cr_assert_eq(notify_outside(receiver, i), -ESHUTDOWN);
	}
	fixture_close();
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SHUTDOWN], 5);
	cr_assert_eq(fixture.lost[GYRE_DROP_SHUTDOWN], 5);
}

/* As threads that looked at the system just before its end: what they post is found by the waiter.
 */
Test(outside, notices_and_spawns_that_fall_behind_the_loops_are_found_when_they_are_joined)
{
	struct gyre_address address;

	fixture_open(1);
	receiver = spawn_outside(&ending_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (gy_load_acquire(&fixture.system->stage) != GY_STAGE_END) {
	}
	cr_assert_eq(pthread_join(fixture.system->workers[0].thread, NULL), 0);
	fixture.system->workers[0].started = false;
	fixture.system->stage = GY_STAGE_RUNNING;
	fixture.system->stop = 0;
	cr_assert_eq(gyre_system_spawn(fixture.system, &sink_class,
				       gyre_system_new(fixture.system, number, 1), NULL, &address),
		     0);
	cr_assert_eq(notify_outside(address, 1), 0);
	cr_assert_eq(notify_outside(receiver, 2), 0);
	fixture.system->stop = 1;
	fixture.system->stage = GY_STAGE_END;
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_SHUTDOWN], 2);
	cr_assert(gyre_address_equal(fixture.letters[0].to, address));
	cr_assert(gyre_address_equal(fixture.letters[1].to, receiver));
}

/* The same, but nobody waits for the system afterwards. */
Test(outside, what_falls_behind_the_waiter_too_is_counted_by_who_posts_it)
{
	struct gyre_counters counters;
	struct gyre_address address;
	struct gyre_mail *stop = gy_mail_get_outside(&gy_type_stop);

	fixture_open(2);
	receiver = spawn_outside(&ending_class, 1);
	fixture_run();
	fixture.system->stage = GY_STAGE_RUNNING;
	fixture.system->stop = 0;
	cr_assert_eq(notify_outside(receiver, 1), 0);
	cr_assert_eq(gyre_system_spawn(fixture.system, &sink_class,
				       gyre_system_new(fixture.system, number, 1), NULL, &address),
		     0);
	cr_assert_eq(notify_outside(address, 2), 0);
	/* As a group does whose creation fails. */
	stop->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(stop);
	(void)gy_outside_count(fixture.system);
	gy_loop_post(&fixture.system->homes.homes[0].loop, &stop->node);
	fixture.system->stop = 1;
	fixture.system->stage = GY_STAGE_END;
	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	cr_assert_eq(counters.sent, 3);
	cr_assert_eq(counters.dropped[GYRE_DROP_SHUTDOWN], 3);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_SHUTDOWN], 3);
}

Test(outside, spawns_after_the_end_are_refused)
{
	struct gyre_address address;

	fixture_open(1);
	(void)spawn_outside(&ending_class, 0);
	fixture_run();
	cr_assert_eq(gyre_system_spawn(fixture.system, &sink_class,
				       gyre_system_new(fixture.system, number, 1), NULL, &address),
		     -ESHUTDOWN);
	fixture_close();
}

Test(outside, spawns_and_notices_of_a_system_that_never_runs_are_taken_down_in_good_order)
{
	fixture_open(2);
	receiver = spawn_outside(&counting_class, 1);
	for (uint64_t i = 0; i < 5; i++) {
		cr_assert_eq(notify_outside(receiver, i), 0);
	}
	fixture_close();
	cr_assert_eq(fixture.letters_count + received, 5);
}

Test(outside, misuse_is_refused_and_the_mail_is_not_lost)
{
	struct gyre_address nowhere = { .loop = 1, .cookie = 5 };
	struct gyre_address far = { .node = 1, .cookie = 5 };

	fixture_open(1);
	cr_assert_eq(notify_outside(nowhere, 1), -EINVAL);
	cr_assert_eq(notify_outside(far, 1), -EINVAL);
	cr_assert_eq(gyre_system_notify(fixture.system, GYRE_NOBODY, NULL), -ENOMEM);
	cr_assert_eq(
		gyre_system_notify(NULL, GYRE_NOBODY, gyre_system_new(fixture.system, number, 1)),
		-EINVAL);
	cr_assert_null(gyre_system_mail_create(NULL, &gyre_type_number));
	cr_assert_null(gyre_system_mail_create(fixture.system, NULL));
	gyre_mail_destroy(NULL, gyre_system_new(fixture.system, number, 1));
	fixture_close();
	cr_assert_eq(fixture.counters.sent, 0);
}

/* ---- spawning from threads, while others stop the system ---- */

static uint32_t stopping;

/* On a busy machine the loops may wait long for a CPU, and what comes meanwhile must have bounds.
 */
enum { SPAWNS_MAX = 10000 };

static void *spawn_and_send(void *arg)
{
	(void)arg;
	for (uint32_t i = 0;; i++) {
		struct gyre_address address;
		int r;

		while (i >= SPAWNS_MAX && gy_load_acquire(&stopping) == 0) {
			(void)sched_yield();
		}
		r = gyre_system_spawn(fixture.system, &sink_class,
				      gyre_system_new(fixture.system, number, 1), NULL, &address);

		if (r < 0) {
			expect(r == -ESHUTDOWN);
			expect(gy_load_acquire(&stopping) != 0);
			return NULL;
		}
		r = notify_outside(address, 1);
		expect(r == 0 || r == -ESHUTDOWN);
	}
}

static int end_later(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), future));
	gy_store_release(&stopping, 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(outside, spawns_and_notices_may_race_with_the_end_of_the_system)
{
	const struct gyre_class class = { .name = "script",
					  .mount = end_later,
					  .frame_bytes = FIXTURE_FRAME_BYTES };
	pthread_t threads[THREADS];

	fixture_open(2);
	(void)spawn_outside(&class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, spawn_and_send, NULL), 0);
	}
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}
