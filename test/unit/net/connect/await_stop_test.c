/*
 * A connection that is awaited, and that nobody waits for any more: the actor that makes it is
 * stopped, also where there is no memory to order that at once; and there is none for whom nobody
 * waits from the beginning.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/bound_ask.h"
#include "actor/stack/stack.h"
#include "echo.h"
#include "fixture.h"
#include "net/no_memory_client.h"
#include "system/system.h"

TestSuite(await_stop, .timeout = 120);

struct frame {
	struct gyre_future connected;
	struct gyre_future paused;
};

static char target[GYRE_SOCKET_ADDRESS_TEXT_MAX];

/* Nobody listens there. */
static void set_target(void)
{
	struct gyre_socket_address address;

	cr_assert_eq(gyre_socket_address_parse("tcp://127.0.0.1:0", &address), 0);
	(void)close(lean_listen(&address, target));
}

static int connect_to(struct gyre_stack *stack, uint32_t loop, struct gyre_address owner)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct gyre_connect_options options = {
		.to = target,
		.init_channel = init_echo,
		.retries_max = GYRE_RETRIES_UNLIMITED,
		.retry_min_ns = GYRE_SECONDS(10000),
		.owner = owner,
		.place = { .place = GYRE_PLACE_LOOP, .loop = loop, .detached = true },
	};
	int r = gyre_connect(stack, &options, NULL, &frame->connected);

	expect(gyre_future_error(&frame->connected) == (r < 0 ? r : -EINPROGRESS));
	return r;
}

/* ---- an order that goes to another loop ---- */

enum way { CANCEL, END, FORGET, READ_LATER };

static enum way way;
static bool paused; /* what connects waits before its next attempt, and needs no memory */

static struct gy_home *home_of_test(void)
{
	return &fixture.system->homes.homes[0];
}

static void recover(void)
{
	expect(home_of_test()->stops_owed != NULL);
	lean_give_all_back();
}

static void cleaned(void *state)
{
	(void)state;
	if (way == END) {
		recover();
	}
}

static int give_up(struct gyre_stack *stack)
{
	const struct frame *frame = (const struct frame *)gyre_frame(stack);

	lean_take_all(home_of_test());
	if (way == END) {
		gy_house_request_stop(gy_stack_of(stack)->house, 0);
		return gyre_return(stack);
	}
	expect(gyre_cancel(stack, &frame->connected) == 0);
	expect(gyre_cancel(stack, &frame->connected) == -EALREADY);
	expect(gyre_future_error(&frame->connected) == -ECANCELED);
	recover();
	if (way == FORGET) {
		gy_bound_asks_fini(home_of_test());
		expect(home_of_test()->stops_owed == NULL);
		return fixture_end(stack);
	}
	return gyre_return(stack);
}

static int wait_and_give_up(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(connect_to(stack, 1, gyre_parent(stack)) == 0);
	expect(gyre_ask(stack, gyre_parent(stack), gyre_new(stack, number, 0), GYRE_FOREVER,
			&frame->paused) == 0);
	GYRE_AWAIT_ANY(stack, &frame->connected, &frame->paused);
	expect(gyre_future_error(&frame->connected) == -EINPROGRESS);
	if (way != READ_LATER) {
		return give_up(stack);
	}
	lean_take_all(home_of_test());
	expect(gyre_cancel(stack, &frame->connected) == 0);
	recover();
	do {
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->paused) == 0);
		GYRE_AWAIT_ALL(stack, &frame->connected, &frame->paused);
		expect(gyre_future_error(&frame->connected) == -ECANCELED);
	} while (home_of_test()->stops_owed != NULL);
	GYRE_END(stack);
}

static int answer_when_paused(struct gyre_stack *stack)
{
	return paused ? gyre_reply(stack, gyre_new(stack, number, 0)) : gyre_stash(stack);
}

static int hear_of_pause(struct gyre_stack *stack)
{
	if (gyre_message(stack, gyre_connection)->step == GYRE_CONNECTION_PAUSE) {
		paused = true;
		expect(gyre_watch(stack, gyre_sender(stack)) == 0);
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	}
	return gyre_return(stack);
}

static int hear_of_stop(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_terminated) != NULL);
	return fixture_end(stack);
}

static int begin(struct gyre_stack *stack)
{
	static const struct gyre_class waiter = { .name = "waiter",
						  .frame_bytes = sizeof(struct frame),
						  .mount = wait_and_give_up,
						  .clean = cleaned };

	(void)spawn_here(stack, &waiter);
	return gyre_return(stack);
}

/* The system ends when what connects has stopped. */
static void give_up_by(enum way this_way)
{
	static const struct gyre_class director = { .name = "director",
						    .mount = begin,
						    .behaviour = { .ask = answer_when_paused,
								   .notice = hear_of_pause,
								   .event = hear_of_stop } };

	way = this_way;
	set_target();
	fixture_open(2);
	(void)spawn_outside(&director, 0);
	fixture_run();
	fixture_close();
}

Test(await_stop, comes_later_where_who_waited_ends_without_memory)
{
	give_up_by(END);
}

Test(await_stop, comes_later_where_a_future_is_given_up_without_memory)
{
	give_up_by(CANCEL);
}

Test(await_stop, that_comes_later_leaves_the_future_that_was_given_up_to_its_reader)
{
	give_up_by(READ_LATER);
}

Test(await_stop, is_not_owed_any_more_when_all_actors_have_ended)
{
	give_up_by(FORGET);
}

/* ---- nobody waits from the beginning ---- */

static int connect_and_wait(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) != 0 || connect_to(stack, 0, GYRE_NOBODY) < 0) {
		return gyre_return(stack);
	}
	return gyre_suspend(stack, 1);
}

static bool is_alone(struct rig *rig, void *arg)
{
	(void)arg;
	return rig->home.houses == lean_houses;
}

static bool connect_without_memory(const struct lean_round *round)
{
	static const struct gyre_class waiter = { .name = "waiter",
						  .frame_bytes = sizeof(struct frame),
						  .behaviour.notice = connect_and_wait };
	const struct gy_spawn_order order = { .class = &waiter };
	struct gyre_mail *mail = gy_mail_get_outside(&gyre_type_number);
	struct gyre_address address;
	const struct gy_house *house;
	bool lacked;

	set_target();
	cr_assert_eq(gy_spawn(&lean_rig.home, &order, 0, &address), 0);
	rig_turn(&lean_rig);
	lean_houses = 2;
	cr_assert_not_null(mail);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	(void)gy_send(&lean_rig.home, address, mail, GY_LANE_NOTICE);
	lean_begin(round);
	lacked = lean_recover();
	house = gy_house_find(&lean_rig.home, address.slot, address.cookie);
	cr_assert_not_null(house);
	if (gy_list_empty(&house->suspended)) {
		cr_expect(lacked, "round %u", round->number);
		cr_expect(rig_until_later(&lean_rig, is_alone, NULL),
			  "round %u: it goes on for nobody", round->number);
	}
	cr_assert_null(fixture.failure, "%s", fixture.failure);
	return lacked;
}

Test(await_stop, is_needed_for_nobody_whose_connect_has_failed)
{
	lean_play(connect_without_memory);
}
