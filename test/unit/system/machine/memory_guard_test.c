/*
 * The memory guard in whole systems, whose memory is a planted cgroup.
 */
#include "fixture.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/embed.h>
#include <gyre/event.h>
#include <gyre/group.h>
#include <gyre/listen.h>
#include <gyre/overload.h>

#include "system/drain.h"
#include "system/plant.h"
#include "system/system.h"

#define MIB UINT64_C(1048576)

enum { LIMIT_MIB = 1000, CONNECTIONS = 20 };

static struct gyre_address sink;

static void use(uint64_t mebibytes)
{
	plant_number("/sys/fs/cgroup/memory.current", mebibytes * MIB);
}

static void open_guarded_with(struct gyre_system_options options)
{
	options.log_level = GYRE_LOG_INFO;
	plant_begin();
	plant_cgroup("/");
	plant_number("/sys/fs/cgroup/memory.max", LIMIT_MIB * MIB);
	use(100);
	fixture_open_with(&options);
	gy_memory_guard_fini(&fixture.system->memory_guard);
	(void)gy_memory_guard_init(&fixture.system->memory_guard, plant_root, 0);
	sink = spawn_outside(&sink_class, options.loops - 1);
}

static void open_guarded(uint32_t loops)
{
	open_guarded_with((struct gyre_system_options){ .loops = loops });
}

static void start_guarded(uint32_t loops)
{
	open_guarded(loops);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void close_guarded(void)
{
	fixture_close();
	plant_end();
}

static struct gyre_counters counters(void)
{
	struct gyre_counters now;

	cr_assert_eq(gyre_system_counters(fixture.system, &now), 0);
	return now;
}

/* Something must happen, or nobody looks. */
static void become_busy(void)
{
	use(901);
	while (!gyre_system_busy(fixture.system)) {
		cr_assert_eq(notify_outside(sink, 1), 0);
	}
}

static void await_end(void)
{
	while (gyre_system_busy(fixture.system)) {
		(void)sched_yield();
	}
}

/* What is logged may come a little later than what it tells of. */
static void await_line(const char *text)
{
	while (strstr(fixture.line, text) == NULL) {
		(void)sched_yield();
	}
}

/* Long enough for looks that change nothing. */
static void work_for(uint64_t ns)
{
	uint64_t end_ns = gy_clock_machine_ns() + ns;

	while (gy_clock_machine_ns() < end_ns) {
		cr_assert_eq(notify_outside(sink, 1), 0);
	}
}

Test(memory_guard,
     makes_a_system_busy_above_90_percent_until_less_than_80_are_used_and_says_so_once)
{
	start_guarded(2);
	use(900);
	work_for(GYRE_MILLISECONDS(250));
	cr_expect_not(gyre_system_busy(fixture.system));
	become_busy();
	await_line("901 MiB of 1000 MiB");
	use(850);
	work_for(GYRE_MILLISECONDS(250));
	use(800);
	work_for(GYRE_MILLISECONDS(250));
	cr_expect(gyre_system_busy(fixture.system));
	cr_expect_eq(fixture.warnings, 1);
	use(799);
	await_end();
	use(900);
	work_for(GYRE_MILLISECONDS(250));
	cr_expect_not(gyre_system_busy(fixture.system));
	await_line("799 MiB of 1000 MiB");
	cr_expect_eq(counters().busy_periods, 1);
	become_busy();
	cr_expect_eq(counters().busy_periods, 2);
	close_guarded();
	cr_expect_eq(fixture.warnings, 2);
}

Test(memory_guard, warns_once_more_of_a_program_that_itself_holds_too_much)
{
	start_guarded(2);
	become_busy();
	await_line("nothing is accepted or read until less than 80 %");
	/* As if it had become busy long ago. */
	gy_store_relaxed(&fixture.system->memory_guard.busy_since_ns, 1);
	await_line("memory stays short");
	use(850);
	work_for(GYRE_MILLISECONDS(250));
	cr_expect_eq(fixture.warnings, 2);
	use(100);
	await_end();
	become_busy();
	work_for(GYRE_MILLISECONDS(250));
	cr_expect_eq(fixture.warnings, 3);
	close_guarded();
}

Test(memory_guard, sees_the_end_also_when_all_loops_are_parked)
{
	start_guarded(3);
	become_busy();
	use(100);
	await_end();
	close_guarded();
}

Test(memory_guard, is_told_never_to_look)
{
	const struct gyre_system_options options = { .loops = 1,
						     .memory_limit_bytes =
							     GYRE_MEMORY_LIMIT_NEVER };

	fixture_open_with(&options);
	sink = spawn_outside(&sink_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	work_for(GYRE_MILLISECONDS(10));
	cr_expect_eq(fixture.system->memory_guard.due_ns, UINT64_MAX);
	fixture_close();
}

Test(memory_guard, takes_a_limit_from_the_options)
{
	const struct gyre_system_options options = { .loops = 1, .memory_limit_bytes = 65536 };

	fixture_open_with(&options);
	sink = spawn_outside(&sink_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (!gyre_system_busy(fixture.system)) {
		cr_assert_eq(notify_outside(sink, 1), 0);
	}
	fixture_close();
	cr_expect_eq(fixture.warnings, 1);
	cr_expect_not(gyre_system_busy(NULL));
}

/* ---- notices ---- */

Test(memory_guard, lets_notices_from_outside_wait_40_ms_and_go_on)
{
	uint64_t before_ns;
	uint64_t delayed;

	start_guarded(1);
	become_busy();
	delayed = counters().notices_delayed;
	before_ns = gy_clock_machine_ns();
	cr_assert_eq(notify_outside(sink, 1), 0);
	cr_expect_geq(gy_clock_machine_ns() - before_ns, GYRE_MILLISECONDS(40));
	cr_expect(gyre_system_busy(fixture.system));
	cr_expect_eq(counters().notices_delayed, delayed + 1);
	close_guarded();
}

Test(memory_guard, lets_notices_to_groups_wait_too)
{
	const struct gyre_group_options two = { .count = 2 };
	struct gyre_address group;
	uint64_t before_ns;

	start_guarded(1);
	cr_assert_eq(gyre_system_group_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, &two,
					     &group),
		     0);
	become_busy();
	before_ns = gy_clock_machine_ns();
	cr_assert_eq(notify_outside(group, 1), 0);
	cr_expect_geq(gy_clock_machine_ns() - before_ns, GYRE_MILLISECONDS(40));
	close_guarded();
}

Test(memory_guard, never_lets_a_thread_wait_that_turns_a_loop_itself)
{
	open_guarded_with((struct gyre_system_options){ .loops = 1, .embedded = true });
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	use(901);
	while (!gyre_system_busy(fixture.system)) {
		cr_assert_eq(notify_outside(sink, 1), 0);
		cr_assert_geq(gyre_system_turn(fixture.system, 0), 0);
	}
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(notify_outside(sink, 1), 0);
	}
	cr_expect(gyre_system_busy(fixture.system));
	cr_expect_eq(counters().notices_delayed, 0);
	close_guarded();
}

static void *notify_for_long(void *arg)
{
	uint32_t *sent = (uint32_t *)arg;

	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(notify_outside(sink, i), 0);
		gy_store_release(sent, i + 1);
	}
	return NULL;
}

Test(memory_guard, loses_no_notice_that_waits)
{
	pthread_t threads[4];
	uint32_t sent[4] = { 0 };
	uint64_t handled;

	start_guarded(2);
	become_busy();
	handled = counters().sent;
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, notify_for_long, &sent[i]), 0);
	}
	while (gy_load_acquire(&sent[0]) == 0) {
		(void)sched_yield();
	}
	use(10);
	for (uint32_t i = 0; i < 4; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	cr_expect_eq(counters().sent, handled + 400);
	close_guarded();
	cr_expect_geq(fixture.counters.notices_delayed, 1);
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_SHUTDOWN] +
			     fixture.counters.dropped[GYRE_DROP_STOPPED] + fixture.counters.handled,
		     fixture.counters.sent);
}

/* Whether a handler found its system busy, and how long its own call took. */
static bool found_busy;
static uint64_t call_ns;

static int call_from_inside(struct gyre_stack *stack)
{
	struct gyre_system *system = gyre_system_of(stack);
	uint64_t before_ns = gy_clock_machine_ns();

	for (int i = 0; i < 1000; i++) {
		expect(gyre_system_notify(system, sink, gyre_system_new(system, number, 1)) == 0);
	}
	call_ns = gy_clock_machine_ns() - before_ns;
	found_busy = gyre_busy(stack);
	trace('.');
	return gyre_return(stack);
}

Test(memory_guard, tells_actors_and_never_lets_a_loop_wait)
{
	const struct gyre_class class = { .name = "caller", .mount = call_from_inside };

	start_guarded(1);
	become_busy();
	(void)spawn_outside(&class, 0);
	while (traced[0] == '\0') {
		(void)sched_yield();
	}
	cr_expect(found_busy);
	cr_expect_lt(call_ns, 1000 * GYRE_MILLISECONDS(40) / 2);
	close_guarded();
}

static int subscribe(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_overload, gyre_event_key_of(NULL), NULL) == 0);
	trace('.');
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	trace(gyre_message(stack, gyre_overload)->busy ? 'b' : 'e');
	return gyre_return(stack);
}

static void await_trace(const char *text)
{
	while (strcmp(traced, text) != 0) {
		(void)sched_yield();
	}
}

Test(memory_guard, publishes_its_beginning_and_its_end)
{
	const struct gyre_class class = { .name = "hearer",
					  .mount = subscribe,
					  .behaviour.event = hear };

	start_guarded(1);
	(void)spawn_outside(&class, 0);
	await_trace(".");
	become_busy();
	await_trace(".b");
	use(100);
	await_trace(".be");
	close_guarded();
}

/* ---- connections ---- */

static uint32_t reads;
static uint16_t port;

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gy_fetch_add(&reads, 1);
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

static void start_serving(uint32_t loops)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_port = &port };

	open_guarded(loops);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static int connect_there(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void expect_echo(int fd, char byte)
{
	char back = 0;

	cr_expect_eq(recv(fd, &back, 1, 0), 1);
	cr_expect_eq(back, byte);
}

static uint64_t turns_of(uint32_t loop)
{
	return gy_load_relaxed(&fixture.system->homes.homes[loop].loop.counters.turns);
}

/* All loops have followed: each has an acceptor. */
static void await_pause(uint32_t loops)
{
	while (counters().accepts_paused < loops) {
		(void)sched_yield();
	}
	/* A few turns of each loop later its accepts have ended. */
	for (uint32_t i = 0; i < loops; i++) {
		uint64_t turns = turns_of(i);

		while (turns_of(i) < turns + 4) {
			gy_system_wake_all(fixture.system);
			(void)sched_yield();
		}
	}
}

Test(memory_guard, leaves_connections_in_the_backlog_and_accepts_them_all_afterwards)
{
	int fds[CONNECTIONS];
	uint64_t accepted;

	start_serving(2);
	become_busy();
	await_pause(2);
	accepted = counters().accepted;
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = connect_there();
		cr_assert_eq(send(fds[i], "x", 1, MSG_NOSIGNAL), 1);
	}
	work_for(GYRE_MILLISECONDS(150));
	cr_expect_eq(counters().accepted, accepted);
	cr_expect_eq(counters().accepts_paused, 2);
	use(10);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		expect_echo(fds[i], 'x');
		(void)close(fds[i]);
	}
	cr_expect_eq(counters().accepted, accepted + CONNECTIONS);
	close_guarded();
}

Test(memory_guard, stops_reading_of_channels_and_loses_nothing_that_comes_meanwhile)
{
	int fds[CONNECTIONS];
	uint32_t before;

	start_serving(2);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = connect_there();
		cr_assert_eq(send(fds[i], "x", 1, MSG_NOSIGNAL), 1);
		expect_echo(fds[i], 'x');
	}
	become_busy();
	await_pause(2);
	cr_expect_eq(counters().reads_paused, CONNECTIONS);
	before = gy_load_acquire(&reads);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		cr_assert_eq(send(fds[i], "y", 1, MSG_NOSIGNAL), 1);
	}
	work_for(GYRE_MILLISECONDS(150));
	cr_expect_eq(gy_load_acquire(&reads), before);
	use(10);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		expect_echo(fds[i], 'y');
		(void)close(fds[i]);
	}
	close_guarded();
}

Test(memory_guard, pauses_again_and_again)
{
	int fd;

	start_serving(2);
	fd = connect_there();
	for (uint32_t i = 0; i < 20; i++) {
		become_busy();
		cr_assert_eq(send(fd, "z", 1, MSG_NOSIGNAL), 1);
		use(10);
		expect_echo(fd, 'z');
		await_end();
	}
	(void)close(fd);
	close_guarded();
	cr_expect_eq(fixture.counters.busy_periods, 20);
}

Test(memory_guard, is_no_hindrance_to_the_end_of_a_busy_system)
{
	int fd;

	start_serving(2);
	fd = connect_there();
	cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	expect_echo(fd, 'x');
	become_busy();
	await_pause(2);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_expect_not(gyre_system_busy(fixture.system));
	(void)close(fd);
	close_guarded();
}
