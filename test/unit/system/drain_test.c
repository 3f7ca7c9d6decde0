/*
 * The drain of a system with a connection that is owed more than the kernel takes: the channel
 * comes before the actors, children come before their parents, and a peer that takes nothing holds
 * it up only as long as the option says.
 */
#include "fixture.h"

#include <gyre/channel.h>
#include <gyre/listen.h>
#include <gyre/resize.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "system/drain.h"
#include "system/system.h"
#include "system/threads.h"

enum { OWED_BYTES = 32 << 20, PIECE_BYTES = 1 << 16 };

static struct gyre_address parent;
static uint32_t owing; /* atomic: the channel has all of it queued */
static uint32_t noticed;

/* ---- the server ---- */

static void owe(struct gyre_handler_context *ctx)
{
	static const unsigned char piece[PIECE_BYTES];
	struct gyre_buffer *data = gyre_buffer_create(gyre_context_stack(ctx));

	for (uint32_t bytes = 0; bytes < OWED_BYTES; bytes += PIECE_BYTES) {
		expect(gyre_buffer_append(data, piece, PIECE_BYTES) == 0);
	}
	expect(gyre_context_write(ctx, data) == 0);
	gy_store_release(&owing, 1);
	gyre_context_fire_active(ctx);
}

static void trace_end(struct gyre_handler_context *ctx)
{
	trace('c');
	gyre_context_fire_unregistered(ctx);
}

static const struct gyre_handler owing_handler = { .name = "owing",
						   .active = owe,
						   .unregistered = trace_end };

static int init_owing(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &owing_handler, arg);
}

/* ---- actors ---- */

static int note(struct gyre_stack *stack)
{
	trace('n');
	gy_store_release(&noticed, 1);
	return gyre_return(stack);
}

static void clean_child(void *state)
{
	expect(state == NULL);
	trace('k');
}

static void clean_parent(void *state)
{
	expect(state == NULL);
	trace('p');
}

static const struct gyre_class child_class = { .name = "child", .clean = clean_child };

static int spawn_children(struct gyre_stack *stack)
{
	(void)spawn_on(stack, &child_class, 0);
	(void)spawn_on(stack, &child_class, 1);
	return gyre_return(stack);
}

static const struct gyre_class parent_class = {
	.name = "parent",
	.mount = spawn_children,
	.behaviour.notice = note,
	.clean = clean_parent,
};

/* ---- the script ---- */

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void wait_for(const uint32_t *flag)
{
	while (gy_load_acquire(flag) == 0) {
		(void)sched_yield();
	}
}

/* A running system that owes its only peer, whose socket is returned. */
static int open_owing(uint64_t drain_timeout_ns)
{
	const struct gyre_system_options options = { .loops = 2,
						     .write_high_bytes = OWED_BYTES,
						     .write_max_bytes = 2 * OWED_BYTES,
						     .drain_timeout_ns = drain_timeout_ns };
	uint16_t port = 0;
	struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
						   .init_channel = init_owing,
						   .ret_port = &port };
	int fd;

	fixture_open_with(&options);
	parent = spawn_outside(&parent_class, 0);
	cr_assert_eq(gyre_system_listen(fixture.system, &listening, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = connect_to(port);
	wait_for(&owing);
	return fd;
}

static uint64_t take_all(int fd)
{
	static unsigned char bytes[PIECE_BYTES];
	uint64_t sum = 0;
	ssize_t r;

	while ((r = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		sum += (uint64_t)r;
	}
	return sum;
}

Test(drain, lets_channels_send_while_actors_go_on_and_then_ends_children_before_parents)
{
	int fd = open_owing(GYRE_SECONDS(3600));

	gyre_system_stop(fixture.system);
	/* The channel is not done yet, so actors still live. */
	cr_assert_eq(notify_outside(parent, 1), 0);
	wait_for(&noticed);
	cr_assert_eq(take_all(fd), OWED_BYTES);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	(void)close(fd);
	fixture_close();
	cr_assert_str_eq(traced, "nckkp");
	cr_assert_eq(fixture.warnings, 0);
}

/* Sums up and destroys what ended with an error, which fixture_close() does not allow. */
static void close_timed_out(void)
{
	struct gyre_counters counters;
	uint64_t ends;

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	gyre_system_destroy(fixture.system);
	(void)alarm(0);
	ends = counters.handled;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	cr_assert_eq(counters.sent, ends);
	cr_assert_eq(counters.spawned, counters.stopped);
	cr_assert_eq(fixture.errors, 0, "%s", fixture.line);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
}

Test(drain, that_runs_out_of_time_closes_what_is_unsent_and_says_so)
{
	const uint64_t timeout_ns = GYRE_MILLISECONDS(100);
	int fd = open_owing(timeout_ns);
	uint64_t from_ns = gy_clock_machine_ns();

	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), -ETIMEDOUT);
	cr_assert_geq(gy_clock_machine_ns() - from_ns, timeout_ns);
	cr_assert_eq(gyre_system_wait(fixture.system), -ETIMEDOUT, "another answer later");
	close_timed_out();
	(void)close(fd);
	cr_assert_str_eq(traced, "ckkp");
	cr_assert_eq(fixture.warnings, 1, "%s", fixture.line);
}

Test(drain, without_a_connection_takes_no_time)
{
	uint64_t from_ns;

	fixture_open_with(&(struct gyre_system_options){ .loops = 2,
							 .drain_timeout_ns = GYRE_SECONDS(3600) });
	parent = spawn_outside(&parent_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(notify_outside(parent, 1), 0);
	wait_for(&noticed);
	from_ns = gy_clock_machine_ns();
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_lt(gy_clock_machine_ns() - from_ns, GYRE_SECONDS(60));
	fixture_close();
	cr_assert_str_eq(traced, "nkkp");
}

/* ---- what waits ---- */

static int stash(struct gyre_stack *stack)
{
	gy_store_release(&noticed, 1);
	return gyre_stash(stack);
}

static const struct gyre_class stashing_class = { .name = "stashing", .behaviour.ask = stash };

struct frame {
	struct gyre_future future;
};

static int ask_one_who_stashes(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, gyre_message(stack, place)->address,
				   gyre_new(stack, number, 1), GYRE_FOREVER, &frame->future));
	GYRE_END(stack);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = ask_one_who_stashes,
};

Test(drain, makes_what_waits_a_dead_letter_of_the_shutdown)
{
	struct gyre_address stashing;

	fixture_open(2);
	stashing = spawn_outside(&stashing_class, 0);
	cr_assert_eq(gyre_system_notify(fixture.system, spawn_outside(&asking_class, 1),
					gyre_system_new(fixture.system, place, stashing)),
		     0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	wait_for(&noticed);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_SHUTDOWN], 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
}

/* ---- retired loops ---- */

static int keep(struct gyre_stack *stack)
{
	gy_store_release(&noticed, 1);
	return gyre_stash(stack);
}

static const struct gyre_class keeping_class = { .name = "keeping", .behaviour.notice = keep };

static int pass_on(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, parent, gyre_new(stack, number, 1)) == 0);
	return gyre_return(stack);
}

static const struct gyre_class passing_class = { .name = "passing", .behaviour.notice = pass_on };

/* Two tasks that post each other: so loop 0 has something in its inbox whenever it looks whether a
 * stage is done. They end when it has looked once in the first stage that waits for mail. */
static struct gy_task here;
static struct gy_task there;
static bool crossed;

static void cross(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	if (!crossed) {
		gy_loop_post_task(&fixture.system->homes.homes[1].loop, &there);
	}
}

static void cross_back(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	crossed = fixture.system->workers[0].stage >= GY_STAGE_NO_MAIL;
	gy_loop_post_task(&fixture.system->homes.homes[0].loop, &here);
}

Test(drain, takes_what_comes_home_to_a_retired_loop_while_another_sends)
{
	const struct gyre_system_options options = { .loops = 2, .loops_max = 2 };

	here = (struct gy_task){ .run = cross, .embedded = true };
	there = (struct gy_task){ .run = cross_back, .embedded = true };
	fixture_open_with(&options);
	parent = spawn_outside(&keeping_class, 0);
	cr_assert_eq(notify_outside(spawn_outside(&passing_class, 1), 1), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	wait_for(&noticed);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	gy_loop_post_task(&fixture.system->homes.homes[0].loop, &here);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert(crossed);
	cr_assert_eq(fixture.lost[GYRE_DROP_SHUTDOWN], 1);
}
