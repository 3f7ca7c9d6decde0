/*
 * Members join, leave, end and are replaced while actors on all loops and threads from outside
 * route through their groups, one group for each kind of routing, and ask all members; and groups
 * are spawned, used and stopped in between. Everything that was sent must have been handled or lost
 * for a reason, and arrive as it was written.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/group.h>
#include <gyre/outside.h>

#include "stress.h"

enum {
	LOOPS = 3,
	GROUPS = GYRE_ROUTING_LESS_LOADED + 1,
	MEMBERS = 9,
	ASKED_MAX = 2 * MEMBERS,
	STEPS = 1500,
	EACH_STEP = 8,
	THREADS = 2,
	OUTSIDE_STEPS = 4000,
	ASKED_OUTSIDE = 77,
};

static struct gyre_address groups[GROUPS];
static uint32_t unfinished = LOOPS;
static uint64_t changes;
static uint64_t gathered; /* answers; atomic */
static uint64_t awaited;  /* from outside, and not told of; atomic, and below 0 for a moment */

static uint64_t key_of(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(load) ? ((const struct load *)message)->value : 0;
}

/* ---- members ---- */

struct member {
	uint64_t random;
};

static const struct gyre_class member_class;

static int change(struct gyre_stack *stack, struct member *member)
{
	struct gyre_address group = groups[stress_random(&member->random, GROUPS)];
	int r;

	(void)gy_fetch_add(&changes, 1);
	r = gyre_group_leave(stack, group);
	check(r == 0 || r == -ENOENT);
	return r == 0 ? 0 : gyre_group_join(stack, group);
}

/* Joins some groups, where it hears of those that have been left. */
static int join_some(struct gyre_stack *stack)
{
	struct member *member = (struct member *)gyre_state(stack);

	member->random = (uint64_t)gyre_self(stack).cookie << 32 | gyre_self(stack).slot;
	for (uint32_t i = 0; i < GROUPS; i++) {
		check(stress_random(&member->random, 4) == 0 ||
		      gyre_group_join(stack, groups[i]) == 0);
	}
	return gyre_return(stack);
}

static int replace_me(struct gyre_stack *stack, struct member *member)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = stress_random(&member->random, LOOPS),
						    .detached = true };
	struct gyre_address address;
	int r = gyre_spawn(stack, &member_class, GYRE_NO_ARGUMENT, &options, &address);

	check(r == 0 || r == -ESHUTDOWN);
	return gyre_stop(stack, gyre_self(stack));
}

static int take(struct gyre_stack *stack)
{
	struct member *member = (struct member *)gyre_state(stack);
	uint32_t chance = stress_random(&member->random, 256);

	(void)load_check(gyre_message(stack, load));
	if (chance == 0) {
		return replace_me(stack, member);
	}
	return chance < 16 ? change(stack, member) : gyre_return(stack);
}

static int reply(struct gyre_stack *stack)
{
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static const struct gyre_class member_class = {
	.name = "member",
	.state_bytes = sizeof(struct member),
	.mount = join_some,
	.behaviour = { .notice = take, .ask = reply },
};

/* ---- those who are spawned as a group ---- */

static int take_once(struct gyre_stack *stack)
{
	(void)load_check(gyre_message(stack, load));
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class mayfly_class = {
	.name = "mayfly",
	.behaviour = { .notice = take_once, .ask = reply },
};

static void use_group(struct gyre_stack *stack, uint64_t *random)
{
	const struct gyre_group_options options = {
		.count = stress_random(random, 5),
		.routing = (enum gyre_routing)stress_random(random, GROUPS),
		.key = key_of,
	};
	struct gyre_address group;

	check(gyre_group_spawn(stack, &mayfly_class, load_new(stack, 1), &options, &group) == 0);
	for (uint32_t i = stress_random(random, 8); i > 0; i--) {
		(void)gyre_notify(stack, group, load_new(stack, i));
	}
	if (stress_random(random, 2) == 0) {
		(void)gyre_stop(stack, group);
	} else {
		(void)gyre_poison(stack, group);
	}
}

/* ---- senders ---- */

struct sender {
	uint64_t random; /* first, for stress_start() */
	uint32_t steps;
};

struct sender_frame {
	struct gyre_future future;
	struct gyre_asked asked[ASKED_MAX];
	uint32_t count;
	uint32_t quorum;
};

static void ask_members(struct gyre_stack *stack, struct sender *sender)
{
	struct sender_frame *frame = (struct sender_frame *)gyre_frame(stack);
	int r = gyre_ask_all(stack, groups[stress_random(&sender->random, GROUPS)],
			     load_new(stack, sender->steps), GYRE_FOREVER, ASKED_MAX, frame->asked);

	check(r >= 0 || r == -ENOBUFS);
	frame->count = r < 0 ? 0 : (uint32_t)r;
	frame->quorum = stress_random(&sender->random, MEMBERS);
}

/* Enough have answered, or too many have failed; and each answer is its own. */
static void check_members(struct gyre_stack *stack, const struct sender *sender)
{
	const struct sender_frame *frame = (const struct sender_frame *)gyre_frame(stack);
	uint32_t answered = gyre_asked_answered(frame->asked, frame->count);
	uint32_t failed = 0;

	for (uint32_t i = 0; i < frame->count; i++) {
		const struct gyre_future *future = &frame->asked[i].future;
		int error = gyre_future_error(future);

		failed += error < 0 && error != -EINPROGRESS;
		check(error != 0 || load_check(gyre_future_get(future, load)) == sender->steps + 1);
	}
	check(answered >= frame->quorum || frame->count - failed < frame->quorum);
	(void)gy_fetch_add(&gathered, answered);
	check(gyre_asked_cancel(stack, frame->asked, frame->count) ==
	      (int)(frame->count - answered - failed));
}

static int step(struct gyre_stack *stack)
{
	struct sender *sender = (struct sender *)gyre_state(stack);
	struct sender_frame *frame = (struct sender_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < EACH_STEP; i++) {
		uint32_t group = stress_random(&sender->random, GROUPS);
		int r = gyre_notify(stack, groups[group], load_new(stack, sender->steps + i));

		check(r == 0 || r == -ESRCH);
	}
	if (sender->steps % 16 == 0) {
		use_group(stack, &sender->random);
	}
	if (sender->steps % 4 == 0) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, groups[stress_random(&sender->random, GROUPS)],
				    load_new(stack, sender->steps), GYRE_FOREVER, &frame->future));
		check(gyre_future_failed(&frame->future) ||
		      load_check(gyre_future_get(&frame->future, load)) == sender->steps + 1);
	}
	if (sender->steps % 4 == 2) {
		ask_members(stack, sender);
		GYRE_AWAIT_QUORUM(stack, frame->asked, frame->count, frame->quorum);
		check_members(stack, sender);
	}
	if (++sender->steps < STEPS) {
		return gyre_notify(stack, gyre_self(stack), load_new(stack, 0));
	}
	stress_finish(stack, &unfinished);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class sender_class = {
	.name = "sender",
	.state_bytes = sizeof(struct sender),
	.frame_bytes = sizeof(struct sender_frame),
	.mount = stress_start,
	.behaviour.notice = step,
};

/* ---- outside ---- */

/* The load is that of an answer, or there is an error; whoever was asked is told of once. */
static void hear(struct gyre_mail *answer, int error, void *arg)
{
	const struct load *load = gyre_mail_get(answer, load);

	check(arg == &awaited && (load == NULL) == (error < 0));
	check(load == NULL || load_check(load) == ASKED_OUTSIDE + 1);
	(void)gy_fetch_add(&awaited, UINT64_MAX);
}

static void ask_from_outside(struct gyre_system *system, struct gyre_address to)
{
	int r = gyre_system_ask_all(system, to, load_new_outside(system, ASKED_OUTSIDE), 0, hear,
				    &awaited);

	check(r >= 0);
	(void)gy_fetch_add(&awaited, (uint64_t)r);
}

static void *send_from_outside(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	uint64_t random = (uint64_t)(uintptr_t)&random;

	for (uint32_t i = 0; i < OUTSIDE_STEPS; i++) {
		struct gyre_address to = groups[stress_random(&random, GROUPS)];
		int r = gyre_system_notify(system, to, load_new_outside(system, i));

		check(r == 0 || r == -ESRCH || r == -ESHUTDOWN);
		if (i % 64 == 0) {
			ask_from_outside(system, to);
		}
		stress_dawdle(&random, 200);
	}
	return NULL;
}

static void make_groups(struct gyre_system *system)
{
	for (uint32_t i = 0; i < GROUPS; i++) {
		const struct gyre_group_options options = { .routing = (enum gyre_routing)i,
							    .key = key_of };

		check(gyre_system_group_create(system, &options, &groups[i]) == 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);
	pthread_t threads[THREADS];
	struct gyre_counters counters;

	make_groups(system);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		(void)stress_spawn(system, &member_class, i % LOOPS, GYRE_NO_ARGUMENT);
	}
	for (uint32_t i = 0; i < LOOPS; i++) {
		(void)stress_spawn(system, &sender_class, i, load_new_outside(system, seed + i));
	}
	check(gyre_system_start(system) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_create(&threads[i], NULL, send_from_outside, system) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	counters = stress_end(system);
	check(changes > 0 && gathered > 0 && awaited == 0);
	(void)printf("%llu sent, %llu handled, %llu changes, %llu answers gathered\n",
		     (unsigned long long)counters.sent, (unsigned long long)counters.handled,
		     (unsigned long long)changes, (unsigned long long)gathered);
	return 0;
}
