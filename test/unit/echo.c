/*
 * The smallest server: nothing is counted and nothing is kept, so that it may run on any loop.
 */
#include "echo.h"

#include <errno.h>
#include <sys/socket.h>

void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

const struct gyre_handler echo_handler = { .name = "echo", .read = echo_read };

int init_echo(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo_handler, arg);
}

bool echoes(int fd)
{
	char byte = 'x';
	ssize_t got;

	if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1) {
		return false;
	}
	byte = 0;
	do { /* see receive_in_time() */
		got = recv(fd, &byte, 1, 0);
	} while (got < 0 && errno == EINTR);
	return got == 1 && byte == 'x';
}
