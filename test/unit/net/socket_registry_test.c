/* Orders to the actors of sockets, from any thread: also to one that is not mounted yet. */
#include <criterion/criterion.h>
#include <sched.h>

#include "base/atomic.h"
#include "fixture.h"
#include "net/socket_registry.h"
#include "system/system.h"

TestSuite(socket_registry, .timeout = 60);

static uint32_t blocked; /* atomic, as all of these */
static uint32_t released;
static uint32_t mounted;
static uint32_t obeyed;

static struct gy_loop *other_loop(void)
{
	return &fixture.system->homes.homes[1].loop;
}

/* Keeps its loop, so that what others send it waits in their outboxes. */
static int block(struct gyre_stack *stack)
{
	gy_store_release(&blocked, 1);
	while (gy_load_acquire(&released) == 0) {
		sched_yield();
	}
	return gyre_return(stack);
}

static int mount(struct gyre_stack *stack)
{
	expect(gy_load_acquire(&obeyed) == 0);
	gy_store_release(&mounted, 1);
	return gyre_return(stack);
}

static void obey(struct gy_house *house)
{
	expect(gy_load_acquire(&mounted) == 1 && house->status > GY_HOUSE_MOUNTING);
	(void)gy_fetch_add(&obeyed, 1);
}

/* Until the other loop has taken the order, and sleeps. */
static void await_sleep(uint64_t received_before)
{
	uint64_t received;

	do {
		sched_yield();
		received = gy_load_relaxed(&other_loop()->counters.nodes_received);
	} while (received == received_before || (received - received_before < 100 &&
						 gy_load_full(&other_loop()->parked) == GY_AWAKE));
	expect(received == received_before + 1); /* it does not spin */
}

/* The order overtakes that to spawn, which leaves this loop only when the handler has returned. */
static int spawn_and_order(struct gyre_stack *stack)
{
	static const struct gyre_class class = { .name = "ordered", .mount = mount };
	uint64_t received = gy_load_relaxed(&other_loop()->counters.nodes_received);
	struct gyre_address actor = spawn_on(stack, &class, 1);

	expect(gy_socket_entry_order(&fixture.system->homes, actor, obey) == 0);
	gy_store_release(&released, 1);
	await_sleep(received);
	expect(gy_load_acquire(&obeyed) == 0);
	return gyre_return(stack);
}

Test(socket_registry, has_an_order_wait_until_its_actor_is_mounted)
{
	static const struct gyre_class blocker = { .name = "blocker", .behaviour.notice = block };
	static const struct gyre_class maker = { .name = "maker",
						 .behaviour.notice = spawn_and_order };
	struct gyre_address at_other;
	struct gyre_address here;

	fixture_open(2);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	at_other = spawn_outside(&blocker, 1);
	here = spawn_outside(&maker, 0);
	cr_assert_eq(notify_outside(at_other, 0), 0);
	while (gy_load_acquire(&blocked) == 0) {
		sched_yield();
	}
	cr_assert_eq(notify_outside(here, 0), 0);
	while (gy_load_acquire(&obeyed) == 0) {
		sched_yield();
	}
	fixture_close();
	cr_expect_eq(obeyed, 1);
}
