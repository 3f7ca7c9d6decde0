/*
 * Pools of threads that turn no loop. Threads come, send notices that loops of two systems return,
 * and that now and then they free themselves or hand to each other, and end with nodes under way,
 * while another thread trims all pools and systems come and go. Each notice carries what its sender
 * wrote, so a node that two have at once shows.
 */
#include <pthread.h>

#include <gyre/outside.h>

#include "loop/foreign_nodes.h"
#include "stress.h"

enum { ROUNDS = 12, LOOPS = 2, SENDERS = 6, LIVES = 8, NOTICES = 800, WORDS = 24, SYSTEMS = 2 };

struct small {
	uint64_t number;
};
GYRE_MESSAGE(small, 0x2301);

struct large {
	uint64_t number;
	uint64_t words[WORDS];
};
GYRE_MESSAGE(large, 0x2302);

struct place {
	struct gyre_system *system;
	struct gyre_address receiver;
	struct gyre_mail *handed; /* atomic: a mail that another thread frees */
};

static struct place places[SYSTEMS];
static uint32_t may_trim; /* atomic */

static int take(struct gyre_stack *stack)
{
	const struct small *small = gyre_message(stack, small);
	const struct large *large = gyre_message(stack, large);

	check(small != NULL || large != NULL);
	check(small == NULL || small->number % 3 == 1);
	for (uint32_t i = 0; large != NULL && i < WORDS; i++) {
		check(large->words[i] == large->number + i);
	}
	return gyre_return(stack);
}

static const struct gyre_class receiver_class = { .name = "receiver", .behaviour.notice = take };

static struct gyre_mail *make(const struct place *place, uint64_t number)
{
	struct gyre_mail *mail;
	struct large large = { .number = number };

	if (number % 4 != 0) {
		mail = gyre_system_new(place->system, small, number * 3 + 1);
	} else {
		for (uint32_t i = 0; i < WORDS; i++) {
			large.words[i] = number + i;
		}
		mail = gyre_system_new_copy(place->system, large, &large);
	}
	check(mail != NULL);
	return mail;
}

static void send_one(uint64_t *random)
{
	struct place *place = &places[stress_random(random, SYSTEMS)];
	struct gyre_mail *mail = make(place, gy_random_next(random) >> 40);

	switch (stress_random(random, 16)) {
	case 0:
		gyre_mail_destroy(NULL, mail);
		break;
	case 1:
		gyre_mail_destroy(NULL, gy_exchange(&place->handed, mail));
		break;
	default:
		check(gyre_system_notify(place->system, place->receiver, mail) == 0);
		break;
	}
}

/* A thread that sends for a while, and ends without a look back. */
static void *live(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	for (uint32_t i = stress_random(&random, NOTICES); i > 0; i--) {
		send_one(&random);
		if (stress_random(&random, 64) == 0) {
			stress_dawdle(&random, 3000);
		}
	}
	return NULL;
}

static void *live_often(void *arg)
{
	for (uint32_t i = 0; i < LIVES; i++) {
		uint64_t random = gy_random_next((uint64_t *)arg);
		pthread_t thread;

		check(pthread_create(&thread, NULL, live, &random) == 0);
		check(pthread_join(thread, NULL) == 0);
	}
	return NULL;
}

static void *trim(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	while (gy_load_acquire(&may_trim) != 0) {
		gy_foreign_nodes_trim(stress_random(&random, 2) == 0);
		stress_dawdle(&random, 20000);
	}
	return NULL;
}

static void open_place(struct place *place)
{
	const struct gyre_system_options options = {
		.loops = LOOPS,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.log = stress_log,
	};

	check(gyre_system_create(&options, &place->system) == 0);
	place->receiver = stress_spawn(place->system, &receiver_class, 1, GYRE_NO_ARGUMENT);
	check(gyre_system_start(place->system) == 0);
}

static void run_one(uint64_t *random)
{
	uint64_t seeds[SENDERS + 1];
	pthread_t senders[SENDERS];
	pthread_t trimmer;

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		open_place(&places[i]);
	}
	gy_store_release(&may_trim, 1);
	for (uint32_t i = 0; i <= SENDERS; i++) {
		seeds[i] = gy_random_next(random);
	}
	check(pthread_create(&trimmer, NULL, trim, &seeds[SENDERS]) == 0);
	for (uint32_t i = 0; i < SENDERS; i++) {
		check(pthread_create(&senders[i], NULL, live_often, &seeds[i]) == 0);
	}
	for (uint32_t i = 0; i < SENDERS; i++) {
		check(pthread_join(senders[i], NULL) == 0);
	}
	gy_store_release(&may_trim, 0);
	check(pthread_join(trimmer, NULL) == 0);
	for (uint32_t i = 0; i < SYSTEMS; i++) {
		gyre_mail_destroy(NULL, gy_exchange(&places[i].handed, NULL));
		gyre_system_stop(places[i].system);
		(void)stress_end(places[i].system);
	}
	/* All threads that sent are gone, and this one has sent nothing. */
	check(gy_foreign_nodes_use().home_bytes == 0);
	check(gy_foreign_nodes_use().pools <= SENDERS + 1 + SYSTEMS * LOOPS);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		run_one(&random);
	}
	return 0;
}
