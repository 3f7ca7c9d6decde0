/*
 * A connection. Its pipeline is a codec that cuts lines, and a handler that gives them to the
 * session, the actor to which the channel belongs.
 *
 * The channel reads on request, a line at a time. A client that does not read is not waited for:
 * above the high mark lines for it are left out, and it is told how many.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

/* ---- from the client ---- */

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
	session_of(stack)->is_busy = true;
	if (gyre_notify(stack, gyre_self(stack), mail) < 0) {
		gyre_context_close(ctx);
	}
}

/* ---- to the client ---- */

static int write_bytes(struct gyre_channel *channel, struct gyre_bytes *bytes)
{
	struct gyre_handler_context *ctx = gyre_channel_tail(channel);
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	int r = buffer == NULL || bytes == NULL ? -ENOMEM
						: gyre_buffer_append_shared(buffer, bytes);

	if (r < 0) {
		gyre_buffer_destroy(buffer);
		return r;
	}
	return gyre_context_write(ctx, buffer);
}

/* A client that cannot be answered would wait, and not know what it is in. */
void write_text(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (channel != NULL && write_bytes(channel, bytes) == -ENOMEM) {
		gyre_channel_abort(channel, -ENOMEM);
	}
	gyre_bytes_unref(bytes);
}

static void tell_missed(struct gyre_stack *stack)
{
	struct session *session = session_of(stack);

	if (session->missed > 0) {
		write_text(stack,
			   gyre_bytes_printf("* you missed %" PRIu64 " lines", session->missed));
		session->missed = 0;
	}
}

void write_heard(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);
	bool is_writable = channel != NULL && gyre_channel_is_writable(channel);

	if (is_writable) {
		tell_missed(stack);
	}
	if (!is_writable || write_bytes(channel, bytes) < 0) {
		session_of(stack)->missed++;
	}
}

static void take_writability(struct gyre_handler_context *ctx, bool writable)
{
	if (writable) {
		tell_missed(gyre_context_stack(ctx));
	}
}

/* The client sends no more: its last line is done with first. Or the server ends, and then this is
 * the last. */
static void say_goodbye(struct gyre_handler_context *ctx, const struct gyre_input_closed *closed)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (closed->draining != 0) {
		write_text(stack, gyre_bytes_printf("* the server ends, goodbye"));
	} else if (session_of(stack)->is_busy) {
		session_of(stack)->is_last = true;
	} else {
		part(stack);
	}
}

static void take_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	if (type->id == GYRE_ID(gyre_input_closed)) {
		say_goodbye(ctx, (const struct gyre_input_closed *)event);
	} else {
		gyre_context_fire_event(ctx, type, event);
	}
}

/* A line that is too long is left out: the codec goes on to the one that was asked for. */
static void take_exception(struct gyre_handler_context *ctx, int error)
{
	if (error != -EMSGSIZE) {
		gyre_context_fire_exception(ctx, error);
		return;
	}
	write_text(gyre_context_stack(ctx),
		   gyre_bytes_printf("* a line has at most %d bytes", LINE_BYTES_MAX));
}

/* ---- the pipeline ---- */

static const struct gyre_handler chat_handler = {
	.name = "chat",
	.read = read_line,
	.event = take_event,
	.writability = take_writability,
	.exception = take_exception,
};

int init_connection(struct gyre_channel *channel, void *chat)
{
	static const struct gyre_line_options lines = { .frame_bytes_max = LINE_BYTES_MAX,
							.append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &chat_handler, chat);
}
