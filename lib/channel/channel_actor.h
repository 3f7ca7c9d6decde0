/*
 * Actors of the program that own a channel each: how the floor above has one made, and how the
 * ends of the two go together. See channel_actor.c.
 */
#ifndef GY_CHANNEL_CHANNEL_ACTOR_H
#define GY_CHANNEL_CHANNEL_ACTOR_H

#include <gyre/channel_actor.h>

#include "actor/upper_ops.h"
#include "channel/channel.h"

struct gy_channel_order;

/* What differs between those that make channels. Phase 2. */
struct gy_channel_order_ops {
	/* Opens the channel as one of the house of @stack, whose initialiser begins with
	 * gy_channel_attach(). What the order holds is taken, whatever is returned. */
	int (*open)(const struct gy_channel_order *order, struct gy_stack *stack);
	/* The actor cannot be made: what the order holds goes, and no channel is opened. */
	void (*drop)(const struct gy_channel_order *order);
};

/* The argument with which such an actor is spawned. Its maker's actor is its parent, so that
 * @maker stays as long as the actor has its channel. */
struct gy_channel_order {
	const struct gy_channel_order_ops *ops; /* NULL once it is carried out */
	void *maker;
	void *arg; /* for the mount */
	int fd;	   /* -1 for none */
	enum gyre_channel_bond bond;
};
void gy_channel_order_destroy(struct gy_channel_order *order);
GYRE_OWN_MESSAGE_OWNING_(gy_channel_order, GY_CHANNEL_ORDER_ID, gy_channel_order_destroy);

/*
 * Spawns an actor of @class as a child of the running one, on its loop, which is to open a channel.
 * What @order holds is taken, whatever is returned.
 */
int gy_channel_actor_spawn(struct gy_stack *stack, const struct gyre_class *class,
			   const struct gy_channel_order *order);
/* The channel, which is being opened, is that of its house's actor. */
void gy_channel_attach(struct gyre_channel *channel, const struct gy_channel_order *order);

/*
 * Replaces a class that options name, of @class_bytes bytes, by the one to keep, and checks it and
 * the bond. NULL is none. 0, or a negative errno; what is out of bounds goes to @log, unless that
 * is NULL.
 */
int gy_channel_class_take(struct gy_homes *homes, const struct gyre_class **class,
			  size_t class_bytes, enum gyre_channel_bond bond,
			  const struct gy_log *log);

static inline bool gy_channel_bond_is_valid(enum gyre_channel_bond bond)
{
	return (unsigned)bond <= GYRE_BOND_PART;
}

/* The running handler is about to call into pipelines: they run with its stack until it returns, so
 * that their handlers have one. */
void gy_channel_actor_enter(struct gy_stack *stack);

/* ---- ends ---- */

/* The handlers of the channel have gone: its actor stops, if it is to. */
void gy_channel_actor_lose(const struct gyre_channel *channel);
/* The descriptor of the channel that the actor has had is closed. Any phase. */
void gy_channel_actor_closed(struct gy_endpoints *endpoints);
/* The actor stops: its channel is dismissed, or goes on without it, unless it is left to drain.
 * @mounted: its mount does not wait. */
void gy_channel_actor_leave(struct gy_endpoints *endpoints, bool mounted);

/* ---- of gy_channel_ops ---- */

int gy_channel_actor_begin(struct gy_stack *stack, struct gyre_mail *argument);
void gy_channel_actor_hold(struct gy_house *house);
void gy_channel_actor_release(struct gy_house *house);
void gy_channel_actor_returned(struct gy_stack *stack);

#endif
