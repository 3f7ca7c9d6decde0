/*
 * Actors on all loops and threads from outside contend for one name. In each round all actors
 * register it at the same time: exactly one may win. The winner gives it back, by unregistering it
 * or by its end, and the next round begins. Meanwhile rivals and threads spawn actors that are to
 * have another name from their beginning, and stop at once. Threads look names up all the while;
 * what they find must be whole, and of an actor that may have it.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/name.h>
#include <gyre/watch.h>

#include "stress.h"

enum { LOOPS = 3, RIVALS = 12, ROUNDS = 400, LOOKERS = 3 };

struct rival {
	uint64_t random;
	uint32_t index;
};

static struct gyre_address rivals[RIVALS];
static struct gyre_address referee;
static uint32_t may_look = 1;
static uint64_t found_count;

static int end_at_once(struct gyre_stack *stack)
{
	struct gyre_address found;
	int r = gyre_name_lookup(stack, "the child", &found);

	check(r == 0 && gyre_address_equal(found, gyre_self(stack)));
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class child_class = { .name = "child", .mount = end_at_once };

static uint64_t child_count;

static void count_child(int r, struct gyre_address address)
{
	check(r == 0 || r == -EEXIST || r == -ESHUTDOWN);
	check(r == -ESHUTDOWN || (address.loop < LOOPS && address.cookie != 0));
	(void)gy_fetch_add(&child_count, r == 0);
}

static void spawn_child(struct gyre_stack *stack, uint32_t loop)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = loop,
						    .name = "the child" };
	struct gyre_address child;
	int r = gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &options, &child);

	count_child(r, child);
}

/* What is told to the referee: a rival has won, or not. */
static int contend(struct gyre_stack *stack)
{
	struct rival *rival = (struct rival *)gyre_state(stack);
	struct gyre_address found = { 0 };
	int r;

	load_check(gyre_message(stack, load));
	rival->random += gyre_self(stack).slot;
	stress_dawdle(&rival->random, 200);
	spawn_child(stack, (uint32_t)stress_random(&rival->random, LOOPS));
	r = gyre_name_register(stack, "the name");
	check(r == 0 || r == -EEXIST);
	if (r == 0) {
		check(gyre_name_lookup(stack, "the name", &found) == 0);
		check(gyre_address_equal(found, gyre_self(stack)));
	}
	return gyre_notify(stack, referee, load_new(stack, r == 0 ? 1 : 0));
}

/* The round is over: whoever has the name gives it back, half of the times by ending. */
static int give_back(struct gyre_stack *stack)
{
	struct rival *rival = (struct rival *)gyre_state(stack);
	int r = 0;

	if (stress_random(&rival->random, 2) == 0) {
		r = gyre_name_unregister(stack, "the name");
		check(r == 0 || r == -ENOENT);
	}
	return gyre_reply(stack, load_new(stack, 0));
}

static const struct gyre_class rival_class = {
	.name = "rival",
	.state_bytes = sizeof(struct rival),
	.behaviour = { .notice = contend, .ask = give_back },
};

/* ---- the referee ---- */

struct referee {
	uint32_t rounds;
	uint32_t told;
	uint32_t winners;
};

struct referee_frame {
	struct gyre_future future;
	struct gyre_address found;
};

static int start_round(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < RIVALS; i++) {
		check(gyre_notify(stack, rivals[i], load_new(stack, i)) == 0);
	}
	return gyre_return(stack);
}

/* A rival that keeps the name when it is asked to give it back is stopped, and replaced. */
static int replace_winner(struct gyre_stack *stack, struct gyre_address winner)
{
	for (uint32_t i = 0; i < RIVALS; i++) {
		if (gyre_address_equal(rivals[i], winner)) {
			const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
								    .loop = i % LOOPS };

			check(gyre_watch(stack, winner) == 0);
			check(gyre_stop(stack, winner) == 0);
			check(gyre_spawn(stack, &rival_class, GYRE_NO_ARGUMENT, &options,
					 &rivals[i]) == 0);
			return gyre_return(stack);
		}
	}
	check(false);
	return gyre_return(stack);
}

static int next_round(struct gyre_stack *stack)
{
	struct referee *state = (struct referee *)gyre_state(stack);

	if (++state->rounds == ROUNDS) {
		gyre_system_stop(gyre_system_of(stack));
		return gyre_return(stack);
	}
	return start_round(stack);
}

/* Whoever hears of the end can have the name at once. */
static int winner_is_gone(struct gyre_stack *stack)
{
	struct gyre_address found;

	check(gyre_message(stack, gyre_terminated) != NULL);
	check(gyre_name_lookup(stack, "the name", &found) == -ENOENT);
	check(gyre_name_register(stack, "the name") == 0);
	check(gyre_name_unregister(stack, "the name") == 0);
	return next_round(stack);
}

static int judge(struct gyre_stack *stack)
{
	struct referee *state = (struct referee *)gyre_state(stack);
	struct referee_frame *frame = (struct referee_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	state->winners += (uint32_t)load_check(gyre_message(stack, load));
	if (++state->told < RIVALS) {
		return gyre_return(stack);
	}
	check(state->winners == 1);
	state->told = 0;
	state->winners = 0;
	check(gyre_name_lookup(stack, "the name", &frame->found) == 0);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->found, load_new(stack, 0), GYRE_FOREVER, &frame->future));
	check(!gyre_future_failed(&frame->future));
	if (gyre_name_lookup(stack, "the name", &frame->found) == 0) {
		return replace_winner(stack, frame->found);
	}
	return next_round(stack);
	GYRE_END(stack);
}

static const struct gyre_class referee_class = {
	.name = "referee",
	.state_bytes = sizeof(struct referee),
	.frame_bytes = sizeof(struct referee_frame),
	.mount = start_round,
	.behaviour = { .notice = judge, .event = winner_is_gone },
};

/* ---- those who look ---- */

static void *look(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	const struct gyre_spawn_options options = { .name = "the child" };
	struct gyre_address found;
	int r;

	while (gy_load_acquire(&may_look) != 0) {
		r = gyre_system_spawn(system, &child_class, GYRE_NO_ARGUMENT, &options, &found);
		count_child(r, found);
		if (gyre_system_name_lookup(system, "the name", &found) == 0) {
			check(found.loop < LOOPS && found.cookie != 0 && found.node == 0);
			(void)gy_fetch_add(&found_count, 1);
		}
		check(gyre_system_name_lookup(system, "another", &found) == -ENOENT);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct gyre_system *system;
	pthread_t lookers[LOOKERS];

	(void)stress_begin(argc, argv);
	system = stress_create(LOOPS);
	for (uint32_t i = 0; i < RIVALS; i++) {
		rivals[i] = stress_spawn(system, &rival_class, i % LOOPS, GYRE_NO_ARGUMENT);
	}
	referee = stress_spawn(system, &referee_class, 0, GYRE_NO_ARGUMENT);
	for (uint32_t i = 0; i < LOOKERS; i++) {
		check(pthread_create(&lookers[i], NULL, look, system) == 0);
	}
	check(gyre_system_start(system) == 0);
	check(gyre_system_wait(system) == 0);
	gy_store_release(&may_look, 0);
	for (uint32_t i = 0; i < LOOKERS; i++) {
		check(pthread_join(lookers[i], NULL) == 0);
	}
	(void)printf("found %llu times, %llu children\n", (unsigned long long)found_count,
		     (unsigned long long)child_count);
	(void)stress_end(system);
	return 0;
}
