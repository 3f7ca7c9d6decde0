/*
 * A peer that nobody has a link to, and no memory to learn whether it is alive: that is learnt when
 * there is some again, and no sooner is it declared down.
 */
#include <criterion/criterion.h>

#include "../../heap.h"
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
