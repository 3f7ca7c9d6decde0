/*
 * Handing over the sockets of a system: they are passed in the order in which they were opened, as
 * many in a message as fit, by whoever keeps the place. From the first message on they are the
 * other process's too: whichever of the two ends first leaves the files of Unix sockets alone.
 */
#include "net/socket_registry.h"
#include "net/net_state.h"

#include <errno.h>
#include <string.h>

#include "actor/mail/send.h"
#include "actor/steal_actor.h"
#include "net/fd_passing.h"
#include "net/socket_file.h"

static void lock(struct gy_homes *homes)
{
	(void)pthread_mutex_lock(&homes->placing);
}

static void unlock(struct gy_homes *homes)
{
	(void)pthread_mutex_unlock(&homes->placing);
}

void gy_socket_entry_add(struct gy_homes *homes, struct gy_socket_entry *entry)
{
	gy_assert(entry->serial == 0);
	entry->serial = ++homes->net->registry_serial;
	gy_list_append(&homes->net->socket_registry, &entry->item);
}

void gy_socket_entry_remove(struct gy_socket_entry *entry)
{
	gy_list_remove(&entry->item);
}

static void keep_all(struct gy_homes *homes)
{
	homes->net->registry_taker = -1;
	for (struct gy_list *item = homes->net->socket_registry.next;
	     item != &homes->net->socket_registry; item = item->next) {
		gy_container_of(item, struct gy_socket_entry, item)->shared = false;
	}
}

/* The other process may have gone, and nobody has seen it yet. */
static void look_for_taker(struct gy_homes *homes)
{
	if (homes->net->registry_taker >= 0 &&
	    !gy_fd_message_is_wanted(homes->net->registry_taker)) {
		keep_all(homes);
	}
}

void gy_socket_entry_remove_file(struct gy_homes *homes, struct gy_socket_entry *entry)
{
	look_for_taker(homes);
	if (entry->shared) {
		entry->file.path[0] = '\0';
	}
	gy_socket_file_remove(&entry->file);
}

/* ---- orders ---- */

static void carry_out(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_socket_order *order = gy_container_of(task, struct gy_socket_order, task);
	struct gy_house *house =
		gy_house_find_occupied(gy_home_of(loop), order->actor.slot, order->actor.cookie);

	if (house != NULL && house->status <= GY_HOUSE_MOUNTING) {
		gy_house_defer_task(gy_home_of(loop), house, task);
		return;
	}
	if (house != NULL && !gy_house_is_stopped(house)) { /* it may have no state */
		order->carry_out(house);
	}
	if (order->done != NULL) {
		order->done(order);
	} else {
		gy_loop_node_put(loop, &task->node);
	}
}

/* The actor has ended with its loop. */
static void came_late(struct gy_task *task)
{
	struct gy_socket_order *order = gy_container_of(task, struct gy_socket_order, task);

	order->done(order);
}

void gy_socket_entry_give(const struct gy_homes *homes, struct gy_socket_order *order)
{
	gy_assert(order->done != NULL && order->actor.loop < gy_homes_made(homes));
	order->task =
		(struct gy_task){ .embedded = true, .run = carry_out, .came_late = came_late };
	gy_loop_post_task(&homes->homes[order->actor.loop].loop, &order->task);
}

int gy_socket_entry_order(const struct gy_homes *homes, struct gyre_address actor,
			  void (*what)(struct gy_house *house))
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct gy_socket_order));
	struct gy_socket_order *order;

	gy_assert(actor.loop < gy_homes_made(homes));
	if (node == NULL) {
		return -ENOMEM;
	}
	order = gy_container_of(node, struct gy_socket_order, task.node);
	order->task.run = carry_out;
	order->carry_out = what;
	order->done = NULL;
	order->actor = actor;
	gy_loop_post_task(&homes->homes[actor.loop].loop, &order->task);
	return 0;
}

static void carry_out_stop(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_socket_order *stop = gy_container_of(task, struct gy_socket_order, task);

	/* Which needs no memory on its own loop; it may have ended. */
	(void)gy_send_signal(gy_home_of(loop), stop->actor, &gy_type_stop, GY_MAIL_EVENT);
	stop->done(stop);
}

void gy_socket_entry_stop(const struct gy_homes *homes, struct gy_socket_order *stop,
			  struct gyre_address actor, void (*done)(struct gy_socket_order *stop),
			  uint32_t *references)
{
	if (gyre_address_is_nobody(actor) || !gyre_address_is_nobody(stop->actor)) {
		return;
	}
	(void)gy_fetch_add(references, 1); /* it may be done at once */
	stop->actor = actor;
	stop->done = done;
	stop->task =
		(struct gy_task){ .embedded = true, .run = carry_out_stop, .came_late = came_late };
	gy_loop_post_task(&homes->homes[actor.loop].loop, &stop->task);
}

/* ---- passing ---- */

/* The next that has not ended; NULL for none. */
static struct gy_socket_entry *entry_after(const struct gy_homes *homes, uint32_t serial)
{
	for (struct gy_list *item = homes->net->socket_registry.next;
	     item != &homes->net->socket_registry; item = item->next) {
		struct gy_socket_entry *entry = gy_container_of(item, struct gy_socket_entry, item);

		if (entry->serial > serial && !entry->ended) {
			return entry;
		}
	}
	return NULL;
}

/* Fills the message with the sockets from @place on, as far as there is room. */
static void collect(const struct gy_socket_entry *entry, struct gy_socket_registry_cursor *place,
		    struct gy_fd_message *passing)
{
	if (place->begun != entry->serial) {
		place->begun = entry->serial;
		place->number = 0;
	}
	*passing = (struct gy_fd_message){ .kind = entry->kind, .serial = entry->serial };
	(void)strncpy(passing->text, entry->text, GY_FD_MESSAGE_TEXT_MAX);
	while (place->number < entry->max && passing->count < GY_FD_MESSAGE_FDS_MAX) {
		int fd = entry->fds[place->number++];

		if (fd >= 0) {
			passing->fds[passing->count++] = fd;
		}
	}
	gy_assert(place->number <= entry->max && passing->count <= GY_FD_MESSAGE_FDS_MAX);
	if (place->number == entry->max) {
		*place = (struct gy_socket_registry_cursor){ .serial = entry->serial };
	}
}

int gy_socket_registry_pass(struct gy_homes *homes, struct gy_socket_registry_cursor *place, int fd)
{
	struct gy_socket_registry_cursor next = *place;
	struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_END };
	struct gy_socket_entry *entry;
	int r;

	lock(homes); /* so that no socket is closed meanwhile */
	do {
		entry = entry_after(homes, next.serial);
		if (entry != NULL) {
			collect(entry, &next, &passing);
		}
	} while (entry != NULL && passing.count == 0);
	if (entry == NULL) {
		passing = (struct gy_fd_message){ .kind = GY_FD_MESSAGE_END };
	}
	r = gy_fd_message_send(fd, &passing);
	if (r == 0) {
		homes->net->registry_taker = fd;
	}
	if (r == 0 && entry != NULL) {
		entry->shared = true;
	}
	unlock(homes);
	if (r == 0) {
		*place = next;
		return entry == NULL;
	}
	return r;
}

void gy_socket_registry_adopt(struct gy_homes *homes)
{
	lock(homes); /* so that no socket is closed meanwhile */
	for (struct gy_list *item = homes->net->socket_registry.next;
	     item != &homes->net->socket_registry; item = item->next) {
		const struct gy_socket_entry *entry =
			gy_container_of(item, struct gy_socket_entry, item);
		int r = entry->shared && !entry->ended ? entry->ops->adopt(entry) : 0;

		if (r < 0) {
			gy_log(homes->log, GYRE_LOG_WARNING,
			       "handover: sockets of %s keep options that they had before: %s",
			       entry->text, strerrordesc_np(-r));
		}
	}
	unlock(homes);
}

void gy_socket_registry_keep(struct gy_homes *homes)
{
	lock(homes);
	keep_all(homes);
	unlock(homes);
}

bool gy_socket_registry_settle(struct gy_homes *homes)
{
	bool taken;

	lock(homes);
	look_for_taker(homes);
	taken = homes->net->registry_taker >= 0;
	homes->net->registry_taker = -1;
	unlock(homes);
	return taken;
}

/* ---- leaving ---- */

void gy_socket_registry_leave(struct gy_homes *homes)
{
	lock(homes);
	homes->net->registry_taker = -1; /* it has them for good */
	for (struct gy_list *item = homes->net->socket_registry.next;
	     item != &homes->net->socket_registry; item = item->next) {
		struct gy_socket_entry *entry = gy_container_of(item, struct gy_socket_entry, item);

		if (!entry->ended) {
			entry->ended = true;
			gy_store_release(&entry->handed_over, true);
			entry->ops->leave(entry);
		}
	}
	unlock(homes);
}

bool gy_socket_registry_have_left(struct gy_homes *homes)
{
	bool left = true;

	lock(homes);
	for (struct gy_list *item = homes->net->socket_registry.next;
	     item != &homes->net->socket_registry && left; item = item->next) {
		const struct gy_socket_entry *entry =
			gy_container_of(item, struct gy_socket_entry, item);

		left = !entry->handed_over || entry->ops->has_left(entry);
	}
	unlock(homes);
	return left;
}
