/*
 * A watch of nodes that begins when no loop has a link to one that is up: whether it still is can
 * only be known by a dial. On a clock that stands until a test moves it.
 */
#include <criterion/criterion.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "remote/bare.h"

static const uint64_t idle_ns = GYRE_SECONDS(5);
static const uint64_t beat_ns = GYRE_MILLISECONDS(300);
static const uint64_t suspect_ns = GYRE_SECONDS(30);
static const uint64_t down_ns = GYRE_SECONDS(60);

static struct bare bare;
static struct gyre_address watcher;
static uint32_t downs;

static int watch_nodes(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_node_watch(stack), 0);
	return gyre_return(stack);
}

static int hear_of_node(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	cr_assert(event != NULL && event->node == BARE_PEER);
	downs += event->state == GYRE_NODE_DOWN;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_nodes, .event = hear_of_node }
};

/* The link has been closed, since nobody used it, and nothing of it is left to dial again. */
static void begin(void)
{
	const struct gy_spawn_order order = { .class = &watcher_class };

	bare_init(&bare, &(struct gyre_node_options){ .idle_ns = idle_ns,
						      .suspect_ns = suspect_ns,
						      .down_ns = down_ns });
	bare_dial(&bare);
	bare_greet(&bare);
	bare_wait(&bare, idle_ns + beat_ns);
	cr_assert_not(bare_is_alive(&bare));
	bare_hang_up(&bare);
	/* Each dial comes to nothing. */
	gy_peer_learn_address(gy_peer_find(bare.homes.nodes, BARE_PEER), "nowhere");
	cr_assert_eq(gy_spawn(&bare.rig.home, &order, 0, &watcher), 0);
	bare_wait(&bare, 10 * down_ns);
	cr_assert_eq(gy_peer_find(bare.homes.nodes, BARE_PEER)->state, GYRE_NODE_UP);
}

static void begin_watch(void)
{
	bare_tell(&bare, watcher, 0);
	bare_wait(&bare, 1);
}

static void end(void)
{
	bare_forget(&bare);
	bare_fini(&bare);
}

Test(node_watch, has_a_node_examined_that_nobody_has_a_link_to, .init = begin, .fini = end)
{
	begin_watch();
	/* It has said nothing while there was a link, either. */
	bare_wait(&bare, down_ns - idle_ns - 2 * beat_ns);
	cr_expect_eq(downs, 0, "the time without a link does not count");
	bare_wait(&bare, idle_ns + 4 * beat_ns);
	cr_expect_eq(downs, 1);
}

Test(node_watch, does_not_judge_by_a_loop_that_dials_nobody, .init = begin, .fini = end)
{
	bare.loops->count = 0;
	begin_watch();
	bare_wait(&bare, 2 * down_ns);
	cr_expect_eq(downs, 0);
	bare.loops->count = 1;
}

Test(node_watch, finds_a_node_up_that_answers, .init = begin, .fini = end)
{
	begin_watch();
	bare_wait(&bare, suspect_ns + beat_ns);
	cr_assert_eq(gy_peer_find(bare.homes.nodes, BARE_PEER)->state, GYRE_NODE_SUSPECT);
	bare_accept(&bare);
	bare_greet(&bare);
	cr_expect_eq(gy_peer_find(bare.homes.nodes, BARE_PEER)->state, GYRE_NODE_UP);
	cr_expect_eq(downs, 0);
	bare_hang_up(&bare);
}
