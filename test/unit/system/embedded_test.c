/*
 * A system that the thread of the test turns.
 */
#include "fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/embed.h>
#include <gyre/group.h>
#include <gyre/listen.h>
#include <gyre/main.h>
#include <gyre/outside.h>
#include <gyre/pipe.h>
#include <gyre/resize.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "echo.h"
#include "system/system.h"
#include "system/threads.h"

enum { IDLE_MS = 200, PATIENCE_MS = 60000 };

static struct gyre_address group;

static void open_embedded(uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops,
						     .loops_max = 4,
						     .embedded = true };

	fixture_open_with(&options);
}

static void begin(uint32_t loops)
{
	open_embedded(loops);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static bool is_readable_within(int timeout_ms)
{
	struct pollfd fd = { .fd = gyre_system_descriptor(fixture.system), .events = POLLIN };

	cr_assert_geq(fd.fd, 0);
	return poll(&fd, 1, timeout_ms) == 1;
}

/* As a program's loop does: waits for the descriptor, and turns. */
static int turn_when_readable(void)
{
	cr_assert(is_readable_within(PATIENCE_MS));
	return gyre_system_turn(fixture.system, 0);
}

static void turn_until(const uint32_t *value, uint32_t least)
{
	while (gy_load_acquire(value) < least) {
		cr_assert_geq(turn_when_readable(), 0);
	}
}

/* The same where another loop may be the one that changes the value: that need not be told. */
static void turn_until_somewhere(const uint32_t *value, uint32_t least)
{
	while (gy_load_acquire(value) < least) {
		cr_assert_geq(gyre_system_turn(fixture.system, GYRE_MILLISECONDS(1)), 0);
	}
}

/* What is left of the start, or of what came before, is done. */
static void settle(void)
{
	while (is_readable_within(IDLE_MS)) {
		cr_assert_geq(gyre_system_turn(fixture.system, 0), 0);
	}
}

static void end(void)
{
	gyre_system_stop(fixture.system);
	while (turn_when_readable() != -ESHUTDOWN) {
	}
	cr_assert_eq(gyre_system_turn(fixture.system, 0), -ESHUTDOWN);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

static uint32_t heard; /* atomic */

static int hear(struct gyre_stack *stack)
{
	expect(gyre_address_is_here(gyre_self(stack)));
	(void)gy_fetch_add(&heard, 1);
	return gyre_return(stack);
}

static const struct gyre_class hearer_class = { .name = "hearer",
						.behaviour = { .notice = hear, .event = hear } };

Test(embedded, is_readable_when_mail_has_come_and_not_before)
{
	struct gyre_address hearer;

	begin(1);
	hearer = spawn_outside(&hearer_class, 0);
	settle();
	cr_assert_eq(notify_outside(hearer, 1), 0);
	cr_assert(is_readable_within(0));
	cr_assert_eq(heard, 0);
	cr_assert_eq(gyre_system_turn(fixture.system, 0), 1);
	cr_assert_eq(heard, 1);
	settle();
	cr_assert_eq(heard, 1);
	end();
}

Test(embedded, makes_no_turn_necessary_while_it_is_idle)
{
	struct gyre_counters before;
	struct gyre_counters after;

	begin(1);
	settle();
	cr_assert_eq(gyre_system_counters(fixture.system, &before), 0);
	cr_assert_not(is_readable_within(1000));
	cr_assert_eq(gyre_system_turn(fixture.system, 0), 0);
	cr_assert_not(is_readable_within(IDLE_MS));
	cr_assert_eq(gyre_system_counters(fixture.system, &after), 0);
	cr_assert_eq(after.turns, before.turns + 1);
	end();
}

static uint64_t fired_ns;

static int start_timer(struct gyre_stack *stack)
{
	const struct gyre_timer_options later = { .delay_ns = GYRE_MILLISECONDS(50) };

	expect(gyre_timer_start(stack, 1, &later) == 0);
	return gyre_return(stack);
}

static int take_timer(struct gyre_stack *stack)
{
	fired_ns = gy_clock_machine_ns();
	return hear(stack);
}

static const struct gyre_class sleeper_class = { .name = "sleeper",
						 .mount = start_timer,
						 .behaviour.event = take_timer };

Test(embedded, is_readable_when_a_timer_is_due)
{
	uint64_t begun_ns;

	begin(1);
	settle();
	begun_ns = gy_clock_machine_ns();
	(void)spawn_outside(&sleeper_class, 0);
	turn_until(&heard, 1);
	cr_assert_geq(fired_ns - begun_ns, GYRE_MILLISECONDS(50));
	end();
}

Test(embedded, waits_for_as_long_as_it_is_told_and_for_what_comes)
{
	uint64_t begun_ns;

	begin(1);
	settle();
	begun_ns = gy_clock_machine_ns();
	cr_assert_eq(gyre_system_turn(fixture.system, GYRE_MILLISECONDS(30)), 0);
	cr_assert_geq(gy_clock_machine_ns() - begun_ns, GYRE_MILLISECONDS(30));
	(void)spawn_outside(&sleeper_class, 0);
	while (heard == 0) {
		cr_assert_geq(gyre_system_turn(fixture.system, GYRE_FOREVER), 0);
	}
	end();
}

static void hear_answer(struct gyre_mail *answer, int error, void *arg)
{
	expect(error == 0 && gyre_mail_get(answer, number)->value == 8);
	(void)arg;
	(void)gy_fetch_add(&heard, 1);
}

static void ask_outside(struct gyre_address to)
{
	cr_assert_eq(gyre_system_ask_callback(fixture.system, to,
					      gyre_system_new(fixture.system, number, 7),
					      GYRE_SECONDS(60), hear_answer, NULL),
		     0);
}

static struct gyre_address adders[2];

struct ask_frame {
	struct gyre_future answers[2];
};

static int ask_both(struct gyre_stack *stack)
{
	struct ask_frame *frame = (struct ask_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (int i = 0; i < 2; i++) {
		(void)gyre_ask(stack, adders[i], gyre_new(stack, number, 7), GYRE_SECONDS(60),
			       &frame->answers[i]);
	}
	GYRE_AWAIT_ALL(stack, &frame->answers[0], &frame->answers[1]);
	for (int i = 0; i < 2; i++) {
		expect(gyre_future_get(&frame->answers[i], number)->value == 8);
	}
	(void)gy_fetch_add(&heard, 1);
	GYRE_END(stack);
}

static const struct gyre_class asker_class = { .name = "asker",
					       .frame_bytes = sizeof(struct ask_frame),
					       .behaviour.notice = ask_both };

Test(embedded, exchanges_mail_with_loops_that_have_threads)
{
	struct gyre_address askers[2];

	begin(2);
	for (uint32_t i = 0; i < 2; i++) {
		adders[i] = spawn_outside(&adder_class, i);
		askers[i] = spawn_outside(&asker_class, i);
	}
	for (uint32_t i = 0; i < 200; i++) {
		cr_assert_eq(notify_outside(askers[i % 2], i), 0);
		turn_until_somewhere(&heard, i + 1);
	}
	settle();
	end();
}

Test(embedded, calls_back_on_the_thread_that_turns)
{
	begin(1);
	adders[0] = spawn_outside(&adder_class, 0);
	for (uint32_t i = 0; i < 10; i++) {
		ask_outside(adders[0]);
	}
	cr_assert_eq(heard, 0);
	turn_until(&heard, 10);
	end();
}

static int keep_busy(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&heard, 1);
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 1));
}

static const struct gyre_class restless_class = { .name = "restless",
						  .behaviour.notice = keep_busy };

Test(embedded, returns_from_endless_work_and_stays_readable)
{
	struct gyre_address restless;

	begin(1);
	restless = spawn_outside(&restless_class, 0);
	cr_assert_eq(notify_outside(restless, 1), 0);
	for (int i = 0; i < 20; i++) {
		uint32_t before = heard;

		cr_assert(is_readable_within(i == 0 ? PATIENCE_MS : 0));
		cr_assert_eq(gyre_system_turn(fixture.system, 0), 1);
		cr_assert_gt(heard, before);
	}
	end();
}

static void *turn_elsewhere(void *arg)
{
	*(int *)arg = gyre_system_turn(fixture.system, 0);
	return NULL;
}

static int turn_inside(struct gyre_stack *stack)
{
	expect(gyre_system_turn(gyre_system_of(stack), 0) == -EDEADLK);
	(void)gy_fetch_add(&heard, 1);
	return gyre_return(stack);
}

static const struct gyre_class turner_class = { .name = "turner", .mount = turn_inside };

Test(embedded, is_turned_by_one_thread_and_not_from_its_handlers)
{
	pthread_t thread;
	int r = 0;

	open_embedded(1);
	cr_assert_eq(gyre_system_turn(fixture.system, 0), -EINVAL);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(pthread_create(&thread, NULL, turn_elsewhere, &r), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(r, -EPERM);
	(void)spawn_outside(&turner_class, 0);
	turn_until(&heard, 1);
	end();
}

Test(embedded, does_not_wait_for_itself)
{
	struct gyre_mail *answer;

	begin(2);
	adders[0] = spawn_outside(&adder_class, 1);
	cr_assert_eq(gyre_system_ask(fixture.system, adders[0],
				     gyre_system_new(fixture.system, number, 7), 0, &answer),
		     -EDEADLK);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), -EDEADLK);
	end();
}

static void *ask_elsewhere(void *arg)
{
	struct gyre_mail *answer = NULL;
	int r = gyre_system_ask(fixture.system, adders[0],
				gyre_system_new(fixture.system, number, 7), GYRE_FOREVER, &answer);

	expect(r == 0 && gyre_mail_get(answer, number)->value == 8);
	gyre_mail_destroy(NULL, answer);
	(void)gy_fetch_add((uint32_t *)arg, 1);
	return NULL;
}

Test(embedded, answers_threads_that_wait)
{
	uint32_t done = 0;
	pthread_t thread;

	begin(1);
	adders[0] = spawn_outside(&adder_class, 0);
	settle();
	cr_assert_eq(pthread_create(&thread, NULL, ask_elsewhere, &done), 0);
	turn_until_somewhere(&done, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	end();
}

static void *resize_elsewhere(void *arg)
{
	expect(gyre_system_resize(fixture.system, 3) == 0);
	expect(gyre_system_resize(fixture.system, 1) == 0);
	(void)gy_fetch_add((uint32_t *)arg, 1);
	return NULL;
}

Test(embedded, grows_and_shrinks_while_it_is_turned)
{
	uint32_t done = 0;
	pthread_t thread;

	begin(1);
	cr_assert_eq(pthread_create(&thread, NULL, resize_elsewhere, &done), 0);
	turn_until_somewhere(&done, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(gyre_system_loops(fixture.system), 1);
	end();
}

static int connect_to(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

Test(embedded, serves_sockets_that_were_opened_before_its_start)
{
	struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init_echo };
	uint16_t port = 0;
	char byte = 'e';
	int fd;

	options.ret_port = &port;
	open_embedded(2);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (int i = 0; i < 10; i++) {
		fd = connect_to(port);
		cr_assert_eq(write(fd, &byte, 1), 1);
		for (;;) {
			struct pollfd fds[] = {
				{ .fd = gyre_system_descriptor(fixture.system), .events = POLLIN },
				{ .fd = fd, .events = POLLIN },
			};

			cr_assert_geq(poll(fds, 2, PATIENCE_MS), 1);
			if (fds[0].revents != 0) {
				cr_assert_geq(gyre_system_turn(fixture.system, 0), 0);
			}
			if (fds[1].revents != 0) {
				break;
			}
		}
		cr_assert_eq(read(fd, &byte, 1), 1);
		(void)close(fd);
	}
	end();
}

static void say_hello(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, "hello", 5) == 0);
	expect(gyre_context_write(ctx, buffer) == 0);
}

static void hear_end(struct gyre_handler_context *ctx)
{
	expect(gyre_channel_reason(gyre_context_channel(ctx)) == -EPIPE);
	(void)gy_fetch_add(&heard, 1);
}

static const struct gyre_handler greeter = { .active = say_hello, .inactive = hear_end };

static int init_greeter(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &greeter, arg);
}

Test(embedded, keeps_the_signal_of_a_broken_pipe_from_the_program)
{
	int ends[2];

	cr_assert_eq(signal(SIGPIPE, SIG_DFL), SIG_DFL);
	begin(1);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(close(ends[0]), 0);
	cr_assert_eq(
		gyre_system_pipe_open(fixture.system,
				      &GYRE_VALUE(gyre_pipe_options, .init_channel = init_greeter,
						  .output_fd = ends[1], .no_input = true),
				      NULL),
		0);
	turn_until(&heard, 1);
	end();
}

Test(embedded, ends_by_waiting_for_its_end)
{
	begin(2);
	(void)spawn_outside(&sleeper_class, 0);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(gyre_system_turn(fixture.system, 0), -ESHUTDOWN);
	fixture_close();
}

Test(embedded, ends_by_being_destroyed)
{
	begin(2);
	(void)spawn_outside(&sleeper_class, 0);
	fixture_close();
}

Test(embedded, ends_without_a_start)
{
	open_embedded(2);
	(void)spawn_outside(&hearer_class, 0);
	fixture_close();
}

/* What was spawned on the loop that goes ends there, as it does later. */
Test(embedded, starts_with_fewer_loops_when_it_was_shrunk_before)
{
	open_embedded(3);
	(void)spawn_outside(&sleeper_class, 2);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_loops(fixture.system), 1);
	cr_assert_not(fixture.system->workers[1].started);
	cr_assert_not(fixture.system->workers[2].started);
	ask_outside(spawn_outside(&adder_class, 0));
	turn_until(&heard, 1);
	end();
}

static void *wait_elsewhere(void *arg)
{
	expect(gyre_system_wait(fixture.system) == 0);
	(void)gy_fetch_add((uint32_t *)arg, 1);
	return NULL;
}

Test(embedded, lets_another_thread_wait_for_its_end)
{
	uint32_t done = 0;
	pthread_t thread;

	begin(2);
	cr_assert_eq(pthread_create(&thread, NULL, wait_elsewhere, &done), 0);
	gyre_system_stop(fixture.system);
	while (turn_when_readable() != -ESHUTDOWN) {
	}
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(done, 1);
	fixture_close();
}

Test(embedded, is_not_for_programs_that_gyre_runs)
{
	open_embedded(1);
	cr_assert_eq(gyre_system_run(fixture.system), -EINVAL);
	cr_assert_eq(fixture.errors, 1);
	fixture.errors = 0;
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	end();
}

Test(embedded, is_not_succeeded_by_another_process)
{
	const struct gyre_system_options options = { .embedded = true,
						     .handover = "unix:/nowhere" };
	struct gyre_system *system;

	cr_assert_eq(gyre_system_create(&options, &system), -EINVAL);
}

Test(embedded, has_a_descriptor_that_others_have_not)
{
	fixture_open(1);
	cr_assert_eq(gyre_system_descriptor(fixture.system), -EINVAL);
	cr_assert_eq(gyre_system_turn(fixture.system, 0), -EINVAL);
	cr_assert_eq(gyre_system_descriptor(NULL), -EINVAL);
	cr_assert_eq(gyre_system_turn(NULL, 0), -EINVAL);
	fixture_close();
}

/* A thread that routes to groups is a reader of RCU, as that of a loop is. */
Test(embedded, routes_to_groups_from_its_thread_before_and_after_the_start)
{
	open_embedded(2);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &hearer_class, GYRE_NO_ARGUMENT, NULL,
					     &group),
		     0);
	cr_assert_eq(notify_outside(group, 1), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t i = 1; i < 50; i++) {
		cr_assert_eq(notify_outside(group, 1), 0);
		turn_until_somewhere(&heard, i);
	}
	turn_until_somewhere(&heard, 50);
	end();
}

Test(embedded, shares_its_thread_with_another_system)
{
	const struct gyre_system_options options = { .loops = 1, .embedded = true };
	struct gyre_system *other;
	struct gyre_address hearer;

	begin(1);
	cr_assert_eq(gyre_system_create(&options, &other), 0);
	cr_assert_eq(gyre_system_spawn(other, &hearer_class, GYRE_NO_ARGUMENT, NULL, &hearer), 0);
	cr_assert_eq(gyre_system_start(other), 0);
	for (uint32_t i = 0; i < 20; i++) {
		cr_assert_eq(gyre_system_notify(other, hearer, gyre_system_new(other, number, 1)),
			     0);
		cr_assert_geq(gyre_system_turn(fixture.system, 0), 0);
		cr_assert_geq(gyre_system_turn(other, GYRE_FOREVER), 0);
	}
	cr_assert_eq(heard, 20);
	gyre_system_destroy(other);
	(void)spawn_outside(&sleeper_class, 0);
	turn_until(&heard, 21);
	end();
}
