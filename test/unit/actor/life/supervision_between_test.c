/*
 * Families between two steps of what a failure has set going: their parent is stopped, or is to
 * have another child, or the child has mail left.
 */
#include "actor/model.h"

#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"

enum { CHILDREN = 3, NOT_YET = 77 };

static struct gyre_address parent;
static struct gyre_address watcher;
static struct gyre_address children[CHILDREN];
static uint32_t loop_of_children;
static uint32_t ended;
static uint32_t told; /* of ends of children */
static uint32_t alive_at_restart = NOT_YET;

static void count_end(void *state)
{
	(void)state;
	ended++;
}

static int count_alive(struct gyre_stack *stack)
{
	alive_at_restart = CHILDREN - ended;
	return gyre_return(stack);
}

static const struct gyre_class child_class = {
	.name = "child",
	.state_bytes = 1,
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.clean = count_end,
	.strategy = GYRE_STRATEGY_ESCALATE,
};

static struct gyre_class parent_class = {
	.name = "parent",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.strategy = GYRE_STRATEGY_RESTART,
	.restart = count_alive,
};

static int hear_of_end(struct gyre_stack *stack)
{
	told++;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = hear_of_end },
};

static int watch_children(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < CHILDREN; i++) {
		expect(gyre_watch(stack, children[i]) == 0);
	}
	return gyre_return(stack);
}

static int spawn_children(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = loop_of_children };

	for (uint32_t i = 0; i < CHILDREN; i++) {
		expect(gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &options, &children[i]) ==
		       0);
	}
	return gyre_return(stack);
}

static void open_family(uint32_t loop)
{
	loop_of_children = loop;
	ended = 0;
	told = 0;
	alive_at_restart = NOT_YET;
	model_open(2);
	watcher = model_spawn(&watcher_class, 1);
	parent = model_spawn(&parent_class, 0);
	model_call(parent, spawn_children);
	model_settle();
	model_call(watcher, watch_children);
	model_settle();
}

static int wait_in_vain(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

Test(restart, that_waits_for_children_ends_when_the_actor_is_stopped)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		open_family(loop);
		model_call(children[CHILDREN - 1], wait_in_vain);
		model_settle();
		model_call(parent, puppet_fail);
		model_turn_one(0); /* the order is on its way */
		gy_house_request_stop(model_house(parent), 0);
		model_settle();
		cr_assert_null(model_house(parent));
		cr_assert_eq(told, CHILDREN);
		model_close();
	}
}

/* As a group does that makes a member by its parent, see system/directory/group_loops.c. */
static int spawn_late(uint32_t loop)
{
	struct gy_house *house = model_house(parent);
	const struct gy_spawn_order order = { .class = &child_class,
					      .parent = house,
					      .child_of = house->self };
	struct gyre_address address;

	return gy_spawn(house->home, &order, (uint16_t)loop, &address);
}

Test(restart, that_waits_for_children_lets_no_other_child_be_made)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		open_family(1);
		model_call(parent, puppet_fail);
		model_turn_one(0); /* the order is on its way */
		cr_assert_eq(alive_at_restart, NOT_YET);
		cr_assert_eq(spawn_late(loop), -ESHUTDOWN);
		model_settle();
		cr_assert_eq(alive_at_restart, 0);
		cr_assert_eq(spawn_late(loop), 0);
		model_close();
	}
}

Test(supervision, of_one_that_is_stopped_meanwhile_is_void)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		parent_class.supervision.scope = GYRE_ALL_FOR_ONE;
		open_family(loop);
		model_call(children[CHILDREN - 1], puppet_fail);
		model_turn_one(loop);
		gy_house_request_stop(model_house(parent), 0);
		model_settle();
		cr_assert_null(model_house(parent));
		for (uint32_t i = 0; i < CHILDREN; i++) {
			cr_assert_null(model_house(children[i]));
		}
		cr_assert_eq(told, CHILDREN);
		model_close();
	}
}

static uint32_t counted;

static int count(struct gyre_stack *stack)
{
	counted++;
	return gyre_return(stack);
}

Test(supervision, has_a_child_that_has_failed_handle_nothing_until_the_decision)
{
	for (uint32_t i = 0; i < 4; i++) {
		bool stops = i % 2 != 0;

		parent_class.supervision.decision =
			stops ? GYRE_DECISION_STOP : GYRE_DECISION_RESTART;
		counted = 0;
		open_family(i / 2);
		model_call(children[0], puppet_fail);
		model_call(children[0], count);
		model_settle();
		cr_assert_eq(counted, stops ? 0 : 1);
		cr_assert_eq(told, stops ? 1 : 0);
		cr_assert_eq(model.lost[GYRE_DROP_NO_ACTOR] + model.lost[GYRE_DROP_STOPPED],
			     stops ? 1 : 0);
		model_close();
	}
}
