/*
 * Streams that listen, and their queues: of connections that were asked for, and of those that are
 * ready to be accepted. Both count. A SYN that finds the queue full is dropped, and whoever has
 * sent it tries again.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/net/stream.h"

static int bind_to_any(struct gy_sim_socket *socket)
{
	struct sockaddr_storage any;
	int bytes = gy_sim_endpoint_name(socket, &(struct gy_sim_endpoint){ .port = 0 }, &any);

	return gy_sim_ip_bind(socket, (const struct sockaddr *)&any, (socklen_t)bytes);
}

int gy_sim_listener_start(struct gy_sim_socket *socket, uint32_t backlog)
{
	struct gy_sim_stream *stream = gy_sim_stream_of(socket);
	int r = 0;

	if (stream->state != GY_SIM_STREAM_CLOSED && stream->state != GY_SIM_STREAM_LISTENS) {
		return -EINVAL;
	}
	stream->backlog = backlog < GY_SIM_SOMAXCONN ? backlog : GY_SIM_SOMAXCONN;
	if (stream->state == GY_SIM_STREAM_LISTENS) {
		return 0;
	}
	if (!socket->bound) {
		r = bind_to_any(socket);
	}
	socket->listening = true;
	if (r == 0) {
		r = gy_sim_ip_check(socket);
	}
	if (r < 0) {
		socket->listening = false;
		return r;
	}
	stream->state = GY_SIM_STREAM_LISTENS;
	return 0;
}

uint32_t gy_sim_listener_events(const struct gy_sim_stream *listener)
{
	return listener->ready_count > 0 ? EPOLLIN : 0U;
}

void gy_sim_listener_queue(const struct gy_sim_socket *socket, uint32_t *ret_waiting,
			   uint32_t *ret_most)
{
	*ret_waiting = gy_sim_stream_of(socket)->ready_count;
	*ret_most = gy_sim_stream_of(socket)->backlog;
}

/* ---- the queue ---- */

static struct gy_sim_stream *waiting_of(struct gy_list *item)
{
	return gy_container_of(item, struct gy_sim_stream, of_listener);
}

int gy_sim_listener_next(struct gy_sim_socket *socket, struct gy_sim_socket **ret_next)
{
	struct gy_sim_stream *listener = gy_sim_stream_of(socket);

	if (listener->state != GY_SIM_STREAM_LISTENS) {
		return -EINVAL;
	}
	for (struct gy_list *item = listener->waiting.next; item != &listener->waiting;
	     item = item->next) {
		if (waiting_of(item)->state != GY_SIM_STREAM_ASKED) {
			*ret_next = &waiting_of(item)->socket;
			return 0;
		}
	}
	return -EAGAIN;
}

void gy_sim_listener_lose(struct gy_sim_stream *stream)
{
	gy_assert(stream->listener != NULL);
	gy_list_remove(&stream->of_listener);
	stream->listener = NULL;
}

static void trace(const struct gy_sim_host *host, const struct gy_sim_endpoint *at,
		  const struct gy_sim_endpoint *from, const char *what)
{
	char name[GY_SIM_ENDPOINT_TEXT_MAX];
	char peer[GY_SIM_ENDPOINT_TEXT_MAX];

	gy_sim_endpoint_write(at, name);
	gy_sim_endpoint_write(from, peer);
	gy_sim_trace(host->sim, host, "%s %s %s", name, what, peer);
}

void gy_sim_listener_accepted(struct gy_sim_socket *socket, struct gy_sim_socket *next)
{
	struct gy_sim_stream *stream = gy_sim_stream_of(next);

	gy_sim_stream_of(socket)->ready_count--;
	gy_sim_listener_lose(stream);
	stream->has_file = true;
	trace(socket->file.host, &next->name, &next->peer, "accepts");
}

void gy_sim_listener_ready(struct gy_sim_stream *stream)
{
	struct gy_sim_stream *listener = stream->listener;

	gy_assert(listener != NULL);
	gy_list_move(&listener->waiting, &stream->of_listener);
	listener->ready_count++;
	gy_sim_stream_changed(listener, EPOLLIN);
}

void gy_sim_listener_stop(struct gy_sim_stream *listener)
{
	while (!gy_list_empty(&listener->waiting)) {
		struct gy_sim_stream *stream = waiting_of(listener->waiting.next);

		gy_sim_listener_lose(stream);
		if (stream->state != GY_SIM_STREAM_CLOSED && stream->socket.file.host->up) {
			gy_sim_tcp_reset(stream);
		}
		gy_sim_stream_destroy(stream);
	}
	listener->ready_count = 0;
}

/* ---- being asked ---- */

/* How well a socket fits a SYN; 0: not at all. */
static uint32_t fitness(const struct gy_sim_socket *socket, const struct gy_sim_packet *syn)
{
	return socket->listening && socket->type == SOCK_STREAM
		       ? gy_sim_ip_fits(socket, &syn->target)
		       : 0;
}

/* How many listeners fit best, and how well. */
static uint32_t count_best(const struct gy_list *sockets, const struct gy_sim_packet *syn,
			   uint32_t *ret_best)
{
	uint32_t best = 0;
	uint32_t count = 0;

	for (const struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		uint32_t fits = fitness(gy_container_of(item, struct gy_sim_socket, of_host), syn);

		if (fits > best) {
			best = fits;
			count = 0;
		}
		count += fits > 0 && fits == best;
	}
	*ret_best = best;
	return count;
}

static struct gy_sim_stream *find(struct gy_sim_host *host, const struct gy_sim_packet *syn)
{
	const struct gy_list *sockets = &host->net->sockets;
	uint32_t best;
	uint32_t count = count_best(sockets, syn, &best);
	uint32_t chosen;

	if (count == 0) {
		return NULL;
	}
	chosen = count == 1 ? 0 : gy_sim_choose(host->sim, count);
	for (const struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);

		if (fitness(socket, syn) == best && chosen-- == 0) {
			return gy_sim_stream_of(socket);
		}
	}
	return NULL;
}

static uint32_t count_waiting(const struct gy_sim_stream *listener)
{
	uint32_t count = 0;

	for (struct gy_list *item = listener->waiting.next; item != &listener->waiting;
	     item = item->next) {
		count++;
	}
	return count;
}

void gy_sim_listener_arrive(struct gy_sim_host *host, const struct gy_sim_packet *syn)
{
	struct gy_sim_stream *listener = find(host, syn);
	struct gy_sim_stream *stream;

	if (listener == NULL) {
		trace(host, &syn->target, &syn->source, "refuses");
		gy_sim_tcp_refuse(host, syn);
		return;
	}
	if (count_waiting(listener) > listener->backlog) {
		trace(host, &syn->target, &syn->source, "has no room for");
		return;
	}
	stream = gy_sim_stream_create(host, listener->socket.domain);
	stream->socket.options = listener->socket.options;
	stream->socket.name = syn->target;
	stream->socket.peer = syn->source;
	stream->socket.accepted = true;
	stream->listener = listener;
	gy_list_append(&listener->waiting, &stream->of_listener);
	gy_sim_tcp_accept(stream, syn);
}
