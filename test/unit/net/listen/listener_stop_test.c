/*
 * The sockets of all loops end with that of the first, and the workers with the last, also where
 * there is no memory to tell their actors.
 */
#include <criterion/criterion.h>
#include <sched.h>

#include <gyre/datagram.h>
#include <gyre/listen.h>

#include "base/atomic.h"
#include "echo.h"
#include "fixture.h"
#include "net/no_memory_rig.h"
#include "system/system.h"

enum { LOOPS = 2 };

enum step { COUNT, STOP_WITHOUT_MEMORY, GIVE_BACK };

static struct gyre_address first;
static struct gyre_address directors[LOOPS]; /* one a loop */
static uint32_t counted;		     /* atomic */

static int direct(struct gyre_stack *stack)
{
	switch ((enum step)gyre_message(stack, number)->value) {
	case COUNT:
		(void)gy_fetch_add(&counted, 1);
		break;
	case STOP_WITHOUT_MEMORY:
		lean_take_all(&fixture.system->homes.homes[0]);
		expect(gyre_stop(stack, first) == 0);
		break;
	case GIVE_BACK:
		lean_give_all_back();
		break;
	}
	return gyre_return(stack);
}

static void begin(void)
{
	static const struct gyre_class class = { .name = "director", .behaviour.notice = direct };

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		directors[i] = spawn_outside(&class, i);
	}
}

TestSuite(listener_stop, .timeout = 60, .init = begin, .fini = fixture_close);

static void await_actors(uint64_t count)
{
	struct gyre_counters counters;

	do {
		sched_yield();
		cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	} while (counters.spawned - counters.stopped != count);
}

/* Mail that comes behind the orders to make the actors is handled when they have begun. */
static void stop_without_memory(void)
{
	struct gyre_mail *again = gyre_system_new(fixture.system, number, GIVE_BACK);

	cr_assert_not_null(again);
	for (uint32_t i = 0; i < LOOPS; i++) {
		cr_assert_eq(notify_outside(directors[i], COUNT), 0);
	}
	while (gy_load_acquire(&counted) < LOOPS) {
		sched_yield();
	}
	cr_assert_eq(notify_outside(directors[0], STOP_WITHOUT_MEMORY), 0);
	await_actors(LOOPS);
	cr_assert_eq(gyre_system_notify(fixture.system, directors[0], again), 0);
}

Test(listener_stop, needs_no_memory)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo };

	cr_assert_eq(gyre_system_listen(fixture.system, &options, &first), 0);
	stop_without_memory();
}

Test(listener_stop, needs_no_memory_for_datagrams)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo };

	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &first), 0);
	stop_without_memory();
}
