/*
 * Actors of channels: an acceptor, a connector or a socket for datagrams may name a class. Each of
 * its channels then belongs to an actor of that class, which is spawned with the channel, on the
 * loop of the channel:
 *
 *	static int greet(struct gyre_stack *stack)              the mount of the class
 *	{
 *		struct client *client = gyre_state(stack);
 *
 *		client->chat = gyre_message(stack, gyre_channel_attached)->arg;
 *		return gyre_return(stack);
 *	}
 *
 * - Handlers of the pipeline reach its state without a message: gyre_state() of
 *   gyre_context_stack() shows it, as does gyre_channel_actor_state(). What they send is sent by
 *   the actor, actors that they spawn are its children, and a handler of requests (see exchange.h)
 *   is one of its handlers.
 * - Handlers of the actor reach the channel: see gyre_actor_channel(). They run on the channel's
 *   loop in phase 2, may wait as those of any actor, and may write at once.
 *
 * The state is made first, all zero; then @init_channel adds the handlers of the pipeline; then
 * comes @mount of the class. Until the mount has ended, however long it waits, the channel neither
 * reads nor calls a handler, its @added apart; its handshake_ns runs. A mount that fails, like an
 * @init_channel that does, closes the connection alone, and then its handlers hear of nothing but
 * @removed. The same goes for a channel that fails while the mount waits, and for an actor that is
 * stopped then, unless its channel goes on without it. After an @init_channel that fails only
 * @clean of the class is called.
 *
 * An actor of a channel restarts and fails like any other; nothing of that touches the channel,
 * unless the actor ends. While a restart is delayed the channel waits too. The actor's parent is
 * the library's and settles no failure: with GYRE_STRATEGY_ESCALATE the actor stops with it, also
 * when it has gone on without its channel.
 *
 * A handler of the pipeline that fails, by gyre_context_fire_exception() or gyre_channel_abort(),
 * is no failure of the actor, whose strategy is not asked: the channel ends with that error, and so
 * does the actor, if it ends with its channel. An exception that a handler keeps ends nothing.
 *
 * Each channel has an actor of its own: of a client each round of attempts has another, and a
 * socket for datagrams that goes to another loop has one there.
 */
#ifndef GYRE_CHANNEL_ACTOR_H
#define GYRE_CHANNEL_ACTOR_H

#include <gyre/address.h>
#include <gyre/message.h>

GYRE_BEGIN_DECLS

struct gyre_channel;
struct gyre_stack;

/**
 * enum gyre_channel_bond - what the end of a channel means for its actor, and the other way round
 * @GYRE_BOND_BOTH: each ends the other: the actor stops when its channel has closed, with the
 *   reason of the channel as its own; and the channel sends what is queued and closes when the
 *   actor stops
 * @GYRE_BOND_CHANNEL_ENDS_ACTOR: the actor stops with its channel, but the channel goes on without
 *   its actor
 * @GYRE_BOND_ACTOR_ENDS_CHANNEL: the channel closes with its actor, but the actor goes on without
 *   its channel
 * @GYRE_BOND_PART: each goes on without the other
 *
 * A channel that goes on without its actor belongs to the library, as channels without a class do;
 * where there is no memory for that, it closes. It closes as well if its actor was stopped because
 * the actor's parent, the system or the loop stops. An actor that goes on without its channel has
 * no parent from then on.
 */
enum gyre_channel_bond {
	GYRE_BOND_BOTH = 0,
	GYRE_BOND_CHANNEL_ENDS_ACTOR = 1,
	GYRE_BOND_ACTOR_ENDS_CHANNEL = 2,
	GYRE_BOND_PART = 3,
};

/**
 * struct gyre_channel_attached - the argument of the mount of an actor of a channel
 * @channel: the channel, as gyre_actor_channel() tells it, during the first call of the mount. The
 *   peer's address, and an address of the channel for others, are had by
 *   gyre_channel_peer_address() and gyre_channel_address()
 * @arg: @init_arg of the options that named the class
 */
struct gyre_channel_attached {
	struct gyre_channel *channel;
	void *arg;
};
GYRE_OWN_MESSAGE_(gyre_channel_attached, 0x1a);

/**
 * gyre_actor_channel() - the channel that the running actor was spawned for
 * @stack: the stack of the running handler
 *
 * Handlers of an actor of a channel may do with it all that "loop thread, phase 2, on the channel's
 * loop" allows. A call that goes through the pipeline begins at gyre_channel_tail(). Ask anew after
 * each wait: the channel may have gone.
 *
 * Return: the channel, or NULL.
 * Errors:
 *   NULL  the actor was not spawned for a channel, or the channel has closed: its handlers are told
 *         of its end, or have been; or the two have parted
 * Ownership: stays the library's; valid until the handler returns or suspends.
 * Context: loop thread, phase 2, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_channel *gyre_actor_channel(struct gyre_stack *stack);

/**
 * gyre_channel_actor() - the actor that was spawned for a channel
 * @channel: the channel
 *
 * Return: the address; GYRE_NOBODY for a channel without a class, and after the two have parted.
 * Ownership: a value.
 * Context: loop thread, phase 2, on the channel's loop; from the initialiser until @removed of its
 *   handlers has returned.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_channel_actor(const struct gyre_channel *channel);

/**
 * gyre_channel_actor_state() - the state of the actor that was spawned for a channel
 * @channel: the channel
 *
 * It is there from the initialiser until @removed of the last handler has returned, also where the
 * actor has stopped before; @clean of the class comes later. For a channel that goes on without its
 * actor there is none from the moment when they part.
 *
 * Return: the state, or NULL.
 * Errors:
 *   NULL  the channel has no actor, or a class without a state
 * Ownership: stays the actor's.
 * Context: loop thread, phase 2, on the channel's loop; from the initialiser until @removed of its
 *   handlers has returned.
 * Since: 0.1
 */
GYRE_API void *gyre_channel_actor_state(const struct gyre_channel *channel);

GYRE_END_DECLS

#endif
