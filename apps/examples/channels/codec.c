/*
 * Codecs: a server that reads lines, and tells a client that a line is too long.
 *
 * The codec cuts the stream into lines, and each comes back in capital letters. A line of more than
 * 80 bytes is an exception; a handler that keeps it gets the lines behind it as before. The
 * argument is where to listen.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 80 };

static void write_text(struct gyre_handler_context *ctx, const char *text, size_t bytes)
{
	struct gyre_buffer *line = gyre_context_buffer(ctx);

	if (gyre_buffer_append(line, text, bytes) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM); /* not to wait for it */
	}
	(void)gyre_context_write(ctx, line);
}

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	char text[LINE_BYTES_MAX];
	size_t bytes = gyre_buffer_copy(line, 0, text, sizeof(text));

	gyre_buffer_destroy(line);
	for (size_t i = 0; i < bytes; i++) {
		text[i] = (char)toupper((unsigned char)text[i]);
	}
	write_text(ctx, text, bytes);
}

static void see_exception(struct gyre_handler_context *ctx, int error)
{
	static const char too_long[] = "that line was too long";

	if (error == -EMSGSIZE) {
		write_text(ctx, too_long, strlen(too_long));
	} else {
		gyre_context_fire_exception(ctx, error);
	}
}

static const struct gyre_handler capitals = { .read = read_line, .exception = see_exception };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	const struct gyre_line_options lines = { .frame_bytes_max = LINE_BYTES_MAX,
						 .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &capitals, arg);
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
