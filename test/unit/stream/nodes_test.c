/*
 * Streams between two nodes: the second offers, the first accepts.
 */
#include "remote/pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <gyre/watch.h>

#include "base/atomic.h"
#include "graph_rig.h"

enum { OFFER = 1, AWAIT_END = 2 };

/* What the second node offers, and how the first takes it. */
static build_fn offer;
static uint32_t port;
static void (*accept_stream)(struct gyre_graph *graph, struct gyre_stream_ref ref);
static int result = 1;	     /* of the first node's graph */
static int other_result = 1; /* of the second node's */

/* ---- the second node ---- */

static struct gyre_address offered;
static bool offer_is_over;

static int serve(struct gyre_stack *stack)
{
	const struct number *order = gyre_message(stack, number);
	struct gyre_graph *graph;

	expect(order != NULL);
	if (order->value == OFFER) {
		graph = gyre_graph_create();
		offer(graph);
		expect(gyre_graph_start(stack, graph, NULL, &offered) == 0);
		expect(gyre_watch(stack, offered) == 0);
		return gyre_reply(stack, gyre_new(stack, place, offered));
	}
	return offer_is_over ? gyre_reply(stack, gyre_new(stack, number, (uint64_t)-other_result))
			     : gyre_stash(stack);
}

static int hear_end(struct gyre_stack *stack)
{
	other_result = gyre_message(stack, gyre_terminated)->reason;
	offer_is_over = true;
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_return(stack);
}

static const struct gyre_class other_class = { .name = "other",
					       .behaviour = { .ask = serve, .event = hear_end } };

/* ---- the first node ---- */

static int take_stream(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);
	struct gyre_graph *graph;
	struct gyre_address at;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", GYRE_SECONDS(30), &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	GYRE_AWAIT(stack, gyre_ask(stack, frame->other, gyre_new(stack, number, OFFER),
				   GYRE_SECONDS(30), &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	at = gyre_future_get(&frame->future, place)->address;
	graph = gyre_graph_create();
	accept_stream(graph, gyre_stream_ref_of(at, port));
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->future));
	result = gyre_future_error(&frame->future);
	do {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->other, gyre_new(stack, number, AWAIT_END),
					   GYRE_SECONDS(60), &frame->future));
	} while (gyre_future_error(&frame->future) == -ECONNRESET);
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_nodes(build_fn build, void (*take)(struct gyre_graph *, struct gyre_stream_ref))
{
	const struct pair pair = { .script = take_stream, .class = &other_class, .loops = 2 };

	offer = build;
	accept_stream = take;
	pair_play(&pair);
	cr_assert_eq(gy_load_relaxed(&owned_alive), 0);
}

/* ---- plain elements ---- */

static const struct gyre_window narrow = { .elements_max = 300 };
static const uint64_t at_two_thousand = 2000;

static void offer_numbers(struct gyre_graph *graph)
{
	port = gyre_stream_offer(count_from(graph, 0, 4000), 0);
}

static void take_numbers(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	collect(gyre_stream_accept(graph, &gyre_type_number, ref, &narrow));
}

Test(nodes, pass_elements_on_in_order)
{
	play_nodes(offer_numbers, take_numbers);
	cr_assert_eq(result, 0);
	cr_assert_eq(other_result, 0);
	expect_numbers(0, 1, 4000);
}

static void offer_failing(struct gyre_graph *graph)
{
	port = gyre_stream_offer(gyre_stream_map(count_on(graph), &gyre_type_number, fail_at,
						 (void *)(uintptr_t)&at_two_thousand),
				 0);
}

Test(nodes, pass_a_failure_on_behind_all_elements)
{
	play_nodes(offer_failing, take_numbers);
	cr_assert_eq(result, -EIO);
	cr_assert_eq(other_result, -EIO);
	expect_numbers(0, 1, 2000);
}

static void offer_endless(struct gyre_graph *graph)
{
	port = gyre_stream_offer(count_on(graph), 0);
}

static void take_some(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	collect(gyre_stream_take(gyre_stream_accept(graph, &gyre_type_number, ref, &narrow), 777));
}

Test(nodes, are_told_that_no_more_is_wanted)
{
	play_nodes(offer_endless, take_some);
	cr_assert_eq(result, 0);
	cr_assert_eq(other_result, 0);
	expect_numbers(0, 1, 777);
	cr_assert_leq(produced, 777 + 300 + 150);
}

static int fail_sink(void *arg, void *in)
{
	(void)arg;
	return ((const struct number *)in)->value == 5 ? -EDOM : 0;
}

static void take_and_fail(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	gyre_stream_each(gyre_stream_accept(graph, &gyre_type_number, ref, NULL), fail_sink, NULL);
}

Test(nodes, are_told_why_a_stream_is_not_wanted)
{
	play_nodes(offer_endless, take_and_fail);
	cr_assert_eq(result, -EDOM);
	cr_assert_eq(other_result, -EDOM);
}

/* ---- elements that own something ---- */

static int name_order(void *arg, void *in, void *out)
{
	struct order *order = (struct order *)out;
	char name[32];

	(void)arg;
	(void)snprintf(name, sizeof(name), "%lu",
		       (unsigned long)((const struct number *)in)->value);
	order->customer = strdup(name);
	(void)gy_fetch_add(&pair_orders, 1);
	return order->customer == NULL ? -ENOMEM : 0;
}

static int read_order(void *arg, void *in, void *out)
{
	unsigned long value = 0;

	(void)arg;
	expect(sscanf(((const struct order *)in)->customer, "%lu", &value) == 1);
	((struct number *)out)->value = value;
	return 0;
}

static void offer_orders(struct gyre_graph *graph)
{
	port = gyre_stream_offer(
		gyre_stream_map(count_from(graph, 0, 1000), &gyre_type_order, name_order, NULL), 0);
}

static void take_orders(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	collect(gyre_stream_map(gyre_stream_accept(graph, &gyre_type_order, ref, NULL),
				&gyre_type_number, read_order, NULL));
}

Test(nodes, encode_elements_that_own_something)
{
	play_nodes(offer_orders, take_orders);
	cr_assert_eq(result, 0);
	expect_numbers(0, 1, 1000);
	cr_assert_eq(gy_load_relaxed(&pair_orders), 0);
}

static void offer_owned(struct gyre_graph *graph)
{
	port = gyre_stream_offer(gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL),
				 GYRE_MILLISECONDS(100));
}

static void take_owned(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	gyre_stream_each(gyre_stream_accept(graph, &gyre_type_owned, ref, NULL), NULL, NULL);
}

Test(nodes, refuse_elements_that_cannot_travel)
{
	play_nodes(offer_owned, take_owned);
	cr_assert_eq(result, -EOPNOTSUPP);
	cr_assert_eq(other_result, -ETIMEDOUT);
}

static int make_chunk(void *arg, void *in, void *out)
{
	(void)arg;
	((struct gyre_chunk *)out)->bytes = gyre_bytes_printf(
		"%*lu", 100000, (unsigned long)((const struct number *)in)->value);
	return 0;
}

static int read_chunk(void *arg, void *in, void *out)
{
	const struct gyre_chunk *chunk = (const struct gyre_chunk *)in;
	const char *text = (const char *)gyre_bytes_data(chunk->bytes);

	(void)arg;
	expect(gyre_bytes_count(chunk->bytes) == 100000);
	((struct number *)out)->value = (uint64_t)(text[99999] - '0');
	return 0;
}

static void offer_chunks(struct gyre_graph *graph)
{
	port = gyre_stream_offer(
		gyre_stream_map(count_from(graph, 0, 10), &gyre_type_gyre_chunk, make_chunk, NULL),
		0);
}

static void take_chunks(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	collect(gyre_stream_map(gyre_stream_accept(graph, &gyre_type_gyre_chunk, ref, NULL),
				&gyre_type_number, read_chunk, NULL));
}

Test(nodes, pass_on_chunks_of_any_size)
{
	play_nodes(offer_chunks, take_chunks);
	cr_assert_eq(result, 0);
	expect_numbers(0, 1, 10);
}

/* ---- what breaks ---- */

/* Ends all connections of the process, as a network would. */
static void break_links(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_storage address;
		socklen_t bytes = sizeof(address);

		if (getpeername(fd, (struct sockaddr *)&address, &bytes) == 0 &&
		    address.ss_family == AF_INET) {
			(void)shutdown(fd, SHUT_RDWR);
		}
	}
}

static uint64_t break_at;

static int count_and_break(void *arg, void *in)
{
	uint64_t value = ((const struct number *)in)->value;

	(void)arg;
	expect(value == got.count);
	got.count++;
	if (value == break_at) {
		break_links();
	}
	return 0;
}

static void take_and_break(struct gyre_graph *graph, struct gyre_stream_ref ref)
{
	gyre_stream_each(gyre_stream_accept(graph, &gyre_type_number, ref, &narrow),
			 count_and_break, NULL);
}

static void offer_more(struct gyre_graph *graph)
{
	static uint64_t none;

	port = gyre_stream_offer(
		gyre_stream_take(
			gyre_stream_map(count_on(graph), &gyre_type_number, add_arg, &none), 4000),
		0);
}

/* All elements, or a failure on both sides behind the first of them; never a gap. */
static void expect_whole_or_failed(void)
{
	if (result == 0) {
		cr_assert_eq(got.count, 4000);
		cr_assert_eq(other_result, 0);
	} else {
		cr_assert_eq(result, -ECONNRESET);
		cr_assert_eq(other_result, -ECONNRESET);
	}
}

Test(nodes, lose_no_element_unnoticed_when_a_link_breaks)
{
	break_at = 1000;
	play_nodes(offer_more, take_and_break);
	expect_whole_or_failed();
}

Test(nodes, lose_no_element_unnoticed_when_a_link_breaks_at_the_begin)
{
	break_at = 0;
	play_nodes(offer_more, take_and_break);
	expect_whole_or_failed();
}

Test(nodes, lose_no_element_unnoticed_when_a_link_breaks_near_the_end)
{
	break_at = 3999;
	play_nodes(offer_more, take_and_break);
	expect_whole_or_failed();
}
