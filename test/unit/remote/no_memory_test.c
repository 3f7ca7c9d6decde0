/*
 * What is promised exactly once between nodes, without memory from each allocation on: the ends of
 * actors on a node that is lost, watches that are renewed, answers that arrive. Rounds go on until
 * one had all the memory it wanted.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/watch.h>

#include "../heap.h"
#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "bare.h"
#include "remote/peer/peer_state.h"
#include "remote/peer/rounds.h"
#include "remote/types.h"

TestSuite(remote_no_memory, .timeout = 120);

enum { ROUNDS_MAX = 2000, THINGS = 60, FRAME_BYTES_MAX = 256 };

struct round {
	uint32_t number;
	bool once; /* only one allocation fails */
};

static struct bare bare;
static struct gyre_address actor;
static uint32_t told[THINGS];
static uint32_t failed_asks;
static uint32_t answered_asks;
static void *hoarded[4096];
static struct gy_pool *hoarded_from[4096];
static uint32_t hoarded_count;

static const struct gyre_node_options quick = {
	.heartbeat_ns = GYRE_MILLISECONDS(10),
	.suspect_ns = GYRE_MILLISECONDS(30),
	.down_ns = GYRE_MILLISECONDS(60),
};
static const struct gyre_node_options waiting = {
	.heartbeat_ns = GYRE_SECONDS(4),
	.suspect_ns = GYRE_SECONDS(600),
	.down_ns = GYRE_SECONDS(3600),
	.away_ns = GYRE_SECONDS(3600),
};
static const struct gyre_node_options patient = {
	.heartbeat_ns = GYRE_SECONDS(60),
	.suspect_ns = GYRE_SECONDS(600),
	.down_ns = GYRE_SECONDS(3600),
};

/* And has it begin, so many times. */
static void spawn(const struct gyre_class *class, uint32_t notices)
{
	const struct gy_spawn_order order = { .class = class };

	cr_assert_eq(gy_spawn(&bare.rig.home, &order, 0, &actor), 0);
	bare_wait(&bare, 1);
	for (uint32_t i = 0; i < notices; i++) {
		bare_tell(&bare, actor, 0);
	}
	bare_wait(&bare, 1);
}

/* What pools have would make each round one in which nothing lacks. */
static void hoard(void)
{
	struct gy_sizes *nodes = &bare.rig.home.loop.nodes;

	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		void *object = gy_pool_take(&nodes->pools[i]);

		while (object != NULL) {
			cr_assert_lt(hoarded_count, gy_countof(hoarded));
			hoarded[hoarded_count] = object;
			hoarded_from[hoarded_count++] = &nodes->pools[i];
			object = gy_pool_take(&nodes->pools[i]);
		}
	}
}

static bool recover(void)
{
	bool lacked = heap_recover();

	while (hoarded_count > 0) {
		hoarded_count--;
		gy_pool_put_any(hoarded_from[hoarded_count], hoarded[hoarded_count]);
	}
	return lacked;
}

static void begin_to_lack(const struct round *round)
{
	hoard();
	if (round->once) {
		heap_lack_once_after(round->number);
	} else {
		heap_end_after(round->number);
	}
}

/* Events that wait for the next connection of the link. */
static uint32_t count_waiting(void)
{
	const struct gy_link *link = (const struct gy_link *)gy_id_table_find(
		&gy_links_of(&bare.rig.home)->dialled, BARE_PEER);
	uint32_t count = 0;

	for (const struct gy_node *node = link->waiting; node != NULL; node = node->next) {
		count += node->kind == GY_MAIL_EVENT;
	}
	return count;
}

static void play(const struct gyre_node_options *options, bool (*play_round)(const struct round *))
{
	for (int once = 0; once < 2; once++) {
		struct round round = { .once = once != 0 };
		bool lacked;

		do {
			uint64_t out = heap_out();

			memset(told, 0, sizeof(told));
			failed_asks = answered_asks = 0;
			bare_init(&bare, options);
			lacked = play_round(&round);
			bare_hang_up(&bare);
			cr_assert(!gy_links_of(&bare.rig.home)->draining || count_waiting() == 0,
				  "round %u: %u wait for no link", round.number, count_waiting());
			bare_forget(&bare);
			bare_fini(&bare);
			cr_assert_eq(heap_out(), out, "round %u", round.number);
			cr_assert_lt(++round.number, ROUNDS_MAX);
		} while (lacked);
		cr_expect_gt(round.number, 1, "nothing was lacking");
	}
}

/* ---- watches ---- */

static struct gyre_address there(uint32_t number)
{
	return (struct gyre_address){
		.slot = number, .cookie = 6, .node = BARE_PEER, .life = 1000
	};
}

static int watch_all(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < THINGS; i++) {
		cr_assert_eq(gyre_watch(stack, there(i)), 0);
	}
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	cr_assert_not_null(terminated);
	cr_assert(terminated->reason == -EHOSTDOWN || !bare_is_alive(&bare), "%d",
		  terminated->reason);
	told[terminated->actor.slot]++;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_all, .event = hear }
};

static bool watch_and_lose_node(const struct round *round)
{
	bool lacked;

	bare_dial(&bare);
	bare_greet(&bare);
	spawn(&watcher_class, 1);
	begin_to_lack(round);
	bare_wait(&bare, GYRE_MILLISECONDS(200));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	for (uint32_t i = 0; i < THINGS; i++) {
		cr_assert_eq(told[i], 1, "round %u: %u times", round->number, told[i]);
	}
	return lacked;
}

Test(remote_no_memory, tells_of_each_end_on_a_node_that_is_lost)
{
	play(&quick, watch_and_lose_node);
}

/* The link has another connection at once, so that nothing else renews them. */
static bool watch_and_renew(const struct round *round)
{
	bool lacked;

	bare_dial(&bare);
	bare_greet(&bare);
	spawn(&watcher_class, 1);
	cr_assert_eq(bare_count_said(&bare, GY_WIRE_EVENT, gy_type_watch.id), THINGS);
	begin_to_lack(round);
	gy_rounds_begin(&bare.link->peer->peer_tasks[0]);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	cr_assert(!bare_is_alive(&bare) ||
			  bare_count_said(&bare, GY_WIRE_EVENT, gy_type_watch.id) >= THINGS,
		  "round %u", round->number);
	return lacked;
}

Test(remote_no_memory, renews_each_watch)
{
	play(&patient, watch_and_renew);
}

static struct gyre_mail *order_of(const struct gyre_type *type, uint32_t number)
{
	struct gyre_mail *mail = gy_watch_make(&bare.rig.home, type, bare.adder);

	cr_assert_not_null(mail);
	mail->node.kind = GY_MAIL_EVENT;
	mail->from = (struct gy_origin){ .slot = number | gy_life_code(1) << GY_LIFE_SHIFT,
					 .cookie = 6,
					 .node = BARE_PEER };
	mail->ask_id = number;
	return mail;
}

/* Of three watches one is given up, and one is swept, while they wait for their records. */
static bool give_up_what_waits(const struct round *round)
{
	static const unsigned char body[] = { 1, 0, 0, 0 };
	unsigned char over[GY_WIRE_HEAD_BYTES_MAX + sizeof(body)];
	const struct gy_frame frame = { .kind = GY_WIRE_EVENT,
					.type = gy_type_round_over.id,
					.bytes = sizeof(body) };
	struct gyre_mail *orders[4];
	struct gy_house *house;
	bool lacked;
	bool swept;

	bare_accept(&bare);
	bare_greet(&bare);
	house = gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie);
	for (uint32_t i = 0; i < 3; i++) {
		orders[i] = order_of(&gy_type_watch, i + 1);
		gy_watch_set_round(orders[i], i / 2);
	}
	orders[3] = order_of(&gy_type_unwatch, 1);
	memcpy(over + gy_wire_put(&frame, over), body, sizeof(body));
	begin_to_lack(round);
	for (uint32_t i = 0; i < 4; i++) {
		(void)gy_send_away(&bare.rig.home, bare.adder, orders[i]);
	}
	bare_feed(&bare, over, sizeof(over), sizeof(over));
	swept = bare_is_alive(&bare); /* else the order to sweep has found no memory */
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(50));
	cr_assert_eq(house->extra->watch->watchers.count, swept ? 1 : 2, "round %u: %u",
		     round->number, house->extra->watch->watchers.count);
	cr_assert_eq(gy_lives_watchers(&bare.link->peer->lives), swept ? 1 : 2);
	gy_house_request_stop(house, 0);
	bare_wait(&bare, GYRE_MILLISECONDS(50));
	return lacked;
}

Test(remote_no_memory, forgets_watches_that_wait_for_it)
{
	play(&patient, give_up_what_waits);
}

/* ---- states of nodes ---- */

static uint16_t states[UINT8_MAX];

static int watch_nodes(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_node_watch(stack), 0);
	return gyre_return(stack);
}

static int hear_of_node(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	cr_assert_not_null(event);
	states[event->node] = event->state;
	return gyre_return(stack);
}

static const struct gyre_class node_watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_nodes, .event = hear_of_node }
};

static bool watch_nodes_come(const struct round *round)
{
	struct gy_links *links = gy_links_of(&bare.rig.home);
	bool lacked;

	memset(states, 0, sizeof(states));
	bare_accept(&bare);
	bare_greet(&bare);
	spawn(&node_watcher_class, 1);
	for (uint16_t id = BARE_PEER + 1; id <= BARE_PEER + THINGS; id++) {
		cr_assert_not_null(gy_peer_get(bare.homes.nodes, id));
	}
	begin_to_lack(round);
	for (uint16_t id = BARE_PEER + 1; id <= BARE_PEER + THINGS; id++) {
		uint32_t life;

		(void)gy_peer_hello(links, gy_peer_find(bare.homes.nodes, id), 1000, &life);
	}
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	for (uint32_t id = BARE_PEER; id <= BARE_PEER + THINGS; id++) {
		cr_assert_eq(states[id], GYRE_NODE_UP, "round %u: node %u", round->number, id);
	}
	return lacked;
}

Test(remote_no_memory, tells_the_state_of_each_node)
{
	play(&patient, watch_nodes_come);
}

/* ---- addresses ---- */

Test(remote_no_memory, leaves_a_node_the_address_that_it_has)
{
	static const char *const addresses[] = { "tcp://127.0.0.1:1", "tcp://127.0.0.1:2" };
	struct gy_peer *peer;

	bare_init(&bare, &patient);
	peer = gy_peer_get(bare.homes.nodes, BARE_PEER);
	cr_assert_not_null(peer);
	gy_peer_learn_address(peer, addresses[0]);
	heap_end_after(0);
	gy_peer_learn_address(peer, addresses[1]);
	cr_assert(heap_recover());
	cr_expect_str_eq(peer->address, addresses[0]);
	gy_peer_learn_address(peer, addresses[1]);
	cr_expect_str_eq(peer->address, addresses[1]);
	bare_fini(&bare);
}

/* ---- what arrives ---- */

static int count_answer(struct gyre_stack *stack)
{
	const struct gyre_future *future = (const struct gyre_future *)gyre_frame(stack);

	failed_asks += gyre_future_error(future) < 0;
	answered_asks += gyre_future_error(future) == 0;
	return gyre_return(stack);
}

static uint64_t asked[THINGS]; /* the ids of all asks */
static uint32_t asked_count;

static int ask_for_ever(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		return count_answer(stack);
	}
	cr_assert_lt(asked_count, THINGS);
	asked[asked_count] = gy_promise_open(gy_stack_of(stack), GYRE_FOREVER, future);
	cr_assert_neq(asked[asked_count++], 0);
	gy_promise_of_node(future, BARE_PEER);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour = { .notice = ask_for_ever },
};

static void feed(struct gy_frame frame, const void *body, uint32_t body_bytes, uint64_t ask_id)
{
	unsigned char bytes[FRAME_BYTES_MAX];
	uint32_t head_bytes;

	frame.to_slot = actor.slot;
	frame.to_cookie = actor.cookie;
	frame.to_loop = actor.loop;
	frame.ask_id = ask_id;
	frame.bytes = body_bytes;
	head_bytes = gy_wire_put(&frame, bytes);
	memcpy(bytes + head_bytes, body, body_bytes);
	bare_feed(&bare, bytes, head_bytes + body_bytes, sizeof(bytes));
}

/* Each answer has come, or the link has ended before the peer was told that it was taken. */
static bool answer_all(const struct round *round, struct gy_frame frame, const void *body,
		       uint32_t body_bytes)
{
	uint32_t fed = 0;
	bool lacked;

	bare_accept(&bare);
	bare_greet(&bare);
	asked_count = 0;
	spawn(&asking_class, THINGS);
	cr_assert_eq(asked_count, THINGS);
	begin_to_lack(round);
	while (fed < THINGS && bare_is_alive(&bare)) {
		feed(frame, body, body_bytes, asked[fed++]);
	}
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	cr_assert_eq(answered_asks + failed_asks, bare_is_alive(&bare) ? THINGS : fed - 1,
		     "round %u: %u of %u", round->number, answered_asks + failed_asks, fed);
	return lacked;
}

static bool take_answers(const struct round *round)
{
	const struct bare_number one = { 1 };
	const struct gy_frame frame = { .kind = GY_WIRE_REPLY,
					.type = gyre_type_bare_number.id,
					.layout = gy_type_layout(&gyre_type_bare_number) };

	return answer_all(round, frame, &one, sizeof(one));
}

Test(remote_no_memory, loses_no_answer_without_its_link)
{
	play(&patient, take_answers);
}

static bool take_exceptions(const struct round *round)
{
	const unsigned char error[4] = { 0xfb, 0xff, 0xff, 0xff };

	return answer_all(round, (struct gy_frame){ .kind = GY_WIRE_EXCEPTION }, error,
			  sizeof(error));
}

Test(remote_no_memory, loses_no_exception_without_its_link)
{
	play(&patient, take_exceptions);
}

static bool take_events(const struct round *round)
{
	const unsigned char error[4] = { 0xfb, 0xff, 0xff, 0xff };

	return answer_all(round,
			  (struct gy_frame){ .kind = GY_WIRE_EVENT, .type = gy_type_unanswered.id },
			  error, sizeof(error));
}

Test(remote_no_memory, loses_no_event_without_its_link)
{
	play(&patient, take_events);
}

/* ---- names of this node ---- */

static int look_up_here(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) == 0 &&
	    gyre_node_lookup(stack, BARE_NODE, "adder", GYRE_FOREVER, future) == 0) {
		return gyre_suspend(stack, 1);
	}
	failed_asks += gyre_future_error(future) < 0;
	answered_asks += gyre_future_error(future) == 0;
	return gyre_return(stack);
}

static const struct gyre_class looking_class = {
	.name = "looking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour = { .notice = look_up_here },
};

static bool look_up_own(const struct round *round)
{
	struct gyre_mail *mail;
	bool lacked;

	bare_accept(&bare);
	spawn(&looking_class, 0);
	mail = gy_mail_get(&bare.rig.home, &gyre_type_bare_number);
	cr_assert_not_null(mail);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	begin_to_lack(round);
	(void)gy_send(&bare.rig.home, actor, mail, GY_LANE_NOTICE);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	cr_assert_eq(failed_asks + answered_asks + bare_sums(&bare).dropped[GYRE_DROP_NO_MEMORY], 1,
		     "round %u", round->number);
	return lacked;
}

Test(remote_no_memory, answers_each_look_up_in_the_own_node)
{
	play(&patient, look_up_own);
}

/* ---- what leaves ---- */

/* What would have come from the peer. */
static void put(const struct gyre_type *type, enum gy_mail_kind kind, struct gyre_address to,
		uint32_t number)
{
	struct gyre_mail *mail = type == &gy_type_watch ? gy_watch_make(&bare.rig.home, type, to)
							: gy_mail_get(&bare.rig.home, type);

	cr_assert_not_null(mail);
	mail->node.kind = (uint8_t)kind;
	mail->from = (struct gy_origin){ .slot = number | gy_life_code(1) << GY_LIFE_SHIFT,
					 .cookie = 6,
					 .node = BARE_PEER };
	mail->ask_id = number;
	mail->deadline = 0;
	(void)gy_send_away(&bare.rig.home, to, mail);
}

static bool end_what_is_watched(const struct round *round)
{
	uint32_t told_there;
	bool lacked;

	bare_dial(&bare);
	bare_greet(&bare);
	gy_link_set(bare.link,
		    GY_LINK_FLAG_HAS_CLIENT); /* so that the next one is under way when it ends */
	for (uint32_t i = 0; i < THINGS; i++) {
		put(&gy_type_watch, GY_MAIL_EVENT, bare.adder, i);
	}
	bare_wait(&bare, 1);
	begin_to_lack(round);
	gy_house_request_stop(gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	/* What was with a connection that broke is lost with it, and the peer watches anew then. */
	told_there = bare_count_said(&bare, GY_WIRE_EVENT, GYRE_ID(gyre_terminated));
	if (!bare_is_alive(&bare)) {
		told_there = (uint32_t)bare.link->queued_frames;
	}
	cr_assert_eq(count_waiting() + told_there, THINGS, "round %u: %u wait", round->number,
		     count_waiting());
	return lacked;
}

Test(remote_no_memory, tells_the_peer_of_each_end)
{
	play(&patient, end_what_is_watched);
}

/* There is a link, which has no connection and may not be dialled yet. */
static bool end_what_is_watched_in_pause(const struct round *round)
{
	const struct gyre_node_peer peer = { BARE_PEER, "tcp://127.0.0.1:1" };
	bool lacked;

	bare_accept(&bare);
	bare_greet(&bare);
	cr_assert_eq(gy_peer_add(bare.homes.nodes, &peer), 0);
	gy_timer_start(&bare.rig.home.loop.wheel,
		       &gy_link_get_dialled(gy_links_of(&bare.rig.home), bare.link->peer)->redial,
		       GYRE_SECONDS(50));
	put(&gy_type_watch, GY_MAIL_EVENT, bare.adder, 1);
	bare_wait(&bare, 1);
	begin_to_lack(round);
	gy_house_request_stop(gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	cr_assert_eq(count_waiting(), 1, "round %u", round->number);
	cr_assert_eq(bare_count_said(&bare, GY_WIRE_REACH, 0), 0, "round %u", round->number);
	return lacked;
}

Test(remote_no_memory, keeps_each_end_for_a_link_in_a_pause)
{
	play(&patient, end_what_is_watched_in_pause);
}

/* The link itself, and then its place among those of the loop. */
Test(remote_no_memory, keeps_an_end_until_there_is_memory_for_a_link)
{
	for (uint32_t number = 0; number < 2; number++) {
		const struct round round = { .number = number };

		bare_init(&bare, &patient);
		bare_accept(&bare);
		bare_greet(&bare);
		put(&gy_type_watch, GY_MAIL_EVENT, bare.adder, 1);
		bare_wait(&bare, 1);
		begin_to_lack(&round);
		gy_house_request_stop(
			gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
		bare_wait(&bare, GYRE_MILLISECONDS(5));
		cr_assert(recover());
		bare_wait(&bare, GYRE_MILLISECONDS(10));
		cr_assert_not_null(
			gy_id_table_find(&gy_links_of(&bare.rig.home)->dialled, BARE_PEER));
		cr_assert_eq(count_waiting(), 1, "round %u", number);
		bare_hang_up(&bare);
		bare_forget(&bare);
		bare_fini(&bare);
	}
}

Test(remote_no_memory, keeps_no_end_without_a_link_when_the_node_stops)
{
	const struct round round = { .number = 0 };

	bare_init(&bare, &patient);
	bare_accept(&bare);
	bare_greet(&bare);
	put(&gy_type_watch, GY_MAIL_EVENT, bare.adder, 1);
	bare_wait(&bare, 1);
	begin_to_lack(&round);
	gy_house_request_stop(gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
	bare_wait(&bare, 1);
	cr_assert_not(gy_list_empty(&gy_links_of(&bare.rig.home)->unlinked));
	gy_links_drain(gy_links_of(&bare.rig.home));
	cr_expect(gy_list_empty(&gy_links_of(&bare.rig.home)->unlinked));
	cr_expect_eq(bare_sums(&bare).dropped[GYRE_DROP_SHUTDOWN], 1);
	cr_assert(recover());
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}

/* The link breaks for lack of memory, and there is no next one for an end to wait for. */
static bool end_what_is_watched_in_drain(const struct round *round)
{
	bool lacked;

	bare_dial(&bare);
	bare_greet(&bare);
	for (uint32_t i = 0; i < THINGS; i++) {
		put(&gy_type_watch, GY_MAIL_EVENT, bare.adder, i);
	}
	bare_wait(&bare, 1);
	gy_links_drain(gy_links_of(&bare.rig.home));
	begin_to_lack(round);
	gy_house_request_stop(gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	bare_wait(&bare, GYRE_MILLISECONDS(10));
	return lacked;
}

Test(remote_no_memory, leaves_no_end_waiting_when_the_node_stops)
{
	play(&patient, end_what_is_watched_in_drain);
}

static int ask_there(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		return count_answer(stack);
	}
	cr_assert_eq(
		gyre_ask(stack, there(1), gyre_new(stack, bare_number, 1), GYRE_FOREVER, future),
		0);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class asking_there_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour = { .notice = ask_there },
};

/* The link ends while there is no memory, and the next one comes when there is. */
static bool break_and_dial(const struct round *round, uint32_t things)
{
	struct gy_link *link = bare.link;
	bool lacked;

	bare_wait(&bare, 1);
	begin_to_lack(round);
	bare_hang_up(&bare);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	lacked = recover();
	gy_link_clear(link, GY_LINK_FLAG_HAS_CLIENT);
	bare_dial(&bare);
	bare_wait(&bare, GYRE_SECONDS(30));
	cr_assert_eq(failed_asks, things, "round %u: %u", round->number, failed_asks);
	cr_assert_eq(count_waiting(), things, "round %u: %u", round->number, count_waiting());
	return lacked;
}

static bool break_link(const struct round *round)
{
	bare_dial(&bare);
	bare_greet(&bare);
	gy_link_set(bare.link,
		    GY_LINK_FLAG_HAS_CLIENT); /* so that the next one is under way when it ends */
	spawn(&asking_there_class, THINGS);
	for (uint32_t i = 0; i < THINGS; i++) {
		put(&gyre_type_bare_number, GY_MAIL_ASK, bare.adder, i + 1);
	}
	return break_and_dial(round, THINGS);
}

Test(remote_no_memory, ends_each_ask_and_owes_each_answer_that_a_link_has_lost)
{
	play(&waiting, break_link);
}

/* ---- what is too large for a frame ---- */

enum { LARGE_THINGS = 8, LARGE_BYTES = (1 << 16) + 1 };

static struct gyre_mail *make_large(void)
{
	struct gyre_mail *mail = gy_mail_get(&bare.rig.home, &gyre_type_bare_text);
	char *text = (char *)malloc(LARGE_BYTES + 1);

	cr_assert(mail != NULL && text != NULL);
	memset(text, 'x', LARGE_BYTES);
	text[LARGE_BYTES] = '\0';
	*(struct bare_text *)gyre_payload(mail) = (struct bare_text){ text };
	return mail;
}

static int ask_large(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		return count_answer(stack);
	}
	cr_assert_eq(gyre_ask(stack, there(1), make_large(), GYRE_FOREVER, future), 0);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class asking_large_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour = { .notice = ask_large },
};

static void answer_large(uint64_t ask_id)
{
	struct gyre_mail *mail = make_large();

	mail->node.kind = GY_MAIL_REPLY;
	mail->ask_id = ask_id;
	mail->deadline = 0;
	gy_mail_from_nobody(mail);
	(void)gy_send_away(&bare.rig.home, there(1), mail);
}

/* Nothing of these has left. */
static bool break_large(const struct round *round)
{
	bare_dial(&bare);
	bare_greet(&bare);
	gy_link_set(bare.link,
		    GY_LINK_FLAG_HAS_CLIENT); /* so that the next one is under way when it ends */
	bare.link->window_bytes = 0;
	spawn(&asking_large_class, LARGE_THINGS);
	for (uint32_t i = 0; i < LARGE_THINGS; i++) {
		answer_large(i + 1);
	}
	return break_and_dial(round, LARGE_THINGS);
}

Test(remote_no_memory, ends_each_ask_and_owes_each_answer_that_was_to_leave_in_pieces)
{
	play(&waiting, break_large);
}
