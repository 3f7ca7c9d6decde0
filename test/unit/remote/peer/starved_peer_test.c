/*
 * A peer that nobody has a link to, and no memory to learn whether it is alive: that is learnt when
 * there is some again, and no sooner is it declared down.
 */
#include <criterion/criterion.h>

#include "../../heap.h"
#include "actor/life/lifecycle.h"
#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "remote/bare.h"

static const struct gyre_node_options quick = {
	.heartbeat_ns = GYRE_MILLISECONDS(10),
	.suspect_ns = GYRE_MILLISECONDS(30),
	.down_ns = GYRE_MILLISECONDS(60),
};

static struct bare bare;

/* Its address is what lacks. */
Test(starved_peer, examines_a_peer_again_after_a_pause)
{
	struct gy_link *link;

	bare_init(&bare, &quick);
	bare_dial(&bare);
	bare_greet(&bare);
	link = bare.link;
	gy_peer_learn_address(link->peer, "nowhere");
	heap_end_after(0);
	bare_hang_up(&bare);
	cr_assert(heap_recover());
	cr_assert(gy_link_has(link, GY_LINK_FLAG_PEER_UNSURE));
	cr_expect(gy_timer_is_started(&link->redial));
	bare_forget(&bare);
	bare_fini(&bare);
}

/* The link is what lacks, and then its place among those of the loop. */
Test(starved_peer, examines_a_peer_when_there_is_memory_for_a_link)
{
	for (uint32_t number = 0; number < 2; number++) {
		struct gy_peer *peer;

		bare_init(&bare, &quick);
		bare_accept(&bare);
		bare_greet(&bare);
		peer = bare.link->peer;
		heap_end_after(number);
		bare_hang_up(&bare);
		bare_wait(&bare, GYRE_MILLISECONDS(5));
		cr_assert(heap_recover());
		cr_assert_eq(peer->state, GYRE_NODE_UP);
		bare_wait(&bare, GYRE_MILLISECONDS(200));
		cr_expect_eq(peer->state, GYRE_NODE_DOWN, "round %u", number);
		bare_forget(&bare);
		bare_fini(&bare);
	}
}

/* One of the peer watches one here, as if it had said so over the link. */
static void be_watched(void)
{
	struct gyre_mail *mail = gy_watch_make(&bare.rig.home, &gy_type_watch, bare.adder);

	cr_assert_not_null(mail);
	mail->node.kind = GY_MAIL_EVENT;
	mail->from = (struct gy_origin){ .slot = 1 | gy_life_code(1) << GY_LIFE_SHIFT,
					 .cookie = 6,
					 .node = BARE_PEER };
	mail->ask_id = 1;
	mail->deadline = 0;
	(void)gy_send_away(&bare.rig.home, bare.adder, mail);
	bare_wait(&bare, 1);
}

Test(starved_peer, is_not_judged_by_a_late_link_for_the_time_without_one)
{
	const struct gy_peer *peer;

	bare_init(&bare, &quick);
	bare_accept(&bare);
	bare_greet(&bare);
	peer = bare.link->peer;
	be_watched();
	gy_link_set(bare.link, GY_LINK_FLAG_CLOSING); /* in good order */
	bare_hang_up(&bare);
	bare_wait(&bare, GYRE_SECONDS(10));
	cr_assert_eq(peer->state, GYRE_NODE_UP);
	heap_end_after(0);
	gy_house_request_stop(gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie), 0);
	bare_wait(&bare, GYRE_MILLISECONDS(5));
	cr_assert(heap_recover());
	bare_wait(&bare, GYRE_MILLISECONDS(20));
	cr_assert_not_null(gy_id_table_find(&gy_links_of(&bare.rig.home)->dialled, BARE_PEER));
	cr_expect_eq(peer->state, GYRE_NODE_UP);
	bare_forget(&bare);
	bare_fini(&bare);
}
