/*
 * Loops come and go at random while all kinds of mail are on their way: between actors that come
 * and go on all loops, to thieves, through groups, from other threads and back; and once the system
 * stops in the middle of it. Everything that was sent must have been handled or lost for a reason,
 * and arrive as it was written.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/group.h>
#include <gyre/outside.h>
#include <gyre/resize.h>

#include "stress.h"

enum { LOOPS_MAX = 4, PLAYERS = 64, RESIZES = 60, ASKERS = 2, ROUNDS = 3 };

static struct gyre_address players[PLAYERS]; /* guarded by the mutex */
static pthread_mutex_t players_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gyre_address group;
static uint32_t ending;
static uint64_t answered;

static struct gyre_address any_player(uint64_t *random)
{
	struct gyre_address player;

	(void)pthread_mutex_lock(&players_mutex);
	player = players[stress_random(random, PLAYERS)];
	(void)pthread_mutex_unlock(&players_mutex);
	return player;
}

/* ---- players: each has a place, and is replaced when its loop has retired ---- */

struct player {
	uint64_t random;
};

struct player_frame {
	struct gyre_future future;
};

static int play(struct gyre_stack *stack)
{
	struct player *player = (struct player *)gyre_state(stack);
	struct player_frame *frame = (struct player_frame *)gyre_frame(stack);
	uint64_t left;

	GYRE_BEGIN(stack);
	left = load_check(gyre_message(stack, load));
	stress_dawdle(&player->random, 100);
	if (left > 0 && gy_load_relaxed(&ending) == 0) {
		struct gyre_address to = stress_random(&player->random, 8) == 0
						 ? group
						 : any_player(&player->random);

		(void)gyre_notify(stack, to, load_new(stack, left - 1));
	}
	if (stress_random(&player->random, 16) == 0) {
		GYRE_AWAIT(stack, gyre_ask(stack, any_player(&player->random), load_new(stack, 7),
					   GYRE_MILLISECONDS(200), &frame->future));
		check(gyre_future_failed(&frame->future) ||
		      load_check(gyre_future_get(&frame->future, load)) == 8);
	}
	GYRE_END(stack);
}

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static int get_ready(struct gyre_stack *stack)
{
	((struct player *)gyre_state(stack))->random = gyre_self(stack).cookie + 1;
	return gyre_return(stack);
}

static const struct gyre_class player_class = {
	.name = "player",
	.state_bytes = sizeof(struct player),
	.frame_bytes = sizeof(struct player_frame),
	.mount = get_ready,
	.behaviour = { .notice = play, .ask = answer },
};

static const struct gyre_class member_class = {
	.name = "member",
	.state_bytes = sizeof(struct player),
	.frame_bytes = sizeof(struct player_frame),
	.mount = get_ready,
	.behaviour = { .notice = play, .ask = answer },
};

static void place_players(struct gyre_system *system)
{
	for (uint32_t i = 0; i < PLAYERS; i++) {
		struct gyre_address player;
		int r = gyre_system_spawn(system, &player_class, GYRE_NO_ARGUMENT, NULL, &player);

		check(r == 0 || r == -ESHUTDOWN);
		if (r == 0) {
			(void)pthread_mutex_lock(&players_mutex);
			players[i] = player;
			(void)pthread_mutex_unlock(&players_mutex);
			(void)gyre_system_notify(system, player, load_new_outside(system, 400));
		}
	}
}

/* ---- other threads ---- */

static void *ask_from_outside(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	uint64_t random = (uint64_t)(uintptr_t)&random;

	while (gy_load_acquire(&ending) == 0) {
		struct gyre_mail *reply = NULL;
		struct gyre_address to = any_player(&random);
		int r = gyre_system_ask(system, to, load_new_outside(system, 1),
					GYRE_MILLISECONDS(200), &reply);

		if (r == 0) {
			check(load_check((const struct load *)gyre_mail_message(
				      reply, &gyre_type_load)) == 2);
			gyre_mail_destroy(NULL, reply);
			(void)gy_fetch_add(&answered, 1);
		}
		(void)gyre_system_notify(system, to, load_new_outside(system, 20));
		(void)gyre_system_notify(system, group, load_new_outside(system, 20));
	}
	return NULL;
}

struct resizer {
	struct gyre_system *system;
	uint64_t seed;
};

static void *resize_at_random(void *arg)
{
	struct resizer *resizer = (struct resizer *)arg;
	int r = 0;

	while (r == 0 && gy_load_acquire(&ending) == 0) {
		r = gyre_system_resize(resizer->system,
				       1 + stress_random(&resizer->seed, LOOPS_MAX));
		check(r == 0 || r == -ESHUTDOWN);
	}
	return NULL;
}

static struct gyre_system *make_system(void)
{
	const struct gyre_system_options options = {
		.loops = 2,
		.loops_max = LOOPS_MAX,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.steal_floor = 1,
		.steal_aggression = 1,
		.stall_ns = GYRE_STALL_NEVER, /* a report of the sanitizer must not come in a signal
						 handler */
		.log = stress_log,
	};
	struct gyre_system *system = NULL;

	check(gyre_system_create(&options, &system) == 0);
	return system;
}

/* Whether the resizer is still at work when the system stops. */
static void run(uint64_t seed, bool in_the_middle)
{
	struct gyre_system *system = make_system();
	struct resizer resizer = { system, seed };
	struct gyre_counters counters;
	pthread_t askers[ASKERS];
	pthread_t other;

	gy_store_release(&ending, 0);
	check(gyre_system_group_spawn(system, &member_class, GYRE_NO_ARGUMENT, NULL, &group) == 0);
	place_players(system);
	check(gyre_system_start(system) == 0);
	for (uint32_t i = 0; i < ASKERS; i++) {
		check(pthread_create(&askers[i], NULL, ask_from_outside, system) == 0);
	}
	check(pthread_create(&other, NULL, resize_at_random, &resizer) == 0);
	for (uint32_t i = 0; i < RESIZES; i++) {
		check(gyre_system_resize(system, 1 + stress_random(&seed, LOOPS_MAX)) == 0);
		place_players(system);
	}
	if (in_the_middle) {
		gyre_system_stop(system);
	}
	gy_store_release(&ending, 1);
	check(pthread_join(other, NULL) == 0);
	for (uint32_t i = 0; i < ASKERS; i++) {
		check(pthread_join(askers[i], NULL) == 0);
	}
	gyre_system_stop(system);
	counters = stress_end(system);
	(void)printf("%llu sent, %llu handled, %llu stolen, %llu answered\n",
		     (unsigned long long)counters.sent, (unsigned long long)counters.handled,
		     (unsigned long long)counters.stolen, (unsigned long long)answered);
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		run(seed + i, i > 0);
	}
	check(answered > 0);
	return 0;
}
