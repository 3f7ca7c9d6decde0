/*
 * Stream copy: a file goes to another one, or to a server, by chunks that nobody copies.
 *
 *	gyre-example-stream_copy FROM TO
 *
 * TO is a path, or an address such as tcp://[::1]:7000. A slow server stops the reading.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gyre/gyre.h>

static int fail(struct gyre_stack *stack, const char *what, int error)
{
	gyre_log(stack, GYRE_LOG_ERROR, "%s: %s", what, strerror(-error));
	gyre_exit(stack, EXIT_FAILURE);
	return gyre_return(stack);
}

/* The server has nothing to say: what it does say is not looked at. */
static int init_channel(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

/* The new element takes over what the old one owned. */
static int count_bytes(void *arg, void *in, void *out)
{
	struct gyre_chunk *from = in;

	*(uint64_t *)arg += gyre_bytes_count(from->bytes);
	*(struct gyre_chunk *)out = *from;
	from->bytes = NULL;
	return 0;
}

/* To a channel, or to a file where that is NULL. */
static struct gyre_graph *build(char **argv, const struct gyre_connected *to, uint64_t *bytes)
{
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_map(gyre_stream_read_file(graph, argv[1], NULL),
					       &gyre_type_gyre_chunk, count_bytes, bytes);

	if (to == NULL) {
		gyre_stream_write_file(s, argv[2], NULL);
	} else {
		gyre_stream_write_channel(s, to->channel);
	}
	return graph;
}

static int copy_file(struct gyre_stack *stack)
{
	char **argv = gyre_message(stack, gyre_arguments)->argv;
	struct gyre_future *future = gyre_frame(stack);
	uint64_t *bytes = gyre_state(stack);
	const struct gyre_connected *connected = NULL;

	GYRE_BEGIN(stack);
	if (strstr(argv[2], "://") != NULL) {
		GYRE_AWAIT(stack, gyre_connect(stack,
					       &GYRE_VALUE(gyre_connect_options, .to = argv[2],
							   .init_channel = init_channel),
					       NULL, future));
		connected = gyre_future_get(future, gyre_connected);
		if (connected == NULL) {
			return fail(stack, argv[2], gyre_future_error(future));
		}
	}
	GYRE_AWAIT(stack, gyre_graph_run(stack, build(argv, connected, bytes), NULL, future));
	if (gyre_future_failed(future)) {
		return fail(stack, "copying", gyre_future_error(future));
	}
	printf("%" PRIu64 " bytes\n", *bytes);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "copy",
					      .state_bytes = sizeof(uint64_t),
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = copy_file };

int main(int argc, char **argv)
{
	struct stat of[2];

	if (argc != 3 || (stat(argv[1], &of[0]) == 0 && stat(argv[2], &of[1]) == 0 &&
			  of[0].st_dev == of[1].st_dev && of[0].st_ino == of[1].st_ino)) {
		(void)fprintf(stderr, "usage: gyre-example-stream_copy FROM TO, not the same\n");
		return EXIT_FAILURE;
	}
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
