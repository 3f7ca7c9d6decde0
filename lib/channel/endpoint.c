/*
 * The endpoints of a house: how they are served, and how they end with it.
 */
#include "channel/endpoint.h"

#include <errno.h>

#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "channel/channel.h"
#include "channel/channel_actor.h"

/* A run of the endpoints that are ready now; those that become ready meanwhile have the next one.
 */
static void process_ready(struct gy_endpoints *endpoints, struct gy_stack *stack)
{
	struct gy_channels *channels = endpoints->channels;
	struct gy_fifo ready = endpoints->ready;
	struct gy_fifo_item *link;

	endpoints->ready.first = NULL;
	channels->stack = stack;
	while ((link = gy_fifo_pop(&ready)) != NULL) {
		struct gy_endpoint *endpoint =
			gy_container_of(link, struct gy_endpoint, ready_link);

		if (!gy_fifo_empty(&ready)) {
			gy_prefetch_write(ready.first);
		}
		gy_verify(endpoint->ready && !endpoint->away);
		channels->home->steps++;
		endpoint->ops->process(endpoint);
	}
	channels->stack = NULL;
	if (gy_unlikely(!gy_list_empty(&channels->pools.waiting))) {
		gy_buffer_waiters_wake(channels);
	}
	if (gy_unlikely(stack->dirty || stack->caused)) {
		gy_stack_leave_pipeline(stack);
	}
}

void gy_endpoints_run(struct gy_house *house, struct gy_stack *stack)
{
	process_ready(house->extra->endpoints, stack);
}

/* For a house that is stopping. Its last endpoint gone, the house is, and @endpoints with it. */
static void run_later(struct gy_loop *loop, struct gy_later *later)
{
	struct gy_endpoints *endpoints = gy_container_of(later, struct gy_endpoints, later);
	struct gy_stack *stack = gy_stack_scratch(gy_home_of(loop), endpoints->house);

	endpoints->later_queued = false;
	if (stack == NULL) {
		gy_endpoints_schedule(endpoints);
		return;
	}
	stack->head.message = NULL;
	stack->head.type = NULL;
	stack->mail = NULL;
	process_ready(endpoints, stack);
	if (endpoints->count == 0 && !endpoints->later_queued) {
		gy_house_channels_closed(endpoints->house);
	}
}

void gy_endpoints_schedule(struct gy_endpoints *endpoints)
{
	struct gy_house *house = endpoints->house;

	if (gy_likely(house->status != GY_HOUSE_STOPPING)) {
		gy_house_channels_ready(house);
	} else if (!endpoints->later_queued) {
		endpoints->later_queued = true;
		gy_loop_later(&house->home->loop, &endpoints->later);
	}
}

/* From here on it is known to its loop. */
static void attach_to_house(struct gy_endpoints *endpoints)
{
	endpoints->channels = gy_channels_of(endpoints->house->home);
	gy_list_append(&endpoints->channels->owners, &endpoints->item);
}

static struct gy_endpoints *make(struct gy_house *house)
{
	struct gy_house_extra *extra = gy_house_extra_get(house);
	struct gy_endpoints *endpoints;

	if (extra == NULL) {
		return NULL;
	}
	endpoints = (struct gy_endpoints *)gy_sizes_new(&house->home->parts, sizeof(*endpoints));
	if (endpoints == NULL) {
		return NULL;
	}
	*endpoints = (struct gy_endpoints){
		.house = house,
		.later.run = run_later,
	};
	gy_list_init(&endpoints->open);
	gy_list_init(&endpoints->remains);
	if (!gy_house_is_away(house)) {
		attach_to_house(endpoints);
	}
	extra->endpoints = endpoints;
	return endpoints;
}

struct gy_endpoints *gy_endpoints_get(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra == NULL ? NULL : house->extra->endpoints;

	return endpoints != NULL ? endpoints : make(house);
}

int gy_endpoint_add(struct gy_endpoint *endpoint, struct gy_house *house)
{
	struct gy_endpoints *owner = gy_endpoints_get(house);

	if (owner == NULL) {
		return -ENOMEM;
	}
	gy_assert(house->status != GY_HOUSE_FREE);
	endpoint->owner = owner;
	endpoint->ready = false;
	endpoint->away = gy_house_is_away(house);
	gy_list_append(&owner->open, &endpoint->item);
	owner->count++;
	gy_assert(endpoint->ops->of_actor || !endpoint->away);
	if (!endpoint->ops->of_actor) {
		owner->channels->open++;
	}
	return 0;
}

/* The last of a house has been closed. */
static void emptied(struct gy_endpoints *endpoints)
{
	struct gy_house *house = endpoints->house;

	if (house->status == GY_HOUSE_STOPPING) {
		gy_endpoints_schedule(endpoints);
	} else if (house->extra->emptied != NULL) {
		house->extra->emptied(house);
	}
}

void gy_endpoint_closed(struct gy_endpoint *endpoint)
{
	struct gy_endpoints *owner = endpoint->owner;

	gy_assert(!endpoint->ready && !gy_list_empty(&endpoint->item));
	gy_list_remove(&endpoint->item);
	gy_assert(owner->count > 0);
	owner->count--;
	if (!endpoint->ops->of_actor) {
		owner->channels->open--;
	}
	if (owner->channel != NULL && &owner->channel->endpoint == endpoint) {
		gy_channel_actor_closed(owner);
	}
	if (gy_unlikely(owner->count == 0)) {
		emptied(owner);
	}
}

/* Takes an endpoint that waits for a run out of the queue. */
static void unqueue(struct gy_endpoints *endpoints, const struct gy_endpoint *endpoint)
{
	struct gy_fifo ready = endpoints->ready;
	struct gy_fifo_item *link;

	endpoints->ready.first = NULL;
	while ((link = gy_fifo_pop(&ready)) != NULL) {
		if (link != &endpoint->ready_link) {
			gy_fifo_push(&endpoints->ready, link);
		}
	}
}

void gy_endpoint_move(struct gy_endpoint *endpoint, struct gy_endpoints *to)
{
	struct gy_endpoints *from = endpoint->owner;
	bool ready = endpoint->ready;

	gy_assert(from != to && from->channels == to->channels && !endpoint->away);
	if (ready) {
		unqueue(from, endpoint);
	}
	gy_list_remove(&endpoint->item);
	from->count--;
	gy_list_append(&to->open, &endpoint->item);
	to->count++;
	endpoint->owner = to;
	endpoint->ready = false;
	if (ready) {
		gy_endpoint_ready(endpoint);
	}
}

void gy_endpoints_leave(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra == NULL ? NULL : house->extra->endpoints;
	struct gy_list *item = endpoints == NULL ? NULL : endpoints->open.next;

	while (item != NULL && item != &endpoints->open) {
		struct gy_endpoint *endpoint = gy_container_of(item, struct gy_endpoint, item);

		item = item->next;
		if (endpoint->ops->leave != NULL) {
			endpoint->ops->leave(endpoint);
		}
	}
}

bool gy_endpoints_stop(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra->endpoints;
	bool mounted = endpoints->held == NULL;
	struct gy_list *item;

	gy_channel_actor_release(house);
	if (endpoints->channel != NULL) {
		gy_channel_actor_leave(endpoints, mounted);
	}
	item = endpoints->open.next;
	while (item != &endpoints->open) {
		struct gy_endpoint *endpoint = gy_container_of(item, struct gy_endpoint, item);

		item = item->next;
		if (endpoints->channels->aborted) {
			gy_endpoint_abort(endpoint, -ESHUTDOWN);
		} else {
			endpoint->ops->drain(endpoint);
		}
	}
	if (endpoints->count > 0) {
		/* Endpoints that were ready already wait for a run that will not come. */
		gy_endpoints_schedule(endpoints);
	}
	/* A later task may have been queued for one that has left since. */
	return endpoints->count == 0 && !endpoints->later_queued;
}

void gy_endpoints_fini(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra->endpoints;

	gy_assert(endpoints->count == 0 && !endpoints->later_queued);
	while (!gy_list_empty(&endpoints->remains)) {
		struct gy_endpoint *endpoint =
			gy_container_of(endpoints->remains.next, struct gy_endpoint, item);

		gy_list_remove(&endpoint->item);
		endpoint->ops->bury(endpoint);
	}
	gy_list_remove(&endpoints->item);
	gy_sizes_delete(&house->home->parts, endpoints, sizeof(*endpoints));
	house->extra->endpoints = NULL;
}

void gy_endpoints_came_home(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra->endpoints;
	struct gy_list *item = endpoints->open.next;

	attach_to_house(endpoints);
	while (item != &endpoints->open) {
		struct gy_endpoint *endpoint = gy_container_of(item, struct gy_endpoint, item);

		item = item->next;
		endpoint->away = false;
		endpoint->ops->came_home(endpoint);
	}
}
