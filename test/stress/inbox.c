/*
 * The inbox alone: four producers push chains of random length, the consumer checks order and
 * payload and sends each node home through another inbox, where it is written anew. So both
 * directions need their order of memory. One push in sixteen is done by hand with a pause between
 * its two steps.
 */
#include <pthread.h>
#include <sched.h>

#include "base/inbox.h"
#include "stress.h"

enum { PRODUCERS = 4, NODES = 256, MESSAGES = 200000, WORDS = 6 };

struct item {
	struct gy_node node;
	uint32_t producer;
	uint64_t number;
	uint64_t words[WORDS];
} GY_ALIGNED_LINE;

struct producer {
	struct gy_inbox home;
	struct item items[NODES];
	uint64_t random;
	uint32_t number;
	uint64_t expected; /* the consumer's */
} GY_ALIGNED_LINE;

static struct gy_inbox inbox;
static struct producer producers[PRODUCERS];

static void push(struct producer *producer, const struct gy_chain *chain)
{
	struct gy_node *before;

	if (stress_random(&producer->random, 16) != 0) {
		gy_inbox_push(&inbox, chain->first, chain->last);
		return;
	}
	before = gy_exchange_full(&inbox.tail, chain->last);
	(void)sched_yield();
	gy_store_release(&before->next, chain->first);
}

static void fill(struct producer *producer, struct item *item, uint64_t number)
{
	item->producer = producer->number;
	item->number = number;
	for (uint64_t i = 0; i < WORDS; i++) {
		item->words[i] = number * (i + 7);
	}
}

static void *produce(void *arg)
{
	struct producer *producer = (struct producer *)arg;
	uint64_t number = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		gy_inbox_push(&producer->home, &producer->items[i].node, &producer->items[i].node);
	}
	while (number < MESSAGES) {
		uint32_t wanted = 1 + stress_random(&producer->random, 64);
		struct gy_chain chain = { 0 };
		struct gy_node *node;

		while (chain.count < wanted && number < MESSAGES &&
		       (node = gy_inbox_take(&producer->home)) != NULL) {
			fill(producer, gy_container_of(node, struct item, node), number++);
			gy_chain_append(&chain, node);
		}
		if (chain.count > 0) {
			push(producer, &chain);
		} else {
			(void)sched_yield();
		}
		stress_dawdle(&producer->random, 100);
	}
	return NULL;
}

static void consume(struct item *item)
{
	struct producer *producer = &producers[item->producer];

	check(item->producer < PRODUCERS);
	check(item->number == producer->expected);
	for (uint64_t i = 0; i < WORDS; i++) {
		check(item->words[i] == item->number * (i + 7));
		item->words[i] = 0;
	}
	producer->expected++;
	item->node.next = NULL;
	gy_inbox_push(&producer->home, &item->node, &item->node);
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	pthread_t threads[PRODUCERS];
	uint64_t left = (uint64_t)PRODUCERS * MESSAGES;

	gy_inbox_init(&inbox);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		gy_inbox_init(&producers[i].home);
		producers[i].number = i;
		producers[i].random = seed + i;
		check(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
	}
	while (left > 0) {
		struct gy_node *node = gy_inbox_take(&inbox);

		if (node == NULL) {
			(void)sched_yield();
			continue;
		}
		consume(gy_container_of(node, struct item, node));
		left--;
	}
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
		check(producers[i].expected == MESSAGES);
	}
	check(gy_inbox_empty(&inbox));
	check(gy_inbox_take(&inbox) == NULL);
	return 0;
}
