/*
 * A notice that an actor puts before all others that wait for it: wherever it is put from, it is
 * the next notice that the actor handles.
 */
#include "fixture.h"

#include <string.h>

struct frame {
	struct gyre_future future;
};

static struct gyre_address target;

static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

static int ask(struct gyre_stack *stack, struct gyre_address to, char what)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), 0,
			&((struct frame *)gyre_frame(stack))->future);
}

static void put_first(struct gyre_stack *stack, char what)
{
	expect(gyre_notify_self_first(stack, gyre_new(stack, number, (uint64_t)what)) == 0);
}

static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &((struct frame *)gyre_frame(stack))->future);
}

/* What a letter puts first; the others are only traced. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	switch (what) {
	case '.':
		return fixture_end(stack);
	case 'A':
		put_first(stack, 'a');
		break;
	case 'B':
		put_first(stack, 'c');
		put_first(stack, 'b');
		break;
	case 'C':
		tell_all(stack, gyre_self(stack), "d");
		put_first(stack, 'c');
		break;
	case 'E':
		put_first(stack, '.');
		break;
	case 'F':
		put_first(stack, 'x');
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
		return fixture_end(stack);
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
	trace(what);
	if (what == 'R') {
		GYRE_AWAIT(stack, ask(stack, target, 'q'));
		put_first(stack, 'r');
	} else {
		expect(gyre_timer_start(stack, 1, &at_once) == 0);
		while (strchr(traced, 'e') == NULL) {
			GYRE_AWAIT(stack, turn(stack));
		}
		put_first(stack, 's');
	}
	GYRE_END(stack);
}

static int note_event(struct gyre_stack *stack)
{
	trace('e');
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
	target = spawn_here(stack, &adder_class);
	{
		struct gyre_address putting = spawn_here(stack, class);

		tell_all(stack, putting, told);
		GYRE_AWAIT(stack, *asked == 0 ? -ENOENT : ask(stack, putting, *asked));
	}
	GYRE_END(stack);
}

static void play_told(uint32_t run_budget, const struct gyre_class *first_class,
		      const char *letters)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = run_budget };

	class = first_class;
	told = letters;
	play_with(&options, send);
}

Test(self_first, into_an_empty_lane_is_next)
{
	play_told(0, &putting_class, "xE");
	cr_assert_str_eq(traced, "xE.");
}

Test(self_first, into_a_full_lane_is_before_all_that_waits)
{
	play_told(0, &putting_class, "xAyz.");
	cr_assert_str_eq(traced, "xAayz.");
}

Test(self_first, is_before_all_that_waits_when_the_run_budget_is_used_up)
{
	play_told(1, &putting_class, "xAyz.");
	cr_assert_str_eq(traced, "xAayz.");
}

Test(self_first, is_before_what_was_put_first_earlier)
{
	play_told(0, &putting_class, "xByz.");
	cr_assert_str_eq(traced, "xBbcyz.");
}

Test(self_first, leaves_what_comes_later_at_the_end)
{
	play_told(0, &putting_class, "xCyE");
	cr_assert_str_eq(traced, "xCcyE.d");
}

Test(self_first, from_an_ask_is_before_the_notices_of_the_same_pass)
{
	asked = "A";
	play_told(0, &putting_class, "xy.");
	cr_assert_str_eq(traced, "Aaxy.");
}

/* The answer comes when two have been handled and three are left. */
Test(self_first, from_a_stack_that_is_resumed_is_before_all_that_waits)
{
	play_told(2, &putting_class, "xRyz.");
	cr_assert_str_eq(traced, "xRryz.");
}

/* The event comes within the barrier; what the barrier itself puts comes later and so is before it.
 */
Test(self_first, from_an_event_and_from_inside_a_barrier_is_next_when_the_barrier_ends)
{
	play_told(0, &putting_class, "Sxy.");
	cr_assert_str_eq(traced, "Sesfxy.");
}

static int put_at_mount(struct gyre_stack *stack)
{
	put_first(stack, 'm');
	return gyre_return(stack);
}

Test(self_first, from_the_mount_is_before_all_that_was_sent_until_then)
{
	const struct gyre_class mounting_class = {
		.name = "mounting",
		.behaviour.notice = note,
		.mount = put_at_mount,
	};

	play_told(0, &mounting_class, "xy.");
	cr_assert_str_eq(traced, "mxy.");
}

Test(self_first, is_lost_with_what_waits_if_the_actor_stops)
{
	play_told(0, &putting_class, "xFy");
	cr_assert_str_eq(traced, "xF");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

/* ---- whatever the limit ---- */

Test(self_first, is_never_refused_by_the_limit)
{
	const struct gyre_class limited_class = {
		.name = "limited",
		.behaviour.notice = note,
		.mailbox_limit = 3,
	};

	play_told(0, &limited_class, "Bz.");
	cr_assert_str_eq(traced, "Bbcz.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 0);
}

static int overfill(struct gyre_stack *stack)
{
	trace((char)gyre_message(stack, number)->value);
	if (gyre_message(stack, number)->value == '1') {
		put_first(stack, '3');
		put_first(stack, '2');
		expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 'x')) ==
		       -ENOBUFS);
	}
	return gyre_message(stack, number)->value == '3' ? fixture_end(stack) : gyre_return(stack);
}

Test(self_first, counts_for_the_limit_of_others)
{
	const struct gyre_class limited_class = {
		.name = "limited",
		.behaviour.notice = overfill,
		.mailbox_limit = 2,
	};

	play_told(0, &limited_class, "1");
	cr_assert_str_eq(traced, "123");
}

static int put_nothing(struct gyre_stack *stack)
{
	expect(gyre_notify_self_first(stack, NULL) == -ENOMEM);
	return fixture_end(stack);
}

Test(self_first, of_no_mail_is_refused)
{
	play(1, put_nothing);
	cr_assert_eq(fixture.counters.sent, 0);
}
