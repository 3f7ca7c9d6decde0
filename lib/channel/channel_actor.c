/*
 * An actor of the program that owns a channel is a channels actor like those of the library: the
 * channel is an endpoint of its house. It is spawned with an order to open the channel, which is
 * carried out when the state of the actor has been made, just before the mount; the mount then gets
 * the channel in the mail that the order came in. The actor that has made the order is its parent,
 * and takes the channel over if that goes on alone.
 *
 * While a mount waits the channel is held: it is served by functions of its own, which do nothing
 * but what other endpoints must be able to rely on.
 */
#include "channel/channel_actor.h"

#include <errno.h>

#include "actor/class_sized.h"
#include "actor/house_extra.h"
#include "actor/life/children.h"
#include "actor/life/family.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "channel/connector.h"

/* ---- beginning ---- */

int gy_channel_class_take(struct gy_homes *homes, const struct gyre_class **class,
			  size_t class_bytes, enum gyre_channel_bond bond, const struct gy_log *log)
{
	int r = gy_class_sized(homes, class, class_bytes);

	if (r == 0 &&
	    ((*class != NULL && !gy_class_is_valid(*class)) || !gy_channel_bond_is_valid(bond))) {
		r = -EINVAL;
		if (log != NULL) {
			gy_log(log, GYRE_LOG_ERROR,
			       "channels cannot have that actor: its class has no name or a field "
			       "out of its bounds, or there is no such bond");
		}
	}
	return r;
}

void gy_channel_order_destroy(struct gy_channel_order *order)
{
	if (order->ops != NULL) {
		order->ops->drop(order);
		order->ops = NULL;
	}
}

int gy_channel_actor_spawn(struct gy_stack *stack, const struct gyre_class *class,
			   const struct gy_channel_order *order)
{
	struct gyre_address actor;
	struct gy_spawn_order spawn = {
		.class = class,
		.channels_actor = true,
		.argument = gyre_put_gy_channel_order(
			gyre_mail_create(&stack->head, &gyre_type_gy_channel_order), order),
	};

	gy_assert(order->ops != NULL && gy_channel_bond_is_valid(order->bond));
	return spawn.argument == NULL ? -ENOMEM : gy_spawn_by(&stack->head, &spawn, NULL, &actor);
}

void gy_channel_attach(struct gyre_channel *channel, const struct gy_channel_order *order)
{
	struct gy_endpoints *owner = channel->endpoint.owner;

	gy_assert(owner->channel == NULL && owner->held == NULL);
	owner->channel = channel;
	owner->bond = (uint8_t)order->bond;
}

int gy_channel_actor_begin(struct gy_stack *stack, struct gyre_mail *argument)
{
	struct gy_channel_order order;
	int r;

	gy_assert(argument->type == &gyre_type_gy_channel_order);
	r = gy_mail_move_out(argument, &order);
	if (r == 0) {
		r = order.ops->open(&order, stack);
	}
	if (r < 0) {
		return r;
	}
	argument->type = &gyre_type_gyre_channel_attached;
	*(struct gyre_channel_attached *)gyre_payload(argument) = (struct gyre_channel_attached){
		.channel = stack->house->extra->endpoints->channel,
		.arg = order.arg,
	};
	return 0;
}

_Static_assert(sizeof(struct gyre_channel_attached) <= sizeof(struct gy_channel_order),
	       "put into the same mail");

/* ---- held while the mount waits ---- */

/* Whether its handlers have not heard of anything yet. */
static bool is_unheard(const struct gyre_channel *channel)
{
	return channel->unconnected ? channel->connector->step == GY_CONNECTOR_NEW
				    : (channel->state & GY_EVENT_ACTIVE) != 0;
}

/* It does not wait for the mount any more; and handlers, which rely on what that would have done to
 * the state, hear nothing. */
static void dismiss_held(struct gy_endpoint *endpoint, int reason)
{
	struct gyre_channel *channel = endpoint->owner->channel;

	gy_assert(is_unheard(channel));
	gy_channel_actor_release(endpoint->owner->house);
	gy_channel_dismiss(channel, reason);
}

static void held_process(struct gy_endpoint *endpoint)
{
	const struct gyre_channel *channel = endpoint->owner->channel;

	if (gy_channel_is_aborted(channel)) { /* it took too long, for example */
		dismiss_held(endpoint, channel->reason);
		endpoint->ops->process(endpoint);
		return;
	}
	endpoint->ready = false;
}

static void held_drain(struct gy_endpoint *endpoint)
{
	endpoint->owner->held->drain(endpoint);
}

static void held_abort(struct gy_endpoint *endpoint, int reason)
{
	dismiss_held(endpoint, reason);
}

static void held_set_busy(struct gy_endpoint *endpoint, bool busy)
{
	endpoint->owner->held->set_busy(endpoint, busy);
}

static void held_leave(struct gy_endpoint *endpoint)
{
	if (endpoint->owner->held->leave != NULL) {
		endpoint->owner->held->leave(endpoint);
	}
}

static const struct gy_endpoint_ops held_ops = {
	.process = held_process,
	.drain = held_drain,
	.abort = held_abort,
	.set_busy = held_set_busy,
	.leave = held_leave,
};

void gy_channel_actor_hold(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra->endpoints;
	struct gyre_channel *channel = endpoints->channel;

	gy_assert(endpoints->held == NULL);
	if (channel != NULL && !gy_channel_is_aborted(channel)) {
		endpoints->held = channel->endpoint.ops;
		channel->endpoint.ops = &held_ops;
	} else if (channel != NULL && is_unheard(channel)) {
		gy_channel_dismiss(channel, channel->reason); /* by the mount itself */
	}
}

void gy_channel_actor_release(struct gy_house *house)
{
	struct gy_endpoints *endpoints = house->extra->endpoints;

	if (endpoints != NULL && endpoints->held != NULL) {
		endpoints->channel->endpoint.ops = endpoints->held;
		endpoints->held = NULL;
		gy_endpoint_ready(&endpoints->channel->endpoint);
	}
}

/* ---- a handler of the actor that calls into pipelines ---- */

void gy_channel_actor_enter(struct gy_stack *stack)
{
	struct gy_channels *channels = gy_channels_of(stack->home);

	if (channels->stack == NULL) {
		channels->stack = stack;
		stack->piping = true;
	}
}

void gy_channel_actor_returned(struct gy_stack *stack)
{
	stack->piping = false;
	gy_channels_of(stack->home)->stack = NULL;
}

/* ---- ends ---- */

static bool ends_actor(const struct gy_endpoints *endpoints)
{
	return endpoints->bond == GYRE_BOND_BOTH || endpoints->bond == GYRE_BOND_CHANNEL_ENDS_ACTOR;
}

static bool ends_channel(const struct gy_endpoints *endpoints)
{
	return endpoints->bond == GYRE_BOND_BOTH || endpoints->bond == GYRE_BOND_ACTOR_ENDS_CHANNEL;
}

void gy_channel_actor_lose(const struct gyre_channel *channel)
{
	const struct gy_endpoints *owner = channel->endpoint.owner;

	gy_assert(owner->channel == channel && gy_channel_is_closed(channel));
	if (owner->house->status == GY_HOUSE_STOPPING) {
		return;
	}
	if (ends_actor(owner)) {
		gy_house_request_stop(owner->house, channel->reason);
	} else {
		owner->house->extra->parts = true; /* when the descriptor is closed */
	}
}

/* An actor that goes on has no parent any more: what its maker keeps for the channel may go. */
void gy_channel_actor_closed(struct gy_endpoints *endpoints)
{
	endpoints->channel = NULL;
	if (!ends_actor(endpoints) && endpoints->house->status != GY_HOUSE_STOPPING) {
		gy_family_orphan(endpoints->house);
	}
}

/* The endpoints of the maker's house; NULL if it stops too, or there is no memory. */
static struct gy_endpoints *keeper_of(const struct gy_house *house)
{
	const struct gy_family *family = house->family;
	struct gy_house *keeper = family == NULL
					  ? NULL
					  : gy_house_find_occupied(house->home, family->parent.slot,
								   family->parent.cookie);

	return keeper == NULL || gy_house_is_stopped(keeper) ? NULL : gy_endpoints_get(keeper);
}

void gy_channel_actor_leave(struct gy_endpoints *endpoints, bool mounted)
{
	struct gyre_channel *channel = endpoints->channel;
	const struct gy_house *house = endpoints->house;
	bool aborted = gy_channel_is_aborted(channel);
	struct gy_endpoints *keeper;

	gy_assert(house->status == GY_HOUSE_STOPPING && channel != NULL);
	if (is_unheard(channel) && house->extra->reason < 0) {
		gy_channel_dismiss(channel, house->extra->reason);
		return;
	}
	keeper = aborted || ends_channel(endpoints) || endpoints->channels->draining
			 ? NULL
			 : keeper_of(house);
	if (keeper != NULL) {
		endpoints->channel = NULL;
		gy_endpoint_move(&channel->endpoint, keeper);
	} else if (is_unheard(channel) && !mounted) {
		gy_channel_dismiss(channel, aborted ? channel->reason : -ECANCELED);
	}
}

/* ---- the public calls ---- */

struct gyre_channel *gyre_actor_channel(struct gyre_stack *stack)
{
	const struct gy_house_extra *extra = gy_stack_of(stack)->house->extra;
	struct gyre_channel *channel =
		extra == NULL || extra->endpoints == NULL ? NULL : extra->endpoints->channel;

	if (channel == NULL || gy_channel_is_closed(channel)) {
		return NULL;
	}
	gy_channel_actor_enter(gy_stack_of(stack));
	return channel;
}

/* NULL for a channel that has no actor of the program. */
static const struct gy_house *house_of(const struct gyre_channel *channel)
{
	const struct gy_endpoints *owner = channel->endpoint.owner;

	return owner->channel == channel ? owner->house : NULL;
}

struct gyre_address gyre_channel_actor(const struct gyre_channel *channel)
{
	const struct gy_house *house = channel == NULL ? NULL : house_of(channel);

	return house == NULL ? GYRE_NOBODY : gy_address_shown(house->home, gy_house_address(house));
}

void *gyre_channel_actor_state(const struct gyre_channel *channel)
{
	const struct gy_house *house = channel == NULL ? NULL : house_of(channel);

	return house == NULL ? NULL : house->state;
}
