/*
 * Handing over the sockets of a system: they are passed in the order in which they were opened, as
 * many in a message as fit, by whoever keeps the place. From the first message on they are the
 * other process's too: whichever of the two ends first leaves the files of Unix sockets alone.
 */
#include "net/holdings.h"

#include <errno.h>
#include <string.h>

static void lock(struct gy_homes *homes)
{
	(void)pthread_mutex_lock(&homes->placing);
}

static void unlock(struct gy_homes *homes)
{
	(void)pthread_mutex_unlock(&homes->placing);
}

void gy_holding_add(struct gy_homes *homes, struct gy_holding *holding)
{
	holding->serial = ++homes->holdings_made;
	gy_list_append(&homes->holdings, &holding->item);
}

void gy_holding_remove(struct gy_holding *holding)
{
	gy_list_remove(&holding->item);
}

static void keep_all(struct gy_homes *homes)
{
	homes->holdings_taker = -1;
	for (struct gy_list *item = homes->holdings.next; item != &homes->holdings;
	     item = item->next) {
		gy_container_of(item, struct gy_holding, item)->shared = false;
	}
}

/* The other process may have gone, and nobody has seen it yet. */
static void look_for_taker(struct gy_homes *homes)
{
	if (homes->holdings_taker >= 0 && !gy_passing_is_wanted(homes->holdings_taker)) {
		keep_all(homes);
	}
}

void gy_holding_remove_file(struct gy_homes *homes, struct gy_holding *holding)
{
	look_for_taker(homes);
	if (holding->shared) {
		holding->file.path[0] = '\0';
	}
	gy_socket_file_remove(&holding->file);
}

/* ---- orders ---- */

struct order {
	struct gy_task task;
	struct gyre_address actor;
	void (*carry_out)(struct gy_house *house);
};

static void carry_out(struct gy_loop *loop, struct gy_task *task)
{
	struct order *order = gy_container_of(task, struct order, task);
	struct gy_house *house =
		gy_house_find(gy_home_of(loop), order->actor.slot, order->actor.cookie);

	if (house != NULL && house->status <= GY_HOUSE_MOUNTING) {
		gy_loop_post_task(loop, task);
		return;
	}
	if (house != NULL) {
		order->carry_out(house);
	}
	gy_loop_node_put(loop, &task->node);
}

int gy_holding_order(const struct gy_homes *homes, struct gyre_address actor,
		     void (*what)(struct gy_house *house))
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct order));
	struct order *order;

	if (node == NULL) {
		return -ENOMEM;
	}
	order = gy_container_of(node, struct order, task.node);
	order->task.run = carry_out;
	order->carry_out = what;
	order->actor = actor;
	gy_loop_post_task(&homes->homes[actor.loop].loop, &order->task);
	return 0;
}

/* ---- passing ---- */

/* The next that has not ended; NULL for none. */
static struct gy_holding *holding_after(const struct gy_homes *homes, uint32_t serial)
{
	for (struct gy_list *item = homes->holdings.next; item != &homes->holdings;
	     item = item->next) {
		struct gy_holding *holding = gy_container_of(item, struct gy_holding, item);

		if (holding->serial > serial && !holding->ended) {
			return holding;
		}
	}
	return NULL;
}

/* What the message has room for, from @place on. */
static void collect(const struct gy_holding *holding, struct gy_holdings_place *place,
		    struct gy_passing *passing)
{
	if (place->begun != holding->serial) {
		place->begun = holding->serial;
		place->number = 0;
	}
	*passing = (struct gy_passing){ .kind = holding->kind, .serial = holding->serial };
	(void)strncpy(passing->text, holding->text, GY_PASSING_TEXT_MAX);
	while (place->number < holding->max && passing->count < GY_PASSING_FDS_MAX) {
		int fd = holding->fds[place->number++];

		if (fd >= 0) {
			passing->fds[passing->count++] = fd;
		}
	}
	if (place->number == holding->max) {
		*place = (struct gy_holdings_place){ .serial = holding->serial };
	}
}

int gy_holdings_pass(struct gy_homes *homes, struct gy_holdings_place *place, int fd)
{
	struct gy_holdings_place next = *place;
	struct gy_passing passing = { .kind = GY_PASSING_END };
	struct gy_holding *holding;
	int r;

	lock(homes); /* so that no socket is closed meanwhile */
	do {
		holding = holding_after(homes, next.serial);
		if (holding != NULL) {
			collect(holding, &next, &passing);
		}
	} while (holding != NULL && passing.count == 0);
	if (holding == NULL) {
		passing = (struct gy_passing){ .kind = GY_PASSING_END };
	}
	r = gy_passing_send(fd, &passing);
	if (r == 0) {
		homes->holdings_taker = fd;
	}
	if (r == 0 && holding != NULL) {
		holding->shared = true;
	}
	unlock(homes);
	if (r == 0) {
		*place = next;
		return holding == NULL;
	}
	return r;
}

void gy_holdings_adopt(struct gy_homes *homes)
{
	lock(homes); /* so that no socket is closed meanwhile */
	for (struct gy_list *item = homes->holdings.next; item != &homes->holdings;
	     item = item->next) {
		const struct gy_holding *holding = gy_container_of(item, struct gy_holding, item);
		int r = holding->shared && !holding->ended ? holding->ops->adopt(holding) : 0;

		if (r < 0) {
			gy_log(homes->log, GYRE_LOG_WARNING,
			       "handover: sockets of %s keep options that they had before: %s",
			       holding->text, strerrordesc_np(-r));
		}
	}
	unlock(homes);
}

void gy_holdings_keep(struct gy_homes *homes)
{
	lock(homes);
	keep_all(homes);
	unlock(homes);
}

bool gy_holdings_settle(struct gy_homes *homes)
{
	bool taken;

	lock(homes);
	look_for_taker(homes);
	taken = homes->holdings_taker >= 0;
	homes->holdings_taker = -1;
	unlock(homes);
	return taken;
}

/* ---- leaving ---- */

void gy_holdings_leave(struct gy_homes *homes)
{
	lock(homes);
	homes->holdings_taker = -1; /* it has them for good */
	for (struct gy_list *item = homes->holdings.next; item != &homes->holdings;
	     item = item->next) {
		struct gy_holding *holding = gy_container_of(item, struct gy_holding, item);

		if (!holding->ended) {
			holding->ended = true;
			gy_store_release(&holding->handed_over, true);
			holding->ops->leave(holding);
		}
	}
	unlock(homes);
}

bool gy_holdings_have_left(struct gy_homes *homes)
{
	bool left = true;

	lock(homes);
	for (struct gy_list *item = homes->holdings.next; item != &homes->holdings && left;
	     item = item->next) {
		const struct gy_holding *holding = gy_container_of(item, struct gy_holding, item);

		left = !holding->handed_over || holding->ops->has_left(holding);
	}
	unlock(homes);
	return left;
}
