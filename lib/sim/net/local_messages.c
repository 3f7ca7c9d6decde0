/*
 * What Unix sockets send: bytes, and open files with them (SCM_RIGHTS). Each message counts in the
 * buffer of its sender until it is read whole. A stream joins messages when it is read, but stops
 * where files have come with one, as Linux does.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/net/local.h"

enum { PIECE_BYTES_MAX = 32768, DATAGRAMS_MAX = 10 };

static struct gy_sim_local_message *first_of(const struct gy_sim_local *local)
{
	return gy_list_empty(&local->queue)
		       ? NULL
		       : gy_container_of(local->queue.next, struct gy_sim_local_message, item);
}

/* Whether a queue of datagrams takes no more. */
static bool is_full(const struct gy_sim_local *local)
{
	return local->socket.type == SOCK_DGRAM && local->queue_count > DATAGRAMS_MAX;
}

bool gy_sim_local_is_writable(const struct gy_sim_local *local)
{
	if (local->peer != NULL && is_full(local->peer)) {
		return false;
	}
	return local->sent_bytes * 4 <= local->socket.options.send_bytes;
}

/* ---- sending ---- */

static void enqueue(struct gy_sim_local *local, struct gy_sim_local *to,
		    const struct msghdr *message, size_t skip, size_t count)
{
	struct gy_sim_local_message *made =
		(struct gy_sim_local_message *)gy_sim_get(sizeof(*made) + count);

	made->sender = local;
	made->from = local->name;
	made->count = count;
	(void)gy_sim_gather(message->msg_iov, (uint32_t)message->msg_iovlen, skip, made->bytes,
			    count);
	gy_list_append(&to->queue, &made->item);
	to->queue_count++;
	to->unread_bytes += count;
	local->sent_bytes += count;
}

/* Where a message goes, or why nowhere. */
static int target_of(struct gy_sim_local *local, const struct msghdr *message,
		     struct gy_sim_local **ret_to)
{
	struct gy_sim_socket *socket = &local->socket;
	bool has_name = message->msg_name != NULL && message->msg_namelen > 0;

	if (socket->type == SOCK_DGRAM && has_name) {
		int r = gy_sim_local_find(socket, (const struct sockaddr *)message->msg_name,
					  message->msg_namelen, ret_to);

		return r == 0 && (*ret_to)->peer != NULL && (*ret_to)->peer != local ? -EPERM : r;
	}
	if (has_name && socket->type == SOCK_STREAM) {
		return socket->connected ? -EISCONN : -EOPNOTSUPP;
	}
	if (!socket->connected) {
		return -ENOTCONN;
	}
	if (local->out_ended || (local->peer == NULL && socket->type != SOCK_DGRAM)) {
		return -EPIPE;
	}
	if (local->peer == NULL) {
		socket->connected = false; /* of datagrams: it is closed */
		return -ECONNREFUSED;
	}
	*ret_to = local->peer;
	return 0;
}

static int64_t send_stream(struct gy_sim_local *local, const struct msghdr *message, size_t count,
			   const struct gy_sim_rights *rights)
{
	struct gyre_sim *sim = local->socket.file.host->sim;
	size_t room = local->socket.options.send_bytes;
	size_t done = 0;

	room = room > local->sent_bytes ? room - local->sent_bytes : 0;
	if (room == 0 && count > 0) {
		return -EAGAIN;
	}
	count = count < room ? count : room;
	room = gy_sim_shorten(sim, count);
	if (room < count) {
		count = room;
		gy_sim_file_changed(&local->socket.file, EPOLLOUT); /* for there is room */
	}
	while (done < count) {
		size_t piece = count - done < PIECE_BYTES_MAX ? count - done : PIECE_BYTES_MAX;

		enqueue(local, local->peer, message, done, piece);
		if (done == 0) {
			gy_sim_rights_attach(local->peer, rights);
		}
		done += piece;
	}
	return (int64_t)done;
}

int64_t gy_sim_local_send(struct gy_sim_socket *socket, const struct msghdr *message, int flags)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);
	size_t count = gy_sim_slices_bytes(message->msg_iov, (uint32_t)message->msg_iovlen);
	struct gy_sim_local *to;
	struct gy_sim_rights rights;
	int64_t r = target_of(local, message, &to);

	if (r == 0) {
		r = (flags & MSG_OOB) != 0 ? -EOPNOTSUPP : gy_sim_rights_read(message, &rights);
	}
	if (r < 0) {
		return r;
	}
	if (socket->type == SOCK_STREAM) {
		r = send_stream(local, message, count, &rights);
	} else if (count > socket->options.send_bytes) {
		r = -EMSGSIZE;
	} else if (is_full(to) || local->sent_bytes >= socket->options.send_bytes) {
		r = -EAGAIN;
	} else if (to->in_ended) {
		r = -EPIPE;
	} else {
		enqueue(local, to, message, 0, count);
		gy_sim_rights_attach(to, &rights);
		r = (int64_t)count;
	}
	if (r >= 0 && !gy_list_empty(&to->queue)) {
		gy_sim_file_changed(&to->socket.file, EPOLLIN);
	}
	return r;
}

/* ---- receiving ---- */

/* Tells those who wait for room: the sender, and all that are connected to a queue. */
static void tell_of_room(struct gy_sim_local *local, struct gy_sim_local *sender, bool was_full)
{
	struct gy_list *sockets = &local->socket.file.host->net->sockets;

	if (sender != NULL && gy_sim_local_is_writable(sender)) {
		gy_sim_file_changed(&sender->socket.file, EPOLLOUT);
	}
	for (struct gy_list *item = sockets->next; was_full && item != sockets; item = item->next) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);

		if (socket->domain == AF_UNIX && gy_sim_local_of(socket)->peer == local &&
		    gy_sim_local_of(socket) != sender) {
			gy_sim_file_changed(&socket->file, EPOLLOUT);
		}
	}
}

static void drop_first(struct gy_sim_local *local)
{
	struct gy_sim_local_message *message = first_of(local);
	bool was_full = is_full(local);

	gy_list_remove(&message->item);
	local->queue_count--;
	local->unread_bytes -= message->count - message->read;
	if (message->sender != NULL) {
		message->sender->sent_bytes -= message->count;
	}
	if (local->socket.file.host->up) {
		tell_of_room(local, message->sender, was_full && !is_full(local));
	}
	gy_sim_rights_drop(message);
	gy_sim_put(message);
}

void gy_sim_local_drop_messages(struct gy_sim_local *local)
{
	while (first_of(local) != NULL) {
		drop_first(local);
	}
}

static struct gy_sim_local *find_unread(const struct gy_sim_host *host)
{
	const struct gy_list *sockets = &host->net->sockets;

	for (struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);

		if (socket->domain == AF_UNIX && first_of(gy_sim_local_of(socket)) != NULL) {
			return gy_sim_local_of(socket);
		}
	}
	return NULL;
}

void gy_sim_local_drop_all(struct gy_sim_host *host)
{
	struct gy_sim_local *local;

	/* A message may be all that keeps its own socket, and others, so they are sought anew. */
	while ((local = find_unread(host)) != NULL) {
		drop_first(local);
	}
}

void gy_sim_local_disown_messages(struct gy_sim_local *local, const struct gy_sim_local *of)
{
	for (struct gy_list *item = local->queue.next; item != &local->queue; item = item->next) {
		struct gy_sim_local_message *message =
			gy_container_of(item, struct gy_sim_local_message, item);

		if (message->sender == of) {
			message->sender = NULL;
		}
	}
}

/* Copies into slices from @skip on. */
static size_t scatter_at(const struct msghdr *message, size_t skip, const unsigned char *bytes,
			 size_t count)
{
	size_t done = 0;

	for (size_t i = 0; i < message->msg_iovlen && done < count; i++) {
		const struct iovec *slice = &message->msg_iov[i];
		size_t from = skip < slice->iov_len ? skip : slice->iov_len;
		size_t left = slice->iov_len - from;
		size_t part = left < count - done ? left : count - done;

		if (part > 0) {
			memcpy((unsigned char *)slice->iov_base + from, bytes + done, part);
		}
		skip -= from;
		done += part;
	}
	return done;
}

static int64_t peek_stream(const struct gy_sim_local *local, const struct msghdr *message,
			   size_t room)
{
	const struct gy_sim_local_message *first = first_of(local);
	size_t have = first->count - first->read;

	return (int64_t)scatter_at(message, 0, first->bytes + first->read,
				   have < room ? have : room);
}

static int64_t receive_stream(struct gy_sim_local *local, struct msghdr *message, int flags,
			      size_t control)
{
	struct gyre_sim *sim = local->socket.file.host->sim;
	size_t room = gy_sim_slices_bytes(message->msg_iov, (uint32_t)message->msg_iovlen);
	struct gy_sim_local_message *first;
	bool had_files = false;
	size_t done = 0;

	if ((flags & MSG_PEEK) != 0) {
		return peek_stream(local, message, room);
	}
	room = gy_sim_shorten(sim, room);
	while ((first = first_of(local)) != NULL && done < room && !had_files) {
		size_t have = first->count - first->read;
		size_t part = have < room - done ? have : room - done;

		had_files = first->files_count > 0;
		if (had_files && done > 0) {
			break;
		}
		if (had_files) {
			gy_sim_rights_give(first, message, flags, control);
			gy_sim_rights_drop(first);
		}
		(void)scatter_at(message, done, first->bytes + first->read, part);
		first->read += part;
		local->unread_bytes -= part;
		done += part;
		if (first->read == first->count) {
			drop_first(local);
		}
	}
	return (int64_t)done;
}

static int64_t receive_whole(struct gy_sim_local *local, struct msghdr *message, int flags,
			     size_t control)
{
	struct gy_sim_local_message *first = first_of(local);
	size_t whole = first->count;
	size_t count = scatter_at(message, 0, first->bytes, whole);

	message->msg_flags |= count < whole ? MSG_TRUNC : 0;
	if (message->msg_name != NULL && local->socket.type == SOCK_DGRAM &&
	    first->from.bytes > 0) {
		struct sockaddr_un name;
		socklen_t bytes = gy_sim_local_name_write(&first->from, &name);
		socklen_t room = message->msg_namelen;

		memcpy(message->msg_name, &name, bytes < room ? bytes : room);
		message->msg_namelen = bytes;
	} else {
		message->msg_namelen = 0;
	}
	if ((flags & MSG_PEEK) == 0) {
		gy_sim_rights_give(first, message, flags, control);
		drop_first(local);
	}
	return (int64_t)((flags & MSG_TRUNC) != 0 ? whole : count);
}

int64_t gy_sim_local_receive(struct gy_sim_socket *socket, struct msghdr *message, int flags)
{
	struct gy_sim_local *local = gy_sim_local_of(socket);
	size_t control = message->msg_controllen;

	if ((flags & MSG_OOB) != 0) {
		return -EOPNOTSUPP;
	}
	if (socket->type != SOCK_DGRAM && !socket->connected) {
		return socket->type == SOCK_STREAM ? -EINVAL : -ENOTCONN;
	}
	if (first_of(local) == NULL) {
		int r = gy_sim_socket_take_error(socket);

		return r < 0 ? r : (local->in_ended ? 0 : -EAGAIN);
	}
	message->msg_flags = 0;
	message->msg_controllen = 0;
	if (socket->type == SOCK_STREAM) {
		message->msg_namelen = 0;
		return receive_stream(local, message, flags, control);
	}
	return receive_whole(local, message, flags, control);
}
