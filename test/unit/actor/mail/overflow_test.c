/*
 * A full mailbox that drops: the newest without a word, or the oldest that is neither urgent nor
 * something else than an ask or a notice.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/watch.h>

#include "fixture.h"

enum { LIMIT = 4 };

struct frame {
	struct gyre_future future;
	struct gyre_future asks[2];
};

static struct gyre_address target;
static struct gyre_class class;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int tell(struct gyre_stack *stack, char what)
{
	return gyre_notify(stack, target, gyre_new(stack, number, (uint64_t)what));
}

static void tell_all(struct gyre_stack *stack, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(tell(stack, *letters) == 0);
	}
}

static int hear(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	return what == '.' ? fixture_end(stack) : gyre_return(stack);
}

static int hear_and_answer(struct gyre_stack *stack)
{
	trace((char)gyre_message(stack, number)->value);
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static bool is_upper(const struct gyre_type *type, const void *message)
{
	(void)type;
	return isupper((int)((const struct number *)message)->value) != 0;
}

static int spawn_target(struct gyre_stack *stack)
{
	target = spawn_here(stack, &class);
	return gyre_sleep(stack, 0, &frame_of(stack)->future); /* until it is mounted */
}

static void set_class(enum gyre_overflow overflow)
{
	class = (struct gyre_class){ .name = "full",
				     .behaviour = { .notice = hear, .ask = hear_and_answer },
				     .mailbox_limit = LIMIT,
				     .overflow = overflow };
}

static const char *letters_told;

static int tell_letters(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, spawn_target(stack));
	tell_all(stack, letters_told);
	GYRE_END(stack);
}

static void play_letters(const char *letters)
{
	letters_told = letters;
	play(1, tell_letters);
}

Test(overflow, of_the_newest_leaves_what_waits)
{
	set_class(GYRE_OVERFLOW_DROP_NEWEST);
	play_letters("abc.xy");
	cr_assert_str_eq(traced, "abc.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
}

Test(overflow, of_the_oldest_makes_room)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	play_letters("xyabc.");
	cr_assert_str_eq(traced, "abc.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
	cr_assert_eq(fixture.letters[0].reason, GYRE_DROP_MAILBOX_FULL);
	cr_assert(gyre_address_equal(fixture.letters[0].to, target));
}

Test(overflow, of_the_oldest_of_many_leaves_the_last)
{
	char letters[1000];

	memset(letters, 'x', sizeof(letters));
	(void)snprintf(letters + 990, 10, "abc.");
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	play_letters(letters);
	cr_assert_str_eq(traced, "abc.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 990);
}

Test(overflow, spares_what_is_urgent)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	class.urgent = is_upper;
	play_letters("xAyBzC.");
	cr_assert_str_eq(traced, "ABC.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 3);
}

static int fill_with_urgent(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, spawn_target(stack));
	tell_all(stack, "ABCDEx");
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->future));
	tell_all(stack, ".");
	GYRE_END(stack);
}

Test(overflow, where_all_is_urgent_is_of_the_newest)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	class.urgent = is_upper;
	play(1, fill_with_urgent);
	cr_assert_str_eq(traced, "ABCD.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
}

static int overfill_with_asks(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, spawn_target(stack));
	for (uint32_t i = 0; i < 2; i++) {
		expect(gyre_ask(stack, target, gyre_new(stack, number, 'p' + i), 0,
				&frame->asks[i]) == 0);
	}
	tell_all(stack, "ab"); /* full */
	tell_all(stack, "c."); /* the oldest of its kind goes, not an ask */
	expect(gyre_ask(stack, target, gyre_new(stack, number, 'r'), 0, &frame->future) == 0);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->asks[0]) == -ENOBUFS);
	expect(gyre_future_error(&frame->asks[1]) == 0);
	expect(gyre_future_error(&frame->future) == 0);
	GYRE_END(stack);
}

Test(overflow, prefers_its_own_kind_and_tells_the_asker)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	play(1, overfill_with_asks);
	cr_assert_str_eq(traced, "qrc.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 3);
}

static int fill_with_the_other_kind(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, spawn_target(stack));
	tell_all(stack, "xab.");
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 'q'), 0,
				   &frame_of(stack)->future));
	expect(gyre_future_error(&frame_of(stack)->future) == 0);
	GYRE_END(stack);
}

Test(overflow, takes_the_other_kind_where_there_is_none_of_its_own)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	play(1, fill_with_the_other_kind);
	cr_assert_str_eq(traced, "qab.");
}

static int fill_oneself(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	if (what == 'a') {
		tell_all(stack, "12"); /* "bcd" of this run wait still */
		tell_all(stack, "3");
	} else if (what == 'd') {
		tell_all(stack, ".");
	}
	return what == '.' ? fixture_end(stack) : gyre_return(stack);
}

Test(overflow, in_a_run_drops_only_what_has_come_since)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	class.behaviour.notice = fill_oneself;
	play_letters("abcd");
	cr_assert_str_eq(traced, "abcd3.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
}

static int poison_full(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, spawn_target(stack));
	expect(gyre_watch(stack, target) == 0);
	tell_all(stack, "xyz");
	expect(gyre_poison(stack, target) == 0);
	tell_all(stack, "abcd");
	GYRE_END(stack);
}

static int end(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .frame_bytes = sizeof(struct frame),
						 .mount = poison_full,
						 .behaviour.event = end };

static int spawn_watcher(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &watcher_class);
	return gyre_return(stack);
}

Test(overflow, spares_poison)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	play(1, spawn_watcher);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 4);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 3);
}

static int spawn_wrong(struct gyre_stack *stack)
{
	struct gyre_address nobody;

	expect(gyre_spawn(stack, &class, GYRE_NO_ARGUMENT, NULL, &nobody) == -EINVAL);
	return fixture_end(stack);
}

Test(overflow, needs_a_limit_and_a_known_policy)
{
	set_class(GYRE_OVERFLOW_DROP_OLDEST);
	class.mailbox_limit = 0;
	play(1, spawn_wrong);
	set_class((enum gyre_overflow)3);
	play(1, spawn_wrong);
}
