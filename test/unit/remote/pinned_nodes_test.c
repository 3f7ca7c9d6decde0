/*
 * An actor with a loop of its own, and another node: that loop dials nobody, so loop 0 does.
 */
#include <sched.h>

#include "actor/home.h"
#include "base/atomic.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/stranger.h"

static const struct gyre_spawn_options pinned = { .place = GYRE_PLACE_PINNED };

static uint32_t downs;

/* Of a class that has a loop of its own. */
static struct gyre_address open_pinned(const struct gyre_class *class)
{
	struct gyre_system_options options = { .loops = 1, .loops_pinned = 1 };
	struct gyre_address actor;

	(void)stranger_open_system(&options, &stranger_quick, &sink_class);
	cr_assert_eq(gyre_system_spawn(fixture.system, class, GYRE_NO_ARGUMENT, &pinned, &actor),
		     0);
	cr_assert_gt(actor.loop, 0);
	return actor;
}

static int watch_nodes(struct gyre_stack *stack)
{
	expect(gyre_node_watch(stack) == 0);
	return gyre_return(stack);
}

static int hear_of_node(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	expect(event != NULL && event->node == STRANGER_ID);
	(void)gy_fetch_add(&downs, event->state == GYRE_NODE_DOWN);
	return gyre_return(stack);
}

static const struct gyre_class node_watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_nodes, .event = hear_of_node }
};

/* It leaves in good order, so that nobody asks whether it is alive. */
static void leave(struct stranger *stranger)
{
	const struct gy_peer *peer = gy_peer_find(gy_homes_of(fixture.system)->nodes, STRANGER_ID);

	stranger_say(stranger, GY_WIRE_CLOSE, "", 0);
	stranger_close(stranger);
	while (gy_load_relaxed(&peer->links) > 0) {
		(void)sched_yield();
	}
}

Test(pinned_nodes, have_a_node_examined_that_nobody_has_a_link_to)
{
	struct gyre_address watcher = open_pinned(&node_watcher_class);
	struct stranger in;
	struct stranger out;

	stranger_meet(&in);
	stranger_await_known();
	leave(&in);
	stranger_listen(&out);
	cr_assert_eq(notify_outside(watcher, 0), 0);
	stranger_welcome(&out);
	stranger_close(&out);
	fixture_close();
	cr_expect_eq(downs, 0);
}
