/*
 * Batches: what comes together, in which order, what ends one, and batches of notices.
 */
#include "actor/batch_rig.h"

#include <string.h>

/* ---- the choice ---- */

Test(batch, holds_what_was_chosen_in_the_order_of_arrival)
{
	play_script(0, "tabc / =(abc)");
}

Test(batch, may_hold_one)
{
	play_script(0, "ta / =(a) aa ? =(a)[a]A");
}

Test(batch, is_flushed_by_a_message_that_is_not_chosen)
{
	play_script(0, "tabXcYZde / =(ab)X(c)YZ(de)");
}

Test(batch, of_asks_is_flushed_by_one_that_is_not_chosen)
{
	play_script(0, "aabXc ? =[ab]X[c]AB1C");
}

Test(batch, holds_either_asks_or_notices)
{
	play_script(0, "ta ab tc ad / =[bd](ac) ? =[bd](ac)BD");
}

Test(batch, shows_each_message_as_what_it_is)
{
	play_script(0, "ta l tb / =(a@b)");
}

Test(batch, does_not_wait_for_more)
{
	play_script(0, "ta / =(a) tb / =(a)(b)");
}

Test(batch, is_not_of_notices_where_the_class_chooses_none)
{
	batching_class.batch_notices = NULL;
	play_script(0, "tab aab / =[ab]ab");
}

Test(batch, is_not_of_asks_where_the_class_chooses_none)
{
	batching_class.batch_asks = NULL;
	play_script(0, "tab aab / =ab(ab)");
}

Test(batch, needs_a_handler_or_what_was_chosen_comes_alone)
{
	batching_class.behaviour.notice_batch = NULL;
	batching_class.behaviour.ask_batch = NULL;
	play_script(0, "tab aab ? =abab11");
}

Test(batch, needs_a_handler_in_the_behaviour_of_the_moment)
{
	play_script(0, "tabBcd / =(ab)Bcd aab ? =(ab)Bcdab11");
}

Test(batch, does_not_hide_that_there_is_no_handler_for_the_rest)
{
	batching_class.behaviour.notice = NULL;
	play_script(0, "tabXc / =(ab)(c)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 1);
}

/* The mount and the event look at their stacks themselves. */
Test(batch, is_not_what_a_mount_an_event_or_a_single_message_has)
{
	batching_class.mount = note_mount;
	play_script(0, "/ / tX aY ? o tW /");
	cr_assert_not_null(strchr(traced, 'e'));
	cr_assert_not_null(strchr(traced, '0'));
}

/* ---- its size ---- */

Test(batch, holds_no_more_than_the_class_allows)
{
	batching_class.batch_max = 3;
	play_script(0, "tabcdefgh / =(abc)(def)(gh)");
}

Test(batch, that_is_full_just_before_one_not_chosen_is_not_flushed_twice)
{
	batching_class.batch_max = 2;
	play_script(0, "tabXcdef / =(ab)X(cd)(ef)");
}

Test(batch, may_be_limited_to_one)
{
	batching_class.batch_max = 1;
	play_script(0, "tabX aab ? =[a][b](a)(b)XAB");
}

static int note_count(struct gyre_stack *stack)
{
	uint32_t count = gyre_batch_count(stack);

	for (uint32_t i = 0; i < count; i++) {
		expect(gyre_batch_get(stack, i, number)->value == 'a');
	}
	trace(count == 64 ? 'L' : count == 1024 ? 'X' : count == 2 ? '2' : '?');
	return gyre_return(stack);
}

static int tell_many(struct gyre_stack *stack)
{
	struct gyre_address to;

	GYRE_BEGIN(stack);
	to = spawn_here(stack, &batching_class);
	for (uint32_t i = 0; i < 2 * 1024 + 2; i++) {
		expect(gyre_notify(stack, to, letter(stack, 'a')) == 0);
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->turn));
	while (traced[0] == 0 || traced[strlen(traced) - 1] != '2') {
		GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->turn));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_many(uint32_t batch_max)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 10000 };

	batching_class.batch_max = batch_max;
	batching_class.behaviour.notice_batch = note_count;
	play_with(&options, tell_many);
}

Test(batch, holds_up_to_64_by_default)
{
	play_many(0);
	cr_assert_str_eq(traced, "LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL2");
}

Test(batch, may_hold_1024)
{
	play_many(1024);
	cr_assert_str_eq(traced, "XX2");
}

Test(batch, may_not_hold_more)
{
	struct gyre_address address;

	batching_class.batch_max = 1025;
	fixture_open(1);
	cr_assert_eq(gyre_system_spawn(fixture.system, &batching_class, GYRE_NO_ARGUMENT, NULL,
				       &address),
		     -EINVAL);
	fixture_close();
}

Test(batch, is_bounded_by_the_run_budget)
{
	play_script(3, "tabcdefgh / =(abc)(def)(gh)");
}

Test(batch, of_asks_leaves_the_rest_of_the_run_budget_to_the_notices)
{
	play_script(3, "aab tabc ? =[ab](a)(bc)AB");
}

Test(batch, of_a_run_budget_of_one_holds_one)
{
	play_script(1, "tabXc / =(a)(b)X(c)");
}

/* ---- barriers ---- */

Test(batch, has_no_barrier_in_it_though_all_are_chosen)
{
	batching_class.barrier = is_capital;
	batching_class.batch_notices = is_any;
	batching_class.batch_asks = is_any;
	play_script(0, "tabXcd / =(ab)X(cd) aabXcd ? =(ab)X(cd)[ab]X[cd]AB1CD");
}

Test(batch, before_a_barrier_is_flushed_and_what_follows_waits_for_its_end)
{
	batching_class.barrier = is_capital;
	batching_class.batch_notices = is_any;
	play_script(0, "tabWcdX / =(ab)W te ag / =(ab)W o / =(ab)W0[g](cd)X(e)");
}

/* ---- waiting ---- */

Test(batch, that_waits_keeps_its_messages_and_others_go_on)
{
	play_script(
		0, "twabXcd / =(wab)X(cd) te aa ? =(wab)X(cd)[a](e)A o / =(wab)X(cd)[a](e)A0(wab)");
}

Test(batch, that_waits_goes_on_in_the_behaviour_that_it_began_in)
{
	play_script(0, "twaBc / =(wa)Bc o / =(wa)Bc0(wa)");
}

Test(batch, that_waits_ends_with_its_actor)
{
	play_script(0, "twab / s / =(wab) o / =(wab)");
}

/* ---- failures ---- */

Test(batch, that_fails_is_one_failure)
{
	play_script(0, "teaXb / =(ea)X(b)");
	cr_assert_eq(fixture.counters.failed, 1);
}

static int note_restart(struct gyre_stack *stack)
{
	trace('<');
	return gyre_return(stack);
}

Test(batch, that_fails_restarts_the_actor_before_the_next_message)
{
	batching_class.strategy = GYRE_STRATEGY_RESTART;
	batching_class.restart = note_restart;
	batching_class.batch_max = 2;
	play_script(0, "teabcX / =(ea)<(bc)X");
	cr_assert_eq(fixture.counters.restarted, 1);
}

Test(batch, that_fails_stops_the_actor_before_the_next_message)
{
	batching_class.strategy = GYRE_STRATEGY_STOP;
	play_script(0, "teaXb / =(ea)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

/* ---- the end of the actor ---- */

Test(batch, that_stops_its_actor_is_the_last)
{
	play_script(0, "tsaXb / =(sa)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

Test(batch, ends_before_a_poison_and_then_the_actor_ends)
{
	play_script(0, "tab p tcd / =(ab)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

Test(batch, has_no_poison_in_it_though_all_are_chosen)
{
	batching_class.barrier = is_capital;
	batching_class.batch_notices = is_any;
	play_script(0, "tab p / =(ab)");
}

/* ---- the mailbox ---- */

Test(batch, leaves_room_in_a_mailbox_with_a_limit)
{
	batching_class.mailbox_limit = 4;
	play_script(0, "tabcd rx / =(abcd) tefgh rx / =(abcd)(efgh)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
}

Test(batch, leaves_room_for_as_many_as_it_holds)
{
	batching_class.mailbox_limit = 4;
	batching_class.batch_max = 2;
	play_script(0, "tmabc / =(ma)(bc)12 tabcd rx / =(ma)(bc)12(ab)(cd)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
}

Test(batch, of_asks_leaves_room_too_and_so_do_those_that_come_alone)
{
	batching_class.mailbox_limit = 3;
	play_script(0,
		    "aabX rx ? =[ab]XAB1 tabX rx / =[ab]XAB1(ab)X tabc rx / =[ab]XAB1(ab)X(abc)");
}

Test(batch, comes_after_what_is_put_first)
{
	batching_class.batch_max = 2;
	play_script(0, "tfabcd / =(fa)1(bc)(d)");
}
