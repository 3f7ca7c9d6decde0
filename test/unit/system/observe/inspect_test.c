/*
 * Snapshots: what they show of loops, classes, queues, pools and times, at every stage of a
 * system's life.
 */
#include "fixture.h"

#include <gyre/inspect.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "gyre_config.h"
#include "system/system.h"

static struct gyre_snapshot *inspect(void)
{
	struct gyre_snapshot *snapshot = NULL;

	expect(gyre_system_inspect(fixture.system, &snapshot) == 0);
	return snapshot;
}

static const struct gyre_class_snapshot *class_in(const struct gyre_snapshot *snapshot,
						  const char *name)
{
	for (uint32_t i = 0; i < snapshot->classes_count; i++) {
		if (strcmp(snapshot->classes[i].name, name) == 0) {
			return &snapshot->classes[i];
		}
	}
	return NULL;
}

static void stay_busy_ms(uint64_t ms)
{
	uint64_t end_ns = gy_clock_machine_ns() + GYRE_MILLISECONDS(ms);

	while (gy_clock_machine_ns() < end_ns) {
		gy_pause();
	}
}

Test(inspect, of_nothing_is_refused)
{
	struct gyre_snapshot *snapshot;

	fixture_open(1);
	cr_assert_eq(gyre_system_inspect(NULL, &snapshot), -EINVAL);
	cr_assert_eq(gyre_system_inspect(fixture.system, NULL), -EINVAL);
	cr_assert_eq(gyre_snapshot_print(NULL, stdout), -EINVAL);
	gyre_snapshot_destroy(NULL);
	fixture_close();
}

Test(inspect, shows_a_system_before_its_start)
{
	struct gyre_snapshot *snapshot;

	fixture_open(2);
	snapshot = inspect();
	cr_assert_eq(snapshot->loops_count, 2);
	cr_assert_eq(snapshot->classes_count, 0);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(snapshot->loops[i].index, i);
		cr_assert_eq(snapshot->loops[i].turns, 0);
		cr_assert_not(snapshot->loops[i].parked);
		cr_assert_eq(snapshot->loops[i].parked_ns, 0);
	}
	gyre_snapshot_destroy(snapshot);
	fixture_close();
}

Test(inspect, counts_once_what_one_loop_has_made_and_another_frees)
{
	struct gyre_snapshot *snapshot;
	struct gy_pool *first;
	struct gy_pool *second;
	void *kept;

	fixture_open(2);
	first = &fixture.system->homes.homes[0].stacks.pools[0];
	second = &fixture.system->homes.homes[1].stacks.pools[0];
	kept = gy_pool_get(second);
	cr_assert_not_null(kept);
	for (uint32_t i = 0; i < 100; i++) {
		gy_pool_put_any(second, gy_pool_get(first));
	}
	snapshot = inspect();
	cr_expect_eq(snapshot->loops[0].stacks.used + snapshot->loops[1].stacks.used, 1);
	cr_expect_eq(snapshot->loops[0].stacks.bytes + snapshot->loops[1].stacks.bytes,
		     (first->free_count + second->free_count + 1) * second->object_bytes);
	gyre_snapshot_destroy(snapshot);
	gy_pool_put_any(second, kept);
	fixture_close();
}

static struct gyre_snapshot *taken;

static int take_and_end(struct gyre_stack *stack)
{
	taken = inspect();
	return fixture_end(stack);
}

/* A loop that has just begun may have to wait for a CPU before it parks. */
static bool others_rested_ms(uint64_t ms)
{
	struct gyre_snapshot *snapshot = inspect();
	bool rested = true;

	for (uint32_t i = 1; i < snapshot->loops_count; i++) {
		const struct gyre_loop_snapshot *loop = &snapshot->loops[i];

		rested = rested && loop->parked_ns + loop->polled_ns >= GYRE_MILLISECONDS(ms);
	}
	gyre_snapshot_destroy(snapshot);
	return rested;
}

static int work_and_end(struct gyre_stack *stack)
{
	stay_busy_ms(20);
	while (!others_rested_ms(15)) {
		(void)sched_yield();
	}
	return take_and_end(stack);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.behaviour.notice = work_and_end,
};

Test(inspect, shows_a_system_after_its_end_and_outlives_it)
{
	fixture_open(1);
	cr_assert_eq(notify_outside(spawn_outside(&worker_class, 0), 1), 0);
	fixture_run();
	gyre_snapshot_destroy(taken);
	taken = inspect();
	fixture_close();
	cr_assert_eq(taken->classes_count, 1);
	cr_assert_eq(taken->classes[0].actors, 0);
	cr_assert_eq(taken->classes[0].handled, 1);
	cr_assert_eq(taken->loops[0].actors, 0);
	cr_assert_eq(taken->loops[0].mail.used, 0);
	gyre_snapshot_destroy(taken);
}

#if GY_INSPECT
Test(inspect, tells_what_the_time_went_to)
{
	const struct gyre_loop_snapshot *loop;
	uint64_t begin_ns = gy_clock_machine_ns();
	uint64_t passed_ns;

	fixture_open(2);
	cr_assert_eq(notify_outside(spawn_outside(&worker_class, 0), 1), 0);
	fixture_run();
	gyre_snapshot_destroy(taken);
	taken = inspect();
	passed_ns = gy_clock_machine_ns() - begin_ns;
	loop = &taken->loops[0];
	cr_assert_geq(taken->classes[0].busy_ns, GYRE_MILLISECONDS(19));
	cr_assert_leq(taken->classes[0].busy_ns, passed_ns);
	cr_assert_geq(loop->state_ns, GYRE_MILLISECONDS(19));
	cr_assert_leq(loop->io_ns + loop->channels_ns + loop->state_ns + loop->polled_ns +
			      loop->parked_ns,
		      passed_ns);
	cr_assert_gt(taken->loops[1].parked_ns + taken->loops[1].polled_ns, 0);
	gyre_snapshot_destroy(taken);
	fixture_close();
}

Test(inspect, counts_a_park_that_has_not_ended)
{
	struct gyre_snapshot *snapshot;
	uint64_t parked_ns = 0;

	fixture_open(1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (parked_ns < GYRE_MILLISECONDS(20)) {
		(void)sched_yield();
		snapshot = inspect();
		cr_assert_geq(snapshot->loops[0].parked_ns + GYRE_MILLISECONDS(1), parked_ns);
		parked_ns = snapshot->loops[0].parked_ns;
		gyre_snapshot_destroy(snapshot);
	}
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}
#endif

/* ---- classes ---- */

struct script_frame {
	struct gyre_future futures[4];
	struct gyre_address to;
};

static int send_to_many(struct gyre_stack *stack)
{
	struct script_frame *frame = (struct script_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < 3; i++) {
		frame->to = spawn_on(stack, &adder_class, i % 2);
		(void)gyre_ask(stack, frame->to, gyre_new(stack, number, i), 0, &frame->futures[i]);
		(void)gyre_notify(stack, frame->to, gyre_new(stack, number, i));
	}
	GYRE_AWAIT(stack, 0);
	frame->to = spawn_on(stack, &adder_class, 1);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->futures[3]));
	taken = inspect();
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(inspect, sums_classes_up_over_loops_by_name)
{
	const struct gyre_class_snapshot *adder;

	play(2, send_to_many);
	cr_assert_eq(taken->classes_count, 2);
	cr_assert_str_eq(taken->classes[0].name, "adder");
	cr_assert_str_eq(taken->classes[1].name, "script");
	adder = class_in(taken, "adder");
	cr_assert_eq(adder->actors, 4);
	cr_assert_eq(adder->handled, 4);
	cr_assert_eq(adder->dropped[GYRE_DROP_UNHANDLED], 3);
	cr_assert_eq(taken->loops[0].actors, 3); /* the script among them */
	cr_assert_eq(taken->loops[1].actors, 2);
	cr_assert_gt(taken->loops[0].sent, 0);
	cr_assert_gt(taken->loops[1].received, 0);
	gyre_snapshot_destroy(taken);
}

/* ---- queues and pools ---- */

static int wait_for_mutes(struct gyre_stack *stack)
{
	struct script_frame *frame = (struct script_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &mute_class);
	for (uint32_t i = 0; i < 3; i++) {
		(void)gyre_ask(stack, frame->to, gyre_new(stack, number, i), GYRE_SECONDS(60),
			       &frame->futures[i]);
	}
	GYRE_AWAIT(stack, 0);
	GYRE_END(stack);
}

/* What a snapshot shows was not true at one moment if the system was at work meanwhile: once it is
 * seen to be at rest, another snapshot shows it. */
static struct gyre_snapshot *inspect_at_rest(bool (*rests)(const struct gyre_snapshot *snapshot))
{
	struct gyre_snapshot *snapshot = inspect();
	bool rested;

	do {
		rested = rests(snapshot);
		gyre_snapshot_destroy(snapshot);
		(void)sched_yield();
		snapshot = inspect();
	} while (!rested);
	return snapshot;
}

static bool waits_for_mutes(const struct gyre_snapshot *snapshot)
{
	const struct gyre_class_snapshot *mute = class_in(snapshot, "mute");

	return mute != NULL && mute->handled == 3 && snapshot->loops[0].timers >= 3 &&
	       snapshot->loops[0].parked;
}

Test(inspect, shows_timers_and_what_of_the_pools_is_in_use)
{
	const struct gyre_class class = {
		.name = "script",
		.frame_bytes = sizeof(struct script_frame),
		.mount = wait_for_mutes,
	};
	struct gyre_snapshot *snapshot;

	fixture_open(1);
	(void)spawn_outside(&class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	snapshot = inspect_at_rest(waits_for_mutes);
	cr_assert_eq(snapshot->loops[0].ready_state, 0);
	cr_assert_eq(snapshot->loops[0].ready_channels, 0);
	cr_assert_eq(snapshot->loops[0].mounting, 0);
	cr_assert_geq(snapshot->loops[0].promises.used, 6); /* 3 asks, and a sleep for each */
	cr_assert_eq(snapshot->loops[0].mail.used, 3);
	cr_assert_gt(snapshot->loops[0].mail.free, 0);
	cr_assert_geq(snapshot->loops[0].stacks.used, 4);
	cr_assert_gt(snapshot->loops[0].parts.used, 0);
	cr_assert_gt(snapshot->loops[0].parts.bytes, 0);
	gyre_snapshot_destroy(snapshot);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

Test(inspect, shows_how_many_actors_are_ready)
{
	const struct gyre_class class = { .name = "first", .behaviour.notice = take_and_end };
	struct gyre_address addresses[11];

	fixture_open(1);
	addresses[0] = spawn_outside(&class, 0);
	for (uint32_t i = 1; i < 11; i++) {
		addresses[i] = spawn_outside(&sink_class, 0);
	}
	for (uint32_t i = 0; i < 11; i++) {
		cr_assert_eq(notify_outside(addresses[i], 1), 0);
	}
	fixture_run();
	cr_assert_eq(taken->loops[0].ready_state, 11);
	cr_assert_not(taken->loops[0].parked);
	gyre_snapshot_destroy(taken);
	fixture_close();
}

/* ---- the table ---- */

Test(inspect, prints_a_line_for_each_loop_and_each_class)
{
	char *text = NULL;
	size_t bytes;
	FILE *file;
	uint32_t lines = 0;

	play(2, send_to_many);
	file = open_memstream(&text, &bytes);
	cr_assert_eq(gyre_snapshot_print(taken, file), 0);
	cr_assert_eq(gyre_snapshot_print(taken, NULL), -EINVAL);
	cr_assert_eq(fclose(file), 0);
	for (const char *c = text; c < strstr(text, "\n/\n") + 1; c++) {
		lines += *c == '\n';
	}
	cr_assert_eq(lines, 7); /* and the engine */
	cr_assert_not_null(strstr(text, "\n/\n  user\n"));
	cr_assert_not_null(strstr(text, "adder"));
	cr_assert_not_null(strstr(text, "unhandled: 3"));
	free(text);
	gyre_snapshot_destroy(taken);
}

Test(inspect, of_a_table_that_cannot_be_written_is_refused)
{
	struct gyre_snapshot *snapshot;
	FILE *full;

	fixture_open(1);
	full = fopen("/dev/full", "w");
	snapshot = inspect();
	cr_assert_eq(setvbuf(full, NULL, _IONBF, 0), 0);
	cr_assert_eq(gyre_snapshot_print(snapshot, full), -EIO);
	(void)fclose(full);
	gyre_snapshot_destroy(snapshot);
	fixture_close();
}
