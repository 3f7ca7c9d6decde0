/*
 * A filter as they are written on gyre: standard input comes out of standard output in capital
 * letters, and the program ends with its input. SIGHUP has it say "hangup" on standard error.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

struct frame {
	struct gyre_future watching;
};

static struct gyre_address filter;

static void capitals(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_buffer *out = gyre_context_buffer(ctx);
	unsigned char bytes[4096];
	size_t count;

	while ((count = gyre_buffer_read(data, bytes, sizeof(bytes))) > 0) {
		for (size_t i = 0; i < count; i++) {
			bytes[i] = (unsigned char)toupper(bytes[i]);
		}
		if (gyre_buffer_append(out, bytes, count) < 0) {
			gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		}
	}
	gyre_buffer_destroy(data);
	(void)gyre_context_write(ctx, out);
}

static const struct gyre_handler handler = { .name = "capitals", .read = capitals };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

static int mount(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = gyre_watch(stack, filter);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, &frame->watching));
	(void)fprintf(stderr, "ready\n");
	GYRE_END(stack);
}

static int event(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated == NULL) {
		(void)fprintf(stderr, "hangup\n");
		return gyre_return(stack);
	}
	(void)fprintf(stderr, "ended %d\n", terminated->reason);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static const struct gyre_class class = {
	.name = "owner",
	.frame_bytes = sizeof(struct frame),
	.mount = mount,
	.behaviour.event = event,
};

int main(void)
{
	const struct gyre_system_options options = { .loops = 2 };
	const struct gyre_pipe_options pipe = { .init_channel = init_channel };
	struct gyre_address owner;
	struct gyre_system *system;
	int r = gyre_system_create(&options, &system);

	if (r < 0) {
		return EXIT_FAILURE;
	}
	r = gyre_system_pipe_open(system, &pipe, &filter);
	if (r == 0) {
		r = gyre_system_spawn(system, &class, GYRE_NO_ARGUMENT, NULL, &owner);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
