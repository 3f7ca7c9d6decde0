/*
 * Sockets of TCP as calls see them: buffers, the ends of both directions, errors, and the events
 * that follow, in the way of Linux: bytes that have come can still be read after a reset, an error
 * is told once, and a socket whose directions have both ended hangs up.
 */
#include "sim/net/stream.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/macros.h"

enum { SEND_BYTES = 262144 /* into which Linux lets a buffer grow, and more */ };

struct gy_sim_stream *gy_sim_stream_create(struct gy_sim_host *host, int domain)
{
	struct gy_sim_stream *stream = (struct gy_sim_stream *)gy_sim_get(sizeof(*stream));

	gy_sim_socket_init(&stream->socket, &gy_sim_stream_ops, host, domain, SOCK_STREAM);
	gy_list_init(&stream->of_listener);
	gy_list_init(&stream->waiting);
	stream->socket.options.send_bytes = SEND_BYTES;
	gy_sim_tcp_init(stream);
	return stream;
}

struct gy_sim_socket *gy_sim_stream_open(struct gy_sim_host *host, int domain)
{
	struct gy_sim_stream *stream = gy_sim_stream_create(host, domain);

	stream->has_file = true;
	return &stream->socket;
}

void gy_sim_stream_destroy(struct gy_sim_stream *stream)
{
	gy_assert(!stream->has_file && stream->listener == NULL);
	gy_sim_tcp_forget(stream);
	gy_sim_socket_fini(&stream->socket);
	gy_sim_bytes_fini(&stream->in);
	gy_sim_bytes_fini(&stream->out);
	gy_sim_put(stream);
}

void gy_sim_stream_changed(struct gy_sim_stream *stream, uint32_t events)
{
	gy_sim_file_changed(&stream->socket.file, events);
}

/* ---- events ---- */

bool gy_sim_stream_is_writable(const struct gy_sim_stream *stream)
{
	uint32_t room = stream->socket.options.send_bytes;

	return stream->out.count < room && room - stream->out.count >= stream->out.count / 2;
}

static bool is_over(const struct gy_sim_stream *stream)
{
	return stream->state == GY_SIM_STREAM_CLOSED ||
	       ((stream->in_ended || stream->in_shut) && stream->out_ended);
}

static uint32_t stream_events(const struct gy_sim_file *file)
{
	const struct gy_sim_stream *stream =
		gy_container_of(file, struct gy_sim_stream, socket.file);
	bool closed = stream->state == GY_SIM_STREAM_CLOSED;
	bool ended = stream->in_ended || stream->in_shut || (closed && stream->was_connected);
	uint32_t events = stream->socket.error != 0 ? EPOLLERR : 0;

	if (stream->state == GY_SIM_STREAM_LISTENS) {
		return events | gy_sim_listener_events(stream);
	}
	events |= is_over(stream) ? EPOLLHUP : 0U;
	events |= ended ? EPOLLIN | EPOLLRDHUP : 0U;
	if (stream->state == GY_SIM_STREAM_ASKS) {
		return events;
	}
	events |= stream->in.count > 0 ? EPOLLIN : 0U;
	events |= closed || stream->out_ended || gy_sim_stream_is_writable(stream) ? EPOLLOUT : 0U;
	return events;
}

/* ---- connecting ---- */

static int begin_connect(struct gy_sim_stream *stream, const struct sockaddr *to, socklen_t bytes)
{
	int r = gy_sim_ip_set_peer(&stream->socket, to, bytes);

	if (r < 0) {
		return r;
	}
	stream->connecting = true;
	gy_sim_tcp_connect(stream, (uint32_t)r);
	return -EINPROGRESS;
}

static int stream_connect(struct gy_sim_socket *socket, const struct sockaddr *to, socklen_t bytes)
{
	struct gy_sim_stream *stream = gy_sim_stream_of(socket);
	int r = 0;

	switch (stream->state) {
	case GY_SIM_STREAM_ASKS:
		return -EALREADY;
	case GY_SIM_STREAM_CLOSED:
		if (!stream->connecting) {
			return begin_connect(stream, to, bytes);
		}
		r = gy_sim_socket_take_error(socket);
		r = r == 0 ? -ECONNABORTED : r;
		break;
	default:
		r = stream->connecting ? 0 : -EISCONN;
		break;
	}
	stream->connecting = false;
	return r;
}

/* ---- bytes ---- */

/* Why nothing can be sent, or 0. */
static int refusal_to_send(struct gy_sim_stream *stream)
{
	int r;

	if (stream->state == GY_SIM_STREAM_ASKS) {
		return -EAGAIN;
	}
	if (stream->state == GY_SIM_STREAM_OPEN && !stream->out_ended) {
		return 0;
	}
	r = gy_sim_socket_take_error(&stream->socket);
	return r == 0 ? -EPIPE : r;
}

static int64_t stream_send(struct gy_sim_socket *socket, const struct msghdr *message, int flags)
{
	struct gy_sim_stream *stream = gy_sim_stream_of(socket);
	struct gyre_sim *sim = socket->file.host->sim;
	const struct iovec *slices = message->msg_iov;
	uint32_t slices_count = (uint32_t)message->msg_iovlen;
	size_t count = gy_sim_slices_bytes(slices, slices_count);
	size_t room = socket->options.send_bytes;
	int r = refusal_to_send(stream);

	if (r < 0 || (flags & MSG_OOB) != 0) {
		return r < 0 ? r : -EOPNOTSUPP;
	}
	room = room > stream->out.count ? room - stream->out.count : 0;
	if (room == 0 && count > 0) {
		return -EAGAIN;
	}
	count = count < room ? count : room;
	room = gy_sim_shorten(sim, count);
	if (room < count) {
		count = room;
		gy_sim_stream_changed(stream, EPOLLOUT); /* for there is room */
	}
	gy_sim_bytes_append_slices(&stream->out, slices, slices_count, count);
	gy_sim_tcp_push(stream);
	return (int64_t)count;
}

/* What a call finds that has no bytes to read. */
static int64_t end_of_bytes(struct gy_sim_stream *stream)
{
	if (stream->in_ended) {
		return 0;
	}
	if (stream->socket.error != 0) {
		return gy_sim_socket_take_error(&stream->socket);
	}
	if (stream->in_shut) {
		return 0;
	}
	if (stream->state == GY_SIM_STREAM_CLOSED) {
		return stream->was_connected ? 0 : -ENOTCONN;
	}
	return stream->state == GY_SIM_STREAM_LISTENS ? -ENOTCONN : -EAGAIN;
}

/*
 * Less than was asked for means that there is no more, as with TCP in Linux, where an edge follows
 * only when more comes. So a short read is no fault that may happen here: segments are cut instead.
 */
static int64_t stream_receive(struct gy_sim_socket *socket, struct msghdr *message, int flags)
{
	struct gy_sim_stream *stream = gy_sim_stream_of(socket);
	uint32_t slices_count = (uint32_t)message->msg_iovlen;
	size_t room = gy_sim_slices_bytes(message->msg_iov, slices_count);
	size_t count = stream->in.count < room ? stream->in.count : room;

	if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) {
		return (flags & MSG_OOB) != 0 ? -EINVAL : -EAGAIN;
	}
	message->msg_flags = 0;
	message->msg_controllen = 0;
	message->msg_namelen = 0;
	if (stream->in.count == 0) {
		return room == 0 ? 0 : end_of_bytes(stream);
	}
	if ((flags & MSG_TRUNC) == 0) {
		(void)gy_sim_scatter(message->msg_iov, slices_count,
				     stream->in.memory + stream->in.from, count);
	}
	if ((flags & MSG_PEEK) == 0) {
		gy_sim_bytes_drop(&stream->in, count);
		gy_sim_tcp_made_room(stream);
	}
	return (int64_t)count;
}

static uint32_t stream_unread(const struct gy_sim_socket *socket)
{
	return (uint32_t)gy_sim_stream_of(socket)->in.count;
}

/* The end counts as one byte. */
static uint32_t stream_unsent(const struct gy_sim_socket *socket)
{
	const struct gy_sim_stream *stream = gy_sim_stream_of(socket);

	if (stream->state != GY_SIM_STREAM_OPEN) {
		return 0;
	}
	return (uint32_t)stream->out.count + (stream->out_ended && !stream->out_taken ? 1U : 0U);
}

/* ---- ends ---- */

static int stream_shutdown(struct gy_sim_socket *socket, int how)
{
	struct gy_sim_stream *stream = gy_sim_stream_of(socket);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
		return -EINVAL;
	}
	if (stream->state == GY_SIM_STREAM_LISTENS && how != SHUT_WR) {
		gy_sim_listener_stop(stream);
		stream->state = GY_SIM_STREAM_CLOSED;
		socket->listening = false;
		gy_sim_stream_changed(stream, EPOLLHUP | EPOLLIN);
		return 0;
	}
	if (stream->state != GY_SIM_STREAM_OPEN) {
		return stream->state == GY_SIM_STREAM_LISTENS ? 0 : -ENOTCONN;
	}
	if (how != SHUT_WR) {
		stream->in_shut = true;
	}
	if (how != SHUT_RD && !stream->out_ended) {
		stream->out_ended = true;
		gy_sim_tcp_push(stream);
	}
	gy_sim_stream_changed(stream, EPOLLOUT | (how != SHUT_WR ? EPOLLIN | EPOLLRDHUP : 0U) |
					      (is_over(stream) ? EPOLLHUP : 0U));
	return 0;
}

static void stream_options_changed(struct gy_sim_socket *socket)
{
	gy_sim_tcp_start_keep_alive(gy_sim_stream_of(socket));
}

static bool is_to_reset(const struct gy_sim_stream *stream)
{
	const struct linger *linger = &stream->socket.options.linger;

	return stream->in.count > 0 || (linger->l_onoff != 0 && linger->l_linger == 0);
}

static void stream_close(struct gy_sim_file *file)
{
	struct gy_sim_stream *stream = gy_container_of(file, struct gy_sim_stream, socket.file);

	stream->has_file = false;
	if (stream->state == GY_SIM_STREAM_LISTENS) {
		gy_sim_listener_stop(stream);
	} else if (file->host->up && stream->state == GY_SIM_STREAM_OPEN) {
		if (!is_to_reset(stream)) {
			gy_sim_tcp_leave(stream);
			return;
		}
		gy_sim_tcp_reset(stream);
	}
	gy_sim_stream_destroy(stream);
}

const struct gy_sim_socket_ops gy_sim_stream_ops = {
	.file = {
		.name = "TCP",
		.type = S_IFSOCK,
		.events = stream_events,
		.read = gy_sim_socket_read,
		.write = gy_sim_socket_write,
		.close = stream_close,
	},
	.bind = gy_sim_ip_bind,
	.listen = gy_sim_listener_start,
	.connect = stream_connect,
	.next = gy_sim_listener_next,
	.accepted = gy_sim_listener_accepted,
	.shutdown = stream_shutdown,
	.send = stream_send,
	.receive = stream_receive,
	.name = gy_sim_ip_name,
	.unread = stream_unread,
	.unsent = stream_unsent,
	.options_changed = stream_options_changed,
};
