/*
 * The end of a node is told after the last mail that has come from there, also where that still
 * waits at the watcher.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include <gyre/timer.h>
#include <gyre/watch.h>

#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "bare.h"

enum { THERE_SLOT = 5, THERE_COOKIE = 6, THERE_LIFE = 1000, NOTICES = 3 };

static const struct gyre_node_options quick = {
	.heartbeat_ns = GYRE_MILLISECONDS(10),
	.suspect_ns = GYRE_MILLISECONDS(30),
	.down_ns = GYRE_MILLISECONDS(60),
};

static struct bare bare;
static struct gyre_address watcher;
static uint32_t noticed;
static uint32_t told;
static int reason;

/* ---- the watcher ---- */

static int begin(struct gyre_stack *stack)
{
	const struct gyre_address there = {
		.slot = THERE_SLOT, .cookie = THERE_COOKIE, .node = BARE_PEER, .life = THERE_LIFE
	};

	cr_assert_eq(gyre_watch(stack, there), 0);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	cr_assert_not_null(terminated);
	cr_assert_eq(noticed, NOTICES, "after %u notices", noticed);
	reason = terminated->reason;
	told++;
	return gyre_return(stack);
}

/* A barrier waits much longer than the node takes to be down. */
static bool is_barrier(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(bare_number) && ((const struct bare_number *)message)->value > 0;
}

static int note(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	if (gyre_message(stack, bare_number)->value > 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(1),
					     (struct gyre_future *)gyre_frame(stack)));
	}
	noticed++;
	GYRE_END(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct gyre_future),
	.mount = begin,
	.barrier = is_barrier,
	.behaviour = { .notice = note, .event = hear },
};

static void spawn_watcher(void)
{
	const struct gy_spawn_order order = { .class = &watcher_class };

	cr_assert_eq(gy_spawn(&bare.rig.home, &order, 0, &watcher), 0);
	bare_wait(&bare, 1);
}

static struct gy_house *house(void)
{
	return gy_house_find(&bare.rig.home, watcher.slot, watcher.cookie);
}

static void notify(uint64_t value)
{
	bare_tell(&bare, watcher, value);
}

Test(lost_node, comes_after_what_waits_behind_a_barrier)
{
	bare_init(&bare, &quick);
	bare_dial(&bare);
	bare_greet(&bare);
	spawn_watcher();
	notify(1);
	bare_wait(&bare, 1);
	notify(0);
	notify(0);
	bare_wait(&bare, GYRE_MILLISECONDS(200));
	cr_assert_eq(noticed, 0);
	cr_assert_eq(house()->extra->watch->held, 1);
	bare_wait(&bare, GYRE_SECONDS(1));
	cr_assert_eq(told, 1);
	cr_assert_eq(reason, -EHOSTDOWN);
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}
