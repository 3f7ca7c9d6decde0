/*
 * Forwarding: a message goes on with its sender, an ask with its asker and what is left of its
 * time; whoever has passed it on is done with it.
 */
#include <errno.h>
#include <string.h>

#include <gyre/batch.h>
#include <gyre/group.h>
#include <gyre/move.h>

#include "fixture.h"

struct frame {
	struct gyre_future answer;
	struct gyre_future other;
	struct gyre_address router;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static bool is_same(struct gyre_address a, struct gyre_address b)
{
	return a.slot == b.slot && a.cookie == b.cookie && a.loop == b.loop && a.node == b.node;
}

/* Where routers forward to: set before they are sent anything. */
static struct gyre_address target;
static struct gyre_address sender;

static int pass_on(struct gyre_stack *stack)
{
	return gyre_forward(stack, target);
}

static struct gyre_class router_class = {
	.name = "router",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .ask = pass_on, .notice = pass_on },
};

static int ask(struct gyre_stack *stack, uint64_t value, uint64_t timeout_ns)
{
	struct frame *frame = frame_of(stack);

	return gyre_ask(stack, frame->router, gyre_new(stack, number, value), timeout_ns,
			&frame->answer);
}

/* ---- what arrives ---- */

static uint32_t router_loop;
static uint32_t target_loop;

static int hear(struct gyre_stack *stack)
{
	expect(is_same(gyre_sender(stack), sender));
	expect(gyre_message(stack, number)->value == 7);
	return fixture_end(stack);
}

static const struct gyre_class hearer_class = { .name = "hearer", .behaviour.notice = hear };

static int notify_router(struct gyre_stack *stack)
{
	sender = gyre_self(stack);
	target = spawn_on(stack, &hearer_class, target_loop);
	return gyre_notify(stack, spawn_on(stack, &router_class, router_loop),
			   gyre_new(stack, number, 7));
}

Test(forward, keeps_the_sender_of_a_notice)
{
	play(1, notify_router);
}

Test(forward, keeps_the_sender_of_a_notice_over_three_loops)
{
	router_loop = 1;
	target_loop = 2;
	play(3, notify_router);
}

static int add_for_sender(struct gyre_stack *stack)
{
	expect(is_same(gyre_sender(stack), sender));
	return gyre_reply(stack, gyre_new(stack, number, gyre_message(stack, number)->value + 1));
}

static const struct gyre_class keen_class = { .name = "keen", .behaviour.ask = add_for_sender };

static int ask_router(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	target = spawn_on(stack, &keen_class, target_loop);
	frame->router = spawn_on(stack, &router_class, router_loop);
	GYRE_AWAIT(stack, ask(stack, 41, 0));
	expect(gyre_future_error(&frame->answer) == 0);
	expect(gyre_future_get(&frame->answer, number)->value == 42);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, lets_the_last_receiver_answer_the_asker)
{
	play(1, ask_router);
	cr_assert_eq(fixture.counters.sent, 3); /* to the router, to the target, and back */
}

Test(forward, lets_the_last_receiver_answer_the_asker_over_three_loops)
{
	router_loop = 1;
	target_loop = 2;
	play(3, ask_router);
	cr_assert_eq(fixture.counters.sent, 3);
}

Test(forward, leads_back_to_the_loop_of_the_asker)
{
	router_loop = 1;
	play(2, ask_router);
}

static int pass_down(struct gyre_stack *stack)
{
	struct number *left = (struct number *)gyre_state(stack);

	return gyre_forward(stack, left->value == 0 ? target : gyre_self(stack));
}

static int count_down(struct gyre_stack *stack)
{
	struct number *left = (struct number *)gyre_state(stack);

	left->value -= left->value > 0;
	return pass_down(stack);
}

static int mount_with_1000(struct gyre_stack *stack)
{
	((struct number *)gyre_state(stack))->value = 1000;
	return gyre_return(stack);
}

Test(forward, may_happen_many_times_also_to_oneself)
{
	router_class.state_bytes = sizeof(struct number);
	router_class.mount = mount_with_1000;
	router_class.behaviour.ask = count_down;
	play(1, ask_router);
	cr_assert_eq(fixture.counters.sent, 3 + 999);
}

static struct gyre_address first_router;
static struct gyre_address other_router;

/* Each of the two passes on five times. */
static int pass_to_and_fro(struct gyre_stack *stack)
{
	struct number *count = (struct number *)gyre_state(stack);
	bool is_first = gyre_self(stack).loop == 0;

	if (count->value++ == 5) {
		return gyre_forward(stack, target);
	}
	return gyre_forward(stack, is_first ? other_router : first_router);
}

static int ask_for_20_days(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	target = spawn_on(stack, &adder_class, 0);
	frame->router = spawn_on(stack, &router_class, 0);
	first_router = frame->router;
	other_router = spawn_on(stack, &router_class, 1);
	GYRE_AWAIT(stack, ask(stack, 41, GYRE_SECONDS(UINT64_C(20) * 24 * 3600)));
	expect(gyre_future_error(&frame->answer) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, between_loops_may_happen_many_times_to_an_ask_with_a_long_time_out)
{
	router_class.state_bytes = sizeof(struct number);
	router_class.behaviour.ask = pass_to_and_fro;
	play(2, ask_for_20_days);
}

/* ---- what is lost ---- */

static int expected;
static const struct gyre_class *target_class;

static int ask_in_vain(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	if (target_class != NULL) {
		target = spawn_on(stack, target_class, target_loop);
	}
	frame->router = spawn_on(stack, &router_class, router_loop);
	GYRE_AWAIT(stack, ask(stack, 1, GYRE_FOREVER));
	expect(gyre_future_error(&frame->answer) == expected);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_in_vain(const struct gyre_class *class, int error)
{
	target_class = class;
	expected = error;
	play(3, ask_in_vain);
}

static void play_in_vain_over_loops(const struct gyre_class *class, int error)
{
	router_loop = 1;
	target_loop = 2;
	play_in_vain(class, error);
}

Test(forward, to_nobody_fails_at_once_at_the_asker)
{
	play_in_vain(NULL, -ESRCH);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
	cr_assert_eq(fixture.counters.failed, 0);
}

Test(forward, to_nobody_on_another_loop_fails_at_once_at_the_asker)
{
	play_in_vain_over_loops(NULL, -ESRCH);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
}

static const struct gyre_class deaf_class = { .name = "deaf" };

Test(forward, to_one_that_takes_no_asks_fails_at_once_at_the_asker)
{
	play_in_vain_over_loops(&deaf_class, -ENOSYS);
}

static int fail_with_eio(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class failing_class = { .name = "failing",
						 .behaviour.ask = fail_with_eio };

Test(forward, tells_the_asker_the_error_of_the_last_receiver)
{
	play_in_vain_over_loops(&failing_class, -EIO);
}

static int wait_in_mount(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(100), &frame->other));
	GYRE_END(stack);
}

static const struct gyre_class full_class = {
	.name = "full",
	.frame_bytes = sizeof(struct frame),
	.mount = wait_in_mount,
	.behaviour.ask = pass_on,
	.mailbox_limit = 1,
};

static int fill_then_ask(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	target = spawn_here(stack, &full_class);
	expect(gyre_notify(stack, target, gyre_new(stack, number, 1)) == 0);
	frame->router = spawn_on(stack, &router_class, router_loop);
	GYRE_AWAIT(stack, ask(stack, 1, GYRE_FOREVER));
	expect(gyre_future_error(&frame->answer) == -ENOBUFS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, to_a_full_mailbox_fails_at_once_at_the_asker)
{
	play(1, fill_then_ask);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 1);
}

Test(forward, to_a_full_mailbox_on_another_loop_fails_at_once_at_the_asker)
{
	router_loop = 1;
	play(2, fill_then_ask);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 1);
}

static int notify_in_vain(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->router = spawn_here(stack, &router_class);
	expect(gyre_notify(stack, frame->router, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->router, GYRE_SECONDS(100), &frame->answer));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, of_a_notice_to_nobody_is_a_dead_letter_of_its_sender)
{
	play(1, notify_in_vain);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
	cr_assert_eq(fixture.counters.failed, 0);
}

/* ---- once ---- */

static int pass_on_twice(struct gyre_stack *stack)
{
	expect(gyre_forward(stack, target) == 0);
	expect(gyre_message(stack, number) == NULL);
	expect(gyre_address_is_nobody(gyre_sender(stack)));
	expect(gyre_forward(stack, target) == -EALREADY);
	expect(gyre_reply(stack, gyre_new(stack, number, 5)) == -EALREADY);
	expect(gyre_reply(stack, NULL) == -EALREADY);
	return gyre_return(stack);
}

Test(forward, ends_what_its_handler_may_do_about_the_ask)
{
	router_class.behaviour.ask = pass_on_twice;
	play(1, ask_router);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 1);
	cr_assert_not_null(strstr(fixture.line, "has forwarded"));
}

static int answer_then_pass_on(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, gyre_new(stack, number, 42)) == 0);
	expect(gyre_forward(stack, target) == -EALREADY);
	return gyre_return(stack);
}

Test(forward, is_refused_after_the_answer)
{
	router_class.behaviour.ask = answer_then_pass_on;
	play(1, ask_router);
	cr_assert_eq(fixture.counters.sent, 2);
}

Test(forward, is_refused_after_an_answer_to_another_loop)
{
	router_class.behaviour.ask = answer_then_pass_on;
	router_loop = 1;
	play(2, ask_router);
	cr_assert_eq(fixture.counters.sent, 2);
}

static int pass_on_and_fail(struct gyre_stack *stack)
{
	expect(gyre_forward(stack, target) == 0);
	return gyre_throw(stack, -EIO);
}

Test(forward, stands_when_its_handler_fails_afterwards)
{
	router_class.behaviour.ask = pass_on_and_fail;
	router_class.strategy = GYRE_STRATEGY_IGNORE;
	play(1, ask_router);
	cr_assert_eq(fixture.counters.failed, 1);
}

static int pass_on_and_stop(struct gyre_stack *stack)
{
	expect(gyre_forward(stack, target) == 0);
	return gyre_stop(stack, gyre_self(stack));
}

Test(forward, stands_when_who_has_forwarded_ends)
{
	router_class.behaviour.ask = pass_on_and_stop;
	router_loop = 1;
	play(2, ask_router);
}

/* ---- what is no message ---- */

static int fail_to_pass_on(struct gyre_stack *stack)
{
	expect(gyre_forward(stack, target) == -EINVAL);
	trace('x');
	return gyre_return(stack);
}

static int mount_then_time(struct gyre_stack *stack)
{
	(void)fail_to_pass_on(stack);
	return gyre_timer_start(stack, 1, &GYRE_VALUE(gyre_timer_options, .delay_ns = 1));
}

static int fail_event(struct gyre_stack *stack)
{
	(void)fail_to_pass_on(stack);
	return fixture_end(stack);
}

static const struct gyre_class misled_class = {
	.name = "misled",
	.mount = mount_then_time,
	.behaviour.event = fail_event,
};

static int spawn_misled(struct gyre_stack *stack)
{
	struct gyre_address address;

	return gyre_spawn(stack, &misled_class, gyre_new(stack, number, 1), NULL, &address);
}

Test(forward, is_not_of_a_mount_nor_an_event)
{
	play(1, spawn_misled);
	cr_assert_str_eq(traced, "xx");
}

static int move_then_pass_on(struct gyre_stack *stack)
{
	struct number moved;

	expect(gyre_move(stack, number, &moved) == 0);
	expect(gyre_forward(stack, target) == -EINVAL);
	return gyre_reply(stack, gyre_new(stack, number, moved.value + 1));
}

Test(forward, is_not_of_what_was_moved_out)
{
	router_class.behaviour.ask = move_then_pass_on;
	play(1, ask_router);
}

/* ---- after a wait ---- */

static int wait_then_pass_on(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	(void)gyre_sleep(stack, GYRE_SECONDS(1000), &frame->other);
	(void)gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->answer);
	GYRE_AWAIT_ALL(stack, &frame->answer);
	return gyre_forward(stack, target);
	GYRE_END(stack);
}

Test(forward, works_after_a_wait_and_ends_what_is_outstanding)
{
	router_class.behaviour.ask = wait_then_pass_on;
	play(1, ask_router);
}

static bool is_any(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int ask_router_twice(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	target = spawn_on(stack, &keen_class, target_loop);
	frame->router = spawn_on(stack, &router_class, router_loop);
	(void)gyre_ask(stack, frame->router, gyre_new(stack, number, 1), 0, &frame->other);
	(void)ask(stack, 2, 0);
	GYRE_AWAIT_ALL(stack, &frame->other, &frame->answer);
	expect(gyre_future_get(&frame->other, number)->value == 2);
	expect(gyre_future_get(&frame->answer, number)->value == 3);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, ends_a_barrier)
{
	router_class.barrier = is_any;
	router_class.behaviour.ask = wait_then_pass_on;
	play(1, ask_router_twice);
}

static int pass_on_then_wait(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_forward(stack, target) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other));
	expect(gyre_forward(stack, target) == -EALREADY);
	trace('w');
	GYRE_END(stack);
}

static int ask_then_sleep(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	target = spawn_here(stack, &keen_class);
	frame->router = spawn_here(stack, &router_class);
	GYRE_AWAIT(stack, ask(stack, 2, 0));
	trace('a');
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->other));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, lets_its_handler_go_on_and_wait)
{
	router_class.behaviour.ask = pass_on_then_wait;
	play_steady(ask_then_sleep);
	cr_assert_str_eq(traced, "aw");
}

/* ---- the time that is left ---- */

static int never_called(struct gyre_stack *stack)
{
	trace('n');
	return gyre_return(stack);
}

static const struct gyre_class late_class = { .name = "late", .behaviour.ask = never_called };

static int sleep_then_pass_on(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(400), &frame->other));
	return gyre_forward(stack, target);
	GYRE_END(stack);
}

static int ask_for_200_ms(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	target = spawn_on(stack, &late_class, target_loop);
	frame->router = spawn_here(stack, &router_class);
	GYRE_AWAIT(stack, ask(stack, 1, GYRE_MILLISECONDS(200)));
	expect(gyre_future_error(&frame->answer) == -ETIMEDOUT);
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->router, GYRE_SECONDS(100), &frame->other));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, of_what_nobody_waits_for_any_more_is_not_handled)
{
	router_class.behaviour.ask = sleep_then_pass_on;
	play_steady(ask_for_200_ms);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

Test(forward, to_another_loop_of_what_nobody_waits_for_any_more_is_not_handled)
{
	router_class.behaviour.ask = sleep_then_pass_on;
	target_loop = 1;
	play(2, ask_for_200_ms);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

static int sleep_400_ms(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(400), &frame->other));
	GYRE_END(stack);
}

static const struct gyre_class busy_class = {
	.name = "busy",
	.frame_bytes = sizeof(struct frame),
	.mount = sleep_400_ms,
	.behaviour.ask = never_called,
};

static int ask_busy_for_200_ms(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	target = spawn_on(stack, &busy_class, target_loop);
	frame->router = spawn_on(stack, &router_class, router_loop);
	GYRE_AWAIT(stack, ask(stack, 1, GYRE_MILLISECONDS(200)));
	expect(gyre_future_error(&frame->answer) == -ETIMEDOUT);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, target, GYRE_SECONDS(100), &frame->other));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, takes_the_rest_of_the_time_along)
{
	play_steady(ask_busy_for_200_ms);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

Test(forward, takes_the_rest_of_the_time_along_to_other_loops)
{
	router_loop = 1;
	target_loop = 2;
	play(3, ask_busy_for_200_ms);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

static int ask_busy_for_ever(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	target = spawn_on(stack, &busy_class, target_loop);
	frame->router = spawn_on(stack, &router_class, router_loop);
	GYRE_AWAIT(stack, ask(stack, 1, GYRE_FOREVER));
	expect(gyre_future_error(&frame->answer) == -ENOMSG);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, of_an_ask_without_a_limit_has_none)
{
	play_steady(ask_busy_for_ever);
	cr_assert_str_eq(traced, "n");
}

/* ---- order ---- */

enum { MANY = 1000 };

static int count_up(struct gyre_stack *stack)
{
	struct number *next = (struct number *)gyre_state(stack);

	expect(gyre_message(stack, number)->value == next->value++);
	return next->value == MANY ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class counter_class = {
	.name = "counter",
	.state_bytes = sizeof(struct number),
	.behaviour.notice = count_up,
};

static int send_many(struct gyre_stack *stack)
{
	struct gyre_address router = spawn_on(stack, &router_class, router_loop);

	target = spawn_on(stack, &counter_class, target_loop);
	for (uint64_t i = 0; i < MANY; i++) {
		expect(gyre_notify(stack, router, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

Test(forward, keeps_the_order_of_the_calls)
{
	play(1, send_many);
}

Test(forward, keeps_the_order_of_the_calls_over_loops)
{
	router_loop = 1;
	target_loop = 2;
	play(3, send_many);
}

/* ---- groups ---- */

static enum gyre_routing routing;

static int ask_group(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sender = gyre_self(stack);
	expect(gyre_group_spawn(stack, &keen_class, GYRE_NO_ARGUMENT,
				&GYRE_VALUE(gyre_group_options, .routing = routing, .count = 3),
				&target) == 0);
	frame->router = spawn_here(stack, &router_class);
	GYRE_AWAIT(stack, ask(stack, 1, GYRE_FOREVER));
	expect(gyre_future_error(&frame->answer) == expected);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(forward, to_a_group_reaches_a_member)
{
	play(2, ask_group);
}

Test(forward, of_an_ask_to_all_of_a_group_fails_at_the_asker)
{
	routing = GYRE_ROUTING_ALL;
	expected = -EINVAL;
	play(2, ask_group);
}

static int trace_sender(struct gyre_stack *stack)
{
	trace(is_same(gyre_sender(stack), sender) ? 's' : '?');
	return strlen(traced) == 3 ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class member_class = { .name = "member",
						.behaviour.notice = trace_sender };

static int notify_group(struct gyre_stack *stack)
{
	const struct gyre_group_options options = { .routing = GYRE_ROUTING_ALL, .count = 3 };

	sender = gyre_self(stack);
	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &target) == 0);
	return gyre_notify(stack, spawn_here(stack, &router_class), gyre_new(stack, number, 7));
}

Test(forward, to_all_of_a_group_shows_each_the_sender)
{
	play(1, notify_group);
	cr_assert_str_eq(traced, "sss");
}

/* ---- batches ---- */

static int pass_batch_on(struct gyre_stack *stack)
{
	expect(gyre_forward(stack, target) == -EINVAL);
	expect(gyre_batch_forward(stack, gyre_batch_count(stack), target) == -EINVAL);
	expect(gyre_batch_count(stack) == 2);
	expect(gyre_batch_reply(stack, 0, gyre_new(stack, number, 2)) == 0);
	expect(gyre_batch_forward(stack, 0, target) == -EALREADY);
	expect(gyre_batch_forward(stack, 1, target) == 0);
	expect(gyre_batch_get(stack, 1, number) == NULL);
	expect(gyre_batch_forward(stack, 1, target) == -EALREADY);
	expect(gyre_batch_reply(stack, 1, gyre_new(stack, number, 9)) == -EALREADY);
	return gyre_batch_reply_all(stack, gyre_new(stack, number, 9));
}

Test(forward, of_a_batch_is_of_each_message_by_itself)
{
	router_class.batch_asks = is_any;
	router_class.behaviour.ask_batch = pass_batch_on;
	play(1, ask_router_twice);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 1);
}

static int pass_notices_on(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		expect(gyre_batch_forward(stack, i, target) == 0);
		expect(gyre_batch_forward(stack, i, target) == -EINVAL);
	}
	return gyre_return(stack);
}

Test(forward, of_a_batch_of_notices_keeps_their_order)
{
	router_class.batch_notices = is_any;
	router_class.behaviour.notice_batch = pass_notices_on;
	router_loop = 1;
	target_loop = 2;
	play(3, send_many);
}
