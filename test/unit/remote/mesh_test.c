/*
 * Many nodes in one process. All times are so long that none of them runs out, however slow the
 * machine is; what is waited for is that everything has come.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include <gyre/name.h>
#include <gyre/node.h>
#include <gyre/outside.h>

#include "base/atomic.h"
#include "fixture.h"

enum { NODES_MAX = 100, HANG_SECONDS = 110, NOTICES = 100, ROUNDS = 10 };

static const struct gyre_type *const types[] = { &gyre_type_number, NULL };

/* Its actor, and the notices that it got of each node. */
struct member {
	struct gyre_system *system;
	struct gyre_address actor;
	uint64_t got[NODES_MAX + 1];
	uint32_t asked;
};

static struct member members[NODES_MAX + 1]; /* by id */
static uint32_t members_count;
static uint32_t left; /* to happen before a test is done */
static sem_t done;
static int descriptors;

static void happened(void)
{
	if (gy_fetch_add(&left, UINT32_MAX) == 1) {
		(void)sem_post(&done);
	}
}

/* ---- life ---- */

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		(void)fprintf(stderr, "%s\n", line->text);
	}
	expect(line->level < GYRE_LOG_ERROR);
}

static void open_member(uint32_t id, const struct gyre_class *class)
{
	const struct gyre_node_options node = { .id = (uint16_t)id,
						.listen = "tcp://127.0.0.1:0",
						.types = types,
						.greeting_ns = GYRE_SECONDS(60),
						.heartbeat_ns = GYRE_SECONDS(60),
						.suspect_ns = GYRE_SECONDS(1000),
						.down_ns = GYRE_SECONDS(2000),
						.away_ns = GYRE_SECONDS(1000) };
	const struct gyre_system_options options = { .loops = 1,
						     .ring_entries = 64,
						     .buffer_count = 16,
						     .spin_ns = GYRE_SPIN_NEVER,
						     .stall_ns = GYRE_STALL_NEVER,
						     .log = logged,
						     .node = &node };
	struct member *member = &members[id];

	*member = (struct member){ 0 };
	cr_assert_eq(gyre_system_create(&options, &member->system), 0);
	cr_assert_eq(
		gyre_system_spawn(member->system, class, GYRE_NO_ARGUMENT, NULL, &member->actor),
		0);
}

static void tell_of(uint32_t id, uint32_t peer)
{
	char text[64];
	const struct gyre_node_peer it = { (uint16_t)peer, text };

	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(members[peer].system));
	cr_assert_eq(gyre_system_node_add_peer(members[id].system, &it), 0);
}

static void open_all(uint32_t count, const struct gyre_class *class)
{
	(void)alarm(HANG_SECONDS);
	descriptors = descriptors_open();
	members_count = count;
	cr_assert_eq(sem_init(&done, 0, 0), 0);
	for (uint32_t id = 1; id <= count; id++) {
		open_member(id, class);
	}
}

/* Each actor gets a number, and what is to happen happens. */
static void run_all(uint32_t happenings)
{
	left = happenings;
	for (uint32_t id = 1; id <= members_count; id++) {
		cr_assert_eq(gyre_system_start(members[id].system), 0);
		cr_assert_eq(gyre_system_notify(members[id].system, members[id].actor,
						gyre_system_new(members[id].system, number, 0)),
			     0);
	}
	while (sem_wait(&done) < 0) {
	}
}

static void close_member(struct member *member)
{
	struct gyre_counters counters;
	uint64_t ends;

	cr_assert_eq(gyre_system_wait(member->system), 0);
	cr_assert_eq(gyre_system_counters(member->system, &counters), 0);
	ends = counters.handled + counters.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	cr_assert_eq(counters.sent, ends, "%lu were sent and %lu ended", counters.sent, ends);
	cr_assert_eq(counters.closed, counters.accepted + counters.connected);
	gyre_system_destroy(member->system);
}

static void close_all(void)
{
	for (uint32_t id = 1; id <= members_count; id++) {
		gyre_system_stop(members[id].system);
	}
	for (uint32_t id = 1; id <= members_count; id++) {
		close_member(&members[id]);
	}
	(void)sem_destroy(&done);
	(void)alarm(0);
	cr_assert_eq(descriptors_open(), descriptors);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
}

static uint32_t id_of(struct gyre_stack *stack)
{
	return gyre_self(stack).node;
}

/* ---- a hundred: each asks the first, which all know, and its neighbour ---- */

struct asker_frame {
	struct gyre_future future;
	uint16_t peer;
	uint16_t asks;
};

static int be_found(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "member") == 0);
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	const struct number *number = gyre_message(stack, number);

	members[id_of(stack)].asked++;
	return gyre_reply(stack, gyre_new(stack, number, number->value + id_of(stack)));
}

/* An actor that is not mounted yet has no name. */
static int ask_two(struct gyre_stack *stack)
{
	struct asker_frame *frame = (struct asker_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->peer = 1;
	for (frame->asks = 0; frame->asks < 2; frame->asks++) {
		do {
			GYRE_AWAIT(stack, gyre_node_lookup(stack, frame->peer, "member",
							   GYRE_FOREVER, &frame->future));
		} while (gyre_future_error(&frame->future) == -ENOENT);
		expect(gyre_future_error(&frame->future) == 0);
		GYRE_AWAIT(stack,
			   gyre_ask(stack,
				    gyre_future_get(&frame->future, gyre_node_found)->address,
				    gyre_new(stack, number, 1000), GYRE_FOREVER, &frame->future));
		expect(gyre_future_error(&frame->future) == 0 &&
		       gyre_future_get(&frame->future, number)->value == 1000U + frame->peer);
		frame->peer = (uint16_t)(id_of(stack) % members_count + 1);
	}
	happened();
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class asker_class = {
	.name = "asker",
	.frame_bytes = sizeof(struct asker_frame),
	.behaviour = { .ask = answer, .notice = ask_two },
	.mount = be_found,
};

Test(mesh, of_a_hundred_nodes_in_one_process, .timeout = HANG_SECONDS + 1)
{
	open_all(NODES_MAX, &asker_class);
	for (uint32_t id = 1; id <= NODES_MAX; id++) {
		uint32_t neighbour = id % NODES_MAX + 1;

		if (id != 1) {
			tell_of(id, 1);
		}
		tell_of(id, neighbour);
	}
	run_all(NODES_MAX);
	cr_expect_eq(members[1].asked, NODES_MAX + 1);
	for (uint32_t id = 2; id <= NODES_MAX; id++) {
		cr_expect_eq(members[id].asked, 1, "node %u was asked %u times", id,
			     members[id].asked);
	}
	close_all();
}

/* ---- all dial all others at once ---- */

static int tell_all(struct gyre_stack *stack, uint32_t from)
{
	for (uint64_t i = 0; i < NOTICES; i++) {
		for (uint32_t id = 1; id <= members_count; id++) {
			expect(id == from ||
			       gyre_notify(stack, members[id].actor,
					   gyre_new(stack, number,
						    (uint64_t)from << 32 | (i + 1))) == 0);
		}
	}
	return gyre_return(stack);
}

/* The first notice is the order to begin; of others the sender is in the upper half. */
static int tell_or_take(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;
	struct member *self = &members[id_of(stack)];
	uint64_t from = value >> 32;

	if (value == 0) {
		return tell_all(stack, id_of(stack));
	}
	expect(from <= members_count && (uint32_t)value == self->got[from] + 1);
	self->got[from]++;
	happened();
	return gyre_return(stack);
}

static const struct gyre_class talker_class = { .name = "talker",
						.behaviour.notice = tell_or_take };

/* One that was dialled each way: all others would be one too many. */
static void expect_two_links(uint32_t id, uint32_t peer)
{
	struct gyre_node_status status;
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_node_status(members[id].system, (uint16_t)peer, &status), 0);
	cr_expect_eq(status.links, 2, "%u links between %u and %u", status.links, id, peer);
	cr_expect_eq(status.sent, NOTICES);
	cr_expect_eq(status.received, NOTICES);
	cr_expect_eq(status.lost, 0);
	cr_assert_eq(gyre_system_counters(members[id].system, &counters), 0);
	cr_expect_eq(counters.accepted, members_count - 1);
	cr_expect_eq(counters.connected, members_count - 1);
}

static void play_at_once(uint32_t count)
{
	open_all(count, &talker_class);
	for (uint32_t id = 1; id <= count; id++) {
		for (uint32_t peer = 1; peer <= count; peer++) {
			if (peer != id) {
				tell_of(id, peer);
			}
		}
	}
	run_all(count * (count - 1) * NOTICES);
	for (uint32_t id = 1; id <= count; id++) {
		for (uint32_t peer = 1; peer <= count; peer++) {
			if (peer != id) {
				expect_two_links(id, peer);
			}
		}
	}
	close_all();
}

Test(mesh, of_two_that_dial_each_other_at_once_has_one_link_each_way, .timeout = HANG_SECONDS + 1)
{
	for (int round = 0; round < ROUNDS; round++) {
		play_at_once(2);
	}
}

Test(mesh, of_eight_that_dial_each_other_at_once_has_one_link_each_way, .timeout = HANG_SECONDS + 1)
{
	play_at_once(8);
}
