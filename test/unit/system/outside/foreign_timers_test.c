/*
 * Notices that threads without a loop have sent later: what such threads do to each other, and what
 * becomes of the notices as a system ends. test/unit/sim/outside_timer_test.c has the times.
 */
#include <gyre/group.h>
#include <gyre/timer.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "actor/parcel_rig.h"
#include "base/atomic.h"
#include "system/system.h"

static uint32_t heard;

static int hear(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&heard, 1);
	return gyre_return(stack);
}

static const struct gyre_class hearer_class = { .name = "hearer", .behaviour.notice = hear };

static void wait_until_heard(uint32_t count)
{
	while (gy_load_acquire(&heard) < count) {
		(void)sched_yield();
	}
}

static int send_after(uint64_t key, struct gyre_address to, uint64_t value, uint64_t delay_ms)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_MILLISECONDS(delay_ms) };

	return gyre_system_send_after(fixture.system, key, to,
				      gyre_system_new(fixture.system, number, value), &options);
}

static struct gyre_address open_running(uint32_t loops)
{
	fixture_open(loops);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	return spawn_outside(&hearer_class, loops - 1);
}

static void stop_and_close(void)
{
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

Test(outside_timer, counts_a_delay_from_the_call_where_the_system_starts_later)
{
	struct gyre_address hearer;

	fixture_open(1);
	hearer = spawn_outside(&hearer_class, 0);
	cr_assert_eq(send_after(1, hearer, 1, 0), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	wait_until_heard(1);
	stop_and_close();
}

/* As after a spawn for which the loop had no memory: the address names nobody. */
Test(outside_timer, are_kept_though_the_first_keeper_could_not_be_made)
{
	struct gyre_address hearer = open_running(2);

	fixture.system->foreign_timers.keeper = hearer;
	fixture.system->foreign_timers.keeper.loop = 0;
	fixture.system->foreign_timers.keeper.cookie = UINT32_MAX;
	cr_assert_eq(send_after(1, hearer, 1, 0), 0);
	wait_until_heard(1);
	stop_and_close();
}

Test(outside_timer, that_waits_when_the_system_ends_leaves_a_dead_letter)
{
	struct gyre_address hearer = open_running(2);
	const struct gyre_timer_options late = { .delay_ns = GYRE_SECONDS(60) };

	cr_assert_eq(gyre_system_send_after(fixture.system, 1, hearer, parcel_outside(1), &late),
		     0);
	cr_assert_eq(send_after(2, hearer, 1, 1), 0);
	wait_until_heard(1);
	stop_and_close();
	cr_assert_eq(gy_load_acquire(&parcels_destroyed), 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SHUTDOWN] +
			     fixture.counters.dropped[GYRE_DROP_STOPPED],
		     1);
}

struct letter_of_thanks {
	uint64_t words[8];
};
GYRE_MESSAGE(letter_of_thanks, 0x1201);

static int thank(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, gyre_sender(stack),
			   gyre_new(stack, letter_of_thanks, { 1, 2, 3, 4, 5, 6, 7, 8 })) == 0);
	return hear(stack);
}

static const struct gyre_class thanking_class = { .name = "thanking", .behaviour.notice = thank };

Test(outside_timer, goes_on_when_its_notice_is_answered_by_one)
{
	struct gyre_address hearer = open_running(2);
	struct gyre_address thanking = spawn_outside(&thanking_class, 0);

	cr_assert_eq(send_after(1, thanking, 1, 0), 0);
	wait_until_heard(1);
	cr_assert_eq(send_after(2, hearer, 1, 0), 0);
	wait_until_heard(2);
	stop_and_close();
}

static const struct gyre_address *asked;

static void *send_many(void *arg)
{
	const uint64_t *number = (const uint64_t *)arg;

	for (uint64_t i = 0; i < 100; i++) {
		expect(send_after(*number * 100 + i, *asked, i, i % 3) == 0);
	}
	return NULL;
}

Test(outside_timer, of_many_threads_at_once_are_all_kept)
{
	struct gyre_address hearer = open_running(2);
	pthread_t threads[4];
	uint64_t numbers[4];

	asked = &hearer;
	for (uint64_t i = 0; i < 4; i++) {
		numbers[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, send_many, &numbers[i]), 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	wait_until_heard(400);
	stop_and_close();
}

Test(outside_timer, that_is_wrong_is_refused_and_what_it_owns_is_freed)
{
	struct gyre_address hearer = open_running(1);
	const struct gyre_timer_options once = { 0 };
	const struct gyre_timer_options often = { .period_ns = 1 };
	struct gyre_address elsewhere = hearer;

	elsewhere.loop = 77;
	cr_assert_eq(gyre_system_send_after(NULL, 1, hearer, parcel_outside(1), &once), -EINVAL);
	cr_assert_eq(gyre_system_send_after(fixture.system, 1, hearer, parcel_outside(1), NULL),
		     -EINVAL);
	cr_assert_eq(gyre_system_send_after(fixture.system, 1, elsewhere, parcel_outside(1), &once),
		     -EINVAL);
	cr_assert_eq(gyre_system_send_after(fixture.system, 1, hearer, parcel_outside(1), &often),
		     -EINVAL);
	cr_assert_eq(gyre_system_send_after(fixture.system, 1, hearer, NULL, &once), -ENOMEM);
	cr_assert_eq(gyre_system_timer_stop(NULL, 1), -EINVAL);
	cr_assert_eq(gy_load_acquire(&parcels_destroyed), 4);
	stop_and_close();
	cr_assert_eq(gy_load_relaxed(&heard), 0);
}

Test(outside_timer, after_the_stop_is_refused)
{
	struct gyre_address hearer = open_running(1);

	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(send_after(1, hearer, 1, 0), -ESHUTDOWN);
	cr_assert_eq(gyre_system_timer_stop(fixture.system, 1), -ESHUTDOWN);
	fixture_close();
}
