/*
 * The smallest server: nothing is counted and nothing is kept, so that it may run on any loop.
 */
#include "echo.h"

#include <sys/socket.h>

void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_channel_write(ctx, data);
}

const struct gyre_handler echo_handler = { .name = "echo", .read = echo_read };

int init_echo(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add_last(channel, &echo_handler, arg);
}

bool echoes(int fd)
{
	char byte = 'x';

	return send(fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1 && byte == 'x';
}
