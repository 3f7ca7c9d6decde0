/*
 * The names of the threads that a system has, as debuggers and top show them.
 */
#include "fixture.h"

#include <gyre/offload.h>

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

TestSuite(thread_names, .timeout = 60);

/* How many threads of the process have that name. */
static uint32_t threads_called(const char *wanted)
{
	DIR *tasks = opendir("/proc/self/task");
	uint32_t count = 0;
	struct dirent *task;

	while ((task = readdir(tasks)) != NULL) {
		char path[300];
		char name[32] = "";
		FILE *comm;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		comm = fopen(path, "re");
		if (comm != NULL) {
			(void)!fgets(name, sizeof(name), comm);
			(void)fclose(comm);
		}
		name[strcspn(name, "\n")] = '\0';
		count += strcmp(name, wanted) == 0;
	}
	(void)closedir(tasks);
	return count;
}

/* A thread names itself, and the start of a system waits for its loops, not for the log. */
static void wait_for_thread_called(const char *wanted)
{
	while (threads_called(wanted) == 0) {
		(void)sched_yield();
	}
}

static int look(struct gyre_work *work)
{
	expect(threads_called("gyre-off-1") == 1);
	return gyre_work_reply(work, gyre_system_new(gyre_work_system(work), number, 1));
}

struct look_frame {
	struct gyre_future future;
};

static int have_it_looked(struct gyre_stack *stack)
{
	struct look_frame *frame = (struct look_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, look, gyre_new(stack, number, 1), GYRE_FOREVER,
				       &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	gyre_system_stop(gyre_system_of(stack));
	GYRE_END(stack);
}

Test(thread_names, say_what_each_thread_is)
{
	const struct gyre_class class = { .name = "looker",
					  .frame_bytes = sizeof(struct look_frame),
					  .mount = have_it_looked };

	const struct gyre_system_options options = { .loops = 2, .log_buffer_bytes = 4096 };

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_expect_eq(threads_called("gyre-loop-0"), 1);
	cr_expect_eq(threads_called("gyre-loop-1"), 1);
	wait_for_thread_called("gyre-log");
	cr_expect_eq(threads_called("gyre-log"), 1);
	cr_expect_eq(threads_called("gyre-rcu"), 1);
	(void)spawn_outside(&class, 1);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}
