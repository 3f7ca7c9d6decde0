/*
 * The user at the other end of a Unix socket, as the kernel tells: of the process that dialled, the
 * effective user at that time; of the process that listens, the effective user when it began to
 * listen. It has to be the own one, or one of those in the options, or the connection ends before
 * anything is read from it or written to it.
 *
 * An accepted connection is checked before it becomes a link. One that is dialled has its own
 * handler for that, the first of its channel: TLS and the link behind it do not hear of a
 * connection that leads to another user.
 *
 * The own user is asked for each time, since a process may change it.
 */
#include "remote/link/link_user.h"

#include <errno.h>

#include "base/environment.h"
#include "base/log/log_limit.h"
#include "base/memory/memory.h"
#include "channel/channel.h"
#include "remote/link/link.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "ring/socket.h"

static bool is_allowed(const struct gyre_node_options *options, uid_t user)
{
	bool allowed = user == gy_environment_user();

	for (uint32_t i = 0; !allowed && i < options->users_count; i++) {
		allowed = user == options->users[i];
	}
	return allowed;
}

/* 0, -EPERM for another user, or why the kernel does not tell. */
static int check(const struct gy_nodes *nodes, const struct gyre_channel *channel,
		 struct ucred *ret_user)
{
	int r;

	*ret_user = (struct ucred){ .uid = (uid_t)-1 };
	r = gy_socket_option(channel->endpoint.fd, SOL_SOCKET, SO_PEERCRED, ret_user,
			     sizeof(*ret_user));
	if (r < 0) {
		return r;
	}
	return is_allowed(&nodes->options, ret_user->uid) ? 0 : -EPERM;
}

/* Whoever can connect can cause a line. */
static void log_accepted(struct gy_links *links, const struct ucred *user, int error)
{
	struct gy_nodes *nodes = links->nodes;
	char note[GY_LOG_NOTE_BYTES];

	if (gy_log_limit_admit(&nodes->refusals, links->home->loop.now_ns)) {
		(void)gy_log_limit_note(&nodes->refusals, note);
		gy_log(nodes->log, GYRE_LOG_WARNING,
		       "node %u: a connection to its Unix socket is refused: it is of user %u, "
		       "process %d, and this node runs as user %u: %s; run both as one user, or "
		       "allow that one (users)%s",
		       nodes->options.id, user->uid, user->pid, gy_environment_user(),
		       strerror(-error), note);
	}
}

static void log_dialled(const struct gy_link *link, const struct ucred *user, int error)
{
	const struct gy_nodes *nodes = link->links->nodes;
	char *address = NULL;

	(void)gy_peer_address(link->peer, &address); /* of which the log does without */
	gy_log(nodes->log, GYRE_LOG_WARNING,
	       "node %u: a link to node %u is refused: at %s listens user %u, process %d, and this "
	       "node runs as user %u: %s; run both as one user, or allow that one (users)",
	       nodes->options.id, link->peer->id, address == NULL ? "its address" : address,
	       user->uid, user->pid, gy_environment_user(), strerror(-error));
	gy_memory_put(address);
}

int gy_link_user_check_accepted(struct gy_links *links, const struct gyre_channel *channel)
{
	struct ucred user;
	int r;

	if (channel->kind->type != GY_CHANNEL_UNIX_STREAM) {
		return 0;
	}
	r = check(links->nodes, channel, &user);
	if (r < 0) {
		log_accepted(links, &user, r);
	}
	return r;
}

static void active(struct gyre_handler_context *ctx)
{
	const struct gy_link *link = (const struct gy_link *)gyre_context_arg(ctx);
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct ucred user;
	int r = check(link->links->nodes, channel, &user);

	if (r < 0) {
		log_dialled(link, &user, r);
		gyre_channel_abort(channel, r);
	} else {
		gyre_context_fire_active(ctx);
	}
}

static const struct gyre_handler user_handler = { .name = "gyre-link-user", .active = active };

int gy_link_user_add_handler(struct gyre_channel *channel, struct gy_link *link)
{
	gy_assert(link->dialled && link->local);
	return gyre_pipeline_add(channel, GYRE_LAST, &user_handler, link);
}
