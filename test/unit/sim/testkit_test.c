/*
 * A test from its begin to its end: what it runs in, time, lost messages, memory that cannot be
 * had, and how failures are told.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/wrapped.h"
#include "testkit_rig.h"

static const char here[] = "testkit_test.c:";

/* ---- running ---- */

struct ran {
	uint32_t count;
	uint32_t loops;
	uint64_t took_ns;
};

static void look(struct gyre_test *test, void *arg)
{
	struct ran *ran = (struct ran *)arg;

	ran->count++;
	ran->loops = gyre_system_loops(gyre_test_system(test));
}

Test(sim_testkit, runs_a_test_once_on_a_system_of_one_loop)
{
	struct ran ran = { 0 };

	pass(look, &ran);
	cr_assert_eq(ran.count, 1);
	cr_assert_eq(ran.loops, 1);
}

Test(sim_testkit, runs_a_test_with_the_options_of_a_system)
{
	const struct gyre_system_options system = { .loops = 3 };
	const struct gyre_test_options options = { .system = &system };
	struct ran ran = { 0 };

	cr_assert_eq(gyre_test_run(&options, look, &ran), 0);
	cr_assert_eq(ran.loops, 3);
}

Test(sim_testkit, tells_why_a_system_cannot_be_made)
{
	const struct gyre_system_options system = { .io_ratio = 101, .log_level = GYRE_LOG_ERROR };
	const struct gyre_sim_options sim = { .faults = 1000001 };
	struct ran ran = { 0 };

	cr_assert_eq(gyre_test_run(&(struct gyre_test_options){ .system = &system }, look, &ran),
		     -EINVAL);
	cr_assert_eq(gyre_test_run(&(struct gyre_test_options){ .sim = &sim }, look, &ran),
		     -EINVAL);
	cr_assert_eq(gyre_test_run(NULL, NULL, NULL), -EINVAL);
	cr_assert_eq(ran.count, 0);
}

static void run_inside(struct gyre_test *test, void *arg)
{
	(void)test;
	cr_assert_eq(gyre_test_run(NULL, look, arg), -EINVAL);
}

Test(sim_testkit, runs_no_test_inside_of_a_test)
{
	struct ran ran = { 0 };

	pass(run_inside, &ran);
	cr_assert_eq(ran.count, 0);
}

/* ---- time ---- */

static void advance(struct gyre_test *test, void *arg)
{
	uint64_t begin_ns = gyre_sim_now(gyre_test_sim(test));

	gyre_test_advance(test, GYRE_SECONDS(1000));
	((struct ran *)arg)->took_ns = gyre_sim_now(gyre_test_sim(test)) - begin_ns;
}

Test(sim_testkit, lets_just_so_much_time_pass)
{
	struct ran ran = { 0 };

	pass(advance, &ran);
	cr_assert(ran.took_ns >= GYRE_SECONDS(1000));
	cr_assert(ran.took_ns < GYRE_SECONDS(1000) + GYRE_MILLISECONDS(1));
}

static int ring_after_a_day(struct gyre_stack *stack)
{
	struct gyre_future *slept = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(24 * 3600), slept));
	return gyre_reply(stack, gyre_new(stack, price, .cents = 1));
	GYRE_END(stack);
}

static const struct gyre_class clock_class = { .name = "clock",
					       .frame_bytes = sizeof(struct gyre_future),
					       .behaviour.ask = ring_after_a_day };

static void wait_for_a_day(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	(void)arg;
	(void)gyre_probe_ask(probe, gyre_test_spawn(test, &clock_class, GYRE_NO_ARGUMENT),
			     gyre_test_new(test, order, 1), GYRE_FOREVER);
	gyre_test_advance(test, GYRE_SECONDS(24 * 3600) - GYRE_MILLISECONDS(1));
	(void)gyre_probe_expect_none(probe, 0);
	(void)gyre_probe_expect(probe, price, GYRE_MILLISECONDS(4));
}

Test(sim_testkit, waits_for_a_timer_of_a_day_to_the_millisecond)
{
	const struct gyre_test_options options = { .time_ns_max = GYRE_SECONDS(25 * 3600) };

	for (uint64_t seed = 0; seed < 20; seed++) {
		const struct gyre_sim_options sim = { .seed = seed };
		struct gyre_test_options seeded = options;

		seeded.sim = &sim;
		cr_assert_eq(gyre_test_run(&seeded, wait_for_a_day, NULL), 0);
	}
}

Test(sim_testkit, fails_a_test_that_does_not_end)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .time_ns_max = GYRE_SECONDS(10),
						   .failure = tell,
						   .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, wait_for_a_day, NULL), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 1);
	cr_assert_str_eq(told.text, "the test has not ended after 10000 ms (time_ns_max)");
}

/* One that is taken, and one that is not. */
static void keep_messages_for_a_day(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	gyre_probe_notify(probe, gyre_probe_address(probe), gyre_test_new(test, order, 1));
	gyre_probe_notify(probe, gyre_probe_address(probe), gyre_test_new(test, order, 2));
	(void)gyre_probe_expect(probe, order, GYRE_SECONDS(1));
	wait_for_a_day(test, arg);
}

Test(sim_testkit, that_does_not_end_may_have_messages)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .time_ns_max = GYRE_SECONDS(10),
						   .failure = tell,
						   .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, keep_messages_for_a_day, NULL), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 1);
}

static void call_exit(struct gyre_test *test, void *arg)
{
	(void)test;
	(void)arg;
	exit(EXIT_SUCCESS);
}

Test(sim_testkit, fails_where_its_host_ends_before_it)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .allow_leaks = true,
						   .failure = tell,
						   .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, call_exit, NULL), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 1);
	cr_assert_not_null(strstr(told.text, "has ended before the test"), "%s", told.text);
}

static const char *complain(void *arg)
{
	return gyre_sim_now((const struct gyre_sim *)arg) > GYRE_SECONDS(2) ? "it is late" : NULL;
}

static void have_checked(struct gyre_test *test, void *arg)
{
	(void)arg;
	cr_assert_eq(gyre_sim_check(gyre_test_sim(test), "clock", complain, gyre_test_sim(test)),
		     0);
	gyre_test_advance(test, GYRE_SECONDS(3));
}

Test(sim_testkit, fails_where_a_check_of_the_simulation_does)
{
	fail(have_checked, NULL, "gyre_test_run()", "it is late");
}

/* ---- failures ---- */

static void fail_by_itself(struct gyre_test *test, void *arg)
{
	gyre_test_check(test, arg == NULL);
	gyre_test_check(test, arg != NULL);
}

Test(sim_testkit, fails_where_a_condition_does_not_hold)
{
	fail(fail_by_itself, NULL, here, "not: arg != NULL");
}

/* Counts if the trace, whose path stands in the place, ends with the failure. */
static void read_trace(const char *place, const char *text, void *arg)
{
	struct told *told = (struct told *)arg;
	char line[1024] = "";
	FILE *file = __real_fopen(told->place, "re"); /* not one of the host */

	(void)place;
	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		continue;
	}
	(void)fclose(file);
	told->count += strstr(line, text) != NULL;
}

static void fail_with_a_text(struct gyre_test *test, void *arg)
{
	gyre_test_fail(test, (const char *)arg);
}

Test(sim_testkit, fails_with_a_text)
{
	char text[] = "100 %s";

	fail(fail_with_a_text, text, here, text);
}

/* The failure is told outside of the host, whose files are not those of the machine. */
Test(sim_testkit, writes_its_failure_to_the_trace_before_it_is_told)
{
	char path[] = "/tmp/gyre-testkit-XXXXXX";
	int fd = mkstemp(path);
	const struct gyre_sim_options sim = { .seed = 3, .trace = path };
	struct told told = { 0 };
	const struct gyre_test_options options = { .sim = &sim,
						   .time_ns_max = GYRE_SECONDS(10),
						   .failure = read_trace,
						   .failure_arg = &told };
	struct ran ran = { 0 };

	cr_assert(fd >= 0);
	(void)snprintf(told.place, sizeof(told.place), "%s", path);
	cr_assert_eq(gyre_test_run(&options, advance, &ran), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 1);
	(void)close(fd);
	(void)unlink(path);
}

Test(sim_testkit, aborts_where_nobody_hears_of_a_failure, .signal = SIGABRT)
{
	(void)gyre_test_run(NULL, fail_by_itself, NULL);
}

static int refuse(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EPERM);
}

static void spawn_nothing(struct gyre_test *test, void *arg)
{
	static const struct gyre_class nameless = { .behaviour.notice = refuse };
	struct gyre_address address;

	(void)arg;
	address = gyre_test_spawn(test, &nameless, GYRE_NO_ARGUMENT);
	cr_assert(gyre_address_equal(address, GYRE_NOBODY));
}

Test(sim_testkit, fails_where_an_actor_cannot_be_made)
{
	fail(spawn_nothing, NULL, here, "the actor cannot be made: Invalid argument");
}

/* ---- what is lost ---- */

static const struct gyre_class deaf_class = { .name = "deaf", .behaviour.ask = refuse };

static void lose(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	struct gyre_address deaf = gyre_test_spawn(test, &deaf_class, GYRE_NO_ARGUMENT);

	for (uint32_t i = 0; i < *(const uint32_t *)arg; i++) {
		cr_assert_eq(gyre_probe_notify(probe, deaf, gyre_test_new(test, order, 1)), 0);
	}
}

Test(sim_testkit, fails_where_a_message_is_lost)
{
	uint32_t count = 1;

	fail(lose, &count, "gyre_test_run()", "a message was lost: order from 0:");
}

Test(sim_testkit, counts_lost_messages_that_it_has_no_room_for)
{
	uint32_t count = 100;
	struct told told = { 0 };
	const struct gyre_test_options options = { .failure = tell, .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, lose, &count), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 65);
}

Test(sim_testkit, lets_messages_be_lost_where_the_options_allow_it)
{
	const struct gyre_test_options options = { .allow_dead_letters = true };
	uint32_t count = 1;

	cr_assert_eq(gyre_test_run(&options, lose, &count), 0);
}

static void lose_and_expect(struct gyre_test *test, void *arg)
{
	uint32_t count = 2;

	(void)arg;
	lose(test, &count);
	cr_assert_eq(
		gyre_test_expect_dead_letter(test, order, GYRE_DROP_UNHANDLED, GYRE_SECONDS(1)), 0);
	cr_assert_eq(
		gyre_test_expect_dead_letter(test, order, GYRE_DROP_UNHANDLED, GYRE_SECONDS(1)), 0);
}

Test(sim_testkit, expects_messages_to_be_lost)
{
	pass(lose_and_expect, NULL);
}

Test(sim_testkit, expects_messages_to_be_lost_that_may_be)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .allow_dead_letters = true,
						   .failure = tell,
						   .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, lose_and_expect, NULL), 0);
	cr_assert_eq(told.count, 0);
}

static void expect_no_loss(struct gyre_test *test, void *arg)
{
	uint32_t count = 1;

	(void)arg;
	lose(test, &count);
	cr_assert_eq(
		gyre_test_expect_dead_letter(test, order, GYRE_DROP_UNHANDLED, GYRE_SECONDS(1)), 0);
	cr_assert_eq(
		gyre_test_expect_dead_letter(test, order, GYRE_DROP_UNHANDLED, GYRE_SECONDS(1)),
		-ETIMEDOUT);
}

Test(sim_testkit, fails_where_no_message_is_lost)
{
	fail(expect_no_loss, NULL, here, "no message of type order was lost: ");
}

static void count_lost(const struct gyre_type *type, struct gyre_address from,
		       struct gyre_address to, enum gyre_drop reason, void *arg)
{
	(void)type;
	(void)from;
	(void)to;
	*(uint32_t *)arg += reason == GYRE_DROP_UNHANDLED;
}

Test(sim_testkit, tells_the_hook_of_the_options_too)
{
	uint32_t lost = 0;
	uint32_t count = 3;
	const struct gyre_system_options system = { .dead_letter = count_lost,
						    .dead_letter_arg = &lost };
	const struct gyre_test_options options = { .system = &system, .allow_dead_letters = true };

	cr_assert_eq(gyre_test_run(&options, lose, &count), 0);
	cr_assert_eq(lost, 3);
}

/* ---- memory ---- */

enum { CHILDREN = 40 };

static const struct gyre_class child_class = { .name = "child", .state_bytes = 3000 };

/* Answers how many children there was memory for. */
static int have_children(struct gyre_stack *stack)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < CHILDREN; i++) {
		struct gyre_address child;
		int r = gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, NULL, &child);

		cr_assert(r == 0 || r == -ENOMEM);
		count += r == 0;
	}
	return gyre_reply(stack, gyre_new(stack, price, count));
}

static const struct gyre_class parent_class = { .name = "parent", .behaviour.ask = have_children };

struct sweep {
	uint64_t number;
	bool failed;
	uint32_t children; /* in all runs with a failure */
};

static void spawn_without_memory(struct gyre_test *test, void *arg)
{
	struct sweep *sweep = (struct sweep *)arg;
	struct gyre_probe *probe = gyre_probe_create(test);
	struct gyre_address parent = gyre_test_spawn(test, &parent_class, GYRE_NO_ARGUMENT);
	uint32_t children;

	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	gyre_test_fail_allocation(test, sweep->number);
	(void)gyre_probe_ask(probe, parent, gyre_test_new(test, order, 1), 0);
	children = gyre_probe_expect(probe, price, GYRE_SECONDS(1))->cents;
	sweep->failed = gyre_test_recover(test);
	/* An actor without memory for its state is made later; one without a place is not. */
	cr_assert(children <= CHILDREN && children >= CHILDREN - (sweep->failed ? 1 : 0));
	sweep->children += sweep->failed ? children : 0;
}

Test(sim_testkit, fails_each_allocation_by_its_number)
{
	struct sweep sweep = { .number = 1, .failed = true };

	for (; sweep.failed; sweep.number++) {
		pass(spawn_without_memory, &sweep);
	}
	/* As many as 40 states of 3000 bytes need, and at least one of them was missed. */
	cr_assert_gt(sweep.number, 10);
	cr_assert_lt(sweep.children, (sweep.number - 2) * CHILDREN);
}

static void keep_a_mail(struct gyre_test *test, void *arg)
{
	*(struct gyre_mail **)arg = gyre_test_new(test, order, 1);
}

Test(sim_testkit, fails_where_a_mail_is_not_given_back)
{
	struct gyre_mail *kept = NULL;
	const struct gyre_test_options options = { .allow_leaks = true };

	fail(keep_a_mail, &kept, "gyre_test_run()", "1 pieces of memory of gyre, ");
	gyre_mail_destroy(NULL, kept);
	cr_assert_eq(gyre_test_run(&options, keep_a_mail, &kept), 0);
	gyre_mail_destroy(NULL, kept);
}

static void recover_at_once(struct gyre_test *test, void *arg)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	(void)arg;
	gyre_test_fail_allocation(test, 1);
	cr_assert(!gyre_test_recover(test));
	(void)gyre_probe_notify(probe, gyre_probe_address(probe), gyre_test_new(test, order, 1));
	cr_assert_not_null(gyre_probe_expect(probe, order, GYRE_SECONDS(1)));
}

Test(sim_testkit, has_all_memory_after_a_recovery)
{
	pass(recover_at_once, NULL);
}

/* ---- handlers that take time ---- */

static struct gyre_test *busy_test;

static int take_a_second(struct gyre_stack *stack)
{
	gyre_test_advance(busy_test, GYRE_SECONDS(1));
	return gyre_notify(stack, gyre_sender(stack), gyre_new(stack, order, 1));
}

static void be_busy(struct gyre_test *test, void *arg)
{
	static const struct gyre_class busy_class = { .name = "busy",
						      .behaviour.notice = take_a_second };
	struct gyre_probe *probe = gyre_probe_create(test);
	struct gyre_address busy = gyre_test_spawn(test, &busy_class, GYRE_NO_ARGUMENT);

	(void)arg;
	busy_test = test;
	(void)gyre_probe_notify(probe, busy, gyre_test_new(test, order, 1));
	(void)gyre_probe_expect_none(probe, GYRE_MILLISECONDS(999));
	(void)gyre_probe_expect(probe, order, GYRE_MILLISECONDS(2));
}

Test(sim_testkit, has_handlers_take_as_long_as_a_test_likes)
{
	pass(be_busy, NULL);
}
