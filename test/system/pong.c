/*
 * What sockperf(1) takes for its server, as it is written on gyre: each of its messages comes back
 * with the mark taken off that says that it is from a client. A message tells its length in the
 * last 4 of its first 14 bytes; over TCP the codec for lengths cuts them, over UDP each is a
 * datagram.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { HEADER_BYTES = 14, LENGTH_AT = 10, LENGTH_BYTES = 4, FLAGS_AT = 9, FROM_CLIENT = 1 };

static void pong_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_buffer *pong = gyre_context_buffer(ctx);
	unsigned char header[HEADER_BYTES];

	if (pong == NULL || gyre_buffer_read(data, header, sizeof(header)) < sizeof(header)) {
		gyre_buffer_destroy(pong);
		gyre_buffer_destroy(data);
		return;
	}
	header[FLAGS_AT] &= (unsigned char)~FROM_CLIENT;
	(void)gyre_buffer_append(pong, header, sizeof(header));
	if (gyre_buffer_peer(data) != NULL) {
		(void)gyre_buffer_set_peer(pong, gyre_buffer_peer(data));
	}
	(void)gyre_buffer_join(pong, data);
	(void)gyre_context_write(ctx, pong);
}

static const struct gyre_handler pong_handler = { .name = "pong", .read = pong_read };

static int init_datagrams(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &pong_handler, arg);
}

/* The length is that of the whole message. */
static int init_stream(struct gyre_channel *channel, void *arg)
{
	const struct gyre_length_options lengths = {
		.length_field_offset = LENGTH_AT,
		.length_field_bytes = LENGTH_BYTES,
		.length_adjustment = -HEADER_BYTES,
	};
	int r = gyre_length_codec_add(channel, GYRE_LAST, &lengths);

	return r < 0 ? r : init_datagrams(channel, arg);
}

/* Prints the port of either: one number need not be free for both. */
static int open_both(struct gyre_system *system)
{
	uint16_t datagram_port;
	uint16_t stream_port;
	struct gyre_datagram_options datagrams = { .bind = "udp://127.0.0.1:0",
						   .init_channel = init_datagrams,
						   .ret_port = &datagram_port };
	struct gyre_acceptor_options streams = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init_stream,
						 .ret_port = &stream_port };
	int r = gyre_system_datagram_open(system, &datagrams, NULL);

	if (r == 0) {
		r = gyre_system_listen(system, &streams, NULL);
	}
	if (r == 0) {
		(void)printf("%u %u\n", (unsigned)datagram_port, (unsigned)stream_port);
		(void)fflush(stdout);
	}
	return r;
}

int main(void)
{
	const struct gyre_system_options options = { .loops = 2 };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	if (r == 0) {
		r = open_both(system);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
