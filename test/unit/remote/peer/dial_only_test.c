/*
 * A node that does not listen: what it says arrives, and what needs an answer fails where it is
 * said, since none can come.
 */
#include <errno.h>
#include <string.h>

#include <gyre/name.h>
#include <gyre/outside.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "remote/pair.h"

static struct gyre_address other;

/* Before it has a link, and when it has one. */
static int asks_in_vain(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	other = pair_find("adder");
	for (frame->number = 0; frame->number < 2; frame->number++) {
		GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, number, 1), GYRE_FOREVER,
					   &frame->future));
		expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
		GYRE_AWAIT(stack,
			   gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
		expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
		GYRE_AWAIT(stack,
			   gyre_stop_gracefully(stack, other, GYRE_SECONDS(1000), &frame->future));
		expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
		other = pair_find("other");
		expect(gyre_notify(stack, other, gyre_new(stack, number, 1)) == 0);
		do {
			GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		} while (gy_load_acquire(&pair_heard) <= frame->number);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(dial_only, fails_asks_at_once_that_could_not_be_answered_and_says_the_rest)
{
	pair_play(&(struct pair){
		.script = asks_in_vain, .class = &pair_hearer_class, .dial_only = true });
	cr_expect_eq(pair_heard, 2);
	cr_expect_eq(fixture.warnings, 1, "it is said once");
	cr_expect_not_null(strstr(fixture.line, "it does not listen"), "%s", fixture.line);
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_NODE_DOWN], 6);
}

/* ---- watches ---- */

static int told_of_no_watch(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, other));
	expect(terminated->reason == -EADDRNOTAVAIL);
	return fixture_end(stack);
}

static int watch_other(struct gyre_stack *stack)
{
	other = pair_find("adder");
	expect(gyre_watch(stack, other) == 0);
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = watch_other,
						 .behaviour.event = told_of_no_watch };

static int watches_in_vain(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &watcher_class);
	return gyre_return(stack);
}

Test(dial_only, tells_at_once_that_it_hears_of_no_end_there)
{
	pair_play(&(struct pair){ .script = watches_in_vain, .dial_only = true });
	cr_expect_eq(fixture.warnings, 1);
}

/* ---- from outside ---- */

static struct gyre_address here;

static void hear_error(struct gyre_mail *answer, int error, void *arg)
{
	expect(answer == NULL && error == -EADDRNOTAVAIL);
	expect(gyre_system_notify(fixture.system, here,
				  gyre_system_new(fixture.system, number, 0)) == 0);
	(void)arg;
}

static int end(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static const struct gyre_class ender_class = { .name = "ender", .behaviour.notice = end };

static int is_asked_from_outside(struct gyre_stack *stack)
{
	other = pair_find("adder");
	here = spawn_here(stack, &ender_class);
	expect(gyre_system_ask_callback(fixture.system, other,
					gyre_system_new(fixture.system, number, 1), GYRE_FOREVER,
					hear_error, NULL) == 0);
	return gyre_return(stack);
}

Test(dial_only, fails_asks_from_outside_likewise)
{
	pair_play(&(struct pair){ .script = is_asked_from_outside, .dial_only = true });
}
