/*
 * Probes: they send and ask as actors, and keep what they get until the test takes it; each call
 * that finds something else than it expects fails the test.
 */
#include "testkit_rig.h"

static const char here[] = "testkit_probe_test.c:";

/* ---- an actor to be tested: it asks its supplier, and adds something ---- */

struct shop {
	struct gyre_address supplier;
};
GYRE_MESSAGE(shop, 0x110);

struct shop_frame {
	struct gyre_future price;
};

static int open_shop(struct gyre_stack *stack)
{
	*(struct shop *)gyre_state(stack) = *gyre_message(stack, shop);
	return gyre_return(stack);
}

static int tell_price(struct gyre_stack *stack)
{
	const struct shop *shop = (const struct shop *)gyre_state(stack);
	struct shop_frame *frame = (struct shop_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, shop->supplier,
				   gyre_new(stack, price_of, gyre_message(stack, price_of)->pieces),
				   GYRE_SECONDS(2), &frame->price));
	if (gyre_future_failed(&frame->price)) {
		return gyre_throw(stack, gyre_future_error(&frame->price));
	}
	return gyre_reply(
		stack, gyre_new(stack, price, gyre_future_get(&frame->price, price)->cents + 10));
	GYRE_END(stack);
}

/* Passes an order on, and stops on one of nothing. */
static int take_order(struct gyre_stack *stack)
{
	const struct shop *shop = (const struct shop *)gyre_state(stack);
	uint32_t pieces = gyre_message(stack, order)->pieces;

	if (pieces == 0) {
		return gyre_stop(stack, gyre_self(stack));
	}
	return gyre_notify(stack, shop->supplier, gyre_new(stack, order, pieces + 1));
}

static const struct gyre_class shop_class = {
	.name = "shop",
	.state_bytes = sizeof(struct shop),
	.frame_bytes = sizeof(struct shop_frame),
	.mount = open_shop,
	.behaviour = { .notice = take_order, .ask = tell_price },
};

struct rig {
	struct gyre_probe *customer;
	struct gyre_probe *supplier;
	struct gyre_address shop;
};

static struct rig make(struct gyre_test *test)
{
	struct rig rig = { .customer = gyre_probe_create(test),
			   .supplier = gyre_probe_create(test) };

	rig.shop = gyre_test_spawn(test, &shop_class,
				   gyre_test_new(test, shop, gyre_probe_address(rig.supplier)));
	return rig;
}

/* ---- what works ---- */

static void notify_and_expect(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	for (uint32_t pieces = 1; pieces < 100; pieces++) {
		(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, pieces));
	}
	for (uint32_t pieces = 1; pieces < 100; pieces++) {
		const struct order *order = gyre_probe_expect(rig.supplier, order, GYRE_SECONDS(1));

		cr_assert_eq(order->pieces, pieces + 1);
		cr_assert(gyre_address_equal(gyre_probe_sender(rig.supplier), rig.shop));
	}
	(void)gyre_probe_expect_none(rig.customer, GYRE_SECONDS(10));
}

Test(sim_testkit_probe, sends_notices_and_gets_them_in_their_order)
{
	pass(notify_and_expect, NULL);
}

static void ask_and_reply(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 3), 0);
	cr_assert_eq(gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1))->pieces, 3);
	gyre_test_advance(test, GYRE_SECONDS(1)); /* nobody is in a hurry */
	(void)gyre_probe_expect_none(rig.customer, 0);
	cr_assert_eq(gyre_probe_reply(rig.supplier, gyre_test_new(test, price, 70)), 0);
	cr_assert_eq(gyre_probe_expect(rig.customer, price, GYRE_SECONDS(1))->cents, 80);
	cr_assert(gyre_address_equal(gyre_probe_sender(rig.customer), rig.shop));
}

Test(sim_testkit_probe, asks_and_answers_when_the_test_wants_to)
{
	pass(ask_and_reply, NULL);
}

/* Those that wait keep their messages while others are answered, in any number. */
static void answer_many(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	for (uint32_t i = 0; i < 500; i++) {
		(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, i), 0);
	}
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t pieces =
			gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1))->pieces;

		cr_assert_eq(pieces, i);
		cr_assert_eq(gyre_probe_reply(rig.supplier, gyre_test_new(test, price, pieces)), 0);
		cr_assert_eq(gyre_probe_expect(rig.customer, price, GYRE_SECONDS(1))->cents,
			     pieces + 10);
	}
	(void)gyre_probe_expect_none(rig.supplier, 0);
}

Test(sim_testkit_probe, keeps_asks_while_it_answers_others)
{
	pass(answer_many, NULL);
}

/* ---- several at once ---- */

enum { AT_ONCE_MAX = 32 };

struct at_once {
	struct gyre_test *test;
	struct rig rig;
};

static int ask_as_often_as_allowed(struct gyre_stack *stack, void *arg)
{
	const struct at_once *all = (const struct at_once *)arg;
	struct gyre_address to = gyre_probe_address(all->rig.supplier);

	for (uint32_t i = 0; i < AT_ONCE_MAX; i++) {
		cr_assert_eq(gyre_probe_ask(all->rig.customer, to, gyre_new(stack, price_of, i), 0),
			     0);
	}
	cr_assert_eq(gyre_probe_ask(all->rig.customer, to, gyre_new(stack, price_of, 0), 0),
		     -ENOBUFS);
	cr_assert_eq(gyre_probe_ask(all->rig.customer, to, NULL, 0), -ENOMEM);
	gyre_test_advance(all->test, GYRE_SECONDS(1));
	return 0;
}

/* None has come while the probe asks; their answers come in the order in which they are given. */
static void ask_at_once(struct gyre_test *test, void *arg)
{
	struct at_once all = { test, make(test) };

	(void)arg;
	cr_assert_eq(gyre_probe_do(all.rig.customer, ask_as_often_as_allowed, &all), 0);
	for (uint32_t i = 0; i < AT_ONCE_MAX; i++) {
		cr_assert_eq(gyre_probe_expect(all.rig.supplier, price_of, GYRE_SECONDS(1))->pieces,
			     i);
		if (i % 2 == 0) {
			(void)gyre_probe_reply(all.rig.supplier, gyre_test_new(test, price, i));
			cr_assert_eq(
				gyre_probe_expect(all.rig.customer, price, GYRE_SECONDS(1))->cents,
				i);
		} else {
			(void)gyre_probe_throw(all.rig.supplier, -EIO);
			(void)gyre_probe_expect_failure(all.rig.customer, -EIO, GYRE_SECONDS(1));
		}
	}
	(void)gyre_probe_expect_none(all.rig.customer, GYRE_SECONDS(1));
}

Test(sim_testkit_probe, asks_several_at_once_in_what_it_does)
{
	pass(ask_at_once, NULL);
}

/* The supplier's actor learns too late that it cannot answer: nobody can expect that failure. */
static int fail_slowly(struct gyre_stack *stack)
{
	struct shop_frame *frame = (struct shop_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(2), &frame->price));
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

static const struct gyre_class slow_class = { .name = "slow",
					      .frame_bytes = sizeof(struct shop_frame),
					      .behaviour.ask = fail_slowly,
					      .strategy = GYRE_STRATEGY_IGNORE };

static void fail_late(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	struct gyre_address slow = gyre_test_spawn(test, &slow_class, GYRE_NO_ARGUMENT);

	(void)arg;
	(void)gyre_probe_ask(probe, slow, gyre_test_new(test, price_of, 1), GYRE_SECONDS(1));
	(void)gyre_probe_expect_failure(probe, -ETIMEDOUT, GYRE_SECONDS(2));
	gyre_test_advance(test, GYRE_SECONDS(2));
}

Test(sim_testkit_probe, lets_an_ask_that_has_timed_out_fail_later)
{
	pass(fail_late, NULL);
}

/* ---- failed asks ---- */

static void fail_asks(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	cr_assert_not_null(gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1)));
	cr_assert_eq(gyre_probe_throw(rig.supplier, -ENOENT), 0);
	cr_assert_eq(gyre_probe_expect_failure(rig.customer, -ENOENT, GYRE_SECONDS(1)), 0);
	/* And one that nobody answers. */
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	cr_assert_eq(gyre_probe_expect_none(rig.customer, GYRE_MILLISECONDS(1990)), 0);
	cr_assert_eq(gyre_probe_expect_failure(rig.customer, -ETIMEDOUT, GYRE_MILLISECONDS(20)), 0);
}

Test(sim_testkit_probe, fails_asks_and_lets_them_time_out)
{
	pass(fail_asks, NULL);
}

static void watch(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);
	const struct gyre_terminated *end;

	(void)arg;
	(void)gyre_probe_watch(rig.customer, rig.shop);
	(void)gyre_probe_expect_none(rig.customer, GYRE_SECONDS(1));
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 0));
	end = gyre_probe_expect(rig.customer, gyre_terminated, GYRE_SECONDS(1));
	cr_assert(gyre_address_equal(end->actor, rig.shop));
	cr_assert_eq(end->reason, 0);
}

Test(sim_testkit_probe, hears_of_the_end_of_an_actor)
{
	pass(watch, NULL);
}

static bool is_even(const void *message, void *arg)
{
	(*(uint32_t *)arg)++;
	return ((const struct order *)message)->pieces % 2 == 0;
}

static void fish(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);
	uint32_t asked = 0;

	(void)arg;
	for (uint32_t pieces = 2; pieces <= 6; pieces += 2) {
		(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, pieces));
	}
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 7));
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 8));
	cr_assert_eq(gyre_probe_fish(rig.supplier, order, is_even, &asked, GYRE_SECONDS(1))->pieces,
		     8);
	cr_assert_eq(asked, 4);
	cr_assert_eq(gyre_probe_fish(rig.supplier, order, NULL, NULL, 0)->pieces, 9);
}

Test(sim_testkit_probe, fishes_for_a_message_that_fits)
{
	pass(fish, NULL);
}

/* ---- what only actors can do ---- */

static int subscribe(struct gyre_stack *stack, void *arg)
{
	return gyre_subscribe(stack, &gyre_type_price, gyre_event_key_of((const char *)arg), NULL);
}

static int publish(struct gyre_stack *stack, void *arg)
{
	return gyre_publish(stack, gyre_new(stack, price, 5), gyre_event_key_of((const char *)arg));
}

static void hear_events(struct gyre_test *test, void *arg)
{
	struct gyre_probe *hearer = gyre_probe_create(test);
	struct gyre_probe *speaker = gyre_probe_create(test);
	char key[] = "tea";
	char other[] = "coffee";

	(void)arg;
	cr_assert_eq(gyre_probe_do(hearer, subscribe, key), 0);
	cr_assert_geq(gyre_probe_do(speaker, publish, other), 0);
	(void)gyre_probe_expect_none(hearer, GYRE_SECONDS(1));
	cr_assert_geq(gyre_probe_do(speaker, publish, key), 0);
	cr_assert_eq(gyre_probe_expect(hearer, price, GYRE_SECONDS(1))->cents, 5);
}

Test(sim_testkit_probe, does_what_only_actors_can)
{
	pass(hear_events, NULL);
}

static int refuse(struct gyre_stack *stack, void *arg)
{
	(void)stack;
	(void)arg;
	return -EPERM;
}

static void do_in_vain(struct gyre_test *test, void *arg)
{
	(void)arg;
	cr_assert_eq(gyre_probe_do(gyre_probe_create(test), refuse, NULL), -EPERM);
}

Test(sim_testkit_probe, fails_where_an_actor_cannot_do_it)
{
	fail(do_in_vain, NULL, here, "the probe cannot do this: Operation not permitted");
}

/* ---- messages that own something ---- */

struct parcel {
	uint32_t *owners;
};

static void drop_parcel(struct parcel *parcel)
{
	if (parcel->owners != NULL) {
		--*parcel->owners;
	}
}

static int share_parcel(struct parcel *parcel)
{
	++*parcel->owners;
	return 0;
}
GYRE_MESSAGE_OWNING(parcel, 0x111, drop_parcel, share_parcel);

static void own(struct gyre_test *test, void *arg)
{
	uint32_t *owners = (uint32_t *)arg;
	struct gyre_probe *a = gyre_probe_create(test);
	struct gyre_probe *b = gyre_probe_create(test);

	*owners = 5;
	(void)gyre_probe_notify(a, gyre_probe_address(b), gyre_test_new(test, parcel, owners));
	(void)gyre_probe_notify(a, gyre_probe_address(b), gyre_test_new(test, parcel, owners));
	(void)gyre_probe_ask(a, gyre_probe_address(b), gyre_test_new(test, parcel, owners), 0);
	cr_assert_eq(gyre_probe_expect(b, parcel, GYRE_SECONDS(1))->owners, owners);
	cr_assert_eq(*owners, 5);
	cr_assert_not_null(gyre_probe_expect(b, parcel, GYRE_SECONDS(1)));
	cr_assert_eq(*owners, 4); /* the first one is forgotten */
	cr_assert_not_null(gyre_probe_expect(b, parcel, GYRE_SECONDS(1)));
	(void)gyre_probe_reply(b, gyre_test_new(test, parcel, owners));
	cr_assert_not_null(gyre_probe_expect(a, parcel, GYRE_SECONDS(1)));
	cr_assert_eq(*owners, 2);
	/* One more stays behind, and one in the mailbox. */
	(void)gyre_probe_notify(a, gyre_probe_address(b), gyre_test_new(test, parcel, owners));
}

Test(sim_testkit_probe, destroys_each_message_that_owns_something_once)
{
	uint32_t owners = 0;

	pass(own, &owners);
	cr_assert_eq(owners, 0);
}

/* ---- what fails ---- */

static void expect_in_vain(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);
	uint64_t begin_ns = gyre_sim_now(gyre_test_sim(test));

	(void)arg;
	cr_assert_null(gyre_probe_expect(rig.supplier, order, GYRE_SECONDS(3)));
	cr_assert(gyre_sim_now(gyre_test_sim(test)) - begin_ns >= GYRE_SECONDS(3));
}

Test(sim_testkit_probe, fails_where_no_message_comes)
{
	fail(expect_in_vain, NULL, here, "expected a message of type order, and got none");
}

static void expect_another(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 1));
	cr_assert_null(gyre_probe_expect(rig.supplier, price, GYRE_SECONDS(1)));
	(void)gyre_probe_expect_none(rig.supplier, 0); /* it was taken */
}

Test(sim_testkit_probe, fails_where_a_message_of_another_type_comes)
{
	fail(expect_another, NULL, here, "expected price, and got: notice order from 0:");
}

static void expect_none_in_vain(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 1));
	cr_assert_eq(gyre_probe_expect_none(rig.supplier, GYRE_SECONDS(1)), -EBADMSG);
	cr_assert_eq(gyre_probe_expect(rig.supplier, order, 0)->pieces, 2); /* it was not */
}

Test(sim_testkit_probe, fails_where_a_message_comes_that_must_not)
{
	fail(expect_none_in_vain, NULL, here, "expected no message, and got: notice order");
}

static void expect_other_failure(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	cr_assert_not_null(gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1)));
	(void)gyre_probe_reply(rig.supplier, gyre_test_new(test, price, 1));
	cr_assert_eq(gyre_probe_expect_failure(rig.customer, -ENOENT, GYRE_SECONDS(1)),
		     *(const int *)arg);
}

Test(sim_testkit_probe, fails_where_an_ask_was_to_fail_and_is_answered)
{
	int expected = -EBADMSG;

	fail(expect_other_failure, &expected, here, "expected No such file or directory, and got");
}

static void expect_failure_in_vain(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	cr_assert_eq(gyre_probe_expect_failure(rig.customer, -ENOENT, 0), -ETIMEDOUT);
}

Test(sim_testkit_probe, fails_where_no_ask_fails)
{
	fail(expect_failure_in_vain, NULL, here, "expected a failed ask, and got none");
}

static void expect_an_answer(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	(void)gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1));
	(void)gyre_probe_throw(rig.supplier, -ENOENT);
	cr_assert_null(gyre_probe_expect(rig.customer, price, GYRE_SECONDS(3)));
}

Test(sim_testkit_probe, fails_where_an_ask_was_to_be_answered_and_fails)
{
	fail(expect_an_answer, NULL, here,
	     "expected price, and got: failed ask No such file or directory");
}

static bool fits_nothing(const void *message, void *arg)
{
	(void)message;
	(void)arg;
	return false;
}

static void fish_in_vain(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 1));
	(void)gyre_probe_notify(rig.customer, rig.shop, gyre_test_new(test, order, 1));
	cr_assert_null(gyre_probe_fish(rig.supplier, order, fits_nothing, NULL, GYRE_SECONDS(1)));
}

Test(sim_testkit_probe, fails_where_no_message_fits)
{
	fail(fish_in_vain, NULL, here, "no message of type order came that fits, but 2 others");
}

static void reply_to_nothing(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	cr_assert_eq(gyre_probe_reply(rig.supplier, gyre_test_new(test, price, 1)), -EINVAL);
}

Test(sim_testkit_probe, fails_where_there_is_no_ask_to_answer)
{
	fail(reply_to_nothing, NULL, here, "the probe cannot reply: Invalid argument");
}

static void reply_twice(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	(void)gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1));
	cr_assert_eq(gyre_probe_reply(rig.supplier, gyre_test_new(test, price, 1)), 0);
	cr_assert_eq(gyre_probe_throw(rig.supplier, -ENOENT), -EALREADY);
	cr_assert_not_null(gyre_probe_expect(rig.customer, price, GYRE_SECONDS(1)));
}

Test(sim_testkit_probe, fails_where_an_ask_is_answered_twice)
{
	fail(reply_twice, NULL, here, "the probe cannot fail an ask");
}

static void reply_late(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	(void)gyre_probe_ask(rig.customer, rig.shop, gyre_test_new(test, price_of, 1), 0);
	(void)gyre_probe_expect(rig.supplier, price_of, GYRE_SECONDS(1));
	gyre_test_advance(test, GYRE_SECONDS(3)); /* the shop waits for 2 */
	cr_assert_eq(gyre_probe_reply(rig.supplier, gyre_test_new(test, price, 1)), -ETIMEDOUT);
	(void)gyre_probe_expect_failure(rig.customer, -ETIMEDOUT, GYRE_SECONDS(5));
}

Test(sim_testkit_probe, fails_where_an_answer_comes_too_late)
{
	fail(reply_late, NULL, here, "the probe cannot reply: ");
}

static void notify_nothing(struct gyre_test *test, void *arg)
{
	struct rig rig = make(test);

	(void)arg;
	cr_assert_eq(gyre_probe_notify(rig.customer, rig.shop, NULL), -ENOMEM);
}

Test(sim_testkit_probe, fails_where_there_is_nothing_to_send)
{
	fail(notify_nothing, NULL, here, "the probe cannot notify: Cannot allocate memory");
}

static void watch_itself(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	(void)arg;
	cr_assert_eq(gyre_probe_watch(probe, gyre_probe_address(probe)), -EINVAL);
}

Test(sim_testkit_probe, fails_where_it_cannot_watch)
{
	fail(watch_itself, NULL, here, "the probe cannot watch: Invalid argument");
}
