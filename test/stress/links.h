/*
 * What the stress programs of nodes look at behind the scenes: whether links still hold something,
 * and whether what left each node for another one has arrived there or is counted as lost.
 */
#ifndef GY_TEST_STRESS_LINKS_H
#define GY_TEST_STRESS_LINKS_H

#include <sched.h>

#include <gyre/node.h>

#include "remote/link/link.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "stress.h"
#include "system/system.h"

enum { NODES = 3 };

/* Who waits for others to get on leaves them the CPU. */
static inline void links_look_again(void)
{
	(void)sched_yield();
}

/* ---- links that hold something ---- */

struct look {
	struct gy_task task; /* first: its node is what was allocated */
	struct gy_links *links;
	uint32_t *ret_answer;
};

enum { LOOK_SETTLED = 1, LOOK_UNSETTLED };

static inline bool link_is_settled(const struct gy_link *link)
{
	return link->out == NULL && gy_list_empty(&link->fragments) && link->waiting == NULL &&
	       link->waiting_bytes == 0 && link->queued_bytes == link->credited_bytes &&
	       link->queued_frames == link->credited_frames && link->in_flight.count == 0 &&
	       gy_list_empty(&link->partial_messages) && link->partial_frame.at == 0;
}

/* By the loop itself. */
static inline void links_look(struct gy_loop *loop, struct gy_task *task)
{
	const struct look *look = gy_container_of(task, struct look, task);
	const struct gy_list *item = look->links->all.next;
	uint32_t *ret_answer = look->ret_answer;
	bool settled = true;

	for (; item != &look->links->all; item = item->next) {
		settled = settled &&
			  link_is_settled(gy_container_of(item, const struct gy_link, item));
	}
	gy_loop_node_put(loop, &task->node);
	gy_store_release(ret_answer, settled ? LOOK_SETTLED : LOOK_UNSETTLED);
}

/* Whether no link of a node that runs has anything on its way, or keeps credit of its peer. */
static inline bool links_are_settled(struct gyre_system *system)
{
	struct gy_homes *homes = gy_homes_of(system);
	bool settled = true;

	for (uint32_t i = 0; i < gy_homes_made(homes); i++) {
		struct gy_node *node = gy_node_get_from_heap(sizeof(struct look));
		struct look *look = gy_container_of(node, struct look, task.node);
		uint32_t answer = 0;

		check(node != NULL);
		look->links = &homes->nodes->links[i];
		look->ret_answer = &answer;
		look->task.run = links_look;
		gy_loop_post_task(&homes->homes[i].loop, &look->task);
		while (gy_load_acquire(&answer) == 0) {
			links_look_again();
		}
		settled = settled && gy_load_acquire(&answer) == LOOK_SETTLED;
	}
	return settled;
}

/* ---- what left and what came ---- */

/* By node, from 0; all lives of a round together. */
struct ledger {
	uint64_t left[NODES];
	uint64_t sent[NODES][NODES]; /* from, to */
	uint64_t lost[NODES][NODES];
	uint64_t received[NODES][NODES];
};

/* A node has ended, and is not destroyed yet. */
static inline void ledger_enter(struct ledger *ledger, const struct gyre_system *system,
				uint32_t node)
{
	struct gyre_node_status status;

	for (uint32_t i = 0; i < NODES; i++) {
		if (gyre_system_node_status(system, (uint16_t)(i + 1), &status) == 0) {
			ledger->sent[node][i] += status.sent;
			ledger->lost[node][i] += status.lost;
			ledger->received[i][node] += status.received;
		}
	}
}

/* What its counters say of all that left. */
static inline void ledger_enter_sum(struct ledger *ledger, uint32_t node, uint64_t left)
{
	ledger->left[node] += left;
}

static inline void ledger_show(const struct ledger *ledger, uint32_t from, uint32_t to)
{
	(void)fprintf(stderr, "from %u to %u: %llu were sent, %llu received, %llu lost\n", from, to,
		      (unsigned long long)ledger->sent[from][to],
		      (unsigned long long)ledger->received[from][to],
		      (unsigned long long)ledger->lost[from][to]);
}

/* All nodes of a round have ended. What is counted as lost may have arrived all the same. */
static inline void ledger_close(struct ledger *ledger, bool complete)
{
	for (uint32_t from = 0; from < NODES; from++) {
		uint64_t sum = 0;

		for (uint32_t to = 0; to < NODES; to++) {
			uint64_t sent = ledger->sent[from][to];
			uint64_t received = ledger->received[from][to];
			bool balanced = received <= sent &&
					sent - received <= ledger->lost[from][to] &&
					(!complete || ledger->lost[from][to] == 0);

			if (!balanced) {
				ledger_show(ledger, from, to);
			}
			check(balanced);
			sum += sent;
		}
		check(sum == ledger->left[from]);
	}
	*ledger = (struct ledger){ 0 };
}

#endif
