/*
 * Answers by the type that their questions declare, wherever there is one to give: in handlers, in
 * batches, off the loops, and to threads outside. That another type does not compile is shown in
 * test/check/typed_test.py.
 */
#include <errno.h>

#include <gyre/batch.h>
#include <gyre/offload.h>
#include <gyre/outside.h>
#include <gyre/request.h>
#include <gyre/tail.h>

#include "actor/parcel_rig.h"
#include "tails.h"

enum { ASKS = 3, LETTERS = 300 };

struct sum {
	uint64_t value;
	uint64_t terms;
};
GYRE_MESSAGE(sum, 0x1550);

struct sum_of {
	uint64_t a;
	uint64_t b;
};
GYRE_REQUEST(sum_of, 0x1551, sum);

/* Answered by something that owns. */
struct parcel_of {
	uint64_t number;
};
GYRE_REQUEST(parcel_of, 0x1552, parcel);

/* Answered by its own type. */
struct echo {
	uint32_t count;
	uint16_t values[];
};
GYRE_REQUEST_TAIL(echo, 0x1553, echo, values, count);

struct typed_frame {
	struct gyre_future futures[ASKS];
	struct gyre_address to;
};

static struct typed_frame *typed_frame(struct gyre_stack *stack)
{
	return (struct typed_frame *)gyre_frame(stack);
}

/* ---- handlers ---- */

static int answer_copy(struct gyre_stack *stack)
{
	const struct sum_of *sum_of = gyre_message(stack, sum_of);
	const struct parcel_of *parcel_of = gyre_message(stack, parcel_of);
	const struct spell *spell = gyre_message(stack, spell);

	if (sum_of != NULL) {
		struct sum sum = { .value = sum_of->a + sum_of->b, .terms = 2 };
		int r = gyre_reply_copy_to(stack, sum_of, &sum);

		sum.value = 0; /* it is a copy */
		return r;
	}
	if (parcel_of != NULL) {
		const struct parcel parcel = pack(parcel_of->number);

		return gyre_reply_copy_to(stack, parcel_of, &parcel);
	}
	if (spell != NULL) {
		struct gyre_mail *mail = tail_line(stack, 1, spell->count);
		int r = gyre_reply_copy_to(stack, spell, (struct line *)gyre_payload(mail));

		gyre_mail_destroy(stack, mail);
		return r;
	}
	return gyre_reply_copy_to(stack, echo, gyre_message(stack, echo));
}

static const struct gyre_class copying_class = { .name = "copying", .behaviour.ask = answer_copy };

static int ask_copying(struct gyre_stack *stack)
{
	static const uint16_t values[] = { 4, 5, 6 };
	struct typed_frame *frame = typed_frame(stack);
	struct gyre_future *future = &frame->futures[0];
	struct gyre_mail *mail;
	struct sum sum;
	struct parcel mine;

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &copying_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, sum_of, 3, 4), 0, future));
	expect(gyre_future_move_answer_to(future, sum_of, &sum) == 0);
	expect(sum.value == 7 && sum.terms == 2);
	expect(gyre_future_move_answer_to(future, sum_of, &sum) == -ENOENT);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, parcel_of, 9), 0, future));
	expect(gyre_future_move_answer_to(future, parcel_of, &mine) == 0);
	expect(unpack(&mine) == 9);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new_tail(stack, spell, LETTERS), 0, future));
	expect(tail_line_is_whole(gyre_future_answer_to(future, spell), 1, LETTERS));
	expect(gyre_future_move_answer_to(future, spell, &(struct line){ 0 }) == -EMSGSIZE);
	mail = gyre_tail_fill(echo, gyre_new_tail(stack, echo, 3), values);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, mail, 0, future));
	expect(gyre_future_answer_to(future, echo)->count == 3);
	expect(gyre_future_answer_to(future, echo)->values[2] == 6);
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct typed_frame),
						.mount = ask_copying };

static int spawn_asking(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &asking_class);
	return gyre_return(stack);
}

Test(typed_answer, may_be_a_copy_of_a_struct_with_all_that_it_owns_or_has_in_its_tail)
{
	play_parcels(spawn_asking);
	cr_assert_eq(parcels_destroyed, 0);
}

/* ---- batches ---- */

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_all(struct gyre_stack *stack)
{
	expect(gyre_batch_count(stack) == ASKS);
	expect(gyre_batch_reply(stack, 0,
				gyre_new_answer_copy(stack, sum_of, (&(struct sum){ 1, 1 }))) == 0);
	expect(gyre_batch_reply_to(stack, 1, sum_of, .value = 2) == 0);
	expect(gyre_batch_reply_all_to(stack, sum_of, .value = 3, .terms = 3) == 0);
	/* There is nobody left. */
	return gyre_batch_reply_all_to(stack, sum_of, .value = 4);
}

static int ask_batch(struct gyre_stack *stack)
{
	static const struct gyre_class batch_class = { .name = "batch",
						       .behaviour.ask_batch = answer_all,
						       .batch_asks = all };
	struct typed_frame *frame = typed_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &batch_class);
	for (uint32_t i = 0; i < ASKS; i++) {
		expect(gyre_ask(stack, frame->to, gyre_new(stack, sum_of, i, i), 0,
				&frame->futures[i]) == 0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < ASKS; i++) {
		expect(gyre_future_answer_to(&frame->futures[i], sum_of)->value == i + 1);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(typed_answer, to_all_asks_of_a_batch_goes_to_those_that_have_none)
{
	play(1, ask_batch);
	cr_assert_eq(fixture.counters.sent, 2 * ASKS);
}

/* An answer that owns something has one asker. */
static int answer_last(struct gyre_stack *stack)
{
	for (uint32_t i = 1; i < gyre_batch_count(stack); i++) {
		expect(gyre_batch_reply_all_to(stack, parcel_of, pack(0).goods) == -EINVAL);
		expect(gyre_batch_reply_to(stack, i, parcel_of, pack(i).goods) == 0);
	}
	return gyre_batch_reply_all_to(stack, parcel_of, pack(7).goods);
}

static int ask_for_parcels(struct gyre_stack *stack)
{
	static const struct gyre_class batch_class = { .name = "batch",
						       .behaviour.ask_batch = answer_last,
						       .batch_asks = all };
	struct typed_frame *frame = typed_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &batch_class);
	for (uint32_t i = 0; i < ASKS; i++) {
		expect(gyre_ask(stack, frame->to, gyre_new(stack, parcel_of, i), 0,
				&frame->futures[i]) == 0);
	}
	GYRE_AWAIT(stack, 0);
	expect(*gyre_future_answer_to(&frame->futures[0], parcel_of)->goods == 7);
	expect(*gyre_future_answer_to(&frame->futures[2], parcel_of)->goods == 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(typed_answer, that_owns_something_goes_to_the_last_ask_of_a_batch_or_is_given_back)
{
	play(1, ask_for_parcels);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, 2 + ASKS);
}

/* ---- off the loops, and outside ---- */

static int add(struct gyre_work *work)
{
	const struct sum_of *sum_of = gyre_work_get(work, sum_of);
	const struct sum sum = { .value = sum_of->a * sum_of->b, .terms = 2 };

	return sum_of->a == 0 ? gyre_work_reply_to(work, sum_of, .value = sum_of->b)
			      : gyre_work_reply_copy_to(work, sum_of, &sum);
}

static int give_parcel(struct gyre_work *work)
{
	expect(gyre_work_reply_to(work, parcel_of, pack(3).goods) == 0);
	expect(gyre_work_reply_to(work, parcel_of, pack(4).goods) == -EALREADY);
	return 0;
}

static int answer_wrongly(struct gyre_work *work)
{
	return gyre_work_reply_to(work, parcel_of, pack(5).goods);
}

static int offload_all(struct gyre_stack *stack)
{
	struct typed_frame *frame = typed_frame(stack);
	struct parcel mine;

	GYRE_BEGIN(stack);
	expect(gyre_offload(stack, add, gyre_new(stack, sum_of, 0, 8), 0, &frame->futures[0]) == 0);
	expect(gyre_offload(stack, add, gyre_new(stack, sum_of, 5, 6), 0, &frame->futures[1]) == 0);
	GYRE_AWAIT(stack, gyre_offload(stack, give_parcel, gyre_new(stack, parcel_of, 0), 0,
				       &frame->futures[2]));
	expect(gyre_future_answer_to(&frame->futures[0], sum_of)->value == 8);
	expect(gyre_future_answer_to(&frame->futures[1], sum_of)->value == 30);
	expect(gyre_future_move_answer_to(&frame->futures[2], parcel_of, &mine) == 0);
	expect(unpack(&mine) == 3);
	/* The compiler knows what it answers, but not what it was given. */
	GYRE_AWAIT(stack, gyre_offload(stack, answer_wrongly, gyre_new(stack, sum_of, 1, 1), 0,
				       &frame->futures[0]));
	expect(gyre_future_error(&frame->futures[0]) == -EPROTO);
	expect(gyre_future_answer_to(&frame->futures[0], sum_of) == NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(typed_answer, comes_from_work_off_the_loops)
{
	play(2, offload_all);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, 2);
}

static int ask_from_outside(struct gyre_work *work)
{
	const struct gyre_address to = gyre_work_get(work, place)->address;
	struct gyre_mail *answer = NULL;
	struct parcel mine;
	struct sum sum;

	expect(gyre_system_ask(fixture.system, to, gyre_system_new(fixture.system, sum_of, 3, 4), 0,
			       &answer) == 0);
	expect(gyre_mail_answer_to(answer, sum_of)->value == 7);
	expect(gyre_mail_answer_to(answer, parcel_of) == NULL);
	expect(gyre_mail_move_answer_to(answer, parcel_of, &mine) == -ENOENT);
	expect(gyre_mail_move_answer_to(answer, sum_of, &sum) == 0 && sum.terms == 2);
	expect(gyre_mail_answer_to(answer, sum_of) == NULL);
	gyre_mail_destroy(NULL, answer);
	expect(gyre_system_ask(fixture.system, to, gyre_system_new(fixture.system, parcel_of, 6), 0,
			       &answer) == 0);
	expect(gyre_mail_move_answer_to(answer, parcel_of, &mine) == 0);
	expect(unpack(&mine) == 6);
	gyre_mail_destroy(NULL, answer);
	expect(gyre_mail_answer_to((struct gyre_mail *)NULL, sum_of) == NULL);
	return gyre_work_reply(work, gyre_work_new(work, number, 0));
}

static int offload_asks(struct gyre_stack *stack)
{
	struct typed_frame *frame = typed_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &copying_class, 1);
	GYRE_AWAIT(stack, gyre_offload(stack, ask_from_outside, gyre_new(stack, place, frame->to),
				       0, &frame->futures[0]));
	expect(gyre_future_error(&frame->futures[0]) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(typed_answer, is_read_and_moved_by_threads_outside)
{
	play(2, offload_asks);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, 0);
}

static int make_in_no_system(struct gyre_stack *stack)
{
	const struct parcel parcel = pack(1);

	expect(gyre_system_new_answer(NULL, sum_of, .value = 1) == NULL);
	expect(gyre_system_new_answer(NULL, parcel_of, pack(2).goods) == NULL);
	expect(gyre_system_new_answer_copy(NULL, parcel_of, &parcel) == NULL);
	return fixture_end(stack);
}

Test(typed_answer, that_cannot_be_made_gives_back_what_it_was_to_own)
{
	play(1, make_in_no_system);
	assert_all_unpacked();
	cr_assert_eq(parcels_destroyed, 2);
}
