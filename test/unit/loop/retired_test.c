/*
 * Mail for a loop that has retired: its deputy, loop 0, delivers it in its name.
 */
#include "loop_support.h"

static struct gy_loop *deputy;
static struct gy_loop *retired;

static void setup(void)
{
	const struct gy_loop_options options = test_options(0);

	loops_open(2, &options);
	deputy = test_loops[0];
	retired = test_loops[1];
	cr_assert_eq(gy_loop_enter(deputy), 0);
	gy_loop_adopt(retired);
}

static void teardown(void)
{
	gy_loops_serve_all(test_peers);
	turn(deputy);
	gy_loops_serve_all(test_peers);
	gy_loop_leave();
	loops_close();
}

TestSuite(retired, .init = setup, .fini = teardown);

static void post(uint64_t number)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct test_node));

	cr_assert_not_null(node);
	node->kind = TEST_MAIL;
	gy_container_of(node, struct test_node, node)->number = number;
	gy_loop_post(retired, node);
}

Test(retired, has_its_deputy_called_once_for_what_is_posted)
{
	cr_assert_not(gy_loops_want_service(test_peers));
	post(1);
	cr_assert(gy_loops_want_service(test_peers));
	cr_assert_eq(retired->parked, GY_AWAKE);
	test_peers->calls = 0;
	post(2);
	cr_assert_not(gy_loops_want_service(test_peers), "it has been called");
	gy_loops_serve(test_peers);
	cr_assert_eq(delivered_count, 2);
	cr_assert_eq(retired->parked, GY_PARKED_RETIRED);
	post(3);
	cr_assert(gy_loops_want_service(test_peers));
	gy_loops_serve(test_peers);
	cr_assert_eq(delivered_count, 3);
}

Test(retired, ends_the_wait_of_its_deputy)
{
	post(1);
	cr_assert_geq(gy_ring_submit_and_wait(deputy->ring, UINT64_MAX), 0);
	gy_loops_serve(test_peers);
	cr_assert_eq(delivered_count, 1);
}

Test(retired, is_sent_to_by_loops_as_any_other)
{
	gy_loop_send(deputy, 1, make_node(deputy, 1));
	gy_loop_flush(deputy);
	cr_assert(gy_loops_want_service(test_peers));
	gy_loops_serve(test_peers);
	cr_assert_eq(delivered_count, 1);
	turn(deputy);
	for (uint32_t k = 0; k < GY_SIZES_COUNT; k++) {
		cr_assert_eq(deputy->nodes.pools[k].free_count, deputy->nodes.pools[k].total,
			     "the node has come home");
	}
}

Test(retired, calls_nobody_for_nodes_that_return)
{
	struct gy_node *node = make_node(retired, 1);

	deputy->borrows = false;
	gy_loop_return(deputy, node);
	gy_loop_flush(deputy);
	cr_assert_not(gy_loops_want_service(test_peers));
	cr_assert_not(gy_loops_are_served(test_peers));
	gy_loops_serve_all(test_peers);
	cr_assert(gy_loops_are_served(test_peers));
}

Test(retired, leaves_the_rest_of_a_flood_for_a_later_turn)
{
	for (uint64_t i = 1; i <= 10000; i++) {
		post(i);
	}
	gy_loops_serve(test_peers);
	cr_assert_lt(delivered_count, 10000);
	cr_assert(gy_loops_want_service(test_peers));
	gy_loops_serve(test_peers);
	cr_assert_eq(delivered_count, 10000);
	cr_assert_not(gy_loops_want_service(test_peers));
}

Test(retired, keeps_what_comes_for_whoever_turns_it_again)
{
	post(1);
	gy_loop_release(retired);
	post(2);
	gy_loops_serve(test_peers);
	cr_assert_eq(delivered_count, 0);
	cr_assert_eq(gy_ring_enable(retired->ring), 0);
	turn(retired);
	cr_assert_eq(delivered_count, 2);
	gy_loop_adopt(retired);
}
