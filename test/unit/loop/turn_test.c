/*
 * The turn: its phases in their order, work to completion in phase 2 with its guard, later tasks,
 * and what is counted.
 */
#include "loop_support.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static struct test_job jobs[40];

static void make_ready(struct gy_loop *loop, struct test_job *job, char name, bool channels)
{
	job->name = name;
	if (channels) {
		gy_loop_ready_channels(loop, &job->job, false);
	} else {
		gy_loop_ready_state(loop, &job->job, false);
	}
}

static void fire_traced(struct gy_timer *timer)
{
	(void)timer;
	trace('t');
}

static void run_task(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	trace('i');
}

Test(turn, serves_the_inbox_channels_mounts_and_timers_and_then_state_jobs)
{
	struct gy_loop *loop = loop_open();
	struct gy_task task = { .run = run_task };
	struct gy_timer timer;

	gy_timer_init(&timer, fire_traced);
	make_ready(loop, &jobs[0], 's', false);
	gy_timer_start_at(&loop->wheel, &timer, 0);
	jobs[1].name = 'm';
	gy_loop_mount(loop, &jobs[1].job);
	make_ready(loop, &jobs[2], 'c', true);
	gy_loop_post_task(loop, &task);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "icmts");
	cr_assert_eq(loop->counters.turns, 1);
	cr_assert_eq(loop->counters.jobs_run, 2);
	cr_assert_eq(loop->counters.nodes_received, 1);
	loop_close();
}

static void again_until_ten(struct gy_loop *loop, struct test_job *job)
{
	if (job->times < 10) {
		gy_loop_ready_channels(loop, &job->job, false);
	}
}

Test(turn, runs_channels_jobs_to_completion_before_any_state_job)
{
	struct gy_loop *loop = loop_open();

	make_ready(loop, &jobs[0], 's', false);
	jobs[1].run = again_until_ten;
	make_ready(loop, &jobs[1], 'c', true);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "ccccccccccs");
	loop_close();
}

static void again(struct gy_loop *loop, struct test_job *job)
{
	gy_loop_ready_channels(loop, &job->job, false);
}

Test(turn, leaves_phase_2_after_64_rounds_of_work_that_it_makes_for_itself)
{
	struct gy_loop *loop = loop_open();

	make_ready(loop, &jobs[0], 's', false);
	jobs[1].run = again;
	jobs[2].run = again;
	make_ready(loop, &jobs[1], '1', true);
	make_ready(loop, &jobs[2], '2', true);
	gy_loop_turn(loop);
	cr_assert_eq(jobs[1].times, 64);
	cr_assert_eq(jobs[2].times, 64);
	cr_assert_eq(traced[128], 's');
	gy_loop_turn(loop);
	cr_assert_eq(jobs[1].times, 128);
	jobs[1].run = NULL;
	jobs[2].run = NULL;
	gy_loop_turn(loop);
	cr_assert_eq(jobs[1].times, 129);
	loop_close();
}

/* ---- a ring that takes no more ---- */

enum { POLLS = 600, TURNS = 100 };

static struct gy_op polls[POLLS];
static uint32_t polls_begun;
static uint32_t polls_ended;
static int polled_fd; /* of a file, which is always ready */

static void poll_has_ended(struct gy_op *op, const struct gy_completion *completion)
{
	cr_assert(op >= polls && op < polls + POLLS);
	cr_assert_eq(completion->result, POLLIN);
	polls_ended++;
}

static void begin_polls(struct gy_loop *loop, struct test_job *job)
{
	while (polls_begun < POLLS &&
	       gy_ring_poll(loop->ring, &polls[polls_begun], polled_fd, POLLIN) == 0) {
		polls_begun++;
	}
	if (polls_begun < POLLS) {
		gy_loop_ready_channels(loop, &job->job, false);
	}
}

Test(turn, leaves_phase_2_soon_when_the_ring_takes_no_more_operations)
{
	struct gy_loop *loop = loop_open();

	polled_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cr_assert_geq(polled_fd, 0);
	for (uint32_t i = 0; i < POLLS; i++) {
		gy_op_init(&polls[i], poll_has_ended);
	}
	jobs[0].run = begin_polls;
	make_ready(loop, &jobs[0], '\0', true);
	gy_loop_turn(loop);
	cr_assert_leq(jobs[0].times, 4);
	for (uint32_t i = 0; i < TURNS && polls_ended < POLLS; i++) {
		turn(loop);
	}
	cr_assert_eq(polls_begun, POLLS);
	cr_assert_eq(polls_ended, POLLS);
	(void)close(polled_fd);
	loop_close();
}

static void mount_another(struct gy_loop *loop, struct test_job *job)
{
	struct test_job *next = job + 1;

	next->name = 'n';
	gy_loop_mount(loop, &next->job);
}

Test(turn, mounts_in_order_and_what_a_mount_spawns_in_the_same_turn)
{
	struct gy_loop *loop = loop_open();

	jobs[0].name = 'a';
	jobs[0].run = mount_another;
	jobs[5].name = 'b';
	gy_loop_mount(loop, &jobs[0].job);
	gy_loop_mount(loop, &jobs[5].job);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "abn");
	loop_close();
}

static void make_state_ready(struct gy_loop *loop, struct test_job *job)
{
	make_ready(loop, job + 1, 's', false);
}

Test(turn, runs_a_state_job_that_phase_2_made_ready_in_the_same_turn)
{
	struct gy_loop *loop = loop_open();

	jobs[0].run = make_state_ready;
	make_ready(loop, &jobs[0], 'c', true);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "cs");
	loop_close();
}

/* ---- later ---- */

static struct gy_later laters[4];

static void run_later_traced(struct gy_loop *loop, struct gy_later *later)
{
	trace('0' + (char)(later - laters));
	if (later == &laters[0]) {
		laters[2].run = run_later_traced;
		gy_loop_later(loop, &laters[2]);
	}
}

static void ask_for_later(struct gy_loop *loop, struct test_job *job)
{
	(void)job;
	laters[0].run = run_later_traced;
	laters[1].run = run_later_traced;
	gy_loop_later(loop, &laters[0]);
	gy_loop_later(loop, &laters[1]);
	trace('-'); /* still in the job */
}

Test(turn, runs_later_tasks_at_the_end_of_the_job_and_theirs_at_the_end_of_the_next)
{
	struct gy_loop *loop = loop_open();

	jobs[0].run = ask_for_later;
	make_ready(loop, &jobs[0], 'a', false);
	make_ready(loop, &jobs[1], 'b', false);
	make_ready(loop, &jobs[2], 'c', false);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "a-01b2c");
	loop_close();
}

Test(turn, runs_later_tasks_of_channels_jobs_and_of_mounts_too)
{
	struct gy_loop *loop = loop_open();

	jobs[0].run = ask_for_later;
	make_ready(loop, &jobs[0], 'a', true);
	make_ready(loop, &jobs[1], 'b', true);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "a-01b2");
	trace_clear();
	jobs[0].name = 'm';
	gy_loop_mount(loop, &jobs[0].job);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "m-012");
	loop_close();
}

static void later_from_timer(struct gy_timer *timer)
{
	(void)timer;
	trace('t');
	laters[1].run = run_later_traced;
	gy_loop_later(test_loops[0], &laters[1]);
}

Test(turn, runs_a_later_task_that_no_job_asked_for_before_phase_3)
{
	struct gy_loop *loop = loop_open();
	struct gy_timer timer;

	gy_timer_init(&timer, later_from_timer);
	gy_timer_start_at(&loop->wheel, &timer, 0);
	make_ready(loop, &jobs[0], 's', false);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "t1s");
	loop_close();
}

static void ask_for_the_end(struct gy_loop *loop, struct test_job *job)
{
	(void)job;
	laters[1].run = run_later_traced;
	gy_loop_at_phase_end(loop, &laters[1]);
}

Test(turn, runs_what_is_for_the_end_of_the_phase_after_all_of_its_jobs)
{
	struct gy_loop *loop = loop_open();

	jobs[0].run = ask_for_the_end;
	make_ready(loop, &jobs[0], 'a', true);
	make_ready(loop, &jobs[1], 'b', true);
	make_ready(loop, &jobs[2], 's', false);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "ab1s");
	trace_clear();
	make_ready(loop, &jobs[0], 'a', false);
	make_ready(loop, &jobs[1], 'b', false);
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "ab1");
	loop_close();
}

static void ask_for_the_end_and_pass(struct gy_loop *loop, struct test_job *job)
{
	ask_for_the_end(loop, job);
	virtual_ns += GY_PHASE_PART_NS + 1;
}

/* The clock is read after 16 jobs. */
Test(turn, does_not_leave_what_is_for_its_end_to_the_end_of_a_long_phase)
{
	struct gy_loop *loop = loop_open();

	jobs[0].run = ask_for_the_end_and_pass;
	for (size_t i = 0; i < 20; i++) {
		make_ready(loop, &jobs[i], (char)('a' + i), false);
	}
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "abcdefghijklmnop1qrst");
	loop_close();
}

/* ---- prepared operations ---- */

static void prepare(struct gy_loop *loop, struct test_job *job)
{
	(void)job;
	gy_ring_wake_from(loop->ring, loop->ring);
	cr_assert(gy_ring_has_prepared(loop->ring));
}

static void look_whether_submitted(struct gy_loop *loop, struct test_job *job)
{
	trace(gy_ring_has_prepared(loop->ring) ? 'p' : '.');
	if (job == &jobs[3]) {
		prepare(loop, job);
	}
}

Test(turn, submits_what_phase_2_prepared_before_phase_3_and_again_at_the_16th_job)
{
	struct gy_loop *loop = loop_open();

	jobs[0].run = prepare;
	gy_loop_ready_channels(loop, &jobs[0].job, false);
	for (uint32_t i = 1; i <= 20; i++) {
		jobs[i].run = look_whether_submitted;
		gy_loop_ready_state(loop, &jobs[i].job, false);
	}
	gy_loop_turn(loop);
	cr_assert_str_eq(traced, "...ppppppppppppp....");
	turn(loop); /* takes the wake-ups in */
	loop_close();
}

/* ---- idleness ---- */

Test(turn, counts_turns_in_a_row_that_executed_nothing)
{
	struct gy_loop *loop = loop_open();

	for (uint32_t i = 1; i <= 3; i++) {
		turn(loop);
		cr_assert_eq(loop->idle_count, i);
	}
	make_ready(loop, &jobs[0], 's', false);
	turn(loop);
	cr_assert_eq(loop->idle_count, 0);
	turn(loop);
	cr_assert_eq(loop->idle_count, 1);
	make_ready(loop, &jobs[0], 'c', true);
	turn(loop);
	cr_assert_eq(loop->idle_count, 0);
	loop_close();
}
