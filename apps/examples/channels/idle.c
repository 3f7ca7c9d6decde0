/*
 * Idle channels: an echo server asks a silent client whether it is there, then closes.
 *
 *	gyre-example-idle [ADDRESS [MILLISECONDS]]
 *
 * After the time without input the client gets "still there?", and after as long again the channel
 * closes. The idle handler stands next to the head, where it sees the bytes; the echo behind it
 * decides what becomes of its events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

static void say(struct gyre_handler_context *ctx, const char *text)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	if (gyre_buffer_append(buffer, text, strlen(text)) == 0) {
		(void)gyre_context_write(ctx, buffer);
	} else {
		gyre_buffer_destroy(buffer);
	}
}

static void echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static void see_silence(struct gyre_handler_context *ctx, const struct gyre_type *type,
			const void *event)
{
	if (type->id != GYRE_ID(gyre_idle)) {
		gyre_context_fire_event(ctx, type, event);
	} else if (((const struct gyre_idle *)event)->count == 1) {
		say(ctx, "still there?\n");
	} else {
		say(ctx, "goodbye\n");
		gyre_context_close(ctx);
	}
}

static const struct gyre_handler handler = { .read = echo, .event = see_silence };

static int init_channel(struct gyre_channel *channel, void *idle)
{
	int r = gyre_idle_add(channel, GYRE_FIRST, idle);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, NULL);
}

int main(int argc, char **argv)
{
	struct gyre_idle_options idle = {
		.read_ns = GYRE_MILLISECONDS(argc > 2 ? strtoul(argv[2], NULL, 10) : 10000),
	};
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = &idle,
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
