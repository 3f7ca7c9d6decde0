/* Making a system while there is no memory from each allocation on; and signals, which come once.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <gyre/signal.h>
#include <gyre/system.h>

#include "actor/stack/stack.h"
#include "fixture.h"
#include "heap.h"

TestSuite(no_memory_system, .timeout = 120);

enum { ROUNDS_MAX = 1000 };

static void count_errors(const struct gyre_log_line *line, void *arg)
{
	*(uint32_t *)arg += line->level >= GYRE_LOG_ERROR;
}

/* Whether memory was lacking. */
static bool play_round(uint32_t number, const struct gyre_node_options *node)
{
	uint32_t errors = 0;
	const struct gyre_system_options options = {
		.loops = 2, .log = count_errors, .log_arg = &errors, .node = node
	};
	struct gyre_system *system = NULL;
	uint64_t out = heap_out();
	bool lacked;
	int r;

	heap_end_after(number);
	r = gyre_system_create(&options, &system);
	lacked = heap_recover();
	if (r < 0) {
		cr_expect_eq(r, -ENOMEM, "round %u: %d", number, r);
		/* A node that listens has actors by then, which lack memory to end as well. */
		cr_expect(errors == 1 || (errors > 1 && node != NULL), "round %u: %u lines", number,
			  errors);
		cr_expect_null(system);
	}
	gyre_system_destroy(system);
	cr_expect_eq(heap_out(), out, "round %u", number);
	return lacked;
}

Test(no_memory_system, of_its_making_is_told_in_one_line)
{
	uint32_t number = 0;

	while (play_round(number, NULL)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_gt(number, 0, "nothing was lacking");
}

Test(no_memory_system, of_its_making_as_a_node_that_listens_is_told_and_nothing_is_left)
{
	const struct gyre_node_options node = { .id = 1, .listen = "tcp://127.0.0.1:0" };
	uint32_t number = 0;

	while (play_round(number, &node)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_gt(number, 0, "nothing was lacking");
}

/* ---- signals ---- */

enum { MAILS_MAX = 256 };

static struct gyre_mail *taken[MAILS_MAX];
static uint32_t taken_count;

/* Leaves no free mail of the size of a signal. */
static void take_mails(struct gyre_stack *stack)
{
	const size_t bytes = GYRE_MAIL_HEADER_BYTES + sizeof(struct gyre_signal);
	const struct gy_pool *pool =
		&gy_stack_of(stack)->home->loop.nodes.pools[gy_sizes_class(bytes)];

	do {
		expect(taken_count < MAILS_MAX);
		taken[taken_count++] = gyre_mail_create(stack, &gyre_type_gyre_signal);
	} while (pool->free_count > 0);
	heap_end_after(0);
}

static void give_back(struct gyre_stack *stack)
{
	while (taken_count > 0) {
		gyre_mail_destroy(stack, taken[--taken_count]);
	}
}

/* Until somebody has found no memory. */
static bool has_lacked(void)
{
	bool lacked = heap_recover();

	if (!lacked) {
		heap_end_after(0);
	}
	return lacked;
}

/* As the header says: until the call and its future have had all that they need. */
static int watch_without_memory(struct gyre_stack *stack)
{
	static uint32_t number;
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	do {
		expect(number < ROUNDS_MAX);
		heap_lack_once_after(number++);
		GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, future));
		(void)heap_recover();
		expect(gyre_future_error(future) == 0 || gyre_future_error(future) == -ENOMEM ||
		       gyre_future_error(future) == -ESHUTDOWN ||
		       gyre_future_error(future) == -ESRCH);
	} while (gyre_future_error(future) != 0);
	expect(number > 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(no_memory_system, has_a_signal_watched_that_is_called_for_again)
{
	const struct gyre_class class = { .name = "in want",
					  .frame_bytes = FIXTURE_FRAME_BYTES,
					  .mount = watch_without_memory };

	fixture_open(2);
	(void)spawn_outside(&class, 1);
	fixture_run();
	fixture.errors = 0;
	fixture_close();
}

static int watch_in_want(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, future));
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), future));
	take_mails(stack);
	expect(kill(getpid(), SIGHUP) == 0);
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), future));
	} while (!has_lacked());
	give_back(stack);
	GYRE_END(stack);
}

static int hear_hangup(struct gyre_stack *stack)
{
	const struct gyre_signal *signal = gyre_message(stack, gyre_signal);

	expect(signal != NULL && signal->signo == SIGHUP && signal->count == 1);
	return fixture_end(stack);
}

Test(no_memory_system, keeps_a_signal_until_it_can_be_told)
{
	const struct gyre_class class = {
		.name = "in want",
		.frame_bytes = FIXTURE_FRAME_BYTES,
		.mount = watch_in_want,
		.behaviour.event = hear_hangup,
	};
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	fixture_open(1);
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
}
