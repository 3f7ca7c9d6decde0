/*
 * Handing over: start it again, and the new process takes the place of the old one.
 *
 *	gyre-example-handover PATH [ADDRESS]
 *
 * Each connection is told which process serves it. A second process that is started with the same
 * PATH, of a Unix socket, takes over the port. No connection is refused meanwhile, and the first
 * process ends when it has served its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gyre/gyre.h>

static void tell_process(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *line = gyre_context_buffer(ctx);
	char text[64];
	int bytes = snprintf(text, sizeof(text), "process %ld\n", (long)getpid());

	if (gyre_buffer_append(line, text, (size_t)bytes) == 0) {
		(void)gyre_context_write(ctx, line);
	} else {
		gyre_buffer_destroy(line);
	}
	gyre_context_close(ctx);
}

static const struct gyre_handler handler = { .active = tell_process };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

/* This process serves from here on. */
static void print_port(struct gyre_system *system, void *port)
{
	(void)system;
	printf("listening on port %u\n", *(const uint16_t *)port);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	char path[128];
	uint16_t port = 0;
	const struct gyre_system_options options = { .handover = path,
						     .started = print_port,
						     .started_arg = &port };
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 2 ? argv[2] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r;

	if (argc < 2) {
		(void)fprintf(stderr, "usage: gyre-example-handover PATH [ADDRESS]\n");
		return EXIT_FAILURE;
	}
	(void)snprintf(path, sizeof(path), "unix:%s", argv[1]);
	r = gyre_system_create(&options, &system);
	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
