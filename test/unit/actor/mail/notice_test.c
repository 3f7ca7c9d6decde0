/*
 * Notices: their order, their sender, passing them on, and what becomes of those that find nobody.
 */
#include "fixture.h"

#include <string.h>

#include "base/atomic.h"

enum { MANY = 1000 };

static struct gyre_address sender;
static struct gyre_address receiver;
static uint64_t next;

/* ---- order and sender ---- */

static int count_up(struct gyre_stack *stack)
{
	const struct number *number = gyre_message(stack, number);

	expect(number != NULL && number->value == next);
	expect(gyre_message_id(stack) == GYRE_ID(number));
	expect(gyre_address_equal(gyre_sender(stack), sender));
	return ++next == MANY ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class counter_class = { .name = "counter", .behaviour.notice = count_up };

static int send_many(struct gyre_stack *stack, uint32_t loop)
{
	receiver = spawn_on(stack, &counter_class, loop);
	sender = gyre_self(stack);
	for (uint64_t i = 0; i < MANY; i++) {
		expect(gyre_notify(stack, receiver, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

static int send_many_here(struct gyre_stack *stack)
{
	return send_many(stack, 0);
}

static int send_many_there(struct gyre_stack *stack)
{
	return send_many(stack, 1);
}

Test(notice, is_dispatched_in_the_order_of_sending_and_shows_its_sender)
{
	play(1, send_many_here);
	cr_assert_eq(next, MANY);
	cr_assert_eq(fixture.counters.handled, MANY);
}

Test(notice, keeps_its_order_also_on_the_way_to_another_loop)
{
	play(2, send_many_there);
	cr_assert_eq(next, MANY);
}

/* ---- one to itself ---- */

static int count_down(struct gyre_stack *stack)
{
	uint64_t left = gyre_message(stack, number)->value;

	expect(gyre_address_equal(gyre_sender(stack), gyre_self(stack)));
	trace('0' + (char)left);
	if (left == 0) {
		return fixture_end(stack);
	}
	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, left - 1)) == 0);
	trace('-'); /* it is not run before this handler has returned */
	return gyre_return(stack);
}

static int start_down(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 3)) == 0);
	return gyre_return(stack);
}

static const struct gyre_class self_class = {
	.name = "self",
	.behaviour.notice = count_down,
	.mount = start_down,
};

Test(notice, to_oneself_is_run_after_the_handler_that_sent_it)
{
	fixture_open(1);
	(void)spawn_outside(&self_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_str_eq(traced, "3-2-1-0");
}

/* ---- passing on ---- */

static int pass_on(struct gyre_stack *stack)
{
	struct gyre_mail *mail;
	struct gyre_address from = gyre_sender(stack);

	expect(gyre_address_equal(from, sender));
	mail = gyre_take(stack);
	expect(mail != NULL);
	expect(gyre_take(stack) == NULL);
	expect(gyre_message_id(stack) == 0);
	expect(gyre_address_is_nobody(gyre_sender(stack)));
	((struct number *)gyre_payload(mail))->value++;
	sender = gyre_self(stack);
	expect(gyre_notify(stack, receiver, mail) == 0);
	return gyre_return(stack);
}

static const struct gyre_class forwarder_class = { .name = "forward", .behaviour.notice = pass_on };

static int receive_41(struct gyre_stack *stack)
{
	expect(gyre_message(stack, number)->value == 41);
	expect(gyre_address_equal(gyre_sender(stack), sender));
	return fixture_end(stack);
}

static const struct gyre_class end_class = { .name = "end", .behaviour.notice = receive_41 };

static int send_round(struct gyre_stack *stack, uint32_t loop)
{
	struct gyre_address forwarder = spawn_on(stack, &forwarder_class, loop);

	receiver = spawn_here(stack, &end_class);
	sender = gyre_self(stack);
	expect(gyre_notify(stack, forwarder, gyre_new(stack, number, 40)) == 0);
	return gyre_return(stack);
}

static int send_round_here(struct gyre_stack *stack)
{
	return send_round(stack, 0);
}

static int send_round_there(struct gyre_stack *stack)
{
	return send_round(stack, 1);
}

Test(notice, can_be_taken_changed_and_passed_on_with_the_forwarder_as_its_sender)
{
	play(1, send_round_here);
	cr_assert_eq(fixture.counters.handled, 2);
}

Test(notice, that_came_from_another_loop_can_be_passed_back_to_it)
{
	play(2, send_round_there);
	cr_assert_eq(fixture.counters.handled, 2);
}

/* ---- large ones ---- */

static int check_large(struct gyre_stack *stack)
{
	const struct large *large = gyre_message(stack, large);

	expect(large != NULL);
	for (uint64_t i = 0; i < 5000; i++) {
		expect(large->values[i] == i * i);
	}
	return gy_fetch_add(&next, 1) == 2 ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class large_class = { .name = "large", .behaviour.notice = check_large };

static int send_large(struct gyre_stack *stack)
{
	struct gyre_address here = spawn_here(stack, &large_class);
	struct gyre_address there = spawn_on(stack, &large_class, 1);

	for (uint32_t i = 0; i < 3; i++) {
		struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_large);
		struct large *large = (struct large *)gyre_payload(mail);

		for (uint64_t k = 0; k < 5000; k++) {
			large->values[k] = k * k;
		}
		expect(gyre_notify(stack, i == 2 ? here : there, mail) == 0);
	}
	return gyre_return(stack);
}

Test(notice, above_16_kib_arrives_whole_here_and_on_another_loop)
{
	play(2, send_large);
	cr_assert_eq(next, 3);
}

static int make_too_large(struct gyre_stack *stack)
{
	const struct gyre_type type = { .name = "huge",
					.id = 0x1004,
					.bytes = GYRE_MESSAGE_BYTES_MAX + 1 };

	expect(gyre_mail_create(stack, &type) == NULL);
	expect(gyre_system_mail_create(gyre_system_of(stack), &type) == NULL);
	return fixture_end(stack);
}

Test(notice, larger_than_the_largest_message_is_not_made)
{
	play(1, make_too_large);
}

/* ---- those that find nobody ---- */

static int send_to_nobody(struct gyre_stack *stack)
{
	struct gyre_address nowhere = { .slot = 5, .cookie = 77, .loop = 9 };
	struct gyre_address far = { .slot = 5, .cookie = 77, .node = 3 };
	struct gyre_address empty = { .slot = UINT32_MAX, .cookie = 77 };

	expect(gyre_notify(stack, GYRE_NOBODY, gyre_new(stack, number, 1)) == -ESRCH);
	expect(gyre_notify(stack, nowhere, gyre_new(stack, number, 1)) == -ESRCH);
	expect(gyre_notify(stack, far, gyre_new(stack, number, 1)) == -ESRCH);
	expect(gyre_notify(stack, empty, gyre_new(stack, number, 1)) == -ESRCH);
	expect(gyre_notify(stack, gyre_self(stack), NULL) == -ENOMEM);
	expect(gyre_mail_create(stack, NULL) == NULL);
	return fixture_end(stack);
}

Test(notice, to_an_address_of_nobody_is_a_dead_letter)
{
	play(1, send_to_nobody);
	cr_assert_eq(fixture.counters.sent, 4);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 4);
	cr_assert_eq(fixture.letters[1].to.loop, 9);
	cr_assert_eq(fixture.letters[1].type, GYRE_ID(number));
}

static int never_sent(struct gyre_stack *stack)
{
	gyre_mail_destroy(stack, gyre_new(stack, number, 1));
	gyre_mail_destroy(stack, gyre_mail_create(stack, &gyre_type_large));
	gyre_mail_destroy(stack, NULL);
	return fixture_end(stack);
}

Test(notice, that_is_not_sent_after_all_is_given_back)
{
	play(1, never_sent);
	cr_assert_eq(fixture.counters.sent, 0);
}

static int send_to_deaf(struct gyre_stack *stack)
{
	static const struct gyre_class deaf_class = { .name = "deaf" };
	struct gyre_address deaf = spawn_here(stack, &deaf_class);

	expect(gyre_notify(stack, deaf, gyre_new(stack, number, 1)) == 0);
	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 2)) == 0);
	expect(gyre_poison(stack, deaf) == 0);
	return fixture_end(stack);
}

Test(notice, without_a_handler_is_a_dead_letter_and_harms_nobody)
{
	play(1, send_to_deaf);
	cr_assert_geq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 1);
	cr_assert_eq(fixture.letters[0].reason, GYRE_DROP_UNHANDLED);
}

static int fail(struct gyre_stack *stack)
{
	return ++next == 3 ? fixture_end(stack) : gyre_throw(stack, -EIO);
}

static int send_three(struct gyre_stack *stack)
{
	static const struct gyre_class failing_class = { .name = "failing",
							 .behaviour.notice = fail };
	struct gyre_address to = spawn_here(stack, &failing_class);

	for (uint64_t i = 0; i < 3; i++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

Test(notice, whose_handler_fails_is_counted_and_logged_and_the_next_one_is_handled)
{
	play(1, send_three);
	cr_assert_eq(next, 3);
	cr_assert_eq(fixture.counters.failed, 2);
	cr_assert_eq(fixture.warnings, 2);
	cr_assert_not_null(strstr(fixture.line, "failing"));
	cr_assert_not_null(strstr(fixture.line, "number"));
}

/* ---- made as a copy ---- */

static int receive_copy(struct gyre_stack *stack)
{
	const struct large *got = gyre_message(stack, large);

	expect(got != NULL && got->values[0] == 7 && got->values[4999] == 8);
	return fixture_end(stack);
}

static const struct gyre_class copy_class = { .name = "copy", .behaviour.notice = receive_copy };

static int send_copy(struct gyre_stack *stack)
{
	static struct large ready;
	struct gyre_address to = spawn_here(stack, &copy_class);
	struct gyre_mail *mail;

	ready.values[0] = 7;
	ready.values[4999] = 8;
	mail = gyre_new_copy(stack, large, &ready);
	ready.values[0] = 0;
	expect(gyre_notify(stack, to, mail) == 0);
	return gyre_return(stack);
}

Test(notice, may_be_a_copy_of_what_stands_ready)
{
	play(1, send_copy);
}

Test(notice, may_be_a_copy_from_outside)
{
	const struct number seven = { 7 };
	struct gyre_mail *mail;

	fixture_open(1);
	mail = gyre_system_new_copy(fixture.system, number, &seven);
	cr_assert_not_null(mail);
	cr_expect_eq(((struct number *)gyre_payload(mail))->value, 7);
	gyre_mail_destroy(NULL, mail);
	fixture_close();
}
