/*
 * Watches are named in rounds after a link broke, and watchers that were not named are forgotten:
 * both sides, by the frames. On a clock that stands until a test moves it.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include <gyre/watch.h>

#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "actor/life/watch_walk.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "remote/bare.h"
#include "remote/link/link_order.h"
#include "remote/message/mail_loss.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/rounds.h"

enum {
	MANY = GY_WATCH_WALK_STEP + 1000,
	HEARD_BYTES = 1 << 20,
	ENOUGH_MS = 100,
	ELSEWHERE = 1 << 20
};

static struct bare bare;
static struct gyre_address watcher;

/* ---- the side that is watched ---- */

struct order {
	const struct gyre_type *type;
	uint32_t slot;
	uint32_t round;
	uint16_t loop;
	uint16_t more_bytes; /* than it has */
};

static void say(const struct order *order)
{
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX + 8] = { 0 };
	struct gyre_encoder body = { .max = 4, .room = 4 };
	uint32_t own_bytes = order->type == &gy_type_unwatch ? 0 : 4;
	const struct gy_frame frame = { .kind = GY_WIRE_EVENT,
					.bytes = own_bytes + order->more_bytes,
					.to_loop = bare.adder.loop,
					.to_slot = bare.adder.slot,
					.to_cookie = bare.adder.cookie,
					.from_loop = order->loop,
					.from_slot = order->slot,
					.from_cookie = 9,
					.type = order->type->id,
					.ask_id = order->slot };

	body.bytes = bytes + gy_wire_put(&frame, bytes);
	gyre_encode_u32(&body, order->round);
	bare_feed(&bare, bytes, GY_WIRE_HEAD_BYTES_MAX + frame.bytes, sizeof(bytes));
}

#define SAY(TYPE, ...) say(&(struct order){ .type = &gy_type_##TYPE, __VA_ARGS__ })

static uint32_t watchers(void)
{
	return gy_lives_watchers(&gy_peer_find(bare.homes.nodes, BARE_PEER)->lives);
}

static uint32_t records(void)
{
	const struct gy_house *house =
		gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie);

	return house->extra->watch->watchers.count;
}

static void expect_watchers(uint32_t count)
{
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_eq(watchers(), count, "%u are counted", watchers());
	cr_expect_eq(records(), count, "there are %u", records());
}

static void come_again(void)
{
	bare_hang_up(&bare);
	bare_accept(&bare);
	bare_greet(&bare);
}

static void begin_watched(void)
{
	bare_init(&bare, &(struct gyre_node_options){ 0 });
	bare_accept(&bare);
	bare_greet(&bare);
}

static void end_watched(void)
{
	gy_house_request_stop(gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_eq(watchers(), 0);
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}

Test(rounds, forget_a_watcher_whose_order_was_lost, .init = begin_watched, .fini = end_watched)
{
	SAY(watch, .slot = 1);
	SAY(watch, .slot = 2);
	SAY(watch, .slot = 3);
	come_again();
	SAY(watch, .slot = 2, .round = 1);
	SAY(watch, .slot = 4, .round = 1);
	expect_watchers(4);
	SAY(round_over, .round = 1);
	expect_watchers(2);
	SAY(unwatch, .slot = 4);
	expect_watchers(1);
}

Test(rounds, leave_what_was_named_later, .init = begin_watched, .fini = end_watched)
{
	SAY(watch, .slot = 1, .round = 7);
	SAY(watch, .slot = 2, .round = 6);
	SAY(watch, .slot = 1, .round = 6); /* which comes late */
	SAY(round_over, .round = 6);
	expect_watchers(2);
	SAY(round_over, .round = 7);
	expect_watchers(1);
	SAY(watch, .slot = 1, .round = 0); /* the numbers have gone round */
	SAY(watch, .slot = 2, .round = UINT32_MAX);
	SAY(watch, .slot = 3, .round = 1);
	SAY(round_over, .round = 1);
	expect_watchers(2);
}

Test(rounds, are_of_one_loop, .init = begin_watched, .fini = end_watched)
{
	SAY(watch, .slot = 1);
	SAY(watch, .slot = 2, .loop = 3);
	SAY(round_over, .round = 1);
	expect_watchers(1);
	SAY(round_over, .round = 1, .loop = 3); /* it dials nobody, and loop 0 says so */
	expect_watchers(0);
}

Test(rounds, are_not_ended_by_another_loop, .init = begin_watched, .fini = end_watched)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	struct gy_hello hello;

	SAY(watch, .slot = 1);
	bare_hang_up(&bare);
	bare_accept(&bare);
	hello = bare_hello();
	hello.loop = 2;
	bare_feed(&bare, bytes, gy_hello_put(&hello, bytes), sizeof(bytes));
	SAY(round_over, .round = 1);
	expect_watchers(1);
	cr_expect_eq(bare_sums(&bare).dropped[GYRE_DROP_NOT_UNDERSTOOD], 1);
}

Test(rounds, forget_very_many_watchers_in_steps, .init = begin_watched, .fini = end_watched)
{
	for (uint32_t i = 0; i < MANY; i++) {
		SAY(watch, .slot = i);
	}
	SAY(round_over, .round = 1);
	cr_expect_gt(watchers(), 0);
	cr_expect_lt(watchers(), MANY);
	SAY(watch, .slot = MANY, .round = 1);
	SAY(round_over, .round = 1); /* which it does not do twice at a time */
	expect_watchers(1);
}

Test(rounds, that_are_over_are_swept_one_after_the_other, .init = begin_watched,
     .fini = end_watched)
{
	uint64_t timers = bare.rig.home.loop.wheel.count;

	for (uint32_t i = 0; i < 2 * MANY; i++) {
		SAY(watch, .slot = i, .loop = (uint16_t)(i % 2));
	}
	for (uint16_t loop = 0; loop < GY_LINK_ORDERS_MAX; loop++) {
		SAY(round_over, .round = 1, .loop = loop);
	}
	cr_expect_gt(watchers(), 0);
	cr_expect_leq(bare.rig.home.loop.wheel.count, timers + 1, "one takes all steps");
	bare_wait(&bare, GYRE_SECONDS(10));
	expect_watchers(0);
}

Test(rounds, are_not_of_a_loop_that_no_node_has, .init = begin_watched, .fini = end_watched)
{
	SAY(watch, .slot = 1);
	SAY(round_over, .round = 1, .loop = GY_LINK_ORDERS_MAX);
	expect_watchers(1);
	cr_expect_eq(bare_sums(&bare).dropped[GYRE_DROP_NOT_UNDERSTOOD], 1);
}

Test(rounds, have_nothing_behind_their_numbers, .init = begin_watched, .fini = end_watched)
{
	SAY(watch, .slot = 1);
	SAY(watch, .slot = 2, .more_bytes = 4);
	expect_watchers(1);
	cr_expect_eq(bare_sums(&bare).dropped[GYRE_DROP_NOT_UNDERSTOOD], 1);
	come_again();
	SAY(round_over, .round = 1, .more_bytes = 4);
	expect_watchers(1);
	cr_expect_eq(bare_sums(&bare).dropped[GYRE_DROP_NOT_UNDERSTOOD], 2);
}

Test(rounds, are_of_one_life_and_so_is_how_many_watches_there_may_be)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	struct gy_hello hello;

	bare_init(&bare, &(struct gyre_node_options){ .watches_max = 2 });
	bare_accept(&bare);
	bare_greet(&bare);
	SAY(watch, .slot = 1);
	SAY(watch, .slot = 2);
	SAY(watch, .slot = 3);
	expect_watchers(2);
	bare_hang_up(&bare);
	bare_accept(&bare);
	hello = bare_hello();
	hello.incarnation = UINT64_C(1) << 32 | 2000;
	bare_feed(&bare, bytes, gy_hello_put(&hello, bytes), sizeof(bytes));
	SAY(watch, .slot = 4);
	SAY(watch, .slot = 5);
	SAY(watch, .slot = 6);
	SAY(round_over, .round = 0);
	expect_watchers(2);
	end_watched();
}

/* As if memory for its record had been lacking. */
static void have_wait(uint32_t slot)
{
	struct gy_home *home = &bare.rig.home;
	struct gyre_mail *order = gy_watch_make(home, &gy_type_watch, bare.adder);

	cr_assert_not_null(order);
	order->node.kind = GY_MAIL_EVENT;
	order->from = (struct gy_origin){ .slot = slot | gy_life_code(1) << GY_LIFE_SHIFT,
					  .cookie = 9,
					  .node = BARE_PEER };
	order->ask_id = slot;
	cr_assert(gy_watcher_hold(home, order->from));
	home->watches_waited = true;
	gy_house_put(home, gy_house_find(home, bare.adder.slot, bare.adder.cookie), order,
		     GY_LANE_EVENT);
}

Test(rounds, name_what_waits_for_memory_and_it_is_held_once, .init = begin_watched,
     .fini = end_watched)
{
	have_wait(1);
	have_wait(2);
	SAY(watch, .slot = 1, .round = 1);
	cr_expect_eq(watchers(), 2, "%u", watchers());
	SAY(round_over, .round = 1);
	expect_watchers(1);
}

Test(rounds, have_no_watch_of_a_dead_life_wait_for_memory, .init = begin_watched,
     .fini = end_watched)
{
	const struct gy_node_loss news = { .node = BARE_PEER,
					   .deeds = GY_NODE_LOSS_FORGET_WATCHERS };

	SAY(watch, .slot = 1);
	have_wait(2);
	cr_assert(gy_home_node_lost(&bare.rig.home, &news));
	expect_watchers(0);
}

/* ---- the side that watches ---- */

/* What was said since the last time: orders to watch, and ends of rounds. */
struct said {
	uint32_t watches;
	uint32_t unwatches;
	uint32_t ends;
	uint32_t round; /* of the last of either, if all since the last end have the same */
	uint64_t bytes;
	uint64_t frames;
};

static void add_order(struct said *said, const struct gy_frame *frame)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	bool watch = frame->type == gy_type_watch.id;
	bool end = frame->type == gy_type_round_over.id;

	said->frames++;
	said->watches += watch;
	said->ends += end;
	said->unwatches += frame->type == gy_type_unwatch.id;
	if (watch || end) {
		uint32_t round = gyre_decode_u32(&in);

		cr_assert(said->watches + said->ends == 1 || round == said->round,
			  "round %u, and %u", round, said->round);
		said->round = round;
	}
}

static unsigned char heard[HEARD_BYTES];
static size_t heard_count; /* of a frame that has come in part */

static struct said hear(void)
{
	size_t count =
		heard_count + bare_hear(&bare, heard + heard_count, HEARD_BYTES - heard_count);
	struct said said = { 0 };
	size_t at = 0;

	for (int64_t length = gy_wire_bytes(heard, count);
	     length > 0 && (size_t)length <= count - at;
	     length = gy_wire_bytes(heard + at, count - at)) {
		struct gy_frame frame;

		gy_wire_get(heard + at, &frame);
		at += (size_t)length;
		if (frame.kind == GY_WIRE_EVENT) {
			said.bytes += (uint64_t)length;
			add_order(&said, &frame);
		}
	}
	heard_count = count - at;
	memmove(heard, heard + at, heard_count);
	return said;
}

static void credit(const struct said *said)
{
	unsigned char bytes[GY_WIRE_WORD_BYTES + 16];
	struct gyre_encoder body = { .max = 16, .room = 16 };
	const struct gy_frame frame = { .kind = GY_WIRE_CREDIT, .bytes = 16 };

	body.bytes = bytes + gy_wire_put(&frame, bytes);
	gyre_encode_u64(&body, said->bytes);
	gyre_encode_u64(&body, said->frames);
	bare_feed(&bare, bytes, sizeof(bytes), sizeof(bytes));
}

/* Takes all that it says, to the end of a round. */
static struct said hear_round(struct said said)
{
	while (said.ends == 0) {
		struct said more;

		credit(&said);
		bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
		more = hear();
		cr_assert_gt(more.frames, 0);
		said.watches += more.watches;
		said.ends += more.ends;
		said.bytes += more.bytes;
		said.frames += more.frames;
		said.round = more.round;
	}
	return said;
}

static struct gyre_address there(uint32_t slot)
{
	return (struct gyre_address){ .slot = slot, .cookie = 6, .node = BARE_PEER, .life = 1000 };
}

static struct gyre_address elsewhere(void)
{
	return (struct gyre_address){ .slot = 1, .cookie = 6, .node = BARE_PEER + 1, .life = 1000 };
}

/* Watches as many as it is told, or one of a node that nobody knows; or gives up the first. */
static int watch_or_not(struct gyre_stack *stack)
{
	uint64_t count = gyre_message(stack, bare_number)->value;

	if (count == ELSEWHERE) {
		cr_assert_eq(gyre_watch(stack, elsewhere()), 0);
		return gyre_return(stack);
	}
	for (uint32_t slot = 0; slot < count; slot++) {
		cr_assert_eq(gyre_watch(stack, there(slot)), 0);
	}
	if (count == 0) {
		cr_assert_eq(gyre_unwatch(stack, there(0)), 0);
	}
	return gyre_return(stack);
}

static uint32_t unreachable;

static int hear_end(struct gyre_stack *stack)
{
	unreachable += gyre_message(stack, gyre_terminated)->reason == -EHOSTUNREACH;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .notice = watch_or_not, .event = hear_end }
};

static void tell(uint64_t count)
{
	bare_tell(&bare, watcher, count);
	bare_wait(&bare, 1);
}

static void begin_watcher(const struct gyre_node_options *options)
{
	const struct gy_spawn_order order = { .class = &watcher_class };

	bare_init(&bare, options);
	bare_dial(&bare);
	bare_greet(&bare);
	cr_assert_eq(gy_spawn(&bare.rig.home, &order, 0, &watcher), 0);
	bare_wait(&bare, 1);
}

static void begin(void)
{
	begin_watcher(&(struct gyre_node_options){ 0 });
}

/* The next link is under way. */
static void hang_up(void)
{
	struct gy_link *link = bare.link;

	gy_link_set(link, GY_LINK_FLAG_HAS_CLIENT);
	bare_hang_up(&bare);
	gy_link_clear(link, GY_LINK_FLAG_HAS_CLIENT);
}

static void end(void)
{
	hang_up();
	bare_forget(&bare);
	bare_fini(&bare);
}

static void dial_again(void)
{
	hang_up();
	heard_count = 0;
	bare_dial(&bare);
	bare_greet(&bare);
}

Test(rounds, name_all_watches_by_the_next_link, .init = begin, .fini = end)
{
	struct said said;

	tell(3);
	said = hear();
	cr_expect_eq(said.watches, 3);
	cr_expect_eq(said.ends, 0, "the first link has lost nothing");
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	said = hear();
	cr_expect_eq(said.watches, 3);
	cr_expect_eq(said.ends, 1);
	cr_expect_eq(said.round, 1);
	tell(5);
	said = hear();
	cr_expect_eq(said.watches, 2, "those that are new");
	cr_expect_eq(said.round, 1);
}

Test(rounds, name_no_watch_that_was_given_up, .init = begin, .fini = end)
{
	struct said said;

	tell(2);
	tell(0);
	(void)hear(); /* and take nothing of it */
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	said = hear();
	cr_expect_eq(said.watches, 1);
	cr_expect_eq(said.unwatches, 0);
	cr_expect_eq(said.ends, 1);
}

static struct gy_rounds *rounds_of_watcher(void)
{
	return &bare.link->peer->peer_tasks[bare.rig.home.loop.index].rounds;
}

Test(rounds, go_through_no_house_of_a_loop_that_has_watched_nobody_at_the_peer, .init = begin,
     .fini = end)
{
	const struct gy_rounds *rounds = rounds_of_watcher();
	struct said said;

	tell(ELSEWHERE);
	cr_assert_eq(unreachable, 1);
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_eq(rounds->walk.slot, 0);
	cr_expect_not(rounds->due);
	said = hear();
	cr_expect_eq(said.ends, 0);
	tell(2);
	(void)hear();
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_gt(rounds->walk.slot, 0);
	said = hear();
	cr_expect_eq(said.watches, 2);
	cr_expect_eq(said.ends, 1);
}

/* As on a loop that runs an actor of another one, and has no memory to hand on what it sends. */
static int lose(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	gy_count(&home->counters.sent, 1);
	return gy_mail_loss(home, to, mail, -ENOMEM);
}

static void tell_with_loss(uint64_t count)
{
	const struct gy_remote_ops *ops = bare.rig.home.options.remote;
	struct gy_remote_ops lossy = *ops;

	lossy.route = lose;
	bare.rig.home.options.remote = &lossy;
	tell(count);
	bare.rig.home.options.remote = ops;
}

Test(rounds, name_a_watch_whose_first_order_found_no_memory_to_come_to_its_loop, .init = begin,
     .fini = end)
{
	struct said said;

	tell_with_loss(1);
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	said = hear();
	cr_expect_eq(said.watches, 1);
	cr_expect_eq(said.ends, 1);
}

Test(rounds, tell_of_a_node_that_nobody_knows_without_memory_for_the_order, .init = begin,
     .fini = end)
{
	tell_with_loss(ELSEWHERE);
	bare_wait(&bare, 1);
	cr_expect_eq(unreachable, 1);
}

Test(rounds, end_even_when_nothing_is_watched_any_more, .init = begin, .fini = end)
{
	struct said said;

	tell(1);
	tell(0);
	dial_again();
	(void)hear();
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	said = hear();
	cr_expect_eq(said.watches, 0);
	cr_expect_eq(said.ends, 1);
	cr_expect_eq(said.round, 2);
}

Test(rounds, tell_those_who_watch_that_there_is_no_next_link, .init = begin, .fini = end)
{
	tell(2);
	bare_hang_up(&bare); /* and the peer has no address */
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_eq(unreachable, 2);
	bare_dial(&bare);
}

Test(rounds, are_not_told_of_by_who_never_watched, .init = begin, .fini = end)
{
	cr_assert_eq(bare_notify(&bare, 1), 0);
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_eq(hear().ends, 0);
}

Test(rounds, name_very_many_in_steps_and_begin_anew_when_the_link_breaks, .init = begin,
     .fini = end)
{
	struct said said;

	tell(MANY);
	(void)hear();
	dial_again();
	said = hear();
	cr_expect_gt(said.watches, 0);
	cr_expect_lt(said.watches, MANY);
	cr_expect_eq(said.ends, 0);
	dial_again();
	cr_expect_eq(hear().watches, 0, "the step of this tick has been taken");
	do {
		bare_wait(&bare, GYRE_MILLISECONDS(1));
		said = hear();
	} while (said.watches == 0);
	cr_expect_lt(said.watches, MANY);
	said = hear_round(said);
	cr_expect_eq(said.watches, MANY);
	cr_expect_eq(said.ends, 1);
	cr_expect_eq(said.round, 2);
}

Test(rounds, wait_while_the_link_is_half_full)
{
	struct said said;

	begin_watcher(&(struct gyre_node_options){ .link_bytes_max = 1 << 16 });
	tell(MANY);
	(void)hear();
	dial_again();
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	said = hear();
	cr_expect_lt(said.watches, MANY);
	cr_expect_eq(said.ends, 0);
	cr_expect_eq(hear_round(said).watches, MANY);
	end();
}

Test(rounds, owe_one_to_the_link_that_comes_after_there_was_none, .init = begin, .fini = end)
{
	struct said said;

	tell(2);
	tell(0);
	bare_hang_up(&bare); /* and the peer has no address */
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	heard_count = 0;
	bare_dial(&bare);
	bare_greet(&bare);
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	said = hear();
	cr_expect_eq(unreachable, 1);
	cr_expect_eq(said.watches, 0);
	cr_expect_eq(said.ends, 1);
}

Test(rounds, begin_anew_when_their_loop_has_another_way, .init = begin, .fini = end)
{
	enum { WATCHES = GY_WATCH_WALK_STEP * 3 / 4 };
	struct said said;
	uint32_t before;

	tell(WATCHES);
	(void)hear();
	dial_again();
	said = hear();
	before = said.watches;
	cr_assert_gt(before, 0);
	cr_assert_lt(before, WATCHES);
	cr_assert_eq(said.ends, 0);
	bare.link->peer->peer_tasks[0].rounds.relayed = true; /* as if it had retired until now */
	said = hear_round(said);
	cr_expect_eq(said.watches - before, WATCHES);
	cr_expect_eq(said.ends, 1);
	cr_expect_eq(said.round, 2);
}

/* Of so many peers that have no link, each of which is watched. */
enum { PEERS = 20 };

static uint32_t have_begun(struct gy_peer *const *peers)
{
	uint32_t count = 0;

	for (uint16_t i = 0; i < PEERS; i++) {
		count += peers[i]->peer_tasks[0].rounds.walk.slot > 0;
	}
	return count;
}

static void begin_rounds(struct gy_peer **peers)
{
	tell(1);
	(void)hear();
	for (uint16_t i = 0; i < PEERS; i++) {
		peers[i] = gy_peer_get(bare.homes.nodes, (uint16_t)(BARE_PEER + 1 + i));
		peers[i]->peer_tasks[0].rounds.used = true;
		gy_rounds_begin(&peers[i]->peer_tasks[0]);
	}
	cr_expect_eq(have_begun(peers), 1);
}

Test(rounds, of_many_peers_take_a_step_each_in_their_turn, .init = begin, .fini = end)
{
	const struct gy_links *links = gy_links_of(&bare.rig.home);
	struct gy_peer *peers[PEERS];

	begin_rounds(peers);
	for (uint32_t begun = 1; begun < PEERS; begun = have_begun(peers)) {
		uint32_t waits = 0;

		while (have_begun(peers) == begun && waits++ < ENOUGH_MS) {
			bare_wait(&bare, GYRE_MILLISECONDS(1));
		}
		cr_assert_eq(have_begun(peers), begun + 1);
	}
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect(gy_list_empty(&links->rounds_due));
	cr_expect_not(gy_timer_is_started(&links->rounds_more));
}

Test(rounds, of_many_peers_are_given_up_with_their_loop, .init = begin, .fini = end)
{
	struct gy_links *links = gy_links_of(&bare.rig.home);
	struct gy_peer *peers[PEERS];

	begin_rounds(peers);
	gy_walks_drain(links);
	cr_expect(gy_list_empty(&links->rounds_due));
	cr_expect_not(gy_timer_is_started(&links->rounds_more));
	bare_wait(&bare, GYRE_MILLISECONDS(ENOUGH_MS));
	cr_expect_eq(have_begun(peers), 1);
}
