/*
 * What a simulation does to hosts that asks for it: refusals, points of the program, and what was
 * not given back.
 */
#define GYRE_SIM
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_rig.h"

enum { ALWAYS = 1000000 };

static void sim_no_log(const struct gyre_log_line *line, void *arg)
{
	(void)line;
	(void)arg;
}

static struct gyre_sim *make(const struct gyre_sim_options *options, gyre_sim_boot_fn boot,
			     void *arg)
{
	struct gyre_sim *sim;

	cr_assert_eq(gyre_sim_create(options, &sim), 0);
	(void)sim_add(sim, "alpha", boot, arg);
	return sim;
}

/* ---- refusals ---- */

struct asked {
	int descriptor_error;
	int system_error;
};

static int ask_for_all(void *arg)
{
	struct asked *asked = (struct asked *)arg;
	const struct gyre_system_options options = { .loops = 1, .log = sim_no_log };
	struct gyre_system *system = NULL;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	asked->descriptor_error = fd < 0 ? errno : 0;
	asked->system_error = gyre_system_create(&options, &system);
	gyre_system_destroy(system);
	if (fd >= 0) {
		(void)close(fd);
	}
	return 0;
}

Test(sim_refusals, are_of_memory_and_of_descriptors_and_end_with_the_heal)
{
	const struct gyre_sim_options options = { .refusals = ALWAYS };
	struct asked asked = { 0 };
	struct gyre_sim *sim = make(&options, ask_for_all, &asked);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_expect_eq(asked.descriptor_error, EMFILE);
	cr_expect_eq(asked.system_error, -ENOMEM);
	gyre_sim_heal(sim);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_expect_eq(asked.descriptor_error, 0);
	cr_expect_eq(asked.system_error, 0);
	gyre_sim_destroy(sim);
}

static int send_one(void *arg)
{
	const struct sockaddr_in to = net_address(UINT32_MAX, NET_PORT);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd >= 0) {
		*(int *)arg = sendto(fd, "a", 1, 0, (const struct sockaddr *)&to, sizeof(to)) < 0
				      ? errno
				      : 0;
		(void)close(fd);
	}
	return 0;
}

Test(sim_refusals, are_of_buffers_for_datagrams)
{
	bool refused = false;

	/* So seldom that the socket itself is mostly there. */
	for (uint64_t seed = 0; seed < 64 && !refused; seed++) {
		const struct gyre_sim_options options = { .seed = seed, .refusals = ALWAYS / 4 };
		int error = 0;
		struct gyre_sim *sim = make(&options, send_one, &error);

		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
		refused = error == ENOBUFS;
		gyre_sim_destroy(sim);
	}
	cr_expect(refused);
}

/* ---- points ---- */

static int pass_a_point(void *arg)
{
	*(bool *)arg = GYRE_SIM_POINT("a full cache");
	return 0;
}

Test(sim_points, take_the_rare_way_in_hosts_as_often_as_faults_are)
{
	bool rare = false;
	struct gyre_sim *sim =
		make(&(struct gyre_sim_options){ .faults = ALWAYS }, pass_a_point, &rare);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_expect(rare);
	cr_expect_not(GYRE_SIM_POINT("outside of hosts"));
	gyre_sim_destroy(sim);

	sim = make(NULL, pass_a_point, &rare);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_expect_not(rare);
	gyre_sim_destroy(sim);
}

/* ---- leaks ---- */

static const struct gyre_sim_options leaks = { .leaks = true };

static int leave_a_descriptor(void *arg)
{
	(void)arg;
	return socket(AF_INET, SOCK_DGRAM, 0) < 0;
}

static void *sleep_for_ever(void *arg)
{
	net_pause(GYRE_SECONDS(1000000));
	return arg;
}

static int leave_a_thread(void *arg)
{
	pthread_t thread;

	(void)arg;
	return pthread_create(&thread, NULL, sleep_for_ever, NULL);
}

/* Where a sanitizer finds it: it is the simulator that has to tell. */
static struct gyre_system *left[2];

static int leave_memory(void *arg)
{
	const struct gyre_system_options options = { .loops = 1, .log = sim_no_log };

	(void)arg;
	return gyre_system_create(&options, left[0] == NULL ? &left[0] : &left[1]);
}

static int leave_nothing(void *arg)
{
	const struct gyre_system_options options = { .loops = 2, .log = sim_no_log };
	struct gyre_system *system;
	int r = gyre_system_create(&options, &system);

	(void)arg;
	r = r < 0 ? r : gyre_system_start(system);
	gyre_system_stop(system);
	r = r < 0 ? r : gyre_system_wait(system);
	gyre_system_destroy(system);
	return r;
}

static void expect_leak(gyre_sim_boot_fn boot, const char *what)
{
	struct gyre_sim *sim = make(&leaks, boot, NULL);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), -ENOTRECOVERABLE);
	cr_expect_not_null(strstr(gyre_sim_failure(sim), what), "%s", gyre_sim_failure(sim));
	gyre_sim_destroy(sim);
	sim = make(NULL, boot, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0, "it was not asked for");
	gyre_sim_destroy(sim);
}

Test(sim_leaks, of_a_descriptor_are_found)
{
	expect_leak(leave_a_descriptor, "alpha has ended with 1 descriptors, 0 threads");
}

Test(sim_leaks, of_a_thread_are_found)
{
	expect_leak(leave_a_thread, "0 descriptors, 1 threads");
}

Test(sim_leaks, of_memory_are_found)
{
	expect_leak(leave_memory, "memory of gyre");
}

Test(sim_leaks, are_not_found_where_all_was_given_back)
{
	struct gyre_sim *sim = make(&leaks, leave_nothing, NULL);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0, "%s",
		     gyre_sim_failure(sim) == NULL ? "" : gyre_sim_failure(sim));
	gyre_sim_destroy(sim);
}
