/*
 * The node itself: its options, and its beginning and end.
 */
#include "remote/node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/listen.h>
#include <gyre/name.h>

#include "base/memory/memory.h"
#include "base/sized.h"
#include "channel/tls/tls.h"
#include "net/listen/listener.h"
#include "net/texts.h"
#include "remote/link/link.h"
#include "remote/link/links.h"
#include "remote/membership.h"
#include "remote/node_address.h"
#include "remote/peer/dial_only.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"
#include "remote/secret.h"
#include "remote/types.h"

/* Of the file of a Unix socket: whoever may connect is checked besides. */
enum { MODE_ALONE = 0600, MODE_OF_ALL = 0666, MODE_MAX = 0777 };
/* Lines about those that have dialled, and are refused, in a minute. */
enum { REFUSALS_MAX = 20, REFUSALS_MS = 60000 };

/* ---- options ---- */

struct bounded {
	const char *name;
	uint64_t value;
	uint64_t min;
	uint64_t max;
};

static int check_all(const struct gyre_node_options *o, const struct gy_log *log)
{
	const struct bounded all[] = {
		{ "link_bytes_max", o->link_bytes_max, GY_WINDOW_BYTES_MIN, 1 << 30 },
		{ "message_bytes_max", o->message_bytes_max, 64, 1 << 24 },
		{ "listen_wait_ns", o->listen_wait_ns, GYRE_MILLISECONDS(1), GYRE_SECONDS(60) },
		{ "greetings_max", o->greetings_max, 1, 1 << 16 },
		{ "greeting_ns", o->greeting_ns, GYRE_MILLISECONDS(10), GYRE_SECONDS(60) },
		{ "heartbeat_ns", o->heartbeat_ns, GYRE_MILLISECONDS(10), GYRE_SECONDS(60) },
		{ "suspect_ns", o->suspect_ns, o->heartbeat_ns + 1, GYRE_SECONDS(3600) },
		{ "down_ns", o->down_ns, o->suspect_ns + 1, GYRE_SECONDS(3600) },
		{ "idle_ns", o->idle_ns, GYRE_SECONDS(1), GYRE_SECONDS(3600) },
		{ "redial_min_ns", o->redial_min_ns, GYRE_MILLISECONDS(1), GYRE_SECONDS(60) },
		{ "redial_max_ns", o->redial_max_ns, o->redial_min_ns, GYRE_SECONDS(3600) },
		{ "away_ns", o->away_ns, GYRE_MILLISECONDS(1), GYRE_SECONDS(3600) },
		{ "listen_mode", o->listen_mode, 1, MODE_MAX },
		{ "users_count", o->users_count, 0, GYRE_NODE_USERS_MAX },
		{ "watches_max", o->watches_max, 1, 1 << 24 },
		{ "bytes of cluster", strlen(o->cluster), 1, GYRE_NODE_NAME_BYTES_MAX },
		{ "id", o->id, 1, UINT16_MAX },
	};

	for (size_t i = 0; i < gy_countof(all); i++) {
		if (all[i].value < all[i].min || all[i].value > all[i].max) {
			gy_log(log, GYRE_LOG_ERROR,
			       "%s of the node is %" PRIu64 ": it must be from %" PRIu64
			       " to %" PRIu64,
			       all[i].name, all[i].value, all[i].min, all[i].max);
			return -EINVAL;
		}
	}
	return 0;
}

/* An address to listen on, where it is one of a Unix socket; others are looked at when they are
 * bound. */
static int check_unix(const char *name, const char *text, const struct gy_log *log)
{
	int r = gy_node_address_check(text);

	if (r < 0) {
		gy_log(log, GYRE_LOG_ERROR, "%s of the node is \"%s\": %s", name, text,
		       gy_node_address_remedy(r));
	}
	return r;
}

static int check_addresses(const struct gyre_node_options *o, const struct gy_log *log)
{
	int r = o->listen != NULL && gy_node_address_is_unix(o->listen)
			? check_unix("listen", o->listen, log)
			: 0;

	if (r < 0 || o->listen_local == NULL) {
		return r;
	}
	if (!gy_node_address_is_unix(o->listen_local)) {
		gy_log(log, GYRE_LOG_ERROR,
		       "listen_local of the node is \"%s\": it must be a Unix socket, as "
		       "unix:/run/node.socket",
		       o->listen_local);
		return -EINVAL;
	}
	return check_unix("listen_local", o->listen_local, log);
}

/* Copies the list: it is the caller's. */
static int keep_users(struct gy_nodes *nodes)
{
	struct gyre_node_options *o = &nodes->options;

	for (uint32_t i = 0; i < o->users_count; i++) {
		if (o->users == NULL || o->users[i] == UINT32_MAX) {
			gy_log(nodes->log, GYRE_LOG_ERROR,
			       "users of the node has no user at place %u of %u: give it as many "
			       "ids as users_count says",
			       i, o->users_count);
			return -EINVAL;
		}
		nodes->users[i] = o->users[i];
	}
	o->users = o->users_count == 0 ? NULL : nodes->users;
	return 0;
}

static uint64_t or_else(uint64_t value, uint64_t preset)
{
	return value == 0 ? preset : value;
}

static struct gyre_node_options resolve(const struct gyre_node_options *options)
{
	struct gyre_node_options o = *options;

	o.cluster = o.cluster == NULL ? "gyre" : o.cluster;
	o.link_bytes_max = (uint32_t)or_else(o.link_bytes_max, 1 << 22);
	o.message_bytes_max = (uint32_t)or_else(o.message_bytes_max, 1 << 24);
	o.listen_wait_ns = or_else(o.listen_wait_ns, GYRE_SECONDS(5));
	o.greetings_max = (uint32_t)or_else(o.greetings_max, 1024);
	o.greeting_ns = or_else(o.greeting_ns, GYRE_SECONDS(5));
	o.heartbeat_ns = or_else(o.heartbeat_ns, GYRE_SECONDS(1));
	o.suspect_ns = or_else(o.suspect_ns, GYRE_SECONDS(3));
	o.down_ns = or_else(o.down_ns, GYRE_SECONDS(10));
	o.idle_ns = or_else(o.idle_ns, GYRE_SECONDS(300));
	o.redial_min_ns = or_else(o.redial_min_ns, GYRE_MILLISECONDS(100));
	o.redial_max_ns = or_else(o.redial_max_ns, GYRE_SECONDS(10));
	o.away_ns = or_else(o.away_ns, GYRE_SECONDS(5));
	o.watches_max = (uint32_t)or_else(o.watches_max, 1 << 20);
	o.listen_mode =
		(uint32_t)or_else(o.listen_mode, o.users_count == 0 ? MODE_ALONE : MODE_OF_ALL);
	return o;
}

static struct gy_nodes *nodes_of(const struct gyre_system *system)
{
	return system == NULL ? NULL : gy_homes_of_const(system)->nodes;
}

int gy_node_peer_found(struct gyre_system *system, const struct gyre_node_peer *told)
{
	return gy_peer_add(nodes_of(system), told);
}

/* ---- life ---- */

/* No life is 0, which stands for none. */
static int make_incarnation(uint64_t *ret_incarnation)
{
	int r;

	do {
		r = gy_secret_random(ret_incarnation, sizeof(*ret_incarnation));
	} while (r == 0 && gy_life_of(*ret_incarnation) == 0);
	return r;
}

static int init_types(struct gy_nodes *nodes)
{
	const struct gyre_type *bad = NULL;
	int r = gy_types_init(&nodes->types, nodes->options.types, &bad);

	if (bad != NULL) {
		gy_log(nodes->log, GYRE_LOG_ERROR, "message type %s (0x%x): %s", bad->name, bad->id,
		       r == -EEXIST ? "another type of the node has that id"
				    : "it owns something and has no encoding, or its id is "
				      "gyre's own");
	}
	nodes->options.types = NULL; /* the caller's */
	return bad == NULL ? r : -EINVAL;
}

static int check_tls(const struct gy_nodes *nodes)
{
	if (nodes->options.tls != NULL && !gy_tls_context_serves(nodes->options.tls, true)) {
		gy_log(nodes->log, GYRE_LOG_ERROR,
		       "tls of the node has no certificate or no CA: links need both");
		return -EINVAL;
	}
	return 0;
}

static int init(struct gy_nodes *nodes)
{
	int r = check_all(&nodes->options, nodes->log);

	if (r == 0) {
		r = check_addresses(&nodes->options, nodes->log);
	}
	if (r == 0) {
		r = keep_users(nodes);
	}
	if (r == 0) {
		r = check_tls(nodes);
	}
	if (r == 0) {
		r = make_incarnation(&nodes->incarnation);
	}
	if (r == 0) {
		(void)snprintf(nodes->cluster, sizeof(nodes->cluster), "%s",
			       nodes->options.cluster);
		nodes->options.cluster = nodes->cluster;
		r = gy_secrets_init(nodes);
	}
	if (r == 0) {
		r = init_types(nodes);
	}
	return r;
}

int gy_nodes_create(const struct gyre_node_options *options, const struct gy_nodes_life *life,
		    struct gy_nodes **ret_nodes)
{
	struct gy_nodes *nodes = (struct gy_nodes *)gy_memory_get(sizeof(*nodes));
	int r;

	if (nodes == NULL) {
		return -ENOMEM;
	}
	nodes->options = resolve(options);
	nodes->listens = options->listen != NULL || options->listen_local != NULL;
	gy_remote_ops_for(nodes);
	(void)gyre_tls_context_ref(nodes->options.tls);
	nodes->homes = life->homes;
	nodes->log = life->log;
	nodes->look_up = life->look_up;
	nodes->declared_down = life->declared_down;
	nodes->peer_lost = life->peer_lost;
	nodes->loops_max = life->loops_max;
	gy_log_limit_init(&nodes->refusals, REFUSALS_MAX, REFUSALS_MS);
	gy_log_limit_init(&nodes->watches_refused, 1, REFUSALS_MS);
	(void)pthread_mutex_init(&nodes->mutex, NULL);
	nodes->links = (struct gy_links *)gy_memory_get(life->loops_max * sizeof(*nodes->links));
	r = nodes->links == NULL ? -ENOMEM : init(nodes);
	if (r < 0) {
		gy_nodes_destroy(nodes);
		return r;
	}
	*ret_nodes = nodes;
	return 0;
}

static int keep_text(const char *text, char **ret_kept)
{
	char *place;

	gy_assert(*ret_kept == NULL);
	*ret_kept = (char *)gy_memory_get(gy_text_bytes(text));
	if (*ret_kept == NULL) {
		return -ENOMEM;
	}
	place = *ret_kept;
	(void)gy_text_keep(text, &place);
	return 0;
}

/* Keeps the address that it listens on; others cannot dial port 0. */
static int keep_listen(struct gy_nodes *nodes, const struct gyre_socket_address *bound)
{
	const char *text = nodes->options.listen;
	const char *port = strrchr(text, ':');
	char is_at[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int r = gyre_socket_address_format(bound, sizeof(is_at), is_at);

	if (r < 0) {
		return r;
	}
	if (gy_node_address_is_unix(is_at)) {
		memcpy(nodes->told_address, is_at, sizeof(is_at));
	}
	if (port != NULL && strcmp(port, ":0") == 0) {
		text = is_at;
	}
	r = keep_text(text, &nodes->listen);
	nodes->options.listen = nodes->listen;
	return r;
}

static int bind_and_listen(struct gy_nodes *nodes, struct gyre_system *system, const char *text,
			   struct gyre_socket_address *ret_bound)
{
	const struct gyre_acceptor_options acceptor = { .bind = text,
							.init_channel = gy_link_accept,
							.mode = nodes->options.listen_mode,
							.wait_ns = nodes->options.listen_wait_ns,
							.ret_address = ret_bound };

	return gy_system_listen_while_busy(system, &acceptor);
}

static int listen_on(struct gy_nodes *nodes, struct gyre_system *system)
{
	struct gyre_socket_address bound = { 0 };
	int r = bind_and_listen(nodes, system, nodes->options.listen, &bound);

	if (r == 0 && nodes->secrets_count == 0 && nodes->options.tls == NULL &&
	    !nodes->options.allow_public && gy_node_address_is_public(&bound)) {
		gy_log(nodes->log, GYRE_LOG_ERROR,
		       "node %u is not to listen on %s without a secret or TLS: give it one, or "
		       "allow it by allow_public",
		       nodes->options.id, nodes->options.listen);
		r = -EPERM;
	}
	if (r == 0) {
		nodes->port = gyre_socket_address_port(&bound);
		r = keep_listen(nodes, &bound);
	}
	return r;
}

/* Peers of the machine are told this address rather than the other one. */
static int listen_locally(struct gy_nodes *nodes, struct gyre_system *system)
{
	struct gyre_socket_address bound = { 0 };
	int r = bind_and_listen(nodes, system, nodes->options.listen_local, &bound);

	if (r == 0) {
		r = gyre_socket_address_format(&bound, sizeof(nodes->told_address),
					       nodes->told_address);
	}
	if (r >= 0) {
		r = keep_text(nodes->options.listen_local, &nodes->listen_local);
		nodes->options.listen_local = nodes->listen_local;
	}
	return r;
}

void gy_nodes_add_home(struct gy_nodes *nodes, struct gy_home *home)
{
	gy_links_init(&nodes->links[home->loop.index], nodes, home);
}

int gy_nodes_start(struct gy_nodes *nodes, struct gyre_system *system)
{
	int r = nodes->options.listen == NULL ? 0 : listen_on(nodes, system);

	if (r == 0 && nodes->options.listen_local != NULL) {
		r = listen_locally(nodes, system);
	}
	return r < 0 ? r : gy_membership_start(nodes, system);
}

void gy_nodes_destroy(struct gy_nodes *nodes)
{
	if (nodes == NULL) {
		return;
	}
	gy_membership_stop(nodes);
	for (uint32_t i = 0; nodes->links != NULL && i < gy_homes_made(nodes->homes); i++) {
		gy_links_fini(&nodes->links[i]);
	}
	gy_memory_put(nodes->links);
	gy_types_fini(&nodes->types);
	gy_peers_fini(nodes);
	gy_memory_put(nodes->watchers);
	(void)pthread_mutex_destroy(&nodes->mutex);
	gy_secrets_fini(nodes);
	gyre_tls_context_unref(nodes->options.tls);
	gy_memory_put(nodes->listen);
	gy_memory_put(nodes->listen_local);
	gy_memory_put(nodes);
}

/* ---- what users see ---- */

uint16_t gyre_system_node_id(const struct gyre_system *system)
{
	const struct gy_nodes *nodes = nodes_of(system);

	return nodes == NULL ? 0 : nodes->options.id;
}

uint16_t gyre_system_node_port(const struct gyre_system *system)
{
	const struct gy_nodes *nodes = nodes_of(system);

	return nodes == NULL ? 0 : nodes->port;
}

int gyre_system_node_resolved_options_sized(const struct gyre_system *system,
					    struct gyre_node_options *ret_options,
					    size_t ret_options_bytes)
{
	const struct gy_nodes *nodes = nodes_of(system);

	if (nodes == NULL || ret_options == NULL) {
		return -EINVAL;
	}
	gy_sized_write(ret_options, ret_options_bytes, &nodes->options, sizeof(nodes->options));
	return 0;
}

int gyre_system_node_add_peer(struct gyre_system *system, const struct gyre_node_peer *peer)
{
	const struct gy_nodes *nodes = nodes_of(system);

	return nodes == NULL || peer == NULL || peer->address == NULL
		       ? -EINVAL
		       : gy_node_peer_found(system, peer);
}

static int get_status(const struct gyre_system *system, uint16_t id,
		      struct gyre_node_status *ret_status)
{
	const struct gy_nodes *nodes = nodes_of(system);
	const struct gy_peer *peer;

	if (nodes == NULL || ret_status == NULL) {
		return -EINVAL;
	}
	peer = gy_peer_find(nodes, id);
	if (peer == NULL) {
		return -ENOENT;
	}
	*ret_status = (struct gyre_node_status){
		.incarnation = gy_load_relaxed(&peer->incarnation),
		.state = (enum gyre_node_state)gy_load_relaxed(&peer->state),
		.links = gy_load_relaxed(&peer->links),
		.sent = gy_load_relaxed(&peer->sent),
		.received = gy_load_relaxed(&peer->received),
		.lost = gy_load_relaxed(&peer->lost),
		.watchers = gy_lives_watchers(&peer->lives),
	};
	return 0;
}

int gyre_system_node_status_sized(const struct gyre_system *system, uint16_t id,
				  struct gyre_node_status *ret_status, size_t ret_status_bytes)
{
	struct gyre_node_status whole;
	int r = get_status(system, id, ret_status == NULL ? NULL : &whole);

	if (r == 0) {
		gy_sized_write(ret_status, ret_status_bytes, &whole, sizeof(whole));
	}
	return r;
}
