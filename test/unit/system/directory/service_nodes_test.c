/*
 * Services of several nodes in one process. An agent of each node joins, leaves and watches as the
 * test tells it to; the test looks from outside until it sees what must come about. Times are so
 * long that none of them runs out, but where a node has to be declared down.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gyre/name.h>
#include <gyre/node.h>
#include <gyre/outside.h>
#include <gyre/service.h>

#include "base/atomic.h"
#include "fixture.h"
#include "heap.h"

enum { NODES_MAX = 5, HANG_SECONDS = 110, MANY = 3000, LOOPS = 2, POOR_ROUNDS = 40 };

enum what { JOIN, JOIN_LONG, LEAVE, WATCH, JOIN_ALL, LEAVE_ALL, HALT, END_HERALD, STOP };

struct order {
	enum what what;
	uint32_t service;
};
GYRE_MESSAGE(order, 0x1100);

struct member {
	struct gyre_system *system;
	struct gyre_address agent;
};

static const struct gyre_type *const types[] = { &gyre_type_number, NULL };
static struct member members[NODES_MAX + 1]; /* by id */
static uint32_t listed;			     /* atomic: the total of the last listing */
static uint32_t quarantines;		     /* atomic */
static uint32_t lies;	/* atomic: members of a node that was found after it was declared down */
static uint32_t downs;	/* atomic */
static uint32_t warned; /* atomic: that services are not told */
static uint32_t go_on;	/* atomic: ends a halt */
static int descriptors;

/* ---- services ---- */

struct key {
	char name[16];
	struct gyre_service service;
};

static const struct gyre_service long_name = { "service of forty bytes and some more yet", 0x100, 0,
					       NULL };

static const struct gyre_service *key_of(struct key *key, uint32_t number)
{
	(void)snprintf(key->name, sizeof(key->name), "service %u", number);
	key->service = (struct gyre_service){ key->name, 0x100, 0, NULL };
	return &key->service;
}

static uint32_t found(uint32_t node, uint32_t service, struct gyre_address *ret_first)
{
	struct gyre_address first = GYRE_NOBODY;
	uint32_t count = UINT32_MAX;
	struct key key;

	expect(gyre_system_service_find(members[node].system, key_of(&key, service), 1, &first,
					&count) == 0);
	if (ret_first != NULL) {
		*ret_first = first;
	}
	return count;
}

static void await_found(uint32_t node, uint32_t service, uint32_t count)
{
	while (found(node, service, NULL) != count) {
		(void)sched_yield();
	}
}

/* ---- agents ---- */

static int for_all(struct gyre_stack *stack, bool joins)
{
	struct key key;
	int r = 0;

	for (uint32_t i = 0; i < MANY && r == 0; i++) {
		r = joins ? gyre_service_join(stack, key_of(&key, i))
			  : gyre_service_leave(stack, key_of(&key, i));
	}
	return r;
}

/* The only loop of its node does nothing. */
static int halt(void)
{
	while (gy_load_acquire(&go_on) == 0) {
		(void)sched_yield();
	}
	return 0;
}

static int end_herald(struct gyre_stack *stack)
{
	struct gyre_address herald;
	int r = gyre_name_lookup(stack, "gyre/services", &herald);

	return r < 0 ? r : gyre_stop(stack, herald);
}

static int do_order(struct gyre_stack *stack, const struct order *order)
{
	struct key key;

	switch (order->what) {
	case JOIN:
		return gyre_service_join(stack, key_of(&key, order->service));
	case JOIN_LONG:
		return gyre_service_join(stack, &long_name);
	case LEAVE:
		return gyre_service_leave(stack, key_of(&key, order->service));
	case WATCH:
		return gyre_service_watch(stack, key_of(&key, order->service), 1);
	case JOIN_ALL:
		return for_all(stack, true);
	case LEAVE_ALL:
		return for_all(stack, false);
	case HALT:
		return halt();
	case END_HERALD:
		return end_herald(stack);
	default:
		return gyre_stop(stack, gyre_self(stack));
	}
}

static int obey(struct gyre_stack *stack)
{
	return gyre_reply(stack,
			  gyre_new(stack, number,
				   (uint64_t)(int64_t)do_order(stack, gyre_message(stack, order))));
}

/* Whoever hears that a node is down finds nothing of it. */
static void hear_of_node(struct gyre_stack *stack, const struct gyre_node_event *event)
{
	struct gyre_address all[NODES_MAX];
	struct key key;
	uint32_t count = 0;

	if (event->state == GYRE_NODE_DOWN) {
		expect(gyre_service_find(stack, key_of(&key, 0), NODES_MAX, all, &count) == 0);
		for (uint32_t i = 0; i < count && i < NODES_MAX; i++) {
			if (all[i].node == event->node &&
			    all[i].life == (uint32_t)event->incarnation) {
				(void)gy_fetch_add(&lies, 1);
			}
		}
		(void)gy_fetch_add(&downs, 1);
	}
	if (event->state == GYRE_NODE_QUARANTINED) {
		(void)gy_fetch_add(&quarantines, 1);
	}
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_listing *listing = gyre_message(stack, gyre_listing);
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	if (listing != NULL) {
		gy_store_release(&listed, listing->total);
	} else if (event != NULL) {
		hear_of_node(stack, event);
	}
	return gyre_return(stack);
}

static int begin(struct gyre_stack *stack)
{
	expect(gyre_node_watch(stack) == 0);
	return gyre_return(stack);
}

static int obey_and_say_nothing(struct gyre_stack *stack)
{
	expect(do_order(stack, gyre_message(stack, order)) == 0);
	return gyre_return(stack);
}

static const struct gyre_class agent_class = {
	.name = "agent",
	.mount = begin,
	.behaviour = { .ask = obey, .notice = obey_and_say_nothing, .event = hear }
};

static int order(uint32_t node, enum what what, uint32_t service)
{
	struct gyre_system *system = members[node].system;
	struct gyre_mail *mail = NULL;
	int r = gyre_system_ask(system, members[node].agent,
				gyre_system_new(system, order, what, service), GYRE_FOREVER, &mail);

	if (r == 0) {
		r = (int)(int64_t)((const struct number *)gyre_payload(mail))->value;
		gyre_mail_destroy(NULL, mail);
	}
	return r;
}

/* ---- nodes ---- */

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level == GYRE_LOG_WARNING && strstr(line->text, "is not told of") != NULL) {
		(void)gy_fetch_add(&warned, 1);
	}
	if (line->level >= GYRE_LOG_ERROR) {
		(void)fprintf(stderr, "%s\n", line->text);
	}
	expect(line->level < GYRE_LOG_ERROR);
}

static struct gyre_node_options patient(uint32_t id)
{
	return (struct gyre_node_options){ .id = (uint16_t)id,
					   .listen = "tcp://127.0.0.1:0",
					   .types = types,
					   .greeting_ns = GYRE_SECONDS(60),
					   .heartbeat_ns = GYRE_SECONDS(1),
					   .suspect_ns = GYRE_SECONDS(1000),
					   .down_ns = GYRE_SECONDS(2000),
					   .away_ns = GYRE_SECONDS(1000),
					   .redial_min_ns = GYRE_MILLISECONDS(1),
					   .redial_max_ns = GYRE_MILLISECONDS(20) };
}

static void open_node(const struct gyre_node_options *node, uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops,
						     .ring_entries = 64,
						     .buffer_count = 16,
						     .spin_ns = GYRE_SPIN_NEVER,
						     .stall_ns = GYRE_STALL_NEVER,
						     .log = logged,
						     .node = node };
	struct member *member = &members[node->id];

	cr_assert_eq(gyre_system_create(&options, &member->system), 0);
	cr_assert_eq(gyre_system_spawn(member->system, &agent_class, GYRE_NO_ARGUMENT, NULL,
				       &member->agent),
		     0);
	cr_assert_eq(gyre_system_start(member->system), 0);
}

static void introduce(uint32_t id, uint32_t peer)
{
	char text[64];
	const struct gyre_node_peer it = { (uint16_t)peer, text };

	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(members[peer].system));
	cr_assert_eq(gyre_system_node_add_peer(members[id].system, &it), 0);
}

static void open_all(uint32_t count, uint32_t loops)
{
	(void)alarm(HANG_SECONDS);
	descriptors = descriptors_open();
	for (uint32_t id = 1; id <= count; id++) {
		const struct gyre_node_options node = patient(id);

		open_node(&node, loops);
	}
	for (uint32_t id = 1; id <= count; id++) {
		for (uint32_t peer = 1; peer < id; peer++) {
			introduce(id, peer); /* the other one learns it */
		}
	}
}

static void close_node(uint32_t id)
{
	struct member *member = &members[id];
	struct gyre_counters counters;
	uint64_t ends;

	gyre_system_stop(member->system);
	cr_assert_eq(gyre_system_wait(member->system), 0);
	cr_assert_eq(gyre_system_counters(member->system, &counters), 0);
	ends = counters.handled + counters.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	cr_assert_eq(counters.sent, ends, "%lu were sent and %lu ended", counters.sent, ends);
	gyre_system_destroy(member->system);
	member->system = NULL;
}

static void close_all(void)
{
	for (uint32_t id = 1; id <= NODES_MAX; id++) {
		if (members[id].system != NULL) {
			close_node(id);
		}
	}
	(void)alarm(0);
	cr_assert_eq(descriptors_open(), descriptors);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
}

/* ---- joins and leaves ---- */

Test(service_nodes, know_of_each_others_members_and_of_their_leave_and_stop)
{
	struct gyre_address first;

	open_all(2, LOOPS);
	cr_assert_eq(order(1, JOIN, 0), 0);
	await_found(2, 0, 1);
	(void)found(2, 0, &first);
	cr_assert_eq(first.node, 1);
	cr_assert(first.life != 0);
	cr_assert_eq(order(2, WATCH, 0), 0);
	cr_assert_eq(order(2, JOIN, 0), 0);
	await_found(1, 0, 2);
	while (gy_load_acquire(&listed) != 2) {
		(void)sched_yield();
	}
	(void)found(2, 0, &first);
	cr_assert_eq(first.node, 2, "the own one comes first");
	cr_assert_eq(order(1, LEAVE, 0), 0);
	await_found(2, 0, 1);
	cr_assert_eq(order(1, JOIN, 1), 0);
	await_found(2, 1, 1);
	cr_assert_eq(order(1, STOP, 0), 0);
	await_found(2, 1, 0);
	close_all();
}

Test(service_nodes, pick_members_of_their_own_node_first_if_asked_to)
{
	struct gyre_address picked;
	uint32_t others = 0;
	struct key key;

	open_all(2, 1);
	cr_assert_eq(order(2, JOIN, 0), 0);
	await_found(1, 0, 1);
	cr_assert_eq(gyre_system_service_pick(members[1].system, key_of(&key, 0),
					      GYRE_PICK_OWN_NODE, &picked),
		     0);
	cr_assert_eq(picked.node, 2);
	cr_assert_eq(order(1, JOIN, 0), 0);
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(gyre_system_service_pick(members[1].system, key_of(&key, 0),
						      GYRE_PICK_OWN_NODE, &picked),
			     0);
		cr_assert_eq(picked.node, 1);
		cr_assert_eq(gyre_system_service_pick(members[1].system, key_of(&key, 0),
						      GYRE_PICK_NEAR, &picked),
			     0);
		cr_assert_eq(picked.node, 1);
		cr_assert_eq(gyre_system_service_pick(members[1].system, key_of(&key, 0),
						      GYRE_PICK_ROUND_ROBIN, &picked),
			     0);
		others += picked.node == 2;
	}
	cr_assert(others > 0 && others < 10, "%u of 10", others);
	close_all();
}

Test(service_nodes, of_five_all_know_of_thousands_and_of_their_end)
{
	open_all(NODES_MAX, 1);
	cr_assert_eq(order(1, JOIN_ALL, 0), 0);
	for (uint32_t id = 2; id <= NODES_MAX; id++) {
		cr_assert_eq(order(id, JOIN, id), 0);
	}
	for (uint32_t id = 1; id <= NODES_MAX; id++) {
		for (uint32_t i = 0; i < MANY; i++) {
			await_found(id, i, i >= 2 && i <= NODES_MAX ? 2 : 1);
		}
	}
	cr_assert_eq(order(1, LEAVE_ALL, 0), 0);
	for (uint32_t id = 1; id <= NODES_MAX; id++) {
		for (uint32_t i = 0; i < MANY; i++) {
			await_found(id, i, i >= 2 && i <= NODES_MAX ? 1 : 0);
		}
	}
	close_all();
}

Test(service_nodes, that_come_late_are_told_of_what_there_is_without_asking)
{
	struct gyre_node_options node = patient(3);

	open_all(2, 1);
	cr_assert_eq(order(1, JOIN, 0), 0);
	cr_assert_eq(order(2, JOIN, 0), 0);
	cr_assert_eq(order(2, JOIN, 1), 0);
	cr_assert_eq(order(2, LEAVE, 1), 0);
	await_found(1, 0, 2);
	open_node(&node, 1);
	introduce(3, 1);
	introduce(3, 2);
	await_found(3, 0, 2);
	await_found(3, 1, 0);
	close_all();
}

/* Its name must go into a message. */
Test(service_nodes, refuse_a_name_that_is_too_long_for_their_messages)
{
	struct gyre_node_options node = patient(1);

	(void)alarm(HANG_SECONDS);
	descriptors = descriptors_open();
	node.message_bytes_max = 64;
	open_node(&node, 1);
	cr_assert_eq(order(1, JOIN, 0), 0);
	cr_assert_eq(order(1, JOIN_LONG, 0), -EMSGSIZE);
	cr_assert_eq(found(1, 0, NULL), 1);
	close_all();
}

/* ---- the herald ---- */

static uint64_t unhandled(uint32_t node)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(members[node].system, &counters), 0);
	return counters.dropped[GYRE_DROP_UNHANDLED];
}

/* Messages that it does not know, of a node, to the herald of node 1. */
static void pester(uint32_t node, struct gyre_address herald)
{
	struct gyre_system *system = members[node].system;
	struct gyre_mail *answer = NULL;

	cr_assert_eq(gyre_system_notify(system, herald, gyre_system_new(system, number, 0)), 0);
	cr_assert_eq(gyre_system_ask(system, herald, gyre_system_new(system, number, 0),
				     GYRE_FOREVER, &answer),
		     -ENOSYS);
}

Test(service_nodes, lose_other_messages_to_who_tells_of_their_services)
{
	struct gyre_address herald;

	open_all(2, 1);
	cr_assert_eq(order(1, JOIN, 0), 0);
	await_found(2, 0, 1);
	cr_assert_eq(gyre_system_name_lookup(members[1].system, "gyre/services", &herald), 0);
	for (uint32_t id = 1; id <= 2; id++) {
		pester(id, herald);
	}
	while (unhandled(1) < 2) {
		(void)sched_yield();
	}
	cr_assert_eq(order(1, JOIN, 1), 0);
	await_found(2, 1, 1);
	close_all();
}

/* Nobody calls anything of services after the end of the first one. */
Test(service_nodes, have_another_to_tell_of_their_services_when_one_has_ended)
{
	struct gyre_address herald;
	struct gyre_address next;

	open_all(2, 1);
	cr_assert_eq(order(1, JOIN, 0), 0);
	await_found(2, 0, 1);
	cr_assert_eq(gyre_system_name_lookup(members[1].system, "gyre/services", &herald), 0);
	cr_assert_eq(order(1, END_HERALD, 0), 0);
	do {
		next = herald;
		(void)sched_yield();
	} while (gyre_system_name_lookup(members[1].system, "gyre/services", &next) < 0 ||
		 gyre_address_equal(next, herald));
	cr_assert_eq(order(2, JOIN, 1), 0);
	await_found(1, 1, 1);
	cr_assert_eq(order(1, JOIN, 2), 0);
	await_found(2, 2, 1);
	cr_assert_eq(found(2, 0, NULL), 1);
	close_all();
}

/* One of the nodes takes no report as long as they are, and no long name at all. */
Test(service_nodes, tell_less_at_once_where_messages_are_short)
{
	struct gyre_node_options node = patient(2);
	uint32_t count = 1;

	(void)alarm(HANG_SECONDS);
	descriptors = descriptors_open();
	node.message_bytes_max = 64;
	open_node(&node, 1);
	node = patient(1);
	open_node(&node, 1);
	cr_assert_eq(order(1, JOIN_ALL, 0), 0);
	cr_assert_eq(order(1, JOIN_LONG, 0), 0);
	introduce(1, 2);
	for (uint32_t i = 0; i < MANY; i++) {
		await_found(2, i, 1);
	}
	cr_assert_eq(order(1, JOIN, MANY), 0);
	await_found(2, MANY, 1);
	cr_assert_eq(gyre_system_service_find(members[2].system, &long_name, 0, NULL, &count), 0);
	cr_assert_eq(count, 0);
	while (gy_load_acquire(&warned) == 0) {
		(void)sched_yield(); /* the log has a writer of its own */
	}
	cr_assert_eq(order(2, JOIN, 0), 0);
	await_found(1, 0, 2);
	close_all();
}

/* ---- lives ---- */

/* Another process with the id of a node ends the life of that. */
Test(service_nodes, lose_the_members_of_one_that_is_down_before_they_are_told_and_have_the_next)
{
	struct gyre_node_options node = patient(2);
	struct gyre_address before;
	struct gyre_address after;

	open_all(2, 1);
	cr_assert_eq(order(1, WATCH, 0), 0);
	cr_assert_eq(order(2, JOIN, 0), 0);
	await_found(1, 0, 1);
	(void)found(1, 0, &before);
	close_node(2);
	cr_assert_eq(found(1, 0, NULL), 1, "it may be on its way back");
	open_node(&node, 1);
	introduce(2, 1);
	cr_assert_eq(order(2, JOIN, 1), 0);
	await_found(1, 1, 1);
	await_found(1, 0, 0);
	cr_assert_eq(gy_load_acquire(&downs), 1);
	cr_assert_eq(gy_load_acquire(&lies), 0);
	cr_assert_eq(order(2, JOIN, 0), 0);
	await_found(1, 0, 1);
	(void)found(1, 0, &after);
	cr_assert_neq(before.life, after.life);
	close_all();
}

/* A node that is halted for too long goes on with a new life. */
Test(service_nodes, have_the_members_of_one_back_that_was_declared_down_and_has_a_new_life)
{
	struct gyre_node_options hasty = patient(1);
	struct gyre_node_options node = patient(2);
	struct gyre_address before;
	struct gyre_address after;

	(void)alarm(HANG_SECONDS);
	descriptors = descriptors_open();
	hasty.heartbeat_ns = GYRE_MILLISECONDS(200);
	hasty.suspect_ns = GYRE_MILLISECONDS(1900);
	hasty.down_ns = GYRE_MILLISECONDS(2000);
	node.heartbeat_ns = GYRE_MILLISECONDS(200);
	open_node(&hasty, 1);
	open_node(&node, 1);
	introduce(2, 1);
	cr_assert_eq(order(1, JOIN, 0), 0);
	cr_assert_eq(order(2, JOIN, 1), 0);
	await_found(1, 1, 1);
	await_found(2, 0, 1);
	(void)found(1, 1, &before);
	cr_assert_eq(gyre_system_notify(members[2].system, members[2].agent,
					gyre_system_new(members[2].system, order, HALT, 0)),
		     0);
	while (gy_load_acquire(&downs) == 0) {
		(void)sched_yield();
	}
	cr_assert_eq(found(1, 1, NULL), 0);
	cr_assert_eq(gy_load_acquire(&lies), 0);
	gy_store_release(&go_on, 1);
	await_found(1, 1, 1);
	(void)found(1, 1, &after);
	cr_assert(before.slot == after.slot && before.cookie == after.cookie);
	cr_assert_neq(before.life, after.life);
	cr_assert_eq(gy_load_acquire(&quarantines), 1);
	cr_assert_eq(found(2, 0, NULL), 1, "it had not lost sight of the other");
	close_all();
}
