/*
 * Submitting and waiting: how often the kernel is entered, and for how long.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>

#include "ring/ring_support.h"

static uint64_t enters(const struct gy_ring *ring)
{
	return gy_ring_counters(ring)->enters;
}

Test(ring, makes_no_call_when_there_is_nothing_to_do)
{
	struct gy_ring *ring = ring_open_uring(16, 1024);
	uint64_t before = enters(ring);

	for (int i = 0; i < 100; i++) {
		cr_assert_eq(gy_ring_submit(ring), 0);
		cr_assert_eq(gy_ring_submit_and_wait(ring, 0), 0);
		cr_assert_eq(gy_ring_reap(ring), 0);
		cr_assert_not(gy_ring_ready(ring));
		cr_assert_not(gy_ring_has_prepared(ring));
	}
	cr_assert_eq(enters(ring), before);
	gy_ring_destroy(ring);
}

Test(ring, makes_one_call_that_submits_and_collects)
{
	struct gy_ring *ring = ring_open(0, 0);
	uint64_t before = enters(ring);
	uint64_t submitted = gy_ring_counters(ring)->submitted;
	struct record sending[4];
	int fds[2];

	pair_open(fds);
	for (int i = 0; i < 4; i++) {
		record_init(&sending[i]);
		cr_assert_eq(gy_ring_send(ring, &sending[i].op, fds[0], "x", 1), 0);
	}
	cr_assert(gy_ring_has_prepared(ring));
	cr_assert_eq(enters(ring), before);
	cr_assert_eq(gy_ring_submit_and_wait(ring, 0), 4);
	cr_assert(gy_ring_ready(ring));
	cr_assert_eq(gy_ring_reap(ring), 4);
	cr_assert_eq(enters(ring), before + 1);
	cr_assert_eq(gy_ring_counters(ring)->submitted, submitted + 4);
	cr_assert_eq(gy_ring_counters(ring)->completions, 4);
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* Completion work waits for the owner's call; that it is there must be seen without one. */
Test(ring, sees_flagged_work_and_enters_for_it)
{
	struct gy_ring *ring = ring_open_uring(16, 1024);
	struct record record;
	uint64_t before;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	cr_assert_eq(gy_ring_submit_and_wait(ring, 0), 1);
	cr_assert_not(gy_ring_ready(ring));
	before = enters(ring);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	cr_assert(gy_ring_ready(ring));
	cr_assert_geq(gy_ring_submit_and_wait(ring, 0), 0);
	/* None where the kernel cannot defer and the work was done in write(). */
	cr_assert_leq(enters(ring), before + 1);
	cr_assert_eq(gy_ring_reap(ring), 1);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, does_not_block_while_completions_are_there)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record record;
	uint64_t before;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_send(ring, &record.op, fds[0], "x", 1), 0);
	cr_assert_eq(gy_ring_submit_and_wait(ring, UINT64_MAX), 1);
	before = enters(ring);
	cr_assert_eq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	if (engine_of_tests() == GY_RING_IO_URING) {
		cr_assert_eq(enters(ring), before);
	}
	cr_assert_leq(gy_ring_counters(ring)->blocked, 1);
	cr_assert_eq(gy_ring_reap(ring), 1);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, waits_no_less_than_its_time_out)
{
	const uint64_t timeouts_ns[] = { 1, 1000, 100000, 1000000, 1300000, 20000000, 1000000001 };
	struct gy_ring *ring = ring_open(0, 0);

	for (size_t i = 0; i < gy_countof(timeouts_ns); i++) {
		uint64_t before_ns = gy_clock_machine_ns();

		cr_assert_eq(gy_ring_submit_and_wait(ring, timeouts_ns[i]), 0);
		cr_assert_geq(gy_clock_machine_ns() - before_ns, timeouts_ns[i]);
		cr_assert_eq(gy_ring_reap(ring), 0);
	}
	cr_assert_eq(gy_ring_counters(ring)->blocked, gy_countof(timeouts_ns));
	gy_ring_destroy(ring);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

/* Also shows that time-outs too long for the kernel do not turn into short ones. */
Test(ring, takes_a_signal_for_no_error)
{
	const uint64_t timeouts_ns[] = { UINT64_MAX,	UINT64_MAX - 1,	   INT64_MAX,
					 INT64_MAX / 2, INT64_MAX / 2 + 1, 60000000000 };
	const struct itimerval again = { { .tv_usec = 20000 }, { .tv_usec = 20000 } };
	const struct sigaction action = { .sa_handler = count_signal };
	struct gy_ring *ring = ring_open(0, 0);

	cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &again, NULL), 0);
	for (size_t i = 0; i < gy_countof(timeouts_ns); i++) {
		sig_atomic_t before = signals;

		cr_assert_eq(gy_ring_submit_and_wait(ring, timeouts_ns[i]), 0);
		cr_assert_gt(signals, before);
	}
	cr_assert_eq(setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL), 0);
	gy_ring_destroy(ring);
}

Test(ring, submits_by_itself_when_its_submission_queue_is_full)
{
	enum { OPERATIONS = 3 * 8 };
	struct gy_ring *ring = ring_open(0, 0);
	struct record records[OPERATIONS];
	int fds[2];

	pair_open(fds);
	for (int i = 0; i < OPERATIONS; i++) {
		record_init(&records[i]);
		cr_assert_eq(gy_ring_poll(ring, &records[i].op, fds[0], POLLIN), 0);
	}
	cr_assert_eq(write(fds[1], "x", 1), 1);
	for (int i = 0; i < OPERATIONS; i++) {
		turn_until_final(ring, &records[i]);
		cr_assert_eq(records[i].rounds, 1);
	}
	cr_assert_eq(gy_ring_counters(ring)->completions, OPERATIONS);
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* The completion queue holds 4 x 8; the kernel keeps the rest and flags that it does. */
Test(ring, loses_nothing_when_its_completion_queue_is_full)
{
	enum { OPERATIONS = 200 };
	static struct record records[OPERATIONS];
	struct gy_ring *ring = ring_open(0, 0);
	int fds[2];

	pair_open(fds);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	for (int i = 0; i < OPERATIONS; i++) {
		record_init(&records[i]);
		cr_assert_eq(gy_ring_poll(ring, &records[i].op, fds[0], POLLIN), 0);
	}
	for (int i = 0; i < OPERATIONS; i++) {
		turn_until_final(ring, &records[i]);
		cr_assert_eq(records[i].rounds, 1);
	}
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, answers_eagain_where_no_entry_can_be_had)
{
	struct gy_ring *ring = ring_make(0, 0);
	struct record records[9];
	int fds[2];

	pair_open(fds);
	for (int i = 0; i < 8; i++) {
		record_init(&records[i]);
		cr_assert_eq(gy_ring_send(ring, &records[i].op, fds[0], "x", 1), 0);
	}
	record_init(&records[8]);
	cr_assert_eq(gy_ring_send(ring, &records[8].op, fds[0], "x", 1), -EAGAIN);
	cr_assert_eq(gy_ring_close(ring, &records[8].op, fds[0]), -EAGAIN);
	cr_assert_eq(gy_ring_cancel(ring, &records[0].op), -EAGAIN);
	cr_assert_not(records[8].op.armed);
	cr_assert_eq(records[8].op.generation, 0);
	/* Enabling it makes room, and arms the waker though there was none. */
	cr_assert_eq(gy_ring_enable(ring), 0);
	for (int i = 0; i < 8; i++) {
		turn_until_final(ring, &records[i]);
		cr_assert_eq(record_last(&records[i])->result, 1);
	}
	gy_ring_wake(ring);
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	pair_close(fds);
	gy_ring_destroy(ring);
}

struct chain {
	struct gy_op op;
	struct gy_ring *ring;
	int fd;
	int left;
};

static void chain_complete(struct gy_op *op, const struct gy_completion *completion)
{
	struct chain *chain = gy_container_of(op, struct chain, op);

	cr_assert_eq(completion->result, 1);
	if (--chain->left > 0) {
		cr_assert_eq(gy_ring_send(chain->ring, op, chain->fd, "x", 1), 0);
	}
}

Test(ring, lets_a_completion_arm_its_operation_anew)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct chain chain = { .ring = ring, .left = 100 };
	int fds[2];

	pair_open(fds);
	chain.fd = fds[0];
	gy_op_init(&chain.op, chain_complete);
	cr_assert_eq(gy_ring_send(ring, &chain.op, chain.fd, "x", 1), 0);
	while (chain.left > 0) {
		cr_assert_eq(gy_ring_submit_and_wait(ring, UINT64_MAX), 1);
		cr_assert_eq(gy_ring_reap(ring), 1);
	}
	cr_assert_not(chain.op.armed);
	cr_assert_eq(chain.op.generation, 100);
	pair_close(fds);
	gy_ring_destroy(ring);
}
