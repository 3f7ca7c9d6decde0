/*
 * Channels on pipes, terminals, FIFOs and files: the differences of descriptors that are no
 * sockets.
 *
 * Pipes are read by a multishot read where the kernel has that; otherwise one read follows the
 * other, into pages of the pool. Single reads do not use the ring's buffers: of a buffer that
 * receives share the kernel would take all the rest for a read in a thread of its own. Some kernels
 * (6.16.9 is one) answer -EINVAL to a multishot read that shares buffers, and to each that follows;
 * such a pipe is read by single reads from there on. Receives from sockets do not share that code.
 *
 * A descriptor that others have set to O_NONBLOCK answers -EAGAIN. Clearing that flag would change
 * it for them, so the next operation is a poll.
 *
 * A channel with two descriptors ends its output by closing one of them. If one descriptor is used
 * for both directions nothing can tell the other side of that end, and nothing is done.
 */
#include "channel/file/pipe.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>

#include "channel/input/input.h"
#include "channel/output/output.h"
#include "ring/descriptor.h"

static bool has_output_fd(const struct gyre_channel *channel)
{
	return channel->pipe->output_fd >= 0;
}

int gy_channel_output_fd(const struct gyre_channel *channel)
{
	return gy_channel_is_pipe(channel) && has_output_fd(channel) ? channel->pipe->output_fd
								     : channel->endpoint.fd;
}

/* ---- input ---- */

static void received(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);
	struct gy_completion again = *completion;

	if (completion->result == -EAGAIN) {
		channel->pipe->input_waits = true;
	} else if (channel->pipe->multishot &&
		   (completion->result == -EBADFD || completion->result == -EOPNOTSUPP ||
		    completion->result == -EINVAL)) {
		channel->pipe->multishot = false; /* a single read tells if that was not why */
		again.result = -EAGAIN;
	}
	gy_input_received(op, &again);
}

/* The next read tells the result. A cancellation ends this operation as it ends a read. */
static void input_polled(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);
	struct gy_completion nothing = *completion;

	channel->pipe->input_waits = false;
	nothing.result = completion->result >= 0 ? -EAGAIN : completion->result;
	gy_input_received(op, &nothing);
}

static void read_page(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, receive);
	struct gy_page *page = channel->pipe->page;

	gy_assert(page != NULL && !channel->pipe->multishot);
	channel->pipe->page = NULL;
	gy_input_received_page(channel, page, completion->result);
	received(op, completion);
}

static int receive_page(struct gyre_channel *channel)
{
	struct gy_page *page = gy_page_get(&channel->channels->pools);
	int r;

	if (page == NULL) {
		gy_channel_fail(channel, -ENOMEM);
		return 0;
	}
	gy_op_init(&channel->receive, read_page);
	r = gy_ring_read(channel->channels->pools.ring, &channel->receive, channel->endpoint.fd,
			 page->memory, page->bytes, GY_RING_AT_POSITION);
	if (r < 0) {
		gy_page_unref(&channel->channels->pools, page);
		return r;
	}
	channel->pipe->page = page;
	return 0;
}

static int receive(struct gyre_channel *channel)
{
	struct gy_ring *ring = channel->channels->pools.ring;
	int fd = channel->endpoint.fd;

	if (channel->pipe->input_waits) {
		gy_op_init(&channel->receive, input_polled);
		return gy_ring_poll(ring, &channel->receive, fd, POLLIN);
	}
	if (!channel->pipe->multishot) {
		return receive_page(channel);
	}
	gy_op_init(&channel->receive, received);
	return gy_ring_read_buffers(ring, &channel->receive, fd);
}

/* ---- output ---- */

static void sent(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);

	channel->pipe->output_waits = completion->result == -EAGAIN;
	gy_output_sent(op, completion);
}

static void output_polled(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, send);
	struct gy_completion nothing = *completion;

	channel->pipe->output_waits = false;
	nothing.result = completion->result >= 0 ? -EAGAIN : completion->result;
	gy_output_sent(op, &nothing);
}

static int send_slices(struct gyre_channel *channel, const struct iovec *slices, uint32_t count)
{
	struct gy_ring *ring = channel->channels->pools.ring;
	int fd = gy_channel_output_fd(channel);

	if (channel->pipe->output_waits) {
		gy_op_init(&channel->send, output_polled);
		return gy_ring_poll(ring, &channel->send, fd, POLLOUT);
	}
	gy_op_init(&channel->send, sent);
	/* A single slice is gone when this returns, but its bytes stay. */
	return count == 1 ? gy_ring_write_bytes(ring, &channel->send, fd, slices->iov_base,
						(uint32_t)slices->iov_len)
			  : gy_ring_write(ring, &channel->send, fd, slices, count,
					  GY_RING_AT_POSITION);
}

static int close_output(struct gyre_channel *channel)
{
	int r;

	if (!has_output_fd(channel)) {
		return 0;
	}
	r = gy_ring_close(channel->channels->pools.ring, &channel->control,
			  channel->pipe->output_fd);
	if (r == 0) {
		channel->pipe->output_fd = -1;
	}
	return r;
}

static int shut_down(struct gyre_channel *channel)
{
	if (has_output_fd(channel)) {
		return close_output(channel);
	}
	gy_channel_set_output(channel, GY_OUTPUT_SHUTDOWN_DONE, 0);
	gy_channel_ready(channel);
	return 0;
}

/* ---- life ---- */

static void free_pipe(struct gyre_channel *channel)
{
	gy_sizes_delete(&channel->channels->home->parts, channel->pipe, sizeof(*channel->pipe));
	gy_stream_free(channel);
}

static const struct gy_channel_kind pipe_kind = {
	.name = "pipe",
	.type = GY_CHANNEL_PIPE,
	.start = gy_output_start,
	.send = send_slices,
	.receive = receive,
	.shutdown = shut_down,
	.close_output = close_output,
	.free = free_pipe,
};

int gy_pipe_attach(struct gyre_channel *channel, uint32_t ends, int output_fd)
{
	struct gy_channels *channels = channel->channels;
	struct gy_sizes *parts = &channels->home->parts;
	struct gy_pipe *pipe = (struct gy_pipe *)gy_sizes_new(parts, sizeof(*pipe));
	struct stat status = { 0 };

	if (pipe == NULL) {
		gy_channels_close(channels, output_fd);
		return -ENOMEM;
	}
	(void)gy_descriptor_status(channel->endpoint.fd, &status);
	*pipe = (struct gy_pipe){
		.output_fd = output_fd,
		.multishot = S_ISFIFO(status.st_mode) &&
			     gy_ring_features(channels->pools.ring).multishot_read,
	};
	channel->pipe = pipe;
	channel->kind = &pipe_kind;
	gy_channel_set_traits(channel, GY_TRAIT_BY_KIND, 0);
	channel->no_linger = true;
	if ((ends & GY_PIPE_INPUT) == 0) {
		gy_channel_set_input(channel, GY_INPUT_ENDED | GY_INPUT_END_TOLD, 0);
	}
	if ((ends & GY_PIPE_OUTPUT) == 0 && output_fd < 0) {
		gy_channel_set_output(channel, GY_OUTPUT_SHUTDOWN | GY_OUTPUT_SHUTDOWN_DONE, 0);
	}
	return 0;
}
