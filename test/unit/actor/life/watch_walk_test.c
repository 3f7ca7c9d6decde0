/*
 * Walks over the watches of a loop, one of whose actors another loop has taken. In a model, whose
 * clock stands still.
 */
#include "actor/house_extra.h"
#include "actor/life/watch.h"
#include "actor/life/watch_walk.h"
#include "actor/model.h"
#include "actor/steal_actor.h"

enum { SLOT = 7, COOKIE = 9 };

static uint32_t ended;

static void note_end(struct gy_watch_walk *walk)
{
	expect(walk->away == 0);
	ended++;
}

static int do_nothing(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static void order_watch(struct gyre_address actor, uint32_t round)
{
	struct gy_home *home = &model.home[0];
	struct gyre_mail *order = gy_watch_make(home, &gy_type_watch, actor);

	cr_assert_not_null(order);
	order->node.kind = GY_MAIL_EVENT;
	order->from = (struct gy_origin){ .slot = SLOT, .cookie = COOKIE, .node = home->node };
	order->ask_id = 1;
	gy_watch_set_round(order, round);
	gy_count(&home->counters.sent, 1);
	gy_watch_arrived(home, model_house(actor), order);
}

Test(watch_walk, sweeps_what_was_away_for_the_round_in_which_it_came_there)
{
	static const struct gyre_class class = { .name = "watched",
						 .behaviour.notice = do_nothing };
	struct gy_home *home;
	struct gy_watch_walk walk;
	struct gyre_address actor;
	struct gy_house *house;

	model_open(2);
	home = &model.home[0];
	walk = (struct gy_watch_walk){
		.sweeps = true, .node = home->node, .round = 1, .back = note_end
	};
	actor = model_spawn(&class, 0);
	house = model_house(actor);
	order_watch(actor, 1);
	model_put(actor, GY_LANE_NOTICE, 1);
	cr_assert_eq(gy_queue_pop(&home->loop.state), &house->job);
	cr_assert(gy_house_seal(&home->loop, &house->job));
	cr_assert(gy_watch_walk_step(home, &walk));
	cr_assert_eq(walk.away, 1);
	walk.round = 2; /* and the orders of that round wait for the house too */
	gy_house_run_stolen(&model.home[1].loop, &house->job);
	model_settle();
	cr_expect_eq(ended, 1);
	cr_expect_eq(house->extra->watch->watchers.count, 1);
	walk.slot = 0;
	walk.place = (struct gy_watch_place){ 0 };
	cr_assert(gy_watch_walk_step(home, &walk));
	cr_expect_eq(house->extra->watch->watchers.count, 0, "now it is of an earlier one");
	model_close();
}
