/*
 * Stages that know the time, on a clock that goes from timer to timer.
 */
#include "graph_rig.h"

#include <errno.h>

static const struct gyre_batch_options by_count = { .count_max = 7 };
static const struct gyre_batch_options by_time = { .count_max = 1000,
						   .within_ns = GYRE_MILLISECONDS(25) };
static const struct gyre_throttle_options ten_a_second = { .count = 10,
							   .period_ns = GYRE_SECONDS(1) };

static uint32_t batches[GOT_MAX];
static uint32_t batches_count;

static int sum(void *arg, void *in, uint32_t count, void *out)
{
	const struct number *numbers = (const struct number *)in;
	uint64_t total = 0;

	for (uint32_t i = 0; i < count; i++) {
		total += numbers[i].value;
	}
	batches[batches_count++] = count;
	((struct number *)out)->value = total;
	return arg == NULL ? 0 : -EIO;
}

/* ---- by count ---- */

static void build_batches(struct gyre_graph *graph)
{
	collect(gyre_stream_batch(count_from(graph, 0, 100), &gyre_type_number, &by_count, sum,
				  NULL));
}

Test(timed, makes_batches_of_a_number_and_a_last_one_of_the_rest)
{
	run_graph(1, build_batches);
	cr_assert_eq(got.count, 15);
	cr_assert_eq(got.values[0], 21);
	cr_assert_eq(batches[13], 7);
	cr_assert_eq(batches[14], 2);
	cr_assert_eq(got.values[14], 98 + 99);
}

static void build_failing_batch(struct gyre_graph *graph)
{
	static int fails;

	collect(gyre_stream_batch(count_on(graph), &gyre_type_number, &by_count, sum, &fails));
}

Test(timed, fails_with_what_gathers_a_batch)
{
	run_graph(1, build_failing_batch);
	cr_assert_eq(got.result, -EIO);
	cr_assert_eq(produced, 7);
}

/* ---- on a steady clock ---- */

struct run_frame {
	struct gyre_future done;
	uint64_t begun_ns;
};

static build_fn building;
static uint64_t took_ns;

static int run_it(struct gyre_stack *stack)
{
	struct run_frame *frame = (struct run_frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	frame->begun_ns = gyre_now(stack);
	graph = gyre_graph_create();
	building(graph);
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
	got.result = gyre_future_error(&frame->done);
	took_ns = gyre_now(stack) - frame->begun_ns;
	return fixture_end(stack);
	GYRE_END(stack);
}

static void run_steady(build_fn build)
{
	building = build;
	play_steady(run_it);
}

static int number_of(void *arg, void *in, void *out)
{
	const struct gyre_stream_tick *tick = (const struct gyre_stream_tick *)in;

	(void)arg;
	((struct number *)out)->value = tick->number;
	return 0;
}

static struct gyre_stream ticks(struct gyre_graph *graph, uint64_t count)
{
	return gyre_stream_map(
		gyre_stream_take(gyre_stream_ticks(graph, GYRE_MILLISECONDS(10)), count),
		&gyre_type_number, number_of, NULL);
}

static void build_ticks(struct gyre_graph *graph)
{
	collect(ticks(graph, 20));
}

Test(timed, ticks_once_in_each_period)
{
	run_steady(build_ticks);
	expect_numbers(0, 1, 20);
	cr_assert_geq(took_ns, GYRE_MILLISECONDS(200));
	cr_assert_leq(took_ns, GYRE_MILLISECONDS(230));
}

static void build_timed_batches(struct gyre_graph *graph)
{
	collect(gyre_stream_batch(ticks(graph, 10), &gyre_type_number, &by_time, sum, NULL));
}

Test(timed, ends_a_batch_when_its_time_has_passed)
{
	run_steady(build_timed_batches);
	cr_assert_eq(got.count, 4);
	cr_assert_eq(batches[0], 3);
	cr_assert_eq(got.values[0], 0 + 1 + 2);
	cr_assert_eq(batches[3], 1);
}

static void build_throttled(struct gyre_graph *graph)
{
	collect(gyre_stream_throttle(count_from(graph, 0, 35), &ten_a_second));
}

Test(timed, lets_a_burst_pass_and_then_elements_at_a_rate)
{
	run_steady(build_throttled);
	expect_numbers(0, 1, 35);
	cr_assert_geq(took_ns, GYRE_MILLISECONDS(2500));
	cr_assert_leq(took_ns, GYRE_MILLISECONDS(2700));
}

static void build_slow_ticks(struct gyre_graph *graph)
{
	static const struct gyre_throttle_options slow = { .count = 1,
							   .burst = 1,
							   .period_ns = GYRE_MILLISECONDS(100) };

	collect(gyre_stream_take(
		gyre_stream_map(gyre_stream_throttle(
					gyre_stream_ticks(graph, GYRE_MILLISECONDS(10)), &slow),
				&gyre_type_number, number_of, NULL),
		3));
}

Test(timed, does_not_make_up_for_ticks_that_nobody_has_asked_for)
{
	run_steady(build_slow_ticks);
	cr_assert_eq(got.count, 3);
	cr_assert_geq(got.values[1] - got.values[0], 8);
	cr_assert_geq(got.values[2] - got.values[1], 8);
}
