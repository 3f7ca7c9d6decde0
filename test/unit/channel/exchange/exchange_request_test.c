/* Requests of the peer: how many at a time, in which order they are answered, and how they end. */
#include <string.h>

#include <gyre/node.h>

#include "exchange_kit.h"

static void expect_frame(uint64_t id, int64_t value)
{
	struct frame frame = x_expect();

	cr_expect(frame.id == id && frame.value == value, "%lu %ld, not %lu %ld", frame.id,
		  frame.value, id, value);
}

/* ---- handling ---- */

EXCHANGE_TEST(exchange_request, is_handled_by_a_stack_of_the_owner_and_answered)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(7, 41);
	expect_frame(7, 42);
	cr_expect_eq(x.received, 0);
}

EXCHANGE_TEST(exchange_request, may_wait_for_others)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 3);
	x_expect_none();
	cr_expect_eq(x_load().requests, 1);
	x_open_gate(3);
	expect_frame(1, WAIT + 4);
	cr_expect_eq(x_load().requests, 0);
}

EXCHANGE_TEST(exchange_request, may_be_forwarded_and_stashed_by_who_got_it)
{
	struct gyre_exchange_options options = { .requests_max = 2 };

	x_serve(test, &options);
	x_send(1, FORWARD + 5);
	x_send(2, 7);
	x_expect_none(); /* the answers are in order */
	x_open_gate(5);
	expect_frame(1, 5);
	expect_frame(2, 8);
	cr_expect_eq(x_load().requests, 0);
}

EXCHANGE_TEST(exchange_request, that_fails_is_written_as_the_protocol_does)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x.warnings_expected = 1; /* the second is not answered */
	x_send(1, -EIO);
	x_send(2, SILENT);
	x_send(3, UNWRITABLE);
	x_send(4, 1);
	expect_frame(1, -EIO);
	expect_frame(2, -ENOMSG);
	expect_frame(3, -EMSGSIZE);
	expect_frame(4, 2);
	cr_expect_eq(x.warnings, 1);
}

EXCHANGE_TEST(exchange_request, that_fails_closes_the_channel_of_a_protocol_without_errors)
{
	struct gyre_exchange_options options = { 0 };

	x_complete_serving(&options);
	options.fail = NULL;
	x_serve(test, &options);
	x_send(1, 1);
	x_send(2, -EIO);
	x_send(3, 1);
	expect_frame(1, 2);
	(void)gyre_test_channel_half_close(x.peer);
	(void)gyre_tap_expect_exception(x.tap, -EIO, GYRE_SECONDS(1));
	(void)gyre_tap_expect_inactive(x.tap, -EIO, GYRE_SECONDS(1));
	(void)gyre_test_channel_expect_end(x.peer, GYRE_SECONDS(1));
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1); /* the third, which has no answer */
}

EXCHANGE_TEST(exchange_request, shows_the_channel_as_its_sender)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, TO_THE_CHANNEL);
	expect_frame(1, TO_THE_CHANNEL + 1);
	(void)gyre_tap_expect_event(x.tap, question, GYRE_SECONDS(1));
	(void)gyre_tap_expect_none(x.tap, GYRE_SECONDS(1));
}

EXCHANGE_TEST(exchange_request, cannot_be_stashed)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, STASH);
	expect_frame(1, -EINVAL + 1);
}

static struct gyre_handler_context *seen[2];
static uint32_t looked;

static int look_for_context(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	seen[0] = gyre_exchange_context(stack);
	GYRE_AWAIT(stack, x_wait(stack, 5, future));
	seen[1] = gyre_exchange_context(stack);
	cr_expect(seen[1] == NULL || gyre_context_stack(seen[1]) == stack);
	looked++;
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
	looked++;
	return 0;
	GYRE_END(stack);
}

/* A request that looks, and waits at gate 5 until it looks again. */
static void begin_to_look(struct gyre_test *test, gyre_handler_fn request)
{
	struct gyre_exchange_options options = { 0 };

	looked = 0;
	x_complete_serving(&options);
	options.request = request;
	x_serve(test, &options);
	x_send(1, 1);
	x_settle();
	cr_expect_eq(seen[0], x.ctx);
}

static void look_again(void)
{
	x_open_gate(5);
	x_settle();
	cr_assert_eq(looked, 1);
}

static int look_in_an_actor(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	cr_expect_null(gyre_exchange_context(stack));
	return 0;
}

EXCHANGE_TEST(exchange_request, finds_its_protocol_while_the_channel_is_there)
{
	begin_to_look(test, look_for_context);
	seen[1] = x.ctx;
	x_abort(0);
	(void)gyre_tap_expect_inactive(x.tap, 0, GYRE_SECONDS(1));
	look_again();
	cr_expect_null(seen[1]);
	(void)gyre_probe_do(x.probe, look_in_an_actor, NULL);
}

static const struct gyre_node_options node = { .id = 7 };
static const struct gyre_system_options node_system = { EXCHANGE_KIT_LOG, .node = &node };

KIT_TEST_WITH(exchange_request, finds_its_protocol_in_a_system_that_is_a_node, &node_system)
{
	begin_to_look(test, look_for_context);
	cr_expect_eq(x.address.node, 7);
	look_again();
	cr_expect_eq(seen[1], x.ctx);
}

EXCHANGE_TEST(exchange_request, finds_its_protocol_also_when_it_is_answered)
{
	begin_to_look(test, look_after_the_answer);
	look_again();
	cr_expect_eq(seen[1], x.ctx);
}

EXCHANGE_TEST(exchange_request, is_served_by_a_copy_of_the_options)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	memset(&options, 0xff, sizeof(options));
	x_send(1, 10);
	cr_expect_eq(x_expect().id, 1);
	x_abort(0);
	(void)gyre_tap_expect_inactive(x.tap, 0, GYRE_SECONDS(1));
} /* the testkit sees that the copy is free */

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

EXCHANGE_TEST(exchange_request, is_answered_in_order_though_later_ones_finish_first)
{
	struct gyre_exchange_options options = { .requests_max = 10 };

	x_serve(test, &options);
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
}

EXCHANGE_TEST(exchange_request, is_answered_as_it_finishes_where_order_does_not_count)
{
	struct gyre_exchange_options options = { .requests_max = 10, .any_order = true };

	x_serve(test, &options);
	send_mix();
	expect_frame(2, 11);
	expect_frame(4, 21);
	expect_frame(5, -EIO);
	x_expect_none();
	x_open_gate(3);
	expect_frame(3, WAIT + 4);
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
}

/* ---- how many ---- */

EXCHANGE_TEST(exchange_request, waits_for_the_one_before_it_by_default)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
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
}

EXCHANGE_TEST(exchange_request, is_never_in_flight_with_more_than_the_maximum)
{
	struct gyre_exchange_options options = { .requests_max = 3 };

	x_serve(test, &options);
	for (uint64_t id = 1; id <= 30; id++) {
		x_send(id, WAIT + (int64_t)id);
	}
	x_settle();
	cr_expect_eq(x.begun_count, 3);
	for (uint32_t id = 30; id >= 1; id--) {
		x_open_gate(id);
	}
	for (uint64_t id = 1; id <= 30; id++) {
		expect_frame(id, WAIT + (int64_t)id + 1);
	}
	cr_expect_eq(x.running_max, 3);
}

enum { PIECE_BYTES = 4096 };

static const struct gyre_system_options pieces_system = {
	EXCHANGE_KIT_LOG, .receive_buffers = GYRE_RECEIVE_BUFFERS_WHOLE, .buffer_bytes = PIECE_BYTES
};

/* The peer sends without waiting; nothing may be lost, and no more kept than said. */
KIT_TEST_WITH(exchange_request, makes_the_channel_stop_reading_when_too_many_are_pending,
	      &pieces_system)
{
	enum { COUNT = 100000 };
	struct gyre_exchange_options options = { .requests_pending_max = 10 };
	static struct frame frames[COUNT];
	int64_t sent;

	for (uint64_t i = 0; i < COUNT; i++) {
		frames[i] = (struct frame){ i + 1, i == 0 ? WAIT + 1 : 0 };
	}
	x_serve(test, &options);
	sent = gyre_test_channel_try_write(x.peer, frames, sizeof(frames), GYRE_SECONDS(60));
	cr_assert_gt(sent, 0);
	cr_expect_lt((size_t)sent, sizeof(frames), "the peer was not held up");
	cr_expect_geq(x_load().requests_pending, 10);
	cr_expect_leq(x_load().requests_pending, 10 + PIECE_BYTES / sizeof(struct frame),
		      "what came in one piece is kept");
	x_open_gate(1);
	for (uint64_t id = 1; id <= (uint64_t)sent / sizeof(struct frame); id++) {
		cr_assert_eq(x_expect().id, id);
	}
}

EXCHANGE_TEST(exchange_request, of_a_long_row_is_not_handled_inside_of_another)
{
	enum { COUNT = 100000, PIECE = 10000 };
	struct gyre_exchange_options options = { 0 };
	static struct frame frames[PIECE];

	x_serve(test, &options);
	for (uint64_t sent = 0; sent < COUNT; sent += PIECE) {
		for (uint64_t i = 0; i < PIECE; i++) {
			frames[i].id = sent + i;
		}
		x_send_all(frames, PIECE);
		for (uint64_t i = 0; i < PIECE; i++) {
			cr_assert_eq(x_expect().id, sent + i);
		}
	}
	cr_expect_eq(x.depth_max, 1);
}

/* ---- the end ---- */

EXCHANGE_TEST(exchange_request, is_answered_when_the_peer_has_stopped_sending)
{
	struct gyre_exchange_options options = { .requests_max = 2 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_send(2, 1);
	x_send(3, 1);
	cr_assert_eq(gyre_test_channel_half_close(x.peer), 0);
	x_expect_none();
	(void)gyre_tap_expect_none(x.tap, 0);
	x_open_gate(1);
	for (uint64_t id = 1; id <= 3; id++) {
		cr_expect_eq(x_expect().id, id);
	}
	(void)gyre_tap_expect_read_end(x.tap, GYRE_SECONDS(1));
	(void)gyre_tap_expect_event(x.tap, gyre_input_closed, GYRE_SECONDS(1));
	x_abort(0);
}

EXCHANGE_TEST(exchange_request,
	      is_answered_when_the_peer_has_stopped_sending_and_no_other_is_pending)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	cr_assert_eq(gyre_test_channel_half_close(x.peer), 0);
	x_expect_none();
	(void)gyre_tap_expect_none(x.tap, 0);
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	(void)gyre_tap_expect_read_end(x.tap, GYRE_SECONDS(1));
	(void)gyre_tap_expect_event(x.tap, gyre_input_closed, GYRE_SECONDS(1));
	x_abort(0);
}

EXCHANGE_TEST(exchange_request, is_answered_when_the_system_drains)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_send(2, 1);
	x_settle();
	gyre_system_stop(gyre_test_system(test));
	x_expect_none();
	(void)gyre_tap_expect_none(x.tap, 0);
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	expect_frame(2, 2);
	(void)gyre_tap_expect_event(x.tap, gyre_input_closed, GYRE_SECONDS(1));
	(void)gyre_tap_expect_inactive(x.tap, 0, GYRE_SECONDS(1));
}

EXCHANGE_TEST(exchange_request, in_flight_runs_on_when_the_channel_ends_and_pending_ones_are_lost)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	send_mix();
	x_settle();
	x_abort(-EIO);
	(void)gyre_tap_expect_inactive(x.tap, -EIO, GYRE_SECONDS(1));
	x_expect_dropped(question, GYRE_DROP_STOPPED, 4);
	cr_expect_eq(x.at_end.requests, 0);
	cr_expect_eq(x.at_end.requests_pending, 0);
	x_open_gate(1);
	x_settle();
	cr_expect_eq(x.running, 0);
	cr_expect_eq(x.begun_count, 1);
	x_expect_dropped(answer, GYRE_DROP_NO_ACTOR, 1);
}

EXCHANGE_TEST(exchange_request, in_flight_does_not_keep_a_channel_that_its_peer_has_reset)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_settle();
	gyre_test_channel_reset(x.peer);
	(void)gyre_tap_expect_inactive(x.tap, -ECONNRESET, GYRE_SECONDS(1));
	x_open_gate(1);
	x_settle();
	x_expect_dropped(answer, GYRE_DROP_NO_ACTOR, 1);
}

EXCHANGE_TEST(exchange_request, answered_out_of_turn_is_lost_with_the_channel)
{
	struct gyre_exchange_options options = { .requests_max = 5 };
	struct gyre_counters counters;

	x_serve(test, &options);
	send_mix();
	x_settle();
	x_abort(-EIO);
	(void)gyre_tap_expect_inactive(x.tap, -EIO, GYRE_SECONDS(1));
	x_expect_dropped(answer, GYRE_DROP_STOPPED, 2);
	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	cr_expect_eq(counters.dropped[GYRE_DROP_STOPPED], 3, "and the failure");
}

EXCHANGE_TEST(exchange_request, does_not_keep_an_actor_from_stopping)
{
	struct gyre_exchange_options options = { .requests_max = 2 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_send(2, WAIT + 2);
	x_send(3, 1);
	x_settle();
	x_stop_owner();
	(void)gyre_test_channel_half_close(x.peer);
	(void)gyre_probe_expect(x.probe, gyre_terminated, GYRE_SECONDS(1));
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
}

static int stop_and_answer(struct gyre_stack *stack)
{
	x.begun_count++;
	(void)gyre_stop(stack, gyre_self(stack));
	return gyre_reply(stack, gyre_new(stack, answer, .value = 7));
}

EXCHANGE_TEST(exchange_request, is_not_begun_when_the_one_before_it_has_stopped_the_actor)
{
	const struct frame frames[] = { { 1, 0 }, { 2, 0 } };
	struct gyre_exchange_options options = { 0 };

	x_complete_serving(&options);
	options.request = stop_and_answer;
	x_serve(test, &options);
	x_send_all(frames, 2);
	expect_frame(1, 7);
	(void)gyre_test_channel_half_close(x.peer);
	(void)gyre_test_channel_expect_end(x.peer, GYRE_SECONDS(1));
	cr_expect_eq(x.begun_count, 1);
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
}

EXCHANGE_TEST(exchange_request, is_left_to_itself_when_the_protocol_leaves_the_pipeline)
{
	struct gyre_exchange_options options = { .requests_pending_max = 2 };

	x_serve(test, &options);
	send_mix();
	x_settle();
	x_remove();
	x_open_gate(1);
	x_expect_none();
	(void)gyre_tap_expect_none(x.tap, GYRE_SECONDS(1)); /* the channel stays */
	x_expect_dropped(question, GYRE_DROP_STOPPED, 4);
	x_expect_dropped(answer, GYRE_DROP_LATE, 1);
}

EXCHANGE_TEST(exchange_request, of_a_protocol_that_has_left_is_not_answered_as_one_of_the_next)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_settle();
	x_upgrade(&options);
	x_send(7, WAIT + 2);
	x_settle();
	x_open_gate(1);
	x_expect_none();
	x_expect_dropped(answer, GYRE_DROP_LATE, 1); /* of the first */
	x_open_gate(2);
	expect_frame(7, WAIT + 3);
}

EXCHANGE_TEST(exchange_request, does_not_keep_the_channel_from_reading_when_the_protocol_has_left)
{
	struct gyre_exchange_options options = { .requests_pending_max = 1 };
	const struct frame frame = { 3, 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_send(2, 0);
	x_settle();
	x_send_all(&frame, 1);
	x_settle();
	cr_expect_eq(x_load().requests_pending, 1);
	x_remove();
	(void)gyre_tap_expect_read(x.tap, &frame, sizeof(frame), GYRE_SECONDS(1));
	x_expect_dropped(question, GYRE_DROP_STOPPED, 1);
}

static const struct gyre_handler passing = { .name = "passing" };

static int add_and_remove_another(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	cr_assert_eq(gyre_pipeline_add(channel, GYRE_FIRST, &passing, arg), 0);
	return gyre_pipeline_remove(channel, passing.name);
}

EXCHANGE_TEST(exchange_request, is_answered_though_another_handler_leaves_the_pipeline)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_settle();
	cr_assert_eq(gyre_tap_do(x.tap, add_and_remove_another, NULL), 0);
	x_open_gate(1);
	expect_frame(1, WAIT + 2);
	x_send(2, 1);
	expect_frame(2, 2);
}

static void expect_no_later_protocol(struct gyre_test *test, gyre_handler_fn request)
{
	struct gyre_exchange_options options = { 0 };

	begin_to_look(test, request);
	x_complete_serving(&options);
	x_upgrade(&options);
	seen[1] = x.ctx;
	look_again();
	cr_expect_null(seen[1]);
}

EXCHANGE_TEST(exchange_request, finds_no_protocol_that_came_after_its_own)
{
	expect_no_later_protocol(test, look_for_context);
}

EXCHANGE_TEST(exchange_request, that_is_answered_finds_no_protocol_that_came_after_its_own)
{
	expect_no_later_protocol(test, look_after_the_answer);
}

static int open_at_the_tail(struct gyre_handler_context *ctx)
{
	return gyre_exchange_open(gyre_channel_tail(gyre_context_channel(ctx)),
				  (const struct gyre_exchange_options *)gyre_context_arg(ctx));
}

static int init_at_the_tail(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler opening = { .name = "opening", .added = open_at_the_tail };

	return gyre_pipeline_add(channel, GYRE_LAST, &opening, arg);
}

EXCHANGE_TEST(exchange_request, may_be_of_an_exchange_at_the_tail)
{
	struct gyre_exchange_options options = { 0 };
	const struct gyre_acceptor_options acceptor = { .init_channel = init_at_the_tail,
							.init_arg = &options };
	struct gyre_test_channel *peer;

	x_serve(test, &options);
	x.tap = gyre_tap_open(test, &acceptor, &peer);
	cr_expect_eq(x_load().requests, 0);
	gyre_test_channel_close(peer);
} /* the testkit sees that nothing is left */

/* ---- misuse ---- */

static int receive_nothing(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_exchange_receive(ctx, 1, NULL);
}

EXCHANGE_TEST(exchange_request, that_there_was_no_memory_for_closes_the_channel)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	cr_expect_eq(gyre_tap_do(x.tap, receive_nothing, NULL), -ENOMEM);
	(void)gyre_tap_expect_inactive(x.tap, -ENOMEM, GYRE_SECONDS(1));
}

static int receive_wrongly(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)arg;
	cr_expect_eq(gyre_exchange_receive(ctx, 1, GYRE_NO_ARGUMENT), -EINVAL);
	gyre_context_close(ctx);
	return gyre_exchange_receive(ctx, 1, gyre_new(stack, question, .value = 1));
}

EXCHANGE_TEST(exchange_request, is_refused_by_a_channel_that_is_closing)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	cr_expect_eq(gyre_tap_do(x.tap, receive_wrongly, NULL), -EPIPE);
	gyre_test_channel_close(x.peer);
	(void)gyre_tap_expect_inactive(x.tap, 0, GYRE_SECONDS(1));
}

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

static int open_wrongly(struct gyre_handler_context *ctx, void *arg)
{
	const struct gyre_exchange_options *options = (const struct gyre_exchange_options *)arg;
	const struct gyre_exchange_options nothing = { 0 };
	const struct gyre_exchange_options no_reply = { .request = wrong_request };
	const struct gyre_exchange_options large = { .request = wrong_request,
						     .reply = wrong_encode,
						     .frame_bytes = 8193 };
	const struct gyre_exchange_options few_ids = {
		.ask = wrong_encode, .ids = true, .asks_max = 2, .id_max = 1
	};
	struct gyre_exchange_load load;

	cr_expect_eq(gyre_exchange_open(NULL, options), -EINVAL);
	cr_expect_eq(gyre_exchange_open(ctx, NULL), -EINVAL);
	cr_expect_eq(gyre_exchange_open(ctx, &nothing), -EINVAL);
	cr_expect_eq(gyre_exchange_open(ctx, &no_reply), -EINVAL);
	cr_expect_eq(gyre_exchange_open(ctx, &large), -EINVAL);
	cr_expect_eq(gyre_exchange_open(ctx, &few_ids), -EINVAL);
	cr_expect_eq(gyre_exchange_open(ctx, options), -EEXIST);
	cr_expect_eq(gyre_exchange_look(ctx, NULL), -EINVAL);
	cr_expect_eq(gyre_exchange_look(NULL, &load), -EINVAL);
	gyre_channel_abort(gyre_context_channel(ctx), 0);
	cr_expect_eq(gyre_exchange_open(ctx, options), -EPIPE);
	return 0;
}

EXCHANGE_TEST(exchange_request, needs_options_that_make_sense)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	(void)gyre_tap_do(x.tap, open_wrongly, &options);
}
