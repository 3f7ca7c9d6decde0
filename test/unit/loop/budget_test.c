/*
 * The deadline of phase 3, on virtual time: every job takes what it says, and the clock is read at
 * every 16th.
 */
#include "loop_support.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { JOBS = 1000 };

static struct test_job jobs[JOBS];
static struct test_job channels_job;

static void queue_jobs(struct gy_loop *loop, uint64_t takes_ns)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		jobs[i].takes_ns = takes_ns;
		gy_loop_ready_state(loop, &jobs[i].job, true);
	}
}

static struct gy_loop *open_with_ratio(uint32_t io_ratio)
{
	struct gy_loop_options options = test_options(0);

	options.io_ratio = io_ratio;
	return loop_open_with(&options);
}

static uint32_t jobs_run_in_a_turn(struct gy_loop *loop)
{
	uint32_t before = loop->state.count;

	gy_loop_turn(loop);
	return before - loop->state.count;
}

/* The rest is of no interest. */
static void close_with_jobs(struct gy_loop *loop)
{
	while (gy_queue_pop(&loop->state) != NULL) {
	}
	loop_close();
}

/* ---- without I/O ---- */

static uint32_t run_with_budget(uint64_t min_budget_ns, uint64_t takes_ns)
{
	struct gy_loop_options options = test_options(0);
	struct gy_loop *loop;
	uint32_t run;

	options.min_budget_ns = min_budget_ns;
	loop = loop_open_with(&options);
	queue_jobs(loop, takes_ns);
	run = jobs_run_in_a_turn(loop);
	close_with_jobs(loop);
	return run;
}

Test(budget, without_io_is_the_least_budget_looked_at_every_16th_job)
{
	cr_assert_eq(run_with_budget(500000, 10000), 64);   /* 50 jobs, rounded up */
	cr_assert_eq(run_with_budget(500000, 31250), 16);   /* 16 jobs exactly */
	cr_assert_eq(run_with_budget(500000, 31249), 32);   /* a little less than that */
	cr_assert_eq(run_with_budget(500000, 1000000), 16); /* each is too long */
	cr_assert_eq(run_with_budget(1000000000, 100000), JOBS);
}

Test(budget, without_io_is_not_changed_by_a_long_phase_2)
{
	struct gy_loop *loop = loop_open();

	queue_jobs(loop, 10000);
	channels_job.takes_ns = UINT64_C(1000000000);
	gy_loop_ready_channels(loop, &channels_job.job, false);
	cr_assert_eq(jobs_run_in_a_turn(loop), 64);
	close_with_jobs(loop);
}

Test(budget, goes_on_in_the_next_turn_where_it_ended)
{
	struct gy_loop *loop = loop_open();
	uint32_t left = JOBS;

	queue_jobs(loop, 10000);
	while (left > 0) {
		uint32_t run = jobs_run_in_a_turn(loop);

		cr_assert_eq(run, left < 64 ? left : 64);
		left -= run;
	}
	for (uint32_t i = 0; i < JOBS; i++) {
		cr_assert_eq(jobs[i].times, 1);
	}
	loop_close();
}

Test(budget, of_a_ratio_of_100_has_no_end)
{
	struct gy_loop *loop = open_with_ratio(100);
	uint32_t readings;

	queue_jobs(loop, GYRE_MILLISECONDS(10));
	readings = virtual_readings;
	cr_assert_eq(jobs_run_in_a_turn(loop), JOBS);
	/* At the start of the turn, before phase 3, and at every 16th job. */
	cr_assert_eq(virtual_readings - readings, 2 + JOBS / 16);
	loop_close();
}

/* ---- with I/O ---- */

static int event_fd;
static struct gy_op op;
static uint32_t completions;

static void complete(struct gy_op *completed, const struct gy_completion *completion)
{
	cr_assert_eq(completed, &op);
	cr_assert_not(completion->more);
	completions++;
	gy_loop_ready_channels(test_loops[0], &channels_job.job, false);
}

/* An operation whose completion waits, and makes a channels job ready that takes @io_ns. */
static void complete_some_io(struct gy_loop *loop, uint64_t io_ns)
{
	const uint64_t one = 1;

	event_fd = eventfd(0, EFD_CLOEXEC);
	cr_assert_eq(write(event_fd, &one, sizeof(one)), (ssize_t)sizeof(one));
	channels_job.takes_ns = io_ns;
	gy_op_init(&op, complete);
	cr_assert_eq(gy_ring_poll(loop->ring, &op, event_fd, 1 /* POLLIN */), 0);
}

static uint32_t run_with_io(uint32_t io_ratio, uint64_t io_ns)
{
	struct gy_loop *loop = open_with_ratio(io_ratio);
	uint32_t run;

	completions = 0;
	complete_some_io(loop, io_ns);
	queue_jobs(loop, 10000);
	run = jobs_run_in_a_turn(loop);
	cr_assert_eq(completions, 1);
	close_with_jobs(loop);
	(void)close(event_fd);
	return run;
}

Test(budget, with_io_gives_state_actors_their_share_of_the_time_that_io_took)
{
	cr_assert_eq(run_with_io(50, 300000), 32); /* as long: 30 jobs */
	cr_assert_eq(run_with_io(25, 300000), 96); /* three times as long: 90 jobs */
	cr_assert_eq(run_with_io(75, 900000), 32); /* a third: 30 jobs */
	cr_assert_eq(run_with_io(99, 900000), 16); /* 9 us: no whole job */
	cr_assert_eq(run_with_io(1, 100000), 992); /* 99 times as long: 990 jobs */
	cr_assert_eq(run_with_io(100, 100000), JOBS);
}

/* The clock leaps by a second at its second reading, which is the one after the wait. */
static uint32_t leap_at;

static void leap(void)
{
	if (virtual_readings == leap_at) {
		virtual_ns += UINT64_C(1000000000);
	}
}

static void make_jobs_ready(struct gy_loop *loop, struct test_job *job)
{
	(void)job;
	queue_jobs(loop, 10000);
}

Test(budget, with_io_does_not_count_the_time_that_the_loop_was_blocked)
{
	struct gy_loop *loop = loop_open();

	complete_some_io(loop, 300000);
	channels_job.run = make_jobs_ready;
	virtual_effect = leap;
	leap_at = virtual_readings + 2;
	gy_loop_turn(loop);
	cr_assert_eq(loop->counters.parks, 1);
	cr_assert_eq(completions, 1);
	cr_assert_eq(JOBS - loop->state.count, 32);
	close_with_jobs(loop);
	(void)close(event_fd);
}

static void complete_quietly(struct gy_op *completed, const struct gy_completion *completion)
{
	(void)completed;
	(void)completion;
	completions++;
}

Test(budget, is_not_idleness_when_only_io_happened)
{
	struct gy_loop *loop = loop_open();

	turn(loop);
	cr_assert_eq(loop->idle_count, 1);
	complete_some_io(loop, 0);
	op.complete = complete_quietly;
	gy_loop_turn(loop);
	cr_assert_eq(completions, 1);
	cr_assert_eq(loop->idle_count, 0);
	loop_close();
	(void)close(event_fd);
}
