/*
 * Sending. Written bytes are queued. A send takes all that is queued, up to a number of slices; the
 * next one starts when it is complete, in phase 1 if no handler has to be told of anything.
 *
 * A small piece behind others is copied to the end of the last one, also one of several slices, as
 * a line of shared bytes with its end is: another slice in a send costs more than the copy, and
 * pages with a few bytes each would fill the memory long before the marks are reached. The send
 * under way does not change by that: the buffer grows behind the bytes that were given to the
 * kernel, and completions take off what was sent by its count.
 */
#include "channel/output/output.h"

#include <errno.h>

#include "buffer/buffer.h"
#include "channel/channel.h"
#include "channel/channel_log.h"
#include "channel/output/water_marks.h"
#include "channel/output/zero_copy.h"

enum {
	CROWD = 16,				       /* that many buffers are queued: then also */
	COPY_CROWD_BYTES_MAX = GY_POOL_PAGE_BYTES / 2, /* pieces of this */
};

/* ---- queueing ---- */

/* -EPIPE where output is not taken any more. */
static int check_open(const struct gyre_channel *channel)
{
	return (channel->state & GY_CHANNEL_NO_OUTPUT) != 0 ? -EPIPE : 0;
}

/* Bytes that are withheld may wait for something to be read. */
GY_COLD void gy_output_became_unwritable(struct gyre_channel *channel)
{
	gy_channel_set_output(channel, GY_OUTPUT_UNWRITABLE, 0);
	gy_channel_set_events(channel, GY_EVENT_MARK_CROSSED, 0);
	if (!channel->keep_reading && channel->withheld_bytes == 0) {
		gy_channel_add_no_read(channel, GY_NO_READ_PAUSED);
	}
}

size_t gy_output_expanded(const struct gyre_channel *channel, size_t bytes)
{
	return channel->expand_share == 0
		       ? bytes
		       : bytes + bytes / channel->expand_share + channel->expand_bytes;
}

static size_t cap_of(const struct gyre_channel *channel)
{
	return channel->uncapped ? GY_WATER_MARKS_BYTES_MAX : channel->write_max_bytes;
}

/* Counts and logs that the channel is closed for @bytes more than its cap takes. */
static GY_COLD void log_cap(struct gyre_channel *channel, size_t bytes)
{
	gy_count(&channel->channels->counters.write_max_closed, 1);
	gy_channel_warn(channel,
			"is closed: %zu bytes were written behind %zu that wait, and its cap "
			"(write_max_bytes) is %zu; write while gyre_channel_is_writable()",
			bytes, gy_channel_queued_bytes(channel), cap_of(channel));
}

int gy_output_withhold(struct gyre_channel *channel, size_t bytes)
{
	size_t all = gy_channel_queued_bytes(channel) + bytes;

	if (check_open(channel) < 0) {
		return -EPIPE;
	}
	if (all > cap_of(channel)) {
		log_cap(channel, bytes);
		gy_channel_fail(channel, -ENOBUFS);
		return -ENOBUFS;
	}
	channel->withheld_bytes += (uint32_t)bytes; /* no more than the cap, which has 30 bits */
	if ((channel->state & GY_NO_READ_PAUSED) != 0) {
		gy_channel_remove_no_read(channel, GY_NO_READ_PAUSED);
		gy_channel_ready(channel);
	}
	if (all > channel->write_high_bytes && (channel->state & GY_OUTPUT_UNWRITABLE) == 0) {
		gy_output_became_unwritable(channel);
		gy_channel_ready(channel);
	}
	return 0;
}

void gy_output_release(struct gyre_channel *channel, size_t bytes, int error)
{
	gy_assert(channel->withheld_bytes <= GY_WATER_MARKS_BYTES_MAX);
	gy_assert(bytes <= channel->withheld_bytes);
	channel->withheld_bytes -= (uint32_t)bytes;
	if (channel->withheld_bytes == 0 || error < 0) {
		gy_write_promises_release(channel, error);
	}
	if ((channel->state & GY_OUTPUT_UNWRITABLE) == 0) {
		return;
	}
	if (gy_channel_queued_bytes(channel) <= channel->write_low_bytes) {
		gy_output_became_writable(channel);
	} else {
		gy_output_became_unwritable(channel);
	}
	gy_channel_ready(channel);
}

void gy_output_update_writability(struct gyre_channel *channel)
{
	const struct gy_channels *channels = channel->channels;

	if (channels->byte_budget.over != 0) {
		if ((channel->state & GY_OUTPUT_UNWRITABLE) == 0) {
			gy_channel_set_output(channel, GY_OUTPUT_UNWRITABLE, 0);
			gy_channel_set_events(channel, GY_EVENT_MARK_CROSSED, 0);
			gy_channel_ready(channel);
		}
	} else if ((channel->state & GY_OUTPUT_UNWRITABLE) != 0 &&
		   gy_channel_queued_bytes(channel) <= channel->write_low_bytes) {
		gy_output_became_writable(channel);
		gy_channel_ready(channel);
	}
}

/* The most bytes that a write of @count may become on its way through the handlers. */
static size_t most_bytes_of(const struct gyre_channel *channel, size_t count)
{
	size_t bytes = gy_output_expanded(channel, count);

	return (channel->pipeline.mask & GY_ON_WRITE) != 0 ? bytes + GY_HANDLER_ADDS_BYTES_MAX
							   : bytes;
}

int gy_output_check(struct gyre_channel *channel, size_t count)
{
	size_t bytes = most_bytes_of(channel, count);
	bool budgeted = (channel->state & GY_TRAIT_BUDGETED) != 0;
	int r;

	if (check_open(channel) < 0) {
		return -EPIPE;
	}
	if (bytes > channel->write_max_bytes) {
		return -EMSGSIZE;
	}
	r = budgeted ? gy_byte_budget_check_write(channel, bytes) : 0;
	if ((channel->state & GY_OUTPUT_UNWRITABLE) != 0) {
		return -EAGAIN; /* whatever the budget says: the writer hears of its end */
	}
	if (r == 0 && bytes + gy_channel_queued_bytes(channel) > channel->write_max_bytes) {
		r = -EAGAIN;
	}
	if (r == -EAGAIN) {
		gy_output_became_unwritable(channel);
		gy_channel_ready(channel);
	}
	return r;
}

/* Whether the bytes of @data went to the end of the last buffer, and @data is gone. */
static bool merged(struct gyre_channel *channel, struct gyre_buffer *data)
{
	size_t max =
		channel->output_buffers < CROWD ? GY_BUFFER_COPY_BYTES_MAX : COPY_CROWD_BYTES_MAX;

	if (data->bytes > max || gy_output_is_item(channel->output.last) ||
	    gy_buffer_append_copy(channel->output.last, data) < 0) {
		return false;
	}
	gy_buffer_put(data);
	return true;
}

static inline void push(struct gyre_channel *channel, struct gyre_buffer *data)
{
	gy_buffer_queue_push(&channel->output, data);
	channel->output_buffers++;
}

/* So many bytes are queued now. */
static inline void count(struct gyre_channel *channel, size_t bytes)
{
	channel->output_bytes = (uint32_t)bytes;
	gy_endpoint_ready(&channel->endpoint);
}

/*
 * Queues @data; @bytes is all that is queued then. The function is not inlined, so that a caller
 * with an empty queue saves no registers.
 */
static __attribute__((noinline)) int queue(struct gyre_channel *channel, struct gyre_buffer *data,
					   size_t bytes)
{
	if (channel->output.first == NULL || !merged(channel, data)) {
		push(channel, data);
	}
	count(channel, bytes);
	return 0;
}

/* Queues @data where a mark may be crossed, or where the bytes count for the budget. */
static void queue_slow(struct gyre_channel *channel, struct gyre_buffer *data)
{
	bool budgeted = (channel->state & GY_TRAIT_BUDGETED) != 0;
	size_t bytes = channel->output_bytes + data->bytes;

	if (budgeted) {
		gy_byte_budget_charge(channel->channels, data->bytes);
	}
	(void)queue(channel, data, bytes);
	/* By the budget it may have been unwritable before, and was not paused by that. */
	if (bytes > channel->write_high_bytes &&
	    (budgeted || (channel->state & GY_OUTPUT_UNWRITABLE) == 0)) {
		gy_output_became_unwritable(channel);
	}
}

/* 0, or -ENOBUFS, and then the channel is being closed. */
static int check_caps(struct gyre_channel *channel, size_t bytes)
{
	bool budgeted = (channel->state & GY_TRAIT_BUDGETED) != 0;

	if (channel->output_bytes + bytes > cap_of(channel)) {
		log_cap(channel, bytes);
	} else if (budgeted && !gy_byte_budget_fits(channel->channels, bytes)) {
		gy_byte_budget_log_closed(channel, bytes);
	} else {
		return 0;
	}
	gy_channel_fail(channel, -ENOBUFS);
	return -ENOBUFS;
}

/*
 * Slow path: bytes that count for the budget, cross a mark, are none, exceed a cap, or come too
 * late.
 */
static __attribute__((noinline)) int add_slow(struct gyre_channel *channel,
					      struct gyre_buffer *data)
{
	int r = check_open(channel);

	if (r == 0 && data->bytes > 0) {
		r = check_caps(channel, data->bytes);
	}
	if (r < 0 || data->bytes == 0) {
		gy_buffer_put(data);
		return r;
	}
	queue_slow(channel, data);
	return 0;
}

int gy_output_add(struct gyre_channel *channel, struct gyre_buffer *data)
{
	size_t bytes = channel->output_bytes + data->bytes;

	if (gy_unlikely((channel->state &
			 (GY_CHANNEL_NO_OUTPUT | GY_TRAIT_BY_KIND | GY_TRAIT_BUDGETED)) != 0 ||
			data->bytes == 0 || bytes > channel->write_high_bytes)) {
		return channel->kind->add != NULL ? channel->kind->add(channel, data)
						  : add_slow(channel, data);
	}
	if (channel->output.first != NULL) {
		return queue(channel, data, bytes);
	}
	push(channel, data);
	count(channel, bytes);
	return 0;
}

/* ---- sending ---- */

/* An item that is not of bytes is sent by itself, and ends what is described. */
void gy_gather_buffers(struct gy_gather *gather, const struct gyre_buffer *first)
{
	const struct gyre_buffer *buffer = first;
	const struct gy_slice *slice = &buffer->first;
	size_t count = 0;

	gather->message = (struct msghdr){ .msg_iov = gather->slices };
	while (slice != NULL && count < GY_GATHER_SLICES) {
		gather->slices[count].iov_base = slice->bytes;
		gather->slices[count].iov_len = slice->count;
		count++;
		slice = slice->next;
		if (slice == NULL && buffer->next != NULL && !gy_output_is_item(buffer->next)) {
			buffer = buffer->next;
			slice = &buffer->first;
		}
	}
	gather->message.msg_iovlen = count;
}

static int send_one(struct gyre_channel *channel, const struct gy_slice *slice)
{
	if (gy_unlikely(channel->kind->send != NULL)) {
		const struct iovec only = { .iov_base = slice->bytes, .iov_len = slice->count };

		return channel->kind->send(channel, &only, 1);
	}
	return gy_ring_send(channel->channels->pools.ring, &channel->send, channel->endpoint.fd,
			    slice->bytes, slice->count);
}

static int send_many(struct gyre_channel *channel)
{
	struct gy_gather *gather = (struct gy_gather *)gy_pool_get(&channel->channels->gathers);
	int r;

	if (gather == NULL) {
		return send_one(channel, &channel->output.first->first);
	}
	gy_assert((channel->state & GY_OUTPUT_GATHERED) == 0);
	gy_gather_buffers(gather, channel->output.first);
	if (gy_unlikely(channel->kind->send != NULL)) {
		r = channel->kind->send(channel, gather->slices,
					(uint32_t)gather->message.msg_iovlen);
	} else {
		r = gy_ring_send_message(channel->channels->pools.ring, &channel->send,
					 channel->endpoint.fd, &gather->message);
	}
	if (r < 0) {
		gy_pool_put(&channel->channels->gathers, gather);
		return r;
	}
	channel->gather = gather;
	gy_channel_set_output(channel, GY_OUTPUT_GATHERED, 0);
	return 0;
}

/* Whether @item is sent together with the buffer before it. */
static bool sent_with_item(struct gyre_channel *channel, struct gyre_buffer *item)
{
	const struct gy_output_item_ops *ops = gy_output_item_of(item)->ops;

	return ops->send_with_bytes != NULL && ops->send_with_bytes(channel, item);
}

/* Slow path: several slices, an item, a send without a copy, or a send by the kind. */
static __attribute__((noinline)) int send_slow(struct gyre_channel *channel)
{
	const struct gyre_buffer *first = channel->output.first;

	if (gy_channel_is_aborted(channel)) {
		return 0;
	}
	if (gy_output_is_item(first)) {
		return gy_output_item_of(first)->ops->send(channel);
	}
	if (first->next != NULL && gy_output_is_item(first->next) &&
	    sent_with_item(channel, first->next)) {
		return 0;
	}
	if (gy_zero_copy_is_due(channel)) {
		int r = gy_zero_copy_send(channel);

		if (r != -ENOMEM) {
			return r;
		}
	}
	if (first->next == NULL && first->first.next == NULL) {
		return send_one(channel, &first->first);
	}
	return send_many(channel);
}

int gy_output_send(struct gyre_channel *channel)
{
	const struct gyre_buffer *first = channel->output.first;
	const struct gy_channels *channels = channel->channels;

	if (gy_unlikely((channel->state & (GY_CHANNEL_ENDING | GY_TRAIT_BY_KIND)) != 0 ||
			first->next != NULL || first->first.next != NULL ||
			first->first.page == NULL ||
			channel->output_bytes >= channels->options.zero_copy_bytes)) {
		return send_slow(channel);
	}
	return gy_ring_send(channels->pools.ring, &channel->send, channel->endpoint.fd,
			    first->first.bytes, first->first.count);
}

struct gy_op *gy_output_op(struct gyre_channel *channel)
{
	struct gy_op *op = gy_zero_copy_op(channel);

	return op == NULL ? &channel->send : op;
}

void gy_output_clear(struct gyre_channel *channel)
{
	struct gyre_buffer *buffer;

	gy_assert(!channel->send.armed);
	while ((buffer = gy_buffer_queue_pop(&channel->output)) != NULL) {
		if (gy_output_is_item(buffer)) {
			gy_output_item_of(buffer)->ops->drop(channel, buffer);
		} else {
			gy_buffer_put(buffer);
		}
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		gy_byte_budget_release(channel->channels, channel->output_bytes);
	}
	channel->output_bytes = 0;
	channel->output_buffers = 0;
}

/* Items that are sent meanwhile are for the next run. */
void gy_output_notify_items_sent(struct gyre_channel *channel)
{
	struct gy_buffer_queue sent = channel->sent;
	struct gyre_buffer *buffer;

	gy_channel_set_events(channel, 0, GY_EVENT_ITEMS_SENT);
	channel->sent.first = NULL;
	while ((buffer = gy_buffer_queue_pop(&sent)) != NULL) {
		gy_output_item_of(buffer)->ops->notify_sent(channel, buffer);
	}
}

/* Takes what was sent off the queue. */
static void consume(struct gyre_channel *channel, size_t count)
{
	gy_assert(count <= channel->output_bytes);
	channel->output_bytes -= (uint32_t)count;
	while (count > 0) {
		struct gyre_buffer *buffer = channel->output.first;

		if (count < buffer->bytes) {
			gy_buffer_consume(buffer, count);
			return;
		}
		count -= buffer->bytes;
		gy_assert(channel->output_buffers > 0 && !gy_output_is_item(buffer));
		channel->output.first = buffer->next;
		channel->output_buffers--;
		gy_buffer_put(buffer);
	}
}

GY_COLD void gy_output_became_writable(struct gyre_channel *channel)
{
	gy_channel_remove_no_read(channel, GY_NO_READ_PAUSED);
	if (channel->channels->byte_budget.over != 0 && !channel->exempt) {
		return; /* the rest follows when that is over */
	}
	gy_channel_set_output(channel, 0, GY_OUTPUT_UNWRITABLE);
	gy_channel_set_events(channel, GY_EVENT_MARK_CROSSED, 0);
}

/* A send has ended that had a gather, or whose bytes count for a mailbox or the budget. */
static GY_COLD void release_send(struct gyre_channel *channel, int32_t result)
{
	if ((channel->state & GY_OUTPUT_GATHERED) != 0) {
		gy_pool_put(&channel->channels->gathers, channel->gather);
		gy_channel_set_output(channel, 0, GY_OUTPUT_GATHERED);
	}
	/* In a run of the mailbox its event is not set. */
	if (channel->mailbox != NULL && !gy_fifo_empty(&channel->mailbox->written) && result > 0) {
		channel->mailbox->taken_bytes += (uint32_t)result;
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0 && result > 0) {
		gy_byte_budget_release(channel->channels, (uint32_t)result);
	}
}

/* Nothing else tells of a reset now that the send does not: see reset_watch.c. */
static bool needs_watch(const struct gyre_channel *channel)
{
	return (channel->state & GY_NO_READ_NOT_ASKED) != 0 && !channel->receive.armed &&
	       !channel->send.armed && !channel->reset_watch.waiting &&
	       !channel->reset_watch.poll.armed;
}

void gy_output_send_ended(struct gyre_channel *channel, int32_t result)
{
	bool again = result > 0 || result == -EAGAIN || result == -EINTR;

	if (!again && !gy_channel_is_aborted(channel)) {
		gy_channel_fail(channel, result == 0 ? -EPIPE : result);
	}
	if ((channel->state & GY_CHANNEL_SLOW_SENT) != 0 || gy_output_start(channel) < 0 ||
	    needs_watch(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* Takes off what was sent, which may make the channel writable. */
static void take(struct gyre_channel *channel, int32_t result)
{
	if (gy_likely(result > 0)) {
		gy_count(&channel->channels->counters.bytes_sent, (uint32_t)result);
		consume(channel, (size_t)result);
	}
	if ((channel->state & GY_OUTPUT_UNWRITABLE) != 0 &&
	    gy_channel_queued_bytes(channel) <= channel->write_low_bytes) {
		gy_output_became_writable(channel);
	}
}

/* Slow path: a partial send, an error, more that is queued, or handlers to be notified. */
static __attribute__((noinline)) void sent_slow(struct gyre_channel *channel, int32_t result)
{
	const uint32_t to_release = GY_OUTPUT_GATHERED | GY_EVENT_MAILBOX | GY_TRAIT_BUDGETED;

	if ((channel->state & to_release) != 0) {
		release_send(channel, result);
	}
	take(channel, result);
	if (result > 0 && channel->output.first == NULL &&
	    (channel->state & GY_CHANNEL_SLOW_SENT) == 0 && !needs_watch(channel)) {
		channel->channels->home->loop.silent++;
		return;
	}
	gy_output_send_ended(channel, result);
}

void gy_output_take(struct gyre_channel *channel, uint32_t count)
{
	release_send(channel, (int32_t)count);
	take(channel, (int32_t)count);
}

/* Phase 1. */
void gy_output_sent(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);
	struct gyre_buffer *buffer = channel->output.first;
	int32_t result = completion->result;

	/* More may have been written meanwhile. */
	if (gy_unlikely((channel->state & (GY_CHANNEL_SLOW_SENT | GY_NO_READ_NOT_ASKED |
					   GY_OUTPUT_GATHERED | GY_TRAIT_BUDGETED)) != 0 ||
			result <= 0 || (size_t)result != buffer->bytes || buffer->next != NULL)) {
		sent_slow(channel, result);
		return;
	}
	gy_assert(channel->output_bytes == (uint32_t)result && channel->output_buffers == 1);
	gy_count(&channel->channels->counters.bytes_sent, (uint32_t)result);
	channel->output_bytes = 0;
	channel->output_buffers = 0;
	channel->output.first = NULL;
	channel->channels->home->loop.silent++;
	gy_buffer_put(buffer);
}

void gy_output_init(struct gyre_channel *channel)
{
	gy_op_init(&channel->send, gy_output_sent);
}
