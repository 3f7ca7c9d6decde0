/*
 * The states of a house: which lead to which, and that an actor is seen in each of them when it
 * should be. With full assertions every test shows that no house ever goes another way.
 */
#include "fixture.h"

#include "actor/stack/stack.h"

static const char legal[GY_HOUSE_STATUSES][GY_HOUSE_STATUSES + 1] = {
	/* to: FCMWRSR* */
	[GY_HOUSE_FREE] = "-x------",	  [GY_HOUSE_CREATED] = "x-x-----",
	[GY_HOUSE_MOUNTING] = "---x----", [GY_HOUSE_WAITING] = "----x---",
	[GY_HOUSE_READY] = "-----x--",	  [GY_HOUSE_SCHEDULED] = "----x-x-",
	[GY_HOUSE_RUNNING] = "---x---x",  [GY_HOUSE_STOPPING] = "x-------",
};

Test(states, of_a_house_follow_each_other_only_as_designed)
{
	for (uint32_t from = 0; from < GY_HOUSE_STATUSES; from++) {
		for (uint32_t to = 0; to < GY_HOUSE_STATUSES; to++) {
			cr_assert_eq(gy_house_status_is_allowed((enum gy_house_status)from,
								(enum gy_house_status)to),
				     legal[from][to] == 'x', "%u to %u", from, to);
		}
	}
}

static enum gy_house_status status_of(struct gyre_stack *stack, struct gyre_address actor)
{
	return (enum gy_house_status)gy_house_at(gy_stack_of(stack)->home, actor.slot)->status;
}

static int look_at_mount(struct gyre_stack *stack)
{
	expect(status_of(stack, gyre_self(stack)) == GY_HOUSE_MOUNTING);
	return gyre_return(stack);
}

static int look_at_run(struct gyre_stack *stack)
{
	expect(status_of(stack, gyre_self(stack)) == GY_HOUSE_RUNNING);
	return gyre_return(stack);
}

static const struct gyre_class seen_class = {
	.name = "seen",
	.mount = look_at_mount,
	.behaviour.notice = look_at_run,
};

struct frame {
	struct gyre_future future;
	struct gyre_address actor;
};

static int look(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->actor = spawn_here(stack, &seen_class);
	expect(status_of(stack, frame->actor) == GY_HOUSE_MOUNTING);
	expect(gyre_notify(stack, frame->actor, gyre_new(stack, number, 1)) == 0);
	expect(status_of(stack, frame->actor) == GY_HOUSE_MOUNTING); /* the mail waits */
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	expect(status_of(stack, frame->actor) == GY_HOUSE_WAITING);
	expect(gyre_notify(stack, frame->actor, gyre_new(stack, number, 2)) == 0);
	expect(status_of(stack, frame->actor) == GY_HOUSE_READY);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	expect(status_of(stack, frame->actor) == GY_HOUSE_WAITING);
	expect(gyre_stop(stack, frame->actor) == 0);
	expect(status_of(stack, frame->actor) == GY_HOUSE_READY);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	expect(status_of(stack, frame->actor) == GY_HOUSE_FREE);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(states, of_a_house_are_seen_where_they_should_be)
{
	play(1, look);
}

/* ---- reasons ---- */

static struct gy_house house;

Test(reasons, keep_a_lane_closed_until_the_last_of_them_goes)
{
	gy_house_add_reason(&house, GY_CLOSED_BY_BARRIER);
	gy_house_add_reason(&house, GY_CLOSED_BY_FIRST_NOTICE);
	cr_expect_eq(house.closed, 1U << GY_LANE_ASK | 1U << GY_LANE_NOTICE);
	gy_house_remove_reason(&house, GY_CLOSED_BY_BARRIER);
	cr_expect_eq(house.closed, 1U << GY_LANE_NOTICE);
	gy_house_remove_reason(&house, GY_CLOSED_BY_FIRST);
	cr_expect_eq(house.closed, 0);
}

Test(reasons, that_come_twice_go_at_once)
{
	gy_house_add_reason(&house, GY_CLOSED_BY_RESTART);
	gy_house_add_reason(&house, GY_CLOSED_BY_RESTART);
	gy_house_remove_reason(&house, GY_CLOSED_BY_RESTART | GY_CLOSED_BY_HOOK);
	cr_expect_eq(house.closed, 0);
	cr_expect_eq(house.reasons, 0);
}

Test(reasons, let_answers_and_work_of_channels_in_while_a_hook_waits)
{
	gy_house_add_reason(&house, GY_CLOSED_BY_HOOK);
	cr_expect_eq(house.closed & (1U << GY_LANE_REPLY | 1U << GY_LANE_EXCEPTION), 0);
	cr_expect_eq(house.closed & GY_PENDING_CHANNELS, 0);
	cr_expect_neq(house.closed & 1U << GY_LANE_EVENT, 0);
}

Test(reasons, of_a_stop_close_everything_for_ever)
{
	gy_house_add_reason(&house, GY_CLOSED_BY_STOP);
	cr_expect(gy_house_is_stopped(&house));
	gy_house_remove_reason(&house, GY_CLOSED_REASONS & ~GY_CLOSED_BY_STOP);
	cr_expect(gy_house_is_stopped(&house));
	cr_expect_eq(house.closed, GY_PENDING_CHANNELS | (GY_PENDING_CHANNELS - 1));
}

static void expect_text(enum gy_house_status status, uint32_t reasons, const char *expected)
{
	char text[GY_HOUSE_TEXT_BYTES];

	house.status = (uint8_t)status;
	house.reasons = (uint16_t)reasons;
	cr_expect_str_eq(gy_house_describe(&house, text), expected);
}

Test(reasons, are_told_in_words)
{
	char text[GY_HOUSE_TEXT_BYTES];

	expect_text(GY_HOUSE_WAITING, 0, "waiting");
	expect_text(GY_HOUSE_RUNNING, GY_CLOSED_BY_STOP, "running, closed by a stop");
	expect_text(GY_HOUSE_READY, GY_CLOSED_BY_BARRIER | GY_CLOSED_BY_RESTART,
		    "ready, closed by a barrier, a restart");
	house.status = GY_HOUSE_STOPPING;
	house.reasons = GY_CLOSED_REASONS;
	cr_expect_lt(strlen(gy_house_describe(&house, text)), sizeof(text) - 1, "all of them fit");
}
