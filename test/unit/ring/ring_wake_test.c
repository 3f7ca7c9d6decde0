/*
 * Wakes end a wait, from any thread, and are never lost.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/ring_private.h"
#include "ring/ring_support.h"

/* Waits without limit until something ended the wait; the kernel may end it for reasons of its own.
 */
static void wait_for_wake(struct gy_ring *ring)
{
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	cr_assert_eq(gy_ring_reap(ring), 0);
}

struct waking {
	struct gy_ring *ring;
	uint64_t blocked; /* how often the ring had blocked before this wait */
};

static void *wake_when_blocked(void *arg)
{
	const struct waking *waking = arg;
	const struct gy_ring_counters *counters = gy_ring_counters(waking->ring);

	while (gy_load_relaxed(&counters->blocked) == waking->blocked) {
		(void)sched_yield();
	}
	gy_ring_wake(waking->ring);
	return NULL;
}

/* Each wait without limit is ended by a wake of its own. */
static void wait_for_many_wakes(struct gy_ring *ring)
{
	pthread_t thread;

	for (uint64_t i = 0; i < 100; i++) {
		struct waking waking = { .ring = ring, .blocked = i };

		cr_assert_eq(pthread_create(&thread, NULL, wake_when_blocked, &waking), 0);
		wait_for_wake(ring);
		cr_assert_eq(pthread_join(thread, NULL), 0);
		cr_assert_eq(gy_ring_counters(ring)->blocked, i + 1);
	}
}

Test(ring, ends_an_unlimited_wait_when_another_thread_wakes_it)
{
	struct gy_ring *ring = ring_open(0, 0);

	wait_for_many_wakes(ring);
	gy_ring_destroy(ring);
}

Test(ring, keeps_a_wake_that_comes_before_the_wait)
{
	struct gy_ring *ring = ring_open(0, 0);

	for (int i = 0; i < 100; i++) {
		gy_ring_wake(ring);
		wait_for_wake(ring);
	}
	gy_ring_destroy(ring);
}

Test(ring, keeps_a_wake_that_comes_before_it_is_enabled)
{
	struct gy_ring *ring = ring_make(0, 0);

	gy_ring_wake(ring);
	cr_assert_eq(gy_ring_enable(ring), 0);
	wait_for_wake(ring);
	gy_ring_destroy(ring);
}

/* The eventfd is never read: a wake that was taken must not count for the next wait too. */
Test(ring, sleeps_again_after_a_wake_was_taken)
{
	struct gy_ring *ring = ring_open(0, 0);
	uint64_t blocked, before_ns;

	gy_ring_wake(ring);
	wait_for_wake(ring);
	blocked = gy_ring_counters(ring)->blocked;
	before_ns = gy_clock_machine_ns();
	cr_assert_eq(gy_ring_submit_and_wait(ring, 30000000), 0);
	/* Under valgrind a wait may end early, when the kernel flags a completion late. */
	if (!gy_sanitize_valgrind()) {
		cr_assert_geq(gy_clock_machine_ns() - before_ns, 30000000);
	}
	cr_assert_eq(gy_ring_counters(ring)->blocked, blocked + 1);
	gy_ring_destroy(ring);
}

Test(ring, is_woken_though_its_waker_had_to_be_armed_anew)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	/* As the kernel ends the poll when it is short of memory. */
	io_uring_prep_cancel64(sqe, GY_USER_WAKER, 0);
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = GY_USER_IGNORED;
	cr_assert_eq(gy_ring_submit_and_wait(ring, UINT64_MAX), 1);
	cr_assert_eq(gy_ring_reap(ring), 0);
	cr_assert(gy_ring_has_prepared(ring));
	gy_ring_wake(ring);
	wait_for_wake(ring);
	gy_ring_destroy(ring);
}

enum { ROUNDS = 20000, ROUNDS_VALGRIND = 200 };

struct player {
	struct gy_ring *own;
	struct gy_ring *other;
	uint64_t *mine;	  /* written by the other: the round that it has handed over */
	uint64_t *theirs; /* likewise by this one */
	uint64_t ahead;	  /* 1 for the one that hands over the next round */
	bool messages;
};

/* Two players hand a counter to and fro and sleep without limit in between: a lost wake hangs. */
static void *play(void *arg)
{
	const struct player *player = arg;

	const uint64_t rounds = gy_sanitize_valgrind() ? ROUNDS_VALGRIND : ROUNDS;

	cr_assert_eq(gy_ring_enable(player->own), 0);
	player->own->features.ring_messages &= player->messages;
	for (uint64_t round = 1; round <= rounds; round++) {
		while (gy_load_acquire(player->mine) < round) {
			cr_assert_geq(gy_ring_submit_and_wait(player->own, UINT64_MAX), 0);
			(void)gy_ring_reap(player->own);
		}
		gy_store_release(player->theirs, round + player->ahead);
		gy_ring_wake_from(player->own, player->other);
		cr_assert_eq(gy_ring_submit(player->own), 1);
	}
	return NULL;
}

static void play_two(bool messages)
{
	struct gy_ring *rings[2] = { ring_make(0, 0), ring_make(0, 0) };
	uint64_t rounds[2] = { 1, 0 };
	struct player players[2];
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		players[i] = (struct player){
			.own = rings[i],
			.other = rings[1 - i],
			.mine = &rounds[i],
			.theirs = &rounds[1 - i],
			.ahead = (uint64_t)i,
			.messages = messages,
		};
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, play, &players[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	for (int i = 0; i < 2; i++) {
		gy_ring_destroy(rings[i]);
	}
}

Test(ring, is_woken_from_another_ring_by_a_message, .timeout = 60)
{
	play_two(true);
}

Test(ring, is_woken_from_another_ring_by_a_write_where_there_are_no_messages, .timeout = 60)
{
	play_two(false);
}

Test(ring, prepares_a_wake_without_a_call)
{
	struct gy_ring *from = ring_open(0, 0);
	struct gy_ring *target = ring_open(0, 0);
	uint64_t enters = gy_ring_counters(from)->enters;

	gy_ring_wake_from(from, target);
	cr_assert(gy_ring_has_prepared(from));
	cr_assert_eq(gy_ring_counters(from)->enters, enters);
	cr_assert_eq(gy_ring_submit(from), 1);
	wait_for_wake(target);
	cr_assert_not(gy_ring_ready(from));
	gy_ring_destroy(from);
	gy_ring_destroy(target);
}

/* The message is refused, which is noticed by its sender, who then writes to the eventfd. */
Test(ring, is_woken_from_another_ring_though_it_is_not_enabled_yet)
{
	struct gy_ring *from = ring_open(0, 0);
	struct gy_ring *target = ring_make(0, 0);

	gy_ring_wake_from(from, target);
	cr_assert_eq(gy_ring_submit_and_wait(from, 0), 1);
	cr_assert_eq(gy_ring_reap(from), 0);
	cr_assert_eq(gy_ring_enable(target), 0);
	wait_for_wake(target);
	gy_ring_destroy(from);
	gy_ring_destroy(target);
}

/* ---- what a wait is to the kernel's statistics ---- */

static unsigned last_flags;
static unsigned last_wait;
static unsigned last_min_wait_us;
static unsigned idle_wakes; /* waits that end by themselves after the least time */

/* In the place of liburing's. */
int io_uring_enter2(unsigned fd, unsigned submit, unsigned wait, unsigned flags, sigset_t *set,
		    size_t bytes)
{
	const struct gy_kernel_wait *arg = (const struct gy_kernel_wait *)(const void *)set;
	long r = syscall(SYS_io_uring_enter, fd, submit, wait, flags, set, bytes);

	if (wait > 0) {
		idle_wakes += (flags & IORING_ENTER_EXT_ARG) != 0 && arg->min_wait_us != 0 &&
			      arg->timeout == 0;
		last_flags = flags;
		last_wait = wait;
		last_min_wait_us = (flags & IORING_ENTER_EXT_ARG) != 0 ? arg->min_wait_us : 0;
	}
	return r < 0 ? -errno : (int)r;
}

Test(ring, waits_without_counting_as_blocked_on_a_disk_where_the_kernel_can)
{
	struct gy_ring *ring = ring_open(0, 0);
	unsigned wanted = gy_ring_features(ring).no_iowait ? GY_KERNEL_ENTER_NO_IOWAIT : 0;

	cr_assert_eq(gy_ring_features(ring).no_iowait,
		     (ring->uring.features & GY_KERNEL_FEAT_NO_IOWAIT) != 0);
	gy_ring_wake(ring);
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	cr_assert_eq(last_flags & GY_KERNEL_ENTER_NO_IOWAIT, wanted);
	(void)gy_ring_reap(ring);
	last_flags = 0;
	cr_assert_geq(gy_ring_submit_and_wait(ring, 1000), 0);
	cr_assert_eq(last_flags & GY_KERNEL_ENTER_NO_IOWAIT, wanted);
	gy_ring_destroy(ring);
}

/* ---- waits for several ---- */

enum { MIN_WAIT_US = 200 };

static struct gy_ring *open_gathering(void)
{
	struct gy_ring *ring = ring_make_of(&(struct gy_ring_options){
		.engine = engine_of_tests(), .entries = 64, .min_wait_ns = MIN_WAIT_US * 1000 });

	cr_assert_eq(gy_ring_enable(ring), 0);
	return ring;
}

/* Epoll wakes for the first that comes. */
static void assert_gathers(const struct gy_ring *ring, bool yes)
{
	if (engine_of_tests() == GY_RING_EPOLL) {
		cr_assert(!gy_ring_features(ring).min_wait);
		return;
	}
	yes = yes && gy_ring_features(ring).min_wait;
	cr_assert_eq(idle_wakes, 0);
	cr_assert_eq(last_wait, yes ? GY_RING_GATHERED : 1U);
	cr_assert_eq(last_min_wait_us, yes ? MIN_WAIT_US : 0U);
}

Test(ring, waits_for_several_where_the_kernel_can_and_no_timer_is_due_before)
{
	struct gy_ring *ring = open_gathering();

	cr_assert_eq(gy_ring_features(ring).min_wait,
		     (ring->uring.features & GY_KERNEL_FEAT_MIN_TIMEOUT) != 0);
	gy_ring_wake(ring);
	wait_for_wake(ring);
	assert_gathers(ring, true);
	cr_assert_geq(gy_ring_submit_and_wait(ring, MIN_WAIT_US * 1000 + 1), 0);
	assert_gathers(ring, true);
	cr_assert_geq(gy_ring_submit_and_wait(ring, MIN_WAIT_US * 1000), 0);
	assert_gathers(ring, false);
	gy_ring_destroy(ring);
}

Test(ring, that_waits_for_several_still_ends_an_unlimited_wait_for_one)
{
	struct gy_ring *ring = open_gathering();

	wait_for_many_wakes(ring);
	cr_assert_eq(idle_wakes, 0);
	gy_ring_destroy(ring);
}

Test(ring, that_was_reopened_waits_for_several_again)
{
	const struct gy_ring_options options = { .engine = engine_of_tests(),
						 .entries = 64,
						 .min_wait_ns = MIN_WAIT_US * 1000 };
	struct gy_ring *ring = open_gathering();

	gy_ring_shut(ring);
	cr_assert_eq(gy_ring_reopen(ring, &options), 0);
	cr_assert_eq(gy_ring_enable(ring), 0);
	gy_ring_wake(ring);
	wait_for_wake(ring);
	assert_gathers(ring, true);
	gy_ring_destroy(ring);
}
