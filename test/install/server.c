/*
 * A server of somebody's own, outside the tree: it answers with what it got, and needs nothing but
 * the installed library.
 */
#include <gyre/gyre.h>

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

int main(int argc, char **argv)
{
	struct gyre_acceptor_options options = { .init_channel = init_channel };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	options.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:7000";
	if (r == 0) {
		r = gyre_system_listen(system, &options, NULL);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? 0 : 1;
}
