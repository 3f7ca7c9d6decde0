/*
 * RCU. liburcu knows threads of the kernel, and has one of its own that calls back whenever it
 * likes. So tasks are readers here: each that is online holds up what is freed, until it has been
 * offline, or looks for events or waits for them, where a loop looks at nothing that others may
 * free. A task of the host, the reclaimer, then does what liburcu's thread would.
 */
#include <urcu/urcu-qsbr.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/memory/memory.h"
#include "loop/loop.h"
#include "loop/sleep.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct item {
	struct gy_list of_host;
	uint64_t number;
	struct rcu_head *head;
	void (*call)(struct rcu_head *head);
};

void gy_sim_rcu_init(struct gy_sim_host *host)
{
	host->rcu = (struct gy_sim_rcu *)gy_sim_get(sizeof(*host->rcu));
	gy_list_init(&host->rcu->items);
	gy_sim_queue_init(&host->rcu->due);
}

static struct item *first_item(const struct gy_sim_rcu *rcu)
{
	return gy_container_of(rcu->items.next, struct item, of_host);
}

static void free_item(struct item *item)
{
	gy_list_remove(&item->of_host);
	gy_sim_put(item);
}

void gy_sim_rcu_fini(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->rcu->items)) {
		free_item(first_item(host->rcu));
	}
	gy_sim_put(host->rcu);
	host->rcu = NULL;
}

/* ---- grace periods ---- */

static bool is_over(const struct gy_sim_host *host, uint64_t number)
{
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		const struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);

		if (task->online && !task->resting && task->state != GY_SIM_TASK_ENDED &&
		    task->quiescent < number) {
			return false;
		}
	}
	return true;
}

static bool is_due(const struct gy_sim_host *host)
{
	return !gy_list_empty(&host->rcu->items) && is_over(host, first_item(host->rcu)->number);
}

void gy_sim_rcu_look(struct gy_sim_host *host)
{
	if (host->rcu != NULL && host->rcu->reclaimer != NULL && is_due(host)) {
		gy_sim_wake_all(&host->rcu->due);
	}
}

static void quiescent(void)
{
	if (gy_sim_here->host != NULL) {
		gy_sim_here->quiescent = gy_sim_here->host->rcu->number;
	}
}

void gy_sim_rcu_rest(bool rests)
{
	gy_sim_here->resting = rests;
	quiescent();
}

static void *reclaim(void *arg)
{
	struct gy_sim_host *host = (struct gy_sim_host *)arg;

	for (;;) {
		while (!is_due(host)) {
			(void)gy_sim_wait(&host->rcu->due, UINT64_MAX, "the end of a grace period");
		}
		while (is_due(host)) {
			struct item item = *first_item(host->rcu);

			free_item(first_item(host->rcu));
			item.call(item.head);
		}
	}
	return NULL;
}

void __wrap_urcu_qsbr_call_rcu(struct rcu_head *head, void (*call)(struct rcu_head *head))
{
	struct gy_sim_host *host = gy_sim_host_here();
	struct item *item;

	if (host == NULL) {
		__real_urcu_qsbr_call_rcu(head, call);
		return;
	}
	item = (struct item *)gy_sim_get(sizeof(*item));
	*item = (struct item){ .number = ++host->rcu->number, .head = head, .call = call };
	gy_list_append(&host->rcu->items, &item->of_host);
	if (host->rcu->reclaimer == NULL) {
		host->rcu->reclaimer = gy_sim_task_create(host, reclaim, host);
		gy_assert(host->rcu->reclaimer != NULL);
	}
}

/* ---- readers ---- */

void __wrap_urcu_qsbr_register_thread(void)
{
	if (gy_sim_here == NULL) {
		__real_urcu_qsbr_register_thread();
	} else {
		__wrap_urcu_qsbr_thread_online();
	}
}

void __wrap_urcu_qsbr_unregister_thread(void)
{
	if (gy_sim_here == NULL) {
		__real_urcu_qsbr_unregister_thread();
	} else {
		__wrap_urcu_qsbr_thread_offline();
	}
}

void __wrap_urcu_qsbr_thread_online(void)
{
	if (gy_sim_here == NULL) {
		__real_urcu_qsbr_thread_online();
		return;
	}
	gy_sim_here->online = true;
	quiescent();
}

void __wrap_urcu_qsbr_thread_offline(void)
{
	if (gy_sim_here == NULL) {
		__real_urcu_qsbr_thread_offline();
	} else {
		gy_sim_here->online = false;
	}
}

/* A task rests while it waits, without a fence. */
void __wrap_gy_loop_sleep(struct gy_loop *loop, uint64_t timeout_ns)
{
	if (gy_sim_here == NULL) {
		__real_gy_loop_sleep(loop, timeout_ns);
	} else {
		(void)gy_ring_submit_and_wait(loop->ring, timeout_ns);
	}
}

int __wrap_urcu_qsbr_read_ongoing(void)
{
	return gy_sim_here == NULL ? __real_urcu_qsbr_read_ongoing() : gy_sim_here->online;
}

struct call_rcu_data *__wrap_urcu_qsbr_get_default_call_rcu_data(void)
{
	return gy_sim_here == NULL ? __real_urcu_qsbr_get_default_call_rcu_data() : NULL;
}
