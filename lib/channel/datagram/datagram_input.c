/*
 * Receiving datagrams: each channel has one multishot receive, which brings each datagram with its
 * sender. Several datagrams of one sender that the kernel received as one (GRO) wait as one buffer,
 * whose page tells how long each is, and are taken apart when they are delivered: one after the
 * other, so that a handler that frees each gives its memory to the next. They share the page and,
 * if the sender is the same as before, its address.
 *
 * A datagram that is longer than a buffer of the ring is dropped, as half of it is of no use; so is
 * a datagram for which there is no memory. Both are counted.
 */
#include <errno.h>

#include "channel/datagram/datagram.h"

/* ---- one completion, phase 1 ---- */

/* Has another sender from now on; none when it has no name, or without memory. */
static __attribute__((noinline)) void change_sender(struct gy_datagram *datagram,
						    const struct gy_ring_datagram *got)
{
	struct gy_address_table *peers = &datagram->channel.channels->pools.addresses;

	if (datagram->sender != NULL) {
		gy_shared_address_unref(peers, datagram->sender, datagram->peer);
		datagram->sender = NULL;
	}
	datagram->peer = 0;
	if (got->sender_bytes > sizeof(sa_family_t)) {
		datagram->peer = gy_address_table_get(peers, got->sender, got->sender_bytes,
						      &datagram->sender);
	}
}

/* Whether the channel has the number of the sender now; false when it has no name, or without
 * memory. */
static inline bool has_sender(struct gy_datagram *datagram, const struct gy_ring_datagram *got)
{
	const struct gy_shared_address *sender = datagram->sender;

	if (sender == NULL || !gy_shared_address_matches(sender, got->sender, got->sender_bytes)) {
		change_sender(datagram, got);
	}
	return datagram->sender != NULL;
}

/* A buffer of a copy of @count bytes; NULL without memory. */
static struct gyre_buffer *copy(struct gy_channels *channels, const unsigned char *bytes,
				uint32_t count)
{
	struct gyre_buffer *buffer = gy_buffer_get(&channels->pools);

	if (buffer != NULL && gyre_buffer_append(buffer, bytes, count) < 0) {
		gy_buffer_put(buffer);
		buffer = NULL;
	}
	return buffer;
}

/* Queues a buffer, or counts what there was no memory for, which is @count datagrams. */
static inline void queue(struct gy_datagram *datagram, struct gyre_buffer *buffer, uint32_t count)
{
	struct gy_channels *channels = datagram->channel.channels;

	if (gy_unlikely(buffer == NULL)) {
		gy_count(&channels->counters.datagrams_dropped, count);
		return;
	}
	if (gy_likely(datagram->sender != NULL)) {
		gy_shared_address_ref(datagram->sender);
		buffer->first.peer = datagram->peer;
	}
	gy_count(&channels->counters.reads, count);
	gy_count(&channels->counters.bytes_received, buffer->bytes);
	gy_buffer_queue_push(&datagram->channel.input, buffer);
}

/* Pages are scarce, or nothing is in this one. */
static GY_COLD void receive_copies(struct gy_datagram *datagram, const struct gy_ring_datagram *got)
{
	uint32_t each = got->segment_bytes == 0 ? got->count : got->segment_bytes;
	uint32_t done = 0;

	do {
		uint32_t left = got->count - done;
		uint32_t count = left < each ? left : each;

		queue(datagram, copy(datagram->channel.channels, got->bytes + done, count), 1);
		done += count;
	} while (done < got->count);
}

/* The page's reference, which is the kernel's that is done with it, becomes the buffer's. */
static inline void receive_page(struct gy_datagram *datagram, struct gy_page *page,
				const struct gy_ring_datagram *got)
{
	struct gy_channels *channels = datagram->channel.channels;
	struct gyre_buffer *buffer =
		gy_buffer_of_page(&channels->pools, page, got->bytes, got->count);
	uint32_t count = 1;

	if (gy_unlikely(got->segment_bytes != 0)) {
		page->segment_bytes = (uint16_t)got->segment_bytes;
		count = (got->count + got->segment_bytes - 1) / got->segment_bytes;
	}
	queue(datagram, buffer, count);
	if (gy_unlikely(buffer == NULL)) {
		gy_page_unref(&channels->pools, page);
	}
}

/* Whether it is of use; what is not is counted. */
static bool is_good(struct gy_datagram *datagram, const struct gy_ring_datagram *got)
{
	struct gy_channels_counters *counters = &datagram->channel.channels->counters;

	gy_count(&counters->datagram_receives, 1);
	if (gy_unlikely(got->truncated)) {
		gy_count(&counters->datagrams_truncated, 1);
		return false;
	}
	if (gy_unlikely(!has_sender(datagram, got)) && got->sender_bytes > sizeof(sa_family_t)) {
		gy_count(&counters->datagrams_dropped, 1);
		return false;
	}
	return true;
}

/* Only buffers of the page hold references to it. */
static void received_datagram(struct gy_datagram *datagram, const struct gy_completion *completion)
{
	struct gy_channels *channels = datagram->channel.channels;
	struct gy_datagrams *datagrams = channels->datagrams;
	struct gy_page *page = &datagrams->pages[completion->buffer - GY_RING_DATAGRAM_BUFFERS];
	struct gy_ring_datagram got;

	page->references = 1;
	page->segment_bytes = 0;
	gy_assert(datagrams->lent < datagrams->count);
	datagrams->lent++;
	if (gy_unlikely(!gy_ring_datagram(completion, &got)) ||
	    (datagram->channel.state & GY_CHANNEL_DISCARDING) != 0 || !is_good(datagram, &got)) {
		gy_page_unref(&channels->pools, page);
	} else if (gy_unlikely(got.count == 0 || datagrams->lent > datagrams->lent_max)) {
		receive_copies(datagram, &got);
		gy_page_unref(&channels->pools, page);
	} else {
		receive_page(datagram, page, &got);
	}
}

/* ---- taking apart, phase 2 ---- */

/* Without memory only the last is left. */
static GY_COLD struct gyre_buffer *take_last(struct gyre_buffer *several, uint32_t each)
{
	uint32_t dropped = (uint32_t)(several->bytes - 1) / each;

	gy_count(&gy_container_of(several->pools, struct gy_channels, pools)
			  ->counters.datagrams_dropped,
		 dropped);
	gy_buffer_consume(several, (size_t)dropped * each);
	return several;
}

/* Of its own, so that one that came alone costs few registers. */
static __attribute__((noinline)) struct gyre_buffer *take_one(struct gyre_channel *channel,
							      struct gyre_buffer *several)
{
	struct gy_page *page = several->first.page;
	uint32_t each = page->segment_bytes;
	struct gyre_buffer *buffer =
		gy_buffer_of_page(&channel->channels->pools, page, several->first.bytes, each);

	if (gy_unlikely(buffer == NULL)) {
		return take_last(several, each);
	}
	gy_page_ref(page);
	gy_buffer_share_peer(buffer, several);
	several->first.bytes += each;
	several->first.count -= each;
	several->bytes -= each;
	gy_buffer_queue_push_front(&channel->input, several);
	return buffer;
}

struct gyre_buffer *gy_datagram_take(struct gyre_channel *channel, struct gyre_buffer *first)
{
	const struct gy_page *page = first->first.page;

	if (page == NULL || page->segment_bytes == 0 || first->bytes <= page->segment_bytes) {
		return first;
	}
	return take_one(channel, first);
}

/* ---- the end of a receive, phase 1 ---- */

static void wait_for_buffer(struct gyre_channel *channel)
{
	struct gy_datagrams *datagrams = channel->channels->datagrams;

	gy_count(&channel->channels->counters.buffer_stalls, 1);
	if (datagrams->lent == datagrams->count &&
	    (channel->state & (GY_CHANNEL_NO_RECEIVE | GY_CHANNEL_DISCARDING)) == 0) {
		gy_channel_add_no_read(channel, GY_NO_READ_WAITS_FOR_BUFFER);
		gy_list_append(&datagrams->waiters, &channel->waiter);
	}
}

/* Whether an error concerns earlier datagrams or the net, and not the socket. */
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
		wait_for_buffer(channel);
	} else if (is_of_the_net(result)) {
		datagram->receive_error = result;
	} else if (result != -EAGAIN && result != -EINTR &&
		   (result != -ECANCELED || (channel->state & GY_INPUT_CANCELLED) == 0)) {
		gy_channel_set_input(channel, GY_INPUT_ENDED | GY_INPUT_FAILED, 0);
		gy_channel_set_reason(channel, result);
	}
}

static void received(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);
	struct gy_datagram *datagram = gy_datagram_of(channel);

	if (gy_likely(completion->has_buffer)) {
		received_datagram(datagram, completion);
	}
	if (gy_unlikely(completion->result < 0)) {
		receive_ended(datagram, completion->result);
	}
	if (gy_unlikely(!completion->more)) {
		gy_channel_set_input(channel, 0, GY_INPUT_CANCELLED);
	}
	gy_endpoint_ready(&channel->endpoint);
}

void gy_datagram_input_init(struct gy_datagram *datagram)
{
	gy_op_init(&datagram->channel.receive, received);
}

int gy_datagram_receive(struct gyre_channel *channel)
{
	return gy_ring_receive_datagrams(channel->channels->pools.ring, &channel->receive,
					 channel->endpoint.fd);
}
