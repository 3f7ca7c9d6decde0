/*
 * Publishers on all loops and threads from outside publish to topics that subscribers on all loops
 * come to and leave all the while, some by their end. Each publisher numbers what it publishes to a
 * topic: what a subscriber hears of it must count up, what it has missed must have been told, and
 * in the end nothing may be left. Actors that only publish may be stolen.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/event.h>

#include "stress.h"

enum { LOOPS = 3, PUBLISHERS = 6, SUBSCRIBERS = 12, TOPICS = 3, THREADS = 2, ROUNDS = 3000 };
enum { SOURCES = PUBLISHERS + THREADS, BURST = 8, WAITING_MAX = 16, LETTERS = 99 };

struct item {
	uint32_t source;
	uint32_t topic;
	uint64_t number;
};
GYRE_MESSAGE(item, 0x1200);

static uint64_t heard_count;
static uint64_t missed_count;
static uint64_t sent_count;
static uint64_t letters_count;
static uint32_t publishing = SOURCES;

/* ---- subscribers ---- */

struct subscriber {
	uint64_t random;
	uint64_t last[SOURCES][TOPICS];
	bool subscribed[TOPICS];
	uint32_t life;
};

static struct gyre_event_key key_of(const uint32_t *topic)
{
	struct gyre_event_key key = { topic, sizeof(*topic) };

	return key;
}

static void change(struct gyre_stack *stack, struct subscriber *subscriber, uint32_t topic)
{
	const struct gyre_subscribe_options options = { .waiting_max = WAITING_MAX, .tag = topic };
	int r;

	if (subscriber->subscribed[topic]) {
		r = gyre_unsubscribe(stack, &gyre_type_item, key_of(&topic));
	} else {
		r = gyre_subscribe(stack, &gyre_type_item, key_of(&topic), &options);
	}
	check(r == 0);
	subscriber->subscribed[topic] = !subscriber->subscribed[topic];
}

static int begin(struct gyre_stack *stack)
{
	struct subscriber *subscriber = (struct subscriber *)gyre_state(stack);

	subscriber->random = gyre_self(stack).slot + 1 + gyre_self(stack).cookie;
	for (uint32_t topic = 0; topic < TOPICS; topic++) {
		change(stack, subscriber, topic);
	}
	check(gyre_subscribe(stack, &gyre_type_gyre_dead_letter, gyre_event_key_of(NULL),
			     &(struct gyre_subscribe_options){ .tag = LETTERS }) == 0);
	return gyre_return(stack);
}

static const struct gyre_class *subscriber_class(void);

/* Another one takes its place. */
static int end(struct gyre_stack *stack)
{
	struct gyre_address next;
	const struct gyre_spawn_options options = { .detached = true,
						    .place = GYRE_PLACE_LOOP,
						    .loop = (gyre_self(stack).loop + 1U) % LOOPS };
	int r = gyre_spawn(stack, subscriber_class(), GYRE_NO_ARGUMENT, &options, &next);

	check(r == 0 || r == -ESHUTDOWN);
	return gyre_stop(stack, gyre_self(stack));
}

static void hear_item(struct subscriber *subscriber, const struct item *item)
{
	check(item->source < SOURCES && item->topic < TOPICS);
	check(subscriber->subscribed[item->topic]);
	check(item->number > subscriber->last[item->source][item->topic]);
	subscriber->last[item->source][item->topic] = item->number;
	(void)gy_fetch_add(&heard_count, 1);
}

static int hear(struct gyre_stack *stack)
{
	struct subscriber *subscriber = (struct subscriber *)gyre_state(stack);
	const struct item *item = gyre_message(stack, item);
	const struct gyre_events_missed *missed = gyre_message(stack, gyre_events_missed);

	if (item != NULL) {
		hear_item(subscriber, item);
	} else if (missed != NULL) {
		check(missed->count > 0);
		check(missed->type_id == gyre_type_item.id || missed->tag == LETTERS);
		(void)gy_fetch_add(&missed_count, missed->count);
	} else {
		check(gyre_message(stack, gyre_dead_letter) != NULL);
		(void)gy_fetch_add(&letters_count, 1);
	}
	stress_dawdle(&subscriber->random, 50);
	if (stress_random(&subscriber->random, 40) == 0) {
		change(stack, subscriber, (uint32_t)stress_random(&subscriber->random, TOPICS));
	}
	if (stress_random(&subscriber->random, 400) == 0) {
		return end(stack);
	}
	return gyre_return(stack);
}

static const struct gyre_class subscriber_table = { .name = "subscriber",
						    .state_bytes = sizeof(struct subscriber),
						    .mount = begin,
						    .behaviour.event = hear };

static const struct gyre_class *subscriber_class(void)
{
	return &subscriber_table;
}

/* ---- publishers ---- */

static void stopped_publishing(struct gyre_system *system)
{
	if (gy_fetch_add(&publishing, UINT32_MAX) == 1) {
		gyre_system_stop(system);
	}
}

static void count_sent(int r)
{
	check(r >= 0 && r <= 4 * SUBSCRIBERS);
	(void)gy_fetch_add(&sent_count, (uint64_t)r);
}

struct publisher {
	uint64_t number;
	uint32_t source;
};

static int publish(struct gyre_stack *stack)
{
	struct publisher *publisher = (struct publisher *)gyre_state(stack);
	uint64_t left = load_check(gyre_message(stack, load));
	struct gyre_address nobody = gyre_self(stack);

	publisher->source = (uint32_t)(left >> 32);
	left &= UINT32_MAX;
	for (uint32_t i = 0; i < BURST; i++) {
		uint32_t topic = (uint32_t)(++publisher->number % TOPICS);

		count_sent(gyre_publish(
			stack, gyre_new(stack, item, publisher->source, topic, publisher->number),
			key_of(&topic)));
	}
	nobody.cookie++;
	check(left % 64 != 0 || gyre_notify(stack, nobody, load_new(stack, 0)) == -ESRCH);
	if (left == 0) {
		stopped_publishing(gyre_system_of(stack));
		return gyre_return(stack);
	}
	return gyre_notify(stack, gyre_self(stack),
			   load_new(stack, (uint64_t)publisher->source << 32 | (left - 1)));
}

static const struct gyre_class publisher_class = { .name = "publisher",
						   .state_bytes = sizeof(struct publisher),
						   .behaviour.notice = publish };

struct outsider {
	struct gyre_system *system;
	uint32_t source;
};

static void *publish_outside(void *arg)
{
	const struct outsider *outsider = (const struct outsider *)arg;

	for (uint64_t number = 1; number <= (uint64_t)ROUNDS * BURST; number++) {
		uint32_t topic = (uint32_t)(number % TOPICS);

		count_sent(gyre_system_publish(
			outsider->system,
			gyre_system_new(outsider->system, item, outsider->source, topic, number),
			key_of(&topic)));
	}
	stopped_publishing(outsider->system);
	return NULL;
}

int main(int argc, char **argv)
{
	struct outsider outsiders[THREADS];
	pthread_t threads[THREADS];
	struct gyre_system *system;

	(void)stress_begin(argc, argv);
	system = stress_create(LOOPS);
	for (uint32_t i = 0; i < SUBSCRIBERS; i++) {
		(void)stress_spawn(system, &subscriber_table, i % LOOPS, GYRE_NO_ARGUMENT);
	}
	check(gyre_system_start(system) == 0);
	for (uint32_t i = 0; i < PUBLISHERS; i++) {
		struct gyre_address publisher =
			stress_spawn(system, &publisher_class, i % LOOPS, GYRE_NO_ARGUMENT);

		check(gyre_system_notify(
			      system, publisher,
			      load_new_outside(system, (uint64_t)i << 32 | (ROUNDS - 1))) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		outsiders[i] = (struct outsider){ system, PUBLISHERS + i };
		check(pthread_create(&threads[i], NULL, publish_outside, &outsiders[i]) == 0);
	}
	check(gyre_system_wait(system) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	(void)printf("sent %llu, heard %llu, missed %llu; %llu dead letters\n",
		     (unsigned long long)sent_count, (unsigned long long)heard_count,
		     (unsigned long long)missed_count, (unsigned long long)letters_count);
	check(heard_count > 0 && heard_count <= sent_count);
	(void)stress_end(system);
	return 0;
}
