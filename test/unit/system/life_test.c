/*
 * The life of systems: in every order that is allowed, several at once, and where a creation fails.
 */
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gyre/pipe.h>

#include "base/atomic.h"

static uint32_t ran;

static int run_and_end(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&ran, 1);
	return fixture_end(stack);
}

static const struct gyre_class ending_class = { .name = "ending", .mount = run_and_end };

static struct gyre_system *create(uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops };
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_loops(system), loops);
	return system;
}

static void spawn_ending(struct gyre_system *system)
{
	struct gyre_address address;

	cr_assert_eq(gyre_system_spawn(system, &ending_class, GYRE_NO_ARGUMENT, NULL, &address), 0);
}

Test(life, with_no_options_at_all_has_a_loop_for_each_cpu)
{
	struct gyre_system *system = NULL;
	cpu_set_t set;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	cr_assert_eq(gyre_system_create(NULL, &system), 0);
	cr_assert_eq(gyre_system_loops(system), (uint32_t)CPU_COUNT(&set));
	spawn_ending(system);
	cr_assert_eq(gyre_system_run(system), 0);
	gyre_system_destroy(system);
	cr_assert_eq(ran, 1);
}

Test(life, may_end_before_it_began)
{
	int before = descriptors_open();

	gyre_system_stop(NULL);

	gyre_system_destroy(create(2));
	gyre_system_destroy(NULL);
	cr_assert_eq(descriptors_open(), before);
}

Test(life, that_ends_before_it_began_still_takes_down_what_was_spawned)
{
	struct gyre_system *system = create(1);
	struct gyre_address address;
	int before = descriptors_open();

	cr_assert_eq(gyre_system_spawn(system, &sink_class, gyre_system_new(system, number, 1),
				       NULL, &address),
		     0);
	cr_assert_eq(gyre_system_notify(system, address, gyre_system_new(system, number, 1)), 0);
	cr_assert_eq(descriptors_open(), before);
	gyre_system_destroy(system); /* a leak would be reported */
}

Test(life, stopped_before_the_start_ends_at_once)
{
	struct gyre_system *system = create(2);

	gyre_system_stop(system);
	gyre_system_stop(system);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	gyre_system_destroy(system);
}

Test(life, begins_once)
{
	struct gyre_system *system = create(1);

	cr_assert_eq(gyre_system_wait(system), -EINVAL);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_start(system), -EALREADY);
	cr_assert_eq(gyre_system_run(system), -EALREADY);
	gyre_system_stop(system);
	cr_assert_eq(gyre_system_wait(system), 0);
	cr_assert_eq(gyre_system_start(system), -EALREADY);
	gyre_system_destroy(system);
}

Test(life, of_null_is_refused)
{
	cr_assert_eq(gyre_system_create(NULL, NULL), -EINVAL);
	cr_assert_eq(gyre_system_start(NULL), -EINVAL);
	cr_assert_eq(gyre_system_wait(NULL), -EINVAL);
	cr_assert_eq(gyre_system_run(NULL), -EINVAL);
	cr_assert_eq(gyre_system_loops(NULL), 0);
}

Test(life, is_ended_by_destroy_also_while_it_runs)
{
	struct gyre_system *system = create(2);
	int before;

	cr_assert_eq(gyre_system_start(system), 0);
	before = descriptors_open();
	gyre_system_destroy(system);
	cr_assert_lt(descriptors_open(), before);
}

Test(life, of_several_systems_in_one_process_is_apart)
{
	enum { SYSTEMS = 4 };
	struct gyre_system *systems[SYSTEMS];
	struct gyre_counters counters;
	int before = descriptors_open();

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		systems[i] = create(i % 2 + 1);
		spawn_ending(systems[i]);
	}
	for (uint32_t i = 1; i < SYSTEMS; i++) {
		cr_assert_eq(gyre_system_start(systems[i]), 0);
	}
	for (uint32_t i = 1; i < SYSTEMS; i++) {
		cr_assert_eq(gyre_system_wait(systems[i]), 0);
		cr_assert_eq(gyre_system_counters(systems[i], &counters), 0);
		cr_assert_eq(counters.spawned, 1);
	}
	cr_assert_eq(ran, SYSTEMS - 1);
	cr_assert_eq(gyre_system_counters(systems[0], &counters), 0);
	cr_assert_eq(counters.turns, 0);
	for (uint32_t i = 0; i < SYSTEMS; i++) {
		gyre_system_destroy(systems[i]);
	}
	cr_assert_eq(descriptors_open(), before);
}

Test(life, begins_again_many_times_without_leaving_a_descriptor)
{
	int before = descriptors_open();

	for (uint32_t i = 0; i < 30; i++) {
		struct gyre_system *system = create(2);

		spawn_ending(system);
		cr_assert_eq(gyre_system_start(system), 0);
		gyre_system_destroy(system);
		cr_assert_eq(descriptors_open(), before);
	}
}

static int cpu_seen = -1;

static int look_at_cpu(struct gyre_stack *stack)
{
	cpu_set_t set;

	expect(sched_getaffinity(0, sizeof(set), &set) == 0);
	expect(CPU_COUNT(&set) == 1);
	cpu_seen = sched_getcpu();
	return fixture_end(stack);
}

Test(life, of_a_loop_is_spent_on_the_cpu_that_was_named)
{
	const struct gyre_class class = { .name = "cpu", .mount = look_at_cpu };
	struct gyre_system_options options = { .loops = 1 };
	cpu_set_t set;
	char list[16];
	int last = -1;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < GYRE_CPUS_MAX; cpu++) {
		last = CPU_ISSET((size_t)cpu, &set) ? cpu : last;
	}
	(void)snprintf(list, sizeof(list), "%d", last);
	options.cpus = list;
	fixture_open_with(&options);
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
	cr_assert_eq(cpu_seen, last);
}

/* ---- creations that fail ---- */

static uint32_t errors;

static void count_errors(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	errors += line->level == GYRE_LOG_ERROR;
}

/* A limit under which as many descriptors as @more are free. */
static rlim_t limit_for(rlim_t more)
{
	rlim_t limit = 0;

	for (;;) {
		bool is_free = fcntl((int)limit, F_GETFD) < 0;

		if (is_free && more == 0) {
			return limit;
		}
		more -= is_free;
		limit++;
	}
}

static void create_with_descriptors(uint32_t loops, rlim_t more)
{
	const struct gyre_system_options options = { .loops = loops, .log = count_errors };
	struct gyre_system *system = NULL;
	struct rlimit before;
	struct rlimit limit;
	int open = descriptors_open();
	int r;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = limit_for(more);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	errors = 0;
	r = gyre_system_create(&options, &system);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_assert_eq(r, -EMFILE, "%d with %lu descriptors for %u loops", r, more, loops);
	cr_assert_null(system);
	cr_assert_eq(errors, 1, "one line says why");
	cr_assert_eq(descriptors_open(), open);
}

/* Any that is started without saying otherwise is to have a stack that nobody has room for. */
static void allow_no_threads(void)
{
	pthread_attr_t attributes;

	cr_assert_eq(pthread_attr_init(&attributes), 0);
	cr_assert_eq(pthread_attr_setstacksize(&attributes, (size_t)1 << 48), 0);
	cr_assert_eq(pthread_setattr_default_np(&attributes), 0);
	(void)pthread_attr_destroy(&attributes);
}

Test(life, does_not_begin_where_no_thread_can_be_had)
{
	const struct gyre_system_options options = { .loops = 1, .log = count_errors };
	struct gyre_system *system = NULL;
	int open = descriptors_open();

	allow_no_threads();
	cr_expect_eq(gyre_system_create(&options, &system), -EAGAIN);
	cr_expect_null(system);
	cr_expect_eq(errors, 1, "one line says why");
	cr_expect_eq(descriptors_open(), open);
}

Test(life, does_not_start_where_no_thread_can_be_had_for_the_log)
{
	const struct gyre_system_options options = { .loops = 2, .log = count_errors };
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	allow_no_threads();
	cr_expect_eq(gyre_system_start(system), -EAGAIN);
	cr_expect_eq(errors, 1, "one line says why");
	cr_expect_eq(gyre_system_start(system), -EALREADY);
	cr_expect_eq(gyre_system_wait(system), -EAGAIN);
	gyre_system_destroy(system);
}

Test(life, does_not_begin_where_descriptors_run_out_at_any_point)
{
	for (rlim_t more = 0; more < 3; more++) {
		create_with_descriptors(1, more);
	}
	for (rlim_t more = 0; more < 7; more++) {
		create_with_descriptors(3, more);
	}
}

static uint32_t ended;

static void read_nothing(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	gyre_buffer_destroy(data);
	(void)gy_fetch_add(&ran, 1);
}

static void hear_end(struct gyre_handler_context *ctx)
{
	(void)gy_fetch_add(&ended, gyre_channel_reason(gyre_context_channel(ctx)) == 0 ? 1 : 100);
	(void)fixture_end(gyre_context_stack(ctx));
}

static const struct gyre_handler reading = { .read = read_nothing, .inactive = hear_end };

static int init_reading(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &reading, arg);
}

Test(life, has_an_empty_standard_input_where_that_was_closed)
{
	const struct gyre_pipe_options input = { .init_channel = init_reading, .no_output = true };
	struct gyre_system *system;
	struct stat status;
	int before;

	(void)close(STDIN_FILENO);
	before = descriptors_open();
	system = create(1);
	cr_assert_eq(fstat(STDIN_FILENO, &status), 0);
	cr_expect_eq(status.st_rdev, makedev(1, 3), "the null device");
	cr_assert_eq(gyre_system_pipe_open(system, &input, NULL), 0);
	cr_expect_eq(gyre_system_run(system), 0);
	gyre_system_destroy(system);
	cr_expect_eq(ended, 1);
	cr_expect_eq(ran, 0);
	cr_expect_eq(descriptors_open(), before + 1, "it stays");
}

/* How many descriptors the kernel's table of this process has room for. */
static unsigned long descriptors_room(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long room = 0;
	char line[256];

	cr_assert_not_null(status);
	while (fgets(line, sizeof(line), status) != NULL) {
		(void)sscanf(line, "FDSize: %lu", &room);
	}
	(void)fclose(status);
	return room;
}

static void expect_room(rlim_t limit, unsigned long room)
{
	struct rlimit descriptors;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
	descriptors.rlim_cur = limit < descriptors.rlim_max ? limit : descriptors.rlim_max;
	room = room < descriptors.rlim_cur ? room : descriptors.rlim_cur;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
	gyre_system_destroy(create(1));
	cr_expect_geq(descriptors_room(), room);
}

Test(life, has_room_for_descriptors_before_loops_would_wait_for_it)
{
	cr_assert_lt(descriptors_room(), 1000, "it has not grown yet");
	expect_room(2000, 1000);
	expect_room(100000, 65536);
}
