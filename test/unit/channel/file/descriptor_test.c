/* Descriptors of others that are awaited and watched; nobody here reads or closes them. */
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <gyre/descriptor.h>
#include <gyre/watch.h>

#include "base/atomic.h"

struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_address actor;
	uint32_t i;
};

static int ends[2];

static void open_ends(void)
{
	cr_assert_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
}

static void close_ends(void)
{
	cr_expect_eq(close(ends[0]), 0, "nobody else has closed it");
	cr_expect_eq(close(ends[1]), 0);
}

static void put(void)
{
	expect(write(ends[1], "x", 1) == 1);
}

static void take(void)
{
	char byte;

	expect(read(ends[0], &byte, 1) == 1);
}

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- waits ---- */

static int await_both(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	const struct gyre_descriptor_ready *ready;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_descriptor_wait(stack, ends[1], POLLOUT, 0, &frame->future));
	ready = gyre_future_get(&frame->future, gyre_descriptor_ready);
	expect(ready != NULL && ready->fd == ends[1] && ready->events == POLLOUT &&
	       ready->error == 0);
	expect(gyre_descriptor_wait(stack, ends[0], POLLIN, GYRE_FOREVER, &frame->future) == 0);
	put();
	GYRE_AWAIT(stack, 0);
	ready = gyre_future_get(&frame->future, gyre_descriptor_ready);
	expect(ready != NULL && ready->fd == ends[0] && ready->events == POLLIN);
	take();
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(descriptor, is_awaited_by_what_it_is_ready_for)
{
	open_ends();
	play(1, await_both);
	close_ends();
}

static int await_in_vain(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	int fd;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_descriptor_wait(stack, ends[0], POLLIN, GYRE_MILLISECONDS(5),
					       &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	GYRE_AWAIT(stack, gyre_descriptor_wait(stack, 1000000, POLLIN, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -EBADF);
	expect(gyre_descriptor_wait(stack, -1, POLLIN, 0, &frame->future) == -EINVAL);
	expect(gyre_future_error(&frame->future) == -EINVAL);
	expect(gyre_descriptor_wait(stack, ends[0], 0, 0, &frame->future) == -EINVAL);
	expect(gyre_descriptor_wait(stack, ends[0], 0x10000, 0, &frame->future) == -EINVAL);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	expect(fd >= 0);
	frame->i = (uint32_t)fd;
	GYRE_AWAIT(stack, gyre_descriptor_wait(stack, fd, POLLIN, GYRE_SECONDS(1), &frame->future));
	expect(gyre_future_error(&frame->future) != -ETIMEDOUT);
	expect(close((int)frame->i) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(descriptor, that_is_never_ready_ends_the_wait_with_a_cause)
{
	open_ends();
	play(1, await_in_vain);
	close_ends();
}

static int await_the_end_of_the_peer(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_descriptor_wait(stack, ends[0], POLLIN, GYRE_FOREVER, &frame->future) == 0);
	expect(gyre_descriptor_wait(stack, ends[0], POLLIN, GYRE_FOREVER, &frame->other) == 0);
	expect(close(ends[1]) == 0);
	GYRE_AWAIT(stack, 0);
	ends[1] = dup(ends[0]);
	expect((gyre_future_get(&frame->future, gyre_descriptor_ready)->events & POLLHUP) != 0);
	expect((gyre_future_get(&frame->other, gyre_descriptor_ready)->events & POLLHUP) != 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(descriptor, tells_all_who_wait_that_the_other_end_is_gone)
{
	open_ends();
	play(1, await_the_end_of_the_peer);
	close_ends();
}

static int wait_for_ever(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_descriptor_wait(stack, ends[0], POLLIN, GYRE_FOREVER,
					       &frame_of(stack)->future));
	expect(false);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class waiting_class = {
	.name = "waiting",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = wait_for_ever,
};

static int stop_one_that_waits(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->actor = spawn_on(stack, &waiting_class, 1);
	expect(gyre_notify(stack, frame->actor, gyre_new(stack, number, 0)) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->actor, GYRE_MILLISECONDS(20),
					       &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(descriptor, is_let_go_when_an_actor_that_waits_for_it_stops)
{
	open_ends();
	play(2, stop_one_that_waits);
	close_ends();
}

static void clean_child(void *state)
{
	(void)state;
	trace('k');
}

/* The frame owns the descriptor that it waits for. */
static void close_in_frame(void *frame, void *state)
{
	(void)state;
	expect(close((int)((const struct frame *)frame)->i) == 0);
	trace('f');
}

static const struct gyre_class child_class = { .name = "child", .clean = clean_child };

static int wait_with_a_child(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	(void)spawn_on(stack, &child_class, 0);
	frame->i = (uint32_t)fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	GYRE_AWAIT(stack, gyre_descriptor_wait(stack, (int)frame->i, POLLIN, GYRE_FOREVER,
					       &frame->future));
	expect(false);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class owning_class = {
	.name = "owning",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = wait_with_a_child,
	.frame_clean = close_in_frame,
};

static int stop_one_that_owns(struct gyre_stack *stack)
{
	struct gyre_address owning = spawn_on(stack, &owning_class, 0);

	expect(gyre_notify(stack, owning, gyre_new(stack, number, 0)) == 0);
	expect(gyre_poison(stack, owning) == 0);
	return fixture_end(stack);
}

Test(descriptor, that_a_frame_owns_is_closed_when_its_wait_is_over_and_the_children_have_gone)
{
	open_ends();
	play(1, stop_one_that_owns);
	cr_assert_str_eq(traced, "kf");
	close_ends();
}

/* ---- watches ---- */

enum { ROUNDS = 100 };

static uint32_t reported;
static uint32_t most;

/* Takes one byte of two for each event, so that the next one is due at once. */
static int take_one(struct gyre_stack *stack)
{
	const struct gyre_descriptor_ready *ready = gyre_message(stack, gyre_descriptor_ready);

	expect(ready != NULL && ready->fd == ends[0] && ready->events == POLLIN);
	take();
	if (++reported < ROUNDS) {
		if (reported % 2 == 0) {
			put();
			put();
		}
		return gyre_return(stack);
	}
	expect(gyre_descriptor_unwatch(stack, ends[0]) == 0);
	expect(gyre_descriptor_unwatch(stack, ends[0]) == -ENOENT);
	put();
	return gyre_stop(stack, gyre_self(stack));
}

static int watch_ends(struct gyre_stack *stack)
{
	expect(gyre_descriptor_watch(stack, ends[0], POLLIN) == 0);
	expect(gyre_descriptor_watch(stack, ends[0], POLLIN) == -EEXIST);
	expect(gyre_descriptor_watch(stack, -1, POLLIN) == -EINVAL);
	expect(gyre_descriptor_watch(stack, ends[1], 0) == -EINVAL);
	put();
	put();
	return gyre_return(stack);
}

static const struct gyre_class watching_class = {
	.name = "watching",
	.mount = watch_ends,
	.behaviour.event = take_one,
};

static int await_watcher(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->actor = spawn_on(stack, &watching_class, 1);
	while (gy_load_acquire(&reported) < ROUNDS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(descriptor, that_is_watched_makes_an_event_as_long_as_it_is_ready)
{
	open_ends();
	play(2, await_watcher);
	cr_expect_eq(reported, ROUNDS);
	close_ends();
}

/* An event is handled long after the next one could have come. */
static int take_slowly(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	reported++;
	most = reported > most ? reported : most;
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame_of(stack)->future));
	reported--;
	if (gyre_future_error(&frame_of(stack)->future) == 0) {
		return fixture_end(stack);
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

static int hold_barrier(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	expect(gyre_descriptor_watch(stack, ends[0], POLLIN) == 0);
	put();
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame_of(stack)->future));
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class slow_class = {
	.name = "slow",
	.frame_bytes = sizeof(struct frame),
	.mount = hold_barrier,
	.behaviour.event = take_slowly,
};

static int spawn_slow(struct gyre_stack *stack)
{
	(void)spawn_on(stack, &slow_class, 0);
	return gyre_return(stack);
}

Test(descriptor, that_is_watched_goes_on_beside_a_mount_that_waits)
{
	open_ends();
	play(1, spawn_slow);
	cr_expect_geq(most, 1);
	close_ends();
}

static int hear_error(struct gyre_stack *stack)
{
	const struct gyre_descriptor_ready *ready = gyre_message(stack, gyre_descriptor_ready);

	expect(ready != NULL && ready->error == -EBADF && ready->events == 0);
	expect(gyre_descriptor_unwatch(stack, 1000000) == -ENOENT);
	return fixture_end(stack);
}

static int watch_nothing(struct gyre_stack *stack)
{
	return gyre_descriptor_watch(stack, 1000000, POLLIN);
}

static const struct gyre_class hearing_class = {
	.name = "hearing",
	.mount = watch_nothing,
	.behaviour.event = hear_error,
};

static int spawn_hearing(struct gyre_stack *stack)
{
	(void)spawn_on(stack, &hearing_class, 0);
	return gyre_return(stack);
}

Test(descriptor, that_cannot_be_watched_ends_the_watch_with_an_event)
{
	play(1, spawn_hearing);
}
