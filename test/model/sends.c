/*
 * Parking, among loops: mail goes to and fro between two of them, so that each hop finds the other
 * on its way to sleep. The nodes come from the pool of the loop that sends and go back to it, in
 * chains that wake nobody; at the end each pool has all that it gave out, and nothing twice.
 */
#include "base/memory/memory.h"
#include "rig.h"

enum { LOOPS = 2, MAIL_KIND = GY_NODE_KINDS, HOPS_MAX = 2, BYTES = 128 };

struct letter {
	struct gy_node node;
	uint32_t hops;
	uint32_t from;
};

static uint32_t arrived[LOOPS];
static uint32_t letters_first;
static uint32_t hops_most;

static void send_one(struct gy_loop *loop, uint32_t hops)
{
	struct letter *letter = (struct letter *)gy_loop_node_get(loop, BYTES);

	model_check(letter != NULL);
	letter->node.kind = MAIL_KIND;
	letter->hops = hops;
	letter->from = loop->index;
	gy_loop_send(loop, (uint16_t)(1 - loop->index), &letter->node);
}

/* Sends it back with one hop more, and its node home. */
static void deliver(struct gy_loop *loop, struct gy_node *node)
{
	struct letter *letter = gy_container_of(node, struct letter, node);

	model_check(node->kind == MAIL_KIND);
	model_check(letter->from == 1U - loop->index);
	arrived[loop->index]++;
	if (letter->hops < hops_most) {
		send_one(loop, letter->hops + 1);
	}
	gy_loop_node_put(loop, node);
}

static bool trim(struct gy_loop *loop, uint32_t keep)
{
	(void)loop;
	(void)keep;
	return false;
}

static const struct gy_loop_ops ops = { .deliver = deliver, .trim = trim };

static void run_first(struct gy_loop *loop, struct gy_later *later)
{
	(void)later;
	for (uint32_t i = 0; i < letters_first; i++) {
		send_one(loop, 1);
	}
}

static void begin(uint32_t letters, uint32_t hops, uint32_t loops_that_send)
{
	rig_begin(LOOPS, &ops);
	letters_first = letters;
	hops_most = hops;
	for (uint32_t i = 0; i < LOOPS; i++) {
		struct gy_later *later = (struct gy_later *)gy_memory_get(sizeof(*later));

		arrived[i] = 0;
		later->run = run_first;
		if (i < loops_that_send) {
			gy_loop_later(rig.loop[i], later);
		}
	}
}

static void setup_one_way(void)
{
	begin(2, 1, 1);
}

static void setup_to_and_fro(void)
{
	begin(1, HOPS_MAX, 1);
}

static void setup_crossing(void)
{
	begin(1, 1, LOOPS);
}

/* What has come home since the loop went to sleep still waits for it. */
static void check_home(struct gy_loop *loop)
{
	struct gy_node *node;
	const struct gy_pool *pool = &loop->nodes.pools[gy_sizes_class(BYTES)];
	uint32_t waiting = 0;

	while ((node = gy_inbox_take(&loop->inbox)) != NULL) {
		model_check(node->kind == GY_NODE_RETURNED);
		model_check(node->owner == loop->index);
		gy_pool_put(&loop->nodes.pools[node->size_class], node);
		waiting++;
	}
	model_check(gy_inbox_empty(&loop->inbox));
	model_check(waiting <= letters_first * hops_most);
	model_check(pool->free_count == pool->total);
	for (uint32_t i = 0; i < pool->free_count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			model_check(pool->free[i] != pool->free[k]);
		}
	}
}

static void check_count(uint32_t expected)
{
	model_check(arrived[0] + arrived[1] == expected);
	for (uint32_t i = 0; i < LOOPS; i++) {
		rig_check_asleep(i);
		check_home(rig.loop[i]);
	}
}

static void check_one_way(void)
{
	check_count(2);
}

static void check_to_and_fro(void)
{
	check_count(HOPS_MAX);
}

static void check_crossing(void)
{
	check_count(LOOPS);
}

int main(void)
{
	static const struct model_protocol protocols[] = {
		{
			.title = "what a loop sends wakes the other, and comes home whole",
			.setup = setup_one_way,
			.check = check_one_way,
			.threads = { { "loop 0", rig_turn_0 }, { "loop 1", rig_turn_1 } },
			.preemptions_max = 3,
		},
		{
			.title = "what goes to and fro wakes each, and comes home whole",
			.setup = setup_to_and_fro,
			.check = check_to_and_fro,
			.threads = { { "loop 0", rig_turn_0 }, { "loop 1", rig_turn_1 } },
			.preemptions_max = 3,
		},
		{
			.title = "what crosses on the way wakes both, and comes home whole",
			.setup = setup_crossing,
			.check = check_crossing,
			.threads = { { "loop 0", rig_turn_0 }, { "loop 1", rig_turn_1 } },
			.preemptions_max = 3,
		},
	};
	static const struct model_plant plants[] = {
		{ "a loop that parks without a fence", "block", MODEL_STORE_FULL, MODEL_RELAXED,
		  0 },
		{ "a sender that looks at the flag before it has sent", "gy_loop_wake_peer",
		  MODEL_LOAD_FULL, MODEL_EARLY, 0 },
		{ "a sender that does not look at the flag", "gy_loop_wake_peer", MODEL_LOAD_FULL,
		  MODEL_OMITTED, 0 },
		{ "a chain that is swapped in in two steps", "gy_inbox_push", MODEL_EXCHANGE,
		  MODEL_TORN, 0 },
		{ "a chain whose link releases nothing", "gy_inbox_push", MODEL_STORE_RELEASE,
		  MODEL_RELAXED, 0 },
		{ "a chain that is not linked", "gy_inbox_push", MODEL_STORE_RELEASE, MODEL_OMITTED,
		  0 },
	};

	return model_main(protocols, gy_countof(protocols), plants, gy_countof(plants));
}
