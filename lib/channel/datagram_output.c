/*
 * Sending datagrams. What is written queues up, is counted against the marks with what a buffer
 * takes besides its bytes, so that empty ones count too, and leaves when the actor's run ends: by
 * one send for each, several of them in flight, prepared in order for one system call.
 *
 * Datagrams of one size that stand behind each other and have one peer leave by one send, which the
 * kernel cuts into pieces of that size (GSO); the last may be shorter. Only such as fit into a
 * packet of any Ethernet are sent so, and where a path takes less the first refusal teaches the
 * channel: they are queued again, and those of that size go singly from then on. A device that
 * cannot do it at all ends the attempts.
 *
 * A send that finds no room waits here and not in the kernel: nothing more is sent until those
 * under way are done, and then it goes first. Over UDP the kernel tells when there is room, of a
 * Unix socket only to one that is connected; else it is tried again after a while.
 *
 * A send that fails costs the channel these datagrams only. Handlers hear of it as an exception.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>

#include "channel/datagram.h"

enum {
	OVERHEAD_BYTES = sizeof(struct gyre_buffer),
	BATCH_MAX = GY_GATHER_SLICES, /* datagrams of one send, as many as the kernel cuts */
};

static const uint64_t retry_min_ns = GYRE_MILLISECONDS(1);
static const uint64_t retry_max_ns = GYRE_MILLISECONDS(16);

/* ---- queueing ---- */

static bool has_too_many_slices(const struct gyre_buffer *buffer)
{
	uint32_t count = 0;

	for (const struct gy_slice *slice = &buffer->first; slice != NULL; slice = slice->next) {
		count++;
	}
	return count > GY_GATHER_SLICES;
}

/* More slices than one send takes become few, by a copy; false without memory. */
static bool compact(struct gyre_buffer *buffer)
{
	if (gy_likely(buffer->first.next == NULL) || !has_too_many_slices(buffer)) {
		return true;
	}
	gy_buffer_leave_ring(buffer);
	return !has_too_many_slices(buffer);
}

static size_t cost_of(const struct gyre_buffer *buffer)
{
	return buffer->bytes + OVERHEAD_BYTES;
}

int gy_datagram_refusal(const struct gyre_channel *channel, const struct gyre_buffer *data)
{
	const struct gy_datagram *datagram =
		gy_container_of(channel, const struct gy_datagram, channel);

	if ((channel->flags & GY_CHANNEL_NO_OUTPUT) != 0) {
		return -EPIPE;
	}
	if (data->bytes > GY_DATAGRAM_BYTES_MAX) {
		return -EMSGSIZE;
	}
	if (!datagram->connected && data->first.peer == 0) {
		return -EDESTADDRREQ;
	}
	return 0;
}

int gy_datagram_add(struct gyre_channel *channel, struct gyre_buffer *data)
{
	const struct gy_channels_options *options = &channel->channels->options;
	size_t bytes = channel->output_bytes + cost_of(data);
	int r = gy_datagram_refusal(channel, data);

	if (r == 0 && bytes > options->write_max_bytes) {
		r = -ENOBUFS;
	}
	if (r == 0 && (channel->flags & GY_CHANNEL_COUNTED) != 0 &&
	    !gy_held_fits(channel->channels, cost_of(data))) {
		gy_count(&channel->channels->counters.held_refused, 1);
		r = -ENOBUFS;
	}
	if (r == 0 && !compact(data)) {
		r = -ENOMEM;
	}
	if (gy_unlikely(r < 0)) {
		gy_count(&channel->channels->counters.datagrams_failed, 1);
		gy_buffer_put(data);
		return r;
	}
	gy_buffer_queue_push(&channel->output, data);
	channel->output_bytes = bytes;
	if (gy_unlikely((channel->flags & GY_CHANNEL_COUNTED) != 0)) {
		gy_held_add(channel->channels, cost_of(data));
	}
	if (gy_unlikely(bytes > options->write_high_bytes) &&
	    (channel->flags & GY_CHANNEL_UNWRITABLE) == 0) {
		gy_output_became_unwritable(channel);
	}
	gy_endpoint_ready(&channel->endpoint);
	return 0;
}

/* ---- sending ---- */

/* Adds the slices of a buffer to what is sent; false when they do not all fit. */
static bool add_slices(struct gy_gather *gather, const struct gyre_buffer *buffer)
{
	size_t count = gather->message.msg_iovlen;
	struct iovec *last = count == 0 ? NULL : &gather->slices[count - 1];

	/* What was received as one stands behind each other. */
	if (last != NULL && buffer->first.next == NULL &&
	    (unsigned char *)last->iov_base + last->iov_len == buffer->first.bytes) {
		last->iov_len += buffer->first.count;
		return true;
	}
	for (const struct gy_slice *slice = &buffer->first; slice != NULL && slice->page != NULL;
	     slice = slice->next) {
		if (count == GY_GATHER_SLICES) {
			return false;
		}
		gather->slices[count].iov_base = slice->bytes;
		gather->slices[count].iov_len = slice->count;
		count++;
	}
	gather->message.msg_iovlen = count;
	return true;
}

/* Nobody can be reached at port 0, which the kernel says in the words for a batch it cannot cut. */
static bool has_port(const struct gy_datagram *datagram, const struct gyre_buffer *buffer)
{
	const struct gy_peers *peers = &datagram->channel.channels->peers;

	return datagram->connected ||
	       gyre_socket_address_port(&gy_peer_at(peers, buffer->first.peer)->address) != 0;
}

static bool is_one_peer(const struct gy_datagram *datagram, uint32_t a, uint32_t b)
{
	const struct gy_peers *peers = &datagram->channel.channels->peers;
	const struct gyre_socket_address *address;

	if (a == b || datagram->connected) {
		return true;
	}
	address = &gy_peer_at(peers, a)->address;
	return gy_peer_is(peers, b, &address->storage, address->bytes);
}

static void take_first(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gyre_buffer *buffer = gy_buffer_queue_pop(&datagram->channel.output);

	gy_buffer_queue_push(&send->buffers, buffer);
	send->count++;
}

/* Adds what can leave together with the first, and says how it is to be cut. */
static void add_batch(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	const struct gyre_buffer *first = send->buffers.first;
	struct msghdr *message = &send->gather.message;
	uint16_t each = (uint16_t)first->bytes;
	size_t bytes = first->bytes;
	const struct gyre_buffer *next;
	struct cmsghdr head = {
		.cmsg_len = CMSG_LEN(sizeof(each)),
		.cmsg_level = SOL_UDP,
		.cmsg_type = UDP_SEGMENT,
	};

	while ((next = datagram->channel.output.first) != NULL && send->count < BATCH_MAX &&
	       bytes == send->count * first->bytes && next->bytes <= first->bytes &&
	       next->bytes > 0 && bytes + next->bytes <= GY_DATAGRAM_BYTES_MAX &&
	       is_one_peer(datagram, first->first.peer, next->first.peer) &&
	       add_slices(&send->gather, next)) {
		bytes += next->bytes;
		take_first(datagram, send);
	}
	if (send->count > 1) {
		memcpy(send->control, &head, sizeof(head));
		memcpy(send->control + CMSG_LEN(0), &each, sizeof(each));
		message->msg_control = send->control;
		message->msg_controllen = sizeof(send->control);
	}
}

static void describe(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gyre_buffer *first;
	struct msghdr *message = &send->gather.message;

	*message = (struct msghdr){ .msg_iov = send->gather.slices };
	take_first(datagram, send);
	first = send->buffers.first;
	if (!datagram->connected) {
		struct gyre_socket_address *peer =
			&gy_peer_at(&datagram->channel.channels->peers, first->first.peer)->address;

		message->msg_name = &peer->storage;
		message->msg_namelen = peer->bytes;
	}
	(void)add_slices(&send->gather, first);
	if (first->bytes > 0 && first->bytes <= datagram->segment_bytes_max &&
	    has_port(datagram, first)) {
		add_batch(datagram, send);
	}
}

/* Puts buffers, of which there are some, before the first of the queue. */
static void put_back(struct gy_datagram *datagram, struct gy_buffer_queue *buffers)
{
	struct gy_buffer_queue *output = &datagram->channel.output;

	buffers->last->next = output->first;
	if (output->first == NULL) {
		output->last = buffers->last;
	}
	output->first = buffers->first;
	buffers->first = NULL;
}

/* Puts what a send has behind what has to be sent again too. */
static void keep(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gy_buffer_queue *again = &datagram->again;

	if (again->first == NULL) {
		again->first = send->buffers.first;
	} else {
		again->last->next = send->buffers.first;
	}
	again->last = send->buffers.last;
	send->buffers.first = NULL;
}

/* Whether the queue is in order: what is to be sent again first. */
static bool is_in_order(struct gy_datagram *datagram)
{
	if (gy_likely(datagram->again.first == NULL)) {
		return true;
	}
	if (!gy_list_empty(&datagram->sends)) {
		return false;
	}
	put_back(datagram, &datagram->again);
	return true;
}

/* ---- waiting for room ---- */

static bool is_waiting(const struct gy_datagram *datagram)
{
	return datagram->room.armed || gy_timer_is_started(&datagram->retry);
}

/* Should it not be possible now the next attempt comes at once. */
static void wait_for_room(struct gy_datagram *datagram)
{
	struct gy_channels *channels = datagram->channel.channels;

	if (is_waiting(datagram)) {
		return;
	}
	if (datagram->can_wait) {
		datagram->room_cancelled = false;
		(void)gy_ring_poll(channels->ring, &datagram->room, datagram->channel.endpoint.fd,
				   POLLOUT);
		return;
	}
	datagram->retry_ns = datagram->retry_ns == 0 ? retry_min_ns : datagram->retry_ns * 2;
	if (datagram->retry_ns > retry_max_ns) {
		datagram->retry_ns = retry_max_ns;
	}
	gy_timer_start(&channels->home->loop.wheel, &datagram->retry, datagram->retry_ns);
}

static void has_room(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion; /* whatever it says, the next send will say it too */
	gy_channel_ready(&gy_container_of(op, struct gy_datagram, room)->channel);
}

static void waited(struct gy_timer *timer)
{
	gy_channel_ready(&gy_container_of(timer, struct gy_datagram, retry)->channel);
}

static void put_send(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	datagram->sends_count--;
	gy_pool_put(&datagram->channel.channels->datagrams->sends, send);
}

static void free_buffers(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gyre_channel *channel = &datagram->channel;
	struct gyre_buffer *buffer;

	while ((buffer = gy_buffer_queue_pop(&send->buffers)) != NULL) {
		channel->output_bytes -= cost_of(buffer);
		if (gy_unlikely((channel->flags & GY_CHANNEL_COUNTED) != 0)) {
			gy_held_take(channel->channels, cost_of(buffer));
		}
		if (gy_unlikely((channel->flags & GY_CHANNEL_POSTED) != 0)) {
			channel->post->taken_bytes += cost_of(buffer);
		}
		gy_buffer_put(buffer);
	}
}

/* Whether the kernel minded that several were to leave at once; and then what is learnt of it. */
static bool was_batch_refused(struct gy_datagram *datagram, const struct gy_datagram_send *send,
			      int32_t result)
{
	if (send->count < 2) {
		return false;
	}
	if (result == -EIO) {
		datagram->segment_bytes_max = 0;
		return true;
	}
	if (result == -EMSGSIZE || result == -EINVAL) {
		uint32_t bytes = (uint32_t)send->buffers.first->bytes;

		if (datagram->segment_bytes_max >= bytes) {
			datagram->segment_bytes_max = bytes - 1;
		}
		return true;
	}
	return false;
}

static void fail(struct gy_datagram *datagram, struct gy_datagram_send *send, int32_t result)
{
	gy_count(&datagram->channel.channels->counters.datagrams_failed, send->count);
	free_buffers(datagram, send);
	send->error = result;
	gy_fifo_push(&datagram->failed, &send->link);
}

/* Phase 1. */
static void sent(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_datagram_send *send = gy_container_of(op, struct gy_datagram_send, op);
	struct gy_datagram *datagram = send->datagram;
	struct gyre_channel *channel = &datagram->channel;
	struct gy_channels *channels = channel->channels;
	int32_t result = completion->result;

	gy_list_remove(&send->item);
	if (gy_likely(result >= 0)) {
		datagram->retry_ns = 0;
		gy_count(&channels->counters.bytes_sent, (uint32_t)result);
		gy_count(&channels->counters.datagrams_sent, send->count);
		gy_count(&channels->counters.datagram_sends, 1);
		free_buffers(datagram, send);
		put_send(datagram, send);
	} else if (result == -EAGAIN) {
		keep(datagram, send);
		put_send(datagram, send);
		wait_for_room(datagram);
	} else if (result == -EINTR || was_batch_refused(datagram, send, result) ||
		   (result == -ECANCELED && send->cancelled)) {
		keep(datagram, send);
		put_send(datagram, send);
	} else {
		fail(datagram, send, result);
	}
	if (gy_unlikely((channel->flags & GY_CHANNEL_UNWRITABLE) != 0) &&
	    channel->output_bytes <= channels->options.write_low_bytes) {
		gy_output_became_writable(channel);
	}
	if (gy_unlikely((channel->flags & (GY_CHANNEL_SLOW | GY_CHANNEL_DRAINED)) != 0) ||
	    channel->output.first != NULL || datagram->again.first != NULL ||
	    !gy_fifo_empty(&datagram->failed)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

static int send_next(struct gy_datagram *datagram)
{
	struct gyre_channel *channel = &datagram->channel;
	struct gy_channels *channels = channel->channels;
	struct gy_datagram_send *send =
		(struct gy_datagram_send *)gy_pool_get(&channels->datagrams->sends);
	int r;

	if (send == NULL) {
		return -EAGAIN;
	}
	datagram->sends_count++;
	send->op = (struct gy_op){ 0 };
	gy_op_init(&send->op, sent);
	send->datagram = datagram;
	send->buffers.first = NULL;
	send->count = 0;
	send->cancelled = false;
	describe(datagram, send);
	r = gy_ring_send_datagram(channels->ring, &send->op, channel->endpoint.fd,
				  &send->gather.message);
	if (r < 0) {
		put_back(datagram, &send->buffers);
		put_send(datagram, send);
		return r;
	}
	gy_list_append(&datagram->sends, &send->item);
	return 0;
}

int gy_datagram_start(struct gyre_channel *channel)
{
	struct gy_datagram *datagram = gy_datagram_of(channel);
	int r = 0;

	if (is_waiting(datagram) || !is_in_order(datagram)) {
		return 0;
	}
	while (r == 0 && channel->output.first != NULL &&
	       datagram->sends_count < datagram->sends_max &&
	       (channel->flags & GY_CHANNEL_ABORTED) == 0) {
		r = send_next(datagram);
	}
	return r;
}

/* ---- failures, phase 2 ---- */

static void tell(struct gy_datagram *datagram, int error)
{
	if ((datagram->channel.flags & GY_CHANNEL_ENDING) == 0) {
		gyre_fire_exception(&datagram->channel.pipeline.head.head, error);
	}
}

void gy_datagram_tell_failures(struct gy_datagram *datagram)
{
	int error = datagram->receive_error;
	struct gy_link *link;

	if (gy_unlikely(error != 0)) {
		datagram->receive_error = 0;
		tell(datagram, error);
	}
	while (gy_unlikely((link = gy_fifo_pop(&datagram->failed)) != NULL)) {
		struct gy_datagram_send *send =
			gy_container_of(link, struct gy_datagram_send, link);

		error = send->error;
		put_send(datagram, send);
		tell(datagram, error);
	}
}

bool gy_datagram_has_sent_all(const struct gy_datagram *datagram)
{
	return datagram->channel.output.first == NULL && datagram->again.first == NULL &&
	       gy_list_empty(&datagram->sends);
}

void gy_datagram_output_init(struct gy_datagram *datagram, bool is_unix)
{
	gy_list_init(&datagram->sends);
	gy_op_init(&datagram->room, has_room);
	gy_timer_init(&datagram->retry, waited);
	datagram->sends_max = is_unix ? 1 : GY_DATAGRAM_SENDS_MAX;
	datagram->can_wait = datagram->connected || !is_unix;
}

/* Whether nobody waits for room any more. */
static bool stop_waiting(struct gy_datagram *datagram)
{
	struct gy_channels *channels = datagram->channel.channels;

	gy_timer_stop(&channels->home->loop.wheel, &datagram->retry);
	if (datagram->room.armed && !datagram->room_cancelled) {
		datagram->room_cancelled = gy_ring_cancel(channels->ring, &datagram->room) == 0;
		if (!datagram->room_cancelled) {
			gy_endpoint_ready(&datagram->channel.endpoint);
		}
	}
	return !datagram->room.armed;
}

bool gy_datagram_cancel(struct gy_datagram *datagram)
{
	struct gy_list *sends = &datagram->sends;

	for (struct gy_list *item = sends->next; item != sends; item = item->next) {
		struct gy_datagram_send *send =
			gy_container_of(item, struct gy_datagram_send, item);

		if (!send->cancelled) {
			send->cancelled =
				gy_ring_cancel(datagram->channel.channels->ring, &send->op) == 0;
		}
		if (!send->cancelled) {
			gy_endpoint_ready(&datagram->channel.endpoint);
		}
	}
	/* What is to be sent again is thrown away with the rest. */
	return stop_waiting(datagram) && is_in_order(datagram);
}
