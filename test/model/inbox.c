/*
 * The inbox: two producers, one with a chain of two and one with two nodes by themselves, and a
 * consumer that frees each node as soon as it has it.
 */
#include "base/inbox.h"

#include "base/memory/memory.h"
#include "model.h"

enum { PRODUCERS = 2, NODES = 2 };

struct letter {
	struct gy_node node;
	uint64_t producer;
	uint64_t number;
};

static struct gy_inbox *inbox;
static uint32_t taken[PRODUCERS];

static void setup(void)
{
	inbox = (struct gy_inbox *)gy_memory_get(sizeof(*inbox));
	gy_inbox_init(inbox);
	taken[0] = 0;
	taken[1] = 0;
}

static struct gy_node *write_letter(uint64_t producer, uint64_t number)
{
	struct letter *letter = (struct letter *)gy_memory_get(sizeof(*letter));

	letter->producer = producer;
	letter->number = number;
	return &letter->node;
}

static void push_chain(void)
{
	struct gy_chain chain = { 0 };

	gy_chain_append(&chain, write_letter(0, 0));
	gy_chain_append(&chain, write_letter(0, 1));
	gy_inbox_push(inbox, chain.first, chain.last);
}

static void push_singly(void)
{
	for (uint64_t i = 0; i < NODES; i++) {
		struct gy_node *node = write_letter(1, i);

		gy_inbox_push(inbox, node, node);
	}
}

static void consume(void)
{
	uint32_t count = 0;

	while (count < PRODUCERS * NODES) {
		struct gy_node *node = gy_inbox_take(inbox);
		struct letter *letter = gy_container_of(node, struct letter, node);

		if (node == NULL) {
			model_pause();
			continue;
		}
		model_check(letter->producer < PRODUCERS);
		model_check(letter->number == taken[letter->producer]);
		taken[letter->producer]++;
		count++;
		gy_memory_put(letter);
	}
}

static void check(void)
{
	model_check(taken[0] == NODES);
	model_check(taken[1] == NODES);
	model_check(gy_inbox_empty(inbox));
	model_check(gy_inbox_take(inbox) == NULL);
}

int main(void)
{
	static const struct model_protocol protocol = {
		.title = "what two producers push is taken once, in the order of each",
		.setup = setup,
		.check = check,
		.threads = { { "chain", push_chain },
			     { "single", push_singly },
			     { "consumer", consume } },
	};
	static const struct model_plant plants[] = {
		{ "a push that swaps in two steps", "gy_inbox_push", MODEL_EXCHANGE, MODEL_TORN,
		  0 },
		{ "a link that releases nothing", "gy_inbox_push", MODEL_STORE_RELEASE,
		  MODEL_RELAXED, 0 },
		{ "a link that is left out", "gy_inbox_push", MODEL_STORE_RELEASE, MODEL_OMITTED,
		  0 },
		{ "a take that swaps in two steps", "gy_inbox_take", MODEL_EXCHANGE, MODEL_TORN,
		  0 },
		{ "a take that acquires nothing", "gy_inbox_take", MODEL_LOAD_ACQUIRE,
		  MODEL_RELAXED, 0 },
	};

	return model_main(&protocol, 1, plants, gy_countof(plants));
}
