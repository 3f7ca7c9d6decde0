/* Requests of the peer: how many at a time, in which order they are answered, and how they end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/mail/mailbox.h"
#include "exchange_rig.h"

TestSuite(exchange_request, .timeout = 60);

static void expect_frame(uint64_t id, int64_t value)
{
	struct frame frame = x_expect();

	cr_expect(frame.id == id && frame.value == value, "%lu %ld, not %lu %ld", frame.id,
		  frame.value, id, value);
}

/* ---- handling ---- */

Test(exchange_request, is_handled_by_a_stack_of_the_owner_and_answered)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_send(7, 41);
	expect_frame(7, 42);
	cr_expect_eq(x.received, 0);
	x_end();
}

Test(exchange_request, may_wait_for_others)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_send(1, WAIT + 3);
	x_expect_none();
	cr_expect_eq(x_load().requests, 1);
	x_open_gate(3);
	expect_frame(1, WAIT + 4);
	cr_expect_eq(x_load().requests, 0);
	x_end();
}

Test(exchange_request, may_be_forwarded_and_stashed_by_who_got_it)
{
	struct gyre_exchange_options options = { .requests_max = 2 };

	x_serve(&options);
	x_send(1, FORWARD + 5);
	x_send(2, 7);
	x_expect_none(); /* the answers are in order */
	x_open_gate(5);
	expect_frame(1, 5);
	expect_frame(2, 8);
	cr_expect_eq(x_load().requests, 0);
	x_end();
}

Test(exchange_request, that_fails_is_written_as_the_protocol_does)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x.rig.warnings_expected = 1; /* the second is not answered */
	x_send(1, -EIO);
	x_send(2, SILENT);
	x_send(3, UNWRITABLE);
	x_send(4, 1);
	expect_frame(1, -EIO);
	expect_frame(2, -ENOMSG);
	expect_frame(3, -EMSGSIZE);
	expect_frame(4, 2);
	x_end();
}

static void fire(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	(void)id;
	gyre_context_fire_exception(ctx, error);
}

static void expect_closed_by_failure(struct gyre_exchange_options *options)
{
	char byte;

	x_serve(options);
	options->fail = NULL;
	x_send(1, 1);
	x_send(2, -EIO);
	x_send(3, 1);
	expect_frame(1, 2);
	(void)shutdown(x.fd, SHUT_WR);
	cr_assert(rig_until(&x.rig, x_is_inactive, NULL));
	cr_expect_eq(x.exception, -EIO);
	cr_expect_eq(recv(x.fd, &byte, 1, MSG_DONTWAIT), 0, "no answer to the third");
	x_end();
}

Test(exchange_request, that_fails_closes_the_channel_of_a_protocol_without_errors)
{
	struct gyre_exchange_options options = { .fail = fire };

	expect_closed_by_failure(&options);
}

Test(exchange_request, shows_the_channel_as_its_sender)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_send(1, TO_THE_CHANNEL);
	expect_frame(1, TO_THE_CHANNEL + 1);
	rig_settle(&x.rig);
	cr_expect_eq(x.events, 1);
	x_end();
}

Test(exchange_request, cannot_be_stashed)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_send(1, STASH);
	expect_frame(1, -EINVAL + 1);
	x_end();
}

static struct gyre_handler_context *seen[2];

static int look_for_context(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	seen[0] = gyre_exchange_context(stack);
	GYRE_AWAIT(stack, x_wait(stack, 5, future));
	seen[1] = gyre_exchange_context(stack);
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

/* The same by one who has answered before. */
static int look_after_the_answer(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	cr_expect_eq(gyre_reply(stack, gyre_new(stack, answer, .value = 2)), 0);
	seen[0] = gyre_exchange_context(stack);
	GYRE_AWAIT(stack, x_wait(stack, 5, future));
	seen[1] = gyre_exchange_context(stack);
	return 0;
	GYRE_END(stack);
}

static bool has_looked(struct rig *rig, void *arg)
{
	(void)arg;
	return gy_list_empty(&rig->house->suspended);
}

Test(exchange_request, finds_its_protocol_while_the_channel_is_there)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_options()->request = look_for_context;
	seen[1] = x.ctx;
	x_send(1, 1);
	rig_settle(&x.rig);
	cr_expect_eq(seen[0], x.ctx);
	gyre_channel_abort(x.channel, 0);
	cr_assert(rig_until(&x.rig, x_is_inactive, NULL));
	x_open_gate(5);
	cr_assert(rig_until(&x.rig, has_looked, NULL));
	cr_expect_null(seen[1]);
	cr_expect_null(gyre_exchange_context(&rig_stack(&x.rig)->head));
	x_end();
}

Test(exchange_request, finds_its_protocol_in_a_system_that_is_a_node)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x.rig.home.node = 7;
	x_options()->request = look_for_context;
	x_send(1, 1);
	rig_settle(&x.rig);
	cr_expect_eq(seen[0], x.ctx);
	x_open_gate(5);
	cr_assert(rig_until(&x.rig, has_looked, NULL));
	cr_expect_eq(seen[1], x.ctx);
	x_end();
}

Test(exchange_request, finds_its_protocol_also_when_it_is_answered)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_options()->request = look_after_the_answer;
	x_send(1, 1);
	rig_settle(&x.rig);
	cr_expect_eq(seen[0], x.ctx);
	x_open_gate(5);
	cr_assert(rig_until(&x.rig, has_looked, NULL));
	cr_expect_eq(seen[1], x.ctx);
	x_end();
}

Test(exchange_request, is_served_by_a_copy_of_the_options)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	memset(&options, 0xff, sizeof(options));
	x_send(1, 10);
	cr_expect_eq(x_expect().id, 1);
	gyre_channel_abort(x.channel, 0);
	cr_assert(rig_until(&x.rig, x_is_inactive, NULL));
	rig_settle(&x.rig);
	cr_expect_null(rig_channels(&x.rig)->mailboxes.options, "the copy is free");
	x_end();
}

/* ---- order ---- */

/* Sends a mix of requests that wait and such that are answered at once. */
static void send_mix(void)
{
	x_send(1, WAIT + 1);
	x_send(2, 10);
	x_send(3, WAIT + 3);
	x_send(4, 20);
	x_send(5, -EIO);
}

Test(exchange_request, is_answered_in_order_though_later_ones_finish_first)
{
	struct gyre_exchange_options options = { .requests_max = 10 };

	x_serve(&options);
	send_mix();
	x_expect_none();
	cr_expect_eq(x.begun_count, 5);
	x_open_gate(3);
	x_expect_none();
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	expect_frame(2, 11);
	expect_frame(3, WAIT + 4);
	expect_frame(4, 21);
	expect_frame(5, -EIO);
	x_end();
}

Test(exchange_request, is_answered_as_it_finishes_where_order_does_not_count)
{
	struct gyre_exchange_options options = { .requests_max = 10, .any_order = true };

	x_serve(&options);
	send_mix();
	expect_frame(2, 11);
	expect_frame(4, 21);
	expect_frame(5, -EIO);
	x_expect_none();
	x_open_gate(3);
	expect_frame(3, WAIT + 4);
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	x_end();
}

/* ---- how many ---- */

Test(exchange_request, waits_for_the_one_before_it_by_default)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	send_mix();
	x_expect_none();
	cr_expect_eq(x.begun_count, 1);
	cr_expect_eq(x_load().requests_pending, 4);
	x_open_gate(1);
	x_open_gate(3);
	for (uint64_t id = 1; id <= 5; id++) {
		cr_expect_eq(x_expect().id, id);
	}
	cr_expect_eq(x.running_max, 1);
	x_end();
}

Test(exchange_request, is_never_in_flight_with_more_than_the_maximum)
{
	struct gyre_exchange_options options = { .requests_max = 3 };

	x_serve(&options);
	for (uint64_t id = 1; id <= 30; id++) {
		x_send(id, WAIT + (int64_t)id);
	}
	rig_settle(&x.rig);
	cr_expect_eq(x.begun_count, 3);
	for (uint32_t id = 30; id >= 1; id--) {
		x_open_gate(id);
	}
	for (uint64_t id = 1; id <= 30; id++) {
		expect_frame(id, WAIT + (int64_t)id + 1);
	}
	cr_expect_eq(x.running_max, 3);
	x_end();
}

/* The far end sends without waiting; nothing may be lost, and no more kept than said. */
Test(exchange_request, makes_the_channel_stop_reading_when_too_many_are_pending)
{
	enum { COUNT = 20000 };
	struct gyre_exchange_options options = { .requests_pending_max = 10 };
	uint64_t sent = 0;
	uint32_t most = 0;

	x_serve(&options);
	x_send(++sent, WAIT + 1);
	for (int i = 0; i < 300; i++) {
		struct frame frame = { .id = sent + 1 };

		while (sent < COUNT &&
		       send(x.fd, &frame, sizeof(frame), MSG_DONTWAIT) == sizeof(frame)) {
			frame.id = ++sent + 1;
		}
		rig_turn(&x.rig);
		most = x_load().requests_pending > most ? x_load().requests_pending : most;
	}
	cr_expect_lt(sent, COUNT, "the far end was not held up");
	cr_expect_leq(most, 10 + gy_ring_buffer_bytes(x.rig.home.loop.ring) / sizeof(struct frame),
		      "what came in one piece is kept");
	x_open_gate(1);
	for (uint64_t id = 1; id <= sent; id++) {
		cr_assert_eq(x_expect().id, id);
	}
	x_end();
}

Test(exchange_request, of_a_long_row_is_not_handled_inside_of_another)
{
	enum { COUNT = 100000 };
	struct gyre_exchange_options options = { 0 };
	uint64_t sent = 0;
	uint64_t received = 0;

	x_serve(&options);
	while (received < COUNT) {
		struct frame frame = { .id = sent + 1 };

		while (sent < COUNT &&
		       send(x.fd, &frame, sizeof(frame), MSG_DONTWAIT) == sizeof(frame)) {
			frame.id = ++sent + 1;
		}
		rig_turn(&x.rig);
		while (x_receive(&frame)) {
			cr_assert_eq(frame.id, ++received);
		}
	}
	cr_expect_eq(x.depth_max, 1);
	x_end();
}

/* ---- barriers ---- */

Test(exchange_request, that_is_a_barrier_is_handled_alone)
{
	struct gyre_exchange_options options = { .requests_max = 10, .any_order = true };

	x_serve(&options);
	x_send(1, WAIT + 1);
	x_send(2, ALONE_WAIT + 2);
	x_send(3, 0);
	x_send(4, ALONE);
	x_send(5, 0);
	rig_settle(&x.rig);
	cr_expect_eq(x.begun_count, 1, "it waits for those before it");
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	rig_settle(&x.rig);
	cr_expect_eq(x.begun_count, 2, "it holds those behind it");
	x_open_gate(2);
	expect_frame(2, ALONE_WAIT + 3);
	for (uint64_t id = 3; id <= 5; id++) {
		cr_expect_eq(x_expect().id, id);
	}
	cr_expect_eq(x.running_max, 1);
	x_end();
}

/* ---- the end ---- */

static bool is_told(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return x.input_closed > 0;
}

Test(exchange_request, is_answered_when_the_peer_has_stopped_sending)
{
	struct gyre_exchange_options options = { .requests_max = 2 };

	x_serve(&options);
	x_send(1, WAIT + 1);
	x_send(2, 1);
	x_send(3, 1);
	cr_assert_eq(shutdown(x.fd, SHUT_WR), 0);
	x_expect_none();
	cr_expect_eq(x.input_closed, 0);
	x_open_gate(1);
	for (uint64_t id = 1; id <= 3; id++) {
		cr_expect_eq(x_expect().id, id);
	}
	cr_expect(rig_until(&x.rig, is_told, NULL));
	gyre_channel_abort(x.channel, 0);
	x_end();
}

Test(exchange_request, is_answered_when_the_system_drains)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_send(1, WAIT + 1);
	x_send(2, 1);
	rig_settle(&x.rig);
	x.rig.home.channel_ops->drain(&x.rig.home);
	x_expect_none();
	cr_expect_eq(x.inactive, 0);
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	expect_frame(2, 2);
	cr_expect(rig_until(&x.rig, x_is_inactive, NULL));
	x_end();
}

Test(exchange_request, in_flight_runs_on_when_the_channel_ends_and_pending_ones_are_lost)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	send_mix();
	rig_settle(&x.rig);
	gyre_channel_abort(x.channel, -EIO);
	cr_assert(rig_until(&x.rig, x_is_inactive, NULL));
	cr_expect_eq(x.rig.home.counters.dropped[GYRE_DROP_STOPPED], 4);
	x_open_gate(1);
	rig_settle(&x.rig);
	cr_expect_eq(x.running, 0);
	cr_expect_eq(x.begun_count, 1);
	cr_expect_eq(x.rig.home.counters.dropped[GYRE_DROP_NO_ACTOR], 1, "its answer");
	x_end();
}

Test(exchange_request, answered_out_of_turn_is_lost_with_the_channel)
{
	struct gyre_exchange_options options = { .requests_max = 5 };

	x_serve(&options);
	send_mix();
	rig_settle(&x.rig);
	gyre_channel_abort(x.channel, -EIO);
	cr_assert(rig_until(&x.rig, x_is_inactive, NULL));
	cr_expect_eq(x.rig.home.counters.dropped[GYRE_DROP_STOPPED], 3);
	x_end();
}

static bool has_stopped(struct rig *rig, void *arg)
{
	return ((const struct gy_house *)arg)->status == GY_HOUSE_FREE && rig != NULL;
}

Test(exchange_request, does_not_keep_an_actor_from_stopping)
{
	struct gyre_exchange_options options = { .requests_max = 2 };

	x_serve(&options);
	x_send(1, WAIT + 1);
	x_send(2, WAIT + 2);
	x_send(3, 1);
	rig_settle(&x.rig);
	gy_house_request_stop(x.rig.house, 0);
	(void)shutdown(x.fd, SHUT_WR);
	cr_expect(rig_until(&x.rig, has_stopped, x.rig.house));
	x_end();
}

Test(exchange_request, is_left_to_itself_when_the_protocol_leaves_the_pipeline)
{
	struct gyre_exchange_options options = { .requests_pending_max = 2 };

	x_serve(&options);
	send_mix();
	rig_settle(&x.rig);
	gyre_context_remove(x.ctx);
	x_open_gate(1);
	x_expect_none();
	cr_expect_eq(x.inactive, 0, "the channel stays");
	cr_expect_eq(x.rig.home.counters.dropped[GYRE_DROP_STOPPED], 4);
	cr_expect_eq(x.rig.home.counters.dropped[GYRE_DROP_LATE], 1, "the answer");
	gyre_buffer_destroy(x.partial);
	x.partial = NULL;
	x_end();
}

Test(exchange_request, of_a_protocol_that_has_left_is_not_answered_as_one_of_the_next)
{
	struct gyre_exchange_options options = { 0 };
	struct frame frame;

	x_serve(&options);
	x_send(1, WAIT + 1);
	rig_settle(&x.rig);
	x_upgrade(&options);
	x_send(7, WAIT + 2);
	rig_settle(&x.rig);
	x_open_gate(1);
	x_expect_none();
	cr_expect_eq(x.rig.home.counters.dropped[GYRE_DROP_LATE], 1, "the answer of the first");
	x_open_gate(2);
	frame = x_expect();
	cr_expect_eq(frame.id, 7);
	cr_expect_eq(frame.value, WAIT + 3);
	x_end();
}

static void expect_no_later_protocol(gyre_handler_fn request)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(&options);
	x_options()->request = request;
	x_send(1, 1);
	rig_settle(&x.rig);
	cr_expect_eq(seen[0], x.ctx);
	x_upgrade(&options);
	seen[1] = x.ctx;
	x_open_gate(5);
	cr_assert(rig_until(&x.rig, has_looked, NULL));
	cr_expect_null(seen[1]);
	x_end();
}

Test(exchange_request, finds_no_protocol_that_came_after_its_own)
{
	expect_no_later_protocol(look_for_context);
}

Test(exchange_request, that_is_answered_finds_no_protocol_that_came_after_its_own)
{
	expect_no_later_protocol(look_after_the_answer);
}

static int open_at_the_tail(struct gyre_handler_context *ctx)
{
	return gyre_exchange_open(gyre_channel_tail(gyre_context_channel(ctx)),
				  (const struct gyre_exchange_options *)gyre_context_arg(ctx));
}

static const struct gyre_handler at_the_tail = { .name = "opening", .added = open_at_the_tail };
static const struct gyre_handler *const at_the_tail_only[] = { &at_the_tail, NULL };

Test(exchange_request, may_be_of_an_exchange_at_the_tail)
{
	struct gyre_exchange_options options = { 0 };
	int fd;

	x_serve(&options);
	fd = rig_open(&x.rig, at_the_tail_only, &options, NULL, NULL);
	rig_settle(&x.rig);
	(void)close(fd);
	x_end(); /* which sees that nothing is left */
}

/* ---- misuse ---- */

static int wrong_request(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static int wrong_encode(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
			const void *message)
{
	(void)ctx;
	(void)id;
	(void)type;
	(void)message;
	return 0;
}

Test(exchange_request, needs_options_that_make_sense)
{
	struct gyre_exchange_options options = { 0 };
	const struct gyre_exchange_options nothing = { 0 };
	const struct gyre_exchange_options no_reply = { .request = wrong_request };
	const struct gyre_exchange_options large = { .request = wrong_request,
						     .reply = wrong_encode,
						     .frame_bytes = 8193 };
	const struct gyre_exchange_options few_ids = {
		.ask = wrong_encode, .ids = true, .asks_max = 2, .id_max = 1
	};
	struct gyre_exchange_load load;

	x_serve(&options);
	cr_expect_eq(gyre_exchange_open(NULL, &options), -EINVAL);
	cr_expect_eq(gyre_exchange_open(x.ctx, NULL), -EINVAL);
	cr_expect_eq(gyre_exchange_open(x.ctx, &nothing), -EINVAL);
	cr_expect_eq(gyre_exchange_open(x.ctx, &no_reply), -EINVAL);
	cr_expect_eq(gyre_exchange_open(x.ctx, &large), -EINVAL);
	cr_expect_eq(gyre_exchange_open(x.ctx, &few_ids), -EINVAL);
	cr_expect_eq(gyre_exchange_open(x.ctx, &options), -EEXIST);
	cr_expect_eq(gyre_exchange_look(x.ctx, NULL), -EINVAL);
	cr_expect_eq(gyre_exchange_look(NULL, &load), -EINVAL);
	gyre_channel_abort(x.channel, 0);
	cr_expect_eq(gyre_exchange_open(x.ctx, &options), -EPIPE);
	x_end();
}
