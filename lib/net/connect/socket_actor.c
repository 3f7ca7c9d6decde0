/*
 * The socket actor: the channels actor of a client. It owns its connections, each a dial, and their
 * channels, unless the program names a class for the actors of these; all it does is done by them.
 *
 * The ask of who awaits the first connection waits in the stash until it is known how that ends.
 * The actor does not stop before it has answered.
 */
#include <errno.h>

#include "actor/mail/mailbox.h"
#include "actor/mail/stash.h"
#include "actor/stack/stack.h"
#include "net/connect/dial.h"
#include "net/pending_open.h"

static int start(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_socket *socket = (struct gy_socket *)gyre_state(stack);
	struct gy_connect_argument argument;
	int r = gyre_message_move(stack, &gyre_type_gy_connect_argument, &argument);

	if (r < 0) {
		return r;
	}
	socket->order = argument.order;
	socket->order->home = NULL;
	socket->channels = gy_channels_of(s->home);
	socket->house = s->house;
	socket->random = gy_home_number(s->home) ^ s->home->loop.now_ns;
	if (socket->channels->draining) {
		return gyre_stop(stack, gyre_self(stack));
	}
	socket->dials = (struct gy_dial *)gy_memory_get(socket->order->options.connections *
							sizeof(*socket->dials));
	if (socket->dials == NULL) {
		return -ENOMEM;
	}
	while (socket->count < socket->order->options.connections && r == 0) {
		r = gy_dial_init(&socket->dials[socket->count], socket, s->house, socket->count);
		socket->count += r == 0;
	}
	return r < 0 ? r : gyre_return(stack);
}

static int mount(struct gyre_stack *stack)
{
	struct gy_home *home = gy_stack_of(stack)->home;
	const struct gy_socket *socket = (const struct gy_socket *)gyre_state(stack);
	int r = start(stack);

	if (r == -ENOMEM) {
		gy_connect_order_lost(home, socket->order);
	} else {
		gy_pending_open_end(gy_homes_of(home->options.system));
	}
	return r;
}

/* ---- who awaits the first connection ---- */

static bool is_over(const struct gy_socket *socket)
{
	return socket->count > 0 && socket->given_up == socket->count;
}

void gy_socket_connected(struct gy_socket *socket, const struct gyre_connected *connected)
{
	socket->connected = true;
	socket->order->connected = *connected;
	(void)gy_house_unstash(socket->house, UINT32_MAX);
}

void gy_socket_gave_up(struct gy_socket *socket, int reason)
{
	gy_assert(socket->given_up < socket->count);
	socket->given_up++;
	if (!is_over(socket)) {
		return;
	}
	socket->reason = reason;
	if (socket->order->awaited && !socket->order->answered) {
		(void)gy_house_unstash(socket->house, UINT32_MAX);
	} else {
		gy_house_request_stop(socket->house, reason);
	}
}

/* Nothing is tried any more, and nobody hears of it otherwise before the actor has stopped. */
static bool is_drained(const struct gy_socket *socket)
{
	return socket->drained == socket->count;
}

void gy_socket_drained(struct gy_socket *socket)
{
	gy_assert(socket->drained < socket->count);
	socket->drained++;
	if (is_drained(socket) && socket->house->status != GY_HOUSE_STOPPING) {
		(void)gy_house_unstash(socket->house, UINT32_MAX);
	}
}

static int ask(struct gyre_stack *stack)
{
	const struct gy_socket *socket = (const struct gy_socket *)gyre_state(stack);
	struct gy_connect_order *order = socket->order;

	if (gyre_message(stack, gy_await_connection) == NULL || !order->awaited) {
		return gyre_throw(stack, -ENOSYS);
	}
	if (!socket->connected && !is_over(socket) && !is_drained(socket)) {
		return gyre_stash(stack);
	}
	order->answered = true;
	if (is_over(socket)) {
		gy_house_request_stop(socket->house, socket->reason);
	}
	return socket->connected
		       ? gyre_reply(stack, gyre_new_copy(stack, gyre_connected, &order->connected))
		       : gyre_throw(stack, is_over(socket) ? socket->reason : -ESHUTDOWN);
}

/* All endpoints are closed. */
static void clean(void *state)
{
	struct gy_socket *socket = (struct gy_socket *)state;

	gy_memory_put(socket->dials);
	gy_memory_put(socket->order);
}

const struct gyre_class gy_socket_class = {
	.name = "socket",
	.state_bytes = sizeof(struct gy_socket),
	.behaviour = { .ask = ask },
	.mount = mount,
	.clean = clean,
	.keep_children = true,
	.supervision.decision = GYRE_DECISION_STOP,
};
