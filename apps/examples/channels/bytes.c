/*
 * Shared bytes: one page in memory, for any number of clients on all loops.
 *
 * An HTTP server with a single page, for a browser or curl. The block is made once, and the output
 * of each channel refers to it, so that a thousand clients need no copies. The argument is where to
 * listen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

static const char page[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
			   "Content-Length: 16\r\nConnection: close\r\n\r\nthere only once\n";

/* One frame is the head of one request. */
static void serve(struct gyre_handler_context *ctx, struct gyre_buffer *request)
{
	struct gyre_bytes *bytes = gyre_context_arg(ctx);
	struct gyre_buffer *answer = gyre_context_buffer(ctx);

	gyre_buffer_destroy(request);
	if (gyre_buffer_append_shared(answer, bytes) < 0) {
		gyre_buffer_destroy(answer);
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	(void)gyre_context_write(ctx, answer);
	gyre_context_close(ctx);
}

static const struct gyre_handler server = { .read = serve };

static int init_channel(struct gyre_channel *channel, void *bytes)
{
	static const struct gyre_span end_of_head = { "\r\n\r\n", 4 };
	const struct gyre_delimiter_options heads = { .delimiters = &end_of_head,
						      .delimiters_count = 1 };
	int r = gyre_delimiter_codec_add(channel, GYRE_LAST, &heads);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &server, bytes);
}

int main(int argc, char **argv)
{
	struct gyre_bytes *bytes = gyre_bytes_create(page, strlen(page));
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = bytes,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = bytes == NULL ? -ENOMEM : gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	gyre_bytes_unref(bytes);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
