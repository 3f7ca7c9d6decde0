/*
 * Parking, on loops that never poll. First a loop gets one post at a time, each about when it has
 * done with the one before and goes to sleep, and nothing else would wake it. Then a token goes to
 * and fro between two loops, so that each hop parks both, while foreign threads post at random
 * moments. A wake-up that is lost hangs the program; a count that is wrong ends it.
 */
#include <pthread.h>

#include "stress.h"

enum { SINGLES = 40000, HOPS = 10000, THREADS = 2, POSTS = 4000 };
enum { SINGLE = 1 << 29, TOKEN = 1 << 30 };

struct peer {
	struct gyre_address other;
};
GYRE_MESSAGE(peer, 0x2002);

struct player {
	struct gyre_address other;
	uint64_t posts[THREADS];
};

struct poster {
	pthread_t thread;
	uint64_t random;
	uint64_t number;
};

static struct gyre_system *parking;
static struct gyre_address players[2];
static uint32_t unfinished = 1 + 2 * THREADS;
static uint32_t singles;

static void finish_one(void)
{
	if (gy_fetch_add(&unfinished, -1U) == 1) {
		gyre_system_stop(parking);
	}
}

/* Posts count up from each thread; the token counts its hops. */
static int play(struct gyre_stack *stack)
{
	struct player *player = (struct player *)gyre_state(stack);
	const struct peer *peer = gyre_message(stack, peer);
	uint64_t value;

	if (peer != NULL) {
		player->other = peer->other;
		return gyre_return(stack);
	}
	value = load_check(gyre_message(stack, load));
	if (value == SINGLE) {
		(void)gy_fetch_add(&singles, 1);
		return gyre_return(stack);
	}
	if (value >= TOKEN) {
		if (value == TOKEN + HOPS) {
			finish_one();
			return gyre_return(stack);
		}
		return gyre_notify(stack, player->other, load_new(stack, value + 1));
	}
	check((value & UINT16_MAX) == player->posts[value >> 16]);
	if (++player->posts[value >> 16] == POSTS) {
		finish_one();
	}
	return gyre_return(stack);
}

static const struct gyre_class player_class = {
	.name = "player",
	.state_bytes = sizeof(struct player),
	.behaviour.notice = play,
};

/* The mail is made beforehand, so that its post can come as close to the handling as may be. */
static void post_singles(uint64_t random)
{
	for (uint32_t i = 0; i < SINGLES; i++) {
		struct gyre_mail *mail = load_new_outside(parking, SINGLE);

		while (gy_load_acquire(&singles) < i) {
			gy_pause();
		}
		for (uint32_t k = stress_random(&random, 1U << stress_random(&random, 12)); k > 0;
		     k--) {
			__asm__ volatile("");
		}
		check(gyre_system_notify(parking, players[0], mail) == 0);
	}
}

static void *post(void *arg)
{
	struct poster *poster = (struct poster *)arg;

	for (uint64_t i = 0; i < POSTS; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			check(gyre_system_notify(
				      parking, players[k],
				      load_new_outside(parking, poster->number << 16 | i)) == 0);
		}
		stress_dawdle(&poster->random, 20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	struct poster posters[THREADS];

	parking = stress_create(2);
	players[0] = stress_spawn(parking, &player_class, 0, GYRE_NO_ARGUMENT);
	players[1] = stress_spawn(parking, &player_class, 1, GYRE_NO_ARGUMENT);
	for (uint32_t i = 0; i < 2; i++) {
		check(gyre_system_notify(parking, players[i],
					 gyre_system_new(parking, peer, players[1 - i])) == 0);
	}
	check(gyre_system_start(parking) == 0);
	post_singles(seed);
	check(gyre_system_notify(parking, players[0], load_new_outside(parking, TOKEN)) == 0);
	for (uint64_t i = 0; i < THREADS; i++) {
		posters[i].random = seed + i;
		posters[i].number = i;
		check(pthread_create(&posters[i].thread, NULL, post, &posters[i]) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(posters[i].thread, NULL) == 0);
	}
	{
		struct gyre_counters counters = stress_end(parking);

		check(counters.handled == 2 + SINGLES + 1 + HOPS + 2 * THREADS * POSTS);
		check(counters.parks > 0);
	}
	return 0;
}
