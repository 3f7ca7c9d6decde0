/*
 * Channels on descriptors that are no sockets. What is different there is called by their kind.
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

/* The descriptor that output goes to, of a channel of any kind. */
int gy_channel_output_fd(const struct gyre_channel *channel);

#endif
