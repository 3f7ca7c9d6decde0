/*
 * The limit on the bytes that all channels hold together: output that the kernel has not taken,
 * input that handlers have not been given, and incomplete frames that codecs keep. Each loop has
 * its share of the limit and counts for itself; loops do not fight over one number. Parts of files
 * that are to be sent take no memory, and do not count.
 *
 * Over three quarters of its share a loop stops reading on the channels that read by themselves,
 * and all its channels become unwritable: writes that can wait are refused. Below half it goes on.
 * Handlers that heed neither find the end of the share: the channel that would exceed it is closed.
 *
 * Held bytes must be able to go, or the state would last for ever. So received bytes are delivered
 * all the same, unless the channel's own output stands against it; and a channel that holds part of
 * a frame reads on, up to the end of the share. A peer that neither completes its frame nor takes
 * its output is for the idle handler to end, which counts the time of both.
 *
 * Without a limit nothing is paid: a channel counts only with GY_TRAIT_BUDGETED, which is tested
 * together with other bits that are seldom set.
 */
#include "channel/output/byte_budget.h"

#include <errno.h>
#include <inttypes.h>

#include "channel/channel.h"
#include "channel/channel_log.h"

enum { OVER_QUARTERS = 3, UNDER_QUARTERS = 2, QUARTERS = 4 };

uint64_t gy_byte_budget_max(const struct gy_channels *channels)
{
	uint64_t all = channels->options.channel_bytes_max;

	return all == 0 ? 0 : all / gy_loops_count(channels->home->loop.peers);
}

static uint64_t quarters_of(const struct gy_channels *channels, uint32_t count)
{
	return gy_byte_budget_max(channels) / QUARTERS * count;
}

/* ---- the two states ---- */

static void log_change(const struct gy_channels *channels, bool over)
{
	const struct gy_loop *loop = &channels->home->loop;
	uint64_t kib = channels->byte_budget.bytes / 1024;

	if (over) {
		gy_log(loop->options.log, GYRE_LOG_WARNING,
		       "loop %u: its channels hold %" PRIu64 " KiB of the %" PRIu64
		       " KiB that they may by channel_bytes_max: those that read by themselves "
		       "pause until it is half of that",
		       (unsigned)loop->index, kib, gy_byte_budget_max(channels) / 1024);
	} else {
		gy_log(loop->options.log, GYRE_LOG_INFO,
		       "loop %u: its channels hold %" PRIu64 " KiB, and read again",
		       (unsigned)loop->index, kib);
	}
}

static void set_over(struct gy_channels *channels, bool over)
{
	gy_assert((channels->byte_budget.over != 0) != over);
	gy_store_relaxed(&channels->byte_budget.over, over);
	gy_count(&channels->counters.held_periods, over);
	log_change(channels, over);
	gy_channels_update_limits(channels->home);
}

static void begin(struct gy_channels *channels)
{
	if (channels->byte_budget.over == 0) {
		set_over(channels, true);
	}
}

/* ---- counting ---- */

void gy_byte_budget_charge(struct gy_channels *channels, uint64_t bytes)
{
	gy_count(&channels->byte_budget.bytes, bytes);
	if (channels->byte_budget.bytes > quarters_of(channels, OVER_QUARTERS)) {
		begin(channels);
	}
}

void gy_byte_budget_release(struct gy_channels *channels, uint64_t bytes)
{
	gy_assert(channels->byte_budget.bytes >= bytes);
	gy_count(&channels->byte_budget.bytes, -bytes);
	if (channels->byte_budget.over != 0 &&
	    channels->byte_budget.bytes <= quarters_of(channels, UNDER_QUARTERS)) {
		set_over(channels, false);
	}
}

void gy_byte_budget_set(struct gyre_channel *channel, uint32_t *counted, size_t bytes)
{
	uint32_t before = *counted;

	gy_assert(bytes <= UINT32_MAX);
	*counted = (uint32_t)bytes;
	if (bytes > before) {
		gy_byte_budget_charge(channel->channels, bytes - before);
	} else if (bytes < before) {
		gy_byte_budget_release(channel->channels, before - bytes);
	}
}

GY_COLD void gy_byte_budget_log_closed(struct gyre_channel *channel, uint64_t bytes)
{
	struct gy_channels *channels = channel->channels;

	gy_count(&channels->counters.held_closed, 1);
	gy_channel_warn(channel,
			"is closed: for %" PRIu64 " bytes more there is no room, as the channels "
			"of its loop hold %" PRIu64 " of the %" PRIu64
			" that they may (channel_bytes_max)",
			bytes, channels->byte_budget.bytes, gy_byte_budget_max(channels));
}

static void fail_if_full(struct gyre_channel *channel, uint64_t more)
{
	if (!gy_byte_budget_fits(channel->channels, more)) {
		gy_byte_budget_log_closed(channel, more);
		gy_channel_fail(channel, -ENOBUFS);
	}
}

void gy_byte_budget_set_frame(struct gyre_channel *channel, uint32_t *counted, size_t bytes)
{
	struct gy_channels *channels = channel->channels;
	struct gy_endpoint *endpoint = &channel->endpoint;

	if (bytes > *counted) {
		fail_if_full(channel, bytes - *counted);
	}
	gy_assert(channel->frame_bytes >= *counted && (channel->state & GY_TRAIT_BUDGETED) != 0);
	channel->frame_bytes += (uint32_t)bytes;
	channel->frame_bytes -= *counted;
	gy_byte_budget_set(channel, counted, bytes);
	if (channels->byte_budget.over != 0) {
		endpoint->ops->set_busy(endpoint, channels->busy);
	}
}

/* ---- writes ---- */

bool gy_byte_budget_fits(const struct gy_channels *channels, uint64_t bytes)
{
	uint64_t max = gy_byte_budget_max(channels);

	/* The share may have become smaller than what is held. */
	return channels->byte_budget.bytes <= max && bytes <= max - channels->byte_budget.bytes;
}

/*
 * A write that is told to try again must succeed at some time. So a write may be no larger than
 * half of the share: if it does not fit, too much is held already, and that will shrink.
 */
int gy_byte_budget_check_write(struct gyre_channel *channel, size_t bytes)
{
	struct gy_channels *channels = channel->channels;

	if (bytes > quarters_of(channels, UNDER_QUARTERS)) {
		return -EMSGSIZE;
	}
	if (channels->byte_budget.over == 0 && gy_byte_budget_fits(channels, bytes)) {
		return 0;
	}
	gy_count(&channels->counters.held_refused, 1);
	begin(channels);
	return -EAGAIN;
}
