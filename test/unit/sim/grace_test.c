/*
 * Grace periods of RCU, which hosts wait for as threads of the kernel would.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <urcu/urcu-qsbr.h>

#include "net_rig.h"

struct grace {
	struct rcu_head head; /* first */
	bool ended;
	bool reader_ends;
};

static void *read_for_ever(void *arg)
{
	struct epoll_event event;

	(void)arg;
	urcu_qsbr_register_thread();
	(void)epoll_wait(epoll_create1(0), &event, 1, -1);
	return NULL;
}

/* Online, and does not look for events. */
static void *read_for_a_second(void *arg)
{
	struct grace *grace = (struct grace *)arg;

	urcu_qsbr_register_thread();
	net_pause(GYRE_SECONDS(1));
	grace->reader_ends = true;
	urcu_qsbr_unregister_thread();
	return NULL;
}

static void note_end(struct rcu_head *head)
{
	((struct grace *)(void *)head)->ended = true;
}

static int wait_beside(void *(*read)(void *), struct grace *grace)
{
	pthread_t reader;

	cr_assert_eq(pthread_create(&reader, NULL, read, grace), 0);
	net_pause(GYRE_MILLISECONDS(10));
	urcu_qsbr_call_rcu(&grace->head, note_end);
	net_pause(GYRE_MILLISECONDS(10));
	return 0;
}

static int wait_beside_one_that_waits(void *arg)
{
	return wait_beside(read_for_ever, (struct grace *)arg);
}

static int wait_beside_one_that_reads(void *arg)
{
	struct grace *grace = (struct grace *)arg;
	int r = wait_beside(read_for_a_second, grace);

	cr_expect_not(grace->ended, "somebody reads yet");
	net_pause(GYRE_SECONDS(2));
	return r;
}

static void play(gyre_sim_boot_fn boot, struct grace *grace)
{
	struct gyre_sim *sim = sim_make(1);

	(void)sim_add(sim, "alpha", boot, grace);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	gyre_sim_destroy(sim);
}

Test(sim_grace, ends_though_a_reader_waits_for_events_for_ever)
{
	struct grace grace = { 0 };

	play(wait_beside_one_that_waits, &grace);
	cr_expect(grace.ended);
}

Test(sim_grace, lasts_as_long_as_somebody_reads)
{
	struct grace grace = { 0 };

	play(wait_beside_one_that_reads, &grace);
	cr_expect(grace.reader_ends);
	cr_expect(grace.ended);
}
