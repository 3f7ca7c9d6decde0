/*
 * Nodes of threads that turn no loop. The test's own thread is such a thread, and turns a loop too;
 * other threads come and go.
 */
#include "loop_support.h"

#include <pthread.h>

#include "loop/foreign_nodes.h"

/* A small node takes a pair of cache lines. */
enum { CHAIN = 64, SMALL_BYTES = 64, TAKEN_BYTES = 128, MANY = 200000 };

static struct gy_loop *loop;

static void setup(void)
{
	const struct gy_loop_options options = test_options(0);

	loops_open(1, &options);
	loop = test_loops[0];
}

TestSuite(foreign_nodes, .init = setup, .fini = loops_close);

static struct gy_node *get(size_t bytes)
{
	struct gy_node *node = gy_foreign_node_get(bytes);

	cr_assert_not_null(node);
	cr_assert_eq(node->kind, GY_NODE_NEW);
	cr_assert_not(gy_node_is_of_loop(node));
	memset(node + 1, 1, bytes - sizeof(*node));
	return node;
}

/* Gets @count nodes, all at once, and has the loop return them. */
static void send_and_return(uint32_t count, size_t bytes)
{
	struct gy_node **nodes = (struct gy_node **)malloc(count * sizeof(*nodes));

	for (uint32_t i = 0; i < count; i++) {
		nodes[i] = get(bytes);
	}
	for (uint32_t i = 0; i < count; i++) {
		gy_loop_node_put(loop, nodes[i]);
	}
	free((void *)nodes);
}

static void in_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, run, arg), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(foreign_nodes, are_allocated_once_for_each_that_is_under_way)
{
	uint64_t allocations;

	send_and_return(10 * CHAIN, SMALL_BYTES);
	allocations = gy_memory_allocations();
	for (uint32_t i = 0; i < 100; i++) {
		send_and_return(10 * CHAIN, SMALL_BYTES);
	}
	cr_assert_eq(gy_memory_allocations(), allocations);
}

Test(foreign_nodes, of_each_size_up_to_the_largest_of_pools_come_back)
{
	struct gy_node *node;

	for (size_t bytes = SMALL_BYTES; bytes <= GY_SIZES_BYTES_MAX; bytes += 1000) {
		uint64_t allocations;

		send_and_return(CHAIN, bytes);
		allocations = gy_memory_allocations();
		send_and_return(CHAIN, bytes);
		cr_assert_eq(gy_memory_allocations(), allocations, "of %zu bytes", bytes);
	}
	node = get(GY_SIZES_BYTES_MAX);
	cr_assert_eq(node->size_class, GY_SIZES_COUNT - 1);
	gy_foreign_node_put(node);
	cr_assert_null(gy_foreign_node_get(GY_NODE_BYTES_MAX + (size_t)1));
}

Test(foreign_nodes, larger_than_those_of_pools_are_from_the_heap)
{
	struct gy_node *node = get(GY_SIZES_BYTES_MAX + 1);

	cr_assert_eq(node->owner, GY_NODE_FROM_HEAP);
	gy_loop_node_put(loop, node); /* the address sanitizer would tell of it */
	gy_foreign_node_put(get(GY_SIZES_BYTES_MAX + 1));
}

Test(foreign_nodes, go_home_in_chains_and_before_the_loop_blocks_all)
{
	send_and_return(CHAIN + 1, SMALL_BYTES);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, CHAIN * TAKEN_BYTES);
	gy_foreign_nodes_flush(loop);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, (CHAIN + 1) * TAKEN_BYTES);
}

Test(foreign_nodes, that_the_thread_itself_frees_are_used_first)
{
	struct gy_node *node = get(SMALL_BYTES);

	gy_foreign_node_put(node);
	cr_assert_eq(get(SMALL_BYTES), node);
	gy_foreign_node_put(node);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 0);
}

Test(foreign_nodes, that_the_thread_frees_by_the_thousand_go_home_and_no_further_than_its_bound)
{
	struct gy_node **nodes = (struct gy_node **)malloc(MANY * sizeof(*nodes));

	for (uint32_t i = 0; i < MANY; i++) {
		nodes[i] = get(SMALL_BYTES);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		gy_foreign_node_put(nodes[i]);
	}
	free((void *)nodes);
	cr_assert_leq(gy_foreign_nodes_use().home_bytes, 4 << 20);
	cr_assert_gt(gy_foreign_nodes_use().home_bytes, 3 << 20);
}

Test(foreign_nodes, at_home_take_no_more_than_their_bound)
{
	send_and_return(MANY, SMALL_BYTES);
	cr_assert_leq(gy_foreign_nodes_use().home_bytes, 4 << 20);
	cr_assert_gt(gy_foreign_nodes_use().home_bytes, 3 << 20);
}

/* ---- trimming ---- */

Test(foreign_nodes, of_a_thread_that_sends_no_more_are_freed_at_the_second_trim)
{
	send_and_return(2 * CHAIN, SMALL_BYTES);
	send_and_return(2 * CHAIN, SMALL_BYTES);
	gy_foreign_nodes_trim(false);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 2 * CHAIN * TAKEN_BYTES);
	gy_foreign_nodes_trim(false);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 0);
	send_and_return(2 * CHAIN, SMALL_BYTES);
}

Test(foreign_nodes, of_a_thread_that_goes_on_stay)
{
	for (uint32_t i = 0; i < 10; i++) {
		send_and_return(2 * CHAIN, SMALL_BYTES);
		gy_foreign_nodes_trim(false);
		cr_assert_eq(gy_foreign_nodes_use().home_bytes, 2 * CHAIN * TAKEN_BYTES);
	}
}

Test(foreign_nodes, are_all_freed_when_memory_is_short)
{
	send_and_return(2 * CHAIN, SMALL_BYTES);
	send_and_return(2 * CHAIN, 1000);
	gy_foreign_nodes_trim(true);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 0);
}

/* ---- threads ---- */

static void *get_one(void *arg)
{
	*(struct gy_node **)arg = get(SMALL_BYTES);
	return NULL;
}

static void *come_and_go(void *arg)
{
	(void)arg;
	gy_foreign_node_put(get(SMALL_BYTES));
	return NULL;
}

Test(foreign_nodes, outlive_their_thread)
{
	struct gy_node *node;

	in_thread(get_one, &node);
	((struct test_node *)node)->number = 1;
	gy_loop_node_put(loop, node);
	gy_foreign_nodes_flush(loop);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 0);
	in_thread(get_one, &node);
	gy_foreign_node_put(node);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 0);
}

Test(foreign_nodes, of_a_thread_that_has_ended_are_those_of_the_next_one)
{
	uint16_t owner;
	struct gy_node *node;

	in_thread(get_one, &node);
	owner = node->owner;
	gy_loop_node_put(loop, node);
	in_thread(get_one, &node);
	cr_assert_eq(node->owner, owner);
	gy_loop_node_put(loop, node);
}

Test(foreign_nodes, need_no_more_pools_than_there_are_threads_at_once)
{
	for (uint32_t i = 0; i < 1000; i++) {
		in_thread(come_and_go, NULL);
	}
	cr_assert_leq(gy_foreign_nodes_use().pools, 2);
	cr_assert_leq(gy_foreign_nodes_use().threads, 1);
}

static void *free_it(void *arg)
{
	gy_foreign_node_put((struct gy_node *)arg);
	return NULL;
}

Test(foreign_nodes, go_home_from_another_thread_that_frees_them)
{
	in_thread(free_it, get(SMALL_BYTES));
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, TAKEN_BYTES);
}

static pthread_barrier_t barrier;
static struct gy_node *kept[10000];

static void *get_and_stay(void *arg)
{
	*(struct gy_node **)arg = gy_foreign_node_get(SMALL_BYTES);
	(void)pthread_barrier_wait(&barrier);
	return NULL;
}

/* As many as the machine allows. */
Test(foreign_nodes, serve_ten_thousand_threads_at_once)
{
	static pthread_t threads[gy_countof(kept)];
	pthread_attr_t attributes;
	uint32_t started = 0;

	cr_assert_eq(pthread_attr_init(&attributes), 0);
	cr_assert_eq(pthread_attr_setstacksize(&attributes, 64 << 10), 0);
	cr_assert_eq(pthread_barrier_init(&barrier, NULL, gy_countof(kept) + 1), 0);
	while (started < gy_countof(kept) &&
	       pthread_create(&threads[started], &attributes, get_and_stay, &kept[started]) == 0) {
		started++;
	}
	if (started < gy_countof(kept)) {
		cr_skip_test("the machine has no room for so many threads");
	}
	(void)pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < started; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
		cr_assert_not_null(kept[i]);
	}
	cr_assert_leq(gy_foreign_nodes_use().pools, gy_countof(kept) + 1);
	for (uint32_t i = 0; i < started; i++) {
		gy_loop_node_put(loop, kept[i]);
	}
	gy_foreign_nodes_flush(loop);
	cr_assert_eq(gy_foreign_nodes_use().home_bytes, 0);
}
