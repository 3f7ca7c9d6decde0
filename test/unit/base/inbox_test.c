/*
 * Chains, and the inbox that takes them: order, whole chains, and the break in the middle of a
 * push.
 */
#include <criterion/criterion.h>

#include "base/inbox.h"

enum { NODES = 64 };

struct numbered {
	struct gy_node node;
	int number;
} GY_ALIGNED_LINE;

static struct numbered nodes[NODES];
static struct gy_inbox inbox;

static void setup(void)
{
	gy_inbox_init(&inbox);
	for (int i = 0; i < NODES; i++) {
		nodes[i].number = i;
	}
}

static void push_chain(int from, int to)
{
	struct gy_chain chain = { 0 };

	for (int i = from; i < to; i++) {
		gy_chain_append(&chain, &nodes[i].node);
	}
	gy_inbox_push(&inbox, chain.first, chain.last);
}

static void assert_takes(int from, int to)
{
	for (int i = from; i < to; i++) {
		struct gy_node *node = gy_inbox_take(&inbox);

		cr_assert_not_null(node);
		cr_assert_eq(gy_container_of(node, struct numbered, node)->number, i);
		/* It is the taker's at once: whatever it does to it harms nobody. */
		*node = (struct gy_node){ .next = node, .ahead = -1 };
	}
}

/* ---- chains ---- */

Test(chain, links_its_nodes_in_order_and_counts_them)
{
	struct gy_chain chain = { 0 };
	struct gy_node *node;

	for (uint32_t i = 0; i < NODES; i++) {
		gy_chain_append(&chain, &nodes[i].node);
		cr_assert_eq(chain.count, i + 1);
		cr_assert_eq(chain.last, &nodes[i].node);
	}
	node = chain.first;
	for (int i = 0; i < NODES; i++) {
		cr_assert_eq(node, &nodes[i].node);
		node = node->next;
	}
	cr_assert_null(node);
	gy_chain_clear(&chain);
	cr_assert_eq(chain.count, 0);
	cr_assert_null(chain.first);
}

Test(chain, tells_each_node_where_the_fourth_after_it_is)
{
	struct gy_chain chain = { 0 };

	for (int i = 0; i < NODES; i++) {
		nodes[(i * 37) % NODES].node.ahead = -99; /* of an earlier use */
		gy_chain_append(&chain, &nodes[(i * 37) % NODES].node);
	}
	for (int i = 0; i < NODES; i++) {
		const struct numbered *node = &nodes[(i * 37) % NODES];
		const struct numbered *then = &nodes[((i + 4) * 37) % NODES];

		if (i + 4 < NODES) {
			cr_assert_eq((const char *)node + node->node.ahead * GY_CACHE_LINE,
				     (const char *)then);
		} else {
			cr_assert_eq(node->node.ahead, 0);
		}
	}
}

/* ---- the inbox ---- */

TestSuite(inbox, .init = setup);

Test(inbox, is_empty_at_first_and_gives_nothing)
{
	cr_assert(gy_inbox_empty(&inbox));
	cr_assert_null(gy_inbox_take(&inbox));
}

Test(inbox, gives_chains_whole_and_in_the_order_of_their_pushes)
{
	push_chain(0, 1);
	push_chain(1, 20);
	push_chain(20, 21);
	cr_assert_not(gy_inbox_empty(&inbox));
	assert_takes(0, 10);
	push_chain(21, 40);
	assert_takes(10, 40);
	cr_assert(gy_inbox_empty(&inbox));
	cr_assert_null(gy_inbox_take(&inbox));
}

Test(inbox, takes_a_node_again_that_it_has_just_given)
{
	for (int i = 0; i < 100; i++) {
		push_chain(0, 1);
		cr_assert_not(gy_inbox_empty(&inbox));
		assert_takes(0, 1);
		cr_assert(gy_inbox_empty(&inbox));
		push_chain(0, 3);
		assert_takes(0, 3);
	}
}

Test(inbox, is_not_empty_while_what_was_taken_out_has_not_been_read)
{
	push_chain(0, 3);
	assert_takes(0, 1);
	cr_assert_not(gy_inbox_empty(&inbox));
	assert_takes(1, 3);
	cr_assert(gy_inbox_empty(&inbox));
}

/* The two steps of a push by hand, as a producer that is preempted between them. */
static struct gy_node *push_half(int number)
{
	nodes[number].node.next = NULL;
	return gy_exchange_full(&inbox.tail, &nodes[number].node);
}

static void push_rest(struct gy_node *before, int number)
{
	gy_store_release(&before->next, &nodes[number].node);
}

Test(inbox, with_only_half_a_push_is_not_empty_and_gives_nothing_without_waiting)
{
	struct gy_node *before = push_half(0);

	cr_assert_not(gy_inbox_empty(&inbox));
	cr_assert_null(gy_inbox_take(&inbox));
	cr_assert_null(gy_inbox_take(&inbox));
	push_rest(before, 0);
	assert_takes(0, 1);
	cr_assert(gy_inbox_empty(&inbox));
}

Test(inbox, gives_what_stands_before_the_break_and_the_rest_when_it_is_mended)
{
	struct gy_node *before;

	push_chain(0, 3);
	before = push_half(3);
	push_chain(4, 7);
	assert_takes(0, 2);
	/* The third has no successor yet, and may not be given before it has. */
	cr_assert_null(gy_inbox_take(&inbox));
	cr_assert_not(gy_inbox_empty(&inbox));
	push_rest(before, 3);
	assert_takes(2, 7);
	cr_assert(gy_inbox_empty(&inbox));
}

Test(inbox, that_broke_after_it_was_taken_out_goes_on_with_the_next_push)
{
	struct gy_node *before;

	push_chain(0, 2);
	assert_takes(0, 1);
	before = push_half(2);
	cr_assert_eq(before, &inbox.stub);
	assert_takes(1, 2);
	cr_assert_null(gy_inbox_take(&inbox));
	cr_assert_not(gy_inbox_empty(&inbox));
	push_rest(before, 2);
	assert_takes(2, 3);
	cr_assert(gy_inbox_empty(&inbox));
}
