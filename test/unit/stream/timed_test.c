/*
 * Stages that know the time, which is virtual.
 */
#include "graph_kit.h"

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

KIT_TEST(timed, makes_batches_of_a_number_and_a_last_one_of_the_rest)
{
	(void)graph_run(test, build_batches);
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

KIT_TEST(timed, fails_with_what_gathers_a_batch)
{
	(void)graph_run(test, build_failing_batch);
	cr_assert_eq(got.result, -EIO);
	cr_assert_eq(produced, 7);
}

/* ---- by time ---- */

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

KIT_TEST(timed, ticks_once_in_each_period)
{
	uint64_t took_ns = graph_run(test, build_ticks);

	expect_numbers(0, 1, 20);
	cr_assert_geq(took_ns, GYRE_MILLISECONDS(200));
	cr_assert_leq(took_ns, GYRE_MILLISECONDS(202));
}

static void build_timed_batches(struct gyre_graph *graph)
{
	collect(gyre_stream_batch(ticks(graph, 10), &gyre_type_number, &by_time, sum, NULL));
}

KIT_TEST(timed, ends_a_batch_when_its_time_has_passed)
{
	(void)graph_run(test, build_timed_batches);
	cr_assert_eq(got.count, 4);
	cr_assert_eq(batches[0], 3);
	cr_assert_eq(got.values[0], 0 + 1 + 2);
	cr_assert_eq(batches[3], 1);
}

static void build_throttled(struct gyre_graph *graph)
{
	collect(gyre_stream_throttle(count_from(graph, 0, 35), &ten_a_second));
}

KIT_TEST(timed, lets_a_burst_pass_and_then_elements_at_a_rate)
{
	uint64_t took_ns = graph_run(test, build_throttled);

	expect_numbers(0, 1, 35);
	/* The end is seen by who may have one more. */
	cr_assert_geq(took_ns, GYRE_MILLISECONDS(2600));
	cr_assert_leq(took_ns, GYRE_MILLISECONDS(2602));
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

KIT_TEST(timed, does_not_make_up_for_ticks_that_nobody_has_asked_for)
{
	(void)graph_run(test, build_slow_ticks);
	cr_assert_eq(got.count, 3);
	cr_assert_geq(got.values[1] - got.values[0], 8);
	cr_assert_geq(got.values[2] - got.values[1], 8);
}
