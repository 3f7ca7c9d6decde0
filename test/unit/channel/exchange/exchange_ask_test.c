/* Asks of actors to the peer: how many at a time, whose answer is whose, and how they fail. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "exchange_rig.h"

TestSuite(exchange_ask, .timeout = 60);

enum { FIRST = 10000 /* no barrier from there on */ };

static bool has_ended(struct rig *rig, void *arg)
{
	(void)rig;
	return ((const struct asked *)arg)->error != 1;
}

static void expect_answer(struct asked *to, int64_t value)
{
	cr_assert(rig_until(&x.rig, has_ended, to));
	cr_expect_eq(to->error, 0, "%d", to->error);
	cr_expect_eq(to->value, value, "%ld", to->value);
}

static void expect_error(struct asked *to, int error)
{
	cr_assert(rig_until(&x.rig, has_ended, to));
	cr_expect_eq(to->error, error, "%d", to->error);
}

static uint64_t dropped(enum gyre_drop reason)
{
	return x.rig.home.counters.dropped[reason];
}

/* ---- one at a time ---- */

Test(exchange_ask, is_written_to_the_peer_and_answered)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;
	struct frame frame;

	x_ask(&options);
	one = x_ask_for(5, 0);
	frame = x_expect();
	cr_expect_eq(frame.value, 5);
	cr_expect_eq(frame.id, 0, "there are no ids");
	x_send(0, 55);
	expect_answer(one, 55);
	x_end();
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
	cr_assert_eq(gy_spawn(&x.rig.home, &(struct gy_spawn_order){ .class = &relay_class }, 0,
			      &x.address),
		     0);
}

Test(exchange_ask, that_an_actor_forwards_to_the_channel_is_answered_to_its_asker)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(&options);
	ask_by_way_of_a_relay(x.address);
	one = x_ask_for(5, 0);
	cr_expect_eq(x_expect().value, 5);
	x_send(0, 55);
	expect_answer(one, 55);
	x_end();
}

Test(exchange_ask, that_an_actor_forwards_to_a_channel_that_has_closed_fails)
{
	struct gyre_exchange_options options = { 0 };
	struct gyre_address closed;
	struct asked *one;

	x_ask(&options);
	closed = x.address;
	closed.cookie ^= 0x55;
	ask_by_way_of_a_relay(closed);
	one = x_ask_for(5, 0);
	cr_assert(rig_until(&x.rig, has_ended, one));
	cr_expect_eq(one->error, -ESRCH);
	x_end();
}

Test(exchange_ask, waits_until_the_one_before_it_is_answered_by_default)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;
	struct asked *two;

	x_ask(&options);
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
	x_end();
}

/* ---- pipelining ---- */

Test(exchange_ask, is_never_in_flight_with_more_than_the_maximum)
{
	struct gyre_exchange_options options = { .asks_max = 3 };

	x_ask(&options);
	for (int i = 0; i < 10; i++) {
		(void)x_ask_for(i, 0);
	}
	rig_settle(&x.rig);
	cr_expect_eq(x.written_count, 3);
	for (int i = 0; i < 10; i++) {
		cr_expect_eq(x_expect().value, i);
		cr_expect_leq(x_load().asks, 3);
		x_send(0, 100 + i);
		expect_answer(&x.asked[i], 100 + i);
	}
	x_end();
}

Test(exchange_ask, is_pipelined_100000_times_without_recursion)
{
	enum { COUNT = 100000 };
	struct gyre_exchange_options options = { .asks_max = COUNT, .asks_pending_max = COUNT };
	static struct frame frames[COUNT];
	uint32_t got = 0;
	uint32_t answered = 0;
	uint32_t most = 0;

	x_ask(&options);
	for (int i = 0; i < COUNT; i++) {
		(void)x_ask_for(FIRST + i, GYRE_FOREVER);
	}
	while (got < COUNT) {
		rig_turn(&x.rig);
		while (got < COUNT && x_receive(&frames[got])) {
			cr_assert_eq(frames[got].value, FIRST + got);
			got++;
		}
	}
	cr_expect_eq(x_load().asks, COUNT, "all are in flight");
	/* In pieces as large as the socket takes: thousands of answers in one run. */
	while (answered < COUNT * sizeof(struct frame)) {
		ssize_t r = send(x.fd, (char *)frames + answered, sizeof(frames) - answered,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		answered += r > 0 ? (uint32_t)r : 0;
		most = x.ended > most ? x.ended : most;
		rig_turn(&x.rig);
	}
	for (int i = 0; i < 1000 && x.ended < COUNT; i++) {
		rig_turn(&x.rig);
	}
	cr_expect_eq(x.ended, COUNT, "%u", x.ended);
	x_end();
}

Test(exchange_ask, over_the_bound_of_those_that_wait_is_refused)
{
	struct gyre_exchange_options options = { .asks_pending_max = 2 };
	struct asked *last;

	x_ask(&options);
	(void)x_ask_for(0, 0);
	(void)x_expect();
	(void)x_ask_for(1, 0);
	(void)x_ask_for(2, 0);
	last = x_ask_for(3, 0);
	expect_error(last, -ENOBUFS);
	cr_expect_eq(dropped(GYRE_DROP_MAILBOX_FULL), 1);
	cr_expect_eq(x.asked[1].error, 1, "the others wait");
	x_end();
}

/* ---- ids ---- */

Test(exchange_ask, with_an_id_is_answered_in_any_order)
{
	struct gyre_exchange_options options = { .asks_max = 100, .ids = true };
	struct frame frames[20];

	x_ask(&options);
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
	x_end();
}

Test(exchange_ask, never_has_an_id_that_is_in_flight)
{
	struct gyre_exchange_options options = { .asks_max = 3, .ids = true, .id_max = 3 };
	uint64_t kept;
	struct frame frame;

	x_ask(&options);
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
	x_end();
}

/* ---- barriers ---- */

Test(exchange_ask, that_is_a_barrier_is_written_alone)
{
	struct gyre_exchange_options options = { .asks_max = 10 };

	x_ask(&options);
	(void)x_ask_for(1, 0);
	(void)x_ask_for(2, 0);
	(void)x_ask_for(ALONE, 0);
	(void)x_ask_for(3, 0);
	cr_expect_eq(x_expect().value, 1);
	cr_expect_eq(x_expect().value, 2);
	x_send(0, 1);
	x_expect_none();
	x_send(0, 2);
	cr_expect_eq(x_expect().value, ALONE);
	x_expect_none();
	x_send(0, 3);
	cr_expect_eq(x_expect().value, 3);
	x_end();
}

/* ---- marks ---- */

static int write_raw(size_t count)
{
	static const unsigned char zeros[5 << 20];
	struct gyre_buffer *buffer = gyre_context_buffer(x.ctx);

	cr_assert_eq(gyre_buffer_append(buffer, zeros, count), 0);
	return gyre_context_write(x.ctx, buffer);
}

static bool has_read(struct rig *rig, void *arg)
{
	static unsigned char bytes[1 << 16];
	size_t *left = (size_t *)arg;
	ssize_t r = recv(x.fd, bytes, *left < sizeof(bytes) ? *left : sizeof(bytes), MSG_DONTWAIT);

	(void)rig;
	*left -= r > 0 ? (size_t)r : 0;
	return *left == 0;
}

Test(exchange_ask, waits_while_the_channel_is_not_writable_and_no_longer)
{
	struct gyre_exchange_options options = { .asks_max = 2 };
	size_t left = 5 << 20;
	struct asked *one;

	x_ask(&options);
	cr_assert_eq(write_raw(left), 0);
	rig_settle(&x.rig);
	cr_assert_not(gyre_channel_is_writable(x.channel));
	one = x_ask_for(1, 0);
	rig_settle(&x.rig);
	cr_expect_eq(x.written_count, 0);
	cr_assert(rig_until(&x.rig, has_read, &left));
	cr_expect_eq(x_expect().value, 1);
	x_send(0, 11);
	expect_answer(one, 11);
	x_end();
}

/* How long it is shows only as it is written. */
Test(exchange_ask, may_pass_the_cap_where_output_is_welcome)
{
	struct gyre_exchange_options options = { .asks_max = 2 };
	size_t left = 4 << 20;
	struct asked *one;
	struct asked *two;

	x_ask(&options);
	cr_assert_eq(write_raw(left), 0);
	rig_settle(&x.rig);
	x.channel->write_max_bytes = (uint32_t)gyre_channel_queued_bytes(x.channel) + 8;
	x.channel->write_high_bytes = x.channel->write_max_bytes;
	one = x_ask_for(1, 0);
	two = x_ask_for(2, 0);
	rig_settle(&x.rig);
	cr_expect_eq(x.written_count, 1, "and no second one");
	cr_assert(rig_until(&x.rig, has_read, &left));
	cr_expect_eq(x_expect().value, 1);
	cr_expect_eq(x_expect().value, 2);
	x_send(0, 11);
	x_send(0, 12);
	expect_answer(one, 11);
	expect_answer(two, 12);
	x_end();
}

/* ---- errors ---- */

Test(exchange_ask, fails_with_an_error_of_the_peer)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(&options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	x_send(0, -EACCES);
	expect_error(one, -EACCES);
	cr_expect_eq(x.inactive, 0);
	x_end();
}

Test(exchange_ask, for_whose_answer_there_was_no_memory_fails)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *next;
	struct asked *one;

	x_ask(&options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	x_send(0, NO_MEMORY);
	expect_error(one, -ENOMEM);
	next = x_ask_for(2, 0);
	(void)x_expect();
	x_send(0, 3);
	expect_answer(next, 3);
	x_end();
}

Test(exchange_ask, whose_answer_is_of_another_type_than_it_demands_fails)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *one;

	x_ask(&options);
	one = x_ask_for(1, 0);
	(void)x_expect();
	x_send(0, WRONG_TYPE);
	expect_error(one, -EPROTO);
	cr_expect_eq(x.received, -EPROTO);
	cr_expect_eq(x.exception, 0, "the channel stays");
	x_end();
}

Test(exchange_ask, with_an_id_fails_with_an_error_of_the_peer)
{
	struct gyre_exchange_options options = { .asks_max = 2, .ids = true };
	struct asked *one;
	struct asked *two;
	uint64_t id;

	x_ask(&options);
	one = x_ask_for(1, 0);
	two = x_ask_for(2, 0);
	(void)x_expect();
	id = x_expect().id;
	x_send(id, -EACCES);
	expect_error(two, -EACCES);
	cr_expect_eq(one->error, 1);
	x_end();
}

Test(exchange_ask, that_the_protocol_cannot_write_fails_and_takes_no_place)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *wrong;
	struct asked *right;

	x_ask(&options);
	wrong = x_ask_for(-EMSGSIZE, 0);
	right = x_ask_for(1, 0);
	expect_error(wrong, -EMSGSIZE);
	(void)x_expect();
	x_send(0, 2);
	expect_answer(right, 2);
	x_end();
}

Test(exchange_ask, is_not_what_an_answer_is_for_that_nobody_has_asked_for)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(&options);
	x_send(0, 1);
	rig_settle(&x.rig);
	cr_expect_eq(x.received, -EPROTO);
	cr_expect_eq(x.exception, -EPROTO);
	x_end();
}

Test(exchange_ask, of_an_unknown_id_is_an_error_of_the_protocol)
{
	struct gyre_exchange_options options = { .ids = true };
	struct asked *one;

	x_ask(&options);
	one = x_ask_for(1, 0);
	x_send(x_expect().id + 1, 1);
	expect_error(one, -EPROTO);
	cr_expect_eq(x.received, -EPROTO);
	x_end();
}

/* ---- time-outs ---- */

Test(exchange_ask, that_has_timed_out_keeps_its_place_and_loses_its_answer)
{
	struct gyre_exchange_options options = { .asks_max = 2 };
	struct asked *slow;
	struct asked *next;

	x_ask(&options);
	slow = x_ask_for(1, GYRE_MILLISECONDS(10));
	next = x_ask_for(2, 0);
	(void)x_expect();
	(void)x_expect();
	rig_pass(&x.rig, GYRE_MILLISECONDS(100));
	expect_error(slow, -ETIMEDOUT);
	x_send(0, 10);
	x_send(0, 20);
	expect_answer(next, 20);
	cr_expect_eq(slow->error, -ETIMEDOUT);
	cr_expect_eq(dropped(GYRE_DROP_LATE), 1);
	x_end();
}

Test(exchange_ask, that_times_out_before_its_turn_is_not_written)
{
	struct gyre_exchange_options options = { 0 };
	struct asked *slow;

	x_ask(&options);
	(void)x_ask_for(1, 0);
	slow = x_ask_for(2, GYRE_MILLISECONDS(10));
	(void)x_ask_for(3, 0);
	rig_pass(&x.rig, GYRE_MILLISECONDS(100));
	expect_error(slow, -ETIMEDOUT);
	cr_expect_eq(x_expect().value, 1);
	x_send(0, 1);
	cr_expect_eq(x_expect().value, 3);
	cr_expect_eq(dropped(GYRE_DROP_EXPIRED), 1);
	x_end();
}

Test(exchange_ask, with_an_id_that_has_timed_out_makes_room_for_others)
{
	struct gyre_exchange_options options = { .ids = true };
	struct asked *slow;
	struct asked *next;
	uint64_t late_id;
	uint64_t id;

	x_ask(&options);
	slow = x_ask_for(1, GYRE_MILLISECONDS(10));
	next = x_ask_for(2, 0);
	late_id = x_expect().id;
	rig_pass(&x.rig, GYRE_MILLISECONDS(100));
	expect_error(slow, -ETIMEDOUT);
	id = x_expect().id;
	cr_expect_neq(id, late_id);
	x_send(late_id, 10);
	x_send(id, 20);
	expect_answer(next, 20);
	cr_expect_eq(x.exception, 0, "the late answer is known");
	cr_expect_eq(dropped(GYRE_DROP_LATE), 1);
	x_send(late_id, 10);
	rig_settle(&x.rig);
	cr_expect_eq(x.exception, -EPROTO, "but once");
	x_end();
}

static bool all_have_ended(struct rig *rig, void *arg)
{
	(void)rig;
	return x.ended == *(const uint32_t *)arg;
}

Test(exchange_ask, with_an_id_is_known_for_so_long_when_it_is_late)
{
	enum { COUNT = 1026 };
	struct gyre_exchange_options options = { .asks_max = COUNT,
						 .asks_pending_max = COUNT,
						 .ids = true };
	uint64_t ids[COUNT];
	uint32_t all = COUNT;

	x_ask(&options);
	for (int i = 0; i < COUNT; i++) {
		(void)x_ask_for(FIRST + i, GYRE_MILLISECONDS(100));
	}
	for (int i = 0; i < COUNT; i++) {
		ids[i] = x_expect().id;
	}
	rig_pass(&x.rig, GYRE_SECONDS(1));
	cr_assert(rig_until(&x.rig, all_have_ended, &all));
	(void)x_ask_for(FIRST, 0);
	rig_pass(&x.rig, GYRE_SECONDS(1));
	(void)x_expect(); /* all others have been given up */
	x_send(ids[2], 1);
	x_send(ids[COUNT - 1], 1);
	rig_settle(&x.rig);
	cr_expect_eq(x.exception, 0);
	x_send(ids[0], 1);
	rig_settle(&x.rig);
	cr_expect_eq(x.exception, -EPROTO, "the oldest is forgotten");
	x_end();
}

/* ---- the end ---- */

static void ask_two(void)
{
	(void)x_ask_for(1, 0);
	(void)x_ask_for(2, 0);
	(void)x_expect();
	cr_expect_eq(x_load().asks_pending, 1);
}

Test(exchange_ask, fails_with_the_reason_of_the_channel_pending_or_in_flight)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(&options);
	ask_two();
	gyre_channel_abort(x.channel, -EIO);
	expect_error(&x.asked[0], -EIO);
	expect_error(&x.asked[1], -EIO);
	expect_error(x_ask_for(3, 0), -ESRCH);
	x_end();
}

Test(exchange_ask, fails_when_the_peer_closes)
{
	struct gyre_exchange_options options = { .ids = true };

	x_ask(&options);
	ask_two();
	cr_assert_eq(shutdown(x.fd, SHUT_WR), 0);
	expect_error(&x.asked[0], -EPIPE);
	expect_error(&x.asked[1], -EPIPE);
	x_end();
}

Test(exchange_ask, fails_when_the_owner_of_the_channel_stops)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(&options);
	ask_two();
	gy_house_request_stop(x.rig.house, 0);
	(void)shutdown(x.fd, SHUT_WR);
	expect_error(&x.asked[0], -EPIPE);
	expect_error(&x.asked[1], -EPIPE);
	x_end();
}

Test(exchange_ask, fails_when_the_protocol_leaves_the_pipeline)
{
	struct gyre_exchange_options options = { .ids = true };

	x_ask(&options);
	ask_two();
	gyre_context_remove(x.ctx);
	expect_error(&x.asked[0], -EPIPE);
	expect_error(&x.asked[1], -EPIPE);
	x.rig.warnings_expected = 1;
	expect_error(x_ask_for(3, 0), -ENOSYS);
	x_end();
}

Test(exchange_ask, that_its_asker_does_not_live_to_see_is_lost)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(&options);
	(void)x_ask_for(1, 0);
	(void)x_expect();
	cr_assert_eq(gyre_stop(&rig_stack(&x.rig)->head, x.asker), 0);
	rig_settle(&x.rig);
	x_send(0, 1);
	rig_settle(&x.rig);
	cr_expect_eq(dropped(GYRE_DROP_NO_ACTOR), 1);
	cr_expect_eq(x.received, 0);
	x_end();
}

static struct {
	int answer;
	int answer_id;
	int refuse;
	int receive;
} misused;

static void misuse(struct gyre_handler_context *ctx, const struct gyre_type *type,
		   const void *event)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)type;
	(void)event;
	misused.answer = gyre_exchange_answer(ctx, gyre_new(stack, answer, .value = 1));
	misused.answer_id = gyre_exchange_answer_id(ctx, 1, gyre_new(stack, answer, .value = 1));
	misused.refuse = gyre_exchange_refuse(ctx, 1) | gyre_exchange_refuse_id(ctx, 1, -EIO);
	misused.receive = gyre_exchange_receive(ctx, 1, gyre_new(stack, question, .value = 1));
}

static const struct gyre_handler misusing = { .name = "misusing", .event = misuse };
static const struct gyre_handler *const misusing_only[] = { &misusing, NULL };

Test(exchange_ask, is_not_to_be_answered_where_there_is_no_exchange)
{
	struct gyre_stack *stack;
	struct gyre_channel *channel;
	struct rig rig;
	int fd;

	rig_init(&rig, NULL);
	fd = rig_open(&rig, misusing_only, NULL, NULL, &channel);
	stack = &rig_stack(&rig)->head;
	(void)gyre_notify(stack, gyre_channel_address(channel),
			  gyre_new(stack, question, .value = 1));
	rig_settle(&rig);
	cr_expect_eq(misused.answer, -EINVAL);
	cr_expect_eq(misused.answer_id, -EINVAL);
	cr_expect_eq(misused.refuse, -EINVAL);
	cr_expect_eq(misused.receive, -EINVAL);
	(void)close(fd);
	rig_fini(&rig);
}
