/* Asks of actors to the peer: how many at a time, whose answer is whose, and how they fail. */
#include "exchange_kit.h"

enum { FIRST = 10000 /* no barrier from there on */ };

static void expect_answer(const struct asked *to, int64_t value)
{
	x_settle();
	cr_expect_eq(to->error, 0, "%d", to->error);
	cr_expect_eq(to->value, value, "%ld", to->value);
}

static void expect_error(const struct asked *to, int error)
{
	x_settle();
	cr_expect_eq(to->error, error, "%d", to->error);
}

/* ---- one at a time ---- */

EXCHANGE_TEST(exchange_ask, is_written_to_the_peer_and_answered)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;
	struct frame frame;

	x_ask(test, &options);
	one = x_ask_for(5, 0);
	frame = x_expect();
	cr_expect_eq(frame.value, 5);
	cr_expect_eq(frame.id, 0, "there are no ids");
	x_send(0, 55);
	expect_answer(one, 55);
}

static struct gyre_address channel_behind;

static int pass_on(struct gyre_stack *stack)
{
	return gyre_forward(stack, channel_behind);
}

static const struct gyre_class relay_class = { .name = "relay", .behaviour.ask = pass_on };

/* Who asks, asks an actor that passes the ask on to @channel. */
static void ask_by_way_of_a_relay(struct gyre_address channel)
{
	channel_behind = channel;
	x.address = gyre_test_spawn(x.test, &relay_class, GYRE_NO_ARGUMENT);
}

EXCHANGE_TEST(exchange_ask, that_an_actor_forwards_to_the_channel_is_answered_to_its_asker)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(test, &options);
	ask_by_way_of_a_relay(x.address);
	one = x_ask_for(5, 0);
	cr_expect_eq(x_expect().value, 5);
	x_send(0, 55);
	expect_answer(one, 55);
}

EXCHANGE_TEST(exchange_ask, that_an_actor_forwards_to_a_channel_that_has_closed_fails)
{
	struct gyre_exchange_options options = { 0 };
	struct gyre_address closed;

	x_ask(test, &options);
	closed = x.address;
	x_abort(0);
	(void)gyre_tap_expect_inactive(x.tap, 0, GYRE_SECONDS(1));
	x_ask(test, &options); /* another one, which has its slot */
	cr_assert_eq(x.address.slot, closed.slot);
	ask_by_way_of_a_relay(closed);
	expect_error(x_ask_for(5, 0), -ESRCH);
	x_expect_none();
	x_expect_dropped(question, GYRE_DROP_NO_ACTOR, 1);
}

EXCHANGE_TEST(exchange_ask, waits_until_the_one_before_it_is_answered_by_default)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;
	struct asked *two;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	two = x_ask_for(2, 0);
	cr_expect_eq(x_expect().value, 1);
	x_expect_none();
	cr_expect_eq(x_load().asks, 1);
	cr_expect_eq(x_load().asks_pending, 1);
	x_send(0, 10);
	expect_answer(one, 10);
	cr_expect_eq(x_expect().value, 2);
	x_send(0, 20);
	expect_answer(two, 20);
}

/* ---- pipelining ---- */

EXCHANGE_TEST(exchange_ask, is_never_in_flight_with_more_than_the_maximum)
{
	struct gyre_exchange_options options = { .asks_max = 3 };

	x_ask(test, &options);
	for (int i = 0; i < 10; i++) {
		(void)x_ask_for(i, 0);
	}
	x_settle();
	cr_expect_eq(x.written_count, 3);
	for (int i = 0; i < 10; i++) {
		cr_expect_eq(x_expect().value, i);
		cr_expect_leq(x_load().asks, 3);
		x_send(0, 100 + i);
		expect_answer(&x.asked[i], 100 + i);
	}
}

EXCHANGE_TEST(exchange_ask, is_pipelined_100000_times_without_recursion)
{
	enum { COUNT = 100000 };
	struct gyre_exchange_options options = { .asks_max = COUNT, .asks_pending_max = COUNT };
	static struct frame frames[COUNT];

	x_ask(test, &options);
	x_ask_for_many(FIRST, COUNT, GYRE_FOREVER);
	for (int i = 0; i < COUNT; i++) {
		frames[i] = x_expect();
		cr_assert_eq(frames[i].value, FIRST + i);
	}
	cr_expect_eq(x_load().asks, COUNT, "all are in flight");
	x_send_all(frames, COUNT); /* thousands of answers in one run */
	gyre_test_advance(test, GYRE_SECONDS(1));
	cr_expect_eq(x.ended, COUNT, "%u", x.ended);
}

EXCHANGE_TEST(exchange_ask, over_the_bound_of_those_that_wait_is_refused)
{
	struct gyre_exchange_options options = { .asks_pending_max = 2 };
	struct asked *last;

	x_ask(test, &options);
	(void)x_ask_for(0, 0);
	(void)x_expect();
	(void)x_ask_for(1, 0);
	(void)x_ask_for(2, 0);
	last = x_ask_for(3, 0);
	expect_error(last, -ENOBUFS);
	x_expect_dropped(question, GYRE_DROP_MAILBOX_FULL, 1);
	cr_expect_eq(x.asked[1].error, 1, "the others wait");
}

/* ---- ids ---- */

EXCHANGE_TEST(exchange_ask, with_an_id_is_answered_in_any_order)
{
	struct gyre_exchange_options options = { .asks_max = 100, .ids = true };
	struct frame frames[20];

	x_ask(test, &options);
	for (int i = 0; i < 20; i++) {
		(void)x_ask_for(i, 0);
	}
	for (int i = 0; i < 20; i++) {
		frames[i] = x_expect();
		cr_expect_eq(frames[i].value, i);
		for (int j = 0; j < i; j++) {
			cr_expect_neq(frames[i].id, frames[j].id);
		}
	}
	for (int i = 0; i < 20; i++) {
		int k = (i * 7 + 3) % 20;

		x_send(frames[k].id, 100 + k);
		expect_answer(&x.asked[k], 100 + k);
	}
}

EXCHANGE_TEST(exchange_ask, never_has_an_id_that_is_in_flight)
{
	struct gyre_exchange_options options = { .asks_max = 3, .ids = true, .id_max = 3 };
	uint64_t kept;
	struct frame frame;

	x_ask(test, &options);
	(void)x_ask_for(0, 0);
	kept = x_expect().id;
	for (int i = 1; i < 20; i++) {
		(void)x_ask_for(i, 0);
		frame = x_expect();
		cr_expect_neq(frame.id, kept);
		cr_expect(frame.id >= 1 && frame.id <= 3);
		x_send(frame.id, i);
		expect_answer(&x.asked[i], i);
	}
	x_send(kept, 9);
	expect_answer(&x.asked[0], 9);
}

/* ---- marks ---- */

static const struct gyre_channel_options marks = { .write_low_bytes = 1 << 20,
						   .write_high_bytes = 4 << 20,
						   .write_max_bytes = 8 << 20 };

static unsigned char raw[8 << 20];

/* Writes until this many bytes are queued, as the peer does not read. Returns how many it wrote. */
static int queue_up_to(struct gyre_handler_context *ctx, void *arg)
{
	size_t count = *(const size_t *)arg - gyre_channel_queued_bytes(gyre_context_channel(ctx));
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	int r;

	cr_assert_eq(gyre_buffer_append(buffer, raw, count), 0);
	r = gyre_context_write(ctx, buffer);
	return r < 0 ? r : (int)count;
}

/* Until so many bytes are queued that none go out any more. Returns how many were written. */
static size_t fill_output(size_t queued_bytes)
{
	size_t written = 0;
	int count;

	do {
		count = gyre_tap_do(x.tap, queue_up_to, &queued_bytes);
		cr_assert_geq(count, 0);
		written += (size_t)count;
		x_settle();
	} while (count > 0);
	return written;
}

static void drain_output(size_t count)
{
	while (count > 0) {
		int64_t r = gyre_test_channel_read(x.peer, raw, count, GYRE_SECONDS(1));

		cr_assert_gt(r, 0);
		count -= (size_t)r;
	}
}

EXCHANGE_TEST(exchange_ask, waits_while_the_channel_is_not_writable_and_no_longer)
{
	struct gyre_exchange_options options = { .asks_max = 2 };
	size_t written;
	struct asked *one;

	x_ask_with(test, &options, &marks);
	written = fill_output(5 << 20);
	(void)gyre_tap_expect_writability(x.tap, false, 0);
	one = x_ask_for(1, 0);
	x_settle();
	cr_expect_eq(x.written_count, 0);
	drain_output(written);
	cr_expect_eq(x_expect().value, 1);
	(void)gyre_tap_expect_writability(x.tap, true, 0);
	x_send(0, 11);
	expect_answer(one, 11);
}

/* How long it is shows only as it is written. */
EXCHANGE_TEST(exchange_ask, may_pass_the_cap_where_output_is_welcome)
{
	const struct gyre_channel_options low_cap = { .write_low_bytes = 1 << 20,
						      .write_high_bytes = 4 << 20,
						      .write_max_bytes = 4 << 20 };
	struct gyre_exchange_options options = { .asks_max = 2 };
	size_t written;
	struct asked *one;
	struct asked *two;

	x_ask_with(test, &options, &low_cap);
	written = fill_output((4 << 20) - 8);
	(void)gyre_tap_expect_none(x.tap, 0);
	one = x_ask_for(1, 0);
	two = x_ask_for(2, 0);
	x_settle();
	cr_expect_eq(x.written_count, 1, "and no second one");
	(void)gyre_tap_expect_writability(x.tap, false, 0);
	drain_output(written);
	cr_expect_eq(x_expect().value, 1);
	cr_expect_eq(x_expect().value, 2);
	x_send(0, 11);
	x_send(0, 12);
	expect_answer(one, 11);
	expect_answer(two, 12);
}

/* ---- errors ---- */

EXCHANGE_TEST(exchange_ask, fails_with_an_error_of_the_peer)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	x_send(0, -EACCES);
	expect_error(one, -EACCES);
	(void)gyre_tap_expect_none(x.tap, 0);
}

EXCHANGE_TEST(exchange_ask, for_whose_answer_there_was_no_memory_fails)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *next;
	struct asked *one;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	x_send(0, NO_MEMORY);
	expect_error(one, -ENOMEM);
	next = x_ask_for(2, 0);
	(void)x_expect();
	x_send(0, 3);
	expect_answer(next, 3);
}

EXCHANGE_TEST(exchange_ask, whose_answer_is_of_another_type_than_it_demands_fails)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	x_send(0, WRONG_TYPE);
	expect_error(one, -EPROTO);
	cr_expect_eq(x.received, -EPROTO);
	(void)gyre_tap_expect_none(x.tap, GYRE_SECONDS(1)); /* the channel stays */
}

EXCHANGE_TEST(exchange_ask, with_an_id_fails_with_an_error_of_the_peer)
{
	struct gyre_exchange_options options = { .asks_max = 2, .ids = true };
	struct asked *one;
	struct asked *two;
	uint64_t id;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	two = x_ask_for(2, 0);
	(void)x_expect();
	id = x_expect().id;
	x_send(id, -EACCES);
	expect_error(two, -EACCES);
	cr_expect_eq(one->error, 1);
}

EXCHANGE_TEST(exchange_ask, that_the_protocol_cannot_write_fails_and_takes_no_place)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *wrong;
	struct asked *right;

	x_ask(test, &options);
	wrong = x_ask_for(-EMSGSIZE, 0);
	right = x_ask_for(1, 0);
	expect_error(wrong, -EMSGSIZE);
	(void)x_expect();
	x_send(0, 2);
	expect_answer(right, 2);
}

EXCHANGE_TEST(exchange_ask, is_not_what_an_answer_is_for_that_nobody_has_asked_for)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(test, &options);
	x_send(0, 1);
	(void)gyre_tap_expect_exception(x.tap, -EPROTO, GYRE_SECONDS(1));
	(void)gyre_test_channel_expect_end(x.peer, GYRE_SECONDS(1));
	cr_expect_eq(x.received, -EPROTO);
}

EXCHANGE_TEST(exchange_ask, of_an_unknown_id_is_an_error_of_the_protocol)
{
	struct gyre_exchange_options options = { .ids = true };
	struct asked *one;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	x_send(x_expect().id + 1, 1);
	expect_error(one, -EPROTO);
	cr_expect_eq(x.received, -EPROTO);
}

/* ---- time-outs ---- */

EXCHANGE_TEST(exchange_ask, that_has_timed_out_keeps_its_place_and_loses_its_answer)
{
	struct gyre_exchange_options options = { .asks_max = 2 };
	struct asked *slow;
	struct asked *next;

	x_ask(test, &options);
	slow = x_ask_for(1, GYRE_MILLISECONDS(10));
	next = x_ask_for(2, 0);
	(void)x_expect();
	(void)x_expect();
	gyre_test_advance(test, GYRE_MILLISECONDS(100));
	expect_error(slow, -ETIMEDOUT);
	x_send(0, 10);
	x_send(0, 20);
	expect_answer(next, 20);
	cr_expect_eq(slow->error, -ETIMEDOUT);
	x_expect_dropped(answer, GYRE_DROP_LATE, 1);
}

EXCHANGE_TEST(exchange_ask, that_times_out_before_its_turn_is_not_written)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *slow;

	x_ask(test, &options);
	(void)x_ask_for(1, 0);
	slow = x_ask_for(2, GYRE_MILLISECONDS(10));
	(void)x_ask_for(3, 0);
	gyre_test_advance(test, GYRE_MILLISECONDS(100));
	expect_error(slow, -ETIMEDOUT);
	cr_expect_eq(x_expect().value, 1);
	x_send(0, 1);
	cr_expect_eq(x_expect().value, 3);
	x_expect_dropped(question, GYRE_DROP_EXPIRED, 1);
}

EXCHANGE_TEST(exchange_ask, with_an_id_that_has_timed_out_makes_room_for_others)
{
	struct gyre_exchange_options options = { .ids = true };
	struct asked *slow;
	struct asked *next;
	uint64_t late_id;
	uint64_t id;

	x_ask(test, &options);
	slow = x_ask_for(1, GYRE_MILLISECONDS(10));
	next = x_ask_for(2, 0);
	late_id = x_expect().id;
	gyre_test_advance(test, GYRE_MILLISECONDS(100));
	expect_error(slow, -ETIMEDOUT);
	id = x_expect().id;
	cr_expect_neq(id, late_id);
	cr_expect_eq(x_load().asks, 1);
	x_send(late_id, 10);
	x_send(id, 20);
	expect_answer(next, 20);
	(void)gyre_tap_expect_none(x.tap, 0); /* the late answer is known */
	x_expect_dropped(answer, GYRE_DROP_LATE, 1);
	x_send(late_id, 10);
	(void)gyre_tap_expect_exception(x.tap, -EPROTO, GYRE_SECONDS(1)); /* but once */
}

EXCHANGE_TEST(exchange_ask, has_the_id_of_one_that_has_timed_out_where_there_is_no_other)
{
	struct gyre_exchange_options options = { .ids = true, .id_max = 1 };
	struct asked *next;

	x_ask(test, &options);
	(void)x_ask_for(1, GYRE_MILLISECONDS(10));
	next = x_ask_for(2, 0);
	cr_expect_eq(x_expect().id, 1);
	gyre_test_advance(test, GYRE_MILLISECONDS(100));
	cr_expect_eq(x_expect().id, 1);
	x_send(1, 20);
	expect_answer(next, 20);
	x_send(1, 20);
	(void)gyre_tap_expect_exception(x.tap, -EPROTO, GYRE_SECONDS(1)); /* it is forgotten */
}

EXCHANGE_TEST(exchange_ask, with_an_id_is_known_for_so_long_when_it_is_late)
{
	enum { COUNT = 1026 };
	struct gyre_exchange_options options = { .asks_max = COUNT,
						 .asks_pending_max = COUNT,
						 .ids = true };
	uint64_t ids[COUNT];

	x_ask(test, &options);
	x_ask_for_many(FIRST, COUNT, GYRE_MILLISECONDS(100));
	for (int i = 0; i < COUNT; i++) {
		ids[i] = x_expect().id;
	}
	gyre_test_advance(test, GYRE_SECONDS(1));
	cr_assert_eq(x.ended, COUNT);
	(void)x_ask_for(FIRST, 0);
	(void)x_expect(); /* all others have been given up */
	x_send(ids[2], 1);
	x_send(ids[COUNT - 1], 1);
	x_settle();
	(void)gyre_tap_expect_none(x.tap, 0);
	x_expect_dropped(answer, GYRE_DROP_LATE, 2);
	x_send(ids[1], 1);
	(void)gyre_tap_expect_exception(x.tap, -EPROTO, GYRE_SECONDS(1)); /* it is forgotten */
}

/* ---- the end ---- */

static void ask_two(void)
{
	(void)x_ask_for(1, 0);
	(void)x_ask_for(2, 0);
	(void)x_expect();
	cr_expect_eq(x_load().asks_pending, 1);
}

EXCHANGE_TEST(exchange_ask, fails_with_the_reason_of_the_channel_pending_or_in_flight)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(test, &options);
	ask_two();
	x_abort(-EIO);
	expect_error(&x.asked[0], -EIO);
	expect_error(&x.asked[1], -EIO);
	cr_expect_eq(x.at_end.asks, 0);
	cr_expect_eq(x.at_end.asks_pending, 0);
	expect_error(x_ask_for(3, 0), -ESRCH);
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
	x_expect_dropped(question, GYRE_DROP_NO_ACTOR, 1);
}

EXCHANGE_TEST(exchange_ask, fails_when_the_peer_closes)
{
	struct gyre_exchange_options options = { .ids = true };

	x_ask(test, &options);
	ask_two();
	cr_assert_eq(gyre_test_channel_half_close(x.peer), 0);
	expect_error(&x.asked[0], -EPIPE);
	expect_error(&x.asked[1], -EPIPE);
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
}

EXCHANGE_TEST(exchange_ask, fails_when_the_owner_of_the_channel_stops)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(test, &options);
	ask_two();
	x_stop_owner();
	(void)gyre_test_channel_half_close(x.peer);
	expect_error(&x.asked[0], -EPIPE);
	expect_error(&x.asked[1], -EPIPE);
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
}

EXCHANGE_TEST(exchange_ask, fails_when_the_protocol_leaves_the_pipeline)
{
	struct gyre_exchange_options options = { .ids = true };

	x_ask(test, &options);
	ask_two();
	x_remove();
	expect_error(&x.asked[0], -EPIPE);
	expect_error(&x.asked[1], -EPIPE);
	x.warnings_expected = 1;
	expect_error(x_ask_for(3, 0), -ENOSYS);
	cr_expect_eq(x.warnings, 1);
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
	x_expect_dropped(question, GYRE_DROP_UNHANDLED, 1);
}

EXCHANGE_TEST(exchange_ask, that_its_asker_does_not_live_to_see_is_lost)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(test, &options);
	(void)x_ask_for(1, 0);
	(void)x_expect();
	x_stop(x.asker);
	x_settle();
	x_send(0, 1);
	x_settle();
	x_expect_dropped(answer, GYRE_DROP_NO_ACTOR, 1);
	cr_expect_eq(x.received, 0);
}

static int misuse(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)arg;
	cr_expect_eq(gyre_exchange_answer(ctx, gyre_new(stack, answer, .value = 1)), -EINVAL);
	cr_expect_eq(gyre_exchange_answer_id(ctx, 1, gyre_new(stack, answer, .value = 1)), -EINVAL);
	cr_expect_eq(gyre_exchange_refuse(ctx, 1), -EINVAL);
	cr_expect_eq(gyre_exchange_refuse(ctx, -EIO), -EINVAL);
	cr_expect_eq(gyre_exchange_refuse_id(ctx, 1, -EIO), -EINVAL);
	cr_expect_eq(gyre_exchange_receive(ctx, 1, gyre_new(stack, question, .value = 1)), -EINVAL);
	return 0;
}

static int misuse_in_order(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)arg;
	cr_expect_eq(gyre_exchange_refuse(ctx, 0), -EINVAL);
	cr_expect_eq(gyre_exchange_refuse(ctx, 1), -EINVAL);
	cr_expect_eq(gyre_exchange_answer_id(ctx, 0, gyre_new(stack, answer, .value = 1)), -EINVAL);
	cr_expect_eq(gyre_exchange_refuse_id(ctx, 0, -EIO), -EINVAL);
	cr_expect_eq(gyre_exchange_receive(ctx, 0, gyre_new(stack, question, .value = 1)), -EINVAL);
	return 0;
}

EXCHANGE_TEST(exchange_ask, is_answered_in_order_by_no_id_and_no_wrong_error)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	(void)gyre_tap_do(x.tap, misuse_in_order, NULL);
	cr_expect_eq(x_load().asks, 1);
	x_send(0, 11);
	expect_answer(one, 11);
}

static int misuse_by_id(struct gyre_handler_context *ctx, void *arg)
{
	cr_expect_eq(gyre_exchange_refuse_id(ctx, *(const uint64_t *)arg, 0), -EINVAL);
	cr_expect_eq(gyre_exchange_refuse_id(ctx, *(const uint64_t *)arg, 1), -EINVAL);
	return 0;
}

EXCHANGE_TEST(exchange_ask, with_an_id_is_not_refused_by_a_wrong_error)
{
	struct gyre_exchange_options options = { .ids = true };
	struct asked *one;
	uint64_t id;

	x_ask(test, &options);
	one = x_ask_for(1, 0);
	id = x_expect().id;
	(void)gyre_tap_do(x.tap, misuse_by_id, &id);
	x_send(id, 11);
	expect_answer(one, 11);
}

EXCHANGE_TEST(exchange_ask, is_not_to_be_answered_where_there_is_no_exchange)
{
	struct gyre_test_channel *peer;

	(void)gyre_tap_do(gyre_tap_open(test, NULL, &peer), misuse, NULL);
}
