/*
 * Lines. A line ends in LF, and a CR before that is part of its end. So the last byte of a line
 * that is one byte over the limit may still be a CR that does not count.
 */
#include "channel/codec/codec.h"

#include <errno.h>

#include <gyre/channel.h>

enum { LINE_BYTES_DEFAULT = 8192 };

struct line {
	struct gy_codec codec;
	struct gyre_line_options options;
};

static bool is_cr(const struct gyre_buffer *buffer, size_t offset)
{
	char byte = 0;

	(void)gyre_buffer_copy(buffer, offset, &byte, 1);
	return byte == '\r';
}

/* The kept bytes contain no end of a line. */
static void scan_unframed(struct line *line, const struct gyre_buffer *kept, struct gy_step *step)
{
	size_t max = line->options.frame_bytes_max;
	bool is_long =
		kept->bytes > max && (kept->bytes > max + 1 || !is_cr(kept, kept->bytes - 1));

	if (line->codec.discarding || is_long) {
		step->kind = GY_STEP_DISCARD;
		step->bytes = kept->bytes;
		step->error = line->codec.discarding || line->options.fail_late ? 0 : -EMSGSIZE;
		line->codec.discarding = true;
		return;
	}
	line->codec.scanned = kept->bytes;
}

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	struct line *line = gy_container_of(codec, struct line, codec);
	const struct gyre_line_options *options = &line->options;
	int64_t found = gyre_buffer_find(kept, codec->scanned, '\n');
	size_t end = (size_t)found;
	size_t cr;

	if (found < 0) {
		scan_unframed(line, kept, step);
		return;
	}
	if (codec->discarding) {
		codec->discarding = false;
		gy_step_too_long(step, end + 1, true);
		step->error = options->fail_late ? -EMSGSIZE : 0;
		return;
	}
	cr = end > 0 && is_cr(kept, end - 1) ? 1 : 0;
	if (end - cr > options->frame_bytes_max) {
		gy_step_too_long(step, end + 1, options->fail_late);
		return;
	}
	step->kind = GY_STEP_FRAME;
	step->bytes = end + 1;
	step->back = options->keep_end ? 0 : 1 + cr;
}

static int added(struct gyre_handler_context *ctx)
{
	struct gyre_line_options options = *(const struct gyre_line_options *)ctx->arg;
	struct gy_codec *codec;

	if (gy_codec_limit(&options.frame_bytes_max, LINE_BYTES_DEFAULT, GYRE_FRAME_BYTES_MAX) <
		    0 ||
	    (uint32_t)options.append > GYRE_APPEND_CRLF) {
		return -EINVAL;
	}
	codec = gy_codec_make(ctx, sizeof(struct line), next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	gy_container_of(codec, struct line, codec)->options = options;
	return 0;
}

static int write_line(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct line *line = gy_container_of(gy_codec_of(ctx), struct line, codec);
	enum gyre_append append = line->options.append;
	int r = 0;

	if (append != GYRE_APPEND_NOTHING) {
		size_t bytes = append == GYRE_APPEND_CRLF ? 2 : 1;

		r = gyre_buffer_append(data, &"\r\n"[2 - bytes], bytes);
	}
	if (r < 0) {
		gy_buffer_put(data);
		return r;
	}
	return gyre_context_write(ctx, data);
}

/* A last write without an end of line may pass as it is. */
static int send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
		     const struct gyre_file_region *what)
{
	const struct line *line = gy_container_of(gy_codec_of(ctx), struct line, codec);

	return line->options.append == GYRE_APPEND_NOTHING ? gyre_context_send_file(ctx, file, what)
							   : -EOPNOTSUPP;
}

const struct gyre_handler gy_line_handler = {
	.name = "line",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.write = write_line,
	.send_file = send_file,
};

int gyre_line_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
			      const struct gyre_line_options *options, size_t options_bytes)
{
	struct gyre_line_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_line_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_line_handler, &ours);
}
