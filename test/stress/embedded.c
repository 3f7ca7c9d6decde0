/*
 * A system that this thread turns, and waits for by poll() without a time-out. A token goes to and
 * fro between its first loop and another one, and threads outside post, and ask and wait, each
 * about when the first loop goes to rest. A wake-up that is lost hangs the program.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include <gyre/embed.h>
#include <gyre/outside.h>

#include "stress.h"

enum { SYSTEMS = 4, HOPS = 2000, THREADS = 2, POSTS = 1500, ASK_EVERY = 5 };
enum { TOKEN = 1 << 30 };

struct peer {
	struct gyre_address other;
};
GYRE_MESSAGE(peer, 0x2002);

struct player {
	struct gyre_address other;
	uint64_t posts;
};

struct poster {
	pthread_t thread;
	uint64_t random;
};

static struct gyre_system *embedded;
static struct gyre_address players[2];
static uint32_t unfinished;

static void finish_one(void)
{
	if (gy_fetch_add(&unfinished, -1U) == 1) {
		gyre_system_stop(embedded);
	}
}

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
	if (value == TOKEN + HOPS) {
		finish_one();
	} else if (value >= TOKEN) {
		return gyre_notify(stack, player->other, load_new(stack, value + 1));
	} else {
		player->posts++;
	}
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static const struct gyre_class player_class = { .name = "player",
						.state_bytes = sizeof(struct player),
						.behaviour = { .notice = play, .ask = answer } };

/* One post in a few is an ask whose answer is waited for, so that the loop is often at rest. */
static void *post(void *arg)
{
	struct poster *poster = (struct poster *)arg;

	for (uint64_t i = 0; i < POSTS; i++) {
		struct gyre_address to = players[stress_random(&poster->random, 4) == 0];
		struct gyre_mail *mail = load_new_outside(embedded, i);

		stress_dawdle(&poster->random, 2000);
		if (i % ASK_EVERY == 0) {
			struct gyre_mail *reply;

			check(gyre_system_ask(embedded, to, mail, GYRE_FOREVER, &reply) == 0);
			check(load_check(gyre_mail_get(reply, load)) == i + 1);
			gyre_mail_destroy(NULL, reply);
		} else {
			check(gyre_system_notify(embedded, to, mail) == 0);
		}
	}
	finish_one();
	return NULL;
}

static void turn_to_the_end(void)
{
	struct pollfd fd = { .fd = gyre_system_descriptor(embedded), .events = POLLIN };
	int r = 0;

	while (r >= 0) {
		check(poll(&fd, 1, -1) == 1);
		r = gyre_system_turn(embedded, 0);
	}
	check(r == -ESHUTDOWN);
}

static void introduce(uint32_t from, uint32_t to)
{
	struct gyre_mail *mail = gyre_system_new(embedded, peer, players[to]);

	check(gyre_system_notify(embedded, players[from], mail) == 0);
}

static void play_once(uint64_t *random)
{
	const struct gyre_system_options options = {
		.loops = 2, .embedded = true, .buffer_count = 16, .log = stress_log
	};
	struct poster posters[THREADS];

	unfinished = THREADS + 1;
	check(gyre_system_create(&options, &embedded) == 0);
	for (uint32_t i = 0; i < 2; i++) {
		players[i] = stress_spawn(embedded, &player_class, i, GYRE_NO_ARGUMENT);
	}
	introduce(0, 1);
	introduce(1, 0);
	check(gyre_system_notify(embedded, players[0], load_new_outside(embedded, TOKEN)) == 0);
	check(gyre_system_start(embedded) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		posters[i].random = gy_random_next(random);
		check(pthread_create(&posters[i].thread, NULL, post, &posters[i]) == 0);
	}
	turn_to_the_end();
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(posters[i].thread, NULL) == 0);
	}
	(void)stress_end(embedded);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		play_once(&random);
	}
	return 0;
}
