/*
 * Giving pool memory back: what nobody used for a while shrinks to ten objects, also in a loop that
 * went idle at once, and then the loop rests.
 */
#include "loop_support.h"

enum { NODES = 200 };

static const uint64_t second_ns = UINT64_C(1000000000);

static struct gy_node *nodes[NODES];

static void use_nodes(struct gy_loop *loop)
{
	for (uint64_t i = 0; i < NODES; i++) {
		nodes[i] = make_node(loop, i + 1);
	}
	for (uint64_t i = 0; i < NODES; i++) {
		gy_loop_node_put(loop, nodes[i]);
	}
}

static const struct gy_pool *pool_of(const struct gy_loop *loop)
{
	return &loop->nodes.pools[gy_sizes_class(sizeof(struct test_node))];
}

Test(pools, shrink_to_ten_after_half_a_minute_to_a_minute_without_use)
{
	struct gy_loop *loop = loop_open();

	use_nodes(loop);
	for (uint32_t i = 0; i < 29; i++) {
		turn(loop);
		virtual_ns += second_ns;
	}
	cr_assert_geq(pool_of(loop)->total, NODES);
	for (uint32_t i = 0; i < 61; i++) {
		turn(loop);
		virtual_ns += second_ns;
	}
	cr_assert_eq(pool_of(loop)->total, 10);
	loop_close();
}

Test(pools, that_are_used_now_and_then_keep_what_they_have)
{
	struct gy_loop *loop = loop_open();

	for (uint32_t i = 0; i < 300; i++) {
		if (i % 20 == 0) {
			use_nodes(loop);
		}
		turn(loop);
		virtual_ns += second_ns;
	}
	cr_assert_geq(pool_of(loop)->total, NODES);
	loop_close();
}

/* Turns only when the loop itself wants to, as one that parks does. Returns how often. */
static uint32_t turn_until_at_rest(struct gy_loop *loop)
{
	uint32_t turns = 0;

	for (;;) {
		uint64_t next_ns = gy_wheel_next_ns(&loop->wheel);

		if (next_ns == UINT64_MAX) {
			return turns;
		}
		cr_assert_lt(turns++, 100);
		virtual_ns = next_ns > virtual_ns ? next_ns : virtual_ns;
		turn(loop);
	}
}

static void use_nodes_in_job(struct gy_loop *loop, struct test_job *job)
{
	(void)job;
	use_nodes(loop);
}

/* Then the loop would park in the second turn. */
static void run_burst(struct gy_loop *loop)
{
	static struct test_job job = { .run = use_nodes_in_job };

	gy_loop_ready_state(loop, &job.job, false);
	turn(loop);
	turn(loop);
}

Test(pools, of_a_loop_that_goes_idle_after_a_burst_shrink_and_then_it_rests)
{
	struct gy_loop *loop = loop_open();

	run_burst(loop);
	(void)turn_until_at_rest(loop);
	cr_assert_eq(pool_of(loop)->total, 10);
	cr_assert_eq(gy_wheel_next_ns(&loop->wheel), UINT64_MAX);
	/* And the same again after the rest. */
	virtual_ns += 1000 * second_ns;
	run_burst(loop);
	cr_assert_leq(turn_until_at_rest(loop), 6, "a few wake-ups, and that is all");
	cr_assert_eq(pool_of(loop)->total, 10);
	loop_close();
}

Test(pools, of_the_floors_above_are_looked_at_as_long_as_they_want)
{
	struct gy_loop *loop = loop_open();

	trim_again = true;
	for (uint32_t i = 0; i < 10; i++) {
		virtual_ns += 31 * second_ns;
		turn(loop);
	}
	cr_assert_eq(trims, 10);
	cr_assert_neq(gy_wheel_next_ns(&loop->wheel), UINT64_MAX);
	trim_again = false;
	virtual_ns += 31 * second_ns;
	turn(loop);
	cr_assert_eq(trims, 11);
	cr_assert_eq(gy_wheel_next_ns(&loop->wheel), UINT64_MAX);
	loop_close();
}
