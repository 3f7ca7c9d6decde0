/*
 * Groups that grow and shrink by the mail that waits for their members. Members take their notices
 * one after the other, each for a while, so that mail waits without keeping a loop busy.
 */
#include "fixture.h"

#include <errno.h>
#include <sched.h>

#include <gyre/group.h>
#include <gyre/outside.h>
#include <gyre/resize.h>

#include "base/atomic.h"
#include "system/directory/group_keeper.h"
#include "system/system.h"

TestSuite(group_grow, .timeout = 60);

enum { LOOPS = 3, MOST = 5, LEAST = 2, MUCH = 400 };

struct grow_frame {
	struct gyre_future future;
	struct gyre_future answer;
	struct gyre_address group;
	uint32_t most; /* members that were seen */
	uint32_t sent;
};

static uint32_t handled; /* atomic, as the others */
static uint32_t mounted;
static uint32_t cleaned;
static uint64_t argument_sum;
static uint64_t work_ns = GYRE_MICROSECONDS(300);

static struct grow_frame *frame_of(struct gyre_stack *stack)
{
	return (struct grow_frame *)gyre_frame(stack);
}

/* ---- members ---- */

static int arrive(struct gyre_stack *stack)
{
	const struct number *argument = gyre_message(stack, number);

	(void)gy_fetch_add(&mounted, 1);
	(void)gy_fetch_add(&argument_sum, argument == NULL ? 0 : argument->value);
	return gyre_return(stack);
}

/* A notice of 0 ends the member. */
static int work(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value == 0) {
		return gyre_stop(stack, gyre_self(stack));
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, work_ns, &frame_of(stack)->future));
	(void)gy_fetch_add(&handled, 1);
	GYRE_END(stack);
}

/* Long, and not alone. */
static int answer(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(300), &frame_of(stack)->future));
	return gyre_reply(stack, gyre_new(stack, number, 1));
	GYRE_END(stack);
}

static void leave(void *state)
{
	(void)state;
	(void)gy_fetch_add(&cleaned, 1);
}

static bool is_work(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && ((const struct number *)message)->value != 1;
}

static const struct gyre_class member_class = {
	.name = "member",
	.frame_bytes = sizeof(struct grow_frame),
	.mount = arrive,
	.behaviour = { .notice = work, .ask = answer },
	.clean = leave,
	.barrier = is_work,
};

static struct gyre_group_options elastic(void)
{
	return (struct gyre_group_options){ .count_min = LEAST,
					    .count_max = MOST,
					    .grow_above = 4,
					    .shrink_after_ns = GYRE_MILLISECONDS(20) };
}

static uint32_t size_of(struct gyre_address group)
{
	uint32_t count = 0;

	(void)gyre_system_group_size(fixture.system, group, &count);
	return count;
}

/* ---- growing and shrinking ---- */

static void send_much(struct gyre_stack *stack, uint32_t count)
{
	struct grow_frame *frame = frame_of(stack);

	for (uint32_t i = 0; i < count; i++) {
		expect(gyre_notify(stack, frame->group, gyre_new(stack, number, 2)) == 0);
	}
	frame->sent += count;
}

static void see_most(struct grow_frame *frame)
{
	uint32_t size = size_of(frame->group);

	frame->most = size > frame->most ? size : frame->most;
}

static int grow_and_shrink(struct gyre_stack *stack)
{
	const struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &member_class, gyre_new(stack, number, 7), &options,
				&frame->group) == 0);
	expect(size_of(frame->group) == LEAST);
	send_much(stack, MUCH);
	while (gy_load_acquire(&handled) < MUCH || size_of(frame->group) > LEAST) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		see_most(frame);
	}
	expect(frame->most == MOST);
	while (gy_load_acquire(&cleaned) < MOST - LEAST) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	expect(size_of(frame->group) == LEAST);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, makes_members_while_much_waits_and_stops_them_when_little_does)
{
	play(LOOPS, grow_and_shrink);
	cr_assert_eq(handled, MUCH);
	cr_assert_eq(mounted, MOST);
	cr_assert_eq(argument_sum, UINT64_C(7) * MOST);
}

/* Members that have no parent. */
Test(group_grow, is_the_same_for_a_group_that_is_spawned_from_outside)
{
	const struct gyre_group_options options = elastic();
	struct gyre_address group;
	uint32_t most = 0;

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class, GYRE_NO_ARGUMENT,
					     &options, &group),
		     0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t i = 0; i < MUCH; i++) {
		cr_assert_eq(notify_outside(group, 2), 0);
	}
	while (gy_load_acquire(&handled) < MUCH || size_of(group) > LEAST) {
		uint32_t size = size_of(group);

		most = size > most ? size : most;
		(void)sched_yield();
	}
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_eq(most, MOST);
	cr_assert_eq(handled, MUCH);
}

/* ---- nothing is lost ---- */

static int ask_and_flood(struct gyre_stack *stack)
{
	struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	options.count_min = 1;
	options.count = MOST;
	options.shrink_after_ns = 1;
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &frame->group) ==
	       0);
	expect(size_of(frame->group) == MOST);
	/* One on each member, of which all but one go meanwhile. */
	for (frame->sent = 0; frame->sent < MOST - 1; frame->sent++) {
		expect(gyre_ask(stack, frame->group, gyre_new(stack, number, 1), GYRE_FOREVER,
				&frame->future) == 0);
	}
	GYRE_AWAIT(stack, gyre_ask(stack, frame->group, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->answer));
	expect(gyre_future_error(&frame->future) == 0 && gyre_future_error(&frame->answer) == 0);
	expect(size_of(frame->group) == 1);
	while (gy_load_acquire(&cleaned) < MOST - 1) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, lets_a_member_that_goes_end_what_is_suspended)
{
	play(LOOPS, ask_and_flood);
}

/* Bursts, in whose pauses the group shrinks as fast as it can. */
static int send_bursts(struct gyre_stack *stack)
{
	struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	options.count_min = 1;
	options.shrink_after_ns = 1;
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &frame->group) ==
	       0);
	while (frame->sent < 10 * MUCH) {
		send_much(stack, frame->sent % (2 * MUCH) == 0 ? MUCH : MUCH / 40);
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	}
	while (gy_load_acquire(&handled) < frame->sent) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, loses_no_message_with_a_member_that_goes)
{
	work_ns = GYRE_MICROSECONDS(50);
	play(LOOPS, send_bursts);
	cr_assert_gt(mounted, 1);
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		cr_assert_eq(fixture.lost[i], 0, "%u for reason %u", fixture.lost[i], i);
	}
}

/* ---- members that end, and bounds ---- */

static int lose_members(struct gyre_stack *stack)
{
	const struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &frame->group) ==
	       0);
	for (frame->sent = 0; frame->sent < 5; frame->sent++) {
		expect(gyre_notify(stack, frame->group, gyre_new(stack, number, 0)) == 0);
		while (gy_load_acquire(&cleaned) <= frame->sent || size_of(frame->group) < LEAST) {
			GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		}
	}
	expect(size_of(frame->group) == LEAST);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, replaces_members_that_end_up_to_the_least_number)
{
	play(LOOPS, lose_members);
	cr_assert_eq(mounted, LEAST + 5);
}

static int refuse(struct gyre_stack *stack, struct gyre_group_options options)
{
	struct gyre_address group;

	return gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &group);
}

static int spawn_in_vain(struct gyre_stack *stack)
{
	struct gyre_group_options options = elastic();

	options.count_min = MOST + 1;
	expect(refuse(stack, options) == -EINVAL);
	options = elastic();
	options.count = LEAST - 1;
	expect(refuse(stack, options) == -EINVAL);
	options.count = MOST + 1;
	expect(refuse(stack, options) == -EINVAL);
	options = elastic();
	options.count_max = 0;
	expect(refuse(stack, options) == -EINVAL);
	options.count_max = GYRE_GROUP_MEMBERS_MAX + 1;
	expect(refuse(stack, options) == -EINVAL);
	options = elastic();
	options.grow_above = GYRE_GROUP_GROW_ABOVE_MAX + 1;
	expect(refuse(stack, options) == -EINVAL);
	options = elastic();
	options.reserved = 1;
	expect(refuse(stack, options) == -EINVAL);
	return fixture_end(stack);
}

Test(group_grow, does_not_begin_with_bounds_that_contradict_each_other)
{
	play(1, spawn_in_vain);
	cr_assert_eq(mounted, 0);
}

/* The group ends while members are on their way out. */
static int end_in_between(struct gyre_stack *stack)
{
	struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	options.count = MOST;
	options.count_min = 1;
	options.shrink_after_ns = 1;
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &frame->group) ==
	       0);
	while (size_of(frame->group) == MOST) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(100), &frame->future));
	}
	expect(gyre_stop(stack, frame->group) == 0);
	while (gy_load_acquire(&cleaned) < MOST) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, that_is_stopped_still_stops_those_who_were_going)
{
	play(LOOPS, end_in_between);
	cr_assert_eq(mounted, MOST);
}

/* While members drain the group neither grows nor replaces those that have ended. */
static int poison_members(struct gyre_stack *stack)
{
	const struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);
	uint32_t size;

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &frame->group) ==
	       0);
	send_much(stack, MUCH);
	expect(gyre_poison(stack, frame->group) == 0);
	while (gyre_system_group_size(fixture.system, frame->group, &size) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	expect(gy_load_acquire(&handled) == MUCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, ends_with_its_members_when_it_is_poisoned)
{
	play(LOOPS, poison_members);
	cr_assert_eq(mounted, LEAST);
}

/* ---- members that have joined ---- */

static struct gyre_address joined_group;
static struct gyre_address joiner;

static int join(struct gyre_stack *stack)
{
	expect(gyre_group_join(stack, joined_group) == 0);
	return gyre_return(stack);
}

static const struct gyre_class joiner_class = {
	.name = "joiner",
	.frame_bytes = sizeof(struct grow_frame),
	.mount = join,
	.behaviour = { .notice = work },
	.barrier = is_work,
};

static int flood_the_joiner(struct gyre_stack *stack)
{
	const struct gyre_group_options options = elastic();
	struct grow_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &joined_group) ==
	       0);
	expect(gyre_spawn(stack, &joiner_class, GYRE_NO_ARGUMENT, NULL, &joiner) == 0);
	while (size_of(joined_group) < LEAST + 1) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	for (uint32_t i = 0; i < MUCH; i++) {
		expect(gyre_notify(stack, joiner, gyre_new(stack, number, 2)) == 0);
	}
	while (size_of(joined_group) < MOST) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_grow, counts_what_waits_for_members_that_have_joined)
{
	play(LOOPS, flood_the_joiner);
	cr_assert_eq(mounted, MOST - 1);
}

/* ---- rest ---- */

static struct gyre_address spawn_one(uint32_t grow_above)
{
	const struct gyre_group_options options = { .count_max = MOST,
						    .grow_above = grow_above,
						    .shrink_after_ns = GYRE_MILLISECONDS(20) };
	struct gyre_address group;

	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class, GYRE_NO_ARGUMENT,
					     &options, &group),
		     0);
	return group;
}

/* Until the keeper of the group has no timer, and nothing else runs. */
static void await_rest(struct gyre_address group)
{
	const struct gy_group *found = gy_group_find(gy_groups_of(fixture.system), group);

	cr_assert_not_null(found);
	while (!others_sleep() || gy_load_relaxed(&found->keeper_rests) == 0 ||
	       gy_timer_is_started(&found->keeper->timer)) {
		(void)sched_yield();
	}
}

static struct gyre_address member_of(struct gyre_address group)
{
	struct gyre_address member;
	uint32_t count;

	cr_assert_eq(gyre_system_group_members(fixture.system, group, 1, &member, &count), 0);
	cr_assert_eq(count, 1);
	return member;
}

static void await_size(struct gyre_address group, uint32_t size)
{
	while (size_of(group) != size) {
		(void)sched_yield();
	}
}

static void send_outside(struct gyre_address to, uint32_t count)
{
	while (count-- > 0) {
		cr_assert_eq(notify_outside(to, 2), 0);
	}
}

static void close_started(void)
{
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

Test(group_grow, has_no_timer_while_nothing_can_change_and_grows_after_that)
{
	struct gyre_address group;

	fixture_open(LOOPS);
	group = spawn_one(4);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	await_rest(group);
	send_outside(group, MUCH);
	await_size(group, MOST);
	await_size(group, 1);
	await_rest(group);
	send_outside(member_of(group), MUCH); /* by way of no group */
	await_size(group, MOST);
	close_started();
}

Test(group_grow, replaces_a_member_that_ends_while_its_keeper_rests)
{
	const struct gyre_group_options options = { .count = 2, .count_min = 2, .count_max = 3 };
	struct gyre_address group;

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class, GYRE_NO_ARGUMENT,
					     &options, &group),
		     0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	await_rest(group);
	cr_assert_eq(notify_outside(group, 0), 0);
	while (gy_load_acquire(&cleaned) < 1) {
		(void)sched_yield();
	}
	await_size(group, 2);
	await_rest(group);
	cr_assert_eq(mounted, 3);
	close_started();
}

/* By then the mailbox of its member is beyond the mark of the other group. */
Test(group_grow, grows_after_a_group_with_a_lower_mark_was_made)
{
	struct gyre_address group;

	work_ns = GYRE_SECONDS(1000);
	fixture_open(LOOPS);
	group = spawn_one(100);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	send_outside(group, 50);
	await_rest(group);
	cr_assert_eq(size_of(group), 1);
	(void)spawn_one(2);
	send_outside(group, 100);
	await_size(group, 2);
	close_started();
}

Test(group_grow, ends_while_its_keeper_rests_and_leaves_none_behind)
{
	struct gyre_address group;
	uint32_t count;

	fixture_open(LOOPS);
	group = spawn_one(4);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	await_rest(group);
	cr_assert_eq(notify_outside(group, 0), 0); /* the last member ends, and the group */
	while (gyre_system_group_size(fixture.system, group, &count) == 0) {
		(void)sched_yield();
	}
	while (gy_load_relaxed(&gy_groups_of(fixture.system)->keepers) != NULL) {
		(void)sched_yield();
	}
	close_started();
}

/* ---- a parent that ends while its group grows ---- */

enum { PARENT_LOOP = 1 };

static struct gyre_address growing;

static uint32_t made;

static bool has_ordered(void)
{
	struct gy_groups *groups = gy_groups_of(fixture.system);
	const struct gy_group *group;
	bool has;

	(void)pthread_mutex_lock(&groups->mutex);
	group = gy_group_find(groups, growing);
	has = group != NULL && group->keeper->ordered > 0;
	(void)pthread_mutex_unlock(&groups->mutex);
	return has;
}

/* Groups of one member, until that of the last is on the parent's loop. */
static void spawn_beside(struct gyre_stack *stack)
{
	const struct gyre_group_options options = { .count = 1,
						    .count_max = MOST,
						    .grow_above = 4 };
	struct gyre_address member = GYRE_NOBODY;
	uint32_t count = 0;

	while (member.loop != PARENT_LOOP) {
		expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options,
					&growing) == 0);
		expect(gyre_system_group_members(fixture.system, growing, 1, &member, &count) == 0);
		made++;
	}
}

static bool grows; /* atomic: more members are ordered than there are */

static int end_while_it_grows(struct gyre_stack *stack)
{
	if (made == 0) {
		spawn_beside(stack);
	}
	if (gy_load_acquire(&mounted) < made) {
		return gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 1));
	}
	for (uint32_t i = 0; i < MUCH; i++) {
		expect(gyre_notify(stack, growing, gyre_new(stack, number, 2)) == 0);
	}
	while (!has_ordered()) {
		(void)sched_yield();
	}
	gy_store_release(&grows, true);
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class parent_class = { .name = "parent",
						.behaviour.notice = end_while_it_grows };

Test(group_grow, ends_with_a_parent_that_ends_before_it_has_made_a_member)
{
	struct gyre_address parent;

	fixture_open(PARENT_LOOP + 1);
	parent = spawn_outside(&parent_class, PARENT_LOOP);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(notify_outside(parent, 1), 0);
	while (!gy_load_acquire(&grows)) {
		(void)sched_yield();
	}
	while (gy_load_relaxed(&gy_groups_of(fixture.system)->keepers) != NULL) {
		(void)sched_yield();
	}
	close_started();
}

/* ---- loops that retire ---- */

Test(group_grow, does_not_end_with_the_loops_of_all_its_members)
{
	struct gyre_group_options options = elastic();
	struct gyre_address member = { 0 };
	struct gyre_address group;
	uint32_t count;

	options.count_min = 1;
	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (member.loop == 0) {
		cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class,
						     GYRE_NO_ARGUMENT, &options, &group),
			     0);
		cr_assert_eq(gyre_system_group_members(fixture.system, group, 1, &member, &count),
			     0);
		cr_assert_eq(count, 1);
	}
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_assert_eq(gyre_system_group_members(fixture.system, group, 1, &member, &count), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(member.loop, 0);
	cr_assert_eq(notify_outside(group, 2), 0);
	while (gy_load_acquire(&handled) == 0) {
		(void)sched_yield();
	}
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}
