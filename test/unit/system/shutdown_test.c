/*
 * Phases of a shutdown that actors hold.
 */
#include "fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>
#include <gyre/offload.h>
#include <gyre/shutdown.h>

#include "base/atomic.h"
#include "echo.h"

enum { HOLDERS = 6 };

static const struct gyre_spawn_options on_loop_1 = { .place = GYRE_PLACE_LOOP, .loop = 1 };
static uint32_t told[5];    /* atomic, by phase: events that have come */
static uint32_t let_go[5];  /* atomic, by phase: holds that were released */
static uint32_t may_let_go; /* atomic: phases, a bit each */

static void wait_for(const uint32_t *value, uint32_t least)
{
	while (gy_load_acquire(value) < least) {
		(void)sched_yield();
	}
}

static void open_with_budget(uint32_t loops, uint64_t budget_ns)
{
	const struct gyre_system_options options = { .loops = loops,
						     .drain_timeout_ns = budget_ns };

	fixture_open_with(&options);
}

/* ---- holders that let go when the test says so ---- */

static int hold_all(struct gyre_stack *stack)
{
	for (enum gyre_shutdown_phase phase = GYRE_SHUTDOWN_INTAKE;
	     phase <= GYRE_SHUTDOWN_LAST_WORDS; phase++) {
		expect(gyre_shutdown_hold(stack, phase) == 0);
		expect(gyre_shutdown_hold(stack, phase) == 0);
	}
	return gyre_return(stack);
}

/* Sleeps until it may, so that other actors of the loop run. */
static int let_go_in_time(struct gyre_stack *stack)
{
	const struct gyre_stopping *stopping = gyre_message(stack, gyre_stopping);
	struct gyre_future *pause = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(stopping->deadline_ns > gyre_now(stack));
	for (uint32_t phase = 1; phase < stopping->phase; phase++) {
		expect(gy_load_acquire(&let_go[phase]) == HOLDERS);
	}
	(void)gy_fetch_add(&told[stopping->phase], 1);
	while ((gy_load_acquire(&may_let_go) & (1U << stopping->phase)) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), pause));
		stopping = gyre_message(stack, gyre_stopping);
	}
	expect(gyre_shutdown_release(stack, stopping->phase % 4 + 1) ==
	       (stopping->phase == GYRE_SHUTDOWN_LAST_WORDS ? -ENOENT : 0));
	expect(stopping->phase == GYRE_SHUTDOWN_LAST_WORDS ||
	       gyre_shutdown_hold(stack, stopping->phase + 1) == 0);
	expect(gyre_shutdown_hold(stack, stopping->phase) == -ESHUTDOWN);
	(void)gy_fetch_add(&let_go[stopping->phase], 1);
	expect(gyre_shutdown_release(stack, stopping->phase) == 0);
	expect(gyre_shutdown_release(stack, stopping->phase) == -ENOENT);
	GYRE_END(stack);
}

static const struct gyre_class holder_class = { .name = "holder",
						.frame_bytes = sizeof(struct gyre_future),
						.mount = hold_all,
						.behaviour.event = let_go_in_time };

Test(shutdown, goes_through_its_phases_on_all_loops_together)
{
	fixture_open(3);
	for (uint32_t i = 0; i < HOLDERS; i++) {
		(void)spawn_outside(&holder_class, i % 3);
	}
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	for (uint32_t phase = 1; phase <= 4; phase++) {
		wait_for(&told[phase], HOLDERS);
		cr_assert_eq(let_go[phase], 0);
		cr_assert(phase == 4 || told[phase + 1] == 0);
		(void)gy_fetch_or(&may_let_go, 1U << phase);
	}
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(let_go[4], HOLDERS);
	fixture_close();
}

/* ---- what is refused ---- */

static int try_all(struct gyre_stack *stack)
{
	enum gyre_shutdown_phase none = (enum gyre_shutdown_phase)0;
	enum gyre_shutdown_phase five = (enum gyre_shutdown_phase)5;

	expect(gyre_shutdown_hold(stack, none) == -EINVAL);
	expect(gyre_shutdown_hold(stack, five) == -EINVAL);
	expect(gyre_shutdown_release(stack, none) == -EINVAL);
	expect(gyre_shutdown_release(stack, five) == -EINVAL);
	expect(gyre_shutdown_release(stack, GYRE_SHUTDOWN_CLOSE) == -ENOENT);
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_CLOSE) == 0);
	expect(gyre_shutdown_release(stack, GYRE_SHUTDOWN_CLOSE) == 0);
	expect(gyre_shutdown_release(stack, GYRE_SHUTDOWN_CLOSE) == -ENOENT);
	return fixture_end(stack);
}

Test(shutdown, is_held_in_phases_that_there_are_and_not_after_a_release)
{
	play(2, try_all);
}

/* ---- the budget ---- */

static int hold_close(struct gyre_stack *stack)
{
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_CLOSE) == 0);
	return gyre_return(stack);
}

static int only_hear(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&told[gyre_message(stack, gyre_stopping)->phase], 1);
	return gyre_return(stack);
}

static const struct gyre_class stubborn_class = { .name = "stubborn",
						  .mount = hold_close,
						  .behaviour.event = only_hear };

Test(shutdown, is_held_to_the_end_of_its_budget_and_names_who_did_not_let_go)
{
	open_with_budget(2, GYRE_MILLISECONDS(50));
	(void)spawn_outside(&stubborn_class, 1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), -ETIMEDOUT);
	cr_assert_eq(told[GYRE_SHUTDOWN_CLOSE], 1);
	cr_assert_eq(fixture.warnings, 2);
	cr_assert_not_null(strstr(fixture.line, "held longest by stubborn [1:"), "%s",
			   fixture.line);
	cr_assert_null(strstr(fixture.line, "]]"), "%s", fixture.line);
	cr_assert_not_null(strstr(fixture.line, "\"close\""), "%s", fixture.line);
	gyre_system_destroy(fixture.system);
}

/* ---- ends of holders ---- */

static int stop_itself(struct gyre_stack *stack)
{
	(void)only_hear(stack);
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class mortal_class = { .name = "mortal",
						.mount = hold_close,
						.behaviour.event = stop_itself };

Test(shutdown, goes_on_when_a_holder_stops)
{
	fixture_open(2);
	(void)spawn_outside(&mortal_class, 0);
	(void)spawn_outside(&mortal_class, 1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(told[GYRE_SHUTDOWN_CLOSE], 2);
	fixture_close();
}

static int fail(struct gyre_stack *stack)
{
	(void)only_hear(stack);
	return gyre_throw(stack, -EIO);
}

static int hold_the_last(struct gyre_stack *stack)
{
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_CLOSE) == -ESHUTDOWN);
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_LAST_WORDS) == 0);
	return gyre_return(stack);
}

static int fail_once(struct gyre_stack *stack)
{
	if (gyre_message(stack, gyre_stopping)->phase == GYRE_SHUTDOWN_CLOSE) {
		return fail(stack);
	}
	(void)only_hear(stack);
	return gyre_shutdown_release(stack, GYRE_SHUTDOWN_LAST_WORDS);
}

static const struct gyre_class failing_class = { .name = "failing",
						 .mount = hold_close,
						 .restart = hold_the_last,
						 .strategy = GYRE_STRATEGY_RESTART,
						 .behaviour.event = fail_once };

Test(shutdown, goes_on_when_a_holder_restarts_and_may_be_held_again)
{
	fixture_open(1);
	(void)spawn_outside(&failing_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(told[GYRE_SHUTDOWN_CLOSE], 1);
	cr_assert_eq(told[GYRE_SHUTDOWN_LAST_WORDS], 1);
	fixture.warnings = 0;
	fixture_close();
}

static uint32_t about_to_fail; /* atomic */

static int release_close(struct gyre_stack *stack)
{
	(void)only_hear(stack);
	return gyre_shutdown_release(stack, GYRE_SHUTDOWN_CLOSE);
}

static int fail_slowly(struct gyre_stack *stack)
{
	gy_store_release(&about_to_fail, 1);
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class pausing_class = { .name = "pausing",
						 .mount = hold_close,
						 .strategy = GYRE_STRATEGY_RESTART,
						 .restart_delay_ns = GYRE_MILLISECONDS(100),
						 .behaviour = { .notice = fail_slowly,
								.event = release_close } };

/* The phase begins in the pause before the restart, where the event waits. */
Test(shutdown, is_not_told_to_a_holder_that_has_restarted_meanwhile)
{
	struct gyre_address holder;

	fixture_open(1);
	holder = spawn_outside(&pausing_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_notify(fixture.system, holder,
					gyre_system_new(fixture.system, number, 1)),
		     0);
	wait_for(&about_to_fail, 1);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(told[GYRE_SHUTDOWN_CLOSE], 0);
	fixture.warnings = 0;
	fixture_close();
}

/* ---- late holders ---- */

static int come_late(struct gyre_stack *stack)
{
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_INTAKE) == -ESHUTDOWN);
	return hold_close(stack);
}

/* The answer comes after the mount. */
static int say_that_it_is_there(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class late_class = { .name = "late",
					      .mount = come_late,
					      .behaviour = { .ask = say_that_it_is_there,
							     .event = release_close } };

static uint32_t holding; /* atomic: how many hold it */

static int hold_finish(struct gyre_stack *stack)
{
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_FINISH) == 0);
	(void)gy_fetch_add(&holding, 1);
	return gyre_return(stack);
}

struct late_frame {
	struct gyre_address late;
	struct gyre_future there;
};

static int spawn_late(struct gyre_stack *stack)
{
	struct late_frame *frame = (struct late_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_spawn(stack, &late_class, GYRE_NO_ARGUMENT, &on_loop_1, &frame->late) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->late, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->there));
	return gyre_shutdown_release(stack, GYRE_SHUTDOWN_FINISH);
	GYRE_END(stack);
}

static const struct gyre_class spawner_class = { .name = "spawner",
						 .frame_bytes = sizeof(struct late_frame),
						 .mount = hold_finish,
						 .behaviour.event = spawn_late };

Test(shutdown, is_held_by_actors_that_were_spawned_during_it)
{
	fixture_open(2);
	(void)spawn_outside(&spawner_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	wait_for(&holding, 1); /* who holds during the stop may come too late on other loops */
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(told[GYRE_SHUTDOWN_CLOSE], 1);
	fixture_close();
}

/* ---- what happens meanwhile ---- */

static int connect_to(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	return fd;
}

static int hold_finish_and_last(struct gyre_stack *stack)
{
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_LAST_WORDS) == 0);
	return hold_finish(stack);
}

static int let_go_of_both(struct gyre_stack *stack)
{
	const struct gyre_stopping *stopping = gyre_message(stack, gyre_stopping);
	struct gyre_future *pause = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gy_fetch_add(&told[stopping->phase], 1);
	while ((gy_load_acquire(&may_let_go) & (1U << stopping->phase)) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), pause));
		stopping = gyre_message(stack, gyre_stopping);
	}
	return gyre_shutdown_release(stack, stopping->phase);
	GYRE_END(stack);
}

static const struct gyre_class server_class = { .name = "server",
						.frame_bytes = sizeof(struct gyre_future),
						.mount = hold_finish_and_last,
						.behaviour.event = let_go_of_both };

Test(shutdown, serves_connections_and_takes_no_new_ones_while_work_is_finished)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_port = &port };
	char byte;
	int fd;

	fixture_open(2);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	(void)spawn_outside(&server_class, 1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = connect_to(port);
	cr_assert_geq(fd, 0);
	cr_assert(echoes(fd));
	gyre_system_stop(fixture.system);
	wait_for(&told[GYRE_SHUTDOWN_FINISH], 1);
	cr_assert(echoes(fd));
	cr_assert_eq(connect_to(port), -ECONNREFUSED);
	(void)gy_fetch_or(&may_let_go, 1U << GYRE_SHUTDOWN_FINISH);
	wait_for(&told[GYRE_SHUTDOWN_LAST_WORDS], 1);
	cr_assert_eq(read(fd, &byte, 1), 0);
	(void)gy_fetch_or(&may_let_go, 1U << GYRE_SHUTDOWN_LAST_WORDS);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	(void)close(fd);
	fixture_close();
}

static int add_one(struct gyre_work *work)
{
	return gyre_work_reply(work,
			       gyre_work_new(work, number, gyre_work_get(work, number)->value + 1));
}

static int offload_twice(struct gyre_stack *stack)
{
	enum gyre_shutdown_phase phase = gyre_message(stack, gyre_stopping)->phase;
	struct gyre_future *answer = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_offload(stack, add_one, gyre_new(stack, number, 7), GYRE_FOREVER, answer));
	phase = gyre_message(stack, gyre_stopping)->phase;
	if (phase == GYRE_SHUTDOWN_FINISH) {
		expect(gyre_future_get(answer, number)->value == 8);
	} else {
		expect(gyre_future_error(answer) == -ESHUTDOWN);
	}
	(void)gy_fetch_add(&told[phase], 1);
	return gyre_shutdown_release(stack, phase);
	GYRE_END(stack);
}

static const struct gyre_class worker_class = { .name = "worker",
						.frame_bytes = sizeof(struct gyre_future),
						.mount = hold_finish_and_last,
						.behaviour.event = offload_twice };

Test(shutdown, has_work_done_off_the_loops_until_channels_close)
{
	fixture_open(1);
	(void)spawn_outside(&worker_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(told[GYRE_SHUTDOWN_FINISH], 1);
	cr_assert_eq(told[GYRE_SHUTDOWN_LAST_WORDS], 1);
	fixture_close();
}
