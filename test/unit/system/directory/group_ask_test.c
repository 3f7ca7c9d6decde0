/*
 * Asks to all members of a group: that each is asked, and what the asker sees of each, whatever
 * becomes of some of them; waits for all, for the first, and for a quorum, and how often the asker
 * is resumed.
 */
#include "fixture.h"

#include <errno.h>
#include <sched.h>

#include <gyre/group.h>
#include <gyre/outside.h>

#include "base/atomic.h"
#include "heap.h"

enum { LOOPS = 3, MEMBERS = 6, ROOM = 8 };

/* What a member does with an ask: each gets a number of its own as it is mounted. */
enum manner { ANSWERS, FAILS, IS_SILENT, STOPS, KEEPS_WAITING };

struct member {
	uint32_t index;
};

struct ask_frame {
	struct gyre_asked asked[ROOM];
	struct gyre_address group;
	struct gyre_future slept;
	int count;
};

static enum manner manners[ROOM];
static int failure = -EIO;
static uint32_t members; /* mounted */
static uint32_t asks;	 /* that were handled */

static struct ask_frame *frame_of(struct gyre_stack *stack)
{
	return (struct ask_frame *)gyre_frame(stack);
}

/* ---- members ---- */

static int arrive(struct gyre_stack *stack)
{
	((struct member *)gyre_state(stack))->index = gy_fetch_add(&members, 1);
	return gyre_return(stack);
}

static int behave(struct gyre_stack *stack)
{
	const struct member *member = (const struct member *)gyre_state(stack);
	struct gyre_future *never = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gy_fetch_add(&asks, 1);
	if (manners[member->index] == FAILS) {
		return gyre_throw(stack, failure);
	}
	if (manners[member->index] == IS_SILENT) {
		return gyre_return(stack);
	}
	if (manners[member->index] == STOPS) {
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
	}
	if (manners[member->index] >= STOPS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(3600), never));
	}
	return gyre_reply(stack, gyre_new(stack, place, gyre_self(stack)));
	GYRE_END(stack);
}

static const struct gyre_class member_class = {
	.name = "member",
	.state_bytes = sizeof(struct member),
	.frame_bytes = sizeof(struct gyre_future),
	.mount = arrive,
	.behaviour.ask = behave,
};

static int spawn_members(struct gyre_stack *stack, uint32_t count)
{
	const struct gyre_group_options options = { .count = count };

	return gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options,
				&frame_of(stack)->group);
}

static int ask_them(struct gyre_stack *stack, uint64_t timeout_ns)
{
	struct ask_frame *frame = frame_of(stack);

	frame->count = gyre_ask_all(stack, frame->group, gyre_new(stack, number, 1), timeout_ns,
				    ROOM, frame->asked);
	return frame->count;
}

static uint32_t errors_of(const struct ask_frame *frame, int error)
{
	uint32_t count = 0;

	for (int i = 0; i < frame->count; i++) {
		count += gyre_future_error(&frame->asked[i].future) == error;
	}
	return count;
}

/* ---- all ---- */

static int gather(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);
	uint32_t on[LOOPS] = { 0 };

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	GYRE_AWAIT(stack, ask_them(stack, 0));
	expect(frame->count == MEMBERS);
	for (int i = 0; i < frame->count; i++) {
		const struct place *answer = gyre_future_get(&frame->asked[i].future, place);

		expect(answer != NULL &&
		       gyre_address_equal(answer->address, frame->asked[i].member));
		on[frame->asked[i].member.loop]++;
	}
	expect(on[0] == 2 && on[1] == 2 && on[2] == 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_ask, gathers_the_answers_of_all_members_on_all_loops)
{
	play(LOOPS, gather);
	cr_assert_eq(asks, MEMBERS);
}

static int gather_errors(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	GYRE_AWAIT(stack, ask_them(stack, GYRE_MILLISECONDS(20)));
	expect(frame->count == MEMBERS);
	expect(errors_of(frame, 0) == 2 && errors_of(frame, -EIO) == 1);
	expect(errors_of(frame, -ENOMSG) == 1 && errors_of(frame, -ESHUTDOWN) == 1);
	expect(errors_of(frame, -ETIMEDOUT) == 1);
	expect(gyre_asked_answered(frame->asked, (uint32_t)frame->count) == 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Those who answer have long done so when the time is over for one. */
Test(group_ask, shows_what_became_of_each_member_beside_the_answers_of_the_others)
{
	manners[1] = FAILS;
	manners[2] = IS_SILENT;
	manners[3] = STOPS;
	manners[4] = KEEPS_WAITING;
	fixture_open(1);
	fixture_steady();
	(void)spawn_outside(&(const struct gyre_class){ .name = "script",
							.frame_bytes = FIXTURE_FRAME_BYTES,
							.mount = gather_errors },
			    0);
	fixture_run();
	fixture_close();
	cr_assert_eq(asks, MEMBERS);
}

/* ---- some ---- */

static int take_the_first(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	expect(ask_them(stack, GYRE_FOREVER) == MEMBERS);
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, 1);
	expect(errors_of(frame, 0) == 1);
	expect(gyre_asked_cancel(stack, frame->asked, (uint32_t)frame->count) ==
	       (int)errors_of(frame, -ECANCELED));
	expect(errors_of(frame, -EINPROGRESS) == 0 && errors_of(frame, -ECANCELED) >= 3);
	/* Nothing is outstanding but the sleep. */
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->slept));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_ask, goes_on_with_the_first_answer_and_gives_the_others_up)
{
	manners[0] = FAILS;
	manners[1] = KEEPS_WAITING;
	manners[2] = KEEPS_WAITING;
	manners[4] = FAILS;
	manners[5] = KEEPS_WAITING;
	play(LOOPS, take_the_first);
}

/* ---- a quorum ---- */

/* What play_quorum() asks for, and what is to be seen when the wait has ended. */
static struct {
	uint32_t members;
	uint32_t wanted;
	void (*see)(const struct ask_frame *frame);
} quorum;
static uint32_t looks; /* how often the handler ran up to the wait: to begin it, and resumed */

static int ask_for_quorum(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	looks++;
	GYRE_BEGIN(stack);
	expect(spawn_members(stack, quorum.members) == 0);
	expect(ask_them(stack, GYRE_FOREVER) == (int)quorum.members);
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, quorum.wanted);
	quorum.see(frame);
	return fixture_end(stack); /* which gives the others up */
	GYRE_END(stack);
}

static void play_quorum(uint32_t asked, uint32_t wanted, void (*see)(const struct ask_frame *frame))
{
	quorum.members = asked;
	quorum.wanted = wanted;
	quorum.see = see;
	play(LOOPS, ask_for_quorum);
}

static void see_three_answers(const struct ask_frame *frame)
{
	expect(gyre_asked_answered(frame->asked, (uint32_t)frame->count) == 3);
}

Test(group_ask, goes_on_when_as_many_have_answered_as_are_asked_for)
{
	manners[0] = FAILS;
	manners[3] = KEEPS_WAITING;
	manners[5] = KEEPS_WAITING;
	play_quorum(MEMBERS, 3, see_three_answers);
}

static void see_two_failures(const struct ask_frame *frame)
{
	expect(errors_of(frame, -EIO) == 2);
}

/* An errno of a connect() that was passed on, say. */
Test(group_ask, sees_that_a_member_has_failed_with_the_errno_of_what_goes_on)
{
	failure = -EINPROGRESS;
	manners[0] = FAILS;
	manners[1] = FAILS;
	play_quorum(2, 1, see_two_failures);
}

static void see_three_failures(const struct ask_frame *frame)
{
	expect(errors_of(frame, -EIO) == 3 && errors_of(frame, -EINPROGRESS) == 3);
}

Test(group_ask, goes_on_when_too_many_have_failed_for_the_quorum)
{
	manners[0] = FAILS;
	manners[2] = FAILS;
	manners[4] = FAILS;
	manners[1] = KEEPS_WAITING;
	manners[3] = KEEPS_WAITING;
	manners[5] = KEEPS_WAITING;
	play_quorum(MEMBERS, 4, see_three_failures);
}

static void see_four_answers(const struct ask_frame *frame)
{
	expect(errors_of(frame, 0) == 4 && errors_of(frame, -EINPROGRESS) >= 1);
}

/* The failure comes before the last answer or after it. */
Test(group_ask, is_resumed_once_when_the_last_of_the_quorum_has_answered)
{
	manners[1] = FAILS;
	manners[4] = KEEPS_WAITING;
	play_quorum(MEMBERS, 4, see_four_answers);
	cr_assert_eq(looks, 2);
}

static void see_that_one_was_too_many(const struct ask_frame *frame)
{
	expect(errors_of(frame, -EIO) == 3 && errors_of(frame, -EINPROGRESS) >= 1);
}

/* Two may fail, and the third is one too many. */
Test(group_ask, is_resumed_once_when_one_more_has_failed_than_may)
{
	manners[0] = FAILS;
	manners[1] = KEEPS_WAITING;
	manners[3] = FAILS;
	manners[5] = FAILS;
	play_quorum(MEMBERS, 4, see_that_one_was_too_many);
	cr_assert_eq(looks, 2);
}

static int want_too_many(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	expect(ask_them(stack, 0) == MEMBERS);
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, MEMBERS + 1);
	expect(errors_of(frame, -EINPROGRESS) == MEMBERS); /* it has not waited */
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, 0);
	expect(errors_of(frame, -EINPROGRESS) == MEMBERS);
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, MEMBERS);
	expect(errors_of(frame, 0) == MEMBERS);
	expect(gyre_await_quorum(stack, 0, frame->asked, 1, 1) == -EINVAL);
	expect(gyre_await_quorum(stack, 1, NULL, 1, 1) == -EINVAL);
	expect(gyre_asked_cancel(stack, NULL, 1) == -EINVAL);
	expect(gyre_asked_cancel(stack, frame->asked, MEMBERS) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_ask, does_not_wait_for_more_than_there_are_nor_for_none_but_for_all)
{
	play(LOOPS, want_too_many);
}

/* ---- what is refused ---- */

struct bare {
	uint64_t value;
};

static void destroy_bare(struct bare *bare)
{
	bare->value = 0;
}
GYRE_MESSAGE_OWNING(bare, 0x1140, destroy_bare);

static int ask_in_vain(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);
	struct gyre_address empty;

	GYRE_BEGIN(stack);
	expect(gyre_system_group_create(fixture.system, NULL, &empty) == 0);
	expect(gyre_ask_all(stack, empty, gyre_new(stack, number, 1), 0, ROOM, frame->asked) == 0);
	expect(gyre_stop(stack, empty) == 0);
	expect(gyre_ask_all(stack, empty, gyre_new(stack, number, 1), 0, ROOM, frame->asked) ==
	       -ESRCH);
	expect(spawn_members(stack, MEMBERS) == 0);
	expect(gyre_ask_all(stack, frame->group, gyre_new(stack, number, 1), 0, MEMBERS - 1,
			    frame->asked) == -ENOBUFS);
	expect(gyre_ask_all(stack, frame->group, gyre_new(stack, number, 1), 0, 0, frame->asked) ==
	       -EINVAL);
	expect(gyre_ask_all(stack, frame->group, gyre_new(stack, number, 1), 0, ROOM, NULL) ==
	       -EINVAL);
	expect(gyre_ask_all(stack, frame->group, NULL, 0, ROOM, frame->asked) == -ENOMEM);
	expect(gyre_ask_all(stack, gyre_self(stack), gyre_new(stack, number, 1), 0, ROOM,
			    frame->asked) == -EINVAL);
	expect(gyre_ask_all(stack, frame->group, gyre_new(stack, bare, 1), 0, ROOM, frame->asked) ==
	       -EINVAL);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->slept));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_ask, asks_nobody_of_a_group_that_is_empty_gone_or_too_large)
{
	play(LOOPS, ask_in_vain);
	cr_assert_eq(asks, 0);
}

/* ---- what owns something, and lacks of memory ---- */

/* Owns one of those that are counted, if it was filled. */
struct owner {
	uint64_t value;
};

static uint64_t owned; /* atomic */

static void destroy_owner(struct owner *owner)
{
	(void)gy_fetch_add(&owned, owner->value == 0 ? 0 : UINT64_MAX);
}

static int copy_owner(struct owner *owner)
{
	expect(owner->value == 7);
	(void)gy_fetch_add(&owned, 1);
	return 0;
}
GYRE_MESSAGE_OWNING(owner, 0x1141, destroy_owner, copy_owner);

static struct gyre_mail *new_owner(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&owned, 1);
	return gyre_new(stack, owner, 7);
}

static int ask_of_owned(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	GYRE_AWAIT(stack, frame->count = gyre_ask_all(stack, frame->group, new_owner(stack), 0,
						      ROOM, frame->asked));
	expect(errors_of(frame, 0) == MEMBERS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_ask, copies_what_the_question_owns_for_each_member)
{
	play(LOOPS, ask_of_owned);
	cr_assert_eq(asks, MEMBERS);
	cr_assert_eq(owned, 0);
}

static uint32_t allocations;
static uint32_t refused;

/* False once nothing has lacked. */
static bool ask_large(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);
	struct gyre_mail *mail = gyre_new(stack, large, { 0 });
	bool lacked;

	heap_end_after(allocations++);
	frame->count = gyre_ask_all(stack, frame->group, mail, 0, ROOM, frame->asked);
	lacked = heap_recover();
	expect(frame->count == MEMBERS || (lacked && frame->count == -ENOMEM));
	refused += frame->count < 0;
	return lacked;
}

/* Each copy is one of the heap. */
static int ask_leanly(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	/* So that there are promises, and whatever else asks take. */
	GYRE_AWAIT(stack, ask_them(stack, 0));
	while (ask_large(stack)) {
		if (frame->count > 0) {
			expect(gyre_asked_cancel(stack, frame->asked, MEMBERS) >= 0);
		}
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->slept));
	expect(errors_of(frame, 0) == MEMBERS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(group_ask, asks_nobody_without_memory_for_all)
{
	play(1, ask_leanly);
	cr_assert_geq(refused, MEMBERS);
}

/* ---- the end of the asker ---- */

static int ask_and_be_stopped(struct gyre_stack *stack)
{
	struct ask_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(spawn_members(stack, MEMBERS) == 0);
	expect(ask_them(stack, GYRE_FOREVER) == MEMBERS);
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, 3);
	/* Three answers are there, and the other three are not. */
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static void asker_gone(void *state)
{
	(void)state;
	gyre_system_stop(fixture.system);
}

Test(group_ask, leaves_nothing_behind_when_its_stack_is_cut_off)
{
	const struct gyre_class asker_class = { .name = "asker",
						.frame_bytes = sizeof(struct ask_frame),
						.mount = ask_and_be_stopped,
						.clean = asker_gone };

	manners[1] = KEEPS_WAITING;
	manners[2] = KEEPS_WAITING;
	manners[5] = KEEPS_WAITING;
	fixture_open(LOOPS);
	(void)spawn_outside(&asker_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_eq(asks, MEMBERS);
}

/* ---- from outside ---- */

static uint32_t told; /* atomic, as the others */
static uint32_t told_answers;
static int told_error;

static void hear(struct gyre_mail *answer, int error, void *arg)
{
	expect(arg == &told && (answer == NULL) == (error < 0));
	if (answer != NULL) {
		expect(gyre_mail_get(answer, place) != NULL);
		(void)gy_fetch_add(&told_answers, 1);
	} else {
		gy_store_relaxed(&told_error, error);
	}
	(void)gy_fetch_add(&told, 1);
}

static int ask_outside(struct gyre_address group, struct gyre_mail *mail)
{
	return gyre_system_ask_all(fixture.system, group, mail, 0, hear, &told);
}

static struct gyre_mail *outside_number(void)
{
	return gyre_system_new(fixture.system, number, 1);
}

Test(group_ask, from_outside_tells_of_each_member_once)
{
	const struct gyre_group_options options = { .count = MEMBERS };
	struct gyre_address group;

	manners[3] = FAILS;
	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class, GYRE_NO_ARGUMENT,
					     &options, &group),
		     0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(ask_outside(group, outside_number()), MEMBERS);
	while (gy_load_acquire(&told) < MEMBERS) {
		(void)sched_yield();
	}
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_eq(told, MEMBERS);
	cr_assert_eq(told_answers, MEMBERS - 1);
	cr_assert_eq(told_error, -EIO);
}

Test(group_ask, from_outside_asks_nobody_where_there_is_nobody)
{
	struct gyre_address empty;

	fixture_open(1);
	cr_assert_eq(gyre_system_group_create(fixture.system, NULL, &empty), 0);
	cr_assert_eq(ask_outside(empty, outside_number()), 0);
	cr_assert_eq(ask_outside(empty, NULL), -ENOMEM);
	cr_assert_eq(ask_outside(empty, gyre_system_new(fixture.system, bare, 1)), -EINVAL);
	cr_assert_eq(gyre_system_ask_all(fixture.system, empty, outside_number(), 0, NULL, NULL),
		     -EINVAL);
	cr_assert_eq(ask_outside(GYRE_NOBODY, outside_number()), -EINVAL);
	empty.cookie++;
	cr_assert_eq(ask_outside(empty, outside_number()), -ESRCH);
	fixture_close();
	cr_assert_eq(told, 0);
}

/* Who asks may not know yet that the system ends. */
Test(group_ask, from_outside_of_a_system_that_has_ended_tells_so_of_each_member)
{
	const struct gyre_group_options options = { .count = MEMBERS };
	struct gyre_address group;
	int r;

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &member_class, GYRE_NO_ARGUMENT,
					     &options, &group),
		     0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	r = ask_outside(group, outside_number());
	cr_assert(r == -ESRCH || (r >= 0 && r <= MEMBERS), "%d", r);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_eq(told, r < 0 ? 0 : (uint32_t)r);
}
