/*
 * Loops that come and go while actors work: what was accepted before is handled, what comes later
 * has a reason, and nothing is left behind.
 */
#include "fixture.h"

#include <gyre/inspect.h>
#include <gyre/name.h>
#include <gyre/offload.h>
#include <gyre/outside.h>
#include <gyre/watch.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "resize_rig.h"
#include "system/system.h"

TestSuite(resize, .timeout = 60);

static int threads_of_the_process(void)
{
	DIR *folder = opendir("/proc/self/task");
	int count = -2; /* for . and .. */

	cr_assert_not_null(folder);
	while (readdir(folder) != NULL) {
		count++;
	}
	(void)closedir(folder);
	return count;
}

/* ---- bounds ---- */

Test(resize, refuses_what_is_out_of_bounds)
{
	begin(2);
	cr_expect_eq(gyre_system_resize(NULL, 1), -EINVAL);
	cr_expect_eq(resize(0), -EINVAL);
	cr_expect_eq(resize(LOOPS_MAX + 1), -ENOBUFS);
	cr_expect_eq(resize(UINT32_MAX), -ENOBUFS);
	cr_expect_eq(gyre_system_loops(fixture.system), 2);
	fixture_close();
}

Test(resize, to_the_same_number_changes_nothing)
{
	int threads;

	begin(2);
	threads = threads_of_the_process();
	cr_expect_eq(resize(2), 0);
	cr_expect_eq(threads_of_the_process(), threads);
	fixture_close();
}

Test(resize, has_room_for_as_many_loops_as_there_are_cpus_by_default)
{
	fixture_open(1);
	cr_expect_geq(fixture.system->options.loops_max, 1);
	cr_expect_eq(resize(fixture.system->options.loops_max), 0);
	cr_expect_eq(resize(fixture.system->options.loops_max + 1), -ENOBUFS);
	fixture_close();
}

Test(resize, has_no_room_for_more_loops_than_it_begins_with_if_that_is_said)
{
	const struct gyre_system_options none = { .loops = 3, .loops_max = 2 };
	const struct gyre_system_options small = { .loops_max = 1 };
	struct gyre_system *system = NULL;

	cr_expect_eq(gyre_system_create(&none, &system), -EINVAL);
	cr_expect_null(system);
	fixture_open_with(&small);
	cr_expect_eq(gyre_system_loops(fixture.system), 1, "whatever the CPUs");
	fixture_close();
}

static int resize_from_here(struct gyre_stack *stack)
{
	expect(gyre_system_resize(gyre_system_of(stack), 3) == -EDEADLK);
	return fixture_end(stack);
}

Test(resize, is_refused_inside_a_loop)
{
	play(2, resize_from_here);
}

Test(resize, is_refused_when_the_system_stops)
{
	begin(2);
	gyre_system_stop(fixture.system);
	cr_expect_eq(resize(3), -ESHUTDOWN);
	cr_expect_eq(resize(1), -ESHUTDOWN);
	fixture_close();
}

Test(resize, is_refused_after_the_end)
{
	begin(2);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_expect_eq(resize(1), -ESHUTDOWN);
	fixture_close();
}

/* ---- threads and places ---- */

static uint32_t where[LOOPS_MAX];

static int count_place(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&where[gyre_self(stack).loop], 1);
	return gyre_return(stack);
}

static const struct gyre_class settler_class = { .name = "settler", .mount = count_place };
static const struct gyre_spawn_options on_third = { .place = GYRE_PLACE_LOOP, .loop = 2 };

static int spawn_at(const struct gyre_class *class, const struct gyre_spawn_options *options)
{
	return gyre_system_spawn(fixture.system, class, GYRE_NO_ARGUMENT, options,
				 &(struct gyre_address){ 0 });
}

static void settle(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(spawn_at(&settler_class, NULL), 0);
	}
}

Test(resize, adds_threads_on_which_actors_are_placed_and_ends_them_again)
{
	int threads;

	begin(1);
	threads = threads_of_the_process();
	cr_assert_eq(resize(3), 0);
	cr_expect_eq(gyre_system_loops(fixture.system), 3);
	cr_expect_eq(threads_of_the_process(), threads + 2);
	settle(6);
	wait_for(&where[0], 2);
	wait_for(&where[1], 2);
	wait_for(&where[2], 2);
	cr_assert_eq(resize(1), 0);
	cr_expect_eq(gyre_system_loops(fixture.system), 1);
	cr_expect_eq(threads_of_the_process(), threads);
	settle(6);
	wait_for(&where[0], 8);
	cr_expect_eq(where[1], 2);
	cr_expect_eq(where[2], 2);
	fixture_close();
}

Test(resize, before_the_start_sets_how_many_loops_run)
{
	open_with(1);
	cr_assert_eq(resize(3), 0);
	settle(3);
	cr_assert_eq(resize(2), 0);
	cr_expect_eq(gyre_system_loops(fixture.system), 2);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_expect_eq(fixture.system->resizing.living, 2);
	wait_for(&where[0], 1);
	wait_for(&where[1], 1);
	cr_expect_eq(where[2], 1, "it was placed while there was such a loop");
	fixture_close();
}

Test(resize, of_a_system_that_never_runs_leaves_nothing_behind)
{
	open_with(3);
	settle(6);
	cr_assert_eq(resize(1), 0);
	cr_assert_eq(resize(4), 0);
	settle(4);
	fixture_close();
}

Test(resize, refuses_to_place_on_a_loop_that_has_retired)
{
	begin(3);
	cr_assert_eq(resize(2), 0);
	cr_expect_eq(spawn_at(&sink_class, &on_third), -EINVAL);
	cr_assert_eq(resize(3), 0);
	cr_expect_eq(spawn_at(&sink_class, &on_third), 0);
	fixture_close();
}

Test(resize, shows_only_loops_that_take_part_and_keeps_what_all_have_counted)
{
	struct gyre_snapshot *snapshot;
	struct gyre_counters before;
	struct gyre_counters after;

	begin(3);
	for (uint32_t i = 0; i < 10; i++) {
		(void)notify_outside(spawn_outside(&sink_class, 2), i);
	}
	cr_assert_eq(gyre_system_counters(fixture.system, &before), 0);
	cr_assert_eq(resize(1), 0);
	cr_assert_eq(gyre_system_inspect(fixture.system, &snapshot), 0);
	cr_expect_eq(snapshot->loops_count, 1);
	gyre_snapshot_destroy(snapshot);
	cr_assert_eq(gyre_system_counters(fixture.system, &after), 0);
	cr_expect_geq(after.handled, 10);
	cr_expect_geq(after.turns, before.turns);
	cr_expect_eq(after.stopped, 10);
	fixture_close();
}

Test(resize, that_lacks_descriptors_leaves_the_system_as_it_was)
{
	struct rlimit limit;
	struct rlimit none;
	int lowest;

	begin(1);
	lowest = dup(STDERR_FILENO);
	(void)close(lowest);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)lowest + 3; /* one more loop has two, and another needs as many */
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(resize(4), -EMFILE);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(gyre_system_loops(fixture.system), 1);
	cr_expect_gt(fixture.errors, 0);
	fixture.errors = 0;
	cr_expect_eq(resize(4), 0, "later it works");
	settle(8);
	wait_for(&where[3], 1);
	fixture_close();
}

/* ---- mail ---- */

enum { NOTICES = 20000 };

static uint32_t counted; /* atomic */

static int count_notice(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&counted, 1);
	return gyre_return(stack);
}

static const struct gyre_class counter_class = { .name = "counter",
						 .behaviour.notice = count_notice };

Test(resize, has_an_actor_handle_all_that_was_accepted_before_from_outside)
{
	struct gyre_address to;

	begin(3);
	to = spawn_outside(&counter_class, 2);
	for (uint32_t i = 0; i < NOTICES; i++) {
		cr_assert_eq(notify_outside(to, i), 0);
	}
	cr_assert_eq(resize(1), 0);
	cr_expect_eq(gy_load_acquire(&counted), NOTICES);
	cr_assert_eq(notify_outside(to, 0), 0, "it is accepted, and finds nobody");
	cr_assert_eq(notify_outside(to, 0), 0);
	fixture_close();
	cr_expect_eq(fixture.lost[GYRE_DROP_NO_ACTOR], 2);
	cr_expect_eq(counted, NOTICES);
}

static struct gyre_address target;
static uint32_t burst_sent;

/* In one handler, so that most of it still is on its way when the handler ends. */
static int send_burst(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < NOTICES; i++) {
		expect(gyre_notify(stack, target, gyre_new(stack, number, i)) == 0);
	}
	gy_store_release(&burst_sent, 1);
	return gyre_return(stack);
}

static const struct gyre_class burst_class = { .name = "burst", .mount = send_burst };

Test(resize, has_an_actor_handle_all_that_was_accepted_before_from_other_loops)
{
	begin(3);
	target = spawn_outside(&counter_class, 2);
	(void)spawn_outside(&burst_class, 1);
	wait_for(&burst_sent, 1);
	cr_assert_eq(resize(2), 0);
	cr_expect_eq(gy_load_acquire(&counted), NOTICES);
	fixture_close();
	cr_expect_eq(fixture.letters_count, 0);
}

static uint32_t stop_sending;
static uint32_t sent_there; /* atomic */

/* Not more than a loop can work off while it retires. */
static bool may_send(void)
{
	uint32_t ended = gy_load_acquire(&counted) + gy_load_acquire(&fixture.letters_count);

	return gy_load_acquire(&sent_there) - ended < UNDER_WAY_MAX;
}

static int send_on(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < 20 && may_send(); i++) {
		(void)gy_fetch_add(&sent_there, 1);
		(void)gyre_notify(stack, target, gyre_new(stack, number, i));
	}
	return gy_load_acquire(&stop_sending) != 0
		       ? gyre_return(stack)
		       : gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 0));
}

static const struct gyre_class producer_class = { .name = "producer",
						  .mount = send_on,
						  .behaviour.notice = send_on };

static void *send_from_outside(void *arg)
{
	(void)arg;
	while (gy_load_acquire(&stop_sending) == 0) {
		if (may_send()) {
			(void)gy_fetch_add(&sent_there, 1);
			(void)notify_outside(target, 1);
		}
	}
	return NULL;
}

Test(resize, loses_no_count_of_mail_while_all_send_there)
{
	pthread_t thread;

	begin(3);
	target = spawn_outside(&counter_class, 2);
	(void)spawn_outside(&producer_class, 0);
	(void)spawn_outside(&producer_class, 1);
	cr_assert_eq(pthread_create(&thread, NULL, send_from_outside, NULL), 0);
	wait_for(&counted, 1000);
	cr_assert_eq(resize(2), 0);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(resize(3), 0);
		cr_assert_eq(resize(1), 0);
	}
	gy_store_release(&stop_sending, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	fixture_close();
	cr_expect_gt(fixture.lost[GYRE_DROP_NO_ACTOR], 0);
}

/* ---- a ring of tokens while loops come ---- */

enum { RING = 24, HOPS = 3000 };

static struct gyre_address ring[RING];
static uint32_t tokens_done;
static uint64_t hops;

static int pass_on(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	(void)gy_add_relaxed(&hops, 1);
	if (value % HOPS == HOPS - 1) {
		(void)gy_fetch_add(&tokens_done, 1);
		return gyre_return(stack);
	}
	return gyre_notify(stack, ring[value % RING], gyre_new(stack, number, value + 1));
}

static const struct gyre_class pass_class = { .name = "pass", .behaviour.notice = pass_on };

Test(resize, lets_a_ring_of_tokens_run_while_loops_come)
{
	begin(1);
	for (uint32_t i = 0; i < RING; i++) {
		ring[i] = spawn_outside(&pass_class, 0);
	}
	for (uint32_t i = 0; i < RING / 2; i++) {
		cr_assert_eq(notify_outside(ring[i], 0), 0);
	}
	cr_assert_eq(resize(2), 0);
	for (uint32_t i = RING / 2; i < RING; i++) {
		ring[i] = spawn_outside(&pass_class, 1);
		cr_assert_eq(notify_outside(ring[i], 0), 0);
	}
	cr_assert_eq(resize(4), 0);
	wait_for(&tokens_done, RING);
	cr_expect_eq(hops, (uint64_t)RING * HOPS);
	fixture_close();
}

/* ---- what actors are to others ---- */

static uint32_t told;
static uint32_t watching;

static int watch_target(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, target) == 0);
	gy_store_release(&watching, 1);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, target) &&
	       terminated->reason == 0);
	(void)gy_fetch_add(&told, 1);
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = watch_target,
						 .behaviour.event = hear };

static int take_name(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "far") == 0);
	return gyre_return(stack);
}

static const struct gyre_class named_class = { .name = "named", .mount = take_name };

Test(resize, tells_watchers_once)
{
	begin(3);
	target = spawn_outside(&sink_class, 2);
	(void)spawn_outside(&watcher_class, 0);
	wait_for(&watching, 1);
	cr_assert_eq(resize(2), 0);
	wait_for(&told, 1);
	cr_assert_eq(resize(3), 0);
	cr_assert_eq(resize(1), 0);
	cr_expect_eq(gy_load_acquire(&told), 1);
	fixture_close();
}

Test(resize, takes_the_names_of_actors_on_a_loop_that_retires)
{
	struct gyre_address found;

	begin(3);
	(void)spawn_outside(&named_class, 2);
	while (gyre_system_name_lookup(fixture.system, "far", &found) != 0) {
		(void)sched_yield();
	}
	cr_assert_eq(resize(2), 0);
	cr_expect_eq(gyre_system_name_lookup(fixture.system, "far", &found), -ENOENT);
	cr_assert_eq(resize(3), 0);
	(void)spawn_outside(&named_class, 2);
	while (gyre_system_name_lookup(fixture.system, "far", &found) != 0) {
		(void)sched_yield();
	}
	fixture_close();
}

static int ask_error = 1;
static uint32_t ask_ended;

struct ask_frame {
	struct gyre_future future;
};

static int ask_target(struct gyre_stack *stack)
{
	struct ask_frame *frame = (struct ask_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->future));
	ask_error = gyre_future_error(&frame->future);
	gy_store_release(&ask_ended, 1);
	GYRE_END(stack);
}

static const struct gyre_class asker_class = { .name = "asker",
					       .frame_bytes = sizeof(struct ask_frame),
					       .mount = ask_target };

Test(resize, ends_an_ask_that_an_actor_on_a_loop_keeps_waiting)
{
	const struct gyre_system_options options = { .loops = 2,
						     .loops_max = 2,
						     .drain_timeout_ns = GYRE_MILLISECONDS(50) };

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	target = spawn_outside(&mute_class, 1);
	(void)spawn_outside(&asker_class, 0);
	wait_for(&mute_waiting, 1);
	cr_assert_eq(resize(1), 0);
	wait_for(&ask_ended, 1);
	cr_expect_eq(ask_error, -ESHUTDOWN);
	fixture_close();
}

Test(resize, has_asks_to_an_actor_of_a_retired_loop_fail_at_once)
{
	begin(2);
	target = spawn_outside(&adder_class, 1);
	cr_expect_eq(gyre_system_ask(fixture.system, target,
				     gyre_system_new(fixture.system, number, 1), 0, NULL),
		     0);
	cr_assert_eq(resize(1), 0);
	cr_expect_eq(gyre_system_ask(fixture.system, target,
				     gyre_system_new(fixture.system, number, 1), 0, NULL),
		     -ESRCH);
	(void)spawn_outside(&asker_class, 0);
	wait_for(&ask_ended, 1);
	cr_expect_eq(ask_error, -ESRCH);
	target = spawn_outside(&adder_class, 0);
	cr_assert_eq(resize(2), 0);
	target = spawn_outside(&adder_class, 1);
	cr_expect_eq(gyre_system_ask(fixture.system, target,
				     gyre_system_new(fixture.system, number, 1), 0, NULL),
		     0, "there is an agent again");
	fixture_close();
}

static int late_watch(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && terminated->reason == -ESRCH);
	(void)gy_fetch_add(&told, 1);
	return gyre_return(stack);
}

Test(resize, tells_those_who_begin_to_watch_too_late)
{
	const struct gyre_class class = { .name = "late",
					  .mount = watch_target,
					  .behaviour.event = late_watch };

	begin(2);
	target = spawn_outside(&sink_class, 1);
	cr_assert_eq(resize(1), 0);
	(void)spawn_outside(&class, 0);
	wait_for(&told, 1);
	fixture_close();
}

/* ---- work that outlives its asker's loop ---- */

static uint32_t may_work;
static uint32_t works;

static int work(struct gyre_work *piece)
{
	gy_store_release(&works, 1);
	wait_for(&may_work, 1);
	return gyre_work_reply(piece, gyre_system_new(gyre_work_system(piece), number, 1));
}

static int have_it_done(struct gyre_stack *stack)
{
	struct ask_frame *frame = (struct ask_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, work, gyre_new(stack, number, 1), GYRE_FOREVER,
				       &frame->future));
	GYRE_END(stack);
}

static int sleep_long(struct gyre_stack *stack)
{
	struct ask_frame *frame = (struct ask_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(3600), &frame->future));
	GYRE_END(stack);
}

Test(resize, ends_what_sleeps_or_awaits_work_at_the_end_of_its_time)
{
	const struct gyre_system_options options = { .loops = 2,
						     .loops_max = 2,
						     .drain_timeout_ns = GYRE_MILLISECONDS(50) };
	const struct gyre_class giver = { .name = "giver",
					  .frame_bytes = sizeof(struct ask_frame),
					  .behaviour.notice = have_it_done };
	const struct gyre_class sleeper = { .name = "sleeper",
					    .frame_bytes = sizeof(struct ask_frame),
					    .behaviour.notice = sleep_long };

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(notify_outside(spawn_outside(&giver, 1), 1), 0);
	cr_assert_eq(notify_outside(spawn_outside(&sleeper, 1), 1), 0);
	wait_for(&works, 1);
	cr_assert_eq(resize(1), 0);
	gy_store_release(&may_work, 1);
	wait_for(&fixture.lost[GYRE_DROP_NO_ACTOR], 1); /* the answer comes too late */
	fixture_close();
}

/* ---- families ---- */

static int work_off(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&counted, 1);
	trace('n');
	return gyre_return(stack);
}

static void clean_child(void *state)
{
	(void)state;
	trace('k');
}

static void clean_parent(void *state)
{
	(void)state;
	trace('p');
}

static const struct gyre_class child_class = { .name = "child",
					       .behaviour.notice = work_off,
					       .clean = clean_child };

static int have_child(struct gyre_stack *stack)
{
	struct gyre_address child = spawn_here(stack, &child_class);

	for (uint32_t i = 0; i < 1000; i++) {
		expect(gyre_notify(stack, child, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

static const struct gyre_class parent_class = { .name = "parent",
						.mount = have_child,
						.clean = clean_parent };

Test(resize, stops_children_when_they_have_handled_what_waits_and_then_parents)
{
	begin(2);
	(void)spawn_outside(&parent_class, 1);
	cr_assert_eq(resize(1), 0);
	cr_expect_eq(counted, 1000);
	cr_expect_eq(traced[1000], 'k');
	cr_expect_eq(traced[1001], 'p');
	fixture_close();
}

static int have_child_elsewhere(struct gyre_stack *stack)
{
	target = spawn_on(stack, &sink_class, 1);
	gy_store_release(&burst_sent, 1);
	return gyre_return(stack);
}

static const struct gyre_class far_parent_class = { .name = "far parent",
						    .mount = have_child_elsewhere };

Test(resize, lets_a_parent_live_whose_child_was_on_the_loop)
{
	begin(2);
	(void)spawn_outside(&far_parent_class, 0);
	wait_for(&burst_sent, 1);
	cr_assert_eq(resize(1), 0);
	cr_assert_eq(gyre_system_counters(fixture.system, &fixture.counters), 0);
	cr_expect_eq(fixture.counters.stopped, 1);
	fixture_close();
}

static uint32_t lingering;

static int spin_in_handler(struct gyre_stack *stack)
{
	gy_store_release(&lingering, 1);
	while (gy_load_acquire(&lingering) == 1) {
		(void)sched_yield();
	}
	return gyre_return(stack);
}

static const struct gyre_class spinner_class = { .name = "spinner",
						 .behaviour.notice = spin_in_handler };

static void *resize_to_one(void *arg)
{
	*(int *)arg = resize(1);
	return NULL;
}

/* Begins to retire a loop that cannot go on yet. */
static pthread_t begin_to_retire(int *result)
{
	pthread_t thread;

	begin(2);
	cr_assert_eq(notify_outside(spawn_outside(&spinner_class, 1), 1), 0);
	wait_for(&lingering, 1);
	cr_assert_eq(pthread_create(&thread, NULL, resize_to_one, result), 0);
	while (gyre_system_loops(fixture.system) != 1) {
		(void)sched_yield();
	}
	return thread;
}

Test(resize, in_which_a_stop_falls_ends_with_the_system)
{
	int result = 1;
	pthread_t thread = begin_to_retire(&result);

	gyre_system_stop(fixture.system);
	gy_store_release(&lingering, 2);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect(result == -ESHUTDOWN || result == 0);
	fixture_close();
}

Test(resize, waits_for_one_that_is_under_way)
{
	int result = 1;
	pthread_t thread = begin_to_retire(&result);

	gy_store_release(&lingering, 2);
	cr_expect_eq(resize(3), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(result, 0);
	cr_expect_eq(gyre_system_loops(fixture.system), 3);
	fixture_close();
}
