/*
 * Actors of another node are stopped gracefully as those of this one.
 */
#include <errno.h>
#include <string.h>

#include <gyre/node.h>
#include <gyre/watch.h>

#include "fixture.h"
#include "remote/pair.h"

static int find_other(struct gyre_stack *stack)
{
	return gyre_node_lookup(stack, 2, "other", 0, &pair_frame_of(stack)->future);
}

static void take_other(struct gyre_stack *stack)
{
	expect(gyre_future_error(&pair_frame_of(stack)->future) == 0);
	pair_frame_of(stack)->other =
		gyre_future_get(&pair_frame_of(stack)->future, gyre_node_found)->address;
}

/* A notice takes as many milliseconds as it says; 0 for ever. */
static int take_time(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	trace('<');
	GYRE_AWAIT(stack, gyre_sleep(stack, value == 0 ? GYRE_FOREVER : GYRE_MILLISECONDS(value),
				     &pair_frame_of(stack)->future));
	trace('>');
	GYRE_END(stack);
}

static void clean(void *state)
{
	(void)state;
	trace('c');
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.frame_bytes = FIXTURE_FRAME_BYTES,
	.behaviour.notice = take_time,
	.clean = clean,
};

static int stop_busy(struct gyre_stack *stack, uint64_t value, uint64_t deadline_ns)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, find_other(stack));
	take_other(stack);
	expect(gyre_notify(stack, frame->other, gyre_new(stack, number, value)) == 0);
	expect(gyre_notify(stack, frame->other, gyre_new(stack, number, value)) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->other, deadline_ns, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	trace('!');
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->other, deadline_ns, &frame->future));
	expect(gyre_future_error(&frame->future) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int stop_with_time(struct gyre_stack *stack)
{
	return stop_busy(stack, 5, GYRE_SECONDS(1000));
}

static int stop_without_time(struct gyre_stack *stack)
{
	return stop_busy(stack, 0, GYRE_MILLISECONDS(5));
}

Test(graceful, stop_of_an_actor_of_another_node_lets_it_finish_its_work)
{
	pair_play(&(struct pair){ .script = stop_with_time, .class = &worker_class });
	cr_assert_str_eq(traced, "<<>>c!");
}

Test(graceful, stop_of_an_actor_of_another_node_ends_it_at_the_deadline)
{
	pair_play(&(struct pair){ .script = stop_without_time, .class = &worker_class });
	cr_assert_str_eq(traced, "<<c!");
}

/* ---- without a future ---- */

static int watch_and_stop(struct gyre_stack *stack)
{
	struct gyre_address other = gyre_message(stack, place)->address;

	expect(gyre_watch(stack, other) == 0);
	expect(gyre_stop_gracefully(stack, other, GYRE_SECONDS(1000), NULL) == 0);
	return gyre_return(stack);
}

static int hear_of_the_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && terminated->actor.node == 2 && terminated->reason == 0);
	trace('!');
	return fixture_end(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.mount = watch_and_stop,
	.behaviour.event = hear_of_the_end,
};

static int stop_watched(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);
	struct gyre_address watcher;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, find_other(stack));
	take_other(stack);
	expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 5)) == 0);
	expect(gyre_spawn(stack, &watcher_class, gyre_new(stack, place, frame->other), NULL,
			  &watcher) == 0);
	GYRE_END(stack);
}

Test(graceful, stop_of_an_actor_of_another_node_is_told_to_its_watchers)
{
	pair_play(&(struct pair){ .script = stop_watched, .class = &worker_class });
	cr_assert_str_eq(traced, "<>c!");
}

/* ---- the node ends ---- */

static int stop_on_node_that_ends(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, find_other(stack));
	take_other(stack);
	expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 0)) == 0);
	expect(gyre_stop_gracefully(stack, frame->other, GYRE_SECONDS(1000), &frame->future) == 0);
	gyre_system_stop(pair_other);
	GYRE_AWAIT(stack, 0);
	trace('!');
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_ends_with_the_node_of_the_actor)
{
	pair_play(&(struct pair){ .script = stop_on_node_that_ends, .class = &worker_class });
	cr_assert_not_null(strchr(traced, '!'), "%s", traced);
}
