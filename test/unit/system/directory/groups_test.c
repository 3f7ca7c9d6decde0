/*
 * Groups. A member counts the numbers that it gets under the loop it lives on, and answers an ask
 * with its own loop.
 */
#include "fixture.h"

#include <gyre/group.h>
#include <gyre/watch.h>

#include "base/atomic.h"

enum { LOOPS = 3, MEMBERS = 8, KEYS = 64, NOTICES = 120, HASTY = 1000, HASTY_GROUPS = 20 };

struct frame {
	struct gyre_future future;
	struct gyre_address group;
	struct gyre_address loner;
	struct gyre_address asked;
	uint32_t i;
};

struct precious {
	uint64_t value;
};

static uint32_t destroyed;

static void destroy_precious(struct precious *precious)
{
	(void)precious;
	(void)gy_fetch_add(&destroyed, 1);
}

GYRE_MESSAGE_OWNING(precious, 0x1101, destroy_precious);

static uint32_t mounted;
static uint64_t argument_sum;
static uint32_t got[LOOPS];
static uint32_t got_all;
static uint32_t cleaned;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- members ---- */

static int arrive(struct gyre_stack *stack)
{
	const struct number *argument = gyre_message(stack, number);

	(void)gy_fetch_add(&mounted, 1);
	(void)gy_fetch_add(&argument_sum, argument == NULL ? 0 : argument->value);
	return gyre_return(stack);
}

static int take(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&got[gyre_self(stack).loop], 1);
	(void)gy_fetch_add(&got_all, 1);
	return gyre_return(stack);
}

static int tell_who(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, place, gyre_self(stack)));
}

static void leave(void *state)
{
	(void)state;
	(void)gy_fetch_add(&cleaned, 1);
}

static const struct gyre_class member_class = {
	.name = "member",
	.mount = arrive,
	.behaviour = { .notice = take, .ask = tell_who },
	.clean = leave,
};

/* ---- what scripts do ---- */

static struct gyre_address make(struct gyre_stack *stack, uint32_t count, enum gyre_routing routing,
				gyre_key_fn key)
{
	const struct gyre_group_options options = { .count = count,
						    .routing = routing,
						    .key = key };
	struct gyre_address group = { 0 };

	expect(gyre_group_spawn(stack, &member_class, gyre_new(stack, number, 1), &options,
				&group) == 0);
	return group;
}

static int ask(struct gyre_stack *stack, uint64_t value)
{
	struct frame *frame = frame_of(stack);

	return gyre_ask(stack, frame->group, gyre_new(stack, number, value), 0, &frame->future);
}

static struct gyre_address who(struct gyre_stack *stack)
{
	const struct place *place = gyre_future_get(&frame_of(stack)->future, place);

	expect(place != NULL);
	return place == NULL ? GYRE_NOBODY : place->address;
}

static int send(struct gyre_stack *stack)
{
	return gyre_notify(stack, frame_of(stack)->group, gyre_new(stack, number, 1));
}

/* Waits until the members have got so many; each look is a turn of the loop. */
#define SETTLE(STACK, COUNT)                                                           \
	while (gy_load_acquire(&got_all) < (COUNT)) {                                  \
		GYRE_AWAIT((STACK), gyre_sleep((STACK), 1, &frame_of(STACK)->future)); \
	}

/* ---- making ---- */

static int make_one_a_loop(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, 0, GYRE_ROUTING_ROUND_ROBIN, NULL);
	for (frame->i = 0; frame->i < NOTICES; frame->i++) {
		expect(send(stack) == 0);
	}
	SETTLE(stack, NOTICES);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, a_count_of_0_spawns_one_on_each_loop_and_they_take_turns)
{
	play(LOOPS, make_one_a_loop);
	cr_assert_eq(mounted, LOOPS);
	cr_assert_eq(argument_sum, LOOPS);
	for (uint32_t i = 0; i < LOOPS; i++) {
		cr_assert_eq(got[i], NOTICES / LOOPS);
	}
}

static int make_single(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, 1, GYRE_ROUTING_ALL, NULL);
	expect(frame->group.loop == gyre_self(stack).loop);
	GYRE_AWAIT(stack, ask(stack, 1));
	expect(gyre_address_equal(who(stack), frame->group));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, a_count_of_1_gives_the_address_of_that_actor)
{
	play(LOOPS, make_single);
}

static int make_badly(struct gyre_stack *stack)
{
	struct gyre_address group;
	struct gyre_group_options options = { .routing = GYRE_ROUTING_BY_KEY };

	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &group) ==
	       -EINVAL);
	options = (struct gyre_group_options){ .count = GYRE_GROUP_MEMBERS_MAX + 1 };
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &group) ==
	       -EINVAL);
	options = (struct gyre_group_options){ .count = 2 };
	expect(gyre_group_spawn(stack, &member_class, gyre_new(stack, precious, 1), &options,
				&group) == -EINVAL);
	expect(gyre_group_spawn(stack, NULL, gyre_new(stack, number, 1), &options, &group) ==
	       -EINVAL);
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, NULL) == -EINVAL);
	expect(gyre_system_group_create(NULL, NULL, &group) == -EINVAL);
	expect(gyre_group_join(stack, gyre_self(stack)) == -EINVAL);
	expect(gyre_group_leave(stack, gyre_self(stack)) == -ENOENT);
	return fixture_end(stack);
}

Test(groups, misuse_is_refused_and_makes_nobody)
{
	play(LOOPS, make_badly);
	cr_assert_eq(mounted, 0);
	cr_assert_eq(destroyed, 1);
}

/* ---- routing ---- */

static int send_near(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, 0, GYRE_ROUTING_NEAR, NULL);
	for (frame->i = 0; frame->i < NOTICES; frame->i++) {
		expect(send(stack) == 0);
	}
	GYRE_AWAIT(stack, ask(stack, 1));
	expect(who(stack).loop == gyre_self(stack).loop);
	SETTLE(stack, NOTICES);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, near_routing_stays_on_the_senders_loop)
{
	play(LOOPS, send_near);
	cr_assert_eq(got[0], NOTICES);
}

static int send_anywhere(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_RANDOM, NULL);
	for (frame->i = 0; frame->i < 10 * NOTICES; frame->i++) {
		expect(send(stack) == 0);
	}
	SETTLE(stack, 10 * NOTICES);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, random_routing_leaves_out_no_loop)
{
	play(LOOPS, send_anywhere);
	for (uint32_t i = 0; i < LOOPS; i++) {
		cr_assert_gt(got[i], NOTICES);
	}
}

static int send_to_all(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_ALL, NULL);
	expect(send(stack) == 0);
	SETTLE(stack, MEMBERS);
	expect(notify_outside(frame->group, 1) == 0);
	SETTLE(stack, 2 * MEMBERS);
	expect(gyre_notify(stack, frame->group, gyre_new(stack, precious, 1)) == -EINVAL);
	GYRE_AWAIT(stack, ask(stack, 1));
	expect(gyre_future_error(&frame->future) == -EINVAL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, a_notice_to_all_is_copied_but_what_owns_or_asks_cannot_be)
{
	play(LOOPS, send_to_all);
	cr_assert_eq(got_all, 2 * MEMBERS);
	cr_assert_eq(destroyed, 1);
	cr_assert_eq(fixture.lost[GYRE_DROP_UNHANDLED], 2);
}

static uint64_t key_of(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct number *)message)->value;
}

static struct gyre_address owners[KEYS];
static struct gyre_address victim;
static uint32_t moved;

static void compare_owner(struct gyre_stack *stack, uint32_t key)
{
	struct gyre_address now = who(stack);

	expect(!gyre_address_equal(now, victim));
	if (!gyre_address_equal(now, owners[key])) {
		expect(gyre_address_equal(owners[key], victim));
		moved++;
	}
}

static int lose_one(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_BY_KEY, key_of);
	for (frame->i = 0; frame->i < KEYS; frame->i++) {
		GYRE_AWAIT(stack, ask(stack, frame->i));
		owners[frame->i] = who(stack);
		GYRE_AWAIT(stack, ask(stack, frame->i));
		expect(gyre_address_equal(owners[frame->i], who(stack)));
	}
	victim = owners[0];
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, victim, GYRE_FOREVER, &frame->future));
	for (frame->i = 0; frame->i < KEYS; frame->i++) {
		GYRE_AWAIT(stack, ask(stack, frame->i));
		compare_owner(stack, frame->i);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, when_a_member_ends_only_its_keys_move)
{
	play(LOOPS, lose_one);
	cr_assert_geq(moved, 1);
	cr_assert_lt(moved, KEYS / 2);
}

static uint32_t worked;

static int work(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&worked, 1);
	return gyre_return(stack);
}

/* Keeps its actor closed until the end. */
static int hold(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->future) == 0);
	return gyre_suspend(stack, 1);
}

static bool closes(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(place);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = work, .ask = hold },
	.barrier = closes,
};

static int spare_the_busy(struct gyre_stack *stack)
{
	const struct gyre_group_options options = { .count = 2,
						    .routing = GYRE_ROUTING_LESS_LOADED };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, &options, &frame->group) ==
	       0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->group, gyre_new(stack, place, GYRE_NOBODY), 1,
				   &frame->future));
	/* One has taken the ask and is closed: the first notice that it gets waits, and is all. */
	for (frame->i = 0; frame->i < NOTICES; frame->i++) {
		expect(send(stack) == 0);
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, a_member_whose_mail_waits_is_spared)
{
	play(1, spare_the_busy);
	cr_assert_geq(worked, NOTICES - 1);
}

/* ---- coming and going ---- */

static struct gyre_address joined;

static int join(struct gyre_stack *stack)
{
	expect(gyre_group_join(stack, joined) == 0);
	expect(gyre_group_join(stack, joined) == 0);
	(void)gy_fetch_add(&mounted, 1);
	return gyre_return(stack);
}

static int leave_it(struct gyre_stack *stack)
{
	expect(gyre_group_leave(stack, joined) == 0);
	expect(gyre_group_leave(stack, joined) == -ENOENT);
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class joiner_class = {
	.name = "joiner",
	.mount = join,
	.behaviour = { .notice = take, .ask = leave_it },
};

static int join_and_leave(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_system_group_create(gyre_system_of(stack), NULL, &frame->group) == 0);
	joined = frame->group;
	expect(send(stack) == -ESRCH);
	expect(notify_outside(frame->group, 1) == -ESRCH);
	GYRE_AWAIT(stack, ask(stack, 1));
	expect(gyre_future_error(&frame->future) == -ESRCH);
	frame->loner = spawn_on(stack, &joiner_class, LOOPS - 1);
	while (gy_load_acquire(&mounted) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	}
	expect(send(stack) == 0);
	GYRE_AWAIT(stack, ask(stack, 1));
	expect(!gyre_future_failed(&frame->future));
	expect(send(stack) == -ESRCH);
	expect(gyre_watch(stack, frame->group) == -EINVAL);
	expect(gyre_stop(stack, frame->group) == 0);
	expect(gyre_stop(stack, frame->group) == -ESRCH);
	expect(gyre_group_join(stack, frame->group) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, an_empty_one_loses_what_it_is_sent_and_those_who_join_get_it)
{
	play(LOOPS, join_and_leave);
	cr_assert_eq(got_all, 1);
	cr_assert_eq(fixture.lost[GYRE_DROP_NO_ACTOR], 5);
}

static int await_last(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_ROUND_ROBIN, NULL);
	for (frame->i = 0; frame->i < MEMBERS; frame->i++) {
		GYRE_AWAIT(stack, ask(stack, 1));
		frame->asked = who(stack);
		GYRE_AWAIT(stack,
			   gyre_stop_gracefully(stack, frame->asked, GYRE_FOREVER, &frame->future));
		expect(!gyre_future_failed(&frame->future));
	}
	expect(send(stack) == -ESRCH);
	expect(gyre_group_join(stack, frame->group) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, a_spawned_one_ends_with_its_last_member)
{
	play(LOOPS, await_last);
	cr_assert_eq(cleaned, MEMBERS);
}

static int stop_group(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_ROUND_ROBIN, NULL);
	expect(gyre_stop(stack, frame->group) == 0);
	expect(send(stack) == -ESRCH);
	while (gy_load_acquire(&cleaned) < MEMBERS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	}
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_ALL, NULL);
	expect(send(stack) == 0);
	expect(gyre_poison(stack, frame->group) == 0);
	while (gy_load_acquire(&cleaned) < 2 * MEMBERS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	}
	expect(send(stack) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, a_stop_ends_group_and_members_and_a_poison_lets_them_finish)
{
	play(LOOPS, stop_group);
	cr_assert_eq(got_all, MEMBERS);
}

static int be_parent(struct gyre_stack *stack)
{
	(void)make(stack, MEMBERS, GYRE_ROUTING_ROUND_ROBIN, NULL);
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class parent_class = { .name = "parent", .mount = be_parent };

static int await_family(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_terminated) != NULL);
	expect(gy_load_acquire(&cleaned) == MEMBERS);
	return fixture_end(stack);
}

static int watch_parent(struct gyre_stack *stack)
{
	struct gyre_address parent = spawn_on(stack, &parent_class, LOOPS - 1);

	expect(gyre_watch(stack, parent) == 0);
	return gyre_return(stack);
}

static const struct gyre_class witness_class = {
	.name = "witness",
	.mount = watch_parent,
	.behaviour.event = await_family,
};

static int let_witness(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .detached = true };
	struct gyre_address witness;

	expect(gyre_spawn(stack, &witness_class, GYRE_NO_ARGUMENT, &options, &witness) == 0);
	return gyre_return(stack);
}

Test(groups, members_are_children_of_the_spawning_actor)
{
	play(LOOPS, let_witness);
}

/* ---- from outside ---- */

static int take_and_end(struct gyre_stack *stack)
{
	if (gy_fetch_add(&got_all, 1) + 1 == NOTICES) {
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

static const struct gyre_class outside_class = {
	.name = "outside",
	.mount = arrive,
	.behaviour.notice = take_and_end,
};

Test(groups, are_made_and_sent_to_from_outside)
{
	const struct gyre_group_options options = { .count = MEMBERS };
	struct gyre_address group = { 0 };

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &outside_class,
					     gyre_system_new(fixture.system, number, 2), &options,
					     &group),
		     0);
	for (uint32_t i = 0; i < NOTICES; i++) {
		cr_assert_eq(notify_outside(group, i), 0);
	}
	fixture_run();
	fixture_close();
	cr_assert_eq(mounted, MEMBERS);
	cr_assert_eq(argument_sum, 2 * MEMBERS);
	cr_assert_eq(got_all, NOTICES);
}

Test(groups, an_empty_one_loses_what_threads_send_it_and_each_loss_is_told_and_counted_once)
{
	struct gyre_address group = { 0 };

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_group_create(fixture.system, NULL, &group), 0);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(notify_outside(group, i), -ESRCH);
	}
	cr_assert_eq(fixture.letters_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(fixture.letters[i].type, GYRE_ID(number));
		cr_assert(gyre_address_is_nobody(fixture.letters[i].from));
		cr_assert(gyre_address_equal(fixture.letters[i].to, group));
		cr_assert_eq(fixture.letters[i].reason, GYRE_DROP_NO_ACTOR);
	}
	fixture_close();
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 3);
	cr_assert_eq(fixture.counters.sent, 3);
}

/* ---- how many there are ---- */

static void expect_size(struct gyre_address group, uint32_t wanted)
{
	uint32_t count = UINT32_MAX;

	expect(gyre_system_group_size(fixture.system, group, &count) == 0);
	expect(count == wanted);
}

static int count_members(struct gyre_stack *stack)
{
	struct gyre_address spawned = make(stack, MEMBERS, GYRE_ROUTING_ROUND_ROBIN, NULL);
	struct gyre_address empty;
	uint32_t count;

	expect_size(spawned, MEMBERS);
	expect(gyre_system_group_create(fixture.system, NULL, &empty) == 0);
	expect_size(empty, 0);
	expect(gyre_group_join(stack, empty) == 0);
	expect_size(empty, 1);
	expect(gyre_group_leave(stack, empty) == 0);
	expect_size(empty, 0);
	expect(gyre_stop(stack, spawned) == 0);
	expect(gyre_system_group_size(fixture.system, spawned, &count) == -ESRCH);
	expect(gyre_system_group_size(fixture.system, gyre_self(stack), &count) == -EINVAL);
	expect(gyre_system_group_size(NULL, empty, &count) == -EINVAL);
	expect(gyre_system_group_size(fixture.system, empty, NULL) == -EINVAL);
	return fixture_end(stack);
}

Test(groups, tell_how_many_members_they_have)
{
	play(LOOPS, count_members);
}

static int list_members(struct gyre_stack *stack)
{
	struct gyre_address spawned = make(stack, MEMBERS, GYRE_ROUTING_ROUND_ROBIN, NULL);
	struct gyre_address members[MEMBERS + 1] = { GYRE_NOBODY };
	struct gyre_address group;
	uint32_t count = 0;

	expect(gyre_system_group_members(fixture.system, spawned, MEMBERS + 1, members, &count) ==
	       0);
	expect(count == MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		expect(!gyre_address_is_nobody(members[i]));
		expect(i == 0 || members[i - 1].loop <= members[i].loop);
		for (uint32_t j = 0; j < i; j++) {
			expect(!gyre_address_equal(members[i], members[j]));
		}
	}
	expect(gyre_system_group_create(fixture.system, NULL, &group) == 0);
	expect(gyre_group_join(stack, group) == 0);
	expect(gyre_system_group_members(fixture.system, group, 1, members, &count) == 0);
	expect(count == 1 && gyre_address_equal(members[0], gyre_self(stack)));
	members[0] = GYRE_NOBODY;
	expect(gyre_system_group_members(fixture.system, group, 0, members, &count) == 0);
	expect(count == 1 && gyre_address_is_nobody(members[0]));
	expect(gyre_system_group_members(fixture.system, group, 1, NULL, &count) == -EINVAL);
	expect(gyre_system_group_members(fixture.system, group, 1, members, NULL) == -EINVAL);
	expect(gyre_stop(stack, spawned) == 0);
	expect(gyre_system_group_members(fixture.system, spawned, 1, members, &count) == -ESRCH);
	return fixture_end(stack);
}

Test(groups, list_their_members)
{
	play(LOOPS, list_members);
}

static int await_fewer(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	uint32_t count = MEMBERS;

	GYRE_BEGIN(stack);
	frame->group = make(stack, MEMBERS, GYRE_ROUTING_ROUND_ROBIN, NULL);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->group, gyre_new(stack, number, 0),
				   GYRE_SECONDS(20), &frame->future));
	expect(gyre_stop(stack, gyre_future_get(&frame->future, place)->address) == 0);
	for (;;) {
		expect(gyre_system_group_size(fixture.system, frame->group, &count) == 0);
		if (count < MEMBERS) {
			break;
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	}
	expect(count == MEMBERS - 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, count_no_member_that_has_stopped)
{
	play(LOOPS, await_fewer);
}

/* It is mounted while the rest of its group is still being made, and joins another one. */
static int join_other_and_stop(struct gyre_stack *stack)
{
	expect(gyre_group_join(stack, joined) == 0);
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class hasty_class = {
	.name = "hasty",
	.mount = join_other_and_stop,
	.clean = leave,
};

static int make_hasty_groups(struct gyre_stack *stack)
{
	static const struct gyre_group_options options = { .count = HASTY };
	struct frame *frame = frame_of(stack);
	uint32_t size = 1;

	GYRE_BEGIN(stack);
	expect(gyre_system_group_create(gyre_system_of(stack), NULL, &frame->group) == 0);
	joined = frame->group;
	for (frame->i = 1; frame->i <= HASTY_GROUPS; frame->i++) {
		expect(gyre_group_spawn(stack, &hasty_class, GYRE_NO_ARGUMENT, &options,
					&frame->group) == 0);
		while (gy_load_acquire(&cleaned) < HASTY * frame->i) {
			GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
		}
		expect(gyre_system_group_size(gyre_system_of(stack), frame->group, &size) ==
		       -ESRCH);
	}
	expect(gyre_system_group_size(gyre_system_of(stack), joined, &size) == 0 && size == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(groups, are_left_by_members_that_have_joined_another_before_all_were_made)
{
	play(LOOPS, make_hasty_groups);
}
