/*
 * Receiving: each channel has one multishot receive, for which the kernel fills buffers of the
 * ring.
 *
 * Reading stops in two steps. At first bytes that come are kept and not delivered; the receive is
 * cancelled only when some do come. So a pause in which the peer is silent costs nothing, and bytes
 * that came meanwhile stand in the input, in order.
 *
 * Where memory is short this would take more of it for each channel; there the receive is cancelled
 * at once, and bytes that have come by then are delivered.
 *
 * A channel that is ending throws away all that it receives; see linger.c. What follows from the
 * end of the input stands in half_close.c. A receive that finds no buffer ends, and its channel
 * waits for its round; see buffer_waiters.c.
 */
#include <errno.h>

#include "channel/channel.h"
#include "channel/half_close.h"
#include "channel/input/input.h"
#include "ring/sanitize.h"

/* Whether the pages of the ring are scarce; from half of that on, whether the queued output of this
 * channel has more than its share of them. */
static inline bool is_crowded(const struct gyre_channel *channel)
{
	const struct gy_channels *channels = channel->channels;

	return gy_unlikely(channels->pools.lent > channels->lent_max / 2) &&
	       (channels->pools.lent > channels->lent_max ||
		channel->output_buffers > channels->channel_share);
}

/* ---- completions, phase 1 ---- */

static GY_COLD void received_nothing(struct gyre_channel *channel, int32_t result)
{
	switch (result) {
	case 0:
		gy_half_close_peer_ended(channel);
		break;
	case -ENOBUFS:
		gy_buffer_waiters_join(channel);
		break;
	case -EAGAIN:
	case -EINTR:
		break;
	case -ECANCELED:
		if ((channel->state & GY_INPUT_CANCELLED) != 0) {
			break;
		}
		__attribute__((fallthrough));
	default:
		gy_half_close_input_failed(channel, result);
		break;
	}
}

/*
 * The reference that the kernel had becomes that of the last slice it received; those before it get
 * one of their own.
 */
static inline struct gy_page *take_page(struct gy_channels *channels,
					const struct gy_completion *completion)
{
	struct gy_page *page = &channels->ring_pages[completion->buffer];

	if (completion->filling) {
		gy_page_ref(page);
		return page;
	}
	gy_assert(channels->pools.lent < channels->ring_pages_count);
	channels->pools.lent++;
	if (!channels->pages_are_shared) {
		page->used = completion->result > 0 ? (uint32_t)completion->result : 0;
	}
	return page;
}

/* No memory for a buffer of @page. */
static GY_COLD void fail_without_memory(struct gyre_channel *channel, struct gy_page *page)
{
	gy_page_unref(&channel->channels->pools, page);
	gy_channel_fail(channel, -ENOMEM);
}

/* Queues @count bytes of @page, whose reference is taken. */
static inline void keep_bytes(struct gyre_channel *channel, struct gy_page *page,
			      unsigned char *bytes, uint32_t count)
{
	struct gy_channels *channels = channel->channels;
	struct gyre_buffer *buffer = gy_buffer_of_page(&channels->pools, page, bytes, count);

	if (gy_unlikely(buffer == NULL)) {
		fail_without_memory(channel, page);
		return;
	}
	gy_count(&channels->counters.reads, 1);
	gy_count(&channels->counters.bytes_received, count);
	gy_buffer_queue_push(&channel->input, buffer);
}

/* Queues @count bytes of @page, whose reference is taken, unless they are to be thrown away. */
static void keep_wanted(struct gyre_channel *channel, struct gy_page *page, unsigned char *bytes,
			int32_t count)
{
	if (count > 0 && (channel->state & GY_CHANNEL_DISCARDING) == 0) {
		keep_bytes(channel, page, bytes, (uint32_t)count);
		return;
	}
	gy_page_unref(&channel->channels->pools, page);
	if (count > 0) {
		gy_channel_set_input(channel, GY_INPUT_DISCARDED, 0);
	}
}

void gy_input_received_page(struct gyre_channel *channel, struct gy_page *page, int32_t result)
{
	gy_assert(page->references == 1 && !page->of_ring && result <= (int32_t)page->bytes);
	page->used = result > 0 ? (uint32_t)result : 0;
	gy_sanitize_give(page->memory, page->used);
	keep_wanted(channel, page, page->memory, result);
}

/* Slow path: no bytes, the final completion, discarding, or others are waiting for buffers. */
static __attribute__((noinline)) void received_slow(struct gyre_channel *channel,
						    const struct gy_completion *completion)
{
	if (completion->has_buffer) {
		keep_wanted(channel, take_page(channel->channels, completion), completion->bytes,
			    completion->result);
	}
	if (completion->result <= 0) {
		received_nothing(channel, completion->result);
	}
	if (!completion->more) {
		gy_channel_set_input(channel, 0, GY_INPUT_CANCELLED);
		gy_buffer_waiters_received(channel, completion);
	} else if (gy_buffer_waiters_overtake(channel)) {
		gy_input_renew(channel);
	}
	gy_endpoint_ready(&channel->endpoint);
}

void gy_input_received(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);

	if (gy_unlikely(!(completion->has_buffer && completion->more) || completion->result <= 0 ||
			(channel->state & GY_CHANNEL_DISCARDING) != 0 ||
			!gy_list_empty(&channel->channels->pools.waiting) ||
			!gy_pool_has_two(&channel->channels->pools.buffers))) {
		received_slow(channel, completion);
		return;
	}
	gy_prefetch_write(channel->reader);
	keep_bytes(channel, take_page(channel->channels, completion), completion->bytes,
		   (uint32_t)completion->result);
	gy_endpoint_ready(&channel->endpoint);
}

void gy_input_init(struct gyre_channel *channel)
{
	gy_op_init(&channel->receive, gy_input_received);
}

/* ---- delivery, phase 2 ---- */

/* Whether it keeps others from receiving. */
static bool has_ring_page(const struct gyre_buffer *buffer)
{
	return buffer->first.page != NULL && buffer->first.page->of_ring;
}

/* Counts the input that handlers have not had. */
static void count_input(struct gyre_channel *channel)
{
	size_t bytes = 0;

	for (const struct gyre_buffer *buffer = channel->input.first; buffer != NULL;
	     buffer = buffer->next) {
		bytes += buffer->bytes;
	}
	gy_byte_budget_set(channel, &channel->input_charged, bytes);
}

void gy_input_clear(struct gyre_channel *channel)
{
	gy_buffer_queue_clear(&channel->input);
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		count_input(channel);
	}
}

/* Input stays undelivered: it must not keep other channels from receiving. */
static GY_COLD void keep_undelivered(struct gyre_channel *channel)
{
	if ((channel->state & GY_CHANNEL_ENDING) != 0) {
		gy_input_clear(channel);
		return;
	}
	for (struct gyre_buffer *buffer = channel->input.first;
	     buffer != NULL && is_crowded(channel); buffer = buffer->next) {
		if (has_ring_page(buffer)) {
			gy_buffer_copy_out_of_ring(buffer);
		}
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		count_input(channel);
	}
}

/* After a delivery: ends the handshake, completes the read, counts what is left. */
static GY_COLD void finish_delivery(struct gyre_channel *channel)
{
	if ((channel->state & GY_INPUT_AWAITED) != 0) {
		gy_handshake_stop(channel);
	}
	if ((channel->state & GY_TRAIT_READ_COMPLETE) != 0) {
		gyre_context_fire_read_complete(&channel->pipeline.head.head);
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		count_input(channel);
	}
}

/* Handlers are given @bytes, which may be counted again as what these make of them. */
static GY_COLD void uncount_input(struct gyre_channel *channel, size_t bytes)
{
	uint32_t charged = channel->input_charged; /* what came in this turn is not */

	gy_byte_budget_set(channel, &channel->input_charged, bytes < charged ? charged - bytes : 0);
}

static void note_taken(struct gyre_channel *channel, const struct gyre_buffer *buffer)
{
	if ((channel->state & GY_INPUT_MANUAL) != 0) {
		gy_channel_add_no_read(channel, GY_NO_READ_NOT_ASKED);
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		uncount_input(channel, buffer->bytes);
	}
}

/*
 * The part of @buffer that is delivered: by its kind, to a channel that reads on request, or to one
 * whose bytes count for the budget.
 */
static struct gyre_buffer *take_slow(struct gyre_channel *channel, struct gyre_buffer *buffer)
{
	if (channel->kind->take != NULL) {
		buffer = channel->kind->take(channel, buffer);
	}
	if ((channel->state & (GY_INPUT_MANUAL | GY_TRAIT_BUDGETED)) != 0) {
		note_taken(channel, buffer);
	}
	return buffer;
}

void gy_input_deliver(struct gyre_channel *channel)
{
	bool any = false;

	while (gy_input_is_deliverable(channel)) {
		struct gyre_buffer *buffer = gy_buffer_queue_pop(&channel->input);

		if (gy_unlikely(is_crowded(channel)) && has_ring_page(buffer)) {
			gy_buffer_copy_out_of_ring(buffer);
		}
		if (gy_unlikely((channel->state &
				 (GY_INPUT_MANUAL | GY_TRAIT_BY_KIND | GY_TRAIT_BUDGETED)) != 0)) {
			buffer = take_slow(channel, buffer);
		}
		gy_context_gets(channel->reader, buffer);
		channel->reader->handler->read(&channel->reader->head, buffer);
		any = true;
	}
	if (gy_unlikely((channel->state &
			 (GY_TRAIT_READ_COMPLETE | GY_TRAIT_BUDGETED | GY_INPUT_AWAITED)) != 0) &&
	    any) {
		finish_delivery(channel);
	}
	if (gy_unlikely(channel->input.first != NULL)) {
		keep_undelivered(channel);
	}
}

/* ---- arming, phase 2 ---- */

static int cancel(struct gyre_channel *channel)
{
	int r = 0;

	if (channel->receive.armed && (channel->state & GY_INPUT_CANCELLED) == 0) {
		r = gy_ring_cancel(channel->channels->pools.ring, &channel->receive);
		if (r == 0) {
			gy_channel_set_input(channel, GY_INPUT_CANCELLED, 0);
		}
	}
	return r;
}

void gy_input_renew(struct gyre_channel *channel)
{
	/* A receive that cannot be cancelled now goes on until it ends by itself. */
	(void)cancel(channel);
}

/* Whether the armed receive is to end: its bytes would pile up, or memory is short. */
static bool must_cancel(const struct gyre_channel *channel)
{
	bool discarding = (channel->state & GY_CHANNEL_DISCARDING) != 0;
	bool starved = (channel->state & GY_NO_READ_STARVED) != 0;

	return (channel->input.first != NULL && !discarding) ||
	       (starved && !gy_input_is_wanted(channel));
}

int gy_input_update_receive(struct gyre_channel *channel)
{
	gy_assert(!gy_channel_is_closed(channel));
	if (gy_input_is_deliverable(channel)) {
		gy_endpoint_ready(&channel->endpoint); /* a handler has let reading go on */
		return 0;
	}
	if ((channel->state & GY_CHANNEL_DISCARDING) != 0 && gy_channel_is_pipe(channel)) {
		/* A pipe cannot be reset, and another reader may want the bytes. */
		(void)gy_input_stop(channel);
		return 0;
	}
	if (channel->receive.armed) {
		return must_cancel(channel) ? cancel(channel) : 0;
	}
	if (!gy_input_is_wanted(channel)) {
		gy_reset_watch_start(channel);
		return 0;
	}
	(void)gy_reset_watch_stop(channel); /* the receive hears of a reset too */
	return gy_buffer_waiters_receive(channel);
}

bool gy_input_stop(struct gyre_channel *channel)
{
	if ((channel->state & GY_NO_READ_WAITS_FOR_BUFFER) != 0) {
		gy_buffer_waiters_leave(channel);
	}
	if (cancel(channel) < 0) {
		gy_endpoint_ready(&channel->endpoint);
	}
	return !channel->receive.armed;
}
