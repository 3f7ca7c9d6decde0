/*
 * What TCP sends, and sends again: as far as the window of the peer goes, and from what is not
 * acknowledged on when that has taken too long; and probes, which ask whether the peer is there.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/net/stream.h"

enum {
	SEGMENT_BYTES_MAX = 32768,
	ASK_RETRIES = 6,
	ANSWER_RETRIES = 5,
	DOUBLED_MAX = 10,
	FIRST_WINDOW_BYTES = 65535
};

static const uint64_t second_ns = GYRE_SECONDS(1);
static const uint64_t retry_least_ns = GYRE_MILLISECONDS(200);
static const uint64_t retry_most_ns = GYRE_SECONDS(120);
static const uint64_t patience_ns = GYRE_SECONDS(924); /* 15 times, as Linux counts */

void gy_sim_tcp_trace(const struct gy_sim_stream *stream, const char *what)
{
	char name[GY_SIM_ENDPOINT_TEXT_MAX];
	char peer[GY_SIM_ENDPOINT_TEXT_MAX];

	gy_sim_endpoint_write(&stream->socket.name, name);
	gy_sim_endpoint_write(&stream->socket.peer, peer);
	gy_sim_trace(gy_sim_stream_sim(stream), stream->socket.file.host, "%s to %s %s", name, peer,
		     what);
}

/* ---- sending ---- */

/* Up to where the peer may send. It is never taken back, and wider only for one who sends much, as
 * with Linux: what a buffer had that is made smaller later may not have been told yet. */
static uint64_t new_window_end(const struct gy_sim_stream *stream)
{
	size_t most = stream->socket.options.receive_bytes;
	uint64_t room = most > stream->in.count ? most - stream->in.count : 0;
	uint64_t trust = FIRST_WINDOW_BYTES + 2 * stream->in_next;
	uint64_t end = stream->in_next + (room < trust ? room : trust);

	return end > stream->in_window_end ? end : stream->in_window_end;
}

uint64_t gy_sim_tcp_widen(struct gy_sim_stream *stream)
{
	stream->in_window_end = new_window_end(stream);
	return stream->in_window_end;
}

static struct gy_sim_packet *make(struct gy_sim_stream *stream, enum gy_sim_packet_kind kind,
				  size_t count)
{
	struct gy_sim_packet *packet = gy_sim_packet_create(gy_sim_stream_sim(stream), kind, count);

	packet->from = stream->socket.file.host->index;
	packet->to = stream->peer_host;
	packet->source = stream->socket.name;
	packet->target = stream->socket.peer;
	packet->connection = stream->connection;
	packet->to_client = !stream->is_client;
	packet->sequence = stream->next;
	packet->acknowledged = stream->in_next;
	packet->window_end = gy_sim_tcp_widen(stream);
	return packet;
}

void gy_sim_tcp_tell(struct gy_sim_stream *stream, enum gy_sim_packet_kind kind)
{
	gy_sim_packet_send(make(stream, kind, 0), &stream->ordered_ns);
}

static bool is_pending(const struct gy_sim_stream *stream)
{
	return stream->state == GY_SIM_STREAM_OPEN &&
	       (stream->out.count > 0 || (stream->out_ended && !stream->out_taken));
}

static uint64_t patience_of(const struct gy_sim_stream *stream)
{
	int ms = stream->socket.options.user_timeout_ms;

	return ms <= 0 ? patience_ns : GYRE_MILLISECONDS((uint64_t)ms);
}

static void start_retry(struct gy_sim_stream *stream)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);
	uint32_t doubled = stream->attempts < DOUBLED_MAX ? stream->attempts : DOUBLED_MAX;
	uint64_t wait_ns =
		(retry_least_ns +
		 gy_sim_net_round_trip_ns(sim, stream->socket.file.host->index, stream->peer_host))
		<< doubled;
	uint64_t last_ns = stream->patient_from_ns + patience_of(stream);
	uint64_t at_ns = sim->now_ns + (wait_ns < retry_most_ns ? wait_ns : retry_most_ns);

	gy_sim_timer_start_in_row(sim, &stream->retry, at_ns < last_ns ? at_ns : last_ns,
				  GY_SIM_ROW_RETRIES);
}

static void send_segment(struct gy_sim_stream *stream, size_t count)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);
	struct gy_sim_packet *packet;

	count = gy_sim_shorten(sim, count);
	packet = make(stream, GY_SIM_DATA, count);
	memcpy(packet->bytes,
	       stream->out.memory + stream->out.from + (stream->next - stream->acknowledged),
	       count);
	stream->next += count;
	gy_sim_packet_send(packet, &stream->ordered_ns);
}

void gy_sim_tcp_push(struct gy_sim_stream *stream)
{
	uint64_t end = stream->acknowledged + stream->out.count;

	if (!is_pending(stream)) {
		return;
	}
	gy_assert(stream->next >= stream->acknowledged);
	while (stream->next < end && stream->next < stream->window_end) {
		uint64_t to = end < stream->window_end ? end : stream->window_end;
		uint64_t count = to - stream->next;

		send_segment(stream, count < SEGMENT_BYTES_MAX ? count : SEGMENT_BYTES_MAX);
	}
	if (stream->out_ended && stream->next == end) {
		gy_sim_tcp_tell(stream, GY_SIM_FIN);
		stream->next++;
	}
	if (stream->retry.place == 0) {
		if (stream->attempts == 0) {
			stream->patient_from_ns = gy_sim_stream_sim(stream)->now_ns;
		}
		start_retry(stream);
	}
}

void gy_sim_tcp_made_room(struct gy_sim_stream *stream)
{
	if (stream->state == GY_SIM_STREAM_OPEN && !stream->in_ended &&
	    new_window_end(stream) - stream->in_window_end >=
		    (stream->socket.options.receive_bytes + 3) / 4) {
		gy_sim_tcp_tell(stream, GY_SIM_ACK);
	}
}

/* ---- trying again ---- */

/* Asks, or answers, once more after 1 s, 2 s and so on. */
static void ask_again(struct gy_sim_stream *stream, enum gy_sim_packet_kind kind, uint32_t most)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);

	if (stream->attempts >= most) {
		gy_sim_tcp_fail(stream, ETIMEDOUT);
		return;
	}
	stream->attempts++;
	gy_sim_tcp_tell(stream, kind);
	gy_sim_timer_start(sim, &stream->retry, sim->now_ns + (second_ns << stream->attempts));
}

static void send_again(struct gy_sim_stream *stream)
{
	struct gyre_sim *sim = gy_sim_stream_sim(stream);

	if (sim->now_ns >= stream->patient_from_ns + patience_of(stream)) {
		gy_sim_tcp_fail(stream, ETIMEDOUT);
		return;
	}
	stream->attempts++;
	if (stream->next > stream->acknowledged) {
		gy_sim_tcp_trace(stream, "sends again");
	}
	stream->next = stream->acknowledged;
	if (stream->out.count > 0 && stream->next >= stream->window_end) {
		gy_sim_tcp_tell(stream, GY_SIM_PROBE);
		start_retry(stream);
	} else {
		gy_sim_tcp_push(stream);
	}
}

static void retry(struct gy_sim_timer *timer)
{
	struct gy_sim_stream *stream = gy_container_of(timer, struct gy_sim_stream, retry);

	switch (stream->state) {
	case GY_SIM_STREAM_ASKS:
		ask_again(stream, GY_SIM_SYN, ASK_RETRIES);
		break;
	case GY_SIM_STREAM_ASKED:
		ask_again(stream, GY_SIM_SYN_ACK, ANSWER_RETRIES);
		break;
	default:
		gy_assert(stream->state == GY_SIM_STREAM_OPEN);
		send_again(stream);
		break;
	}
}

static void retry_all(struct gyre_sim *sim, const struct gy_list *sockets, uint32_t peer)
{
	for (const struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		const struct gy_sim_socket *socket =
			gy_container_of(item, struct gy_sim_socket, of_host);
		struct gy_sim_stream *stream = gy_sim_stream_of(socket);

		if (socket->file.ops != &gy_sim_stream_ops.file || stream->peer_host != peer ||
		    stream->retry.place == 0) {
			continue;
		}
		/* What was lost by the link does not count. */
		if (stream->state == GY_SIM_STREAM_OPEN) {
			stream->attempts = 0;
		} else if (stream->attempts > 0) {
			stream->attempts--;
		}
		gy_sim_timer_start(sim, &stream->retry, sim->now_ns);
	}
}

void gy_sim_streams_retry(struct gy_sim_host *host, uint32_t peer)
{
	retry_all(host->sim, &host->net->sockets, peer);
	retry_all(host->sim, &host->net->ended, peer);
}

/* ---- keeping alive ---- */

static void keep_alive(struct gy_sim_timer *timer)
{
	struct gy_sim_stream *stream = gy_container_of(timer, struct gy_sim_stream, keep_alive);
	const struct gy_sim_socket_options *options = &stream->socket.options;
	struct gyre_sim *sim = gy_sim_stream_sim(stream);
	uint64_t idle_ns = (uint64_t)options->keep_idle_s * second_ns;

	if (is_pending(stream) || sim->now_ns < stream->heard_ns + idle_ns) {
		uint64_t from_ns = is_pending(stream) ? sim->now_ns : stream->heard_ns;

		gy_sim_timer_start(sim, timer, from_ns + idle_ns);
		return;
	}
	if (stream->probes >= (uint32_t)options->keep_count) {
		gy_sim_tcp_fail(stream, ETIMEDOUT);
		return;
	}
	stream->probes++;
	gy_sim_tcp_tell(stream, GY_SIM_PROBE);
	gy_sim_timer_start(sim, timer,
			   sim->now_ns + (uint64_t)options->keep_interval_s * second_ns);
}

void gy_sim_tcp_start_keep_alive(struct gy_sim_stream *stream)
{
	const struct gy_sim_socket_options *options = &stream->socket.options;
	struct gyre_sim *sim = gy_sim_stream_sim(stream);

	if (stream->state != GY_SIM_STREAM_OPEN || options->keep_alive == 0) {
		gy_sim_timer_stop(sim, &stream->keep_alive);
		return;
	}
	gy_sim_timer_start(sim, &stream->keep_alive,
			   sim->now_ns + (uint64_t)options->keep_idle_s * second_ns);
}

void gy_sim_tcp_init_retries(struct gy_sim_stream *stream)
{
	stream->retry.fire = retry;
	stream->keep_alive.fire = keep_alive;
}
