/*
 * Answers that go home in the envelope of their question: between two loops of a model, whose
 * counters tell how many nodes have crossed.
 */
#include "actor/model.h"

static struct {
	struct gyre_address server;
	uint64_t answered;
	int error;
	uint64_t read_after;
	bool waits;
	uint32_t told; /* 1: before the answer; 2: after it */
} seen;

static int hear(struct gyre_stack *stack);

static const struct gyre_class client_class = {
	.name = "client",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = hear,
};

static struct gyre_class server_class = { .name = "server" };

static uint64_t crossed(void)
{
	return model.home[0].loop.counters.nodes_sent + model.home[1].loop.counters.nodes_sent;
}

/* ---- the asker ---- */

static int ask_it(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, seen.server, gyre_new(stack, number, 41), 0, &frame->future));
	seen.error = gyre_future_error(&frame->future);
	if (gyre_future_get(&frame->future, number) != NULL) {
		seen.answered = gyre_future_get(&frame->future, number)->value;
	} else if (gyre_future_get(&frame->future, place) != NULL) {
		seen.answered = gyre_future_get(&frame->future, place)->address.slot;
	}
	GYRE_END(stack);
}

/* Asks a server on the other loop; returns how many nodes have crossed for it. */
static uint64_t ask_there(gyre_handler_fn handler, size_t frame_bytes)
{
	struct gyre_address client;
	uint64_t before;

	server_class.behaviour.ask = handler;
	server_class.frame_bytes = frame_bytes;
	model_open(2);
	seen.server = model_spawn(&server_class, 1);
	client = model_spawn(&client_class, 0);
	model_settle();
	before = crossed();
	model_call(client, ask_it);
	model_settle();
	return crossed() - before;
}

/* ---- what servers do ---- */

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, gyre_message(stack, number)->value + 1));
}

Test(envelope, of_a_question_takes_its_answer_home_so_that_two_nodes_cross)
{
	cr_assert_eq(ask_there(answer, 0), 2);
	cr_assert_eq(seen.answered, 42);
	model_close();
	cr_assert_eq(model.counters.handled, model.counters.sent);
}

static int answer_and_read(struct gyre_stack *stack)
{
	const struct number *question = gyre_message(stack, number);
	int r = gyre_reply(stack, gyre_new(stack, number, 7));

	seen.read_after = question->value;
	cr_assert_eq(gyre_message(stack, number), question);
	return r;
}

Test(envelope, is_not_closed_before_the_handler_returns)
{
	cr_assert_eq(ask_there(answer_and_read, 0), 2);
	cr_assert_eq(seen.read_after, 41);
	cr_assert_eq(seen.answered, 7);
	model_close();
}

static int answer_and_wait(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	seen.waits = true;
	(void)gyre_reply(stack, gyre_new(stack, number, 7));
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(1), &frame->future));
	seen.waits = false;
	seen.read_after = gyre_message(stack, number)->value;
	GYRE_END(stack);
}

Test(envelope, stays_with_a_handler_that_waits_and_the_answer_leaves_before_it)
{
	cr_assert_eq(ask_there(answer_and_wait, sizeof(struct puppet_frame)), 2);
	cr_assert(seen.waits);
	cr_assert_eq(seen.answered, 7);
	model_advance(GYRE_SECONDS(2));
	cr_assert_eq(seen.read_after, 41);
	model_close();
}

static int answer_by_more(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, place, .address.slot = 9));
}

Test(envelope, is_too_small_for_a_larger_answer_which_has_its_own)
{
	cr_assert_eq(ask_there(answer_by_more, 0), 4);
	cr_assert_eq(seen.answered, 9);
	model_close();
}

static int answer_and_fail(struct gyre_stack *stack)
{
	(void)gyre_reply(stack, gyre_new(stack, number, 8));
	return gyre_throw(stack, -EIO);
}

Test(envelope, takes_home_the_answer_of_a_handler_that_fails_after_it)
{
	cr_assert_eq(ask_there(answer_and_fail, 0), 2);
	cr_assert_eq(seen.error, 0);
	cr_assert_eq(seen.answered, 8);
	cr_assert_not_null(model_house(seen.server),
			   "the asker was answered: no failure of the actor");
	model_close();
}

static int answer_and_stop(struct gyre_stack *stack)
{
	(void)gyre_reply(stack, gyre_new(stack, number, 8));
	return gyre_stop(stack, gyre_self(stack));
}

Test(envelope, takes_home_the_answer_of_an_actor_that_stops_itself)
{
	cr_assert_eq(ask_there(answer_and_stop, 0), 2);
	cr_assert_eq(seen.answered, 8);
	cr_assert_null(model_house(seen.server));
	model_close();
}

static int answer_twice(struct gyre_stack *stack)
{
	(void)gyre_reply(stack, gyre_new(stack, number, 8));
	seen.error = gyre_reply(stack, gyre_new(stack, number, 9));
	cr_assert_eq(seen.error, -EALREADY);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	if (gyre_message(stack, call) != NULL) {
		return gyre_message(stack, call)->function(stack);
	}
	seen.told = seen.answered == 0 ? 1 : 2;
	return gyre_return(stack);
}

/* The asker's loop sleeps, so that all is handed to it at once, and wakes before the handler ends.
 */
static int answer_and_tell(struct gyre_stack *stack)
{
	model.home[0].loop.parked = GY_PARKED;
	(void)gyre_reply(stack, gyre_new(stack, number, 8));
	(void)gyre_notify(stack, gyre_sender(stack), gyre_new(stack, number, 1));
	model.home[0].loop.parked = GY_AWAKE;
	model_turn_one(0);
	return gyre_return(stack);
}

Test(envelope, is_left_behind_for_what_the_handler_sends_after_its_answer)
{
	(void)ask_there(answer_and_tell, 0);
	cr_assert_eq(seen.answered, 8);
	cr_assert_eq(seen.told, 2, "the notice has overtaken the answer");
	model_close();
}

Test(envelope, has_the_first_of_two_answers)
{
	(void)ask_there(answer_twice, 0);
	cr_assert_eq(seen.answered, 8);
	cr_assert_eq(model.lost[GYRE_DROP_SECOND], 1);
	model_close();
}
