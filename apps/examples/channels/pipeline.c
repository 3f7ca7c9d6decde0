/*
 * Pipelines: a handler lets nothing pass before the password, and then removes itself.
 *
 *	head  ->  line codec  ->  gate  ->  echo
 *
 * The echo behind it knows nothing of passwords. The arguments are the password, else "sesame", and
 * where to listen.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { PASSWORD_BYTES_MAX = 64 };

static void read_password(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	const char *password = gyre_context_arg(ctx);
	char text[PASSWORD_BYTES_MAX];
	size_t bytes = gyre_buffer_bytes(line);
	bool right = bytes == strlen(password) && gyre_buffer_copy(line, 0, text, bytes) == bytes &&
		     memcmp(text, password, bytes) == 0;

	gyre_buffer_destroy(line);
	if (right) {
		gyre_context_fire_active(ctx); /* for those behind it the channel begins here */
		gyre_context_remove(ctx);
	} else {
		gyre_channel_abort(gyre_context_channel(ctx), -EACCES);
	}
}

/* Keeps the event from those behind it until the password has come. */
static void keep_active(struct gyre_handler_context *ctx)
{
	(void)ctx;
}

static const struct gyre_handler gate = { .active = keep_active, .read = read_password };

static void welcome(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *line = gyre_context_buffer(ctx);

	if (gyre_buffer_append(line, "welcome", strlen("welcome")) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
	}
	(void)gyre_context_write(ctx, line);
}

static void echo(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	(void)gyre_context_write(ctx, line);
}

static const struct gyre_handler echo_handler = { .active = welcome, .read = echo };

static int init_channel(struct gyre_channel *channel, void *password)
{
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	r = r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &gate, password);
	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &echo_handler, NULL);
}

int main(int argc, char **argv)
{
	char sesame[] = "sesame";
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 2 ? argv[2] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = argc > 1 ? argv[1] : sesame,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r;

	if (argc > 1 && strlen(argv[1]) > PASSWORD_BYTES_MAX) {
		(void)fprintf(stderr, "the password has more than %d bytes\n", PASSWORD_BYTES_MAX);
		return EXIT_FAILURE;
	}
	r = gyre_system_create(NULL, &system);
	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
