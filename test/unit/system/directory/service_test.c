/*
 * Services within a system. Agents join, leave and watch as they are told to; what their listings
 * say is written down.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <gyre/outside.h>
#include <gyre/service.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "heap.h"

enum { LOOPS = 2, ELSEWHERE = 1, MANY = 3000, TAG = 77, AGENTS = 3 };

GYRE_SERVICE(adding, 0x100, number);
GYRE_SERVICE(placing, 0x101, place, number);
static const struct gyre_service other_id = { "adding", 0x102, 0, NULL };
static const struct gyre_service *const adding = &gyre_service_adding;

enum what { JOIN, LEAVE, WATCH, UNWATCH, SYNC, STOP, JOIN_AND_LEAVE_IN_FLIGHT };

struct order {
	enum what what;
	const struct gyre_service *service;
};
GYRE_MESSAGE(order, 0x1100);

/* Of the last listing. */
static struct {
	struct gyre_address members[GYRE_LISTING_MEMBERS_MAX];
	uint64_t version;
	uint64_t tag;
	uint32_t count;
	uint32_t total; /* atomic */
	uint32_t id;
	uint32_t listings; /* atomic */
} seen;

struct frame {
	struct gyre_future future;
	struct gyre_address a;
	struct gyre_address b;
	struct gyre_address c;
	uint32_t number;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- agents ---- */

static int join_and_leave(struct gyre_stack *stack, const struct gyre_service *service)
{
	int r = gyre_service_join(stack, service);

	for (uint32_t i = 0; i < AGENTS && r == 0; i++) {
		r = gyre_service_leave(stack, service);
		r = r == 0 ? gyre_service_join(stack, service) : r;
	}
	return r;
}

static int do_order(struct gyre_stack *stack, const struct order *order)
{
	switch (order->what) {
	case JOIN:
		return gyre_service_join(stack, order->service);
	case LEAVE:
		return gyre_service_leave(stack, order->service);
	case WATCH:
		return gyre_service_watch(stack, order->service, TAG);
	case UNWATCH:
		return gyre_service_unwatch(stack, order->service);
	case JOIN_AND_LEAVE_IN_FLIGHT:
		return join_and_leave(stack, order->service);
	case STOP:
		return gyre_stop(stack, gyre_self(stack));
	default:
		return 0;
	}
}

static int obey(struct gyre_stack *stack)
{
	return gyre_reply(stack,
			  gyre_new(stack, number,
				   (uint64_t)(int64_t)do_order(stack, gyre_message(stack, order))));
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_listing *listing = gyre_message(stack, gyre_listing);

	expect(listing != NULL && listing->count <= GYRE_LISTING_MEMBERS_MAX);
	expect(listing->count <= listing->total && listing->reserved == 0);
	memcpy(seen.members, listing->members, listing->count * sizeof(seen.members[0]));
	expect(seen.listings == 0 || listing->version > seen.version);
	seen.version = listing->version;
	seen.tag = listing->tag;
	seen.count = listing->count;
	seen.id = listing->service_id;
	gy_store_release(&seen.total, listing->total);
	(void)gy_fetch_add(&seen.listings, 1);
	return gyre_return(stack);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class agent_class = {
	.name = "agent",
	.behaviour = { .ask = obey, .notice = fail, .event = hear },
	.strategy = GYRE_STRATEGY_RESTART,
};

static int tell(struct gyre_stack *stack, struct gyre_address to, enum what what,
		const struct gyre_service *service)
{
	return gyre_ask(stack, to, gyre_new(stack, order, what, service), 0,
			&frame_of(stack)->future);
}

/* What the agent's call returned. */
static int answer(struct gyre_stack *stack)
{
	const struct number *number = gyre_future_get(&frame_of(stack)->future, number);

	return number == NULL ? gyre_future_error(&frame_of(stack)->future)
			      : (int)(int64_t)number->value;
}

#define TELL(STACK, TO, WHAT, SERVICE) GYRE_AWAIT((STACK), tell((STACK), (TO), (WHAT), (SERVICE)))
/* Until the last listing has so many. Events of an agent stand behind the asks that it gets. */
#define AWAIT_TOTAL(STACK, TO, TOTAL)            \
	do {                                     \
		TELL((STACK), (TO), SYNC, NULL); \
	} while (gy_load_acquire(&seen.listings) == 0 || gy_load_acquire(&seen.total) != (TOTAL))

static uint32_t members_of(struct gyre_stack *stack, const struct gyre_service *service)
{
	uint32_t count = UINT32_MAX;

	expect(gyre_service_find(stack, service, 0, NULL, &count) == 0);
	return count;
}

static bool has_member(struct gyre_stack *stack, struct gyre_address member)
{
	struct gyre_address members[AGENTS];
	uint32_t count;
	bool is = false;

	expect(gyre_service_find(stack, adding, AGENTS, members, &count) == 0);
	for (uint32_t i = 0; i < count && i < AGENTS; i++) {
		is = is || gyre_address_equal(members[i], member);
	}
	return is;
}

/* ---- joining, leaving, finding ---- */

static int join_on_both(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &agent_class);
	frame->b = spawn_on(stack, &agent_class, ELSEWHERE);
	expect(members_of(stack, adding) == 0);
	TELL(stack, frame->a, JOIN, adding);
	expect(answer(stack) == 0 && members_of(stack, adding) == 1);
	TELL(stack, frame->a, JOIN, adding);
	expect(answer(stack) == 0 && members_of(stack, adding) == 1);
	TELL(stack, frame->b, JOIN, adding);
	expect(answer(stack) == 0 && members_of(stack, adding) == 2);
	expect(has_member(stack, frame->a) && has_member(stack, frame->b));
	expect(members_of(stack, &other_id) == 0);
	TELL(stack, frame->a, LEAVE, adding);
	expect(answer(stack) == 0 && members_of(stack, adding) == 1);
	expect(!has_member(stack, frame->a) && has_member(stack, frame->b));
	TELL(stack, frame->a, LEAVE, adding);
	expect(answer(stack) == -ENOENT);
	TELL(stack, frame->b, LEAVE, adding);
	expect(answer(stack) == 0 && members_of(stack, adding) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(service, has_an_actor_from_its_join_to_its_leave_on_all_loops_at_once)
{
	play(LOOPS, join_on_both);
}

/* Whose members an actor sees when it hears of the end of one. */
static int mount_watcher(struct gyre_stack *stack)
{
	return gyre_watch(stack, gyre_message(stack, place)->address);
}

static int hear_end(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_terminated) != NULL);
	expect(members_of(stack, adding) == 0);
	return fixture_end(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = mount_watcher,
						 .behaviour.event = hear_end };

static int stop_member(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_address watcher;

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &agent_class, ELSEWHERE);
	TELL(stack, frame->a, JOIN, adding);
	TELL(stack, frame->a, JOIN, &other_id);
	TELL(stack, frame->a, WATCH, adding);
	expect(gyre_notify(stack, frame->a, gyre_new(stack, number, 1)) == 0); /* it restarts */
	TELL(stack, frame->a, SYNC, adding);
	expect(members_of(stack, adding) == 1);
	expect(gyre_spawn(stack, &watcher_class, gyre_new(stack, place, frame->a), NULL,
			  &watcher) == 0);
	TELL(stack, frame->a, STOP, NULL);
	return gyre_return(stack);
	GYRE_END(stack);
}

Test(service, keeps_an_actor_that_restarts_and_loses_it_before_its_watchers_are_told_of_its_end)
{
	play(LOOPS, stop_member);
}

static int take_number(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_route number_routes[] = { GYRE_ROUTE(number, take_number),
						   GYRE_ROUTE_END };

static int join_what_it_does_not_take(struct gyre_stack *stack)
{
	expect(gyre_service_join(stack, &gyre_service_placing) == -EPROTO);
	expect(gyre_service_join(stack, adding) == 0);
	expect(members_of(stack, &gyre_service_placing) == 0 && members_of(stack, adding) == 1);
	return fixture_end(stack);
}

static const struct gyre_class routes_class = { .name = "routes",
						.mount = join_what_it_does_not_take,
						.behaviour.notice_routes = number_routes };

Test(service, is_refused_to_an_actor_without_a_handler_for_one_of_its_messages)
{
	cr_assert_eq(gyre_service_placing.messages_count, 2);
	cr_assert_eq(gyre_service_placing.messages[0], &gyre_type_place);
	fixture_open(1);
	(void)spawn_outside(&routes_class, 0);
	fixture_run();
	fixture_close();
}

static int misuse(struct gyre_stack *stack)
{
	static char text[GYRE_SERVICE_NAME_BYTES_MAX + 2];
	const struct gyre_service none = { NULL, 1, 0, NULL };
	const struct gyre_service empty = { "", 1, 0, NULL };
	const struct gyre_service no_id = { "name", 0, 0, NULL };
	const struct gyre_service longest = { text, 1, 0, NULL };
	const struct gyre_type *const missing[] = { NULL };
	const struct gyre_service no_types = { "name", 1, 1, NULL };
	const struct gyre_service no_type = { "name", 1, 1, missing };
	struct gyre_address address;
	uint32_t count;

	memset(text, 'x', sizeof(text) - 1);
	expect(gyre_service_join(stack, &longest) == -EINVAL);
	text[GYRE_SERVICE_NAME_BYTES_MAX] = '\0';
	expect(gyre_service_join(stack, &longest) == 0);
	expect(gyre_service_leave(stack, &longest) == 0);
	expect(gyre_service_join(stack, NULL) == -EINVAL);
	expect(gyre_service_join(stack, &none) == -EINVAL);
	expect(gyre_service_join(stack, &no_types) == -EINVAL);
	expect(gyre_service_join(stack, &no_type) == -EINVAL);
	expect(gyre_service_watch(stack, &empty, 0) == -EINVAL);
	expect(gyre_service_unwatch(stack, &no_id) == -EINVAL);
	expect(gyre_service_unwatch(stack, adding) == -ENOENT);
	expect(gyre_service_leave(stack, &no_id) == -EINVAL);
	expect(gyre_service_find(stack, adding, 0, NULL, NULL) == -EINVAL);
	expect(gyre_service_find(stack, adding, 1, NULL, &count) == -EINVAL);
	expect(gyre_service_pick(stack, adding, GYRE_PICK_RANDOM, NULL) == -EINVAL);
	expect(gyre_service_pick(stack, adding, 3, &address) == -EINVAL);
	expect(gyre_service_pick(stack, adding, GYRE_PICK_NEAR | GYRE_PICK_OWN_NODE, &address) ==
	       -EINVAL);
	expect(gyre_service_pick(stack, adding, GYRE_PICK_NEAR, &address) == -ENOENT);
	expect(gyre_system_service_find(NULL, adding, 0, NULL, &count) == -EINVAL);
	expect(gyre_system_service_pick(NULL, adding, 0, &address) == -EINVAL);
	return fixture_end(stack);
}

Test(service, is_refused_with_a_bad_key)
{
	play(1, misuse);
}

static int join_too_many(struct gyre_stack *stack)
{
	char name[16];
	const struct gyre_service service = { name, 1, 0, NULL };
	int r = 0;

	for (uint32_t i = 0; i < GYRE_SERVICE_MEMBERSHIPS_MAX && r == 0; i++) {
		(void)snprintf(name, sizeof(name), "s%u", i);
		r = gyre_service_join(stack, &service);
	}
	expect(r == 0 && members_of(stack, &service) == 1);
	expect(gyre_service_join(stack, &other_id) == -ENOBUFS);
	expect(gyre_service_join(stack, &service) == 0); /* it has it */
	expect(gyre_service_leave(stack, &service) == 0);
	expect(gyre_service_join(stack, &other_id) == 0);
	return fixture_end(stack);
}

Test(service, memberships_are_as_many_as_may_be_and_not_one_more)
{
	play(1, join_too_many);
}

/* ---- picking ---- */

static uint32_t picked(struct gyre_stack *stack, uint32_t how, struct gyre_address who,
		       uint32_t times)
{
	struct gyre_address address;
	uint32_t count = 0;

	for (uint32_t i = 0; i < times; i++) {
		expect(gyre_service_pick(stack, adding, how, &address) == 0);
		count += gyre_address_equal(address, who);
	}
	return count;
}

static int pick_of_three(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &agent_class, ELSEWHERE);
	frame->b = spawn_on(stack, &agent_class, ELSEWHERE);
	frame->c = spawn_here(stack, &agent_class);
	TELL(stack, frame->a, JOIN, adding);
	TELL(stack, frame->b, JOIN, adding);
	expect(picked(stack, GYRE_PICK_NEAR, frame->a, 10) == 5);
	TELL(stack, frame->c, JOIN, adding);
	expect(picked(stack, GYRE_PICK_ROUND_ROBIN, frame->a, 30) == 10);
	expect(picked(stack, GYRE_PICK_ROUND_ROBIN | GYRE_PICK_OWN_NODE, frame->b, 30) == 10);
	expect(picked(stack, GYRE_PICK_NEAR, frame->c, 10) == 10);
	expect(picked(stack, GYRE_PICK_RANDOM, frame->a, MANY) > MANY / 4);
	expect(picked(stack, GYRE_PICK_RANDOM, frame->b, MANY) > MANY / 4);
	expect(picked(stack, GYRE_PICK_RANDOM, frame->c, MANY) > MANY / 4);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(service, picks_one_after_the_other_or_any_or_one_of_the_own_loop)
{
	play(LOOPS, pick_of_three);
}

static void *look_from_outside(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	struct gyre_address members[2] = { 0 };
	struct gyre_address address;
	uint32_t count = 0;

	expect(gyre_system_service_find(system, adding, 2, members, &count) == 0 && count == 1);
	expect(gyre_system_service_pick(system, adding, GYRE_PICK_NEAR, &address) == 0);
	expect(gyre_address_equal(members[0], address));
	expect(gyre_system_service_pick(system, &other_id, GYRE_PICK_RANDOM, &address) == -ENOENT);
	return NULL;
}

static int join_and_have_it_found(struct gyre_stack *stack)
{
	pthread_t thread;

	expect(gyre_service_join(stack, adding) == 0);
	expect(pthread_create(&thread, NULL, look_from_outside, gyre_system_of(stack)) == 0);
	expect(pthread_join(thread, NULL) == 0);
	return fixture_end(stack);
}

/* The script's class has no handlers: its service asks for none. */
static int mount_finder(struct gyre_stack *stack)
{
	return join_and_have_it_found(stack);
}

static const struct gyre_class found_class = { .name = "found",
					       .mount = mount_finder,
					       .behaviour.notice = fail };

Test(service, is_found_and_picked_from_outside)
{
	fixture_open(1);
	(void)spawn_outside(&found_class, 0);
	fixture_run();
	fixture_close();
}

/* ---- watching ---- */

static int watch_members(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &agent_class);
	frame->b = spawn_on(stack, &agent_class, ELSEWHERE);
	frame->c = spawn_here(stack, &agent_class);
	TELL(stack, frame->a, WATCH, adding);
	expect(answer(stack) == 0);
	AWAIT_TOTAL(stack, frame->a, 0);
	expect(seen.tag == TAG && seen.id == adding->id && seen.listings == 1);
	TELL(stack, frame->b, JOIN, adding);
	AWAIT_TOTAL(stack, frame->a, 1);
	expect(gyre_address_equal(seen.members[0], frame->b));
	TELL(stack, frame->c, JOIN, adding);
	AWAIT_TOTAL(stack, frame->a, 2);
	TELL(stack, frame->b, STOP, NULL);
	AWAIT_TOTAL(stack, frame->a, 1);
	expect(seen.count == 1 && gyre_address_equal(seen.members[0], frame->c));
	TELL(stack, frame->c, JOIN_AND_LEAVE_IN_FLIGHT, &other_id); /* of which it hears nothing */
	frame->number = seen.listings;
	TELL(stack, frame->a, UNWATCH, adding);
	expect(answer(stack) == 0);
	TELL(stack, frame->c, LEAVE, adding);
	for (frame->b.slot = 0; frame->b.slot < AGENTS; frame->b.slot++) {
		TELL(stack, frame->a, SYNC, NULL);
	}
	expect(seen.listings == frame->number);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(service, that_is_watched_is_listed_at_first_and_when_it_changes_and_not_after_the_watch)
{
	play(LOOPS, watch_members);
}

static int change_often(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &agent_class);
	TELL(stack, frame->a, WATCH, adding);
	AWAIT_TOTAL(stack, frame->a, 0);
	frame->number = seen.listings;
	/* All in one handler, and the watcher lives on the same loop. */
	frame->c = spawn_here(stack, &agent_class);
	TELL(stack, frame->c, JOIN_AND_LEAVE_IN_FLIGHT, adding);
	expect(answer(stack) == 0);
	AWAIT_TOTAL(stack, frame->a, 1);
	expect(seen.listings == frame->number + 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(service, that_changes_often_in_one_go_is_listed_once)
{
	play(1, change_often);
}

static int join_many(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->number = 0; frame->number < MANY; frame->number++) {
		TELL(stack, spawn_here(stack, &agent_class), JOIN, adding);
		expect(answer(stack) == 0);
	}
	frame->a = spawn_here(stack, &agent_class);
	TELL(stack, frame->a, WATCH, adding);
	AWAIT_TOTAL(stack, frame->a, MANY);
	expect(seen.count == GYRE_LISTING_MEMBERS_MAX && members_of(stack, adding) == MANY);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(service, of_more_members_than_a_listing_may_have_is_listed_in_part_and_counted_whole)
{
	play(1, join_many);
}

/* ---- without memory ---- */

static int join_without_memory(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	int r = 0;

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &agent_class);
	TELL(stack, frame->a, WATCH, adding);
	AWAIT_TOTAL(stack, frame->a, 0);
	expect(gyre_service_join(stack, &other_id) == 0);
	do {
		heap_end_after(frame->number++);
		r = gyre_service_join(stack, adding);
		expect(r == 0 || (r == -ENOMEM && members_of(stack, adding) == 0));
	} while (heap_recover());
	expect(r == 0 && members_of(stack, adding) == 1);
	heap_end_after(0);
	expect(gyre_service_leave(stack, &other_id) == 0 && members_of(stack, &other_id) == 0);
	expect(gyre_service_leave(stack, adding) == 0 && members_of(stack, adding) == 0);
	(void)heap_recover();
	expect(gyre_service_join(stack, adding) == 0 && members_of(stack, adding) == 1);
	AWAIT_TOTAL(stack, frame->a, 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class poor_class = { .name = "poor",
					      .frame_bytes = sizeof(struct frame),
					      .mount = join_without_memory,
					      .behaviour.notice = fail };

Test(service, without_memory_is_not_joined_but_left)
{
	fixture_open(1);
	(void)spawn_outside(&poor_class, 0);
	fixture_run();
	fixture_close();
}

static int leave_one_of_three(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &agent_class);
	frame->b = spawn_here(stack, &agent_class);
	expect(gyre_service_join(stack, adding) == 0);
	TELL(stack, frame->a, JOIN, adding);
	TELL(stack, frame->b, JOIN, adding);
	heap_end_after(0);
	expect(gyre_service_leave(stack, adding) == 0); /* its place in the list stays empty */
	expect(members_of(stack, adding) == 2 && !has_member(stack, gyre_self(stack)));
	expect(picked(stack, GYRE_PICK_ROUND_ROBIN, gyre_self(stack), 30) == 0);
	(void)heap_recover();
	expect(gyre_service_join(stack, adding) == 0 && members_of(stack, adding) == 3);
	TELL(stack, frame->a, LEAVE, adding);
	expect(members_of(stack, adding) == 2 && has_member(stack, gyre_self(stack)));
	expect(picked(stack, GYRE_PICK_ROUND_ROBIN, gyre_self(stack), 30) == 15);
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class leaver_class = { .name = "leaver",
						.frame_bytes = sizeof(struct frame),
						.mount = leave_one_of_three,
						.behaviour.notice = fail };

Test(service, is_left_without_memory_and_those_who_stay_are_found_and_picked)
{
	fixture_open(1);
	(void)spawn_outside(&leaver_class, 0);
	fixture_run();
	fixture_close();
}

static int list_without_memory(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &agent_class);
	TELL(stack, frame->a, WATCH, adding);
	AWAIT_TOTAL(stack, frame->a, 0);
	for (frame->number = 0; frame->number < MANY / 10; frame->number++) {
		TELL(stack, spawn_here(stack, &agent_class), JOIN, adding);
	}
	/* The listing is larger than all that the loop has in its pools. */
	heap_end_after(0);
	expect(gyre_service_leave(stack, adding) == -ENOENT);
	expect(gyre_service_join(stack, adding) == -ENOMEM ||
	       gyre_service_leave(stack, adding) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->future));
	(void)heap_recover();
	expect(gyre_service_join(stack, adding) == 0);
	AWAIT_TOTAL(stack, frame->a, MANY / 10 + 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class lister_class = { .name = "lister",
						.frame_bytes = sizeof(struct frame),
						.mount = list_without_memory,
						.behaviour.notice = fail };

Test(service, is_listed_as_soon_as_there_is_memory)
{
	fixture_open(1);
	(void)spawn_outside(&lister_class, 0);
	fixture_run();
	fixture_close();
}
