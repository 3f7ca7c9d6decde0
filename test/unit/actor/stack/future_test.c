/*
 * Where futures lie: in the frame, or in the state of the actor. Who passes one that lies elsewhere
 * to any call that fills a future ends the program, with a line that says what to do. The program
 * that ends is a child of the test, which reads the line.
 */
#include "actor/puppet_kit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ASK, SLEEP, STOP_GRACEFULLY, CALLS };
enum { LINE_BYTES = 1024 };

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

static struct gyre_address target;
static uint32_t called;
static char line[LINE_BYTES];

static int call_with(struct gyre_stack *stack, struct gyre_future *future)
{
	switch (called) {
	case ASK:
		return gyre_ask(stack, target, gyre_new(stack, number, 1), 0, future);
	case SLEEP:
		return gyre_sleep(stack, GYRE_MILLISECONDS(1), future);
	default:
		return gyre_stop_gracefully(stack, target, GYRE_SECONDS(1), future);
	}
}

/* The sanitizer would keep its variables elsewhere than on the thread's stack. */
__attribute__((no_sanitize_address)) static int wait_in_local(struct gyre_stack *stack)
{
	struct gyre_future future;

	(void)call_with(stack, &future);
	return gyre_suspend(stack, 1);
}

static int wait_in_static(struct gyre_stack *stack)
{
	static struct gyre_future future;

	(void)call_with(stack, &future);
	return gyre_suspend(stack, 1);
}

/* The message is not the frame of who handles it. */
static int wait_in_message(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_new(stack, number, 1);

	(void)call_with(stack, (struct gyre_future *)gyre_payload(mail));
	return gyre_suspend(stack, 1);
}

static int mount_in_local(struct gyre_stack *stack)
{
	return wait_in_local(stack);
}

static const struct gyre_class target_class = { .name = "target" };
static struct gyre_class mounting_class = { .name = "mounting", .mount = mount_in_local };

/* ---- the child ---- */

static const struct gyre_system_options one_loop = { .loops = 1 };

static void handle(struct gyre_test *test, void *function)
{
	target = puppet_spawn(test, &target_class, 0);
	puppet_call(test, puppet_spawn(test, &puppet_class, 0), *(const gyre_handler_fn *)function);
}

static void mount(struct gyre_test *test, void *class)
{
	target = puppet_spawn(test, &target_class, 0);
	(void)puppet_spawn(test, (const struct gyre_class *)class, 0);
	settle(test);
}

static int run_child(gyre_test_fn body, void *arg)
{
	size_t count = 0;
	ssize_t r = 1;
	int status = 0;
	pid_t child;
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		(void)signal(SIGABRT, SIG_DFL);
		(void)dup2(fds[1], STDERR_FILENO);
		kit_run(body, arg, &(struct gyre_test_options){ .system = &one_loop });
		_exit(0);
	}
	(void)close(fds[1]);
	while (r > 0 && count < sizeof(line) - 1) {
		r = read(fds[0], line + count, sizeof(line) - 1 - count);
		count += r > 0 ? (size_t)r : 0;
	}
	line[count] = '\0';
	(void)close(fds[0]);
	cr_assert_eq(waitpid(child, &status, 0), child);
	return status;
}

static void dies_saying(gyre_test_fn body, void *arg, const char *words)
{
	int status = run_child(body, arg);

	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "call %u: status %#x", called,
		  (unsigned)status);
	cr_assert_not_null(strstr(line, words), "\"%s\" is not in: %s", words, line);
}

/* ---- what is wrong ---- */

Test(future, that_is_a_local_variable_of_the_handler_ends_the_program)
{
	gyre_handler_fn function = wait_in_local;

	for (called = 0; called < CALLS; called++) {
		dies_saying(handle, &function,
			    "actor puppet: its handler waits with call for a future that is "
			    "neither in its frame nor in its state, but a local variable");
		cr_assert_not_null(strstr(line, "gyre_frame()"), "%s", line);
	}
}

Test(future, that_is_a_static_variable_ends_the_program)
{
	gyre_handler_fn function = wait_in_static;

	for (called = 0; called < CALLS; called++) {
		dies_saying(handle, &function,
			    "actor puppet: its handler waits with call for a future that is "
			    "neither in its frame nor in its state, and may be gone");
	}
}

Test(future, that_is_in_a_message_ends_the_program)
{
	gyre_handler_fn function = wait_in_message;

	called = SLEEP;
	dies_saying(handle, &function, "neither in its frame nor in its state");
}

Test(future, that_is_a_local_variable_of_a_mount_hook_ends_the_program)
{
	called = SLEEP;
	dies_saying(mount, &mounting_class,
		    "actor mounting: its mount hook waits with no message for a future");
}

/* ---- what is right ---- */

enum { KEPT = 3 };

static uint32_t completed;

static int wait_in_state(struct gyre_stack *stack)
{
	struct gyre_future *futures = (struct gyre_future *)gyre_state(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < KEPT; i++) {
		cr_assert_eq(gyre_sleep(stack, GYRE_MILLISECONDS(1), &futures[i]), 0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < KEPT; i++) {
		completed += gyre_future_error(&futures[i]) == 0;
	}
	GYRE_END(stack);
}

static const struct gyre_class keeping_class = {
	.name = "keeping",
	.state_bytes = KEPT * sizeof(struct gyre_future),
	.mount = wait_in_state,
};

KIT_TEST_WITH(future, may_be_in_the_state_of_the_actor_up_to_its_end, &one_loop)
{
	(void)puppet_spawn(test, &keeping_class, 0);
	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	cr_assert_eq(completed, KEPT);
}
