/*
 * The asks of a batch: each is answered once, by itself, with all others, or by how the batch ends.
 */
#include "actor/batch_kit.h"

#include <ctype.h>
#include <string.h>

static struct gyre_address asked;

static void play_answers(struct gyre_test *test, gyre_handler_fn ask_batch, const char *words)
{
	batching_class.behaviour.ask_batch = ask_batch;
	play_script(test, words);
}

/* ---- answers ---- */

KIT_TEST(batch_ask, is_answered_by_itself_whatever_the_order)
{
	play_three(test, "ABC");
}

static int ask_four(struct gyre_stack *stack, void *arg)
{
	struct gyre_probe *probe = (struct gyre_probe *)arg;

	for (int what = 'a'; what <= 'd'; what++) {
		cr_assert_eq(gyre_probe_ask(probe, asked, new_letter(stack, (char)what), 0), 0);
	}
	return 0;
}

/* Where batches end there, and so which answers come first, is not certain. */
static int answer_quietly(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		char what = gyre_batch_get(stack, i, letter)->what;

		cr_assert_eq(gyre_batch_reply(stack, i, new_letter(stack, (char)toupper(what))), 0);
	}
	return gyre_return(stack);
}

static const struct gyre_system_options two_loops = { .loops = 2 };

KIT_TEST_WITH(batch_ask, of_another_loop_is_answered_there, &two_loops)
{
	struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };
	struct gyre_probe *probe = gyre_probe_create(test);

	options.loop = 1 - gyre_probe_address(probe).loop;
	batching_class.behaviour.ask_batch = answer_quietly;
	cr_assert_eq(gyre_system_spawn(gyre_test_system(test), &batching_class, GYRE_NO_ARGUMENT,
				       &options, &asked),
		     0);
	(void)gyre_probe_do(probe, ask_four, probe);
	for (int what = 'A'; what <= 'D'; what++) {
		cr_assert_eq(gyre_probe_expect(probe, letter, GYRE_SECONDS(1))->what, what);
	}
}

static int answer_all(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	return gyre_batch_reply_all(stack, new_letter(stack, '1'));
}

KIT_TEST(batch_ask, may_share_its_answer_with_all)
{
	play_answers(test, answer_all, "aabc ?111 =[abc]");
}

static int answer_one_then_all(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 1), 0);
	cr_assert_eq(gyre_batch_reply_all(stack, new_letter(stack, '1')), 0);
	cr_assert_eq(gyre_batch_reply_all(stack, new_letter(stack, '2')), 0);
	return gyre_return(stack);
}

KIT_TEST(batch_ask, that_is_answered_gets_no_answer_of_all)
{
	batching_class.behaviour.ask_batch = answer_one_then_all;
	play_three(test, "1B1");
}

static int answer_without_memory(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 0), 0);
	cr_assert_eq(gyre_batch_reply(stack, 1, NULL), -ENOMEM);
	return gyre_batch_count(stack) == 2 ? 0 : gyre_batch_reply_all(stack, NULL);
}

KIT_TEST(batch_ask, for_whose_answer_there_was_no_memory_fails)
{
	play_answers(test, answer_without_memory, "aabcd ?A%%% =[abcd]");
}

/* Above 16 KiB: not from a pool. */
struct large {
	uint64_t values[5000];
};
GYRE_MESSAGE(large, 0x1003);

static int answer_largely(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_large);

	memset(gyre_payload(mail), 0, sizeof(struct large));
	((struct large *)gyre_payload(mail))->values[4999] = 7;
	return gyre_batch_reply_all(stack, mail);
}

static int ask_two(struct gyre_stack *stack, void *arg)
{
	struct gyre_probe *probe = (struct gyre_probe *)arg;

	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(gyre_probe_ask(probe, asked, new_letter(stack, 'a'), 0), 0);
	}
	return 0;
}

KIT_TEST(batch_ask, gets_a_copy_of_a_large_answer_too)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	batching_class.behaviour.ask_batch = answer_largely;
	asked = gyre_test_spawn(test, &batching_class, GYRE_NO_ARGUMENT);
	(void)gyre_probe_do(probe, ask_two, probe);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(gyre_probe_expect(probe, large, GYRE_SECONDS(1))->values[4999], 7);
	}
}

/* ---- without an answer ---- */

static int answer_second(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 1), 0);
	return gyre_return(stack);
}

KIT_TEST(batch_ask, that_is_not_answered_is_told_so_at_the_end)
{
	batching_class.behaviour.ask_batch = answer_second;
	play_three(test, "-B-");
}

static int fail_after_second(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 1), 0);
	return gyre_throw(stack, -EIO);
}

/* And the actor goes on. */
KIT_TEST(batch_ask, that_is_not_answered_gets_the_error_of_the_handler)
{
	batching_class.strategy = GYRE_STRATEGY_STOP;
	batching_class.behaviour.ask_batch = fail_after_second;
	play_three(test, "!B!");
	play_script(test, "aabcX / =[abc][abc]X ?B1!! ta / =[abc][abc]X(a)");
	cr_assert_eq(counters_of(test).failed, 2);
}

/* ---- misuse ---- */

static int return_nonsense(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 0), 0);
	return 7;
}

KIT_TEST(batch_ask, fails_with_einval_when_the_handler_returns_what_means_nothing)
{
	play_answers(test, return_nonsense, "aab ?A$ =[ab]");
	cr_assert_eq(counters_of(test).failed, 1);
}

static int answer_twice(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 0), 0);
	cr_assert_eq(answer_one(stack, 0), -EALREADY);
	cr_assert_eq(gyre_batch_reply(stack, 0, NULL), -EALREADY);
	return gyre_batch_reply_all(stack, new_letter(stack, '1'));
}

KIT_TEST(batch_ask, is_answered_once)
{
	play_answers(test, answer_twice, "aabc ?A11 =[abc]");
	expect_dropped(test, GYRE_DROP_SECOND, 1);
}

static int answer_beyond(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	cr_assert_eq(gyre_batch_reply(stack, gyre_batch_count(stack), new_letter(stack, 'x')),
		     -EINVAL);
	cr_assert_eq(gyre_batch_reply(stack, UINT32_MAX, new_letter(stack, 'x')), -EINVAL);
	cr_assert_eq(gyre_batch_reply(stack, UINT32_MAX, NULL), -EINVAL);
	return gyre_return(stack);
}

KIT_TEST(batch_ask, must_be_in_the_batch)
{
	play_answers(test, answer_beyond, "aab ?-- =[ab]");
}

/* ---- later ---- */

static int answer_later(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 0), 0);
	GYRE_AWAIT(stack, sleep_for(stack, 0));
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 0), -EALREADY);
	cr_assert_eq(answer_one(stack, 2), 0);
	GYRE_AWAIT(stack, sleep_for(stack, 0));
	return gyre_batch_reply_all(stack, new_letter(stack, '1'));
	GYRE_END(stack);
}

KIT_TEST(batch_ask, may_be_answered_after_a_sleep)
{
	play_answers(test, answer_later, "aabc ?AC1 =[abc][abc]");
	expect_dropped(test, GYRE_DROP_SECOND, 1);
}

static int fail_at_gate(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	mark_batch(stack, "[]");
	cr_assert_eq(answer_one(stack, 0), 0);
	GYRE_AWAIT(stack, wait_for_gate(stack));
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

KIT_TEST(batch_ask, gets_the_error_of_a_handler_that_fails_after_a_wait)
{
	play_answers(test, fail_at_gate, "aabc / =[abc] ?A o ?!! =[abc]");
}

KIT_TEST(batch_ask, of_a_batch_that_waits_is_told_of_the_stop_if_it_is_not_answered)
{
	play_answers(test, fail_at_gate, "aabc / =[abc] ?A s ?## =[abc]");
}

KIT_TEST(batch_ask, of_several_batches_that_wait_is_told_of_the_stop)
{
	batching_class.batch_max = 2;
	play_answers(test, fail_at_gate, "aabcde / =[ab][cd][e] ?ACE s ?##");
}

/* ---- the deadline ---- */

static int wait_mount(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, sleep_for(stack, GYRE_MILLISECONDS(10)));
	GYRE_END(stack);
}

/* What is asked with next to no time is late before the actor is mounted. */
static void play_late_script(struct gyre_test *test, const char *words)
{
	batching_class.mount = wait_mount;
	play_script(test, words);
}

KIT_TEST(batch_ask, that_is_past_its_deadline_is_in_no_batch)
{
	play_late_script(test, "aa dx ab ?~AB =[a][b]");
	expect_dropped(test, GYRE_DROP_EXPIRED, 1);
}

KIT_TEST(batch_ask, that_is_past_its_deadline_leaves_the_mailbox)
{
	batching_class.mailbox_limit = 3;
	play_late_script(test, "dxy aa rz ?~~A =[a] tabc rz / =[a](abc)");
	expect_dropped(test, GYRE_DROP_EXPIRED, 2);
	expect_dropped(test, GYRE_DROP_MAILBOX_FULL, 2);
}
