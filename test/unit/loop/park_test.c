/*
 * Parking and waking: who wakes whom how often, polling before it, and that an idle loop does not
 * turn.
 */
#include "loop_support.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/ring_private.h"

enum { POSTS = 100 };

static struct gy_task tasks[POSTS];
static uint32_t tasks_run;

static void run_task(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	tasks_run++;
}

static void post(struct gy_loop *loop, uint32_t number)
{
	tasks[number].run = run_task;
	gy_loop_post_task(loop, &tasks[number]);
}

/* How often the waker was written, as the kernel shows it. */
static uint64_t wakes_of(const struct gy_loop *loop)
{
	char path[64];
	char line[128];
	uint64_t count = UINT64_MAX;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", loop->ring->wake_fd);
	file = fopen(path, "r");
	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		(void)sscanf(line, "eventfd-count: %lx", &count);
	}
	(void)fclose(file);
	cr_assert_neq(count, UINT64_MAX);
	return count;
}

/* ---- posting ---- */

Test(park, is_ended_by_the_first_of_many_posts_and_only_by_that)
{
	struct gy_loop *loop = loop_open();
	uint64_t before = wakes_of(loop);

	loop->parked = 1;
	for (uint32_t i = 0; i < POSTS; i++) {
		post(loop, i);
	}
	cr_assert_eq(wakes_of(loop), before + 1);
	cr_assert_eq(loop->parked, 0);
	gy_loop_turn(loop);
	cr_assert_eq(tasks_run, POSTS);
	loop_close();
}

static uint32_t late;

static void count_late(struct gy_loop *loop)
{
	cr_assert_not_null(gy_inbox_take(&loop->inbox));
	late++;
}

Test(park, is_over_for_ever_once_the_loop_has_ended_and_each_post_is_told_above)
{
	struct gy_loop_options options = test_options(0);
	struct gy_loop_ops ops = test_ops;
	struct gy_loop *loop;
	uint64_t before;

	ops.posted_late = count_late;
	options.ops = &ops;
	loop = loop_open_with(&options);
	before = wakes_of(loop);
	gy_loop_end(loop);
	post(loop, 0);
	post(loop, 1);
	cr_assert_eq(late, 2);
	cr_assert_eq(loop->parked, GY_ENDED);
	cr_assert_eq(wakes_of(loop), before);
	loop_close();
}

Test(park, needs_no_wake_for_a_loop_that_is_awake)
{
	struct gy_loop *loop = loop_open();
	uint64_t before = wakes_of(loop);

	for (uint32_t i = 0; i < POSTS; i++) {
		post(loop, i);
	}
	cr_assert_eq(wakes_of(loop), before);
	gy_loop_turn(loop);
	cr_assert_eq(tasks_run, POSTS);
	cr_assert_eq(loop->counters.parks, 0);
	loop_close();
}

/* Posts when the clock is read the second time: after the loop found nothing to run. */
static void post_one(void)
{
	if (virtual_readings == 2) {
		post(test_loops[0], 0);
	}
}

Test(park, is_left_out_when_mail_came_while_the_loop_polled)
{
	struct gy_loop_options options = test_options(0);
	struct gy_loop *loop;

	options.spin_ns = 1000000000;
	loop = loop_open_with(&options);
	virtual_readings = 0;
	virtual_effect = post_one;
	gy_loop_turn(loop);
	cr_assert_eq(loop->counters.parks, 0);
	cr_assert_eq(tasks_run, 1);
	loop_close();
}

/* ---- completions that leave nothing to be done ---- */

static struct gy_op sending;
static bool sends_silently;

static void sent(struct gy_op *op, const struct gy_completion *completion)
{
	(void)op;
	cr_assert_eq(completion->result, 1);
	test_loops[0]->silent += sends_silently;
}

/* Prepares a send that ends at once. */
static void send_one(struct gy_loop *loop, bool silently)
{
	static int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	sends_silently = silently;
	gy_op_init(&sending, sent);
	cr_assert_eq(gy_ring_send(loop->ring, &sending, pair[0], "x", 1), 0);
}

static void ignore(struct gy_timer *timer)
{
	(void)timer;
}

/* How often a loop parks in a turn that begins with a send, and with nothing else but a timer. */
static uint64_t parks_with_send(bool silently)
{
	struct gy_loop *loop = loop_open();
	struct gy_timer timer;
	uint64_t parks;

	gy_timer_init(&timer, ignore);
	gy_timer_start(&loop->wheel, &timer, 2 * loop->wheel.tick_ns);
	gy_wheel_advance(&loop->wheel, virtual_ns);
	send_one(loop, silently);
	gy_loop_turn(loop);
	cr_assert_not(sending.armed);
	parks = loop->counters.parks;
	gy_timer_stop(&loop->wheel, &timer);
	loop_close();
	return parks;
}

Test(park, is_gone_on_with_after_a_send_that_leaves_nothing_to_be_done, .timeout = 20)
{
	cr_assert_eq(parks_with_send(true), 2);
}

Test(park, ends_with_a_send_that_leaves_something_to_be_done, .timeout = 20)
{
	cr_assert_eq(parks_with_send(false), 1);
}

/* Nothing else would end it. */
Test(park, is_not_gone_on_with_when_the_loop_was_woken, .timeout = 20)
{
	struct gy_loop *loop = loop_open();

	gy_ring_wake(loop->ring);
	send_one(loop, true);
	gy_loop_turn(loop);
	cr_assert_not(sending.armed);
	loop_close();
}

/* ---- polling ---- */

static uint64_t fired;

static void fire(struct gy_timer *timer)
{
	(void)timer;
	fired++;
}

/* How often the clock is read in a turn that waits 200 us for a timer; each reading takes 10 us. */
static uint32_t readings_until(struct gy_loop *loop, uint64_t delay_ns)
{
	struct gy_timer timer;
	uint32_t before = virtual_readings;
	uint64_t fired_before = fired;

	gy_timer_init(&timer, fire);
	gy_timer_start_at(&loop->wheel, &timer, virtual_ns + delay_ns);
	while (fired == fired_before) {
		gy_loop_turn(loop);
	}
	return virtual_readings - before;
}

Test(park, comes_after_polling_for_the_time_that_the_option_says)
{
	struct gy_loop_options options = test_options(0);
	struct gy_loop *loop;

	options.spin_ns = 100000;
	options.timer_tick_ns = 100000;
	loop = loop_open_with(&options);
	virtual_step_ns = 10000;
	(void)readings_until(loop, 500000);
	cr_assert_geq(loop->counters.parks, 1);
	/* A timer that is due before the polling would end needs no park. */
	loop->counters.parks = 0;
	options.spin_ns = 1000000000;
	loop->options.spin_ns = options.spin_ns;
	(void)readings_until(loop, 500000);
	cr_assert_eq(loop->counters.parks, 0);
	loop_close();
}

static uint32_t polls_before_parking(struct gy_loop *loop)
{
	uint32_t before = virtual_readings;

	gy_loop_turn(
		loop); /* the turn's own reading, those of polling, and the one after the wait */
	return virtual_readings - before - 2;
}

/* A timer far away in virtual time, and a wake-up that the machine sends: the park ends at once. */
static uint64_t leap_ns;

static void leap_and_wake(void)
{
	if (test_loops[0]->parked == 0 && leap_ns != 0) {
		gy_ring_wake(test_loops[0]->ring);
	}
}

Test(park, in_automatic_mode_polls_no_more_when_waits_have_become_long_and_again_when_short)
{
	struct gy_loop_options options = test_options(0);
	struct gy_loop *loop;

	options.spin_ns = GY_SPIN_AUTO;
	loop = loop_open_with(&options);
	loop->wait_average_ns = 0;
	virtual_step_ns = 10000;
	post(loop, 0);
	gy_loop_turn(loop);
	loop->wait_average_ns = UINT64_C(1000000000);
	virtual_effect = leap_and_wake;
	leap_ns = 1;
	cr_assert_eq(polls_before_parking(loop), 0);
	cr_assert_eq(loop->counters.parks, 1);
	loop->wait_average_ns = 0;
	leap_ns = 0;
	gy_ring_wake(loop->ring);
	cr_assert_eq(polls_before_parking(loop), 0, "what is there already ends it");
	cr_assert_eq(loop->counters.parks, 1);
	loop_close();
}

/* ---- a loop on a thread of its own ---- */

static uint32_t ended;

static void end_loop(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	gy_store_release(&ended, 1);
}

static void *turn_until_ended(void *arg)
{
	struct gy_loop *loop = (struct gy_loop *)arg;

	(void)gy_loop_enter(loop);
	while (gy_load_relaxed(&ended) == 0) {
		gy_loop_turn(loop);
	}
	gy_loop_leave();
	return NULL;
}

static pthread_t start_thread(void)
{
	struct gy_loop_options options = test_options(0);
	pthread_t thread;

	options.clock = (struct gy_clock){ 0 };
	loops_open(1, &options);
	cr_assert_eq(pthread_create(&thread, NULL, turn_until_ended, test_loops[0]), 0);
	return thread;
}

static void stop_thread(pthread_t thread)
{
	static struct gy_task task = { .run = end_loop };

	gy_loop_post_task(test_loops[0], &task);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	loops_close();
}

/* Waits for what never comes. */
static void wait_ms(int ms)
{
	struct pollfd nothing = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };

	cr_assert_eq(poll(&nothing, 1, ms), 0);
	(void)close(nothing.fd);
}

static void await_parked(const struct gy_loop *loop)
{
	while (gy_load_full(&loop->parked) == 0) {
		wait_ms(1);
	}
}

Test(park, of_an_idle_loop_lasts_without_a_single_turn, .timeout = 20)
{
	pthread_t thread = start_thread();
	uint64_t turns;
	uint64_t enters;

	await_parked(test_loops[0]);
	turns = gy_load_relaxed(&test_loops[0]->counters.turns);
	enters = gy_load_relaxed(&gy_ring_counters(test_loops[0]->ring)->enters);
	wait_ms(300);
	cr_assert_eq(gy_load_relaxed(&test_loops[0]->counters.turns), turns);
	/* The call in which it waits may have been counted since. */
	cr_assert_leq(gy_load_relaxed(&gy_ring_counters(test_loops[0]->ring)->enters), enters + 1);
	stop_thread(thread);
}

Test(park, is_ended_by_a_post_from_another_thread_each_time, .timeout = 20)
{
	pthread_t thread = start_thread();

	for (uint32_t i = 0; i < POSTS; i++) {
		await_parked(test_loops[0]);
		post(test_loops[0], i);
		while (gy_load_relaxed(&tasks_run) <= i) {
			wait_ms(1);
		}
	}
	cr_assert_geq(gy_load_relaxed(&test_loops[0]->counters.parks), POSTS);
	stop_thread(thread);
	cr_assert_eq(tasks_run, POSTS);
}
