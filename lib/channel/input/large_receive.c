/*
 * Receiving much at a time: into a large page of the channel's own, by one receive after the other,
 * instead of into many small pages of the ring. The kernel is asked once instead of sixteen times,
 * no message is cut at the end of a small page, and the same memory is used over and over, so that
 * it stays in the cache; pages of the ring take turns in all of their memory.
 *
 * A channel that receives now and then is better off without, since it would hold the page all the
 * time. So a channel receives like this after several pages of the ring in a row were full, and
 * until little has come several times.
 */
#include "channel/channel.h"
#include "channel/input/input.h"
#include "channel/output/output.h"
#include "ring/sanitize.h"

enum {
	PAGE_BYTES = 128 * 1024,
	FULL_PAGES = 8, /* in a row: much */
	LITTLE_BYTES = 2048,
	LITTLE_TIMES = 8,
};

/* More than are wanted need not be known. */
static void count_time(struct gyre_channel *channel, bool again)
{
	channel->large_receive_streak =
		!again ? 0
		       : (uint8_t)(channel->large_receive_streak +
				   (channel->large_receive_streak < UINT8_MAX));
}

static void end(struct gyre_channel *channel)
{
	gy_assert(!channel->receive.armed);
	gy_page_unref(&channel->channels->pools, channel->large_page);
	channel->large_page = NULL;
	channel->large_receive_streak = 0;
	channel->kind = &gy_stream_kind;
	gy_input_init(channel);
}

static void keep(struct gyre_channel *channel, uint32_t count)
{
	struct gy_channels *channels = channel->channels;
	struct gyre_buffer *buffer;

	if ((channel->state & GY_CHANNEL_DISCARDING) != 0) {
		gy_channel_set_input(channel, GY_INPUT_DISCARDED, 0);
		return;
	}
	gy_sanitize_give(channel->large_page->memory, count);
	buffer = gy_buffer_of_page(&channels->pools, channel->large_page,
				   channel->large_page->memory, count);
	if (buffer == NULL) {
		gy_channel_fail(channel, -ENOMEM);
		return;
	}
	gy_page_ref(channel->large_page);
	gy_count(&channels->counters.reads, 1);
	gy_count(&channels->counters.bytes_received, count);
	gy_buffer_queue_push(&channel->input, buffer);
}

/* Phase 1. */
static void received(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);

	if (completion->result > 0) {
		count_time(channel, completion->result <= LITTLE_BYTES);
		keep(channel, (uint32_t)completion->result);
	}
	gy_input_received(op, completion);
}

/* The page is free again, unless somebody keeps what came last; then another one takes its place.
 */
static bool have_page(struct gyre_channel *channel)
{
	struct gy_page *page = channel->large_page;

	if (page->references == 1) {
		return true;
	}
	page = gy_page_get_of(&channel->channels->pools, PAGE_BYTES);
	if (page == NULL) {
		return false;
	}
	page->used = page->bytes;
	gy_page_unref(&channel->channels->pools, channel->large_page);
	channel->large_page = page;
	return true;
}

static int receive(struct gyre_channel *channel)
{
	if (channel->large_receive_streak >= LITTLE_TIMES || !have_page(channel)) {
		end(channel);
		return channel->kind->receive(channel);
	}
	gy_op_init(&channel->receive, received);
	return gy_ring_receive_into(channel->channels->pools.ring, &channel->receive,
				    channel->endpoint.fd, channel->large_page->memory,
				    channel->large_page->bytes);
}

static void release(struct gyre_channel *channel)
{
	end(channel);
	channel->kind->free(channel);
}

static const struct gy_channel_kind bulk_kind = {
	.name = "stream in large pages",
	.type = GY_CHANNEL_STREAM,
	.start = gy_output_start,
	.receive = receive,
	.free = release,
};

void gy_large_receive_update(struct gyre_channel *channel, size_t bytes)
{
	struct gy_page *page;

	if (channel->kind != &gy_stream_kind) {
		return;
	}
	count_time(channel, bytes >= gy_ring_buffer_bytes(channel->channels->pools.ring));
	if (channel->large_receive_streak < FULL_PAGES) {
		return;
	}
	channel->large_receive_streak = 0;
	page = gy_page_get_of(&channel->channels->pools, PAGE_BYTES);
	if (page != NULL) {
		page->used = page->bytes; /* nothing is appended there */
		channel->large_page = page;
		channel->kind = &bulk_kind;
		gy_input_renew(channel);
	}
}
