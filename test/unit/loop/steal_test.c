/*
 * Stealing: what a loop publishes, when, and who takes it. Both loops are on the test's thread;
 * jobs that a thief has run are counted and not sent home.
 */
#include "loop_support.h"

#include "loop/steal.h"

enum { JOBS = 300, FLOOR = 32, AGGRESSION = 128 };

static struct gy_loop *owner;
static struct gy_loop *thief;
static struct test_job jobs[JOBS];
static uint32_t stolen;
static uint32_t unsealed;
static uint32_t unsealable; /* of the first jobs */

static bool seal(struct gy_loop *loop, struct gy_job *job)
{
	(void)loop;
	return (uint32_t)(gy_container_of(job, struct test_job, job) - jobs) >= unsealable;
}

static void unseal(struct gy_loop *loop, struct gy_job *job)
{
	unsealed++;
	gy_loop_ready_state(loop, job, false);
}

static void run_stolen(struct gy_loop *loop, struct gy_job *job)
{
	cr_assert_eq(loop, thief);
	gy_container_of(job, struct test_job, job)->times++;
	stolen++;
}

static void setup(void)
{
	static struct gy_loop_ops ops;
	struct gy_loop_options options = test_options(0);

	ops = test_ops;
	ops.seal = seal;
	ops.unseal = unseal;
	ops.run_stolen = run_stolen;
	options.ops = &ops;
	options.steal_floor = FLOOR;
	options.steal_aggression = AGGRESSION;
	loops_open(2, &options);
	owner = test_loops[0];
	thief = test_loops[1];
	cr_assert_eq(gy_loop_enter(owner), 0);
	cr_assert_eq(gy_ring_enable(thief->ring), 0);
	thief->idle_count = 1;
}

static void teardown(void)
{
	gy_loop_unpublish(owner);
	while (gy_queue_pop(&owner->state) != NULL) {
	}
	gy_loop_leave();
	loops_close();
}

static void make_ready(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gy_loop_ready_state(owner, &jobs[i].job, false);
	}
}

TestSuite(steal, .init = setup, .fini = teardown);

/* ---- publishing ---- */

Test(steal, leaves_a_loop_what_it_keeps_for_itself)
{
	make_ready(FLOOR);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 0);
	cr_assert_eq(test_peers->published, 0);
}

Test(steal, can_have_what_is_more_than_that)
{
	make_ready(FLOOR + 1);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 1);
	cr_assert_eq(owner->state.count, FLOOR);
	cr_assert_eq(test_peers->published, 1);
	cr_assert_eq(owner->counters.jobs_published, 1);
}

Test(steal, costs_nothing_where_nobody_is_idle)
{
	thief->idle_count = 0;
	make_ready(JOBS);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 0);
	cr_assert_eq(owner->state.count, JOBS);
}

Test(steal, is_bounded_by_the_ring)
{
	make_ready(JOBS);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), GY_STEAL_RING_SLOTS);
	cr_assert_eq(owner->state.count, JOBS - GY_STEAL_RING_SLOTS);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), GY_STEAL_RING_SLOTS);
}

Test(steal, leaves_alone_what_must_stay_and_pauses_if_that_is_all)
{
	unsealable = JOBS;
	make_ready(FLOOR + 10);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 0);
	cr_assert_eq(owner->state.count, FLOOR + 10);
	unsealable = 0;
	for (uint32_t i = 0; i < 16; i++) {
		gy_loop_publish(owner);
		cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 0);
	}
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 10);
}

Test(steal, leaves_what_must_stay_where_it_stood_in_the_queue)
{
	unsealable = 10;
	make_ready(FLOOR + 20);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 10);
	cr_assert_eq(owner->state.count, FLOOR + 10);
	for (uint32_t i = 0; i < FLOOR + 10; i++) {
		cr_assert_eq(gy_queue_pop(&owner->state), &jobs[i < 10 ? i : i + 10].job);
	}
}

Test(steal, is_not_looked_for_beyond_what_the_ring_can_hold)
{
	unsealable = GY_STEAL_RING_SLOTS;
	make_ready(JOBS);
	gy_loop_publish(owner);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), 0);
	cr_assert_eq(owner->state.count, JOBS);
}

Test(steal, wakes_one_parked_peer)
{
	thief->idle_count = 0;
	thief->parked = GY_PARKED;
	make_ready(FLOOR + 1);
	gy_loop_publish(owner);
	cr_assert_eq(owner->counters.wakes_sent, 1);
	cr_assert_eq(thief->parked, GY_PARKED_WAKER + owner->index);
}

Test(steal, flushes_what_was_sent_before_it_publishes)
{
	struct test_node *node = (struct test_node *)gy_loop_node_get(owner, sizeof(*node));

	node->node.kind = TEST_MAIL;
	node->number = 1;
	gy_loop_send(owner, 1, &node->node);
	make_ready(FLOOR + 1);
	gy_loop_publish(owner);
	cr_assert_not(gy_inbox_empty(&thief->inbox));
	gy_loop_drain_inbox(thief);
	gy_loop_drain_inbox(owner);
}

Test(steal, gives_back_at_the_next_turn_what_nobody_has_taken)
{
	make_ready(FLOOR + 5);
	gy_loop_publish(owner);
	gy_loop_unpublish(owner);
	cr_assert_eq(unsealed, 5);
	cr_assert_eq(owner->state.count, FLOOR + 5);
	cr_assert_eq(test_peers->published, 0);
}

Test(steal, lets_every_job_run_once_in_turns_of_their_owner)
{
	make_ready(JOBS);
	while (owner->state.count > 0 || gy_steal_ring_count(&owner->steal_ring) > 0) {
		turn(owner);
	}
	for (uint32_t i = 0; i < JOBS; i++) {
		cr_assert_eq(jobs[i].times, 1);
	}
}

/* ---- taking ---- */

/* With so many ready at the owner a thief takes one from its @idle_count th idle turn on. */
static void assert_hesitates(uint32_t ready_count, uint32_t idle_count)
{
	make_ready(ready_count);
	gy_loop_publish(owner);
	thief->idle_count = idle_count - 1;
	cr_assert_not(gy_loop_steal(thief));
	thief->idle_count = idle_count;
	cr_assert(gy_loop_steal(thief));
	cr_assert_eq(stolen, 1);
	cr_assert_eq(gy_steal_ring_count(&owner->steal_ring), ready_count - FLOOR - 1);
	cr_assert_eq(test_peers->published, ready_count - FLOOR - 1);
	cr_assert_eq(thief->counters.jobs_stolen, 1);
}

Test(steal, of_33_ready_jobs_takes_four_idle_turns)
{
	assert_hesitates(33, 4);
}

Test(steal, of_64_ready_jobs_takes_two_idle_turns)
{
	assert_hesitates(64, 2);
}

Test(steal, of_128_ready_jobs_takes_one_idle_turn)
{
	make_ready(128);
	gy_loop_publish(owner);
	thief->idle_count = 1;
	cr_assert(gy_loop_steal(thief));
}

Test(steal, is_of_others_only)
{
	make_ready(JOBS);
	gy_loop_publish(owner);
	owner->idle_count = 1000;
	cr_assert_not(gy_loop_steal(owner));
}

Test(steal, is_of_a_loop_that_retires_too)
{
	owner = test_loops[1];
	thief = test_loops[0];
	thief->idle_count = 1;
	make_ready(128);
	gy_loop_publish(owner);
	gy_store_release(&test_peers->count, 1);
	cr_assert(gy_steal_is_possible(thief));
	cr_assert(gy_loop_steal(thief));
	gy_store_release(&test_peers->count, 2);
}

Test(steal, takes_one_in_an_idle_turn_and_then_begins_to_count_anew)
{
	make_ready(200);
	gy_loop_publish(owner);
	thief->idle_count = 0;
	turn(thief);
	cr_assert_eq(stolen, 1);
	cr_assert_eq(thief->idle_count, 0);
	turn(thief);
	cr_assert_eq(stolen, 2);
}

Test(steal, does_not_let_a_loop_sleep_while_there_is_something_to_take)
{
	make_ready(FLOOR + 1);
	gy_loop_publish(owner);
	thief->idle_count = 0;
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(stolen, 0);
		gy_loop_turn(thief); /* would hang if it blocked */
	}
	cr_assert_eq(stolen, 1);
	cr_assert_eq(thief->counters.parks, 0);
}
