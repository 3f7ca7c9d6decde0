/*
 * Channels on descriptors that are no sockets: what the other files of the floor call for them.
 */
#ifndef GY_CHANNEL_FILE_PIPE_H
#define GY_CHANNEL_FILE_PIPE_H

#include "channel/channel.h"

/* The descriptor of the channel's endpoint is the one it reads from, or the only one. */
struct gy_pipe {
	int output_fd;	      /* if it is another one; else -1 */
	struct gy_page *page; /* that a read is under way into, if they are not multishot */
	bool multishot;	      /* reads may be */
	bool input_waits;     /* nothing was there: to be polled for before the next read */
	bool output_waits;    /* the same for room */
};

enum {
	GY_PIPE_INPUT = 1 << 0,
	GY_PIPE_OUTPUT = 1 << 1,
};

/*
 * Makes a new channel one on a pipe, in its initialiser and before its handlers are added. @ends
 * tells what the descriptor of its endpoint is used for, and @output_fd, if it is not -1, is
 * another one for output. Takes @output_fd, whatever is returned.
 */
int gy_pipe_attach(struct gyre_channel *channel, uint32_t ends, int output_fd);

static inline bool gy_pipe_has_output(const struct gyre_channel *channel)
{
	return channel->pipe->output_fd >= 0;
}

/* What output goes to. */
static inline int gy_channel_output_fd(const struct gyre_channel *channel)
{
	return gy_channel_is_pipe(channel) && gy_pipe_has_output(channel) ? channel->pipe->output_fd
									  : channel->endpoint.fd;
}

/* These prepare operations, and return as those of the ring do. */
int gy_pipe_send_one(struct gyre_channel *channel, const struct gy_slice *slice);
int gy_pipe_send(struct gyre_channel *channel, const struct iovec *slices, uint32_t count);
/* By the control operation, whose function is set. */
int gy_pipe_shutdown(struct gyre_channel *channel);
int gy_pipe_close_output(struct gyre_channel *channel);

#endif
