/*
 * The threads of gyre's epoll engine that do what waits for a disk, as tasks of a host.
 */
#include <pthread.h>

#include "disk_rig.h"

enum { SEEDS = 20, HOSTS = 2 };

static const struct gyre_sim_disk slow = { .delay_ns = GYRE_MILLISECONDS(50) };

struct opener {
	struct gyre_system *system;
	uint64_t timeout_ns;
	bool for_ever; /* it opens again and again */
	uint32_t opened;
	uint32_t given_up;
	uint32_t ended; /* boots that have */
};

struct job {
	struct opener *opener;
};
GYRE_MESSAGE(job, 0x4801);

struct frame {
	struct gyre_future future;
};

static int on_mount(struct gyre_stack *stack)
{
	struct opener *opener = gyre_message(stack, job)->opener;
	struct frame *frame = (struct frame *)gyre_frame(stack);
	int error;

	GYRE_BEGIN(stack);
	do {
		GYRE_AWAIT(stack, gyre_file_open(stack, "/file", NULL, opener->timeout_ns,
						 &frame->future));
		error = gyre_future_error(&frame->future);
		cr_assert(error == 0 || error == -ETIMEDOUT, "%d", error);
		opener->opened += error == 0;
		opener->given_up += error != 0;
	} while (opener->for_ever);
	gyre_system_stop(opener->system);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class opener_class = { .name = "opener",
						.frame_bytes = sizeof(struct frame),
						.mount = on_mount };

static int be_opener(void *arg)
{
	const struct gyre_system_options options = { .loops = 1 };
	struct opener *opener = (struct opener *)arg;
	struct gyre_address address;

	cr_assert_eq(gyre_system_create(&options, &opener->system), 0);
	cr_assert_eq(gyre_system_spawn(opener->system, &opener_class,
				       gyre_system_new(opener->system, job, opener), NULL,
				       &address),
		     0);
	cr_assert_eq(gyre_system_start(opener->system), 0);
	cr_assert_eq(gyre_system_wait(opener->system), 0);
	gyre_system_destroy(opener->system);
	opener->ended++;
	return 0;
}

static void add_opener(struct gyre_sim *sim, const char *name, struct opener *opener)
{
	uint32_t host = sim_add(sim, name, be_opener, opener);

	cr_assert_eq(gyre_sim_disk_write(sim, host, "/file", "x", 1), 0);
	cr_assert_eq(gyre_sim_disk_set(sim, host, &slow), 0);
}

Test(sim_file_work, gives_back_what_a_late_open_has_after_the_end_of_all_loops)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct gyre_sim_options options = { .seed = seed, .leaks = true };
		struct opener opener = { .timeout_ns = GYRE_MILLISECONDS(10) };
		struct gyre_sim *sim;

		cr_assert_eq(gyre_sim_create(&options, &sim), 0);
		add_opener(sim, "alpha", &opener);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0, "%s", gyre_sim_failure(sim));
		cr_assert_eq(opener.given_up, 1);
		cr_assert_eq(opener.ended, 1);
		gyre_sim_destroy(sim);
	}
}

Test(sim_file_work, goes_on_while_another_host_crashes_in_the_midst_of_it)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct gyre_sim *sim = sim_make(seed);
		struct opener openers[HOSTS] = {
			{ .timeout_ns = GYRE_FOREVER, .for_ever = true },
			{ .timeout_ns = GYRE_FOREVER, .for_ever = true },
		};
		uint32_t before[HOSTS];

		add_opener(sim, "alpha", &openers[0]);
		add_opener(sim, "beta", &openers[1]);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(2)), 0);
		cr_assert_eq(gyre_sim_crash(sim, 0), 0);
		before[0] = openers[0].opened;
		before[1] = openers[1].opened;
		cr_assert_gt(before[0], 10);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(2)), 0);
		cr_assert_eq(openers[0].opened, before[0]);
		cr_assert_gt(openers[1].opened, before[1] + 10);
		cr_assert_eq(gyre_sim_restart(sim, 0), 0);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(2)), 0);
		cr_assert_gt(openers[0].opened, before[0] + 10);
		gyre_sim_destroy(sim);
	}
}

/* ---- threads that nobody joins ---- */

static void *write_slowly(void *arg)
{
	int fd = disk_write("/file", 'x', 10);

	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(close(fd), 0);
	*(bool *)arg = true;
	return NULL;
}

static int leave_thread(void *arg)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, write_slowly, arg), 0);
	cr_assert_eq(pthread_detach(thread), 0);
	return 0;
}

/* Each wait for this disk takes more than the second that such threads have otherwise. */
Test(sim_file_work, has_time_to_end_where_the_disk_is_slow)
{
	const struct gyre_sim_options options = { .seed = 1, .leaks = true };
	const struct gyre_sim_disk slower = { .delay_ns = GYRE_SECONDS(2) };
	struct gyre_sim *sim;
	bool done = false;
	uint32_t alpha;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	alpha = sim_add(sim, "alpha", leave_thread, &done);
	cr_assert_eq(gyre_sim_disk_set(sim, alpha, &slower), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0, "%s", gyre_sim_failure(sim));
	cr_assert(done);
	gyre_sim_destroy(sim);
}
