/*
 * epoll as the kernel has it, where gyre does not use it so.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net_rig.h"

static void play(gyre_sim_boot_fn boot, void *arg)
{
	struct gyre_sim *sim = sim_make(1);

	(void)sim_add(sim, "alpha", boot, arg);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	gyre_sim_destroy(sim);
}

static void *wait_a_second(void *arg)
{
	struct epoll_event event;

	cr_assert_eq(epoll_wait(*(int *)arg, &event, 1, 1000), 0);
	*(int *)arg = -1;
	return NULL;
}

static int close_under_waiter(void *arg)
{
	int *epoll = (int *)arg;
	pthread_t thread;

	*epoll = epoll_create1(0);
	cr_assert_eq(pthread_create(&thread, NULL, wait_a_second, epoll), 0);
	net_pause(GYRE_MILLISECONDS(100));
	cr_assert_eq(close(*epoll), 0);
	return pthread_join(thread, NULL);
}

Test(sim_epoll, stays_as_long_as_somebody_waits)
{
	int epoll = 0;

	play(close_under_waiter, &epoll);
	cr_assert_eq(epoll, -1);
}

static int tell_once(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };
	int epoll = epoll_create1(0);
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
	cr_assert_eq(write(ends[1], "x", 1), 1);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 100), 1);
	cr_assert_eq(close(ends[1]), 0);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 100), 0);
	event.events = EPOLLIN | EPOLLONESHOT;
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event), 0);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 100), 1);
	cr_assert_eq(event.events & EPOLLHUP, EPOLLHUP);
	*(bool *)arg = true;
	return 0;
}

Test(sim_epoll, tells_nothing_of_what_was_to_be_told_once_until_it_is_set_anew)
{
	bool done = false;

	play(tell_once, &done);
	cr_assert(done);
}
