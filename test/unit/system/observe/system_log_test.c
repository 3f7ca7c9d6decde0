/*
 * What programs log outside of handlers: on their own threads, before the start and after the end,
 * and inside calls that get no stack.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

#include "base/atomic.h"
#include "fixture.h"

TestSuite(system_log, .timeout = 60);

enum { LINES_MAX = 256, LINE_BYTES = 256 };

static struct {
	char text[LINE_BYTES];
	enum gyre_log_level level;
} lines[LINES_MAX];
static uint32_t count;

/* One thread at a time runs it. */
static void keep(const struct gyre_log_line *line, void *arg)
{
	uint32_t at = gy_load_relaxed(&count);

	expect(arg == &count && at < LINES_MAX);
	(void)snprintf(lines[at % LINES_MAX].text, LINE_BYTES, "%s", line->text);
	lines[at % LINES_MAX].level = line->level;
	gy_store_release(&count, at + 1);
}

static struct gyre_system *system_of(const struct gyre_system_options *options)
{
	struct gyre_system_options mine = *options;
	struct gyre_system *system;

	count = 0;
	mine.log = keep;
	mine.log_arg = &count;
	mine.loops = 1;
	cr_assert_eq(gyre_system_create(&mine, &system), 0);
	return system;
}

static uint32_t found(const char *words)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i < count; i++) {
		times += strstr(lines[i].text, words) != NULL;
	}
	return times;
}

static void name_thread(void)
{
	cr_assert_eq(pthread_setname_np(pthread_self(), "feeder"), 0);
}

Test(system_log, names_the_thread_and_works_from_create_to_destroy)
{
	struct gyre_system *system = system_of(&(struct gyre_system_options){ 0 });

	name_thread();
	gyre_system_log(system, GYRE_LOG_WARNING, "before %s", "the start");
	cr_expect_eq(count, 1);
	cr_expect_str_eq(lines[0].text, "thread feeder: before the start");
	cr_expect_eq(lines[0].level, GYRE_LOG_WARNING);
	cr_assert_eq(gyre_system_start(system), 0);
	gyre_system_log(system, GYRE_LOG_ERROR, "it runs");
	gyre_system_stop(system);
	cr_assert_eq(gyre_system_wait(system), 0);
	cr_expect_eq(count, 2);
	cr_expect_str_eq(lines[1].text, "thread feeder: it runs");
	gyre_system_log(system, GYRE_LOG_ERROR, "it has stopped\n");
	gyre_system_destroy(system);
	cr_expect_eq(count, 3);
	cr_expect_str_eq(lines[2].text, "thread feeder: it has stopped");
}

Test(system_log, of_a_node_names_it)
{
	const struct gyre_node_options node = { .id = 3, .listen = "tcp://127.0.0.1:0" };
	struct gyre_system *system = system_of(&(struct gyre_system_options){ .node = &node });

	name_thread();
	gyre_system_log(system, GYRE_LOG_WARNING, "words");
	cr_expect_str_eq(lines[0].text, "node 3, thread feeder: words");
	gyre_system_destroy(system);
}

Test(system_log, leaves_out_what_is_below_the_level_or_has_none)
{
	struct gyre_system *system = system_of(&(struct gyre_system_options){ .log_lines_max = 1 });

	gyre_system_log(system, GYRE_LOG_INFO, "no");
	gyre_system_log(system, GYRE_LOG_DEFAULT, "no");
	gyre_system_log(system, (enum gyre_log_level)99, "no");
	cr_expect_eq(count, 0);
	gyre_system_log(system, GYRE_LOG_WARNING, "yes");
	cr_expect_eq(count, 1);
	gyre_system_destroy(system);
	cr_expect_eq(count, 1);
}

Test(system_log, reads_errno_and_leaves_it_alone)
{
	struct gyre_system *system = system_of(&(struct gyre_system_options){ 0 });

	name_thread();
	errno = ENOTDIR;
	gyre_system_log(system, GYRE_LOG_WARNING, "it is %m");
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_str_eq(lines[0].text, "thread feeder: it is Not a directory");
	gyre_system_destroy(system);
}

Test(system_log, has_one_limit_for_all_threads_and_tells_at_the_end)
{
	struct gyre_system *system = system_of(&(struct gyre_system_options){ .log_lines_max = 7 });

	for (int i = 0; i < 100; i++) {
		gyre_system_log(system, GYRE_LOG_WARNING, "line %d", i);
	}
	gyre_system_destroy(system);
	/* A machine that stood still for a second may have had two windows. */
	cr_expect_geq(count, 8);
	cr_expect_not_null(
		strstr(lines[count - 1].text, "the program, outside of actors and handlers: 9"),
		"%s", lines[count - 1].text);
	cr_expect_not_null(strstr(lines[count - 1].text, " lines were dropped: at most 7 a second"),
			   "%s", lines[count - 1].text);
}

Test(system_log, without_a_system_goes_to_standard_error, .init = cr_redirect_stderr)
{
	name_thread();
	gyre_system_log(NULL, GYRE_LOG_INFO, "not this");
	gyre_system_log(NULL, GYRE_LOG_WARNING, "this");
	(void)fflush(stderr);
	cr_assert_stderr_eq_str("gyre: warning: thread feeder: this\n");
}

/* ---- on the thread of a loop ---- */

static void cargo_destroy(void *payload);

struct cargo {
	uint64_t value;
};
static void cargo_destroy_typed(struct cargo *cargo)
{
	cargo_destroy(cargo);
}
GYRE_MESSAGE_OWNING(cargo, 0x1101, cargo_destroy_typed);

static void cargo_destroy(void *payload)
{
	gyre_system_log(NULL, GYRE_LOG_WARNING, "destroys %lu", ((struct cargo *)payload)->value);
}

static void clean(void *state)
{
	(void)state;
	gyre_system_log(NULL, GYRE_LOG_WARNING, "cleans");
}

static char shop_text[GYRE_ADDRESS_TEXT_MAX];

static int run(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gyre_address_format(gyre_self(stack), sizeof(shop_text), shop_text);
	gyre_log(stack, GYRE_LOG_WARNING, "mounts");
	gyre_system_log(gyre_system_of(stack), GYRE_LOG_WARNING, "mounts too");
	gyre_mail_destroy(stack, gyre_new(stack, cargo, 7));
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), future));
	gyre_log(stack, GYRE_LOG_WARNING, "has slept");
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class shop_class = {
	.name = "shop", .frame_bytes = sizeof(struct gyre_future), .mount = run, .clean = clean
};

static int make_loop(struct gyre_system *system, uint32_t loop, void *arg, void **ret_data)
{
	(void)arg;
	(void)ret_data;
	gyre_system_log(system, GYRE_LOG_WARNING, "begins loop %u", loop);
	return 0;
}

static void end_loop(struct gyre_system *system, uint32_t loop, void *data, void *arg)
{
	(void)data;
	(void)arg;
	gyre_system_log(system, GYRE_LOG_WARNING, "ends loop %u", loop);
}

static void expect_line_of_shop(const char *words)
{
	char line[LINE_BYTES];
	uint32_t times = 0;

	(void)snprintf(line, sizeof(line), "actor shop %s: %s", shop_text, words);
	for (uint32_t i = 0; i < count; i++) {
		times += strcmp(lines[i].text, line) == 0;
	}
	cr_expect_eq(times, 1, "%s", line);
}

Test(system_log, without_a_stack_names_the_actor_that_runs_also_while_the_system_stops)
{
	struct gyre_system *system = system_of(
		&(struct gyre_system_options){ .loop_init = make_loop, .loop_fini = end_loop });
	struct gyre_address shop;

	cr_assert_eq(gyre_system_spawn(system, &shop_class, GYRE_NO_ARGUMENT, NULL, &shop), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	expect_line_of_shop("mounts");
	expect_line_of_shop("mounts too");
	expect_line_of_shop("destroys 7");
	expect_line_of_shop("has slept");
	expect_line_of_shop("cleans");
	cr_expect_eq(found("thread gyre-loop-0: begins loop 0"), 1);
	cr_expect_eq(found("thread gyre-loop-0: ends loop 0"), 1);
	cr_expect_eq(count, 7);
	gyre_system_destroy(system);
	cr_expect_eq(count, 7);
	cr_expect_null(fixture.failure, "%s", fixture.failure);
}

static int notify_nobody(struct gyre_stack *stack)
{
	struct gyre_address me = gyre_self(stack);

	/* It stops before the notice is handled, which then is a dead letter. */
	(void)gyre_notify(stack, me, gyre_new(stack, cargo, 8));
	(void)gyre_stop(stack, me);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static const struct gyre_class brief_class = { .name = "brief", .mount = notify_nobody };

Test(system_log, in_a_destructor_that_no_actor_calls_names_the_loop)
{
	struct gyre_system *system = system_of(&(struct gyre_system_options){ 0 });
	struct gyre_address brief;

	cr_assert_eq(gyre_system_spawn(system, &brief_class, GYRE_NO_ARGUMENT, NULL, &brief), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	cr_expect_eq(count, 1);
	cr_expect_str_eq(lines[0].text, "loop 0: destroys 8");
	gyre_system_destroy(system);
}

static int work(struct gyre_work *work)
{
	gyre_system_log(gyre_work_system(work), GYRE_LOG_WARNING, "works");
	return -EIO;
}

static int offload(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, work, gyre_new(stack, number, 1), 0, future));
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class offloading_class = { .name = "offloading",
						    .frame_bytes = sizeof(struct gyre_future),
						    .mount = offload };

Test(system_log, of_offloaded_work_names_its_thread)
{
	struct gyre_system *system = system_of(&(struct gyre_system_options){ 0 });
	struct gyre_address address;

	cr_assert_eq(gyre_system_spawn(system, &offloading_class, GYRE_NO_ARGUMENT, NULL, &address),
		     0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	cr_expect_eq(count, 1);
	cr_expect_eq(strncmp(lines[0].text, "thread gyre-", 12), 0, "%s", lines[0].text);
	cr_expect_not_null(strstr(lines[0].text, ": works"), "%s", lines[0].text);
	gyre_system_destroy(system);
}

/* ---- a hook that is slow ---- */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static uint32_t noisy_done;
static uint32_t lines_dropped;
static uint32_t lines_of_quiet;

static void wait_and_count(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&held);
	(void)pthread_mutex_unlock(&held);
	lines_dropped += strstr(line->text, "lines were dropped") != NULL;
	lines_of_quiet += strstr(line->text, "actor quiet") != NULL;
}

static int make_noise(struct gyre_stack *stack)
{
	for (int i = 0; i < 100000; i++) {
		gyre_log(stack, GYRE_LOG_WARNING, "noise %d", i);
	}
	gy_store_release(&noisy_done, 1);
	return gyre_return(stack);
}

static int say_little(struct gyre_stack *stack)
{
	gyre_log(stack, GYRE_LOG_WARNING, "a word");
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static const struct gyre_class noisy_class = { .name = "noisy", .mount = make_noise };
static const struct gyre_class quiet_class = { .name = "quiet", .mount = say_little };

Test(system_log, of_a_noisy_actor_costs_others_no_line_and_no_loop_waits_while_the_hook_stands)
{
	const struct gyre_system_options options = { .loops = 1, .log = wait_and_count };
	struct gyre_counters counters;
	struct gyre_system *system;
	struct gyre_address address;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	(void)pthread_mutex_lock(&held);
	cr_assert_eq(gyre_system_spawn(system, &noisy_class, GYRE_NO_ARGUMENT, NULL, &address), 0);
	cr_assert_eq(gyre_system_spawn(system, &quiet_class, GYRE_NO_ARGUMENT, NULL, &address), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	/* The second actor is mounted after the first: the loop has gone on. */
	do {
		cr_assert_eq(gyre_system_counters(system, &counters), 0);
	} while (counters.stopped < 2);
	cr_expect_eq(gy_load_acquire(&noisy_done), 1);
	(void)pthread_mutex_unlock(&held);
	cr_assert_eq(gyre_system_wait(system), 0);
	cr_assert_eq(gyre_system_counters(system, &counters), 0);
	cr_expect_eq(counters.log_lost, 0);
	cr_expect_eq(lines_of_quiet, 1);
	gyre_system_destroy(system);
	cr_expect_geq(lines_dropped, 1);
}
