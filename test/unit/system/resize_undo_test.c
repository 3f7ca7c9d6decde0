/*
 * Growing while something is lacking: each allocation in turn, each descriptor, and each thread.
 * Whatever it is, a resize that fails leaves the system as it was: it serves, can grow later, and
 * stops as any other.
 */
#include "fixture.h"

#include <gyre/group.h>
#include <gyre/listen.h>
#include <gyre/outside.h>
#include <gyre/resize.h>

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "echo.h"
#include "heap.h"
#include "system/system.h"
#include "threads.h"

TestSuite(resize_undo, .timeout = 400); /* each allocation in its turn, of each kind */

enum { LOOPS = 8, ROUNDS_MAX = 1000 };

/* Of a system that lacks something in each round. */
enum phase {
	NEW,	/* it has not started */
	RUNS,	/* its loops come for the first time */
	RETURN, /* its loops have been there, and retired */
};

struct lack {
	void (*begin)(uint32_t number);
	bool (*end)(void); /* whether something has been lacking */
	int error;
};

/* ---- memory ---- */

static const struct lack memory = { heap_end_after, heap_recover, -ENOMEM };
static const struct lack once = { heap_lack_once_after, heap_recover, -ENOMEM };

/* ---- threads ---- */

static const struct lack threads = { threads_end_after, threads_recover, -EAGAIN };

/* ---- descriptors ---- */

static struct rlimit limit_before;

static int lowest_free(void)
{
	int lowest = dup(STDERR_FILENO);

	cr_assert_geq(lowest, 0);
	(void)close(lowest);
	return lowest;
}

static void limit_descriptors(uint32_t number)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit_before), 0);
	limit = limit_before;
	limit.rlim_cur = (rlim_t)lowest_free() + number;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The lack of a descriptor for what a new loop is to do beside the others is a warning. */
static bool free_descriptors(void)
{
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit_before), 0);
	return fixture.errors + fixture.warnings > 0;
}

static const struct lack descriptors = { limit_descriptors, free_descriptors, -EMFILE };

/* ---- a round ---- */

static struct gyre_socket_address address;
static struct gyre_address adder;
static struct gyre_address group;

static void open_all(void)
{
	const struct gyre_acceptor_options listen = { .bind = "tcp://127.0.0.1:0",
						      .init_channel = init_echo,
						      .ret_address = &address };

	adder = spawn_outside(&adder_class, 0);
	cr_assert_eq(gyre_system_listen(fixture.system, &listen, NULL), 0);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, NULL,
					     &group),
		     0);
}

static void expect_served(uint32_t loops)
{
	const struct gyre_spawn_options last = { .place = GYRE_PLACE_LOOP, .loop = loops - 1 };
	struct gyre_address there;
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	cr_expect_eq(gyre_system_loops(fixture.system), loops);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_expect(echoes(fd));
	(void)close(fd);
	cr_expect_eq(gyre_system_ask(fixture.system, adder,
				     gyre_system_new(fixture.system, number, 1), 0, NULL),
		     0);
	cr_assert_eq(
		gyre_system_spawn(fixture.system, &adder_class, GYRE_NO_ARGUMENT, &last, &there),
		0);
	cr_expect_eq(gyre_system_ask(fixture.system, there,
				     gyre_system_new(fixture.system, number, 1), 0, NULL),
		     0);
}

static void begin_round(enum phase phase)
{
	const struct gyre_system_options options = {
		.loops = 1, .loops_max = LOOPS, .ring_entries = 64, .buffer_count = 16
	};

	fixture_open_with(&options);
	open_all();
	if (phase != NEW) {
		cr_assert_eq(gyre_system_start(fixture.system), 0);
		expect_served(1);
	}
	if (phase == RETURN) {
		cr_assert_eq(gyre_system_resize(fixture.system, LOOPS), 0);
		cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	}
}

/* Whether something was lacking. */
static bool play_round(enum phase phase, const struct lack *lack, uint32_t number)
{
	uint32_t loops;
	bool lacked;
	int r;

	begin_round(phase);
	fixture.warnings = 0;
	lack->begin(number);
	r = gyre_system_resize(fixture.system, LOOPS);
	while (gy_load_acquire(&fixture.system->net.pending_opens) > 0 && phase != NEW) {
		(void)sched_yield();
	}
	lacked = lack->end();
	cr_expect(r == 0 || (lacked && r == lack->error), "round %u: %d", number, r);
	loops = r == 0 ? LOOPS : 1;
	cr_expect(r == 0 || fixture.errors > 0, "a failure is told");
	cr_expect(lacked || fixture.errors == 0, "%s", fixture.line);
	fixture.errors = 0;
	if (phase == NEW) {
		cr_assert_eq(gyre_system_start(fixture.system), 0);
	}
	expect_served(loops);
	cr_assert_eq(gyre_system_resize(fixture.system, LOOPS), 0);
	expect_served(LOOPS);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	expect_served(1);
	fixture_close();
	return lacked;
}

static void play_rounds(enum phase phase, const struct lack *lack)
{
	uint32_t number = 0;

	while (play_round(phase, lack, number)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_geq(number, LOOPS - 1);
}

Test(resize_undo, serves_on_without_memory_for_each_step)
{
	play_rounds(RUNS, &memory);
}

Test(resize_undo, serves_on_when_one_allocation_fails)
{
	play_rounds(RUNS, &once);
}

Test(resize_undo, serves_on_without_memory_for_loops_that_return)
{
	play_rounds(RETURN, &memory);
}

Test(resize_undo, serves_on_without_descriptors_for_each_step)
{
	play_rounds(RUNS, &descriptors);
}

Test(resize_undo, serves_on_without_descriptors_for_loops_that_return)
{
	play_rounds(RETURN, &descriptors);
}

Test(resize_undo, serves_on_without_threads_for_each_loop)
{
	play_rounds(RUNS, &threads);
}

Test(resize_undo, serves_on_without_threads_for_loops_that_return)
{
	play_rounds(RETURN, &threads);
}

Test(resize_undo, before_the_start_leaves_one_loop_without_memory)
{
	play_rounds(NEW, &memory);
}

Test(resize_undo, before_the_start_leaves_one_loop_when_one_allocation_fails)
{
	play_rounds(NEW, &once);
}

Test(resize_undo, before_the_start_leaves_one_loop_without_descriptors)
{
	play_rounds(NEW, &descriptors);
}

Test(resize_undo, before_the_start_keeps_no_descriptors_of_loops_that_failed)
{
	int before;

	begin_round(NEW);
	before = descriptors_open();
	limit_descriptors(2 * (LOOPS - 2));
	cr_expect_eq(gyre_system_resize(fixture.system, LOOPS), -EMFILE);
	(void)free_descriptors();
	/* Of each home the waker stays, by which others may have woken it. */
	cr_expect_leq(descriptors_open(), before + LOOPS - 2);
	fixture.errors = 0;
	fixture_close();
}
