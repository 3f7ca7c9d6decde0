/*
 * Use after send: with all assertions, what was given away is poison at once. In other builds there
 * is nothing to see, and the tests are skipped.
 */
#include "actor/parcel_rig.h"

#include <string.h>

#include "base/atomic.h"
#include "base/memory/poison.h"

/* In a pool that nothing else uses, so that its memory stays as it is. */
struct page {
	unsigned char bytes[1000];
};
GYRE_MESSAGE(page, 0x1301);

/* What this thread made last. */
static _Thread_local const struct page *made;
/* What a handler was shown. */
static const struct page *seen;

static bool is_poison(const struct page *page)
{
#if defined(GY_POISON_SANITIZED)
	for (size_t i = 0; i < sizeof(*page); i++) {
		if (__asan_address_is_poisoned(&page->bytes[i]) == 0) {
			return false;
		}
	}
	return true;
#else
	static const struct page poison = { { [0 ... 999] = GY_POISON_BYTE } };

	return memcmp(page, &poison, sizeof(*page)) == 0;
#endif
}

static void play_if_poisoned(gyre_handler_fn script)
{
#if GY_ASSERT_LEVEL >= 2
	for (parcel_loop = 0; parcel_loop < 2; parcel_loop++) {
		fixture = (struct fixture){ 0 };
		play(2, script);
	}
#else
	(void)script;
	cr_skip_test("only with -Dassertions=full");
#endif
}

static struct gyre_mail *page(struct gyre_stack *stack, unsigned char what)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_page);
	struct page *payload = (struct page *)gyre_payload(mail);

	memset(payload, what, sizeof(*payload));
	made = payload;
	return mail;
}

static int expect_whole(struct gyre_stack *stack)
{
	const struct page *got = gyre_message(stack, page);

	/* A mount may be without. */
	expect(got == NULL || (got->bytes[0] == 7 && memcmp(got->bytes, got->bytes + 1, 999) == 0));
	return gyre_return(stack);
}

static int answer_with_page(struct gyre_stack *stack)
{
	const struct page *mine;
	int r = expect_whole(stack);

	r = r == 0 ? gyre_reply(stack, page(stack, 7)) : r;
	mine = made;
	expect(is_poison(mine));
	return r;
}

static const struct gyre_class reader_class = {
	.name = "reader",
	.mount = expect_whole,
	.behaviour = { .notice = expect_whole, .ask = answer_with_page },
};

/* ---- sends ---- */

static int send_in_all_ways(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = parcel_loop };

	GYRE_BEGIN(stack);
	expect(gyre_spawn(stack, &reader_class, page(stack, 7), &there, &frame->to) == 0);
	expect(is_poison(made));
	expect(gyre_notify(stack, frame->to, page(stack, 7)) == 0);
	expect(is_poison(made));
	expect(gyre_notify_self_first(stack, page(stack, 7)) == 0);
	expect(is_poison(made));
	expect(gyre_ask(stack, frame->to, page(stack, 7), 0, &frame->future) == 0);
	expect(is_poison(made));
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_get(&frame->future, page)->bytes[999] == 7);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(poison, is_in_what_was_sent_at_once_and_not_in_what_arrives)
{
	play_if_poisoned(send_in_all_ways);
}

static int pass_on(struct gyre_stack *stack)
{
	const struct page *mine = gyre_message(stack, page);
	struct gyre_mail *mail = gyre_take(stack);

	expect(mine->bytes[0] == 7); /* taken, and still ours */
	expect(gyre_notify(stack, *(struct gyre_address *)gyre_state(stack), mail) == 0);
	/* Of another loop's memory only the head is still used. */
	expect(is_poison(mine));
	return fixture_end(stack);
}

static int spawn_reader(struct gyre_stack *stack)
{
	*(struct gyre_address *)gyre_state(stack) = spawn_here(stack, &reader_class);
	return gyre_return(stack);
}

static int tell_passing(struct gyre_stack *stack)
{
	static const struct gyre_class passing_class = {
		.name = "passing",
		.state_bytes = sizeof(struct gyre_address),
		.mount = spawn_reader,
		.behaviour.notice = pass_on,
	};

	return gyre_notify(stack, spawn_target(stack, &passing_class), page(stack, 7));
}

Test(poison, is_in_what_was_taken_and_passed_on)
{
	play_if_poisoned(tell_passing);
}

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_batch(struct gyre_stack *stack)
{
	const struct page *mine;

	expect(gyre_batch_reply(stack, 0, page(stack, 7)) == 0);
	mine = made;
	expect(is_poison(mine));
	return gyre_return(stack);
}

static int ask_batching(struct gyre_stack *stack)
{
	static const struct gyre_class batching_class = { .name = "batching",
							  .behaviour.ask_batch = answer_batch,
							  .batch_asks = all };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &batching_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, page(stack, 7), 0, &frame->future));
	expect(gyre_future_get(&frame->future, page)->bytes[0] == 7);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(poison, is_in_the_answers_of_a_batch_that_were_sent)
{
	play_if_poisoned(ask_batching);
}

static int throw_away(struct gyre_stack *stack)
{
	gyre_mail_destroy(stack, page(stack, 7));
	expect(is_poison(made));
	return fixture_end(stack);
}

Test(poison, is_in_what_was_thrown_away)
{
	play_if_poisoned(throw_away);
}

/* ---- messages and answers that have ended ---- */

static int remember(struct gyre_stack *stack)
{
	gy_store_release(&seen, gyre_message(stack, page));
	return gyre_return(stack);
}

static int look_afterwards(struct gyre_stack *stack)
{
	static const struct gyre_class remembering_class = { .name = "remembering",
							     .behaviour.notice = remember,
							     .behaviour.ask = gyre_return };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	seen = NULL;
	frame->to = spawn_target(stack, &remembering_class);
	expect(gyre_notify(stack, frame->to, page(stack, 7)) == 0);
	while (gy_load_acquire(&seen) == NULL) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other));
	}
	/* It runs behind the notice, so that one has ended when this fails. */
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->future));
	expect(is_poison(seen));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(poison, is_in_a_message_whose_handler_has_returned)
{
	play_if_poisoned(look_afterwards);
}

static int look_at_recycled(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &reader_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, page(stack, 7), 0, &frame->future));
	seen = gyre_future_get(&frame->future, page);
	expect(seen->bytes[0] == 7);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->other));
	expect(is_poison(seen));
	expect(gyre_future_error(&frame->future) == -ESTALE);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(poison, is_in_an_answer_that_was_recycled_and_not_in_its_future)
{
	play_if_poisoned(look_at_recycled);
}
