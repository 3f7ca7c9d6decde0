/*
 * Unix sockets of one host: streams, packets in sequence (SOCK_SEQPACKET) and datagrams. They need
 * no network: what one writes is at once in the queue of the other, and counts in the buffer of the
 * sender until it is read. A connection is made when it is asked for, and waits to be accepted.
 */
#include "sim/net/local.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/wrapped.h"

struct gy_sim_socket *gy_sim_local_open(struct gy_sim_host *host, int type)
{
	struct gy_sim_local *local = (struct gy_sim_local *)gy_sim_get(sizeof(*local));

	gy_sim_socket_init(&local->socket, &gy_sim_local_ops, host, AF_UNIX, type);
	gy_list_init(&local->queue);
	gy_list_init(&local->of_listener);
	gy_list_init(&local->waiting);
	return &local->socket;
}

static void tell(struct gy_sim_local *local, uint32_t events)
{
	gy_sim_file_changed(&local->socket.file, events);
}

static uint32_t local_events(const struct gy_sim_file *file)
{
	const struct gy_sim_local *local =
		gy_container_of(file, const struct gy_sim_local, socket.file);
	bool unconnected = local->socket.type != SOCK_DGRAM && !local->socket.connected;
	uint32_t events = local->socket.error != 0 ? EPOLLERR : 0;

	if (local->socket.listening) {
		return local->waiting_count > 0 ? EPOLLIN : 0U;
	}
	events |= (local->in_ended && local->out_ended) || unconnected ? EPOLLHUP : 0U;
	events |= local->in_ended ? EPOLLIN | EPOLLRDHUP : 0U;
	events |= local->queue_count > 0 ? EPOLLIN : 0U;
	return events | (gy_sim_local_is_writable(local) ? EPOLLOUT : 0U);
}

/* ---- connections ---- */

static struct ucred credentials_here(void)
{
	return (struct ucred){ .pid = __wrap_getpid(), .uid = __wrap_geteuid() };
}

void gy_sim_local_pair(struct gy_sim_socket *a, struct gy_sim_socket *b)
{
	gy_sim_local_of(a)->peer = gy_sim_local_of(b);
	gy_sim_local_of(b)->peer = gy_sim_local_of(a);
	gy_sim_local_of(a)->peer_credentials = credentials_here();
	gy_sim_local_of(b)->peer_credentials = credentials_here();
	a->connected = true;
	b->connected = true;
}

void gy_sim_local_credentials(const struct gy_sim_socket *socket, struct ucred *ret_credentials)
{
	static const struct ucred nobody = { .uid = (uid_t)-1, .gid = (gid_t)-1 };

	*ret_credentials = socket->connected ? gy_sim_local_of(socket)->peer_credentials : nobody;
}

static int local_listen(struct gy_sim_socket *socket, uint32_t backlog)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);

	if (socket->type == SOCK_DGRAM) {
		return -EOPNOTSUPP;
	}
	if (!socket->bound || socket->connected) {
		return -EINVAL;
	}
	local->backlog = backlog < GY_SIM_SOMAXCONN ? backlog : GY_SIM_SOMAXCONN;
	local->credentials = credentials_here();
	socket->listening = true;
	return 0;
}

/* An abstract name begins with @ in the place of its 0. */
static void trace(const struct gy_sim_local *local, const struct gy_sim_local_name *name,
		  const char *what)
{
	bool is_abstract = name->bytes > 0 && name->text[0] == '\0';
	const char *text = name->text + (is_abstract ? 1 : 0);

	gy_sim_trace(local->socket.file.host->sim, local->socket.file.host, "%s unix:%s%.*s", what,
		     is_abstract ? "@" : "", (int)(name->bytes - (is_abstract ? 1 : 0)), text);
}

static int connect_to_listener(struct gy_sim_local *local, struct gy_sim_local *listener)
{
	struct gy_sim_local *other;

	if (!listener->socket.listening) {
		trace(local, &listener->name, "is refused at");
		return -ECONNREFUSED;
	}
	if (listener->waiting_count > listener->backlog) {
		return -EAGAIN;
	}
	other = gy_sim_local_of(gy_sim_local_open(local->socket.file.host, local->socket.type));
	other->socket.options = listener->socket.options;
	other->name = listener->name;
	other->peer_name = local->name;
	other->listener = listener;
	local->peer_name = listener->name;
	gy_sim_local_pair(&local->socket, &other->socket);
	local->peer_credentials = listener->credentials;
	gy_list_append(&listener->waiting, &other->of_listener);
	listener->waiting_count++;
	trace(local, &listener->name, "connects to");
	tell(listener, EPOLLIN);
	tell(local, EPOLLOUT);
	return 0;
}

static int local_connect(struct gy_sim_socket *socket, const struct sockaddr *to, socklen_t bytes)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);
	struct gy_sim_local *found;
	int r;

	if (socket->type != SOCK_DGRAM && (socket->connected || socket->listening)) {
		return socket->connected ? -EISCONN : -EINVAL;
	}
	r = gy_sim_local_find(socket, to, bytes, &found);
	if (r < 0) {
		return r;
	}
	if (socket->type != SOCK_DGRAM) {
		return connect_to_listener(local, found);
	}
	local->peer = found;
	local->peer_name = found->name;
	socket->connected = true;
	return 0;
}

static int local_next(struct gy_sim_socket *socket, struct gy_sim_socket **ret_next)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);

	if (!socket->listening) {
		return socket->type == SOCK_DGRAM ? -EOPNOTSUPP : -EINVAL;
	}
	if (gy_list_empty(&local->waiting)) {
		return -EAGAIN;
	}
	*ret_next = &gy_container_of(local->waiting.next, struct gy_sim_local, of_listener)->socket;
	return 0;
}

static void leave_listener(struct gy_sim_local *local)
{
	gy_assert(local->listener != NULL && local->listener->waiting_count > 0);
	gy_list_remove(&local->of_listener);
	local->listener->waiting_count--;
	local->listener = NULL;
}

static void local_accepted(struct gy_sim_socket *socket, struct gy_sim_socket *next)
{
	gy_assert(gy_sim_local_of(next)->listener == gy_sim_local_of(socket));
	leave_listener(gy_sim_local_of(next));
	trace(gy_sim_local_of(next), &gy_sim_local_of(next)->name, "accepts at");
}

/* ---- ends ---- */

static int local_shutdown(struct gy_sim_socket *socket, int how)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);
	struct gy_sim_local *peer = socket->type == SOCK_DGRAM ? NULL : local->peer;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
		return -EINVAL;
	}
	local->in_ended = local->in_ended || how != SHUT_WR;
	local->out_ended = local->out_ended || how != SHUT_RD;
	tell(local, local_events(&socket->file));
	if (peer != NULL) {
		peer->in_ended = peer->in_ended || how != SHUT_RD;
		peer->out_ended = peer->out_ended || how != SHUT_WR;
		tell(peer, local_events(&peer->socket.file));
	}
	return 0;
}

/* The other end of a connection is gone. */
static void end_peer(struct gy_sim_local *local, bool unread)
{
	struct gy_sim_local *peer = local->peer;

	if (peer == NULL || peer->peer != local) {
		return;
	}
	peer->peer = NULL;
	peer->in_ended = true;
	peer->out_ended = true;
	if (unread) {
		peer->socket.error = ECONNRESET;
	}
	if (local->socket.file.host->up) {
		tell(peer, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | (unread ? EPOLLERR : 0U));
	}
}

static void stop_listening(struct gy_sim_local *local)
{
	while (!gy_list_empty(&local->waiting)) {
		struct gy_sim_local *waiting =
			gy_container_of(local->waiting.next, struct gy_sim_local, of_listener);

		leave_listener(waiting);
		end_peer(waiting, true);
		waiting->peer = NULL;
		gy_sim_local_ops.file.close(&waiting->socket.file);
	}
}

/* No other socket of the host may point here any longer. */
static void disconnect_all(struct gy_sim_local *local)
{
	struct gy_list *sockets = &local->socket.file.host->net->sockets;

	for (struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);

		if (socket->domain != AF_UNIX || socket == &local->socket) {
			continue;
		}
		if (gy_sim_local_of(socket)->peer == local) {
			gy_sim_local_of(socket)->peer = NULL;
		}
		gy_sim_local_disown_messages(gy_sim_local_of(socket), local);
	}
}

static void local_close(struct gy_sim_file *file)
{
	struct gy_sim_local *local = gy_container_of(file, struct gy_sim_local, socket.file);

	stop_listening(local);
	if (local->socket.type != SOCK_DGRAM) {
		end_peer(local, local->queue_count > 0);
	}
	gy_sim_socket_fini(&local->socket);
	gy_sim_local_drop_messages(local);
	disconnect_all(local);
	gy_sim_local_unname(local);
	gy_sim_put(local);
}

static uint32_t local_unread(const struct gy_sim_socket *socket)
{
	return (uint32_t)gy_sim_local_of(socket)->unread_bytes;
}

static uint32_t local_unsent(const struct gy_sim_socket *socket)
{
	return (uint32_t)gy_sim_local_of(socket)->sent_bytes;
}

const struct gy_sim_socket_ops gy_sim_local_ops = {
	.file = {
		.name = "Unix",
		.type = S_IFSOCK,
		.events = local_events,
		.read = gy_sim_socket_read,
		.write = gy_sim_socket_write,
		.close = local_close,
	},
	.bind = gy_sim_local_bind,
	.listen = local_listen,
	.connect = local_connect,
	.next = local_next,
	.accepted = local_accepted,
	.shutdown = local_shutdown,
	.send = gy_sim_local_send,
	.receive = gy_sim_local_receive,
	.name = gy_sim_local_name_of,
	.unread = local_unread,
	.unsent = local_unsent,
};
