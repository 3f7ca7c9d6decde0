/*
 * A notice that an actor puts before all others that wait for it: wherever it is put from, it is
 * the next notice that the actor handles.
 */
#include <string.h>

#include <gyre/timer.h>

#include "actor/script_kit.h"

struct frame {
	struct gyre_future future;
};

static struct gyre_address target;

static int ask(struct gyre_stack *stack, struct gyre_address to, char what)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), 0,
			&((struct frame *)gyre_frame(stack))->future);
}

static void put_first(struct gyre_stack *stack, char what)
{
	cr_assert_eq(gyre_notify_self_first(stack, gyre_new(stack, number, (uint64_t)what)), 0);
}

static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &((struct frame *)gyre_frame(stack))->future);
}

/* What a letter puts first; the others are only marked. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	mark(what);
	switch (what) {
	case 'A':
		put_first(stack, 'a');
		break;
	case 'B':
		put_first(stack, 'c');
		put_first(stack, 'b');
		break;
	case 'C':
		script_tell_all(stack, gyre_self(stack), "d");
		put_first(stack, 'c');
		break;
	case 'E':
		put_first(stack, '.');
		break;
	case 'F':
		put_first(stack, 'x');
		cr_assert_eq(gyre_stop(stack, gyre_self(stack)), 0);
		break;
	default:
		break;
	}
	return gyre_return(stack);
}

/* The same for those that wait before they do. */
static int wait_and_note(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };
	char what = (char)gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	if (what != 'R' && what != 'S') {
		return note(stack);
	}
	mark(what);
	if (what == 'R') {
		GYRE_AWAIT(stack, ask(stack, target, 'q'));
		put_first(stack, 'r');
	} else {
		cr_assert_eq(gyre_timer_start(stack, 1, &at_once), 0);
		while (strchr(marked(), 'e') == NULL) {
			GYRE_AWAIT(stack, turn(stack));
		}
		put_first(stack, 's');
	}
	GYRE_END(stack);
}

static int note_event(struct gyre_stack *stack)
{
	mark('e');
	put_first(stack, 'f');
	return gyre_return(stack);
}

static bool is_barrier(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct number *)message)->value == 'S';
}

static const struct gyre_class putting_class = {
	.name = "putting",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = wait_and_note, .ask = note, .event = note_event },
	.barrier = is_barrier,
};

/* ---- from where ---- */

static const struct gyre_class *class;
static const char *told;
static const char *asked = "";

static int send(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = script_spawn(stack, &script_answering_class);
	{
		struct gyre_address putting = script_spawn(stack, class);

		script_tell_all(stack, putting, told);
		GYRE_AWAIT(stack, *asked == 0 ? -ENOENT : ask(stack, putting, *asked));
	}
	GYRE_END(stack);
}

static void play_told(struct gyre_test *test, const struct gyre_class *first_class,
		      const char *letters)
{
	class = first_class;
	told = letters;
	script_play(test, send);
}

static const struct gyre_system_options one_a_run = { .run_budget = 1 };
static const struct gyre_system_options two_a_run = { .run_budget = 2 };

KIT_TEST(self_first, into_an_empty_lane_is_next)
{
	play_told(test, &putting_class, "xE");
	expect_marks("xE.");
}

KIT_TEST(self_first, into_a_full_lane_is_before_all_that_waits)
{
	play_told(test, &putting_class, "xAyz.");
	expect_marks("xAayz.");
}

KIT_TEST_WITH(self_first, is_before_all_that_waits_when_the_run_budget_is_used_up, &one_a_run)
{
	play_told(test, &putting_class, "xAyz.");
	expect_marks("xAayz.");
}

KIT_TEST(self_first, is_before_what_was_put_first_earlier)
{
	play_told(test, &putting_class, "xByz.");
	expect_marks("xBbcyz.");
}

KIT_TEST(self_first, leaves_what_comes_later_at_the_end)
{
	play_told(test, &putting_class, "xCyE");
	expect_marks("xCcyE.d");
}

KIT_TEST(self_first, from_an_ask_is_before_the_notices_of_the_same_pass)
{
	asked = "A";
	play_told(test, &putting_class, "xy.");
	expect_marks("Aaxy.");
}

/* The answer comes when two have been handled and three are left. */
KIT_TEST_WITH(self_first, from_a_stack_that_is_resumed_is_before_all_that_waits, &two_a_run)
{
	play_told(test, &putting_class, "xRyz.");
	expect_marks("xRryz.");
}

/* The event comes within the barrier; what the barrier itself puts comes later and so is before it.
 */
KIT_TEST(self_first, from_an_event_and_from_inside_a_barrier_is_next_when_the_barrier_ends)
{
	play_told(test, &putting_class, "Sxy.");
	expect_marks("Sesfxy.");
}

static int put_at_mount(struct gyre_stack *stack)
{
	put_first(stack, 'm');
	return gyre_return(stack);
}

KIT_TEST(self_first, from_the_mount_is_before_all_that_was_sent_until_then)
{
	static const struct gyre_class mounting_class = {
		.name = "mounting",
		.behaviour.notice = note,
		.mount = put_at_mount,
	};

	play_told(test, &mounting_class, "xy.");
	expect_marks("mxy.");
}

KIT_TEST(self_first, is_lost_with_what_waits_if_the_actor_stops)
{
	play_told(test, &putting_class, "xFy");
	expect_marks("xF");
	for (int i = 0; i < 2; i++) {
		(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_STOPPED, 0);
	}
}

/* ---- whatever the limit ---- */

KIT_TEST(self_first, is_never_refused_by_the_limit)
{
	static const struct gyre_class limited_class = {
		.name = "limited",
		.behaviour.notice = note,
		.mailbox_limit = 3,
	};

	play_told(test, &limited_class, "Bz.");
	expect_marks("Bbcz.");
}

static int overfill(struct gyre_stack *stack)
{
	mark((char)gyre_message(stack, number)->value);
	if (gyre_message(stack, number)->value == '1') {
		put_first(stack, '3');
		put_first(stack, '2');
		cr_assert_eq(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 'x')),
			     -ENOBUFS);
	}
	return gyre_return(stack);
}

KIT_TEST(self_first, counts_for_the_limit_of_others)
{
	static const struct gyre_class limited_class = {
		.name = "limited",
		.behaviour.notice = overfill,
		.mailbox_limit = 2,
	};

	play_told(test, &limited_class, "1");
	expect_marks("123");
	(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_MAILBOX_FULL, 0);
}

static int put_nothing(struct gyre_stack *stack)
{
	uint64_t sent = script_messages_sent(stack);

	cr_assert_eq(gyre_notify_self_first(stack, NULL), -ENOMEM);
	cr_assert_eq(script_messages_sent(stack), sent);
	mark('.');
	return gyre_return(stack);
}

KIT_TEST(self_first, of_no_mail_is_refused)
{
	script_play(test, put_nothing);
	expect_marks(".");
}
