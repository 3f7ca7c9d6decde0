/*
 * Borrowed nodes: what a loop keeps of a peer's nodes, and what goes back in them. Both loops are
 * on the test's thread, and turned by it.
 */
#include "loop_support.h"

#include "loop/borrowed.h"

static struct gy_loop *here;
static struct gy_loop *there;

static void setup(void)
{
	const struct gy_loop_options options = test_options(0);

	loops_open(2, &options);
	here = test_loops[0];
	there = test_loops[1];
	cr_assert_eq(gy_loop_enter(here), 0);
	cr_assert_eq(gy_ring_enable(there->ring), 0); /* one thread registers with RCU once */
	there->borrows = true;
}

/* All nodes are at home before the pools go. */
static void give_all_back(void)
{
	gy_loop_give_back(here);
	gy_loop_flush(here);
	gy_loop_end_borrowing(there);
	gy_loop_flush(there);
	turn(here);
	turn(there);
}

static void teardown(void)
{
	give_all_back();
	gy_loop_leave();
	loops_close();
}

TestSuite(borrowed, .init = setup, .fini = teardown);

static const struct gy_pool *pool_of(const struct gy_loop *loop)
{
	return &loop->nodes.pools[gy_sizes_class(sizeof(struct test_node))];
}

static uint32_t out(const struct gy_loop *loop)
{
	return pool_of(loop)->total - pool_of(loop)->free_count;
}

/* Sends from one loop to the other as an actor does, and has it delivered there. */
static void carry(struct gy_loop *from, struct gy_loop *to, uint64_t first, uint64_t last)
{
	for (uint64_t number = first; number <= last; number++) {
		struct gy_node *node = make_node(from, number);

		gy_loop_send(from, to->index, gy_loop_carry(from, to->index, node));
	}
	gy_loop_flush(from);
	turn(to);
}

Test(borrowed, nodes_carry_back_what_is_sent_to_their_own_loop)
{
	carry(here, there, 1, 1);
	cr_assert_eq(out(here), 1, "it was borrowed, not returned");
	cr_assert_eq(there->counters.nodes_sent, 0);
	carry(there, here, 2, 2);
	cr_assert_eq(delivered_count, 2);
	cr_assert_eq(delivered_last, 2, "the message is that of the node which it was made in");
	cr_assert_eq(out(here), 0, "it came home with a message");
	cr_assert_eq(out(there), 0, "whose own node never left");
	cr_assert_eq(here->counters.nodes_sent + there->counters.nodes_sent, 2);
}

Test(borrowed, nodes_halve_what_crosses_where_both_loops_send)
{
	for (uint64_t i = 0; i < 100; i++) {
		carry(here, there, 20 * i + 1, 20 * i + 10);
		carry(there, here, 20 * i + 11, 20 * i + 20);
	}
	cr_assert_eq(delivered_count, 2000);
	cr_assert_eq(here->counters.nodes_sent + there->counters.nodes_sent, 2000);
}

Test(borrowed, nodes_are_no_more_than_a_chain_and_the_others_return)
{
	carry(here, there, 1, 1000);
	turn(here);
	cr_assert_eq(out(here), GY_BORROWED_MAX);
	cr_assert_eq(there->counters.nodes_sent, 1000 - GY_BORROWED_MAX);
	carry(here, there, 1001, 2000);
	turn(here);
	cr_assert_eq(out(here), GY_BORROWED_MAX);
}

Test(borrowed, nodes_go_home_when_the_loop_has_been_idle)
{
	carry(here, there, 1, 10);
	cr_assert_eq(out(here), 10);
	for (uint32_t i = 0; i < 3; i++) {
		virtual_ns += UINT64_C(60000000000);
		turn(there);
	}
	turn(here);
	cr_assert_eq(out(here), 0);
	carry(here, there, 11, 20);
	cr_assert_eq(out(here), 10, "and it borrows again");
}

Test(borrowed, nodes_go_home_for_good_when_borrowing_ends)
{
	carry(here, there, 1, 10);
	gy_loop_end_borrowing(there);
	gy_loop_flush(there);
	turn(here);
	cr_assert_eq(out(here), 0);
	carry(here, there, 11, 20);
	turn(here);
	cr_assert_eq(out(here), 0);
}

Test(borrowed, nodes_are_small_ones_only)
{
	struct gy_node *node = gy_loop_node_get(here, 200);

	node->kind = TEST_MAIL;
	((struct test_node *)node)->number = 1;
	gy_loop_send(here, 1, gy_loop_carry(here, 1, node));
	gy_loop_flush(here);
	turn(there);
	turn(here);
	cr_assert_eq(here->nodes.pools[gy_sizes_class(200)].free_count,
		     here->nodes.pools[gy_sizes_class(200)].total);
}

Test(borrowed, nodes_do_not_take_what_does_not_fit_or_holds_something)
{
	struct gy_node *large = gy_loop_node_get(there, 200);
	struct gy_node *holding = make_node(there, 1);
	struct gy_node *heap = gy_node_get_from_heap(sizeof(struct test_node));

	carry(here, there, 1, 3);
	holding->owner |= GY_NODE_HOLDS;
	cr_assert_eq(gy_loop_carry(there, 0, large), large);
	cr_assert_eq(gy_loop_carry(there, 0, holding), holding);
	cr_assert_eq(gy_loop_carry(there, 0, heap), heap);
	holding->owner &= (uint16_t)~GY_NODE_HOLDS;
	gy_loop_node_put(there, large);
	gy_loop_node_put(there, holding);
	gy_loop_node_put(there, heap);
}

Test(borrowed, nodes_need_no_heap_once_a_pair_has_talked)
{
	uint64_t allocations = 0;

	for (uint64_t i = 0; i < 20; i++) {
		carry(here, there, 400 * i + 1, 400 * i + 200);
		carry(there, here, 400 * i + 201, 400 * i + 400);
		if (i == 1) {
			allocations = gy_memory_allocations();
		}
	}
	cr_assert_eq(gy_memory_allocations(), allocations);
}
