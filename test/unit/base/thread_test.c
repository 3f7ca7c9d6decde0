/*
 * What threads ask of the kernel: masks, CPUs, and waits that end by the clock.
 */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/thread.h"

Test(thread, blocks_every_signal_and_then_those_of_before)
{
	sigset_t before;
	sigset_t all;
	sigset_t now;

	gy_thread_block_signals(&before);
	gy_thread_mask_signals(SIG_BLOCK, NULL, &all);
	cr_assert_eq(sigismember(&all, SIGTERM), 1);
	cr_assert_eq(sigismember(&all, SIGUSR1), 1);
	gy_thread_restore_signals(&before);
	gy_thread_mask_signals(SIG_BLOCK, NULL, &now);
	cr_assert_eq(sigismember(&now, SIGUSR1), sigismember(&before, SIGUSR1));
}

Test(thread, runs_on_one_of_its_cpus)
{
	struct gy_cpus cpus = { 0 };
	struct gy_cpus one = { 0 };
	struct gy_cpus now = { 0 };
	int cpu = 0;

	cr_assert_eq(gy_thread_cpus(&cpus), 0);
	while (!gy_cpus_has(&cpus, cpu)) {
		cr_assert_lt(++cpu, GY_CPUS_MAX);
	}
	gy_cpus_add(&one, cpu);
	cr_assert_eq(gy_thread_set_cpus(&one), 0);
	cr_assert_eq(gy_thread_cpus(&now), 0);
	cr_assert_eq(memcmp(&now, &one, sizeof(one)), 0);
	cr_assert_eq(gy_thread_set_cpus(&cpus), 0);
}

Test(condition, is_waited_for_until_the_clock_is_there)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	uint64_t until_ns = gy_clock_machine_ns() + 2000000;
	pthread_cond_t condition;

	gy_condition_init(&condition);
	(void)pthread_mutex_lock(&mutex);
	while (gy_condition_wait_until(&condition, &mutex, until_ns)) {
	}
	(void)pthread_mutex_unlock(&mutex);
	cr_assert_geq(gy_clock_machine_ns(), until_ns);
	(void)pthread_cond_destroy(&condition);
}
