/*
 * A connection, and the program. The pipeline is a codec that cuts lines and a handler that stands
 * between the channel and the session.
 *
 * The channel reads on request, a line at a time. A client that does not read is not waited for:
 * above the high mark lines for it are left out, and it is told how many.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

struct client {
	const struct chat *chat;
	struct gyre_address session;
	uint64_t missed; /* lines left out */
};

struct gyre_bytes *compose(const char *format, ...)
{
	char line[TEXT_BYTES_MAX];
	va_list arguments;
	int count;

	va_start(arguments, format);
	count = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (count < 0 || count >= (int)sizeof(line)) {
		return NULL;
	}
	line[count] = '\n';
	return gyre_bytes_create(line, (size_t)count + 1);
}

static struct client *client_of(struct gyre_handler_context *ctx)
{
	return (struct client *)gyre_context_arg(ctx);
}

/* ---- from the client ---- */

static void begin_session(struct gyre_handler_context *ctx)
{
	struct client *client = client_of(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_address channel = gyre_channel_address(gyre_context_channel(ctx));
	int r = gyre_spawn(stack, &session_class, gyre_new(stack, greeting, client->chat, channel),
			   NULL, &client->session);

	if (r < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), r);
	}
}

static void end_session(struct gyre_handler_context *ctx)
{
	(void)gyre_stop(gyre_context_stack(ctx), client_of(ctx)->session);
}

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_line);

	if (mail != NULL) {
		char *text = ((struct line *)gyre_payload(mail))->text;
		size_t bytes = gyre_buffer_copy(data, 0, text, LINE_BYTES_MAX);

		text[bytes] = '\0';
		for (size_t i = 0; i < bytes; i++) {
			text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
		}
	}
	gyre_buffer_destroy(data);
	if (gyre_notify(stack, client_of(ctx)->session, mail) < 0) {
		gyre_context_close(ctx);
	}
}

/* ---- to the client ---- */

static void write_bytes(struct gyre_handler_context *ctx, struct gyre_bytes *bytes)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_append_shared(buffer, bytes);
	(void)gyre_context_write(ctx, buffer);
}

static void write_text(struct gyre_handler_context *ctx, struct gyre_bytes *bytes)
{
	write_bytes(ctx, bytes);
	gyre_bytes_unref(bytes);
}

static void hear(struct gyre_handler_context *ctx, const struct text *text)
{
	if (gyre_channel_is_writable(gyre_context_channel(ctx))) {
		write_bytes(ctx, text->bytes);
	} else {
		client_of(ctx)->missed++;
	}
}

static void tell_missed(struct gyre_handler_context *ctx, bool writable)
{
	struct client *client = client_of(ctx);

	if (writable && client->missed > 0) {
		write_text(ctx, compose("* you missed %" PRIu64 " lines", client->missed));
		client->missed = 0;
	}
}

/* The client sends no more: its lines come first. Or the server ends, and then this is the last. */
static void say_goodbye(struct gyre_handler_context *ctx, const struct gyre_input_closed *closed)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (closed->draining != 0) {
		write_text(ctx, compose("* the server ends, goodbye"));
	} else {
		(void)gyre_notify(stack, client_of(ctx)->session, gyre_new(stack, line, "/quit"));
	}
}

static void take_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	switch (type->id) {
	case GYRE_ID(text):
		hear(ctx, (const struct text *)event);
		break;
	case GYRE_ID(next_line):
		gyre_context_read(ctx);
		break;
	case GYRE_ID(gyre_input_closed):
		say_goodbye(ctx, (const struct gyre_input_closed *)event);
		break;
	default:
		gyre_context_fire_event(ctx, type, event);
		break;
	}
}

static void take_exception(struct gyre_handler_context *ctx, int error)
{
	if (error != -EMSGSIZE) {
		gyre_context_fire_exception(ctx, error);
		return;
	}
	write_text(ctx, compose("* a line has at most %d bytes", LINE_BYTES_MAX));
	gyre_context_read(ctx);
}

/* ---- the pipeline ---- */

static void forget_client(struct gyre_handler_context *ctx)
{
	free(client_of(ctx));
}

static const struct gyre_handler chat_handler = {
	.name = "chat",
	.removed = forget_client,
	.active = begin_session,
	.read = read_line,
	.event = take_event,
	.writability = tell_missed,
	.exception = take_exception,
	.inactive = end_session,
};

int init_connection(struct gyre_channel *channel, void *chat)
{
	struct gyre_line_options lines = { .frame_bytes_max = LINE_BYTES_MAX };
	struct client *client = (struct client *)calloc(1, sizeof(*client));
	int r = client == NULL ? -ENOMEM : gyre_line_codec_add(channel, GYRE_LAST, &lines);

	if (r == 0) {
		client->chat = (const struct chat *)chat;
		r = gyre_pipeline_add(channel, GYRE_LAST, &chat_handler, client);
	}
	if (r < 0) {
		free(client);
	}
	return r;
}
