/*
 * Frame decoders: a server that speaks a part of the protocol of Redis.
 *
 * A command is an array of strings that tell their lengths: "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n". The
 * decoder finds its end, and the library keeps the pieces. The argument is where to listen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { HEAD_BYTES = 8, COMMAND_BYTES_MAX = 255 };

/* Reads KIND, a number below 1000 and CRLF; how many bytes that is, -EAGAIN or -EPROTO. */
static int get_head(const struct gyre_buffer *bytes, size_t at, char kind, size_t *ret_number)
{
	char text[HEAD_BYTES] = { 0 };
	size_t there = gyre_buffer_copy(bytes, at, text, sizeof(text) - 1);
	size_t digits = there > 1 ? strspn(text + 1, "0123456789") : 0;

	if ((there > 0 && text[0] != kind) || digits > 3 || (there > 1 && digits == 0)) {
		return -EPROTO;
	}
	*ret_number = strtoul(text + 1, NULL, 10);
	return there < digits + 3			   ? -EAGAIN
	       : memcmp(text + 1 + digits, "\r\n", 2) == 0 ? (int)digits + 3
							   : -EPROTO;
}

static int64_t decode_command(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			      struct gyre_decoded_frame *frame)
{
	size_t strings = 0;
	int head = get_head(bytes, 0, '*', &strings);
	size_t at = (size_t)head;

	(void)ctx;
	for (size_t i = 0; head > 0 && i < strings; i++) {
		size_t length = 0;

		head = get_head(bytes, at, '$', &length);
		if (head > 0) {
			at += (size_t)head + length + 2;
			frame->needed = at; /* not to be asked before the string is there */
		}
	}
	return head < 0 ? head : gyre_buffer_bytes(bytes) < at ? -EAGAIN : (int64_t)at;
}

static void read_command(struct gyre_handler_context *ctx, struct gyre_buffer *command)
{
	static const char echo[] = "*2\r\n$4\r\nECHO\r\n";
	char text[COMMAND_BYTES_MAX + 1] = { 0 };
	struct gyre_buffer *answer = gyre_context_buffer(ctx);
	const char *said = text + sizeof(echo) - 1;
	size_t count = gyre_buffer_copy(command, 0, text, sizeof(text) - 1);

	gyre_buffer_destroy(command);
	if (strncmp(text, echo, sizeof(echo) - 1) == 0) {
		count -= sizeof(echo) - 1; /* a string may have bytes of 0 in it */
	} else {
		said = strcmp(text, "*1\r\n$4\r\nPING\r\n") == 0 ? "+PONG\r\n" : "-ERR unknown\r\n";
		count = strlen(said);
	}
	if (gyre_buffer_append(answer, said, count) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
	}
	(void)gyre_context_write(ctx, answer);
}

static const struct gyre_frame_decoder commands = { .decode = decode_command,
						    .frame = read_command,
						    .frame_bytes_max = COMMAND_BYTES_MAX };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_frame_decoder_add(channel, GYRE_LAST, &commands, arg);
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = { .init_channel = init_channel,
						       .bind = argc > 1 ? argv[1]
									: "tcp://127.0.0.1:0",
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
