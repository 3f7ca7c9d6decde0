/*
 * Sending parts of files. A region stands in the channel's output as an item, in its order.
 *
 * What is in the page cache is sent at once, by system calls that do not wait. A small region is
 * read into memory that the loop has for that, and goes out with the bytes before it in one call:
 * the head of an answer and its body make one segment. A large one is not copied: sendfile() gives
 * the pages to the socket. When the socket is full, the channel's one send polls for room. So a
 * region holds no memory while a peer is slow, and does not count for the marks.
 *
 * What is not in the page cache, and all that goes to something other than a socket, is spliced by
 * worker threads of the kernel: the region gets a pipe, and repeats three steps with the channel's
 * one send: fill the pipe, wait until the socket has room, empty the pipe into it. The wait is
 * needed because a splice to a socket waits in its thread, and a crowd of slow readers should not
 * hold one each. A region that has waited for a disk goes on in that way to its end: the pages
 * before it are being read.
 */
#include "channel/file/region.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "channel/channel.h"
#include "channel/file/file.h"
#include "channel/file/kept.h"
#include "channel/file/pipe.h"
#include "channel/output/output.h"
#include "channel/pipeline/pipeline.h"
#include "ring/descriptor.h"

enum {
	PIPE_BYTES = 65536,	    /* that a pipe has without asking for more */
	READ_BYTES_MAX = 32768,	    /* of a region that is copied */
	SEND_BYTES_MAX = 1 << 20,   /* at once, before other channels have their turn */
	BEFORE_SLICES_MAX = 8,	    /* that are sent with a region */
	BEFORE_BYTES_MAX = 1 << 14, /* the same */
};

struct region {
	struct gy_output_item item;
	struct gyre_file *file;
	uint64_t offset;
	uint64_t left;	/* bytes that the pipe has not seen */
	uint32_t piped; /* bytes in the pipe */
	bool has_room;	/* in the socket, since the last poll */
	bool waits;	/* for a disk, or for no socket: it is spliced to its end */
	int pipe[2];	/* -1 until its turn comes */
	gyre_file_sent_fn sent;
	void *arg;
};

static struct region *region_of(const struct gyre_buffer *buffer)
{
	return gy_container_of(gy_output_item_of(buffer), struct region, item);
}

static struct region *region_at_front(const struct gyre_channel *channel)
{
	return region_of(channel->output.first);
}

/* ---- the end of one ---- */

static void close_pipe(struct gyre_channel *channel, struct region *region)
{
	gy_channels_close(channel->channels, region->pipe[0]);
	gy_channels_close(channel->channels, region->pipe[1]);
	region->pipe[0] = -1;
	region->pipe[1] = -1;
}

/* Phase 2: tells the program and frees the region. Any phase, where nobody is to be told. */
static void end(struct gyre_channel *channel, struct gyre_buffer *buffer, int result)
{
	struct gy_channels *channels = channel->channels;
	struct region *region = region_of(buffer);

	close_pipe(channel, region);
	gy_file_release(region->file);
	if (region->sent != NULL) {
		region->sent(channel, region->arg, result);
	}
	gy_sizes_delete(&channels->home->parts, region, sizeof(*region));
	buffer->first.bytes = NULL; /* an empty one again */
	gy_buffer_put(buffer);
}

static void drop(struct gyre_channel *channel, struct gyre_buffer *buffer)
{
	const struct region *region = region_of(buffer);

	gy_assert(channel->region_bytes >= region->left + region->piped);
	channel->region_bytes -= region->left + region->piped;
	end(channel, buffer, channel->reason < 0 ? channel->reason : -ECANCELED);
}

static void notify_sent(struct gyre_channel *channel, struct gyre_buffer *buffer)
{
	end(channel, buffer, 0);
}

/* Any phase: it has been sent. */
static void finished(struct gyre_channel *channel)
{
	struct gyre_buffer *buffer = gy_buffer_queue_pop(&channel->output);

	gy_output_init(channel);
	if (region_of(buffer)->sent == NULL) {
		end(channel, buffer, 0);
		return;
	}
	close_pipe(channel, region_of(buffer));
	gy_buffer_queue_push(&channel->sent, buffer);
	gy_channel_set_events(channel, GY_EVENT_ITEMS_SENT, 0);
}

/* ---- rounds, phase 1 ---- */

static void filled(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);
	struct region *region = region_at_front(channel);
	int result = completion->result;

	if (result > 0) {
		region->piped = (uint32_t)result;
		region->offset += (uint32_t)result;
		gy_assert((uint32_t)result <= region->left);
		region->left -= (uint32_t)result;
	}
	gy_output_send_ended(channel, result == 0 ? -ENODATA : result);
}

static void polled(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);

	region_at_front(channel)->has_room = completion->result >= 0;
	/* A poll that is 0 has found nothing, and is made again. */
	gy_output_send_ended(channel, completion->result == 0 ? -EAGAIN : completion->result);
}

static void emptied(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);
	struct region *region = region_at_front(channel);
	int result = completion->result;

	region->has_room = false;
	if (result > 0) {
		gy_count(&channel->channels->counters.bytes_sent, (uint32_t)result);
		gy_assert((uint32_t)result <= region->piped);
		region->piped -= (uint32_t)result;
		channel->region_bytes -= (uint32_t)result;
		if (region->piped == 0 && region->left == 0) {
			finished(channel);
		}
	}
	gy_output_send_ended(channel, result);
}

/* Any phase. */
static int fail(struct gyre_channel *channel, int error)
{
	gy_channel_fail(channel, error);
	return 0;
}

/* Polls for room in the socket, and then calls @then. */
static int poll_for_room(struct gyre_channel *channel, gy_op_complete_fn then)
{
	int r;

	gy_op_init(&channel->send, then);
	r = gy_ring_poll(channel->channels->pools.ring, &channel->send,
			 gy_channel_output_fd(channel), POLLOUT);
	if (r < 0) {
		gy_output_init(channel); /* bytes before the region may be sent next */
	}
	return r;
}

/* Goes on with the region at the front of the output, by worker threads. */
static int splice_region(struct gyre_channel *channel, struct region *region)
{
	struct gy_ring *ring = channel->channels->pools.ring;

	if (region->pipe[0] < 0) {
		int r = gy_descriptor_open_pipe(region->pipe);

		if (r < 0) {
			return fail(channel, r);
		}
	}
	if (region->piped == 0) {
		uint32_t bytes = region->left < PIPE_BYTES ? (uint32_t)region->left : PIPE_BYTES;

		gy_op_init(&channel->send, filled);
		return gy_ring_splice(ring, &channel->send, region->file->endpoint.fd,
				      region->offset, region->pipe[1], bytes);
	}
	if (!region->has_room) {
		return poll_for_room(channel, polled);
	}
	gy_op_init(&channel->send, emptied);
	return gy_ring_splice(ring, &channel->send, region->pipe[0], GY_RING_AT_POSITION,
			      gy_channel_output_fd(channel), region->piped);
}

/* ---- at once, any phase ---- */

/* The bytes before a region, if there are any, and then the region's own. */
struct attempt {
	struct iovec slices[BEFORE_SLICES_MAX + 1];
	size_t count;
	uint32_t before; /* bytes */
	int64_t wanted;	 /* all that it was to send; 0: not tried, the region has to wait */
	int64_t sent;	 /* or a negative errno */
};

/* Whether the bytes of @buffer, which is before the region, are few enough to go with it. */
static bool add_before(struct attempt *attempt, const struct gyre_buffer *buffer)
{
	if (buffer->bytes > BEFORE_BYTES_MAX) {
		return false;
	}
	attempt->before = (uint32_t)buffer->bytes;
	for (const struct gy_slice *slice = &buffer->first; slice != NULL; slice = slice->next) {
		if (attempt->count == BEFORE_SLICES_MAX) {
			return false;
		}
		attempt->slices[attempt->count++] =
			(struct iovec){ .iov_base = slice->bytes, .iov_len = slice->count };
	}
	return true;
}

/* NULL without memory. */
static void *memory_of(struct gy_channels *channels)
{
	if (channels->file_memory == NULL) {
		channels->file_memory = gy_memory_get_raw(READ_BYTES_MAX);
	}
	return channels->file_memory;
}

static void send_copy(struct gyre_channel *channel, const struct region *region,
		      struct attempt *attempt)
{
	void *memory = memory_of(channel->channels);
	size_t bytes = region->left < READ_BYTES_MAX ? (size_t)region->left : READ_BYTES_MAX;
	int64_t got = memory == NULL ? -ENOMEM
				     : gy_ring_read_now(region->file->endpoint.fd, memory, bytes,
							region->offset);

	if (got <= 0) {
		return; /* the pipe tells why, or waits */
	}
	attempt->slices[attempt->count++] =
		(struct iovec){ .iov_base = memory, .iov_len = (size_t)got };
	attempt->wanted = attempt->before + got;
	attempt->sent = gy_ring_send_now(gy_channel_output_fd(channel), attempt->slices,
					 attempt->count, (uint64_t)got < region->left);
}

static bool is_in_memory(const struct gyre_channel *channel, const struct region *region,
			 size_t bytes)
{
	struct gy_kept_file *kept = region->file->kept;

	return kept == NULL
		       ? gy_ring_can_send_file_now(region->file->endpoint.fd, region->offset, bytes)
		       : gy_kept_is_in_memory(channel->channels, kept, region->offset, bytes);
}

/* From here on calls on the socket return at once. */
static bool unblock(struct gyre_channel *channel, int fd)
{
	if (!channel->unblocked) {
		channel->unblocked = gy_descriptor_set_nonblocking(fd) == 0;
	}
	return channel->unblocked;
}

static void send_pages(struct gyre_channel *channel, struct region *region, struct attempt *attempt)
{
	int to = gy_channel_output_fd(channel);
	size_t bytes = region->left < SEND_BYTES_MAX ? (size_t)region->left : SEND_BYTES_MAX;
	int from = region->file->endpoint.fd;
	int64_t sent;

	if (!is_in_memory(channel, region, bytes) || !unblock(channel, to)) {
		return;
	}
	attempt->wanted = (int64_t)(attempt->before + bytes);
	if (attempt->before > 0) {
		attempt->sent = gy_ring_send_now(to, attempt->slices, attempt->count, true);
		if (attempt->sent < attempt->before) {
			return;
		}
	}
	sent = gy_ring_send_file_now(to, from, region->offset, bytes);
	attempt->sent =
		sent >= 0 ? attempt->before + sent : (attempt->before > 0 ? attempt->before : sent);
}

/* Takes what was sent off the output: the bytes before the region first. */
static void take_sent(struct gyre_channel *channel, struct region *region,
		      const struct attempt *attempt)
{
	uint64_t of_region = 0;

	if (attempt->sent > attempt->before) {
		of_region = (uint64_t)attempt->sent - attempt->before;
	}
	if (attempt->before > 0) {
		gy_output_take(channel, (uint32_t)((uint64_t)attempt->sent - of_region));
	}
	gy_assert(of_region <= region->left && of_region <= channel->region_bytes);
	gy_count(&channel->channels->counters.bytes_sent, of_region);
	region->offset += of_region;
	region->left -= of_region;
	channel->region_bytes -= of_region;
}

/* Phase 1. The front of the output may be the bytes before a region. */
static void found_room(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);

	gy_output_init(channel);
	gy_output_send_ended(channel, completion->result >= 0 ? -EAGAIN : completion->result);
}

/* What an attempt leaves to be done. */
static int go_on(struct gyre_channel *channel, struct region *region, const struct attempt *attempt)
{
	bool is_full = attempt->sent < attempt->wanted; /* the socket */

	if (attempt->sent > 0) {
		take_sent(channel, region, attempt);
	} else if (attempt->sent != -EAGAIN) {
		return fail(channel, attempt->sent == 0 ? -ENODATA : (int)attempt->sent);
	}
	if (region->left == 0) {
		finished(channel);
	}
	if ((channel->state & GY_CHANNEL_SLOW) != 0 ||
	    (channel->output.first != NULL && !is_full)) {
		gy_endpoint_ready(&channel->endpoint); /* the rest after other channels' */
	}
	return is_full ? poll_for_room(channel, found_room) : 0;
}

static bool can_be_sent_now(const struct gyre_channel *channel, const struct region *region)
{
	return !region->waits && region->piped == 0 && !gy_channel_is_pipe(channel);
}

/* Fills in @attempt, which has the bytes before the region. */
static void try_now(struct gyre_channel *channel, struct region *region, struct attempt *attempt)
{
	if (region->left <= READ_BYTES_MAX) {
		send_copy(channel, region, attempt);
	} else {
		send_pages(channel, region, attempt);
	}
	region->waits = attempt->wanted == 0;
}

static int send_region(struct gyre_channel *channel)
{
	struct region *region = region_at_front(channel);
	struct attempt attempt = { .count = 0 };

	if (can_be_sent_now(channel, region)) {
		try_now(channel, region, &attempt);
	}
	return attempt.wanted > 0 ? go_on(channel, region, &attempt)
				  : splice_region(channel, region);
}

static bool send_with_bytes(struct gyre_channel *channel, struct gyre_buffer *item)
{
	struct region *region = region_of(item);
	struct attempt attempt = { .count = 0 };

	if (!can_be_sent_now(channel, region) || !add_before(&attempt, channel->output.first)) {
		return false;
	}
	try_now(channel, region, &attempt);
	if (attempt.wanted == 0) {
		return false;
	}
	if (go_on(channel, region, &attempt) < 0) {
		gy_endpoint_ready(&channel->endpoint); /* the ring has no room for a poll */
	}
	return true;
}

static const struct gy_output_item_ops region_ops = {
	.send = send_region,
	.send_with_bytes = send_with_bytes,
	.drop = drop,
	.notify_sent = notify_sent,
};

/* ---- queueing ---- */

static int check(const struct gyre_channel *channel, const struct gyre_file *file,
		 const struct gyre_file_region *what)
{
	if (file == NULL || what == NULL || what->bytes == 0 || what->bytes > INT64_MAX ||
	    what->offset > INT64_MAX - what->bytes) {
		return -EINVAL;
	}
	if (gy_channel_is_datagram(channel)) {
		return -EOPNOTSUPP;
	}
	if (channel->endpoint.owner->house != file->house) {
		return -EINVAL;
	}
	if (file->ending || file->endpoint.fd < 0) {
		return -EBADF;
	}
	return (channel->state & GY_CHANNEL_NO_OUTPUT) != 0 ? -EPIPE : 0;
}

int gy_region_add(struct gyre_channel *channel, struct gyre_file *file,
		  const struct gyre_file_region *what)
{
	struct gyre_buffer *buffer;
	struct region *region;
	int r = check(channel, file, what);

	if (r < 0) {
		return r;
	}
	buffer = gy_buffer_get(&channel->channels->pools);
	region = (struct region *)gy_sizes_new(&channel->channels->home->parts, sizeof(*region));
	if (buffer == NULL || region == NULL) {
		gyre_buffer_destroy(buffer);
		if (region != NULL) {
			gy_sizes_delete(&channel->channels->home->parts, region, sizeof(*region));
		}
		return -ENOMEM;
	}
	*region = (struct region){
		.item = { .ops = &region_ops },
		.file = file,
		.offset = what->offset,
		.left = what->bytes,
		.pipe = { -1, -1 },
		.sent = what->sent,
		.arg = what->arg,
	};
	gy_file_hold(file);
	buffer->first.bytes = (unsigned char *)(void *)&region->item;
	gy_buffer_queue_push(&channel->output, buffer);
	channel->region_bytes += what->bytes;
	gy_endpoint_ready(&channel->endpoint);
	return 0;
}
