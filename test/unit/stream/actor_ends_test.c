/*
 * Actors that produce and consume elements, and what becomes of a stream when they do not do as
 * they were asked, or end.
 */
#include "graph_rig.h"

#include <errno.h>

#include <gyre/watch.h>

#include "remote/message/stream_wire.h"
#include "stream/post.h"

enum { TAG = 77 };

static int result = 1;		 /* of the graph */
static uint64_t reason_told = 1; /* to the actor */
static uint64_t total_told;

/* ---- producing ---- */

struct producer {
	uint64_t next;
	uint64_t last;	  /* how many there are */
	uint64_t more;	  /* that are sent beyond what was asked for */
	uint64_t stop_at; /* it stops itself then */
	int reason;	  /* it ends the stream with */
};

static struct producer manner;

static int feed(struct gyre_stack *stack, const struct gyre_stream_demand *demand)
{
	struct producer *producer = &manner;
	uint64_t count = demand->elements;

	expect(demand->tag == TAG);
	if (producer->more > 0) {
		struct number numbers[64] = { 0 };

		expect(count + producer->more <= 64);
		return gyre_stream_push(stack, demand->stream, &gyre_type_number, numbers,
					(uint32_t)(count + producer->more));
	}
	while (count-- > 0 && producer->next < producer->last) {
		struct number number = { producer->next++ };

		expect(gyre_stream_push(stack, demand->stream, &gyre_type_number, &number, 1) == 0);
		if (producer->next == producer->stop_at) {
			return gyre_stop(stack, gyre_self(stack));
		}
	}
	return producer->next == producer->last
		       ? gyre_stream_finish(stack, demand->stream, producer->reason)
		       : 0;
}

static int be_asked(struct gyre_stack *stack)
{
	const struct gyre_stream_demand *demand = gyre_message(stack, gyre_stream_demand);
	const struct gyre_stream_cancelled *cancelled = gyre_message(stack, gyre_stream_cancelled);

	if (cancelled != NULL) {
		reason_told = (uint64_t)-cancelled->reason;
		return gyre_return(stack);
	}
	return demand == NULL ? gyre_throw(stack, -EINVAL) : feed(stack, demand);
}

static const struct gyre_class producer_class = { .name = "producer",
						  .behaviour.notice = be_asked };

struct frame {
	struct gyre_future done;
	struct gyre_address actor;
};

static uint32_t actor_loop;
static uint64_t take_count = UINT64_MAX;
static const struct gyre_window narrow = { .elements_max = 10 };

static int take_from_actor(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	frame->actor = spawn_on(stack, &producer_class, actor_loop);
	graph = gyre_graph_create();
	collect(gyre_stream_take(
		gyre_stream_from_actor(graph, &gyre_type_number, frame->actor, TAG, &narrow),
		take_count));
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
	result = gyre_future_error(&frame->done);
	/* Behind what the graph has told the actor. */
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->actor, GYRE_SECONDS(5), &frame->done));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(actor_ends, get_from_an_actor_what_they_have_asked_for)
{
	manner = (struct producer){ .last = 1000 };
	actor_loop = 1;
	play(2, take_from_actor);
	cr_assert_eq(result, 0);
	expect_numbers(0, 1, 1000);
}

Test(actor_ends, fail_with_the_reason_that_the_producer_names)
{
	manner = (struct producer){ .last = 25, .reason = -EDOM };
	play(1, take_from_actor);
	cr_assert_eq(result, -EDOM);
	expect_numbers(0, 1, 25);
}

Test(actor_ends, tell_the_producer_that_no_more_is_wanted)
{
	manner = (struct producer){ .last = 1000 };
	take_count = 33;
	actor_loop = 1;
	play(2, take_from_actor);
	cr_assert_eq(result, 0);
	cr_assert_eq(reason_told, 0);
	expect_numbers(0, 1, 33);
}

Test(actor_ends, fail_when_the_producer_sends_more_than_it_was_asked_for)
{
	manner = (struct producer){ .last = 1000, .more = 1 };
	play(1, take_from_actor);
	cr_assert_eq(result, -ENOBUFS);
	cr_assert_eq(reason_told, ENOBUFS);
}

Test(actor_ends, fail_when_the_producer_ends_first)
{
	manner = (struct producer){ .last = 1000, .stop_at = 17 };
	actor_loop = 1;
	play(2, take_from_actor);
	cr_assert_eq(result, -ECANCELED);
	expect_numbers(0, 1, 17);
}

/* ---- consuming ---- */

struct consumer {
	uint64_t at_once;
	uint64_t cancel_at;
	uint64_t stop_at;
	int cancel_reason;
	bool once; /* it requests no more */
};

static struct consumer appetite;
static struct gyre_stream_ref stream;
static uint32_t outstanding_max;
static uint32_t outstanding;

static int eat(struct gyre_stack *stack, uint64_t value)
{
	got.values[got.count++] = value;
	expect(outstanding > 0);
	outstanding--;
	if (got.count == appetite.cancel_at) {
		return gyre_stream_cancel(stack, stream, appetite.cancel_reason);
	}
	if (got.count == appetite.stop_at) {
		return gyre_stop(stack, gyre_self(stack));
	}
	if (outstanding == 0 && !appetite.once) {
		outstanding = (uint32_t)appetite.at_once;
		return gyre_stream_request(stack, stream, appetite.at_once);
	}
	return 0;
}

static int consume(struct gyre_stack *stack)
{
	const struct gyre_stream_opened *opened = gyre_message(stack, gyre_stream_opened);
	const struct gyre_stream_ended *ended = gyre_message(stack, gyre_stream_ended);
	const struct number *number = gyre_message(stack, number);

	if (opened != NULL) {
		expect(opened->tag == TAG);
		stream = opened->stream;
		outstanding = (uint32_t)appetite.at_once;
		return gyre_stream_request(stack, stream, appetite.at_once);
	}
	if (ended != NULL) {
		expect(ended->tag == TAG);
		reason_told = (uint64_t)-ended->reason;
		total_told = ended->elements;
		return gyre_return(stack);
	}
	outstanding_max = outstanding > outstanding_max ? outstanding : outstanding_max;
	return number == NULL ? gyre_throw(stack, -EINVAL) : eat(stack, number->value);
}

static const struct gyre_class consumer_class = { .name = "consumer", .behaviour.notice = consume };

static int give_to_actor(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	frame->actor = spawn_on(stack, &consumer_class, actor_loop);
	graph = gyre_graph_create();
	gyre_stream_to_actor(gyre_stream_take(count_on(graph), 500), frame->actor, TAG);
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
	result = gyre_future_error(&frame->done);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->actor, GYRE_SECONDS(5), &frame->done));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(actor_ends, give_an_actor_what_it_has_requested)
{
	appetite = (struct consumer){ .at_once = 7 };
	actor_loop = 1;
	play(2, give_to_actor);
	cr_assert_eq(result, 0);
	expect_numbers(0, 1, 500);
	cr_assert_eq(outstanding_max, 7);
	cr_assert_eq(reason_told, 0);
	cr_assert_eq(total_told, 500);
}

Test(actor_ends, end_when_the_consumer_cancels)
{
	appetite = (struct consumer){ .at_once = 7, .cancel_at = 70, .cancel_reason = -EDOM };
	play(1, give_to_actor);
	cr_assert_eq(result, -EDOM);
	cr_assert_eq(reason_told, EDOM);
	expect_numbers(0, 1, 70);
	cr_assert_eq(produced, 70);
}

Test(actor_ends, fail_when_the_consumer_ends_first)
{
	appetite = (struct consumer){ .at_once = 7, .stop_at = 70 };
	actor_loop = 1;
	play(2, give_to_actor);
	cr_assert_eq(result, -ESRCH);
}

Test(actor_ends, tell_the_end_to_a_consumer_that_has_requested_just_what_there_is)
{
	appetite = (struct consumer){ .at_once = 500, .once = true };
	actor_loop = 1;
	play(2, give_to_actor);
	cr_assert_eq(result, 0);
	expect_numbers(0, 1, 500);
	cr_assert_eq(total_told, 500);
}

/* ---- graphs that are stopped ---- */

static int farewells;

static int count_farewells(struct gyre_stack *stack)
{
	const struct gyre_stream_cancelled *cancelled = gyre_message(stack, gyre_stream_cancelled);
	const struct gyre_stream_ended *ended = gyre_message(stack, gyre_stream_ended);

	if (cancelled != NULL) {
		expect(cancelled->tag == TAG && cancelled->reason == -ECANCELED);
		farewells++;
	}
	if (ended != NULL) {
		expect(ended->tag == TAG && ended->reason == -ECANCELED);
		farewells++;
		return fixture_end(stack);
	}
	return gyre_return(stack);
}

static const struct gyre_class polite_class = { .name = "polite",
						.behaviour.notice = count_farewells };

/* The two are one: it hears of both. */
static int stop_both(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph;
	struct gyre_address address;

	GYRE_BEGIN(stack);
	frame->actor = spawn_on(stack, &polite_class, 1);
	for (int i = 0; i < 2; i++) {
		graph = gyre_graph_create();
		if (i == 0) {
			gyre_stream_each(gyre_stream_from_actor(graph, &gyre_type_number,
								frame->actor, TAG, NULL),
					 NULL, NULL);
		} else {
			gyre_stream_to_actor(count_on(graph), frame->actor, TAG);
		}
		expect(gyre_graph_start(stack, graph, NULL, &address) == 0);
		expect(gyre_poison(stack, address) == 0);
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

Test(actor_ends, are_told_when_a_graph_is_stopped)
{
	play(2, stop_both);
	cr_assert_eq(farewells, 2);
}

/* ---- between graphs of one system ---- */

struct two_frame {
	struct gyre_future done;
	struct gyre_future slept;
	struct gyre_address first;
};

static uint64_t offer_failing_at = UINT64_MAX;
static uint64_t accept_ns;
static bool accepts = true;
static bool wrong_type;
static bool wrong_port;

static int offer_and_accept(struct gyre_stack *stack)
{
	static const struct gyre_boundary_options next = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct two_frame *frame = (struct two_frame *)gyre_frame(stack);
	struct gyre_graph *graph;
	struct gyre_stream s;
	uint32_t port;

	GYRE_BEGIN(stack);
	graph = gyre_graph_create();
	/* The offer is in another part than the first, whose address is known. */
	s = gyre_stream_map(count_from(graph, 0, 3000), &gyre_type_number, fail_at,
			    &offer_failing_at);
	struct gyre_stream both[2];
	gyre_stream_broadcast(s, 2, 0, both);
	gyre_stream_each(gyre_stream_boundary(both[0], &next), NULL, NULL);
	port = gyre_stream_offer(both[1], accept_ns);
	expect(gyre_graph_start(stack, graph, NULL, &frame->first) == 0);
	expect(gyre_watch(stack, frame->first) == 0);
	if (accepts) {
		graph = gyre_graph_create();
		collect(gyre_stream_accept(
			graph, wrong_type ? &gyre_type_place : &gyre_type_number,
			gyre_stream_ref_of(frame->first, port + (wrong_port ? 1000 : 0)), &narrow));
		GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
		result = gyre_future_error(&frame->done);
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

static int hear_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL);
	reason_told = (uint64_t)-terminated->reason;
	return fixture_end(stack);
}

static const struct gyre_class two_class = { .name = "two",
					     .frame_bytes = sizeof(struct two_frame),
					     .mount = offer_and_accept,
					     .behaviour.event = hear_end };

static void play_two(void)
{
	fixture_open(3);
	(void)spawn_outside(&two_class, 0);
	fixture_run();
	fixture_close();
}

Test(offers, pass_a_stream_on_to_another_graph)
{
	play_two();
	cr_assert_eq(result, 0);
	cr_assert_eq(reason_told, 0);
	expect_numbers(0, 1, 3000);
}

Test(offers, pass_a_failure_on)
{
	offer_failing_at = 2000;
	play_two();
	cr_assert_eq(result, -EIO);
	cr_assert_eq(reason_told, EIO);
	expect_numbers(0, 1, 2000);
}

/* Streams that have ended before they are accepted. */
static uint64_t offered;
static uint32_t offered_port;
static uint32_t unlike;

static void build_ended(struct gyre_graph *graph, uint32_t *ret_port)
{
	static const struct gyre_boundary_options there = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	static const uint64_t zero;
	struct gyre_stream s = count_from(graph, 0, offered % 2 == 0 ? 0 : 1);

	s = gyre_stream_map(s, &gyre_type_number, fail_at, (void *)(uintptr_t)&zero);
	*ret_port = gyre_stream_offer(gyre_stream_boundary(s, &there), 0);
}

static int accept_ended(struct gyre_stack *stack)
{
	static const struct gyre_graph_options there = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct two_frame *frame = (struct two_frame *)gyre_frame(stack);
	struct gyre_graph *graph;
	uint32_t port;

	GYRE_BEGIN(stack);
	while (offered < 20) {
		graph = gyre_graph_create();
		build_ended(graph, &port);
		expect(gyre_graph_start(stack, graph, &there, &frame->first) == 0);
		offered_port = port;
		/* Long enough for the stream to have ended; if it has not, nothing is shown. */
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->slept));
		graph = gyre_graph_create();
		gyre_stream_each(gyre_stream_accept(graph, &gyre_type_number,
						    gyre_stream_ref_of(frame->first, offered_port),
						    NULL),
				 NULL, NULL);
		GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
		unlike += gyre_future_error(&frame->done) != (offered % 2 == 0 ? 0 : -EIO);
		offered++;
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offers, tell_the_end_of_what_had_ended_before)
{
	play(2, accept_ended);
	cr_assert_eq(unlike, 0);
}

Test(offers, fail_when_nobody_accepts_them)
{
	accepts = false;
	accept_ns = GYRE_MILLISECONDS(2);
	play_two();
	cr_assert_eq(reason_told, ETIMEDOUT);
}

Test(offers, are_refused_to_those_who_expect_other_elements)
{
	wrong_type = true;
	accept_ns = GYRE_MILLISECONDS(20);
	play_two();
	cr_assert_eq(result, -EPROTO);
	cr_assert_eq(reason_told, ETIMEDOUT);
}

Test(offers, are_not_found_by_a_port_that_there_is_not)
{
	wrong_port = true;
	accept_ns = GYRE_MILLISECONDS(20);
	play_two();
	cr_assert_eq(result, -ESRCH);
}

/* ---- an offer that ends as soon as it is accepted ---- */

/* In the place of a graph, which has no elements. */
static int attach_to_it(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, gy_stream_receipt, gyre_self(stack)));
}

static void end_it(struct gyre_stack *stack)
{
	expect(gy_stream_post(stack, gyre_sender(stack),
			      gyre_new(stack, gy_stream_control, .order = GY_STREAM_END)) == 0);
}

/* Its actor ends before it can answer, but the end of the stream is on its way. */
static int credit_by_ask(struct gyre_stack *stack)
{
	end_it(stack);
	return gyre_throw(stack, -ESRCH);
}

static int credit_by_event(struct gyre_stack *stack)
{
	end_it(stack);
	return gyre_return(stack);
}

static const struct gyre_route offer_asks[] = { GYRE_ROUTE(gy_stream_attach, attach_to_it),
						GYRE_ROUTE(gy_stream_control, credit_by_ask),
						GYRE_ROUTE_END };

static const struct gyre_route offer_events[] = { GYRE_ROUTE(gy_stream_control, credit_by_event),
						  GYRE_ROUTE_END };

static const struct gyre_class empty_offer_class = {
	.name = "empty offer",
	.behaviour = { .ask_routes = offer_asks, .event_routes = offer_events },
};

static int accept_empty(struct gyre_stack *stack)
{
	struct two_frame *frame = (struct two_frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	frame->first = spawn_here(stack, &empty_offer_class);
	graph = gyre_graph_create();
	collect(gyre_stream_accept(graph, &gyre_type_number, gyre_stream_ref_of(frame->first, 0),
				   NULL));
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
	result = gyre_future_error(&frame->done);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(offers, have_ended_well_though_their_actors_ended_before_they_heard_of_credit)
{
	result = 1;
	play(1, accept_empty);
	cr_assert_eq(result, 0, "%d", result);
}

/* ---- what is refused ---- */

static uint32_t destroyed;

static void count_destroyed(void *element)
{
	(void)element;
	destroyed++;
}

static int push_too_large(struct gyre_stack *stack)
{
	static unsigned char element[GYRE_STREAM_ELEMENT_BYTES_MAX + 1];
	static const struct gyre_type too_large = { .name = "too large",
						    .id = 0x1102,
						    .bytes = sizeof(element),
						    .destroy = count_destroyed };

	expect(gyre_stream_push(stack, gyre_stream_ref_of(gyre_self(stack), 0), &too_large, element,
				1) == -EINVAL);
	return fixture_end(stack);
}

Test(actor_ends, destroy_elements_that_are_too_large_for_a_stream)
{
	play(1, push_too_large);
	cr_assert_eq(destroyed, 1);
}
