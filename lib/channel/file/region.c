/*
 * Sending parts of files without bringing their bytes into the program: the kernel splices them
 * from the file to a pipe, and from there to the socket.
 *
 * A region stands in the channel's output as an item, in its order. At the front it gets a pipe,
 * and then repeats three steps with the channel's one send: fill the pipe, wait until the socket
 * has room, empty the pipe into it. The wait is needed because a splice to a socket waits in a
 * thread of the kernel, and a crowd of slow readers should not hold one each.
 *
 * A region does not count for the marks: it takes no memory.
 */
#include "channel/file/region.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "channel/channel.h"
#include "channel/file/file.h"
#include "channel/file/pipe.h"
#include "channel/output.h"
#include "channel/pipeline.h"

enum { PIPE_BYTES = 65536 }; /* that a pipe has without asking for more */

struct region {
	struct gy_output_item item;
	struct gyre_file *file;
	uint64_t offset;
	uint64_t left;	/* bytes that the pipe has not seen */
	uint32_t piped; /* bytes in the pipe */
	bool has_room;	/* in the socket, since the last poll */
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

/* Phase 2: tells the program and frees the region. */
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

/* Phase 1: it has been sent. */
static void finished(struct gyre_channel *channel)
{
	struct gyre_buffer *buffer = gy_buffer_queue_pop(&channel->output);

	close_pipe(channel, region_of(buffer));
	gy_buffer_queue_push(&channel->sent, buffer);
	gy_output_init(channel);
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

/* Goes on with the region at the front of the output. */
static int send_region(struct gyre_channel *channel)
{
	struct gy_ring *ring = channel->channels->pools.ring;
	struct region *region = region_at_front(channel);
	int to = gy_channel_output_fd(channel);

	if (region->pipe[0] < 0 && pipe2(region->pipe, O_CLOEXEC) < 0) {
		return fail(channel, -errno);
	}
	if (region->piped == 0) {
		uint32_t bytes = region->left < PIPE_BYTES ? (uint32_t)region->left : PIPE_BYTES;

		gy_op_init(&channel->send, filled);
		return gy_ring_splice(ring, &channel->send, region->file->endpoint.fd,
				      region->offset, region->pipe[1], bytes);
	}
	if (!region->has_room) {
		gy_op_init(&channel->send, polled);
		return gy_ring_poll(ring, &channel->send, to, POLLOUT);
	}
	gy_op_init(&channel->send, emptied);
	return gy_ring_splice(ring, &channel->send, region->pipe[0], GY_RING_AT_POSITION, to,
			      region->piped);
}

static const struct gy_output_item_ops region_ops = {
	.send = send_region,
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
