/*
 * The asks of a batch: each is answered once, by itself, with all others, or by how the batch ends.
 */
#include "actor/batch_rig.h"

#include <string.h>

static void play_answers(gyre_handler_fn ask_batch, const char *words)
{
	batching_class.behaviour.ask_batch = ask_batch;
	play_script(0, words);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 0, "one was answered again");
}

/* ---- answers ---- */

Test(batch_ask, is_answered_by_itself_whatever_the_order)
{
	play_script(0, "aabc ? =[abc]ABC");
}

Test(batch_ask, of_another_loop_is_answered_there)
{
	target_loop = 1;
	play_script(0, "aabcd ?");
	cr_assert_str_eq(traced + strlen(traced) - 4, "ABCD");
}

static int answer_all(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	return gyre_batch_reply_all(stack, letter(stack, '1'));
}

Test(batch_ask, may_share_its_answer_with_all)
{
	play_answers(answer_all, "aabc ? =[abc]111");
}

static int answer_one_then_all(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(answer_one(stack, 1) == 0);
	expect(gyre_batch_reply_all(stack, letter(stack, '1')) == 0);
	expect(gyre_batch_reply_all(stack, letter(stack, '2')) == 0);
	return gyre_return(stack);
}

Test(batch_ask, that_is_answered_gets_no_answer_of_all)
{
	play_answers(answer_one_then_all, "aabc ? =[abc]1B1");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 0);
}

static int answer_without_memory(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(answer_one(stack, 0) == 0);
	expect(gyre_batch_reply(stack, 1, NULL) == -ENOMEM);
	return gyre_batch_count(stack) == 2 ? 0 : gyre_batch_reply_all(stack, NULL);
}

Test(batch_ask, for_whose_answer_there_was_no_memory_fails)
{
	play_answers(answer_without_memory, "aabcd ? =[abcd]A%%%");
}

static int answer_largely(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_large);

	memset(gyre_payload(mail), 0, sizeof(struct large));
	((struct large *)gyre_payload(mail))->values[4999] = 7;
	return gyre_batch_reply_all(stack, mail);
}

static int ask_largely(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_address to;

	GYRE_BEGIN(stack);
	to = spawn_here(stack, &batching_class);
	for (uint32_t i = 0; i < 2; i++) {
		expect(gyre_ask(stack, to, letter(stack, 'a'), 0, &frame->asks[i]) == 0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < 2; i++) {
		expect(gyre_future_get(&frame->asks[i], large)->values[4999] == 7);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(batch_ask, gets_a_copy_of_a_large_answer_too)
{
	batching_class.behaviour.ask_batch = answer_largely;
	play(1, ask_largely);
}

/* ---- without an answer ---- */

static int answer_second(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(answer_one(stack, 1) == 0);
	return gyre_return(stack);
}

Test(batch_ask, that_is_not_answered_is_told_so_at_the_end)
{
	play_answers(answer_second, "aabc ? =[abc]-B-");
}

static int fail_after_second(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(answer_one(stack, 1) == 0);
	return gyre_throw(stack, -EIO);
}

/* And the actor goes on. */
Test(batch_ask, that_is_not_answered_gets_the_error_of_the_handler)
{
	batching_class.strategy = GYRE_STRATEGY_STOP;
	play_answers(fail_after_second, "aabcX ? =[abc]X!B!1 ta / =[abc]X!B!1(a)");
	cr_assert_eq(fixture.counters.failed, 1);
}

/* ---- misuse ---- */

static int return_nonsense(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(answer_one(stack, 0) == 0);
	return 7;
}

Test(batch_ask, fails_with_einval_when_the_handler_returns_what_means_nothing)
{
	play_answers(return_nonsense, "aab ? =[ab]A$");
	cr_assert_eq(fixture.counters.failed, 1);
}

static int answer_twice(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(answer_one(stack, 0) == 0);
	expect(answer_one(stack, 0) == -EALREADY);
	expect(gyre_batch_reply(stack, 0, NULL) == -EALREADY);
	return gyre_batch_reply_all(stack, letter(stack, '1'));
}

Test(batch_ask, is_answered_once)
{
	play_answers(answer_twice, "aabc ? =[abc]A11");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 1);
}

static int answer_beyond(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	expect(gyre_batch_reply(stack, gyre_batch_count(stack), letter(stack, 'x')) == -EINVAL);
	expect(gyre_batch_reply(stack, UINT32_MAX, letter(stack, 'x')) == -EINVAL);
	expect(gyre_batch_reply(stack, UINT32_MAX, NULL) == -EINVAL);
	return gyre_return(stack);
}

Test(batch_ask, must_be_in_the_batch)
{
	play_answers(answer_beyond, "aab ? =[ab]--");
}

/* ---- later ---- */

static int answer_later(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	trace_batch(stack, "[]");
	expect(answer_one(stack, 0) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->turn));
	trace_batch(stack, "[]");
	expect(answer_one(stack, 0) == -EALREADY);
	expect(answer_one(stack, 2) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->turn));
	return gyre_batch_reply_all(stack, letter(stack, '1'));
	GYRE_END(stack);
}

Test(batch_ask, may_be_answered_after_a_sleep)
{
	play_answers(answer_later, "aabc ? =[abc][abc]A1C");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 1);
}

static int fail_at_gate(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	trace_batch(stack, "[]");
	expect(answer_one(stack, 0) == 0);
	GYRE_AWAIT(stack, wait_for_gate(stack));
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

Test(batch_ask, gets_the_error_of_a_handler_that_fails_after_a_wait)
{
	play_answers(fail_at_gate, "aabc / =[abc] o ? =[abc]A!!");
}

Test(batch_ask, of_a_batch_that_waits_is_told_of_the_stop_if_it_is_not_answered)
{
	play_answers(fail_at_gate, "aabc / =[abc] s ? =[abc]A##");
}

Test(batch_ask, of_several_batches_that_wait_is_told_of_the_stop)
{
	batching_class.batch_max = 2;
	play_answers(fail_at_gate, "aabcde / =[ab][cd][e] s ? =[ab][cd][e]A#C#E");
}

/* ---- the deadline ---- */

Test(batch_ask, that_is_past_its_deadline_is_in_no_batch)
{
	play_late_script("n aa dx ab ? =[a][b]A~B");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

Test(batch_ask, that_is_past_its_deadline_leaves_the_mailbox)
{
	batching_class.mailbox_limit = 3;
	play_late_script("n dxy aa rz ? =[a]~~A tabc rz / =[a]~~A(abc)");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 2);
}
