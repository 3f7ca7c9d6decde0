/*
 * Groups with one member a loop, while loops come and go.
 */
#include "resize_rig.h"

#include <gyre/group.h>
#include <gyre/outside.h>

#include <pthread.h>

#include "actor/stack/stack.h"
#include "system/system.h"

TestSuite(resize_groups, .timeout = 60);

static uint32_t counted; /* atomic */
static uint32_t spawned;
static uint32_t stop_sending;
static struct gyre_address group;
static uint32_t members_of[LOOPS_MAX];
static uint32_t handled_on[LOOPS_MAX];

static int mount_member(struct gyre_stack *stack)
{
	const struct number *argument = gyre_message(stack, number);

	expect(argument != NULL && argument->value == 42);
	(void)gy_fetch_add(&members_of[gyre_self(stack).loop], 1);
	return gyre_return(stack);
}

static int handle_as_member(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&handled_on[gyre_self(stack).loop], 1);
	(void)gy_fetch_add(&counted, 1);
	return gyre_return(stack);
}

static const struct gyre_class member_class = { .name = "member",
						.mount = mount_member,
						.behaviour.notice = handle_as_member };

static void flood_group(void)
{
	for (uint32_t i = 0; i < 1000; i++) {
		cr_assert_eq(notify_outside(group, i), 0);
	}
}

static void grow_and_shrink_group(void)
{
	flood_group();
	cr_assert_eq(resize(4), 0);
	flood_group();
	wait_for(&handled_on[3], 1);
	wait_for(&handled_on[2], 1);
	cr_assert_eq(resize(1), 0);
	flood_group();
	cr_assert_eq(resize(3), 0);
	flood_group();
	wait_for(&counted, 4000);
	wait_for(&members_of[1], 2);
	cr_expect_eq(members_of[0], 1);
	cr_expect_eq(members_of[3], 1);
	fixture_close();
	cr_expect_eq(fixture.letters_count, 0, "each was routed to one that could handle it");
}

Test(resize_groups, gives_a_group_with_one_member_a_loop_another_one_and_takes_it_again)
{
	begin(2);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class,
					     gyre_system_new(fixture.system, number, 42), NULL,
					     &group),
		     0);
	grow_and_shrink_group();
}

static int spawn_children_as_group(struct gyre_stack *stack)
{
	expect(gyre_group_spawn(stack, &member_class, gyre_new(stack, number, 42), NULL, &group) ==
	       0);
	gy_store_release(&spawned, 1);
	return gyre_return(stack);
}

static const struct gyre_class group_parent_class = { .name = "group parent",
						      .mount = spawn_children_as_group };

Test(resize_groups, gives_members_that_are_children_the_same_parent)
{
	begin(2);
	(void)spawn_outside(&group_parent_class, 0);
	wait_for(&spawned, 1);
	grow_and_shrink_group();
}

/* ---- a parent that another loop runs ---- */

enum { PARENTS = 200, STEAL_FLOOR = 32, ASKS = 100, NODES_AN_ASK_MAX = 20 };

static struct gyre_address parents[PARENTS];
static struct gyre_address holder;
static uint32_t stuck;
static uint32_t released;

static int spawn_one_group(struct gyre_stack *stack)
{
	struct gyre_address one;

	expect(gyre_group_spawn(stack, &member_class, gyre_new(stack, number, 42), NULL, &one) ==
	       0);
	(void)gy_fetch_add(&spawned, 1);
	return gyre_return(stack);
}

static int get_stuck_away(struct gyre_stack *stack)
{
	if (gy_stack_of(stack)->home->loop.index != gyre_self(stack).loop) {
		gy_store_release(&stuck, 1);
		wait_for(&released, 1);
	}
	return gyre_return(stack);
}

static const struct gyre_class stolen_class = { .name = "stolen parent",
						.mount = spawn_one_group,
						.behaviour.notice = get_stuck_away };

static int hold_up(struct gyre_stack *stack)
{
	wait_for(&stuck, 1);
	return gyre_return(stack);
}

static const struct gyre_class holder_class = { .name = "holder", .behaviour.notice = hold_up };

static int send_to_all(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < PARENTS; i++) {
		expect(gyre_notify(stack, parents[i], gyre_new(stack, number, 1)) == 0);
		if (i == PARENTS - STEAL_FLOOR) { /* the first of those that stay */
			expect(gyre_notify(stack, holder, gyre_new(stack, number, 1)) == 0);
		}
	}
	return gyre_return(stack);
}

static const struct gyre_class driver_class = { .name = "driver", .behaviour.notice = send_to_all };

/* Returns when the first loop goes on, and the second one runs an actor of it. */
static void have_one_stolen(void)
{
	const struct gyre_system_options options = { .loops = 2,
						     .loops_max = LOOPS_MAX,
						     .io_ratio = 100 };
	const struct gy_loop *other;
	struct gyre_address driver;

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t i = 0; i < PARENTS; i++) {
		parents[i] = spawn_outside(&stolen_class, 0);
	}
	holder = spawn_outside(&holder_class, 0);
	driver = spawn_outside(&driver_class, 0);
	wait_for(&members_of[1], PARENTS);
	wait_for(&spawned, PARENTS);
	other = &fixture.system->homes.homes[1].loop;
	while (gy_load_full(&other->parked) != GY_PARKED) {
		(void)sched_yield();
	}
	cr_assert_eq(notify_outside(driver, 1), 0);
	wait_for(&stuck, 1);
}

static void *grow_to_three(void *arg)
{
	(void)arg;
	expect(resize(3) == 0);
	return NULL;
}

static uint64_t nodes_of_the_first(void)
{
	return gy_load_relaxed(&fixture.system->homes.homes[0].loop.counters.nodes_received);
}

static void ask_again_and_again(struct gyre_address to)
{
	for (uint32_t i = 0; i < ASKS; i++) {
		struct gyre_mail *answer = NULL;

		cr_assert_eq(gyre_system_ask(fixture.system, to,
					     gyre_system_new(fixture.system, number, 7),
					     GYRE_FOREVER, &answer),
			     0);
		gyre_mail_destroy(NULL, answer);
	}
}

Test(resize_groups, waits_for_a_parent_that_is_away_without_work_meanwhile)
{
	struct gyre_address adder;
	pthread_t thread;
	uint64_t before;

	have_one_stolen();
	adder = spawn_outside(&adder_class, 0);
	cr_assert_eq(pthread_create(&thread, NULL, grow_to_three, NULL), 0);
	wait_for(&members_of[2], PARENTS - 1);
	ask_again_and_again(adder); /* until all that was ordered has been looked at */
	before = nodes_of_the_first();
	ask_again_and_again(adder);
	cr_expect_leq(nodes_of_the_first() - before, ASKS * NODES_AN_ASK_MAX);
	gy_store_release(&released, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	wait_for(&members_of[2], PARENTS);
	fixture_close();
}

static uint32_t routed_flood;

static void *flood_on(void *arg)
{
	(void)arg;
	while (gy_load_acquire(&stop_sending) == 0) {
		if (routed_flood - gy_load_acquire(&counted) < UNDER_WAY_MAX) {
			routed_flood += notify_outside(group, 1) == 0;
		}
	}
	return NULL;
}

Test(resize_groups, loses_nothing_that_is_routed_to_a_group_meanwhile)
{
	pthread_t thread;

	begin(2);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class,
					     gyre_system_new(fixture.system, number, 42), NULL,
					     &group),
		     0);
	cr_assert_eq(pthread_create(&thread, NULL, flood_on, NULL), 0);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(resize(4), 0);
		cr_assert_eq(resize(1), 0);
	}
	gy_store_release(&stop_sending, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	wait_for(&counted, routed_flood);
	fixture_close();
	cr_expect_eq(fixture.letters_count, 0);
}
