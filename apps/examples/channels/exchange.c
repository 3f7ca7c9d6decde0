/*
 * Exchanges: clients send requests without waiting, and get the answers in order.
 *
 * A line "wait 50" is answered after 50 ms, of 9 digits at most. Each line is a message to
 * handle_request(), which may suspend; up to 16 of a connection run at a time, and the exchange
 * puts their answers in order. The argument is where to listen, as tcp://127.0.0.1:7002.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct wait {
	uint32_t ms;
};
GYRE_MESSAGE(wait, 0x100);

static int handle_request(struct gyre_stack *stack)
{
	struct gyre_future *slept = gyre_frame(stack);
	uint32_t ms = gyre_message(stack, wait)->ms;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(ms), slept));
	return gyre_future_failed(slept) ? gyre_throw(stack, gyre_future_error(slept))
					 : gyre_reply(stack, gyre_new(stack, wait, ms));
	GYRE_END(stack);
}

static int write_answer(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
			const void *message)
{
	struct gyre_buffer *line = gyre_context_buffer(ctx);
	char text[32];
	int bytes = snprintf(text, sizeof(text), "waited %" PRIu32 "\n",
			     ((const struct wait *)message)->ms);

	(void)id;
	(void)type;
	if (gyre_buffer_append(line, text, (size_t)bytes) < 0) {
		gyre_buffer_destroy(line);
		return -ENOMEM;
	}
	return gyre_context_write(ctx, line);
}

static const struct gyre_exchange_options exchange = { .request = handle_request,
						       .frame_bytes = sizeof(struct gyre_future),
						       .reply = write_answer,
						       .requests_max = 16 };

static int open_exchange(struct gyre_handler_context *ctx)
{
	return gyre_exchange_open(ctx, &exchange);
}

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	char text[16] = { 0 };
	size_t bytes = gyre_buffer_copy(line, 0, text, sizeof(text) - 1);
	size_t digits = strspn(text + 5, "0123456789");

	gyre_buffer_destroy(line);
	if (strncmp(text, "wait ", 5) == 0 && digits > 0 && digits <= 9 && bytes == 5 + digits) {
		uint32_t ms = (uint32_t)strtoul(text + 5, NULL, 10);

		(void)gyre_exchange_receive(ctx, 0, gyre_new(gyre_context_stack(ctx), wait, ms));
	} else {
		gyre_context_fire_exception(ctx, -EPROTO); /* which closes the channel */
	}
}

static const struct gyre_handler protocol = { .added = open_exchange, .read = read_line };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	int r = gyre_line_codec_add(channel, GYRE_LAST, NULL);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &protocol, arg);
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = { .bind = argc > 1 ? argv[1]
									: "tcp://127.0.0.1:0",
						       .init_channel = init_channel,
						       .ret_port = &port };
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
