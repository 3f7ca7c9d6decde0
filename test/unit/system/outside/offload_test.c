/*
 * Work off the loops: answers, errors, bounds, time-outs, and what a stop leaves of it.
 */
#include <gyre/offload.h>
#include <gyre/outside.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/parcel_rig.h"
#include "base/atomic.h"
#include "system/process.h"
#include "system/system.h"

enum { MANY = 4 };

struct question {
	uint64_t value;
};
GYRE_REQUEST(question, 0x1201, number);

struct offload_frame {
	struct gyre_future futures[MANY];
	struct gyre_future nap;
	uint32_t turn;
};

static sem_t begun;
static sem_t gate;
static uint32_t runs;

static struct offload_frame *offload_frame(struct gyre_stack *stack)
{
	return (struct offload_frame *)gyre_frame(stack);
}

static int add_one(struct gyre_work *work)
{
	const struct number *number = gyre_work_get(work, number);

	expect(gy_current_worker() == NULL);
	expect(gyre_work_system(work) == fixture.system);
	expect(gyre_work_get(work, place) == NULL);
	(void)gy_fetch_add(&runs, 1);
	return gyre_work_reply(work, gyre_work_new(work, number, number->value + 1));
}

/* ---- answers ---- */

static int offload_in_turn(struct gyre_stack *stack)
{
	struct offload_frame *frame = offload_frame(stack);

	GYRE_BEGIN(stack);
	for (frame->turn = 0; frame->turn < 100; frame->turn++) {
		GYRE_AWAIT(stack, gyre_offload(stack, add_one, gyre_new(stack, number, frame->turn),
					       0, &frame->futures[0]));
		expect(gyre_future_error(&frame->futures[0]) == 0);
		expect(gyre_future_get(&frame->futures[0], number)->value == frame->turn + 1);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, answers_the_stack_that_gave_the_work)
{
	play(2, offload_in_turn);
	cr_assert_eq(runs, 100);
	cr_assert_eq(fixture.letters_count, 0);
}

static pthread_barrier_t all_here;

static int meet(struct gyre_work *work)
{
	(void)pthread_barrier_wait(&all_here);
	return add_one(work);
}

static int offload_at_once(struct gyre_stack *stack)
{
	struct offload_frame *frame = offload_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < MANY; i++) {
		(void)gyre_offload(stack, meet, gyre_new(stack, number, i), GYRE_FOREVER,
				   &frame->futures[i]);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		expect(gyre_future_get(&frame->futures[i], number)->value == i + 1);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, has_as_many_threads_as_the_option_says)
{
	const struct gyre_system_options options = { .loops = 1, .offload_threads = MANY };

	cr_assert_eq(pthread_barrier_init(&all_here, NULL, MANY), 0);
	play_with(&options, offload_at_once);
	cr_assert_eq(runs, MANY);
}

/* ---- the threads ---- */

/* The id of a thread of the pool, and how many there are. */
static uint32_t pool_threads(long *ret_id)
{
	DIR *tasks = opendir("/proc/self/task");
	uint32_t count = 0;
	struct dirent *task;

	while ((task = readdir(tasks)) != NULL) {
		char path[300];
		char name[32] = "";
		FILE *comm;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		comm = fopen(path, "r");
		if (comm != NULL) {
			expect(fgets(name, sizeof(name), comm) != NULL);
			(void)fclose(comm);
		}
		if (strncmp(name, "gyre-off-", strlen("gyre-off-")) == 0) {
			*ret_id = strtol(task->d_name, NULL, 10);
			count++;
		}
	}
	(void)closedir(tasks);
	return count;
}

/* How often a thread has gone to sleep. */
static uint64_t sleeps_of(long id)
{
	unsigned long long sleeps = 0;
	char path[300];
	char line[256];
	FILE *status;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld/status", id);
	status = fopen(path, "r");
	expect(status != NULL);
	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		(void)sscanf(line, "voluntary_ctxt_switches: %llu", &sleeps);
	}
	if (status != NULL) {
		(void)fclose(status);
	}
	return sleeps;
}

struct idle_frame {
	struct gyre_future future;
	uint64_t sleeps;
	long id;
};

static int look_at_idle_pool(struct gyre_stack *stack)
{
	struct idle_frame *frame = (struct idle_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(pool_threads(&frame->id) == 0);
	GYRE_AWAIT(stack,
		   gyre_offload(stack, add_one, gyre_new(stack, number, 1), 0, &frame->future));
	expect(pool_threads(&frame->id) == 1);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame->future));
	frame->sleeps = sleeps_of(frame->id);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(200), &frame->future));
	/* On a busy machine it may only now have come to its wait. */
	expect(sleeps_of(frame->id) <= frame->sleeps + 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, starts_a_thread_when_it_is_needed_and_wakes_nobody_while_there_is_no_work)
{
	play(1, look_at_idle_pool);
}

static cpu_set_t cpus_of_main;

static int compare_cpus(struct gyre_work *work)
{
	cpu_set_t cpus;

	expect(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	expect(CPU_EQUAL(&cpus, &cpus_of_main));
	return add_one(work);
}

static int offload_comparison(struct gyre_stack *stack)
{
	struct offload_frame *frame = offload_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, compare_cpus, gyre_new(stack, number, 1), 0,
				       &frame->futures[0]));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, is_not_pinned_to_the_loop_that_needed_it)
{
	expect(sched_getaffinity(0, sizeof(cpus_of_main), &cpus_of_main) == 0);
	play(1, offload_comparison);
}

/* ---- what is owned ---- */

static int answer_parcel(struct gyre_work *work)
{
	struct parcel parcel;
	uint64_t number;

	expect(gyre_work_move(work, parcel, &parcel) == 0);
	expect(gyre_work_get(work, parcel) == NULL);
	expect(gyre_work_move(work, parcel, &parcel) == -ENOENT);
	number = unpack(&parcel);
	expect(gyre_work_reply(work, parcel_outside(number + 1)) == 0);
	expect(gyre_work_reply(work, parcel_outside(number)) == -EALREADY);
	return 0;
}

static int answer_and_fail(struct gyre_work *work)
{
	expect(gyre_work_reply(work, parcel_outside(1)) == 0);
	return -EIO;
}

static int offload_parcels(struct gyre_stack *stack)
{
	struct offload_frame *frame = offload_frame(stack);

	GYRE_BEGIN(stack);
	(void)gyre_offload(stack, answer_parcel, parcel(stack, 5), 0, &frame->futures[0]);
	(void)gyre_offload(stack, answer_and_fail, parcel(stack, 5), 0, &frame->futures[1]);
	(void)gyre_offload(stack, answer_and_fail, gyre_new(stack, crate, .parcel = pack(1)), 0,
			   &frame->futures[2]);
	GYRE_AWAIT(stack, 0);
	expect(*gyre_future_get(&frame->futures[0], parcel)->goods == 6);
	expect(gyre_future_error(&frame->futures[1]) == -EIO);
	expect(gyre_future_error(&frame->futures[2]) == -EIO);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, destroys_once_what_is_given_and_what_is_answered)
{
	play(1, offload_parcels);
	assert_all_unpacked();
}

/* ---- errors ---- */

static int say_nothing(struct gyre_work *work)
{
	(void)work;
	return 0;
}

static int answer_wrongly(struct gyre_work *work)
{
	expect(gyre_work_reply(work, parcel_outside(1)) == -EPROTO);
	return 0;
}

static int answer_null(struct gyre_work *work)
{
	return gyre_work_reply(work, NULL);
}

static int return_nonsense(struct gyre_work *work)
{
	(void)work;
	return 7;
}

static int offload_failures(struct gyre_stack *stack)
{
	struct offload_frame *frame = offload_frame(stack);
	struct gyre_future *futures = frame->futures;

	GYRE_BEGIN(stack);
	expect(gyre_offload(stack, NULL, parcel(stack, 1), 0, &futures[0]) == -EINVAL);
	expect(gyre_future_error(&futures[0]) == -EINVAL);
	expect(gyre_offload(stack, add_one, NULL, 0, &futures[0]) == -ENOMEM);
	expect(gyre_future_error(&futures[0]) == -ENOMEM);
	(void)gyre_offload(stack, say_nothing, parcel(stack, 1), 0, &futures[0]);
	(void)gyre_offload(stack, answer_wrongly, gyre_new(stack, question, 1), 0, &futures[1]);
	(void)gyre_offload(stack, answer_null, parcel(stack, 1), 0, &futures[2]);
	(void)gyre_offload(stack, return_nonsense, parcel(stack, 1), 0, &futures[3]);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&futures[0]) == -ENOMSG);
	expect(gyre_future_error(&futures[1]) == -EPROTO);
	expect(gyre_future_error(&futures[2]) == -ENOMEM);
	expect(gyre_future_error(&futures[3]) == -EINVAL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, fails_with_what_went_wrong)
{
	play(1, offload_failures);
	assert_all_unpacked();
}

static int offload_without_future(struct gyre_stack *stack)
{
	expect(gyre_offload(stack, add_one, parcel(stack, 1), 0, NULL) == -EINVAL);
	expect(gyre_offload(stack, add_one, NULL, 0, NULL) < 0);
	return fixture_end(stack);
}

Test(offload, is_refused_without_a_future)
{
	play(1, offload_without_future);
	assert_all_unpacked();
}

/* ---- bounds and time-outs ---- */

static int wait_at_gate(struct gyre_work *work)
{
	(void)gy_fetch_add(&runs, 1);
	(void)sem_post(&begun);
	(void)sem_wait(&gate);
	return gyre_work_reply(work, parcel_outside(1));
}

static const struct gyre_system_options narrow = {
	.loops = 1,
	.offload_threads = 1,
	.offload_queue_max = 2,
};

static void play_at_gate(gyre_handler_fn script)
{
	cr_assert_eq(sem_init(&begun, 0, 0), 0);
	cr_assert_eq(sem_init(&gate, 0, 0), 0);
	play_with(&narrow, script);
	assert_all_unpacked();
}

/* The one thread is busy from then on, until the gate opens. */
static void occupy(struct gyre_stack *stack, uint64_t timeout_ns)
{
	expect(gyre_offload(stack, wait_at_gate, parcel(stack, 1), timeout_ns,
			    &offload_frame(stack)->futures[0]) == 0);
	(void)sem_wait(&begun);
}

static int fill_queue(struct gyre_stack *stack)
{
	struct gyre_future *futures = offload_frame(stack)->futures;

	GYRE_BEGIN(stack);
	occupy(stack, GYRE_FOREVER);
	expect(gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &futures[1]) == 0);
	expect(gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &futures[2]) == 0);
	expect(gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &futures[3]) == -ENOBUFS);
	expect(gyre_future_error(&futures[3]) == -ENOBUFS);
	for (uint32_t i = 0; i < 3; i++) {
		(void)sem_post(&gate);
	}
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_get(&futures[2], parcel) != NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, refuses_one_more_than_may_wait)
{
	play_at_gate(fill_queue);
	cr_assert_eq(runs, 3);
}

static int wait_too_long(struct gyre_stack *stack)
{
	struct gyre_future *futures = offload_frame(stack)->futures;

	GYRE_BEGIN(stack);
	/* The thread is there when the time of the next one begins, which it has to begin within.
	 */
	(void)sem_post(&gate);
	GYRE_AWAIT(stack, gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &futures[0]));
	(void)sem_wait(&begun);
	occupy(stack, GYRE_SECONDS(1));
	GYRE_AWAIT(stack, gyre_offload(stack, wait_at_gate, parcel(stack, 1), GYRE_MILLISECONDS(1),
				       &futures[1]));
	expect(gyre_future_error(&futures[0]) == -ETIMEDOUT);
	expect(gyre_future_error(&futures[1]) == -ETIMEDOUT);
	(void)sem_post(&gate);
	/* Behind the other two, so that they have ended. */
	(void)sem_post(&gate);
	GYRE_AWAIT(stack, gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &futures[0]));
	expect(gyre_future_error(&futures[0]) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, drops_what_comes_too_late_and_does_not_begin_what_is_past_its_time)
{
	play_at_gate(wait_too_long);
	cr_assert_eq(runs, 3);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

static int leave_behind(struct gyre_stack *stack)
{
	occupy(stack, GYRE_FOREVER);
	(void)sem_post(&gate);
	return gyre_return(stack);
}

static int spawn_leaving(struct gyre_stack *stack)
{
	static const struct gyre_class leaving_class = {
		.name = "leaving",
		.frame_bytes = sizeof(struct offload_frame),
		.behaviour.notice = leave_behind,
	};
	struct offload_frame *frame = offload_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_notify(stack, spawn_here(stack, &leaving_class), gyre_new(stack, number, 1)) ==
	       0);
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->nap));
	(void)sem_post(&gate);
	GYRE_AWAIT(stack,
		   gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &frame->futures[0]));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, drops_the_answer_when_the_stack_has_ended)
{
	play_at_gate(spawn_leaving);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

/* ---- the stop ---- */

static int outlast_the_loops(struct gyre_work *work)
{
	struct pollfd ended = { .fd = fixture.system->ended_fd, .events = POLLIN };

	(void)sem_post(&begun);
	expect(poll(&ended, 1, -1) == 1);
	(void)gy_fetch_add(&runs, 1);
	return gyre_work_reply(work, parcel_outside(1));
}

static int stop_with_work(struct gyre_stack *stack)
{
	struct gyre_future *futures = offload_frame(stack)->futures;

	switch (gyre_stack_state(stack)) {
	case 0:
		expect(gyre_offload(stack, outlast_the_loops, parcel(stack, 1), GYRE_FOREVER,
				    &futures[0]) == 0);
		(void)sem_wait(&begun);
		expect(gyre_offload(stack, wait_at_gate, parcel(stack, 1), GYRE_FOREVER,
				    &futures[1]) == 0);
		gyre_system_stop(gyre_system_of(stack));
		return gyre_suspend_any(stack, 1);
	case 1:
		expect(gyre_future_error(&futures[0]) == -EINPROGRESS);
		expect(gyre_future_error(&futures[1]) == -ESHUTDOWN);
		expect(gyre_offload(stack, wait_at_gate, parcel(stack, 1), 0, &futures[2]) ==
		       -ESHUTDOWN);
		trace('s');
		return gyre_suspend(stack, 2);
	default:
		return gyre_return(stack);
	}
}

Test(offload, is_failed_by_a_stop_before_it_is_begun_and_waited_for_afterwards)
{
	play_at_gate(stop_with_work);
	cr_assert_str_eq(traced, "s");
	cr_assert_eq(runs, 1);
	/* The piece that was not begun, and the answer of the one that was. */
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SHUTDOWN], 2);
}

static int ask_from_work(struct gyre_work *work)
{
	const struct place *place = gyre_work_get(work, place);
	struct gyre_mail *answer = NULL;
	uint64_t value;
	int r = gyre_system_ask(fixture.system, place->address, gyre_work_new(work, number, 41), 0,
				&answer);

	expect(r == 0);
	value = gyre_mail_get(answer, number)->value;
	gyre_mail_destroy(NULL, answer);
	return gyre_work_reply(work, gyre_work_new(work, number, value));
}

static int offload_ask(struct gyre_stack *stack)
{
	struct offload_frame *frame = offload_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, ask_from_work,
				       gyre_new(stack, place, spawn_here(stack, &adder_class)), 0,
				       &frame->futures[0]));
	expect(gyre_future_get(&frame->futures[0], number)->value == 42);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offload, may_ask_actors)
{
	play(1, offload_ask);
}
