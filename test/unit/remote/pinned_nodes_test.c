/*
 * An actor with a loop of its own, and another node: that loop dials nobody, so loop 0 does, and
 * sends what the actor says.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <gyre/watch.h>

#include "../heap.h"
#include "actor/home.h"
#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "pair.h"
#include "remote/link/links.h"
#include "remote/message/route.h"
#include "remote/message/unlinked.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/stranger.h"
#include "remote/types.h"

static const struct gyre_spawn_options pinned = { .place = GYRE_PLACE_PINNED };

static uint32_t downs;
static struct gyre_address watched = {
	.slot = 5, .cookie = 6, .node = STRANGER_ID, .life = STRANGER_LIFE
};
static uint32_t ends; /* that were told; atomic */

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

/* ---- mail ---- */

static int hear_the_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, watched));
	expect(terminated->reason == 0);
	(void)gy_fetch_add(&ends, 1);
	return gyre_return(stack);
}

#define UNTIL(stack, frame, condition)                                                        \
	while (!(condition)) {                                                                \
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &(frame)->future)); \
	}

static int use_other_node(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	watched = gyre_future_get(&frame->future, gyre_node_found)->address;
	expect(gyre_watch(stack, watched) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, watched, gyre_new(stack, number, 1), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0 &&
	       gyre_future_get(&frame->future, number)->value == 2);
	expect(gy_load_relaxed(&ends) == 0);
	expect(gyre_stop(stack, watched) == 0);
	UNTIL(stack, frame, gy_load_relaxed(&ends) > 0 && gy_load_relaxed(&pair_heard) > 0);
	return gyre_reply(stack, gyre_new(stack, number, 0));
	GYRE_END(stack);
}

static const struct gyre_class user_class = {
	.name = "user",
	.frame_bytes = sizeof(struct pair_frame),
	.behaviour = { .ask = use_other_node, .event = hear_the_end },
};

static int have_it_used(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_spawn(stack, &user_class, GYRE_NO_ARGUMENT, &pinned, &frame->other) == 0);
	expect(frame->other.loop >= gyre_system_loops(gyre_system_of(stack)));
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->other, gyre_new(stack, number, 0), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(pinned_nodes, ask_and_notify_and_watch_those_of_another_node)
{
	pair_play(&(struct pair){
		.script = have_it_used, .class = &pair_hearer_class, .loops_pinned = 1 });
	cr_expect_eq(pair_heard, 1);
	cr_expect_eq(ends, 1);
}

static int watch_it(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, watched) == 0);
	return gyre_return(stack);
}

/* The watch is given up when the system stops. */
static int ignore_it(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_it, .event = ignore_it }
};

static void expect_watch(struct stranger *stranger)
{
	stranger_welcome(stranger);
	stranger_expect(stranger, GY_WIRE_EVENT);
	cr_assert_eq(stranger->frame.type, gy_type_watch.id);
	cr_assert_eq(stranger->frame.to_slot, watched.slot);
}

Test(pinned_nodes, renew_a_watch_when_the_link_of_loop_0_breaks)
{
	struct gyre_address watcher = open_pinned(&watcher_class);
	struct stranger out;
	uint64_t number;

	stranger_listen(&out);
	cr_assert_eq(notify_outside(watcher, 0), 0);
	expect_watch(&out);
	number = out.frame.ask_id;
	cr_assert_eq(close(out.fd), 0);
	expect_watch(&out);
	cr_expect_eq(out.frame.ask_id, number, "it is the same watch");
	stranger_close(&out);
	fixture_close();
}

/* ---- mail that waits for memory ---- */

enum { SPARE_MAX = 4096 };

/* As large as what takes mail to loop 0. */
static const struct gyre_type spare_type = { .name = "spare", .id = 0x1410, .bytes = 32 };
static struct gyre_mail *spare[SPARE_MAX];

static struct gyre_mail *new_event(struct gy_home *home, uint64_t number)
{
	struct gyre_mail *mail = gy_unanswered_make(home, number, -EIO);

	expect(mail != NULL);
	gy_count(&home->counters.sent, 1);
	return mail;
}

/* The first event finds no memory, and there is some again at once. */
static void route_without_memory(struct gy_home *home, struct gyre_mail *mail)
{
	uint32_t count = 0;

	heap_end_after(0);
	while (count < SPARE_MAX && (spare[count] = gy_mail_get(home, &spare_type)) != NULL) {
		count++;
	}
	(void)gy_route_counted(home, watched, mail);
	expect(heap_recover());
	while (count > 0) {
		gy_mail_put(home, spare[--count]);
	}
	expect(!gy_list_empty(&gy_links_of(home)->unlinked));
}

/* 0: the first event has waited since before the loop ceased to dial; 1: it lacks memory to go by
 * loop 0; 2: and no other comes behind. */
static int say_events(struct gyre_stack *stack)
{
	struct gy_home *home = gy_stack_of(stack)->home;
	uint64_t way = gyre_message(stack, number)->value;
	struct gyre_mail *first = new_event(home, 1);

	if (way == 0) {
		gy_unlinked_keep(gy_links_of(home), watched, first);
	} else {
		route_without_memory(home, first);
	}
	if (way != 2) {
		(void)gy_route_counted(home, watched, new_event(home, 2));
		expect(gy_list_empty(&gy_links_of(home)->unlinked));
	}
	return gyre_return(stack);
}

static const struct gyre_class sayer_class = { .name = "sayer", .behaviour.notice = say_events };

static void expect_events(uint64_t way, uint64_t count)
{
	struct gyre_address sayer = open_pinned(&sayer_class);
	struct stranger out;

	stranger_listen(&out);
	cr_assert_eq(notify_outside(sayer, way), 0);
	stranger_welcome(&out);
	for (uint64_t number = 1; number <= count; number++) {
		stranger_expect(&out, GY_WIRE_EVENT);
		cr_expect_eq(out.frame.ask_id, number);
	}
	stranger_close(&out);
	fixture_close();
}

Test(pinned_nodes, send_what_has_waited_for_memory_before_what_comes_later)
{
	expect_events(0, 2);
}

Test(pinned_nodes, have_an_event_wait_that_lacks_memory_to_leave_by_loop_0)
{
	expect_events(1, 2);
}

Test(pinned_nodes, send_by_themselves_what_has_waited_for_memory)
{
	expect_events(2, 1);
}
