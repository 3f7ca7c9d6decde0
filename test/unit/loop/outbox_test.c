/*
 * Nodes between loops: when a chain is handed over, whom it wakes, and how nodes come home. Both
 * loops are on the test's thread; the second is only a receiver until it is turned.
 */
#include "loop_support.h"

static struct gy_loop *sender;
static struct gy_loop *receiver;
static struct test_job job;

static void setup(void)
{
	const struct gy_loop_options options = test_options(0);

	loops_open(2, &options);
	sender = test_loops[0];
	receiver = test_loops[1];
	cr_assert_eq(gy_loop_enter(sender), 0);
	cr_assert_eq(gy_ring_enable(receiver->ring), 0); /* one thread registers with RCU once */
	sender->borrows = false;			 /* see borrowed_test.c */
}

static void teardown(void)
{
	turn(receiver);
	turn(sender);
	turn(receiver);
	gy_loop_leave();
	loops_close();
}

static void send_numbers(uint64_t from, uint64_t to)
{
	for (uint64_t number = from; number <= to; number++) {
		gy_loop_send(sender, 1, make_node(sender, number));
	}
}

TestSuite(outbox, .init = setup, .fini = teardown);

Test(outbox, keeps_nodes_until_it_is_flushed)
{
	send_numbers(1, 10);
	cr_assert(gy_inbox_empty(&receiver->inbox));
	gy_loop_flush(sender);
	cr_assert_eq(sender->counters.chains_sent, 1);
	cr_assert_eq(sender->counters.nodes_sent, 10);
	turn(receiver);
	cr_assert_eq(delivered_count, 10);
	gy_loop_flush(sender);
	cr_assert_eq(sender->counters.chains_sent, 1, "there was nothing more to send");
}

Test(outbox, hands_over_a_chain_of_64_at_once)
{
	send_numbers(1, 63);
	cr_assert(gy_inbox_empty(&receiver->inbox));
	send_numbers(64, 64);
	cr_assert_not(gy_inbox_empty(&receiver->inbox));
	cr_assert_eq(sender->counters.chains_sent, 1);
	send_numbers(65, 200);
	cr_assert_eq(sender->counters.chains_sent, 3);
	gy_loop_flush(sender);
	cr_assert_eq(sender->counters.chains_sent, 4);
	turn(receiver);
	cr_assert_eq(delivered_count, 200);
}

static void send_from_job(struct gy_loop *loop, struct test_job *unused)
{
	(void)loop;
	(void)unused;
	send_numbers(delivered_last + 1, delivered_last + 5);
}

Test(outbox, is_flushed_at_the_end_of_phase_2_and_of_phase_3)
{
	job.run = send_from_job;
	gy_loop_ready_channels(sender, &job.job, false);
	gy_loop_turn(sender);
	cr_assert_eq(sender->counters.chains_sent, 1);
	turn(receiver);
	gy_loop_ready_state(sender, &job.job, false);
	gy_loop_turn(sender);
	cr_assert_eq(sender->counters.chains_sent, 2);
	turn(receiver);
	cr_assert_eq(delivered_count, 10);
}

/* ---- waking ---- */

Test(outbox, hands_over_at_once_to_a_parked_loop_and_wakes_it_once)
{
	receiver->parked = GY_PARKED;
	send_numbers(1, 1);
	cr_assert_eq(sender->counters.chains_sent, 1);
	cr_assert_eq(sender->counters.wakes_sent, 1);
	cr_assert_eq(receiver->parked, GY_PARKED_WAKER + sender->index, "it says who wakes");
	cr_assert(gy_ring_has_prepared(sender->ring));
	send_numbers(2, 100);
	gy_loop_flush(sender);
	cr_assert_eq(sender->counters.wakes_sent, 1);
	/* The wake ends a wait of the receiver without limit. */
	cr_assert_geq(gy_ring_submit(sender->ring), 0);
	cr_assert_geq(gy_ring_submit_and_wait(receiver->ring, UINT64_MAX), 0);
	turn(receiver);
	cr_assert_eq(delivered_count, 100);
}

Test(outbox, wakes_a_loop_that_parks_before_the_flush)
{
	send_numbers(1, 10);
	receiver->parked = GY_PARKED;
	gy_loop_flush(sender);
	cr_assert_eq(sender->counters.wakes_sent, 1);
	cr_assert_eq(receiver->parked, GY_PARKED_WAKER + sender->index);
}

static bool task_ran;

static void note_task(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	(void)task;
	task_ran = true;
}

/* The sender has only prepared its wake, and may be in a handler for long. */
Test(outbox, that_has_prepared_a_wake_is_not_relied_on_by_others)
{
	struct gy_task task = { .run = note_task };

	receiver->parked = GY_PARKED;
	send_numbers(1, 1);
	cr_assert(gy_ring_has_prepared(sender->ring));
	gy_loop_post_task(receiver, &task);
	cr_assert_eq(receiver->parked, GY_AWAKE);
	/* Nothing was submitted by the sender: it is the post that ends the wait. */
	cr_assert_geq(gy_ring_submit_and_wait(receiver->ring, UINT64_MAX), 0);
	turn(receiver);
	cr_assert(task_ran);
}

Test(outbox, of_nodes_that_only_go_home_wakes_nobody)
{
	struct gy_node *nodes[70];

	for (uint64_t i = 0; i < 70; i++) {
		nodes[i] = make_node(receiver, i + 1);
	}
	receiver->parked = 1;
	for (uint64_t i = 0; i < 70; i++) {
		gy_loop_node_put(sender, nodes[i]);
	}
	cr_assert_eq(sender->counters.chains_sent, 1, "sixty-four of them");
	gy_loop_flush(sender);
	cr_assert_eq(sender->counters.chains_sent, 2);
	cr_assert_eq(sender->counters.wakes_sent, 0);
	cr_assert_eq(receiver->parked, 1);
	/* Mail in the same chain does wake. */
	nodes[0] = make_node(receiver, 1);
	gy_loop_node_put(sender, nodes[0]);
	send_numbers(1, 1);
	cr_assert_eq(sender->counters.wakes_sent, 1);
	receiver->parked = 0;
}

/* ---- coming home ---- */

Test(outbox, takes_nodes_home_to_the_pool_they_came_from)
{
	const struct gy_pool *home = &sender->nodes.pools[gy_sizes_class(sizeof(struct test_node))];

	send_numbers(1, 100);
	cr_assert_eq(home->total - home->free_count, 100);
	gy_loop_flush(sender);
	turn(receiver);
	cr_assert_eq(delivered_count, 100);
	cr_assert_eq(receiver->counters.chains_sent, 2, "64 at once, the rest with the phase");
	cr_assert_eq(home->total - home->free_count, 100);
	turn(sender);
	cr_assert_eq(home->free_count, home->total);
}

Test(outbox, needs_no_heap_once_it_has_run)
{
	uint64_t allocations = 0;

	for (uint64_t i = 0; i < 20; i++) {
		send_numbers(i * 200 + 1, i * 200 + 200);
		gy_loop_flush(sender);
		turn(receiver);
		turn(sender);
		if (i == 0) {
			allocations = gy_memory_allocations();
		}
	}
	cr_assert_eq(gy_memory_allocations(), allocations);
}

Test(outbox, frees_nodes_from_the_heap_where_they_end)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct test_node));

	cr_assert_not_null(node);
	gy_loop_node_put(sender, node); /* the address sanitizer would tell of it */
	node = gy_loop_node_get(sender, 100000);
	cr_assert_eq(node->owner, GY_NODE_FROM_HEAP);
	gy_loop_node_put(receiver, node);
	cr_assert_eq(sender->counters.nodes_sent, 0);
}

Test(outbox, drains_an_inbox_outside_of_a_turn_and_sends_the_nodes_home)
{
	send_numbers(1, 10);
	gy_loop_flush(sender);
	gy_loop_drain_inbox(receiver);
	cr_assert_eq(delivered_count, 10);
	cr_assert_eq(receiver->counters.turns, 0);
	cr_assert_eq(receiver->counters.chains_sent, 1);
}
