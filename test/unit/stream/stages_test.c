/*
 * What each stage does with the elements that pass, and that nobody produces more than is asked
 * for.
 */
#include "graph_kit.h"

#include <errno.h>

static const uint64_t ten = 10;
static const uint64_t two_hundred = 200;

static void *ptr(const uint64_t *value)
{
	return (void *)(uintptr_t)value;
}

/* ---- one by one ---- */

static void build_plain(struct gyre_graph *graph)
{
	collect(count_from(graph, 5, 1000));
}

KIT_TEST(stages, pass_an_array_from_its_source_to_its_sink_in_order)
{
	(void)graph_run(test, build_plain);
	expect_numbers(5, 1, 1000);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(got.elements, 1000);
}

static void build_empty(struct gyre_graph *graph)
{
	collect(gyre_stream_vector(graph, &gyre_type_number, NULL, 0));
}

KIT_TEST(stages, complete_a_stream_without_elements)
{
	(void)graph_run(test, build_empty);
	expect_numbers(0, 0, 0);
	cr_assert_eq(got.result, 0);
}

static void build_three(struct gyre_graph *graph)
{
	struct gyre_stream s = count_from(graph, 0, 1000);

	s = gyre_stream_filter(s, is_odd, NULL);
	s = gyre_stream_map(s, &gyre_type_number, add_arg, ptr(&ten));
	collect(s);
}

KIT_TEST(stages, map_and_filter_elements)
{
	(void)graph_run(test, build_three);
	expect_numbers(11, 2, 500);
}

static int add_up(void *arg, void *in, void *out)
{
	(void)arg;
	((struct number *)out)->value += ((const struct number *)in)->value;
	return 0;
}

static void build_scan(struct gyre_graph *graph)
{
	static const struct number first = { 7 };

	collect(gyre_stream_scan(gyre_stream_map(count_from(graph, 0, 300), &gyre_type_number,
						 fail_at, ptr(&two_hundred)),
				 &gyre_type_number, &first, add_up, NULL));
}

KIT_TEST(stages, show_the_sum_so_far_and_what_came_before_a_failure)
{
	(void)graph_run(test, build_scan);
	cr_assert_eq(got.result, -EIO);
	cr_assert_eq(got.count, 200);
	cr_assert_eq(got.values[0], 7);
	cr_assert_eq(got.values[199], 7 + 199 * 200 / 2);
}

static void build_take(struct gyre_graph *graph)
{
	collect(gyre_stream_take(
		gyre_stream_map(count_on(graph), &gyre_type_number, add_arg, ptr(&ten)), 333));
}

KIT_TEST(stages, ask_a_source_for_no_more_than_is_taken)
{
	(void)graph_run(test, build_take);
	expect_numbers(10, 1, 333);
	cr_assert_eq(produced, 333);
	cr_assert_eq(got.result, 0);
}

static void build_take_none(struct gyre_graph *graph)
{
	collect(gyre_stream_take(count_on(graph), 0));
}

KIT_TEST(stages, take_nothing)
{
	(void)graph_run(test, build_take_none);
	expect_numbers(0, 0, 0);
	cr_assert_eq(produced, 0);
}

static int stop_at(void *arg, void *in)
{
	(void)arg;
	got.values[got.count++] = ((const struct number *)in)->value;
	return got.count == 5 ? 1 : 0;
}

static void build_stop(struct gyre_graph *graph)
{
	gyre_stream_each(count_on(graph), stop_at, NULL);
}

KIT_TEST(stages, end_when_the_sink_wants_no_more)
{
	(void)graph_run(test, build_stop);
	expect_numbers(0, 1, 5);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(got.elements, 5);
}

static uint32_t deep;

static void build_deep(struct gyre_graph *graph)
{
	struct gyre_stream s = count_from(graph, 0, 100);
	static const uint64_t one = 1;

	for (uint32_t i = 0; i < deep; i++) {
		s = gyre_stream_map(s, &gyre_type_number, add_arg, ptr(&one));
	}
	collect(s);
}

KIT_TEST(stages, may_be_many_in_a_row)
{
	deep = GYRE_STREAM_DEPTH_MAX - 1;
	(void)graph_run(test, build_deep);
	expect_numbers(deep, 1, 100);
}

KIT_TEST(stages, are_refused_where_they_are_too_many_in_a_row)
{
	deep = GYRE_STREAM_DEPTH_MAX;
	cr_assert_eq(graph_refuse(test, build_deep), -EINVAL);
}

/* ---- failures ---- */

static int last_words(void *arg, int error, void *out)
{
	((struct number *)out)->value = (uint64_t)-error;
	return arg == NULL ? 1 : *(const int *)arg;
}

static void build_recovered(struct gyre_graph *graph)
{
	struct gyre_stream s =
		gyre_stream_map(count_on(graph), &gyre_type_number, fail_at, ptr(&ten));

	collect(gyre_stream_recover(s, last_words, NULL));
}

KIT_TEST(stages, turn_a_failure_into_a_last_element)
{
	(void)graph_run(test, build_recovered);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(got.count, 11);
	cr_assert_eq(got.values[9], 9);
	cr_assert_eq(got.values[10], EIO);
}

static void build_recovered_badly(struct gyre_graph *graph)
{
	static int other = -EBADF;
	struct gyre_stream s =
		gyre_stream_map(count_on(graph), &gyre_type_number, fail_at, ptr(&ten));

	collect(gyre_stream_recover(s, last_words, &other));
}

KIT_TEST(stages, fail_with_another_error_than_that_which_was_to_be_recovered)
{
	(void)graph_run(test, build_recovered_badly);
	cr_assert_eq(got.result, -EBADF);
	cr_assert_eq(got.count, 10);
}

static int odd_return(void *arg, const void *in)
{
	(void)arg;
	return ((const struct number *)in)->value < 3 ? 1 : 1000000;
}

static void build_odd_return(struct gyre_graph *graph)
{
	collect(gyre_stream_filter(count_on(graph), odd_return, NULL));
}

KIT_TEST(stages, take_a_value_that_is_no_errno_for_misuse)
{
	(void)graph_run(test, build_odd_return);
	cr_assert_eq(got.result, -EINVAL);
	expect_numbers(0, 1, 3);
}

/* ---- what owns something ---- */

static void build_owned(struct gyre_graph *graph)
{
	struct gyre_stream s =
		gyre_stream_map(count_from(graph, 0, 500), &gyre_type_owned, make_owned, NULL);

	collect(gyre_stream_map(s, &gyre_type_number, read_owned, NULL));
}

KIT_TEST(stages, destroy_each_element_once)
{
	(void)graph_run(test, build_owned);
	expect_numbers(0, 1, 500);
}

static int fail_owned_at(void *arg, const void *in)
{
	return *((const struct owned *)in)->value == *(const uint64_t *)arg ? -EIO : 1;
}

static void build_owned_failure(struct gyre_graph *graph)
{
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL);

	s = gyre_stream_filter(s, fail_owned_at, ptr(&two_hundred));
	collect(gyre_stream_map(s, &gyre_type_number, read_owned, NULL));
}

KIT_TEST(stages, destroy_what_is_behind_a_failure)
{
	(void)graph_run(test, build_owned_failure);
	cr_assert_eq(got.result, -EIO);
	expect_numbers(0, 1, 200);
}

/* ---- several ---- */

static int pair_up(void *arg, void *left, void *right, void *out)
{
	(void)arg;
	((struct number *)out)->value = *((const struct owned *)left)->value * 10000 +
					((const struct number *)right)->value;
	return 0;
}

static void build_zip(struct gyre_graph *graph)
{
	struct gyre_stream left = gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL);
	struct gyre_stream right = gyre_stream_filter(count_from(graph, 0, 600), is_odd, NULL);

	collect(gyre_stream_zip(left, right, &gyre_type_number, pair_up, NULL));
}

KIT_TEST(stages, pair_elements_until_one_stream_ends)
{
	(void)graph_run(test, build_zip);
	cr_assert_eq(got.result, 0);
	expect_numbers(1, 10002, 300);
}

static void build_merge(struct gyre_graph *graph)
{
	struct gyre_stream streams[3];

	for (uint32_t i = 0; i < 3; i++) {
		streams[i] = count_from(graph, 1000 * i, 300);
	}
	collect(gyre_stream_merge(streams, 3));
}

KIT_TEST(stages, merge_streams_each_in_its_order)
{
	uint64_t next[3] = { 0, 1000, 2000 };

	(void)graph_run(test, build_merge);
	cr_assert_eq(got.count, 900);
	for (uint32_t i = 0; i < got.count; i++) {
		cr_assert_eq(got.values[i], next[got.values[i] / 1000]++);
	}
}

static void build_merge_failure(struct gyre_graph *graph)
{
	struct gyre_stream streams[2] = {
		gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL),
		gyre_stream_map(gyre_stream_map(count_from(graph, 0, 20), &gyre_type_number,
						fail_at, ptr(&ten)),
				&gyre_type_owned, make_owned, NULL),
	};

	gyre_stream_each(gyre_stream_merge(streams, 2), NULL, NULL);
}

KIT_TEST(stages, fail_a_merge_with_the_first_stream_that_fails)
{
	(void)graph_run(test, build_merge_failure);
	cr_assert_eq(got.result, -EIO);
}

static void build_broadcast(struct gyre_graph *graph)
{
	struct gyre_stream s =
		gyre_stream_map(count_from(graph, 0, 500), &gyre_type_owned, make_owned, NULL);
	struct gyre_stream branches[3];

	gyre_stream_broadcast(s, 3, 16, branches);
	branches[0] = gyre_stream_map(branches[0], &gyre_type_number, read_owned, NULL);
	branches[1] = gyre_stream_take(branches[1], 7);
	branches[1] = gyre_stream_map(branches[1], &gyre_type_number, read_owned, NULL);
	branches[2] = gyre_stream_map(branches[2], &gyre_type_number, read_owned, NULL);
	collect(gyre_stream_merge(branches, 3));
}

KIT_TEST(stages, broadcast_each_element_to_all_that_have_not_cancelled)
{
	uint32_t times[500] = { 0 };

	(void)graph_run(test, build_broadcast);
	cr_assert_eq(got.count, 500 + 500 + 7);
	for (uint32_t i = 0; i < got.count; i++) {
		times[got.values[i]]++;
	}
	for (uint32_t i = 0; i < 500; i++) {
		cr_assert_eq(times[i], i < 7 ? 3 : 2);
	}
}

static void build_balance(struct gyre_graph *graph)
{
	struct gyre_stream branches[4];

	gyre_stream_balance(count_from(graph, 0, 2000), 4, branches);
	branches[0] = gyre_stream_take(branches[0], 3);
	for (uint32_t i = 0; i < 4; i++) {
		collect(branches[i]);
	}
}

KIT_TEST(stages, give_each_element_to_one_of_several)
{
	bool seen[2000] = { false };

	(void)graph_run(test, build_balance);
	cr_assert_eq(got.count, 2000);
	for (uint32_t i = 0; i < got.count; i++) {
		cr_assert(!seen[got.values[i]]);
		seen[got.values[i]] = true;
	}
}

/* ---- what cannot be built ---- */

static void build_without_sink(struct gyre_graph *graph)
{
	(void)count_from(graph, 0, 3);
}

static void build_taken_twice(struct gyre_graph *graph)
{
	struct gyre_stream s = count_from(graph, 0, 3);

	collect(s);
	collect(s);
}

static void build_branch_taken_twice(struct gyre_graph *graph)
{
	struct gyre_stream branches[2];

	gyre_stream_broadcast(count_from(graph, 0, 3), 2, 0, branches);
	collect(branches[0]);
	collect(branches[0]);
}

static void build_without_function(struct gyre_graph *graph)
{
	collect(gyre_stream_map(count_from(graph, 0, 3), &gyre_type_number, NULL, NULL));
}

static void build_two_types(struct gyre_graph *graph)
{
	struct gyre_stream streams[2] = {
		count_from(graph, 0, 3),
		gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL),
	};

	collect(gyre_stream_merge(streams, 2));
}

static void build_too_many_branches(struct gyre_graph *graph)
{
	struct gyre_stream branch = { 0 };

	gyre_stream_balance(count_from(graph, 0, 3), 0, &branch);
	collect(branch);
}

static void build_large_elements(struct gyre_graph *graph)
{
	static const struct gyre_type too_large = { .name = "too large",
						    .id = 0x1110,
						    .bytes = GYRE_STREAM_ELEMENT_BYTES_MAX + 1,
						    .type_bytes = sizeof(struct gyre_type) };

	gyre_stream_each(gyre_stream_generate(graph, &too_large, next_owned, NULL), NULL, NULL);
}

static void build_batch_of_none(struct gyre_graph *graph)
{
	static const struct gyre_batch_options none = { 0 };

	collect(gyre_stream_batch(count_from(graph, 0, 3), &gyre_type_number, &none, NULL, NULL));
}

static void build_owned_sum(struct gyre_graph *graph)
{
	collect(gyre_stream_scan(count_from(graph, 0, 3), &gyre_type_owned, NULL, add_up, NULL));
}

KIT_TEST(stages, refuse_a_graph_that_was_not_built_right)
{
	static const build_fn builds[] = {
		build_without_sink,	build_taken_twice,   build_branch_taken_twice,
		build_without_function, build_two_types,     build_too_many_branches,
		build_large_elements,	build_batch_of_none, build_owned_sum,
	};

	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		cr_assert_eq(graph_refuse(test, builds[i]), -EINVAL, "graph %zu", i);
	}
}
