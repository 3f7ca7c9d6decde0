/*
 * The pools for mail of threads that turn no loop: each host has its own, which go with it, and the
 * process keeps its own.
 */
#include <pthread.h>
#include <unistd.h>

#include "sim_rig.h"

#include "loop/foreign_nodes.h"
#include "sim/sim.h"

enum { SENT = 40 };

struct number {
	uint32_t number;
};
GYRE_MESSAGE(number, 0x7001);

static int take_slow(struct gyre_stack *stack)
{
	if (gyre_message(stack, number)->number == 0) {
		(void)sleep(3); /* the others wait meanwhile */
	}
	return gyre_return(stack);
}

static const struct gyre_class slow_class = { .name = "slow",
					      .behaviour = { .notice = take_slow } };

struct service {
	struct gyre_system *system;
	struct gyre_address to;
	uint32_t pools; /* of the host, when all was sent */
};

static void start(struct service *service)
{
	const struct gyre_system_options options = { .loops = 1 };

	cr_assert_eq(gyre_system_create(&options, &service->system), 0);
	cr_assert_eq(gyre_system_start(service->system), 0);
	cr_assert_eq(gyre_system_spawn(service->system, &slow_class, GYRE_NO_ARGUMENT, NULL,
				       &service->to),
		     0);
}

static void *send_all(void *arg)
{
	struct service *service = (struct service *)arg;

	for (uint32_t i = 0; i < SENT; i++) {
		cr_assert_eq(
			gyre_system_notify(service->system, service->to,
					   gyre_system_new(service->system, number, .number = i)),
			0);
	}
	return NULL;
}

static void send_by_thread(struct service *service)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, send_all, service), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	service->pools = gy_foreign_nodes_use().pools;
}

/* Its thread has ended before its loop gives the nodes back. */
static int boot_alpha(void *arg)
{
	struct service *service = (struct service *)arg;

	start(service);
	send_by_thread(service);
	(void)sleep(10);
	gyre_system_destroy(service->system);
	return 0;
}

/* Its thread has a pool while alpha's loop gives back what was alpha's. */
static int boot_beta(void *arg)
{
	struct service *service = (struct service *)arg;

	start(service);
	(void)send_all(service);
	(void)sleep(8);
	(void)send_all(service);
	(void)sleep(20); /* alpha is gone by then */
	(void)send_all(service);
	(void)sleep(5);
	service->pools = gy_foreign_nodes_use().pools;
	gyre_system_destroy(service->system);
	return 0;
}

static void play_two(bool leaks, bool crashes)
{
	const struct gyre_sim_options options = { .seed = 1, .leaks = leaks };
	struct service alpha = { 0 };
	struct service beta = { 0 };
	struct gyre_sim *sim;
	uint32_t pools = gy_foreign_nodes_use().pools;
	uint32_t first;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	first = sim_add(sim, "alpha", boot_alpha, &alpha);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	(void)sim_add(sim, "beta", boot_beta, &beta);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(7)), 0);
	if (crashes) {
		cr_assert_eq(gyre_sim_crash(sim, first), 0);
	}
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	cr_assert_eq(alpha.pools, 1);
	cr_assert_eq(beta.pools, 1);
	cr_assert_not(sim->hosts[1]->up);
	gyre_sim_destroy(sim);
	cr_assert_eq(gy_foreign_nodes_use().pools, pools);
}

Test(sim_foreign_pools, of_a_host_go_with_it_when_it_crashes)
{
	play_two(false, true);
}

Test(sim_foreign_pools, of_a_host_are_no_leak_of_another)
{
	play_two(true, false);
}

/* ---- the same again ---- */

static int boot_few(void *arg)
{
	struct service service;

	(void)arg;
	start(&service);
	send_by_thread(&service);
	gyre_system_destroy(service.system);
	return 0;
}

static uint64_t digest_of(const struct gyre_sim_options *options)
{
	struct gyre_sim *sim;
	uint64_t digest;

	cr_assert_eq(gyre_sim_create(options, &sim), 0);
	(void)sim_add(sim, "alpha", boot_few, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert_not(sim->hosts[0]->up);
	digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_foreign_pools, are_made_by_each_simulation_of_a_process_alike)
{
	const struct gyre_sim_options options = { .seed = 7, .faults = 1000 };
	uint64_t first = digest_of(&options);

	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(digest_of(&options), first);
	}
}

/* ---- outside ---- */

static int do_nothing(void *arg)
{
	(void)arg;
	return 0;
}

static bool is_true(void *arg)
{
	(void)arg;
	return true;
}

Test(sim_foreign_pools, of_a_thread_outside_stay_its_own)
{
	struct gyre_sim *sim = sim_make(1);
	const struct gy_foreign_mine *mine;
	struct service service;

	start(&service);
	gyre_mail_destroy(NULL, gyre_system_new(service.system, number, .number = 1));
	mine = gy_foreign_mine;
	cr_assert_not_null(mine);
	(void)sim_add(sim, "alpha", do_nothing, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gy_foreign_mine, mine);
	cr_assert_eq(gyre_sim_restart(sim, 0), 0);
	cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	cr_assert_eq(gy_foreign_mine, mine);
	cr_assert_eq(gyre_sim_run_until(sim, is_true, NULL, 1), 0);
	cr_assert_eq(gy_foreign_mine, mine);
	gyre_sim_destroy(sim);
	cr_assert_eq(gy_foreign_mine, mine);
	gyre_system_destroy(service.system);
}
