/*
 * TCP, as far as one can tell it from outside: connections are asked for until somebody answers,
 * bytes are sent as far as the window goes and again until they are acknowledged, the ends of both
 * directions likewise, and whoever gets a packet of a connection that it does not know says so.
 *
 * Packets of one direction do not overtake each other, so a gap means that something was lost. The
 * receiver drops what comes behind a gap, and the sender begins anew from there when it has waited
 * long enough. That is slower than real TCP, and simple. Connections have numbers, so that nothing
 * old is ever taken for something new, whatever ports are used again.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/random.h"
#include "sim/net/stream.h"

enum { ALL = 1000000 };

static const uint64_t second_ns = GYRE_SECONDS(1);
static const uint64_t rest_ns = GYRE_SECONDS(60);

/* ---- ends ---- */

void gy_sim_tcp_forget(struct gy_sim_stream *stream)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);
	struct gy_sim_connection *connection;

	gy_sim_timer_stop(sim, &stream->retry);
	gy_sim_timer_stop(sim, &stream->keep_alive);
	gy_sim_timer_stop(sim, &stream->rest);
	if (stream->state != GY_SIM_STREAM_ASKS && stream->state != GY_SIM_STREAM_ASKED &&
	    stream->state != GY_SIM_STREAM_OPEN) {
		return;
	}
	connection = &sim->net->connections[stream->connection];
	if (stream->is_client) {
		connection->client = NULL;
	} else {
		connection->server = NULL;
	}
	stream->state = GY_SIM_STREAM_CLOSED;
	stream->socket.connected = false;
}

void gy_sim_tcp_reset(struct gy_sim_stream *stream)
{
	gy_sim_tcp_trace(stream, "is reset");
	gy_sim_tcp_tell(stream, GY_SIM_RESET);
	gy_sim_tcp_forget(stream);
}

void gy_sim_tcp_fail(struct gy_sim_stream *stream, int error)
{
	bool was_asked = stream->state == GY_SIM_STREAM_ASKED;

	gy_assert(error > 0);
	gy_sim_tcp_trace(stream, error == ETIMEDOUT	 ? "has timed out"
				 : error == ECONNREFUSED ? "was refused"
							 : "was reset by the peer");
	gy_sim_tcp_forget(stream);
	gy_sim_bytes_fini(&stream->out);
	stream->was_connected = true;
	stream->socket.error = error;
	if (was_asked) {
		gy_sim_listener_lose(stream);
	}
	if (!stream->has_file && stream->listener == NULL) {
		gy_sim_stream_destroy(stream);
	} else {
		gy_sim_stream_changed(stream,
				      EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP);
	}
}

/* What has no descriptor ends when both sides know that there is nothing more; the one that was
 * told last stays for a while, lest its last word be lost. May destroy the stream. */
static void settle(struct gy_sim_stream *stream, bool told_last)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);

	if (stream->has_file || stream->listener != NULL || !stream->out_taken) {
		return;
	}
	if (stream->in_ended && !told_last) {
		gy_sim_stream_destroy(stream);
	} else if (stream->rest.place == 0) {
		gy_sim_timer_stop(sim, &stream->keep_alive);
		gy_sim_timer_start(sim, &stream->rest, sim->now_ns + rest_ns);
	}
}

void gy_sim_tcp_leave(struct gy_sim_stream *stream)
{
	gy_list_move(&stream->socket.file.host->net->ended, &stream->socket.of_host);
	stream->out_ended = true;
	gy_sim_tcp_push(stream);
	settle(stream, true);
}

static void rested(struct gy_sim_timer *timer)
{
	gy_sim_stream_destroy(gy_container_of(timer, struct gy_sim_stream, rest));
}

void gy_sim_streams_drop(struct gy_sim_host *host)
{
	struct gy_list *ended = &host->net->ended;

	while (!gy_list_empty(ended)) {
		gy_sim_stream_destroy(
			gy_container_of(ended->next, struct gy_sim_stream, socket.of_host));
	}
}

/* Both sides know that there is nothing more. */
static bool is_over(const struct gy_sim_stream *stream)
{
	return stream->in_ended && stream->out_taken;
}

static void fail_by_reset(struct gy_sim_stream *stream)
{
	gy_sim_tcp_fail(stream, stream->in_ended ? EPIPE : ECONNRESET);
}

static int reset_all(const struct gy_list *sockets, uint32_t peer, uint64_t *random, uint32_t rate)
{
	const struct gy_list *item = sockets->next;
	int count = 0;

	while (item != sockets) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);
		struct gy_sim_stream *stream = gy_sim_stream_of(socket);

		item = item->next; /* the stream may be gone after this */
		if (socket->file.ops == &gy_sim_stream_ops.file && stream->peer_host == peer &&
		    stream->state == GY_SIM_STREAM_OPEN && !is_over(stream) &&
		    gy_random_next(random) % ALL < rate) {
			fail_by_reset(stream);
			count++;
		}
	}
	return count;
}

/* One decision, however many connections there are. */
int gy_sim_streams_reset(struct gy_sim_host *host, uint32_t peer, uint32_t rate)
{
	uint64_t random = rate == ALL ? 0 : gyre_sim_choose(host->sim, UINT32_MAX);

	return reset_all(&host->net->sockets, peer, &random, rate) +
	       reset_all(&host->net->ended, peer, &random, rate);
}

/* ---- connecting ---- */

void gy_sim_tcp_init(struct gy_sim_stream *stream)
{
	gy_sim_tcp_init_retries(stream);
	stream->rest.fire = rested;
}

static void begin(struct gy_sim_stream *stream, enum gy_sim_stream_state state, uint32_t host)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);

	stream->state = state;
	stream->peer_host = host;
	stream->attempts = 0;
	stream->was_connected = false;
	stream->acknowledged = 0;
	stream->next = 0;
	stream->window_end = 0;
	stream->out_ended = false;
	stream->out_taken = false;
	stream->in_next = 0;
	stream->in_window_end = 0;
	stream->in_ended = false;
	stream->in_shut = false;
	gy_sim_timer_start(sim, &stream->retry, sim->now_ns + second_ns);
}

void gy_sim_tcp_connect(struct gy_sim_stream *stream, uint32_t host)
{
	struct gy_sim_net *net = gy_sim_stream_sim(stream)->net;

	gy_assert(stream->state == GY_SIM_STREAM_CLOSED);
	stream->is_client = true;
	stream->connection = net->connections_count++;
	gy_sim_grow((void **)&net->connections, &net->connections_room, net->connections_count,
		    sizeof(*net->connections));
	net->connections[stream->connection] = (struct gy_sim_connection){ .client = stream };
	begin(stream, GY_SIM_STREAM_ASKS, host);
	gy_sim_tcp_trace(stream, "connects");
	gy_sim_tcp_tell(stream, GY_SIM_SYN);
}

void gy_sim_tcp_accept(struct gy_sim_stream *stream, const struct gy_sim_packet *syn)
{
	stream->connection = syn->connection;
	gy_sim_stream_sim(stream)->net->connections[stream->connection].server = stream;
	begin(stream, GY_SIM_STREAM_ASKED, syn->from);
	stream->window_end = syn->window_end;
	gy_sim_tcp_tell(stream, GY_SIM_SYN_ACK);
}

static void open_stream(struct gy_sim_stream *stream)
{
	gy_sim_timer_stop(gy_sim_stream_sim(stream), &stream->retry);
	stream->attempts = 0;
	stream->state = GY_SIM_STREAM_OPEN;
	stream->was_connected = true;
	stream->socket.connected = true;
	gy_sim_tcp_start_keep_alive(stream);
}

/* ---- receiving ---- */

/* The peer has said that it has all up to @acknowledged, and room up to @window_end. */
static void take_acknowledgement(struct gy_sim_stream *stream, uint64_t acknowledged,
				 uint64_t window_end)
{
	uint64_t end = stream->acknowledged + stream->out.count +
		       (stream->out_ended && !stream->out_taken ? 1U : 0U);
	uint64_t to = acknowledged < end ? acknowledged : end;

	if (to > stream->acknowledged || window_end > stream->window_end) {
		stream->attempts = 0;
		gy_sim_timer_stop(gy_sim_stream_sim(stream), &stream->retry);
	}
	if (window_end > stream->window_end) {
		stream->window_end = window_end;
	}
	if (to > stream->acknowledged) {
		uint64_t count = to - stream->acknowledged;

		stream->out_taken = stream->out_taken || count > stream->out.count;
		gy_sim_bytes_drop(&stream->out,
				  count < stream->out.count ? count : stream->out.count);
		stream->acknowledged = to;
		stream->next = stream->next > to ? stream->next : to;
	}
}

static void go_on_sending(struct gy_sim_stream *stream, bool was_writable)
{
	gy_sim_tcp_push(stream);
	if (!was_writable && gy_sim_stream_is_writable(stream)) {
		gy_sim_stream_changed(stream, EPOLLOUT);
	}
}

static void hear(struct gy_sim_stream *stream)
{
	stream->heard_ns = gy_sim_stream_sim(stream)->now_ns;
	stream->patient_from_ns = stream->heard_ns;
	stream->probes = 0;
}

/* Whether an acknowledgement changes what a stream does next, or what its program sees of it. */
static bool waits_to_send(const struct gy_sim_stream *stream)
{
	return stream->state != GY_SIM_STREAM_OPEN || stream->out_ended ||
	       stream->next != stream->acknowledged + stream->out.count ||
	       !gy_sim_stream_is_writable(stream);
}

/*
 * Bytes have come in their order. The packet that says so is left out, and the peer knows at once,
 * where that packet would only come: over a link without a fault, to a peer that waits for nothing
 * that it brings. It would be every second packet of a simulation.
 */
static void acknowledge(struct gy_sim_stream *stream)
{
	const struct gyre_sim *sim = gy_sim_stream_sim(stream);
	const struct gy_sim_connection *connection = &sim->net->connections[stream->connection];
	struct gy_sim_stream *peer = stream->is_client ? connection->server : connection->client;

	if (peer == NULL || waits_to_send(peer) ||
	    !gy_sim_net_is_undisturbed(sim, stream->socket.file.host->index, stream->peer_host)) {
		gy_sim_tcp_tell(stream, GY_SIM_ACK);
		return;
	}
	hear(peer);
	take_acknowledgement(peer, stream->in_next, gy_sim_tcp_widen(stream));
	gy_sim_tcp_push(peer); /* waits for what it has sent since */
}

/* Whether the stream still is. */
static bool take_bytes(struct gy_sim_stream *stream, const struct gy_sim_packet *packet)
{
	uint64_t skip = stream->in_next - packet->sequence;

	if (packet->sequence > stream->in_next || skip >= packet->count || stream->in_ended) {
		gy_sim_tcp_tell(stream, GY_SIM_ACK); /* which tells what was expected */
		return true;
	}
	if (!stream->has_file && stream->listener == NULL) {
		gy_sim_tcp_reset(stream);
		gy_sim_stream_destroy(stream);
		return false;
	}
	gy_sim_bytes_append(&stream->in, packet->bytes + skip, packet->count - skip);
	stream->in_next += packet->count - skip;
	acknowledge(stream);
	gy_sim_stream_changed(stream, EPOLLIN);
	return true;
}

static void take_end(struct gy_sim_stream *stream, const struct gy_sim_packet *packet)
{
	if (packet->sequence == stream->in_next && !stream->in_ended) {
		stream->in_ended = true;
		stream->in_next++;
		gy_sim_stream_changed(stream,
				      EPOLLIN | EPOLLRDHUP | (stream->out_ended ? EPOLLHUP : 0U));
	}
	gy_sim_tcp_tell(stream, GY_SIM_ACK);
}

static void take_reset(struct gy_sim_stream *stream)
{
	if (stream->state == GY_SIM_STREAM_ASKS) {
		gy_sim_tcp_fail(stream, ECONNREFUSED);
	} else if (!is_over(stream)) {
		fail_by_reset(stream);
	}
}

static void take_answer(struct gy_sim_stream *stream, const struct gy_sim_packet *packet)
{
	if (stream->state == GY_SIM_STREAM_ASKS) {
		stream->window_end = packet->window_end;
		open_stream(stream);
		gy_sim_tcp_tell(stream, GY_SIM_ACK);
		gy_sim_stream_changed(stream, EPOLLOUT);
	} else {
		gy_sim_tcp_tell(stream, GY_SIM_ACK);
	}
}

static void take(struct gy_sim_stream *stream, const struct gy_sim_packet *packet)
{
	bool was_writable = gy_sim_stream_is_writable(stream);
	bool was_taken;

	if (stream->state == GY_SIM_STREAM_ASKED) {
		open_stream(stream);
		gy_sim_listener_ready(stream);
	}
	if (stream->state != GY_SIM_STREAM_OPEN) {
		return;
	}
	was_taken = stream->out_taken;
	take_acknowledgement(stream, packet->acknowledged, packet->window_end);
	go_on_sending(stream, was_writable);
	if (packet->kind == GY_SIM_PROBE) {
		gy_sim_tcp_tell(stream, GY_SIM_ACK);
	} else if (packet->kind == GY_SIM_DATA && !take_bytes(stream, packet)) {
		return;
	} else if (packet->kind == GY_SIM_FIN) {
		take_end(stream, packet);
	}
	if (packet->kind == GY_SIM_FIN || was_taken != stream->out_taken) {
		settle(stream, packet->kind == GY_SIM_FIN);
	}
}

void gy_sim_tcp_refuse(struct gy_sim_host *host, const struct gy_sim_packet *packet)
{
	struct gy_sim_packet *reset = gy_sim_packet_create(host->sim, GY_SIM_RESET, 0);

	reset->from = host->index;
	reset->to = packet->from;
	reset->source = packet->target;
	reset->target = packet->source;
	reset->connection = packet->connection;
	reset->to_client = !packet->to_client;
	gy_sim_packet_send(reset, NULL);
}

static const struct gy_sim_connection *connection_of(const struct gy_sim_net *net,
						     const struct gy_sim_packet *packet)
{
	gy_assert(packet->connection < net->connections_count);
	return &net->connections[packet->connection];
}

/* A SYN may come so late that who has sent it asks no longer. With TCP a few packets more would
 * find that out. */
static bool is_stale(const struct gy_sim_net *net, const struct gy_sim_packet *syn)
{
	const struct gy_sim_stream *client = connection_of(net, syn)->client;

	return client == NULL || client->state != GY_SIM_STREAM_ASKS;
}

static struct gy_sim_stream *find(const struct gy_sim_net *net, const struct gy_sim_packet *packet)
{
	const struct gy_sim_connection *connection = connection_of(net, packet);

	return packet->to_client ? connection->client : connection->server;
}

void gy_sim_stream_arrive(struct gy_sim_host *host, struct gy_sim_packet *packet)
{
	struct gy_sim_stream *stream = find(host->sim->net, packet);

	if (stream == NULL) {
		if (packet->kind == GY_SIM_SYN) {
			if (!is_stale(host->sim->net, packet)) {
				gy_sim_listener_arrive(host, packet);
			}
		} else if (packet->kind != GY_SIM_RESET) {
			gy_sim_tcp_refuse(host, packet);
		}
		return;
	}
	hear(stream);
	switch (packet->kind) {
	case GY_SIM_SYN:
		gy_sim_tcp_tell(stream,
				stream->state == GY_SIM_STREAM_ASKED ? GY_SIM_SYN_ACK : GY_SIM_ACK);
		break;
	case GY_SIM_SYN_ACK:
		take_answer(stream, packet);
		break;
	case GY_SIM_RESET:
		take_reset(stream);
		break;
	default:
		take(stream, packet);
		break;
	}
}
