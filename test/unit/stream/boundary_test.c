/*
 * Graphs in several actors, on several loops: that elements cross boundaries in order, each once,
 * in a bounded number, and that ends and failures cross them too.
 */
#include "graph_rig.h"

#include <errno.h>

#include "base/atomic.h"

enum { LOOPS = 3 };

static const struct gyre_boundary_options on_next = { .place = GYRE_PLACE_ROUND_ROBIN };
static const struct gyre_boundary_options small = { .place = GYRE_PLACE_LOOP,
						    .loop = 1,
						    .elements_max = 3 };

static const uint64_t late = 1500;

static void build_two(struct gyre_graph *graph)
{
	collect(gyre_stream_boundary(count_from(graph, 0, 4000), &on_next));
}

Test(boundary, lets_elements_cross_in_order)
{
	run_graph(LOOPS, build_two);
	expect_numbers(0, 1, 4000);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(got.elements, 4000);
}

static void build_many(struct gyre_graph *graph)
{
	struct gyre_stream s =
		gyre_stream_map(count_from(graph, 0, 2000), &gyre_type_owned, make_owned, NULL);

	for (int i = 0; i < 8; i++) {
		s = gyre_stream_boundary(s, i % 2 == 0 ? &on_next : &small);
	}
	collect(gyre_stream_map(s, &gyre_type_number, read_owned, NULL));
}

Test(boundary, may_follow_another_one)
{
	run_graph(LOOPS, build_many);
	expect_numbers(0, 1, 2000);
}

static void build_failing_above(struct gyre_graph *graph)
{
	struct gyre_stream s = gyre_stream_map(count_on(graph), &gyre_type_number, fail_at,
					       (void *)(uintptr_t)&late);

	s = gyre_stream_map(gyre_stream_boundary(s, &on_next), &gyre_type_owned, make_owned, NULL);
	s = gyre_stream_boundary(s, &on_next);
	collect(gyre_stream_map(s, &gyre_type_number, read_owned, NULL));
}

Test(boundary, passes_a_failure_on_behind_all_elements)
{
	run_graph(LOOPS, build_failing_above);
	cr_assert_eq(got.result, -EIO);
	expect_numbers(0, 1, 1500);
}

static void build_taking_below(struct gyre_graph *graph)
{
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL);

	s = gyre_stream_take(gyre_stream_boundary(s, &small), 100);
	collect(gyre_stream_map(s, &gyre_type_number, read_owned, NULL));
}

Test(boundary, cancels_what_is_above_and_has_asked_for_no_more_than_its_window)
{
	run_graph(LOOPS, build_taking_below);
	cr_assert_eq(got.result, 0);
	expect_numbers(0, 1, 100);
	cr_assert_leq(produced, 100 + 3 + 2);
}

static int fail_each(void *arg, void *in)
{
	(void)arg;
	return ((const struct number *)in)->value == 50 ? -EBADF : 0;
}

static void build_failing_sink(struct gyre_graph *graph)
{
	gyre_stream_each(gyre_stream_boundary(count_on(graph), &on_next), fail_each, NULL);
}

Test(boundary, passes_the_failure_of_a_sink_up)
{
	run_graph(LOOPS, build_failing_sink);
	cr_assert_eq(got.result, -EBADF);
}

static void build_workers(struct gyre_graph *graph)
{
	static const uint64_t million = 1000000;
	struct gyre_stream branches[4];

	gyre_stream_balance(count_from(graph, 0, 3000), 4, branches);
	for (uint32_t i = 0; i < 4; i++) {
		branches[i] = gyre_stream_boundary(branches[i], NULL);
		branches[i] = gyre_stream_map(branches[i], &gyre_type_number, add_arg,
					      (void *)(uintptr_t)&million);
		branches[i] = gyre_stream_boundary(branches[i], &on_next);
	}
	collect(gyre_stream_merge(branches, 4));
}

Test(boundary, makes_workers_of_branches_on_several_loops)
{
	bool seen[3000] = { false };

	run_graph(LOOPS, build_workers);
	cr_assert_eq(got.count, 3000);
	for (uint32_t i = 0; i < got.count; i++) {
		uint64_t value = got.values[i] - 1000000;

		cr_assert(value < 3000 && !seen[value]);
		seen[value] = true;
	}
}

/* A sink on each side of a broadcast, on loops of their own. */
static uint32_t counted[2]; /* atomic */

static int count(void *arg, void *in)
{
	(void)in;
	(void)gy_fetch_add((uint32_t *)arg, 1);
	return 0;
}

static void build_two_sinks(struct gyre_graph *graph)
{
	struct gyre_stream branches[2];

	gyre_stream_broadcast(count_from(graph, 0, 3000), 2, 10, branches);
	gyre_stream_each(gyre_stream_boundary(branches[0], &on_next), count, &counted[0]);
	gyre_stream_each(gyre_stream_boundary(branches[1], &on_next), count, &counted[1]);
}

Test(boundary, has_sinks_in_several_actors)
{
	run_graph(LOOPS, build_two_sinks);
	cr_assert_eq(counted[0], 3000);
	cr_assert_eq(counted[1], 3000);
	cr_assert_eq(got.elements, 6000);
}

static void build_there_and_back(struct gyre_graph *graph)
{
	struct gyre_stream branches[3];

	gyre_stream_broadcast(count_from(graph, 0, 1000), 3, 5, branches);
	branches[0] = gyre_stream_boundary(gyre_stream_boundary(branches[0], &on_next), NULL);
	branches[1] = gyre_stream_boundary(branches[1], &small);
	collect(gyre_stream_merge(branches, 3));
}

Test(boundary, may_lead_back_to_where_a_stream_has_come_from)
{
	uint32_t times[1000] = { 0 };

	run_graph(LOOPS, build_there_and_back);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(got.count, 3000);
	for (uint32_t i = 0; i < got.count; i++) {
		cr_assert_lt(times[got.values[i]]++, 3);
	}
}

/* ---- cut off ---- */

struct frame {
	struct gyre_future slept;
	struct gyre_address graph;
};

static int told_reason = 1;

static int stop_graph(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	graph = gyre_graph_create();
	gyre_stream_each(
		gyre_stream_boundary(
			gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL), &on_next),
		NULL, NULL);
	expect(gyre_graph_start(stack, graph, NULL, &frame->graph) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->slept));
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->graph, 1, &frame->slept));
	told_reason = gyre_future_error(&frame->slept);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(boundary, is_cut_off_when_the_graph_is_stopped)
{
	play(LOOPS, stop_graph);
	cr_assert_eq(told_reason, 0);
	cr_assert_eq(gy_load_relaxed(&owned_alive), 0);
}

static int time_out(struct gyre_stack *stack)
{
	static const struct gyre_graph_options options = { .timeout_ns = GYRE_MILLISECONDS(5) };
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	graph = gyre_graph_create();
	gyre_stream_each(gyre_stream_boundary(count_on(graph), &on_next), NULL, NULL);
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, &options, &frame->slept));
	told_reason = gyre_future_error(&frame->slept);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(boundary, ends_with_a_graph_that_takes_too_long)
{
	play(LOOPS, time_out);
	cr_assert_eq(told_reason, -ETIMEDOUT);
}
