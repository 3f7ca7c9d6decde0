/*
 * What the tests of the loop share: a loop that is turned by the test's own thread on virtual time,
 * with jobs and nodes that leave a trace instead of actors and mail.
 *
 * Nothing here waits for the machine's clock: a turn that has nothing to run is woken beforehand.
 */
#ifndef GY_TEST_LOOP_SUPPORT_H
#define GY_TEST_LOOP_SUPPORT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "loop/loop.h"
#include "ring_engine.h"

enum { TRACE_BYTES = 8192 };

/* Virtual time: each reading of the clock adds @step_ns, and may have an effect. */
static uint64_t virtual_ns;
static uint64_t virtual_step_ns;
static uint32_t virtual_readings;
static void (*virtual_effect)(void);

static char traced[TRACE_BYTES];
static size_t traced_count;

struct test_job {
	struct gy_job job;
	void (*run)(struct gy_loop *loop, struct test_job *job);
	char name;
	uint32_t times; /* how often it has run */
	uint64_t takes_ns;
};

struct test_node {
	struct gy_node node;
	uint64_t number;
};

enum { TEST_MAIL = GY_NODE_KINDS };

static uint64_t delivered_count;
static uint64_t delivered_last;
static bool trim_again;
static uint32_t trims;

static inline void trace(char what)
{
	cr_assert_lt(traced_count, TRACE_BYTES - 1);
	traced[traced_count++] = what;
}

static inline void trace_clear(void)
{
	memset(traced, 0, sizeof(traced));
	traced_count = 0;
}

static inline uint64_t read_virtual(void *arg)
{
	(void)arg;
	virtual_readings++;
	virtual_ns += virtual_step_ns;
	if (virtual_effect != NULL) {
		virtual_effect();
	}
	return virtual_ns;
}

/* The meter may read as often as it likes. */
static inline uint64_t read_virtual_ticks(void *arg)
{
	(void)arg;
	return virtual_ns;
}

static inline void run_test_job(struct gy_loop *loop, struct gy_job *job)
{
	struct test_job *test = gy_container_of(job, struct test_job, job);

	test->times++;
	virtual_ns += test->takes_ns;
	if (test->name != '\0') {
		trace(test->name);
	}
	if (test->run != NULL) {
		test->run(loop, test);
	}
}

/* Mail is numbered, and has to come in order. */
static inline void deliver_test_node(struct gy_loop *loop, struct gy_node *node)
{
	struct test_node *test = gy_container_of(node, struct test_node, node);

	cr_assert_eq(node->kind, TEST_MAIL);
	cr_assert_gt(test->number, delivered_last);
	delivered_last = test->number;
	delivered_count++;
	gy_loop_node_put(loop, node);
}

static inline bool trim_test(struct gy_loop *loop, uint32_t keep)
{
	(void)loop;
	cr_assert_eq(keep, 10);
	trims++;
	return trim_again;
}

static const struct gy_loop_ops test_ops = {
	.run = run_test_job,
	.mount = run_test_job,
	.deliver = deliver_test_node,
	.trim = trim_test,
};

static inline struct gy_loop_options test_options(uint16_t index)
{
	return (struct gy_loop_options){
		.index = index,
		.cpu = -1,
		.io_ratio = 50,
		.starvation_limit = 64,
		.min_budget_ns = 500000,
		.timer_tick_ns = 1000000,
		.spin_ns = GY_SPIN_NEVER,
		.ring = { .engine = engine_of_tests(), .entries = 64 },
		.clock = { .read_ns = read_virtual, .read_ticks = read_virtual_ticks },
		.ops = &test_ops,
	};
}

/* The loops of a test; the first is entered by the test's thread. */
enum { LOOPS_MAX = 2 };
static struct gy_loop *test_loops[LOOPS_MAX];
static struct gy_loops *test_peers;

static inline void loops_open(uint32_t count, const struct gy_loop_options *options)
{
	virtual_ns = UINT64_C(1000000000);
	test_peers = (struct gy_loops *)gy_memory_get(sizeof(*test_peers) +
						      LOOPS_MAX * sizeof(struct gy_loop *));
	test_peers->count = count;
	test_peers->made = count;
	test_peers->max = LOOPS_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct gy_loop_options mine = *options;

		mine.index = (uint16_t)i;
		test_loops[i] = (struct gy_loop *)gy_memory_get(sizeof(struct gy_loop));
		test_peers->loop[i] = test_loops[i];
		cr_assert_eq(gy_loop_init(test_loops[i], &mine), 0);
	}
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(gy_loop_join(test_loops[i], test_peers), 0);
	}
}

static inline struct gy_loop *loop_open_with(const struct gy_loop_options *options)
{
	loops_open(1, options);
	cr_assert_eq(gy_loop_enter(test_loops[0]), 0);
	return test_loops[0];
}

static inline struct gy_loop *loop_open(void)
{
	const struct gy_loop_options options = test_options(0);

	return loop_open_with(&options);
}

/* What is out of the loop's pools at the end is a leak. */
static inline void loops_close(void)
{
	for (uint32_t i = 0; i < test_peers->count; i++) {
		for (uint32_t k = 0; k < GY_SIZES_COUNT; k++) {
			const struct gy_pool *pool = &test_loops[i]->nodes.pools[k];

			if (pool->free_count != pool->total) {
				(void)fprintf(stderr, "%s is not whole\n", pool->name);
				abort(); /* an assertion in a test's end would be forgotten */
			}
		}
		gy_loop_fini(test_loops[i]);
		gy_memory_put(test_loops[i]);
	}
	gy_memory_put(test_peers);
}

static inline void loop_close(void)
{
	gy_loop_leave();
	loops_close();
}

/* One turn that does not block, whatever there is to do. */
static inline void turn(struct gy_loop *loop)
{
	gy_ring_wake(loop->ring);
	gy_loop_turn(loop);
}

static inline struct gy_node *make_node(struct gy_loop *loop, uint64_t number)
{
	struct gy_node *node = gy_loop_node_get(loop, sizeof(struct test_node));

	cr_assert_not_null(node);
	node->kind = TEST_MAIL;
	gy_container_of(node, struct test_node, node)->number = number;
	return node;
}

#endif
