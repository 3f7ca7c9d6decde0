/*
 * Forwarding between nodes: the asker has one answer or error, wherever the ask ends, and a notice
 * shows its first sender. The nodes know no more of each other than a test tells them.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include <gyre/node.h>
#include <gyre/outside.h>

#include "remote/message/cause_types.h"
#include "remote/pair.h"
#include "remote/patience.h"
#include "tails.h"

enum { NODES = 3, LOOPS = 2, HANG_SECONDS = 110, ASKS = 200 };

static const struct gyre_type *const types[] = { &gyre_type_number, &gyre_type_large,
						 &gyre_type_order,  &gyre_type_line,
						 &gyre_type_why,    NULL };

static struct gyre_system *systems[NODES + 1]; /* by id */
static int descriptors;
static sem_t done;

/* Where routers forward to, and who is seen as the sender there. */
static struct gyre_address target;
static struct gyre_address sender;

/* ---- life ---- */

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		(void)fprintf(stderr, "%s\n", line->text);
	}
	expect(line->level < GYRE_LOG_ERROR);
}

static void open_node(uint16_t id)
{
	struct gyre_node_options node = { .id = id,
					  .listen = "tcp://127.0.0.1:0",
					  .types = types,
					  .heartbeat_ns = GYRE_SECONDS(60) };
	const struct gyre_system_options options = { .loops = LOOPS,
						     .spin_ns = GYRE_SPIN_NEVER,
						     .stall_ns = GYRE_STALL_NEVER,
						     .ask_timeout_ns = PATIENCE_ASK_NS,
						     .log = logged,
						     .node = &node };

	patience_of_node(&node);
	cr_assert_eq(gyre_system_create(&options, &systems[id]), 0);
}

static void open_all(void)
{
	(void)alarm(HANG_SECONDS);
	descriptors = descriptors_open();
	cr_assert_eq(sem_init(&done, 0, 0), 0);
	for (uint16_t id = 1; id <= NODES; id++) {
		open_node(id);
	}
}

/* The one dials the other from now on. */
static void tell_of(uint16_t id, uint16_t peer)
{
	char text[64];
	const struct gyre_node_peer it = { peer, text };

	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(systems[peer]));
	cr_assert_eq(gyre_system_node_add_peer(systems[id], &it), 0);
}

static void start_all(void)
{
	for (uint16_t id = 1; id <= NODES; id++) {
		cr_assert_eq(gyre_system_start(systems[id]), 0);
	}
}

static void close_node(struct gyre_system *system)
{
	struct gyre_counters counters;
	uint64_t ends;

	cr_assert_eq(gyre_system_wait(system), 0);
	cr_assert_eq(gyre_system_counters(system, &counters), 0);
	ends = counters.handled + counters.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	cr_assert_eq(counters.sent, ends, "%lu were sent and %lu ended", counters.sent, ends);
	gyre_system_destroy(system);
}

static void close_all(void)
{
	for (uint16_t id = 1; id <= NODES; id++) {
		gyre_system_stop(systems[id]);
	}
	for (uint16_t id = 1; id <= NODES; id++) {
		close_node(systems[id]);
	}
	(void)sem_destroy(&done);
	(void)alarm(0);
	cr_assert_eq(descriptors_open(), descriptors);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
	cr_assert_eq(pair_orders, 0);
}

static struct gyre_address spawn(uint16_t id, const struct gyre_class *class, uint32_t loop)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct gyre_address address;

	cr_assert_eq(gyre_system_spawn(systems[id], class, GYRE_NO_ARGUMENT, &options, &address),
		     0);
	return address;
}

/* Each node knows the next, but the last: it knows nobody, and nobody but the second knows it. */
static void open_chain(void)
{
	open_all();
	tell_of(1, 2);
	tell_of(2, 1);
	tell_of(2, 3);
	tell_of(3, 2);
}

/* ---- asks ---- */

static int pass_on(struct gyre_stack *stack)
{
	return gyre_forward(stack, target);
}

static const struct gyre_class router_class = {
	.name = "router",
	.behaviour = { .ask = pass_on, .notice = pass_on },
};

static int ask_number(struct gyre_address to, uint64_t value, uint64_t timeout_ns)
{
	struct gyre_mail *answer = NULL;
	int r = gyre_system_ask(systems[1], to, gyre_system_new(systems[1], number, value),
				timeout_ns, &answer);

	if (r == 0) {
		cr_assert_eq(gyre_mail_get(answer, number)->value, value + 1);
	}
	gyre_mail_destroy(NULL, answer);
	return r;
}

/* The first node asks a router on a second node, which forwards to a third; of any may be one. */
static void play_asks(uint16_t router_node, uint16_t target_node, const struct gyre_class *class,
		      int error)
{
	struct gyre_address router;

	open_chain();
	router = spawn(router_node, &router_class, 1);
	target = spawn(target_node, class, 0);
	start_all();
	for (uint64_t i = 0; i < (error == 0 ? ASKS : 1); i++) {
		int r = ask_number(router, i, GYRE_FOREVER);

		cr_assert_eq(r, error, "%d", r);
	}
	close_all();
}

Test(forward_nodes, answers_come_from_another_node)
{
	play_asks(1, 2, &adder_class, 0);
}

Test(forward_nodes, asks_of_another_node_are_answered_here)
{
	play_asks(2, 2, &adder_class, 0);
}

Test(forward_nodes, asks_come_back_to_the_node_of_the_asker)
{
	play_asks(2, 1, &adder_class, 0);
}

Test(forward_nodes, answers_come_from_a_node_that_the_asker_has_never_met)
{
	play_asks(2, 3, &adder_class, 0);
}

static int fail_with_eio(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class failing_class = { .name = "failing",
						 .behaviour.ask = fail_with_eio };

Test(forward_nodes, errors_come_from_a_node_that_the_asker_has_never_met)
{
	play_asks(2, 3, &failing_class, -EIO);
}

static const struct gyre_class deaf_class = { .name = "deaf" };

Test(forward_nodes, asks_that_nobody_takes_fail_at_once)
{
	play_asks(2, 3, &deaf_class, -ENOSYS);
}

static int stop_at_once(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class brief_class = { .name = "brief", .behaviour.ask = stop_at_once };

Test(forward_nodes, asks_to_one_that_stops_fail_at_once)
{
	play_asks(2, 3, &brief_class, -ENOMSG);
}

Test(forward_nodes, asks_to_a_stale_address_fail_at_once)
{
	struct gyre_address router;

	open_chain();
	router = spawn(2, &router_class, 0);
	target = spawn(3, &adder_class, 1);
	target.cookie++;
	start_all();
	cr_assert_eq(ask_number(router, 1, GYRE_FOREVER), -ESRCH);
	close_all();
}

Test(forward_nodes, asks_to_a_node_that_nobody_knows_fail_at_once)
{
	struct gyre_address router;

	open_chain();
	router = spawn(2, &router_class, 0);
	target = (struct gyre_address){ .slot = 1, .cookie = 1, .node = 77, .life = 1 };
	start_all();
	cr_assert_eq(ask_number(router, 1, GYRE_FOREVER), -EHOSTUNREACH);
	close_all();
}

struct slow_frame {
	struct gyre_future future;
};

static int begin_and_wait(struct gyre_stack *stack)
{
	struct slow_frame *frame = (struct slow_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)sem_post(&done);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(1000), &frame->future));
	GYRE_END(stack);
}

static const struct gyre_class slow_class = { .name = "slow",
					      .frame_bytes = sizeof(struct slow_frame),
					      .behaviour.ask = begin_and_wait };

static int failed_with;

static void failed(struct gyre_mail *answer, int error, void *arg)
{
	(void)answer;
	(void)arg;
	failed_with = error;
	(void)sem_post(&done);
}

Test(forward_nodes, asks_that_wait_on_a_node_that_stops_fail_then)
{
	struct gyre_address router;

	open_chain();
	router = spawn(2, &router_class, 0);
	target = spawn(3, &slow_class, 1);
	start_all();
	cr_assert_eq(gyre_system_ask_callback(systems[1], router,
					      gyre_system_new(systems[1], number, 1), GYRE_FOREVER,
					      failed, NULL),
		     0);
	while (sem_wait(&done) < 0) {
	}
	gyre_system_stop(systems[3]);
	while (sem_wait(&done) < 0) {
	}
	cr_assert_lt(failed_with, 0); /* stopped, or lost with the link or the node */
	close_all();
}

Test(forward_nodes, asks_end_by_their_time_outs)
{
	struct gyre_address router;

	open_chain();
	router = spawn(2, &router_class, 0);
	target = spawn(3, &mute_class, 1);
	start_all();
	cr_assert_eq(ask_number(router, 1, GYRE_MILLISECONDS(20)), -ETIMEDOUT);
	close_all();
}

/* ---- notices ---- */

static bool is_same(struct gyre_address a, struct gyre_address b)
{
	return a.slot == b.slot && a.cookie == b.cookie && a.loop == b.loop && a.node == b.node;
}

static bool knows_sender;

static int hear(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);
	const struct line *line = gyre_message(stack, line);

	expect(knows_sender ? is_same(gyre_sender(stack), sender)
			    : gyre_address_is_nobody(gyre_sender(stack)));
	if (order != NULL) {
		expect(pair_order_is_whole(order, 9, 1000));
	} else if (line != NULL) {
		expect(tail_line_is_whole(line, 5, 70000));
	} else {
		expect(gyre_message(stack, number)->value == 7);
	}
	(void)sem_post(&done);
	/* The sender hears whether it can be answered. */
	return knows_sender ? gyre_notify(stack, gyre_sender(stack), gyre_new(stack, number, 8))
			    : gyre_return(stack);
}

static const struct gyre_class hearer_class = { .name = "hearer", .behaviour.notice = hear };

static struct gyre_address first_router;

static int speak(struct gyre_stack *stack)
{
	if (gyre_message(stack, number)->value == 8) {
		(void)sem_post(&done);
		return gyre_return(stack);
	}
	expect(gyre_notify(stack, first_router, gyre_new(stack, number, 7)) == 0);
	expect(gyre_notify(stack, first_router, pair_order(stack, 9, 1000)) == 0);
	expect(gyre_notify(stack, first_router, tail_line(stack, 5, 70000)) == 0);
	return gyre_return(stack);
}

static const struct gyre_class speaker_class = { .name = "speaker", .behaviour.notice = speak };

static void play_notices(uint16_t router_node, uint16_t target_node)
{
	const uint32_t events = knows_sender ? 6 : 3;

	open_chain();
	if (knows_sender) {
		tell_of(target_node, 1);
	}
	sender = spawn(1, &speaker_class, 1);
	first_router = spawn(router_node, &router_class, 0);
	target = spawn(target_node, &hearer_class, 1);
	start_all();
	cr_assert_eq(gyre_system_notify(systems[1], sender, gyre_system_new(systems[1], number, 0)),
		     0);
	for (uint32_t i = 0; i < events; i++) {
		while (sem_wait(&done) < 0) {
		}
	}
	close_all();
}

Test(forward_nodes, notices_of_this_node_show_their_sender)
{
	knows_sender = true;
	play_notices(1, 2);
}

Test(forward_nodes, notices_of_another_node_show_their_sender_here)
{
	knows_sender = true;
	play_notices(2, 2);
}

Test(forward_nodes, notices_of_a_node_that_was_never_met_are_from_nobody)
{
	play_notices(2, 3);
}

/* ---- causes ---- */

static int fail_with_why(struct gyre_stack *stack)
{
	return gyre_throw_with(stack, -EDOM, gyre_new(stack, why, 42));
}

static const struct gyre_class explaining_class = { .name = "explaining",
						    .behaviour.ask = fail_with_why };

static int ask_for_cause(struct gyre_stack *stack)
{
	struct slow_frame *frame = (struct slow_frame *)gyre_frame(stack);
	const struct why *why;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, first_router, gyre_new(stack, number, 1), 0, &frame->future));
	why = gyre_future_cause(&frame->future, why);
	expect(gyre_future_error(&frame->future) == -EDOM);
	expect(why != NULL && why->code == 42);
	return gyre_reply(stack, gyre_new(stack, number, gyre_message(stack, number)->value + 1));
	GYRE_END(stack);
}

static const struct gyre_class asker_class = { .name = "asker",
					       .frame_bytes = sizeof(struct slow_frame),
					       .behaviour.ask = ask_for_cause };

static void play_cause(uint16_t router_node, uint16_t target_node)
{
	struct gyre_address asker;

	open_chain();
	asker = spawn(1, &asker_class, 1);
	first_router = spawn(router_node, &router_class, 0);
	target = spawn(target_node, &explaining_class, 1);
	start_all();
	cr_assert_eq(ask_number(asker, 1, 0), 0);
	close_all();
}

Test(forward_nodes, causes_of_failures_come_from_another_node)
{
	play_cause(1, 2);
}

Test(forward_nodes, causes_of_failures_come_from_a_node_that_the_asker_has_never_met)
{
	play_cause(2, 3);
}
