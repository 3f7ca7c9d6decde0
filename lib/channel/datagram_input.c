/*
 * Receiving datagrams: one multishot receive a channel, as of a stream, that brings each with its
 * sender. What the kernel received as one and is several of one sender (GRO) becomes as many
 * buffers, which share the page and, if the sender is the same as before, its address.
 *
 * A datagram that is longer than a buffer of the ring is thrown away, as half of one is of no use;
 * so is one for which there is no memory. Both are counted.
 */
#include <errno.h>

#include "channel/datagram.h"

/* ---- one completion, phase 1 ---- */

/* The number of the sender, which is the channel's; 0 when it has no name, or without memory. */
static uint32_t sender_of(struct gy_datagram *datagram, const struct gy_ring_datagram *got)
{
	struct gy_peers *peers = &datagram->channel.channels->peers;

	if (gy_likely(gy_peer_is(peers, datagram->peer, got->sender, got->sender_bytes))) {
		return datagram->peer;
	}
	if (datagram->peer != 0) {
		gy_peer_unref(peers, datagram->peer);
	}
	datagram->peer = got->sender_bytes > sizeof(sa_family_t)
				 ? gy_peer_get(peers, got->sender, got->sender_bytes)
				 : 0;
	return datagram->peer;
}

/* A buffer of @count bytes of @page, or of a copy of them; NULL without memory. */
static struct gyre_buffer *make_buffer(struct gy_channels *channels, struct gy_page *page,
				       unsigned char *bytes, uint32_t count)
{
	struct gyre_buffer *buffer;

	if (gy_unlikely(count == 0 || channels->datagrams->lent > channels->datagrams->lent_max)) {
		buffer = gy_buffer_get(channels);
		if (buffer != NULL && gyre_buffer_append(buffer, bytes, count) < 0) {
			gy_buffer_put(buffer);
			buffer = NULL;
		}
		return buffer;
	}
	buffer = gy_buffer_of_page(channels, page, page->memory, count);
	if (gy_likely(buffer != NULL)) {
		gy_page_ref(page);
		buffer->first.bytes = bytes;
	}
	return buffer;
}

static void receive_one(struct gy_datagram *datagram, struct gy_page *page, unsigned char *bytes,
			uint32_t count)
{
	struct gy_channels *channels = datagram->channel.channels;
	struct gyre_buffer *buffer = make_buffer(channels, page, bytes, count);

	if (gy_unlikely(buffer == NULL)) {
		gy_count(&channels->counters.datagrams_dropped, 1);
		return;
	}
	if (datagram->peer != 0) {
		buffer->first.peer = gy_peer_ref(&channels->peers, datagram->peer);
	}
	gy_count(&channels->counters.reads, 1);
	gy_count(&channels->counters.bytes_received, count);
	gy_buffer_queue_push(&datagram->channel.input, buffer);
}

static void receive_all(struct gy_datagram *datagram, struct gy_page *page,
			const struct gy_ring_datagram *got)
{
	uint32_t each = got->segment_bytes == 0 ? got->count : got->segment_bytes;
	uint32_t done = 0;

	do {
		uint32_t left = got->count - done;

		receive_one(datagram, page, got->bytes + done, left < each ? left : each);
		done += left < each ? left : each;
	} while (done < got->count);
}

/* What came in @number. Who has a buffer of its page keeps that; nobody else does. */
static void received_datagram(struct gy_datagram *datagram, uint16_t number, int32_t result)
{
	struct gy_channels *channels = datagram->channel.channels;
	struct gy_page *page = &channels->datagrams->pages[number - GY_RING_DATAGRAM_BUFFERS];
	struct gy_ring_datagram got;

	page->references = 1;
	channels->datagrams->lent++;
	if (gy_likely(gy_ring_datagram(channels->ring, number, result, &got)) &&
	    (datagram->channel.flags & GY_CHANNEL_DISCARDING) == 0) {
		gy_count(&channels->counters.datagram_receives, 1);
		if (gy_unlikely(got.truncated)) {
			gy_count(&channels->counters.datagrams_truncated, 1);
		} else if (gy_unlikely(sender_of(datagram, &got) == 0 &&
				       got.sender_bytes > sizeof(sa_family_t))) {
			gy_count(&channels->counters.datagrams_dropped, 1);
		} else {
			receive_all(datagram, page, &got);
		}
	}
	gy_page_unref(channels, page);
}

/* ---- the end of a receive, phase 1 ---- */

static void park(struct gyre_channel *channel)
{
	struct gy_datagrams *datagrams = channel->channels->datagrams;

	gy_count(&channel->channels->counters.buffer_stalls, 1);
	if (datagrams->lent == datagrams->count &&
	    (channel->flags & (GY_CHANNEL_NO_RECEIVE | GY_CHANNEL_DISCARDING)) == 0) {
		channel->flags |= GY_CHANNEL_PARKED;
		gy_list_append(&datagrams->parked, &channel->parked);
	}
}

/* Whether it tells of datagrams sent before, or of the net, and not of the socket. */
static bool is_of_the_net(int32_t error)
{
	switch (error) {
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -EHOSTDOWN:
	case -ENETUNREACH:
	case -ENETDOWN:
	case -ENONET:
	case -ENOPROTOOPT:
	case -EOPNOTSUPP:
	case -EPROTO:
	case -EMSGSIZE:
	case -EACCES:
	case -ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

static GY_COLD void receive_ended(struct gy_datagram *datagram, int32_t result)
{
	struct gyre_channel *channel = &datagram->channel;

	if (result == -ENOBUFS) {
		park(channel);
	} else if (is_of_the_net(result)) {
		datagram->receive_error = result;
	} else if (result != -EAGAIN && result != -EINTR &&
		   (result != -ECANCELED || (channel->flags & GY_CHANNEL_CANCELLED) == 0)) {
		channel->flags |= GY_CHANNEL_INPUT_ENDED | GY_CHANNEL_INPUT_FAILED;
		gy_channel_set_reason(channel, result);
	}
}

static void received(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);
	struct gy_datagram *datagram = gy_datagram_of(channel);

	if (gy_likely(completion->has_buffer)) {
		received_datagram(datagram, completion->buffer, completion->result);
	}
	if (gy_unlikely(completion->result < 0)) {
		receive_ended(datagram, completion->result);
	}
	if (gy_unlikely(!completion->more)) {
		channel->flags &= ~(uint32_t)GY_CHANNEL_CANCELLED;
	}
	gy_endpoint_ready(&channel->endpoint);
}

void gy_datagram_input_init(struct gy_datagram *datagram)
{
	gy_op_init(&datagram->channel.receive, received);
}

int gy_datagram_receive(struct gyre_channel *channel)
{
	return gy_ring_receive_datagrams(channel->channels->ring, &channel->receive,
					 channel->endpoint.fd);
}
