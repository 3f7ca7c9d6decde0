/*
 * How a link gets its connection. Each dial is a client of the net floor with one round; whether
 * and when there is another is decided here, since only here it is known whether a connection that
 * came about was of any use: one that the peer refuses is a failure too, and its pause longer than
 * the one before.
 *
 * A link dials when there is something to say; and again while it has been used lately, while
 * somebody watches an actor there or nodes at all, while it is not known what has become of a peer
 * whose links broke, and while a peer that lives has not confirmed all: what it watches here may
 * have ended, and it watches anew only when the next link comes. So whatever waits has a dial, or a
 * pause before one, to wait for.
 *
 * A loop that does not take part, because it retires or has not been announced yet, dials nobody.
 */
#include "remote/link/link_dial.h"

#include <errno.h>

#include <gyre/connect.h>

#include "base/memory/memory.h"
#include "base/random.h"
#include "net/connect/dial.h"
#include "remote/link/in_flight.h"
#include "remote/link/link.h"
#include "remote/link/link_beat.h"
#include "remote/link/link_event.h"
#include "remote/link/link_flush.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "remote/node_address.h"
#include "remote/peer/one_way.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_state.h"
#include "remote/wire.h"

enum { JITTER_PERCENT = 10 };

static bool is_wanted(const struct gy_link *link)
{
	const struct gy_nodes *nodes = link->links->nodes;

	return link->waiting != NULL || gy_link_has(link, GY_LINK_FLAG_PINNED) ||
	       gy_link_has(link, GY_LINK_FLAG_PEER_UNSURE) ||
	       (gy_link_has(link, GY_LINK_FLAG_UNACKNOWLEDGED) && gy_peer_is_alive(link->peer)) ||
	       gy_load_relaxed(&nodes->watchers_count) > 0 ||
	       link->links->home->loop.now_ns - link->used_ns <= nodes->options.idle_ns;
}

static uint64_t pause_of(struct gy_link *link)
{
	const struct gyre_node_options *options = &link->links->nodes->options;
	uint64_t pause_ns = options->redial_min_ns;

	for (uint32_t i = 1; i < link->failures && pause_ns < options->redial_max_ns; i++) {
		pause_ns *= 2;
	}
	pause_ns = pause_ns < options->redial_max_ns ? pause_ns : options->redial_max_ns;
	return pause_ns -
	       gy_random_next(&link->links->random) % (pause_ns / 100 * JITTER_PERCENT + 1);
}

static void start_pause(struct gy_link *link)
{
	if (!link->links->draining && !gy_timer_is_started(&link->redial)) {
		gy_timer_start(&link->links->home->loop.wheel, &link->redial, pause_of(link));
	}
}

/* The connection has ended, or there was none. */
static void dial_ended(struct gy_link *link, int reason)
{
	bool again = gy_link_has(link, GY_LINK_FLAG_CLOSING) &&
		     link->waiting != NULL; /* it was closed just as somebody came */

	gy_link_clear(link, GY_LINK_FLAG_HAS_CLIENT);
	if (gy_link_has(link, GY_LINK_FLAG_GREETED)) {
		link->failures = 0;
	} else {
		link->failures += link->failures < UINT32_MAX;
		gy_peer_dial_failed(link->links, link->peer);
		gy_peer_unreachable(link, reason);
		gy_link_publish(link, GYRE_LINK_FAILED, reason);
	}
	if (gy_link_has(link, GY_LINK_FLAG_REDIAL_AT_ONCE)) {
		gy_link_clear(link, GY_LINK_FLAG_REDIAL_AT_ONCE);
		link->failures = 0;
		again = is_wanted(link);
	}
	if (again && !link->links->draining) {
		gy_link_ensure_dialled(link);
	} else {
		start_pause(link);
	}
}

static void report(struct gyre_stack *stack, const struct gyre_connection *connection,
		   struct gyre_channel *channel, void *arg)
{
	struct gy_link *link = (struct gy_link *)arg;

	(void)stack;
	(void)channel;
	if (connection->step == GYRE_CONNECTION_OPEN) {
		gy_link_set(link, GY_LINK_FLAG_CONNECTED);
	} else if (connection->step == GYRE_CONNECTION_GIVEN_UP) {
		dial_ended(link, connection->reason);
	}
}

/* There was no memory for the client, whose report is never called then. */
static void lost(void *arg, int error)
{
	dial_ended((struct gy_link *)arg, error);
}

static int call(struct gy_link *link, const char *address)
{
	const struct gy_links *links = link->links;
	const struct gyre_connect_options connect = {
		.to = address,
		.init_channel = gy_link_init_channel,
		/* The peer sends credit, which a full link waits for. */
		.channel = { .keep_reading = true },
		.init_arg = link,
		.report = report,
		.report_arg = link,
		.place = { .place = GYRE_PLACE_LOOP, .loop = links->home->loop.index },
	};
	struct gyre_address socket;

	if (!gy_links_may_dial(links)) {
		return -ESHUTDOWN;
	}
	link->local = gy_node_address_is_unix(address);
	gy_link_set_address(link, address);
	return gy_connect_or_lose(links->home->options.system, &connect, lost, &socket);
}

int gy_link_dial(struct gy_link *link)
{
	bool in_pause = gy_timer_is_started(&link->redial);
	char *address = NULL;
	int r;

	if (gy_link_has(link, GY_LINK_FLAG_HAS_CLIENT)) {
		return 0;
	}
	if (link->ctx == NULL && gy_in_flight_reset(link) < 0) {
		return -ENOMEM;
	}
	r = gy_peer_address(link->peer, &address);
	if (r == -ENOMEM) {
		return r; /* which says nothing of the peer */
	}
	r = r < 0 || in_pause ? r : call(link, address);
	gy_memory_put(address);
	if (r < 0) {
		gy_peer_unreachable(link, r);
	}
	if (r == 0 && !in_pause) {
		gy_link_set(link, GY_LINK_FLAG_HAS_CLIENT);
		link->flags &= ~(uint32_t)GY_LINK_CONNECTION_FLAGS;
		gy_links_start_beat(link->links);
	}
	return r;
}

void gy_link_ensure_dialled(struct gy_link *link)
{
	if (gy_link_dial(link) < 0) {
		start_pause(link);
		gy_links_start_beat(link->links);
	}
}

/* The pause is over. Without an address there may be one after the next. */
static void dial_again(struct gy_timer *timer)
{
	struct gy_link *link = gy_container_of(timer, struct gy_link, redial);

	if (gy_link_has(link, GY_LINK_FLAG_PEER_UNSURE) && !gy_links_may_dial(link->links)) {
		gy_link_clear(link, GY_LINK_FLAG_PEER_UNSURE);
		gy_link_examine(link->links, link->peer); /* by loop 0: this one retires */
	}
	if (is_wanted(link)) {
		gy_link_ensure_dialled(link);
	}
}

void gy_link_init_redial(struct gy_link *link)
{
	gy_timer_init(&link->redial, dial_again);
}
