/*
 * The states of a house: which lead to which, and that an actor is seen in each of them when it
 * should be. With full assertions every test shows that no house ever goes another way.
 */
#include "fixture.h"

#include "actor/stack.h"

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
