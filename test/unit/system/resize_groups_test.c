/*
 * Groups with one member a loop, while loops come and go.
 */
#include "resize_rig.h"

#include <gyre/group.h>

#include <pthread.h>

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
