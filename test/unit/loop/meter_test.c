/*
 * The meter, on virtual time: what is charged to which phase, and how the time of jobs is found
 * without timing them all.
 */
#include "loop_support.h"

#if GY_INSPECT
static struct test_job jobs[8];
static uint64_t busy_ticks;
static uint64_t runs_left;

static uint64_t *busy(struct gy_loop *loop, struct gy_job *job)
{
	(void)loop;
	(void)job;
	return &busy_ticks;
}

static uint64_t readings;

static uint64_t count_readings(void *arg)
{
	(void)arg;
	readings++;
	return virtual_ns;
}

static struct gy_loop *open_metered(void)
{
	static struct gy_loop_ops ops;
	struct gy_loop_options options = test_options(0);

	ops = test_ops;
	ops.busy = busy;
	options.ops = &ops;
	options.io_ratio = 100;
	options.clock.read_ticks = count_readings;
	return loop_open_with(&options);
}

static void ready(struct gy_loop *loop, struct test_job *job, bool channels, uint64_t takes_ns)
{
	job->takes_ns = takes_ns;
	if (channels) {
		gy_loop_ready_channels(loop, &job->job, false);
	} else {
		gy_loop_ready_state(loop, &job->job, false);
	}
}

Test(meter, charges_each_phase_with_what_passed_in_it)
{
	struct gy_loop *loop = open_metered();
	const uint64_t *spent = loop->meter.spent;

	ready(loop, &jobs[0], true, 300);
	ready(loop, &jobs[1], false, 5000);
	gy_loop_turn(loop);
	cr_assert_eq(spent[GY_PHASE_CHANNELS], 300);
	cr_assert_eq(spent[GY_PHASE_STATE], 5000);
	cr_assert_eq(spent[GY_PHASE_IO], 0);
	virtual_ns += 70; /* between turns, and so before the I/O of the next one */
	ready(loop, &jobs[1], false, 2);
	gy_loop_turn(loop);
	cr_assert_eq(spent[GY_PHASE_IO], 70);
	cr_assert_eq(spent[GY_PHASE_STATE], 5002);
	loop_close();
}

Test(meter, does_not_take_a_park_for_work)
{
	struct gy_loop *loop = open_metered();

	virtual_ns += 1000;
	turn(loop); /* which is woken at once */
	cr_assert_eq(loop->counters.parks, 1);
	cr_assert_eq(loop->meter.spent[GY_PHASE_PARKED], 1000);
	cr_assert_eq(loop->meter.spent[GY_PHASE_IO], 0);
	loop_close();
}

Test(meter, times_each_of_a_few_jobs)
{
	struct gy_loop *loop = open_metered();

	ready(loop, &jobs[0], true, 11);
	ready(loop, &jobs[1], true, 100);
	jobs[4].takes_ns = 1000;
	gy_loop_mount(loop, &jobs[4].job);
	ready(loop, &jobs[2], false, 10000);
	ready(loop, &jobs[3], false, 100000);
	gy_loop_turn(loop);
	cr_assert_eq(busy_ticks, 111111);
	loop_close();
}

Test(meter, reads_the_ticks_twice_in_a_turn_with_one_job)
{
	struct gy_loop *loop = open_metered();

	ready(loop, &jobs[0], true, 10);
	readings = 0;
	gy_loop_turn(loop);
	cr_assert_eq(readings, 2, "where I/O ends, and where the job does");
	cr_assert_eq(busy_ticks, 10);
	cr_assert_eq(loop->meter.spent[GY_PHASE_CHANNELS], 10);
	loop_close();
}

static void take_500(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	virtual_ns += 500;
}

Test(meter, does_not_take_what_is_between_jobs_for_theirs)
{
	struct gy_loop *loop = open_metered();
	static struct gy_task task = { .run = take_500 };

	ready(loop, &jobs[0], true, 10);
	gy_loop_post_task(loop, &task);
	gy_loop_turn(loop);
	cr_assert_eq(busy_ticks, 10);
	cr_assert_eq(loop->meter.spent[GY_PHASE_CHANNELS], 510);
	loop_close();
}

static void fire_500(struct gy_timer *timer)
{
	(void)timer;
	virtual_ns += 500;
}

Test(meter, charges_the_phase_with_what_follows_its_last_job)
{
	struct gy_loop *loop = open_metered();
	struct gy_timer timer;

	gy_timer_init(&timer, fire_500);
	gy_timer_start_at(&loop->wheel, &timer, 0);
	ready(loop, &jobs[0], true, 10);
	gy_loop_turn(loop);
	cr_assert_eq(busy_ticks, 10);
	cr_assert_eq(loop->meter.spent[GY_PHASE_CHANNELS], 510);
	loop_close();
}

static void again(struct gy_loop *loop, struct test_job *job)
{
	if (runs_left > 0) {
		runs_left--;
		gy_loop_ready_state(loop, &job->job, false);
	}
}

static void run_many(struct gy_loop *loop, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		jobs[i].run = again;
		gy_loop_ready_state(loop, &jobs[i].job, false);
	}
	while (!gy_queue_empty(&loop->state)) {
		gy_loop_turn(loop);
	}
}

Test(meter, finds_the_time_of_many_short_jobs_from_a_few)
{
	struct gy_loop *loop = open_metered();
	uint64_t timed;

	for (uint32_t i = 0; i < 8; i++) {
		jobs[i].takes_ns = i; /* a rhythm of 8 */
	}
	runs_left = 4000000;
	run_many(loop, 8);
	timed = loop->meter.timed;
	cr_assert_geq(busy_ticks, 14000000 / 100 * 95);
	cr_assert_leq(busy_ticks, 14000000 / 100 * 105);
	/* With turns of 8 jobs, 4 of each are timed, and 1 in 256 of the others. */
	cr_assert_leq(timed, 4000000 / 2 + 4000000 / 2 / 200 + 100);
	loop_close();
}

Test(meter, times_long_jobs_one_by_one)
{
	struct gy_loop *loop = open_metered();

	loop->options.io_ratio = 50; /* long phases */
	jobs[0].takes_ns = 5000;
	runs_left = 1000;
	run_many(loop, 1);
	/* All but the twelve that came between the first four and the first look at the clock. */
	cr_assert_geq(busy_ticks, (1001 - 12) * UINT64_C(5000));
	cr_assert_leq(busy_ticks, (1001 + 256 * 2) * UINT64_C(5000));
	loop_close();
}

static struct gy_meter before;

static void see_pulse(struct gy_loop *loop, struct test_job *job)
{
	const struct gy_meter *now = &loop->meter;

	if (job->times % 16 == 0) {
		cr_assert(now->timed != before.timed || now->countdown != before.countdown);
		before = *now;
	}
	again(loop, job);
}

Test(meter, has_another_pulse_after_every_16_jobs_at_the_latest)
{
	struct gy_loop *loop = open_metered();

	loop->options.io_ratio = 50; /* long phases */
	runs_left = 5000;
	jobs[0].run = see_pulse;
	gy_loop_ready_state(loop, &jobs[0].job, false);
	while (!gy_queue_empty(&loop->state)) {
		gy_loop_turn(loop);
	}
	loop_close();
}
#endif
