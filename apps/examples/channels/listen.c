/*
 * Listening: an echo server for two clients at a time, which reports who comes and goes.
 *
 * A third client is closed at once; without .refuse it would wait in the backlog. The report may
 * refuse a connection too, by its address. The argument is where to listen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

static void echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler handler = { .read = echo };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

/* Runs on the loop where it happens; with one loop the lines stay whole and in order. */
static int report(struct gyre_stack *stack, const struct gyre_listen_event *event,
		  struct gyre_channel *channel, void *arg)
{
	static const char *const steps[] = {
		[GYRE_LISTEN_BOUND] = "listening",     [GYRE_LISTEN_ACCEPTED] = "accepted",
		[GYRE_LISTEN_REFUSED] = "refused",     [GYRE_LISTEN_REGISTERED] = "registered",
		[GYRE_LISTEN_CONNECTED] = "connected", [GYRE_LISTEN_CLOSED] = "closed",
	};
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX] = "";

	(void)stack;
	(void)channel;
	(void)arg;
	if (event->address.bytes > 0) {
		(void)gyre_socket_address_format(&event->address, sizeof(text), text);
	}
	printf("%s%s%s\n", steps[event->step], *text == 0 ? "" : " ", text);
	(void)fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const struct gyre_system_options one_loop = { .loops = 1 };
	const struct gyre_acceptor_options options = {
		.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.connections_max = 2,
		.refuse = true,
		.report = report,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&one_loop, &system);

	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
