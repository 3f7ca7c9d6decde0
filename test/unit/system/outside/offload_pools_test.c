/*
 * Several pools for work off the loops.
 */
#include "fixture.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include <gyre/inspect.h>
#include <gyre/offload.h>

#include "base/atomic.h"
#include "base/macros.h"

static const struct gyre_offload_pool pools[] = {
	{ .name = "narrow", .threads = 1, .queue_max = 1 },
	{ .name = "wide", .threads = 3 },
};

struct pools_frame {
	struct gyre_future narrow[3];
	struct gyre_future wide;
	struct gyre_future other;
	uint32_t done;
};

static sem_t begun;
static sem_t gate;

static int add_one(struct gyre_work *work)
{
	return gyre_work_reply(work,
			       gyre_work_new(work, number, gyre_work_get(work, number)->value + 1));
}

static int wait_at_gate(struct gyre_work *work)
{
	(void)sem_post(&begun);
	(void)sem_wait(&gate);
	return add_one(work);
}

static void play_with_pools(gyre_handler_fn script)
{
	const struct gyre_system_options options = { .loops = 1,
						     .offload_pools = pools,
						     .offload_pools_count = gy_countof(pools) };

	play_with(&options, script);
}

static struct gyre_mail *seven(struct gyre_stack *stack)
{
	return gyre_new(stack, number, 7);
}

static void expect_eight(const struct gyre_future *future)
{
	const struct number *number = gyre_future_get(future, number);

	expect(number != NULL && number->value == 8);
}

/* The queue of each is its own: while one is full, the others take and do work. */
static int fill_one(struct gyre_stack *stack)
{
	struct pools_frame *frame = (struct pools_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_offload_to(stack, "narrow", wait_at_gate, seven(stack), GYRE_FOREVER,
			       &frame->narrow[0]) == 0);
	(void)sem_wait(&begun);
	expect(gyre_offload_to(stack, "narrow", wait_at_gate, seven(stack), GYRE_FOREVER,
			       &frame->narrow[1]) == 0);
	expect(gyre_offload_to(stack, "narrow", add_one, seven(stack), GYRE_FOREVER,
			       &frame->narrow[2]) == -ENOBUFS);
	expect(gyre_future_error(&frame->narrow[2]) == -ENOBUFS);
	expect(gyre_offload_to(stack, "wide", add_one, seven(stack), GYRE_FOREVER, &frame->wide) ==
	       0);
	expect(gyre_offload(stack, add_one, seven(stack), GYRE_FOREVER, &frame->other) == 0);
	GYRE_AWAIT_ALL(stack, &frame->wide, &frame->other);
	expect_eight(&frame->wide);
	expect_eight(&frame->other);
	(void)sem_post(&gate);
	(void)sem_post(&gate);
	GYRE_AWAIT_ALL(stack, &frame->narrow[0], &frame->narrow[1]);
	expect_eight(&frame->narrow[0]);
	expect_eight(&frame->narrow[1]);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload_pools, have_threads_and_a_queue_of_their_own)
{
	(void)sem_init(&begun, 0, 0);
	(void)sem_init(&gate, 0, 0);
	play_with_pools(fill_one);
}

static int choose_none(struct gyre_stack *stack)
{
	struct pools_frame *frame = (struct pools_frame *)gyre_frame(stack);

	expect(gyre_offload_to(stack, "nowhere", add_one, seven(stack), 0, &frame->other) ==
	       -ENOENT);
	expect(gyre_future_error(&frame->other) == -ENOENT);
	expect(gyre_offload_to(stack, "wide", NULL, seven(stack), 0, &frame->other) == -EINVAL);
	expect(gyre_offload_to(stack, "wide", add_one, NULL, 0, &frame->other) == -ENOMEM);
	return fixture_end(stack);
}

Test(offload_pools, are_found_by_name_and_refused_by_another)
{
	play_with_pools(choose_none);
}

static int look(struct gyre_stack *stack)
{
	struct pools_frame *frame = (struct pools_frame *)gyre_frame(stack);
	struct gyre_snapshot *snapshot;

	GYRE_BEGIN(stack);
	for (frame->done = 0; frame->done < 3; frame->done++) {
		GYRE_AWAIT(stack,
			   gyre_offload_to(stack, "wide", add_one, seven(stack), 0, &frame->wide));
	}
	expect(gyre_system_inspect(gyre_system_of(stack), &snapshot) == 0);
	expect(snapshot->offload_pools_count == 3);
	expect(snapshot->offload_pools[0].name[0] == 0);
	expect(strcmp(snapshot->offload_pools[1].name, "narrow") == 0);
	expect(snapshot->offload_pools[1].queue_max == 1);
	expect(snapshot->offload_pools[1].threads == 0);
	expect(strcmp(snapshot->offload_pools[2].name, "wide") == 0);
	expect(snapshot->offload_pools[2].threads >= 1);
	expect(snapshot->offload_pools[2].threads_max == 3);
	expect(snapshot->offload_pools[2].done == 3);
	gyre_snapshot_destroy(snapshot);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload_pools, are_shown_by_a_snapshot)
{
	play_with_pools(look);
}

static int stop_with_work(struct gyre_stack *stack)
{
	struct pools_frame *frame = (struct pools_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_offload_to(stack, "narrow", wait_at_gate, seven(stack), GYRE_FOREVER,
			       &frame->narrow[0]) == 0);
	(void)sem_wait(&begun);
	expect(gyre_offload_to(stack, "narrow", add_one, seven(stack), GYRE_FOREVER,
			       &frame->narrow[1]) == 0);
	gyre_system_stop(gyre_system_of(stack));
	GYRE_AWAIT_ALL(stack, &frame->narrow[0], &frame->narrow[1]);
	GYRE_END(stack);
}

Test(offload_pools, have_nothing_that_waits_when_the_system_has_ended)
{
	const struct gyre_system_options options = { .loops = 1,
						     .offload_pools = pools,
						     .offload_pools_count = gy_countof(pools) };
	const struct gyre_class class = { .name = "stopping",
					  .frame_bytes = sizeof(struct pools_frame),
					  .mount = stop_with_work };
	struct gyre_snapshot *snapshot;

	(void)sem_init(&begun, 0, 0);
	(void)sem_init(&gate, 0, 0);
	fixture_open_with(&options);
	(void)spawn_outside(&class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	/* Only then: the thread may not take the piece that waits. */
	while (gy_load_acquire(&fixture.lost[GYRE_DROP_SHUTDOWN]) == 0) {
		(void)sched_yield();
	}
	(void)sem_post(&gate);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(gyre_system_inspect(fixture.system, &snapshot), 0);
	cr_assert_eq(snapshot->offload_pools[1].waiting, 0);
	gyre_snapshot_destroy(snapshot);
	fixture_close();
}

static int create(const struct gyre_offload_pool *some, uint32_t count)
{
	const struct gyre_system_options options = { .loops = 1,
						     .offload_pools = some,
						     .offload_pools_count = count };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	gyre_system_destroy(system);
	return r;
}

Test(offload_pools, with_bad_names_or_numbers_are_refused)
{
	const struct gyre_offload_pool bad[] = {
		{ .name = NULL },
		{ .name = "" },
		{ .name = "a name of more than thirty-one bytes" },
		{ .name = "threads", .threads = 257 },
		{ .name = "queue", .queue_max = 1000001 },
		{ .name = "reserved", .reserved = { 1 } },
	};
	const struct gyre_offload_pool twice[] = { { .name = "one" }, { .name = "one" } };

	for (uint32_t i = 0; i < gy_countof(bad); i++) {
		cr_assert_eq(create(&bad[i], 1), -EINVAL, "%u", i);
	}
	cr_assert_eq(create(twice, 2), -EINVAL);
	cr_assert_eq(create(NULL, 1), -EINVAL);
	cr_assert_eq(create(pools, GYRE_OFFLOAD_POOLS_MAX + 1), -EINVAL);
	cr_assert_eq(create(twice, 1), 0);
}
