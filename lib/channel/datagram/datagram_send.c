/*
 * Sending datagrams. Written datagrams leave when the actor's run ends: by one send for each, or
 * for several of one size, with several sends in flight, prepared in order for one system call.
 *
 * If a path takes less than a batch was to leave as, the first refusal teaches the channel: the
 * batch is taken apart, and datagrams of that size go singly from then on. A device that cannot
 * send batches at all ends the attempts.
 *
 * A send that finds no room waits here and not in the kernel: nothing more is sent until those
 * under way are done, and then it goes first. Over UDP the kernel reports room, on a Unix socket
 * only if it is connected; otherwise the send is repeated after a while. There the room is that of
 * one peer, and datagrams for others may stand behind it: after the linger time the datagrams for a
 * peer that makes no room fail, if they hold up anybody.
 *
 * A send that fails costs the channel these datagrams only. Handlers get an exception.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>

#include "channel/datagram/datagram.h"

static const uint64_t retry_min_ns = GYRE_MILLISECONDS(1);
static const uint64_t retry_max_ns = GYRE_MILLISECONDS(16);

static struct gy_datagram_send *send_at(struct gy_list *item)
{
	return gy_container_of(item, struct gy_datagram_send, item);
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
		(void)gy_ring_poll(channels->pools.ring, &datagram->room,
				   datagram->channel.endpoint.fd, POLLOUT);
		return;
	}
	if (datagram->retry_ns == 0) {
		datagram->refused_ns = channels->home->loop.now_ns;
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

/* ---- the end of a send ---- */

static inline void put_gather(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	if (gy_unlikely(send->gather != NULL)) {
		gy_pool_put(&datagram->channel.channels->datagrams->gathers, send->gather);
		send->gather = NULL;
	}
}

static void put_send(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	gy_pool_put(&datagram->channel.channels->datagrams->sends, send);
}

/* Frees the buffers; how many bytes they had. */
static inline size_t free_buffers(struct gy_datagram_send *send)
{
	struct gyre_buffer *buffer = send->first;
	size_t bytes = 0;

	do {
		struct gyre_buffer *next = buffer->next;

		bytes += buffer->bytes;
		gy_buffer_put(buffer);
		buffer = next;
	} while (gy_unlikely(buffer != NULL));
	return bytes;
}

/* Takes it off the queue, with what it counts: how much. It has no buffers any more. */
static inline size_t leave_queue(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gyre_channel *channel = &datagram->channel;
	size_t cost = gy_datagram_cost(free_buffers(send), send->count);

	gy_list_remove(&send->item);
	gy_assert(cost <= channel->output_bytes);
	channel->output_bytes -= (uint32_t)cost;
	if (gy_likely((channel->state & (GY_TRAIT_BUDGETED | GY_EVENT_MAILBOX)) == 0)) {
		return cost;
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		gy_byte_budget_release(channel->channels, cost);
	}
	if ((channel->state & GY_EVENT_MAILBOX) != 0) {
		uint64_t queued;

		gy_datagram_count_output(channel, &queued, &channel->mailbox->taken_bytes);
	}
	return cost;
}

static void fail(struct gy_datagram *datagram, struct gy_datagram_send *send, int error)
{
	struct gy_channel_mailbox *mailbox = datagram->channel.mailbox;
	uint32_t position = send->position;
	size_t cost;

	gy_count(&datagram->channel.channels->counters.datagrams_failed, send->count);
	cost = leave_queue(datagram, send);
	if (mailbox != NULL) {
		gy_write_promises_fail(mailbox, position, cost, error);
	}
	send->error = error;
	gy_fifo_push(&datagram->failed, &send->link);
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
		if (datagram->segment_bytes_max >= send->each) {
			datagram->segment_bytes_max = send->each - 1U;
		}
		return true;
	}
	return false;
}

static bool is_to(const struct gy_datagram *datagram, const struct gy_datagram_send *send,
		  const struct gyre_socket_address *peer)
{
	return gy_address_table_matches(&datagram->channel.channels->pools.addresses,
					send->first->first.peer, &peer->storage, peer->bytes);
}

/* Whether the first of the queue was refused for as long as a peer has to make progress. */
static bool has_waited_long(const struct gy_datagram *datagram)
{
	const struct gy_channels *channels = datagram->channel.channels;

	return datagram->retry_ns != 0 &&
	       channels->home->loop.now_ns - datagram->refused_ns >= channels->options.linger_ns;
}

/* Whether anything is queued for another peer. */
static bool has_other_peer(const struct gy_datagram *datagram,
			   const struct gyre_socket_address *peer)
{
	const struct gy_list *item = datagram->sends.next;

	while (item != &datagram->sends &&
	       is_to(datagram, gy_container_of(item, const struct gy_datagram_send, item), peer)) {
		item = item->next;
	}
	return item != &datagram->sends;
}

/*
 * Whether somebody is held up: by a peer that makes no room, others behind it; or those who would
 * write. Of a channel that closes nobody would, and the linger timer bounds its wait.
 */
static bool holds_up_somebody(const struct gy_datagram *datagram,
			      const struct gyre_socket_address *peer)
{
	const struct gyre_channel *channel = &datagram->channel;
	bool unwritable = (channel->state & GY_OUTPUT_UNWRITABLE) != 0;

	return has_other_peer(datagram, peer) || (unwritable && !gy_channel_is_ending(channel));
}

/* All that is queued for the peer, which makes no room. Nothing is in flight. */
static void give_up(struct gy_datagram *datagram, const struct gyre_socket_address *peer)
{
	struct gy_list *item = datagram->sends.next;

	gy_assert(datagram->sends_count == 0);
	while (item != &datagram->sends) {
		struct gy_datagram_send *send = send_at(item);

		item = item->next;
		if (is_to(datagram, send, peer)) {
			fail(datagram, send, -ETIMEDOUT);
		}
	}
	datagram->batch.send = NULL;
	datagram->unsent = datagram->sends.next;
	datagram->retry_ns = 0;
}

static void had_no_room(struct gy_datagram *datagram, const struct gy_datagram_send *send)
{
	struct gyre_socket_address peer;

	if (!datagram->can_wait) {
		peer = gy_address_table_at(&datagram->channel.channels->pools.addresses,
					   send->first->first.peer)
			       ->address;
		if (has_waited_long(datagram) && holds_up_somebody(datagram, &peer)) {
			give_up(datagram, &peer);
			return;
		}
	}
	datagram->again = true;
	wait_for_room(datagram);
}

static GY_COLD void was_refused(struct gy_datagram *datagram, struct gy_datagram_send *send,
				int32_t result)
{
	if (result == -EAGAIN) {
		send->flags &= (uint8_t)~GY_DATAGRAM_CANCELLED;
		had_no_room(datagram, send);
		return;
	}
	if (result == -EINTR || was_batch_refused(datagram, send, result) ||
	    (result == -ECANCELED && (send->flags & GY_DATAGRAM_CANCELLED) != 0)) {
		datagram->again = true;
	} else {
		fail(datagram, send, result);
	}
	send->flags &= (uint8_t)~GY_DATAGRAM_CANCELLED;
}

/* Phase 1. */
static void sent(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_datagram_send *send = gy_container_of(op, struct gy_datagram_send, op);
	struct gy_datagram *datagram = send->datagram;
	struct gyre_channel *channel = &datagram->channel;
	struct gy_channels *channels = channel->channels;
	int32_t result = completion->result;

	gy_assert(datagram->sends_count > 0);
	datagram->sends_count--;
	put_gather(datagram, send);
	if (gy_likely(result >= 0)) {
		datagram->retry_ns = 0;
		gy_count(&channels->counters.bytes_sent, (uint32_t)result);
		gy_count(&channels->counters.datagrams_sent, send->count);
		gy_count(&channels->counters.datagram_sends, 1);
		(void)leave_queue(datagram, send);
		put_send(datagram, send);
	} else {
		was_refused(datagram, send, result);
	}
	if (gy_unlikely((channel->state & GY_OUTPUT_UNWRITABLE) != 0) &&
	    channel->output_bytes <= channel->write_low_bytes) {
		gy_output_became_writable(channel);
	}
	if (gy_unlikely((channel->state & GY_CHANNEL_SLOW) != 0 ||
			datagram->unsent != &datagram->sends || datagram->again ||
			!gy_fifo_empty(&datagram->failed))) {
		gy_endpoint_ready(&channel->endpoint);
	} else {
		channels->home->loop.silent++;
	}
}

/* ---- sending ---- */

static void describe(struct gy_gather *gather, const struct gy_datagram_send *send)
{
	size_t count = 0;

	for (const struct gyre_buffer *buffer = send->first; buffer != NULL;
	     buffer = buffer->next) {
		for (const struct gy_slice *slice = &buffer->first; slice != NULL;
		     slice = slice->next) {
			gy_assert(count < GY_GATHER_SLICES);
			gather->slices[count].iov_base = slice->bytes;
			gather->slices[count].iov_len = slice->count;
			count++;
		}
	}
	gather->message = (struct msghdr){ .msg_iov = gather->slices, .msg_iovlen = count };
}

/* Says how the kernel is to cut it. */
static void cut(struct gy_datagram_gather *gather, uint16_t each)
{
	const struct cmsghdr head = {
		.cmsg_len = CMSG_LEN(sizeof(each)),
		.cmsg_level = SOL_UDP,
		.cmsg_type = UDP_SEGMENT,
	};

	memcpy(gather->control, &head, sizeof(head));
	memcpy(gather->control + CMSG_LEN(0), &each, sizeof(each));
	gather->gather.message.msg_control = gather->control;
	gather->gather.message.msg_controllen = sizeof(gather->control);
}

static int send_gathered(struct gy_datagram *datagram, struct gy_datagram_send *send,
			 struct gyre_socket_address *to)
{
	struct gy_channels *channels = datagram->channel.channels;
	struct msghdr *message;
	int r;

	send->gather = (struct gy_datagram_gather *)gy_pool_get(&channels->datagrams->gathers);
	if (send->gather == NULL) {
		return -EAGAIN;
	}
	message = &send->gather->gather.message;
	describe(&send->gather->gather, send);
	if (to != NULL) {
		message->msg_name = &to->storage;
		message->msg_namelen = to->bytes;
	}
	if (send->count > 1) {
		cut(send->gather, send->each);
	}
	r = gy_ring_send_datagram(channels->pools.ring, &send->op, datagram->channel.endpoint.fd,
				  message);
	if (r < 0) {
		put_gather(datagram, send);
	}
	return r;
}

static inline int send_one(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gy_channels *channels = datagram->channel.channels;
	const struct gy_slice *slice = &send->first->first;
	struct gyre_socket_address *to = NULL;

	send->op = (struct gy_op){ 0 };
	gy_op_init(&send->op, sent);
	if (gy_likely(!datagram->connected)) {
		to = &gy_address_table_at(&channels->pools.addresses, slice->peer)->address;
	}
	if (gy_unlikely(send->count > 1 || slice->next != NULL)) {
		return send_gathered(datagram, send, to);
	}
	return gy_ring_send_datagram_piece(
		channels->pools.ring, &send->op, datagram->channel.endpoint.fd,
		(struct iovec){ .iov_base = slice->bytes, .iov_len = slice->count },
		to == NULL ? NULL : (const struct sockaddr *)&to->storage,
		to == NULL ? 0 : to->bytes);
}

/* Refused sends go first, when no other is under way. */
static GY_COLD bool is_in_order(struct gy_datagram *datagram)
{
	if (datagram->sends_count > 0) {
		return false;
	}
	datagram->unsent = datagram->sends.next;
	datagram->again = false;
	return true;
}

/* Splits a batch that cannot leave at once into single sends. */
static GY_COLD void take_apart(struct gy_datagram *datagram, struct gy_datagram_send *send)
{
	struct gy_list *before = send->item.previous;

	if (datagram->batch.send == send) {
		datagram->batch.send = NULL;
	}
	if (gy_datagram_take_apart(send) < 0) {
		fail(datagram, send, -ENOMEM);
		gy_endpoint_ready(&datagram->channel.endpoint);
	}
	datagram->unsent = before->next;
}

int gy_datagram_start(struct gyre_channel *channel)
{
	struct gy_datagram *datagram = gy_datagram_of(channel);
	int r;

	if (gy_unlikely(is_waiting(datagram))) {
		gy_datagram_pack(datagram);
		return 0;
	}
	if (gy_unlikely(datagram->again) && !is_in_order(datagram)) {
		return 0;
	}
	while (datagram->unsent != &datagram->sends &&
	       datagram->sends_count < datagram->sends_max &&
	       gy_likely(!gy_channel_is_ending(channel) || !gy_channel_is_aborted(channel))) {
		struct gy_datagram_send *send = send_at(datagram->unsent);

		if (gy_unlikely(send->count > 1 && send->each > datagram->segment_bytes_max)) {
			take_apart(datagram, send);
			continue;
		}
		r = send_one(datagram, send);
		if (gy_unlikely(r < 0)) {
			return r;
		}
		if (datagram->batch.send == send) {
			datagram->batch.send = NULL;
		}
		datagram->unsent = send->item.next;
		datagram->sends_count++;
	}
	return 0;
}

/* ---- failures, phase 2 ---- */

static void notify_error(struct gy_datagram *datagram, int error)
{
	if ((datagram->channel.state & GY_CHANNEL_ENDING) == 0) {
		gyre_context_fire_exception(&datagram->channel.pipeline.head.head, error);
	}
}

void gy_datagram_notify_failures(struct gy_datagram *datagram)
{
	int error = datagram->receive_error;
	struct gy_fifo_item *link;

	if (gy_unlikely(error != 0)) {
		datagram->receive_error = 0;
		notify_error(datagram, error);
	}
	while (gy_unlikely((link = gy_fifo_pop(&datagram->failed)) != NULL)) {
		struct gy_datagram_send *send =
			gy_container_of(link, struct gy_datagram_send, link);

		error = send->error;
		put_send(datagram, send);
		notify_error(datagram, error);
	}
}

/* ---- life ---- */

bool gy_datagram_has_sent_all(const struct gy_datagram *datagram)
{
	return gy_list_empty(&datagram->sends);
}

void gy_datagram_output_init(struct gy_datagram *datagram, bool is_unix)
{
	gy_list_init(&datagram->sends);
	datagram->unsent = &datagram->sends;
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
		datagram->room_cancelled =
			gy_ring_cancel(channels->pools.ring, &datagram->room) == 0;
		if (!datagram->room_cancelled) {
			gy_endpoint_ready(&datagram->channel.endpoint);
		}
	}
	return !datagram->room.armed;
}

bool gy_datagram_cancel(struct gy_datagram *datagram)
{
	for (struct gy_list *item = datagram->sends.next; item != datagram->unsent;
	     item = item->next) {
		struct gy_datagram_send *send = send_at(item);

		if (!send->op.armed || (send->flags & GY_DATAGRAM_CANCELLED) != 0) {
			continue;
		}
		if (gy_ring_cancel(datagram->channel.channels->pools.ring, &send->op) == 0) {
			send->flags |= GY_DATAGRAM_CANCELLED;
		} else {
			gy_endpoint_ready(&datagram->channel.endpoint);
		}
	}
	return stop_waiting(datagram) && datagram->sends_count == 0;
}

void gy_datagram_clear(struct gy_datagram *datagram)
{
	gy_assert(datagram->sends_count == 0);
	while (!gy_list_empty(&datagram->sends)) {
		struct gy_datagram_send *send = send_at(datagram->sends.next);

		gy_list_remove(&send->item);
		(void)free_buffers(send);
		put_send(datagram, send);
	}
	datagram->unsent = &datagram->sends;
	datagram->batch.send = NULL;
}
