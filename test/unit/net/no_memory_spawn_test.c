/*
 * Spawning without memory: what waited for some actor to be mounted is done when the handler that
 * spawns has returned, for the handler may hold locks that this takes.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/slots.h"
#include "actor/steal_actor.h"
#include "fixture.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_spawn, .timeout = 60, .init = lean_open, .fini = lean_close);

static void note(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	trace('t');
}

static struct gy_task task = { .embedded = true, .run = note };

static int spawn_in_want(struct gyre_stack *stack)
{
	static const struct gyre_class unmade = { .name = "unmade" };
	const struct gyre_spawn_options options = { .detached = true };
	struct gyre_address address;

	heap_end_after(0);
	expect(gyre_spawn(stack, &unmade, GYRE_NO_ARGUMENT, &options, &address) == -ENOMEM);
	expect(heap_recover());
	trace('h');
	return gyre_return(stack);
}

Test(no_memory_spawn, runs_what_waits_for_a_mount_after_the_handler)
{
	static const struct gyre_class class = { .name = "spawner",
						 .behaviour.notice = spawn_in_want };
	const struct gy_spawn_order order = { .class = &class };
	struct gy_home *home = &lean_rig.home;
	struct gyre_mail *mail = gy_mail_get_outside(&gyre_type_number);
	struct gyre_address spawner;
	struct gyre_address awaited;

	cr_assert_not_null(mail);
	cr_assert_eq(gy_spawn(home, &order, 0, &spawner), 0);
	rig_turn(&lean_rig);
	cr_assert_eq(gy_slots_reserve(home, &awaited), 0);
	task.node.kind = GY_NODE_TASK;
	gy_house_defer_task(home, gy_house_at(home, awaited.slot), &task);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	(void)gy_send(home, spawner, mail, GY_LANE_NOTICE);
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	cr_expect_str_eq(traced, "ht");
	gy_slots_cancel(home, awaited);
}
