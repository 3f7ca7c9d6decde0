/*
 * The ways that a message with a tail may go in a system: as a question and an answer, in copies to
 * a group and to the askers of a batch, aside and back, off the loops, and to threads outside. Each
 * brings all elements.
 */
#include <errno.h>
#include <signal.h>

#include <gyre/batch.h>
#include <gyre/behaviour.h>
#include <gyre/group.h>
#include <gyre/move.h>
#include <gyre/offload.h>
#include <gyre/outside.h>

#include "base/atomic.h"
#include "tails.h"

enum { LETTERS = 500, MEMBERS = 3, ASKS = 4 };

struct frame {
	struct gyre_future futures[ASKS];
	struct gyre_address to;
};

static uint32_t came; /* atomic */

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static void play_ways(gyre_handler_fn script)
{
	play(2, script);
}

/* ---- questions and answers ---- */

/* Writes the letters of a question. */
static int spell(struct gyre_stack *stack)
{
	const struct spell *spell = gyre_message(stack, spell);
	struct gyre_mail *mail = gyre_new_tail(stack, line, spell->count, .number = 1);
	struct line *line = (struct line *)gyre_payload(mail);

	for (uint32_t i = 0; i < spell->count; i++) {
		line->text[i] = (char)spell->letters[i];
	}
	return gyre_reply(stack, mail);
}

static const struct gyre_class speller_class = { .name = "speller", .behaviour.ask = spell };

static struct gyre_mail *make_spell(struct gyre_stack *stack, uint32_t count)
{
	struct gyre_mail *mail = gyre_new_tail(stack, spell, count);
	struct spell *spell = (struct spell *)gyre_payload(mail);

	for (uint32_t i = 0; i < count; i++) {
		spell->letters[i] = (uint32_t)tail_letter(1, i);
	}
	return mail;
}

static int ask_speller(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_future *future = &frame->futures[0];

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &speller_class, 1);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, make_spell(stack, LETTERS), 0, future));
	expect(tail_line_is_whole(gyre_future_answer_to(future, spell), 1, LETTERS));
	expect(gyre_future_move(future, line, &(struct line){ 0 }) == -EMSGSIZE);
	expect(tail_line_is_whole(gyre_future_get(future, line), 1, LETTERS));
	frame->to = spawn_here(stack, &speller_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, make_spell(stack, 3), 0, future));
	expect(tail_line_is_whole(gyre_future_answer_to(future, spell), 1, 3));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_ways, lead_to_an_answer_and_back)
{
	play_ways(ask_speller);
}

static int answer_empty(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, spell, .number = 1);
}

static int ask_for_nothing(struct gyre_stack *stack)
{
	static const struct gyre_class brief_class = { .name = "brief",
						       .behaviour.ask = answer_empty };
	struct frame *frame = frame_of(stack);
	struct gyre_future *future = &frame->futures[0];

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &brief_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, make_spell(stack, 0), 0, future));
	expect(tail_line_is_whole(gyre_future_answer_to(future, spell), 1, 0));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_ways, lead_to_an_answer_without_elements_that_its_question_names)
{
	play_ways(ask_for_nothing);
}

/* ---- copies ---- */

static int count_line(struct gyre_stack *stack)
{
	expect(tail_line_is_whole(gyre_message(stack, line), 2, LETTERS));
	if (gy_fetch_add(&came, 1) + 1 == MEMBERS) {
		(void)fixture_end(stack);
	}
	return gyre_return(stack);
}

static const struct gyre_class member_class = { .name = "member", .behaviour.notice = count_line };
static const struct gyre_group_options all = { .routing = GYRE_ROUTING_ALL, .count = MEMBERS };

static int tell_group(struct gyre_stack *stack)
{
	struct gyre_address group;

	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &all, &group) == 0);
	return gyre_notify(stack, group, tail_line(stack, 2, LETTERS));
}

Test(tail_ways, lead_to_all_members_of_a_group)
{
	play_ways(tell_group);
	cr_assert_eq(came, MEMBERS);
}

static int tell_group_from_outside(struct gyre_stack *stack)
{
	struct gyre_system *system = gyre_system_of(stack);
	struct gyre_address group;

	expect(gyre_group_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &all, &group) == 0);
	return gyre_system_notify(
		system, group,
		tail_fill_line(gyre_system_new_tail(system, line, LETTERS, .number = 2)));
}

Test(tail_ways, lead_from_outside_to_all_members_of_a_group)
{
	play_ways(tell_group_from_outside);
	cr_assert_eq(came, MEMBERS);
}

static int spawn_members(struct gyre_stack *stack)
{
	static const struct gyre_class mounted_class = { .name = "mounted", .mount = count_line };
	struct gyre_address group;

	return gyre_group_spawn(stack, &mounted_class, tail_line(stack, 2, LETTERS), &all, &group);
}

Test(tail_ways, lead_to_the_mount_of_each_member)
{
	play_ways(spawn_members);
	cr_assert_eq(came, MEMBERS);
}

static bool is_any(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_all(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		expect(gyre_batch_get(stack, i, spell)->count == i);
		expect(gyre_batch_move(stack, i, spell, &(struct spell){ 0 }) == -EMSGSIZE);
	}
	return gyre_batch_reply_all(stack, tail_line(stack, 1, LETTERS));
}

static int ask_batch(struct gyre_stack *stack)
{
	static const struct gyre_class batch_class = {
		.name = "batch",
		.behaviour = { .ask = answer_empty, .ask_batch = answer_all },
		.batch_asks = is_any,
	};
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &batch_class);
	for (uint32_t i = 0; i < ASKS; i++) {
		expect(gyre_ask(stack, frame->to, make_spell(stack, i), 0, &frame->futures[i]) ==
		       0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < ASKS; i++) {
		expect(tail_line_is_whole(gyre_future_get(&frame->futures[i], line), 1, LETTERS));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_ways, lead_to_all_askers_of_a_batch)
{
	play_ways(ask_batch);
}

/* ---- aside, and on ---- */

static int stash_once(struct gyre_stack *stack)
{
	bool *again = (bool *)gyre_state(stack);

	if (!*again) {
		*again = true;
		expect(gyre_stash(stack) == 0);
		expect(gyre_unstash(stack, 1) == 1);
		return gyre_return(stack);
	}
	return gyre_notify(stack, spawn_on(stack, &member_class, 1), gyre_take(stack));
}

static int tell_stasher(struct gyre_stack *stack)
{
	static const struct gyre_class stasher_class = { .name = "stasher",
							 .state_bytes = sizeof(bool),
							 .behaviour.notice = stash_once };

	came = MEMBERS - 1;
	return gyre_notify(stack, spawn_on(stack, &stasher_class, 1), tail_line(stack, 2, LETTERS));
}

Test(tail_ways, lead_aside_and_then_on_to_another_actor)
{
	play_ways(tell_stasher);
}

static int append(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_take(stack);

	((struct line *)gyre_payload(mail))->bytes++;
	return gyre_notify(stack, GYRE_NOBODY, mail);
}

static int tell_appender(struct gyre_stack *stack)
{
	static const struct gyre_class appender_class = { .name = "appender",
							  .behaviour.notice = append };

	return gyre_notify(stack, spawn_here(stack, &appender_class), tail_line(stack, 2, LETTERS));
}

Test(tail_ways, do_not_make_room_for_more_elements, .signal = SIGABRT)
{
	play_ways(tell_appender);
}

/* ---- off the loops, and outside ---- */

static int copy_work(struct gyre_work *work)
{
	const struct line *line = gyre_work_get(work, line);
	struct gyre_mail *mail = gyre_work_new_tail(work, line, line->bytes, .number = 2);

	expect(tail_line_is_whole(line, 2, LETTERS));
	expect(gyre_work_move(work, line, &(struct line){ 0 }) == -EMSGSIZE);
	return gyre_work_reply(work, tail_fill_line(mail));
}

static int offload_line(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_future *future = &frame->futures[0];

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, copy_work, tail_line(stack, 2, LETTERS), 0, future));
	expect(tail_line_is_whole(gyre_future_get(future, line), 2, LETTERS));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_ways, lead_off_the_loops_and_back)
{
	play_ways(offload_line);
}

static void end_answered(struct gyre_mail *answer, int error, void *arg)
{
	expect(error == 0 && arg == &came);
	expect(tail_line_is_whole(gyre_mail_get(answer, line), 1, LETTERS));
	expect(gyre_mail_move(answer, line, &(struct line){ 0 }) == -EMSGSIZE);
	gyre_system_stop(fixture.system);
}

static struct gyre_mail *make_spell_outside(void)
{
	struct gyre_mail *mail = gyre_system_new_tail(fixture.system, spell, LETTERS);
	struct spell *spell = (struct spell *)gyre_payload(mail);

	for (uint32_t i = 0; i < LETTERS; i++) {
		spell->letters[i] = (uint32_t)tail_letter(1, i);
	}
	return mail;
}

static int ask_outside(struct gyre_work *work)
{
	const struct gyre_address to = gyre_work_get(work, place)->address;
	struct gyre_mail *answer = NULL;

	expect(gyre_system_ask(fixture.system, to, make_spell_outside(), 0, &answer) == 0);
	expect(tail_line_is_whole(gyre_mail_get(answer, line), 1, LETTERS));
	gyre_mail_destroy(NULL, answer);
	return gyre_system_ask_callback(fixture.system, to, make_spell_outside(), 0, end_answered,
					&came);
}

static int offload_asks(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &speller_class, 1);
	GYRE_AWAIT(stack, gyre_offload(stack, ask_outside, gyre_new(stack, place, frame->to), 0,
				       &frame->futures[0]));
	GYRE_END(stack);
}

Test(tail_ways, lead_from_threads_outside_and_back_to_them)
{
	play_ways(offload_asks);
}
