/*
 * Batches: what comes together, in which order, what ends one, and batches of notices.
 */
#include "actor/batch_kit.h"

/* ---- the choice ---- */

KIT_TEST(batch, holds_what_was_chosen_in_the_order_of_arrival)
{
	play_script(test, "tabc / =(abc)");
}

KIT_TEST(batch, may_hold_one)
{
	play_script(test, "ta / =(a) aa ?A =(a)[a]");
}

KIT_TEST(batch, is_flushed_by_a_message_that_is_not_chosen)
{
	play_script(test, "tabXcYZde / =(ab)X(c)YZ(de)");
}

KIT_TEST(batch, of_asks_is_flushed_by_one_that_is_not_chosen)
{
	play_script(test, "aabXc ?BA1C =[ab]X[c]");
}

KIT_TEST(batch, holds_either_asks_or_notices)
{
	play_script(test, "ta ab tc ad / =[bd](ac) ?DB");
}

KIT_TEST(batch, shows_each_message_as_what_it_is)
{
	play_script(test, "ta l tb / =(a@b)");
}

KIT_TEST(batch, does_not_wait_for_more)
{
	play_script(test, "ta / =(a) tb / =(a)(b)");
}

KIT_TEST(batch, is_not_of_notices_where_the_class_chooses_none)
{
	batching_class.batch_notices = NULL;
	play_script(test, "tab aab ?BA =[ab]ab");
}

KIT_TEST(batch, is_not_of_asks_where_the_class_chooses_none)
{
	batching_class.batch_asks = NULL;
	play_script(test, "tab aab ?11 =ab(ab)");
}

KIT_TEST(batch, needs_a_handler_or_what_was_chosen_comes_alone)
{
	batching_class.behaviour.notice_batch = NULL;
	batching_class.behaviour.ask_batch = NULL;
	play_script(test, "tab aab ?11 =abab");
}

KIT_TEST(batch, needs_a_handler_in_the_behaviour_of_the_moment)
{
	play_script(test, "tabBcd / =(ab)Bcd aab ?11 =(ab)Bcdab");
}

KIT_TEST(batch, does_not_hide_that_there_is_no_handler_for_the_rest)
{
	batching_class.behaviour.notice = NULL;
	play_script(test, "tabXc / =(ab)(c)");
	expect_dropped(test, GYRE_DROP_UNHANDLED, 1);
}

/* The mount and the event look at their stacks themselves. */
KIT_TEST(batch, is_not_what_a_mount_an_event_or_a_single_message_has)
{
	batching_class.mount = note_mount;
	play_script(test, "/ / =e tX aY ?1 =eYX tW / o / =eYXW0");
}

/* ---- its size ---- */

KIT_TEST(batch, holds_no_more_than_the_class_allows)
{
	batching_class.batch_max = 3;
	play_script(test, "tabcdefgh / =(abc)(def)(gh)");
}

KIT_TEST(batch, that_is_full_just_before_one_not_chosen_is_not_flushed_twice)
{
	batching_class.batch_max = 2;
	play_script(test, "tabXcdef / =(ab)X(cd)(ef)");
}

KIT_TEST(batch, may_be_limited_to_one)
{
	batching_class.batch_max = 1;
	play_script(test, "tabX aab ?AB =[a][b](a)(b)X");
}

static int note_count(struct gyre_stack *stack)
{
	uint32_t count = gyre_batch_count(stack);

	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(gyre_batch_get(stack, i, letter)->what, 'a');
	}
	mark(count == 64 ? 'L' : count == 1024 ? 'X' : count == 2 ? '2' : '?');
	return gyre_return(stack);
}

static int tell_many(struct gyre_stack *stack, void *arg)
{
	for (uint32_t i = 0; i < 2 * 1024 + 2; i++) {
		cr_assert_eq(gyre_notify(stack, *(const struct gyre_address *)arg,
					 new_letter(stack, 'a')),
			     0);
	}
	return 0;
}

static const struct gyre_system_options budget_of_all = { .run_budget = 10000 };

static void play_many(struct gyre_test *test, uint32_t batch_max, const char *expected)
{
	struct gyre_address to;

	batching_class.batch_max = batch_max;
	batching_class.behaviour.notice_batch = note_count;
	to = gyre_test_spawn(test, &batching_class, GYRE_NO_ARGUMENT);
	(void)gyre_probe_do(gyre_probe_create(test), tell_many, &to);
	gyre_test_advance(test, GYRE_MILLISECONDS(1));
	expect_marks(expected);
}

KIT_TEST_WITH(batch, holds_up_to_64_by_default, &budget_of_all)
{
	play_many(test, 0, "LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL2");
}

KIT_TEST_WITH(batch, may_hold_1024, &budget_of_all)
{
	play_many(test, 1024, "XX2");
}

KIT_TEST(batch, may_not_hold_more)
{
	struct gyre_address address;

	batching_class.batch_max = 1025;
	cr_assert_eq(gyre_system_spawn(gyre_test_system(test), &batching_class, GYRE_NO_ARGUMENT,
				       NULL, &address),
		     -EINVAL);
}

static const struct gyre_system_options budget_of_3 = { .run_budget = 3 };
static const struct gyre_system_options budget_of_1 = { .run_budget = 1 };

KIT_TEST_WITH(batch, is_bounded_by_the_run_budget, &budget_of_3)
{
	play_script(test, "tabcdefgh / =(abc)(def)(gh)");
}

KIT_TEST_WITH(batch, of_asks_leaves_the_rest_of_the_run_budget_to_the_notices, &budget_of_3)
{
	play_script(test, "aab tabc / =[ab](a)(bc) ?BA");
}

KIT_TEST_WITH(batch, of_a_run_budget_of_one_holds_one, &budget_of_1)
{
	play_script(test, "tabXc / =(a)(b)X(c)");
}

/* ---- barriers ---- */

KIT_TEST(batch, has_no_barrier_in_it_though_all_are_chosen)
{
	batching_class.barrier = is_capital;
	batching_class.batch_notices = is_any;
	batching_class.batch_asks = is_any;
	play_script(test, "tabXcd / =(ab)X(cd) aabXcd ?BA1DC =(ab)X(cd)[ab]X[cd]");
}

KIT_TEST(batch, before_a_barrier_is_flushed_and_what_follows_waits_for_its_end)
{
	batching_class.barrier = is_capital;
	batching_class.batch_notices = is_any;
	play_script(test, "tabWcdX / =(ab)W te ag / =(ab)W o ?G =(ab)W0[g](cd)X(e)");
}

/* ---- waiting ---- */

KIT_TEST(batch, that_waits_keeps_its_messages_and_others_go_on)
{
	play_script(test,
		    "twabXcd / =(wab)X(cd) te aa ?A =(wab)X(cd)[a](e) o / =(wab)X(cd)[a](e)0(wab)");
}

KIT_TEST(batch, that_waits_goes_on_in_the_behaviour_that_it_began_in)
{
	play_script(test, "twaBc / =(wa)Bc o / =(wa)Bc0(wa)");
}

/* What opens the gate does not find it any more. */
KIT_TEST(batch, that_waits_ends_with_its_actor)
{
	play_script(test, "twab / s / =(wab) o / =(wab)");
}

/* ---- failures ---- */

KIT_TEST(batch, that_fails_is_one_failure)
{
	play_script(test, "teaXb / =(ea)X(b)");
	cr_assert_eq(counters_of(test).failed, 1);
}

static int note_restart(struct gyre_stack *stack)
{
	mark('<');
	return gyre_return(stack);
}

KIT_TEST(batch, that_fails_restarts_the_actor_before_the_next_message)
{
	batching_class.strategy = GYRE_STRATEGY_RESTART;
	batching_class.restart = note_restart;
	batching_class.batch_max = 2;
	play_script(test, "teabcX / =(ea)<(bc)X");
	cr_assert_eq(counters_of(test).restarted, 1);
}

KIT_TEST(batch, that_fails_stops_the_actor_before_the_next_message)
{
	batching_class.strategy = GYRE_STRATEGY_STOP;
	play_script(test, "teaXb / =(ea)");
	expect_dropped(test, GYRE_DROP_STOPPED, 2);
}

/* ---- the end of the actor ---- */

KIT_TEST(batch, that_stops_its_actor_is_the_last)
{
	play_script(test, "tsaXb / =(sa)");
	expect_dropped(test, GYRE_DROP_STOPPED, 2);
}

KIT_TEST(batch, ends_before_a_poison_and_then_the_actor_ends)
{
	play_script(test, "tab p tcd / =(ab)");
	expect_dropped(test, GYRE_DROP_STOPPED, 2);
}

KIT_TEST(batch, has_no_poison_in_it_though_all_are_chosen)
{
	batching_class.barrier = is_capital;
	batching_class.batch_notices = is_any;
	play_script(test, "tab p / =(ab)");
}

/* ---- the mailbox ---- */

KIT_TEST(batch, leaves_room_in_a_mailbox_with_a_limit)
{
	batching_class.mailbox_limit = 4;
	play_script(test, "tabcd rx / =(abcd) tefgh rx / =(abcd)(efgh)");
	expect_dropped(test, GYRE_DROP_MAILBOX_FULL, 2);
}

KIT_TEST(batch, leaves_room_for_as_many_as_it_holds)
{
	batching_class.mailbox_limit = 4;
	batching_class.batch_max = 2;
	play_script(test, "tmabc / =(ma)(bc)12 tabcd rx / =(ma)(bc)12(ab)(cd)");
	expect_dropped(test, GYRE_DROP_MAILBOX_FULL, 2);
}

KIT_TEST(batch, of_asks_leaves_room_too_and_so_do_those_that_come_alone)
{
	batching_class.mailbox_limit = 3;
	play_script(test, "aabX rx ?BA1 =[ab]X tabX rx / =[ab]X(ab)X tabc rx / =[ab]X(ab)X(abc)");
	expect_dropped(test, GYRE_DROP_MAILBOX_FULL, 3);
}

KIT_TEST(batch, comes_after_what_is_put_first)
{
	batching_class.batch_max = 2;
	play_script(test, "tfabcd / =(fa)1(bc)(d)");
}
