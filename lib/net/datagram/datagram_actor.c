/*
 * The datagram actor: a channels actor with one channel, for the datagrams of its loop. It ends
 * with its channel, and the channel with it. As with acceptors the one of the first loop is the one
 * that users know: when it stops it stops the others.
 *
 * A loop that retires gives a copy of its descriptor, and so the socket with all that is in it, to
 * an actor of another loop; its own channel delivers what it has taken out, and ends.
 *
 * With a class of the program the channel belongs to a child of that class, which opens it when it
 * is mounted. The actor here keeps what the channel needs, and ends with it all the same.
 *
 * All that can be refused is done by the calling thread, before any actor is spawned; the handlers
 * of the channel may then choose other addresses, see datagram_orders.c.
 */
#include <errno.h>
#include <string.h>

#include <gyre/move.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "buffer/socket_address.h"
#include "channel/channel_actor.h"
#include "channel/datagram/datagram.h"
#include "channel/endpoint.h"
#include "channel/output/water_marks.h"
#include "net/datagram/datagram.h"
#include "net/listening.h"
#include "net/pending_open.h"
#include "net/socket_registry.h"
#include "ring/descriptor.h"

static const struct gy_log *log_of(const struct gy_channels *channels)
{
	return channels->home->loop.options.log;
}

/* ---- groups ---- */

/* Without the mutex, unless another reference is known to be left. */
void gy_datagram_group_unref(struct gy_datagram_group *group)
{
	if (group != NULL && gy_fetch_add(&group->references, -1U) == 1) {
		struct gy_homes *homes = group->homes;

		(void)pthread_mutex_lock(&homes->placing);
		gy_socket_entry_remove_file(homes, &group->entry);
		gy_socket_entry_remove(&group->entry);
		(void)pthread_mutex_unlock(&homes->placing);
		gy_memory_put(group->options);
		gy_memory_put(group);
	}
}

static void drop_pending(struct gy_datagram_pending *pending)
{
	if (pending != NULL) {
		gy_datagram_group_unref(pending->group);
		gy_multicast_forget(pending->changes);
		gy_memory_put(pending);
	}
}

void gy_datagram_pending_discard(struct gy_channels *channels, struct gy_fd_transit *transit)
{
	struct gy_datagram_pending *pending =
		gy_container_of(transit, struct gy_datagram_pending, transit);

	(void)channels;
	drop_pending(pending);
}

void gy_datagram_pending_begin(struct gy_datagram_pending *pending, struct gy_channels *channels)
{
	pending->channels = channels;
	gy_fd_transit_begin(channels, &pending->transit);
	gy_pending_open_begin(pending->group->homes);
}

/* The actor could not be spawned; its argument goes with it. */
void gy_datagram_pending_abort(struct gy_datagram_pending *pending, struct gyre_stack *stack,
			       struct gyre_mail *mail)
{
	if (mail != NULL) {
		((struct gy_datagram_argument *)gyre_payload(mail))->pending = NULL;
		gyre_mail_destroy(stack, mail);
	}
	gy_channels_close(pending->channels,
			  gy_fd_transit_end(pending->channels, &pending->transit));
	gy_pending_open_end(pending->group->homes);
	drop_pending(pending);
}

/*
 * Spawns the actor of a socket, with the mutex held that guards the number of loops. Takes the seed
 * with its descriptor, whatever is returned.
 */
int gy_datagram_place(struct gy_datagram_pending *pending, uint32_t loop)
{
	struct gy_datagram_group *group = pending->group;
	struct gy_home *home = &group->homes->homes[loop];
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_outside(&gyre_type_gy_datagram_argument);
	int r = mail == NULL ? -ENOMEM : 0;

	group->entry.fds[pending->number] = pending->transit.fd;
	gy_datagram_pending_begin(pending, channels);
	if (r == 0) {
		((struct gy_datagram_argument *)gyre_payload(mail))->pending = pending;
		r = gy_spawn_from_outside(home,
					  &(struct gy_spawn_order){ .class = &gy_datagram_class,
								    .argument = mail,
								    .channels_actor = true,
								    .lent = true },
					  &group->stands[pending->number].actor);
	}
	if (r < 0) {
		group->entry.fds[pending->number] = -1;
		gy_datagram_pending_abort(pending, NULL, mail);
	}
	return r;
}

/* ---- the actor ---- */

struct state {
	struct gy_channels *channels;
	struct gy_datagram_pending *pending;
	struct gy_house *house;
	struct gyre_address self;
	struct gyre_address owner; /* of the channel: the actor of the program; nobody for none */
	struct gy_datagram_orders orders;
	bool told; /* subscribers have heard that it listens */
};

static void tell(const struct state *state, enum gyre_listening_step step, int reason)
{
	const struct gy_datagram_pending *pending = state->pending;

	gy_listening_tell(state->channels->home, step, &pending->address,
			  pending->group->entry.text, reason);
}

/* Its channel has begun. One with a peer does not listen. */
static void begins(void *arg)
{
	struct state *state = (struct state *)arg;

	state->told = !state->pending->connected && state->orders.peer.bytes == 0;
	if (state->told) {
		tell(state, GYRE_LISTENING_BEGUN, 0);
	}
}

/* Phase 1. */
static void channel_ended(void *arg)
{
	struct gy_house *house = ((struct state *)arg)->house;

	if (house->status != GY_HOUSE_STOPPING) {
		(void)gy_send_signal(house->home, gy_house_address(house), &gy_type_stop,
				     GY_MAIL_EVENT);
	}
}

/* It is not passed on any more, unless it is another's by now; its file goes with it. -1 for one
 * that was closed on the way. */
static void closes(void *arg, int fd)
{
	struct state *state = (struct state *)arg;
	const struct gy_datagram_pending *pending = state->pending;
	struct gy_socket_entry *entry = &pending->group->entry;

	(void)pthread_mutex_lock(&pending->group->homes->placing);
	if (fd < 0 || entry->fds[pending->number] == fd) {
		entry->fds[pending->number] = -1;
		if (pending->number == 0) {
			gy_socket_entry_remove_file(pending->group->homes, entry);
		}
	}
	(void)pthread_mutex_unlock(&pending->group->homes->placing);
	if (state->told) {
		state->told = false;
		tell(state, GYRE_LISTENING_ENDED, 0);
	}
}

/* A socket like this one, with all that is in it, for an actor of another loop. */
static int send_away(const struct state *state, int fd)
{
	struct gy_datagram_pending *own = state->pending;
	struct gy_datagram_pending *pending =
		(struct gy_datagram_pending *)gy_memory_get(sizeof(*pending));
	struct gy_homes *homes = own->group->homes;
	int r = 0;

	if (pending == NULL) {
		return -ENOMEM;
	}
	*pending = *own;
	pending->orders = own->orders && state->orders.connector.step != GY_CONNECTOR_ORDERED;
	pending->transit = (struct gy_fd_transit){ .discard = gy_datagram_pending_discard,
						   .fd = gy_descriptor_duplicate(fd, 0) };
	if (pending->transit.fd < 0) {
		r = pending->transit.fd;
		gy_memory_put(pending);
		return r;
	}
	own->changes = NULL; /* they go with the socket */
	(void)gy_fetch_add(&pending->group->references, 1);
	(void)pthread_mutex_lock(&homes->placing);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only @transit of the copy is new */
	if (pending->group->entry.ended) {
		(void)gy_descriptor_close(pending->transit.fd);
		drop_pending(pending);
	} else {
		r = gy_datagram_place(pending, pending->number % gy_loops_count(homes->loops));
	}
	(void)pthread_mutex_unlock(&homes->placing);
	return r;
}

static void leave(void *arg, int fd)
{
	const struct state *state = (const struct state *)arg;
	int r = 0;

	if (!gy_load_acquire(
		    &state->pending->group->entry.handed_over)) { /* else it is elsewhere */
		r = send_away(state, fd);
	}
	if (r < 0) {
		gy_log(log_of(state->channels), GYRE_LOG_WARNING,
		       "loop %u: it retires, and its datagrams cannot go to another: %s",
		       (unsigned)state->channels->home->loop.index, strerrordesc_np(-r));
	}
}

/* The channel may have an actor of its own, or have come here when that ended. */
void gy_datagram_leave(struct gy_house *house)
{
	const struct state *state = (const struct state *)house->state;
	struct gy_house *owner =
		gy_house_find_occupied(house->home, state->owner.slot, state->owner.cookie);

	gy_endpoints_leave(house);
	if (owner != NULL) {
		gy_endpoints_leave(owner);
	}
}

/* ---- the report ---- */

static void report(const struct gy_datagram_pending *pending, struct gyre_handler_context *ctx,
		   enum gyre_datagram_step step)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_datagram_event event = { .step = step,
					     .reason = gyre_channel_reason(channel),
					     .channel = gyre_channel_address(channel) };

	/* The descriptor is an open socket: this cannot fail. */
	(void)gyre_channel_local_address(channel, &event.address);
	pending->report(gyre_context_stack(ctx), &event, channel, pending->report_arg);
}

static void reporter_removed(struct gyre_handler_context *ctx)
{
	report((const struct gy_datagram_pending *)gyre_context_arg(ctx), ctx,
	       GYRE_DATAGRAM_CLOSED);
}

/* Its handlers may have had it bound elsewhere. */
static void reporter_active(struct gyre_handler_context *ctx)
{
	report((const struct gy_datagram_pending *)gyre_context_arg(ctx), ctx, GYRE_DATAGRAM_BOUND);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler reporter = { .active = reporter_active,
					      .removed = reporter_removed };

/* A channel on its way to its owner. */
struct opened {
	struct gy_datagram_pending *pending;
	const struct gy_channel_order *order; /* to the actor of the program; NULL for none */
};

static int init_channel(struct gyre_channel *channel, void *arg)
{
	const struct opened *opened = (const struct opened *)arg;
	struct gy_datagram_pending *pending = opened->pending;
	int r = 0;

	if (opened->order != NULL) {
		gy_channel_attach(channel, opened->order);
	}
	if (pending->report != NULL) {
		r = gyre_pipeline_add(channel, GYRE_FIRST, &reporter, pending);
	}
	return r < 0 ? r : pending->init_channel(channel, pending->init_arg);
}

/* ---- the life of the actor ---- */

/* Opens the channel as one of the house of @stack, or closes the descriptor. */
static int open_channel(struct state *state, struct gy_stack *stack, int fd,
			const struct gy_channel_order *order)
{
	struct gy_datagram_pending *pending = state->pending;
	struct opened opened = { .pending = pending, .order = order };
	struct gy_datagram_opening opening = {
		.channel = { .fd = fd,
			     .options = &pending->channel,
			     .init = init_channel,
			     .init_arg = &opened },
		.begins = begins,
		.closes = closes,
		.ended = channel_ended,
		.ended_arg = state,
		.leave = leave,
		.connected = pending->connected,
		.is_unix = pending->is_unix,
		.batched = pending->batched,
	};

	if (pending->orders) {
		gy_datagram_orders_init(&state->orders, pending, state->house, fd);
		opening.connector = &state->orders.connector;
	}
	return gy_datagram_open(stack->house, stack, &opening);
}

/* The channel is open, or will not be. */
static void tell_opened(const struct state *state, int r)
{
	const struct gy_datagram_pending *pending = state->pending;
	struct gy_home *home = state->channels->home;

	if (r < 0 && !pending->connected) {
		tell(state, GYRE_LISTENING_FAILED, r);
	}
	if (r == -ENOMEM && !state->channels->draining) {
		gy_pending_open_fail(home, "opening", &pending->address, pending->group->entry.text,
				     r);
	} else {
		gy_pending_open_end(gy_homes_of(home->options.system));
	}
}

static void forget_fd(const struct state *state, int fd)
{
	closes((void *)(uintptr_t)state, fd);
	gy_channels_close(state->channels, fd);
}

/* Another process may have taken the socket before the channel was there. */
static int open_ordered(const struct gy_channel_order *order, struct gy_stack *stack)
{
	struct state *state = (struct state *)order->maker;
	int r = open_channel(state, stack, order->fd, order);

	state->owner = gy_house_address(stack->house);
	if (r == 0 && gy_load_acquire(&state->pending->group->entry.handed_over)) {
		gy_endpoints_leave(stack->house);
	}
	state->channels->unclaimed--;
	tell_opened(state, r);
	if (r < 0) {
		gy_house_request_stop(state->house, r);
	}
	return r;
}

static void drop_ordered(const struct gy_channel_order *order)
{
	struct state *state = (struct state *)order->maker;

	state->channels->unclaimed--;
	forget_fd(state, order->fd);
	tell_opened(state, -ENOMEM);
	gy_house_request_stop(state->house, -ENOMEM);
}

static const struct gy_channel_order_ops order_ops = { .open = open_ordered, .drop = drop_ordered };

/* Takes the descriptor; what becomes of it is told later, whatever is returned. */
static int spawn_owner(struct gyre_stack *stack, struct state *state, int fd)
{
	const struct gy_datagram_pending *pending = state->pending;
	const struct gy_channel_order order = { .ops = &order_ops,
						.maker = state,
						.arg = pending->init_arg,
						.fd = fd,
						.bond = pending->bond };

	state->channels->unclaimed++;
	return gy_channel_actor_spawn(gy_stack_of(stack), pending->actor_class, &order);
}

static int mount(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_channels *channels = gy_channels_of(s->home);
	struct state *state = (struct state *)gyre_state(stack);
	struct gy_datagram_argument argument;
	int fd;
	int r = gyre_message_move(stack, &gyre_type_gy_datagram_argument, &argument);

	if (r < 0) {
		return r;
	}
	*state = (struct state){ .channels = channels,
				 .pending = argument.pending,
				 .house = s->house,
				 .self = gyre_self(stack) };
	fd = gy_fd_transit_end(channels, &argument.pending->transit);
	if (fd < 0 || channels->draining) {
		forget_fd(state, fd);
		gy_pending_open_end(gy_homes_of(s->home->options.system));
		return gyre_stop(stack, gyre_self(stack));
	}
	if (argument.pending->actor_class != NULL) {
		r = spawn_owner(stack, state, fd);
		return r < 0 ? r : gyre_return(stack);
	}
	r = open_channel(state, s, fd, NULL);
	tell_opened(state, r);
	return r < 0 ? r : gyre_return(stack);
}

static void stopped(struct gy_socket_order *stop)
{
	gy_datagram_group_unref(gy_container_of(stop, struct gy_datagram_stand, stop)->group);
}

void gy_datagram_stop(struct gy_datagram_group *group, uint32_t number)
{
	struct gy_datagram_stand *stand = &group->stands[number];

	gy_assert(number < group->count);
	gy_socket_entry_stop(group->homes, &stand->stop, stand->actor, stopped, &group->references);
}

static void stop_others(struct gy_datagram_group *group)
{
	group->entry.ended = true;
	for (uint32_t i = 1; i < group->count; i++) {
		gy_datagram_stop(group, i);
	}
}

static void lose(struct gy_datagram_pending *pending)
{
	struct gy_datagram_group *group = pending->group;
	struct gy_home *home = pending->channels->home;

	if (home->draining) { /* the socket goes with all that is on its way */
		gy_pending_open_end(group->homes);
		return;
	}
	(void)pthread_mutex_lock(&group->homes->placing);
	group->entry.fds[pending->number] = -1;
	group->stands[pending->number].actor = GYRE_NOBODY;
	if (pending->number == 0) {
		gy_socket_entry_remove_file(group->homes, &group->entry);
		stop_others(group);
	}
	(void)pthread_mutex_unlock(&group->homes->placing);
	gy_channels_close(pending->channels,
			  gy_fd_transit_end(pending->channels, &pending->transit));
	gy_pending_open_fail(home, "opening", &pending->address, group->entry.text, -ENOMEM);
	if (!pending->connected) {
		gy_listening_tell(home, GYRE_LISTENING_FAILED, &pending->address, group->entry.text,
				  -ENOMEM);
	}
	drop_pending(pending);
}

void gy_datagram_argument_destroy(struct gy_datagram_argument *argument)
{
	if (argument->pending != NULL) {
		lose(argument->pending);
	}
}

/* The others end with the first; a drain or another process stops them without help. */
static void leave_group(const struct state *state)
{
	struct gy_datagram_group *group = state->pending->group;
	struct gyre_address *actor = &group->stands[state->pending->number].actor;

	(void)pthread_mutex_lock(&group->homes->placing);
	if (gy_address_same(*actor, state->self)) {
		*actor = GYRE_NOBODY;
	}
	if (state->pending->number == 0 && !state->channels->draining &&
	    !group->entry.handed_over) {
		stop_others(group);
	}
	(void)pthread_mutex_unlock(&group->homes->placing);
}

static void clean(void *arg)
{
	struct state *state = (struct state *)arg;

	if (state->pending != NULL) {
		leave_group(state);
		gy_datagram_pending_discard(state->channels, &state->pending->transit);
	}
}

const struct gyre_class gy_datagram_class = {
	.name = "datagram",
	.state_bytes = sizeof(struct state),
	.mount = mount,
	.clean = clean,
	.keep_children = true,
	.supervision.decision = GYRE_DECISION_STOP,
};
