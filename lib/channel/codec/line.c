/*
 * Lines. A line ends in LF, and a CR before that is part of its end. So the last byte of a line
 * that is one byte over the limit may still be a CR that does not count.
 */
#include "channel/codec/terminated.h"

#include <errno.h>

enum { LINE_BYTES_DEFAULT = 8192 };

static bool is_cr(const struct gyre_buffer *buffer, size_t offset)
{
	char byte = 0;

	(void)gyre_buffer_copy(buffer, offset, &byte, 1);
	return byte == '\r';
}

/* Whether these bytes, in which there is no LF, are more than a line may have. */
static bool is_long(const struct gy_terminated *line, const struct gyre_buffer *kept)
{
	size_t max = line->frame_bytes_max;

	return kept->bytes > max && (kept->bytes > max + 1 || !is_cr(kept, kept->bytes - 1));
}

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	struct gy_terminated *line = gy_terminated_of(codec);
	int64_t found = gyre_buffer_find(kept, codec->scanned, '\n');
	size_t lf = (size_t)found;

	if (found < 0) {
		gy_terminated_wait(line, kept->bytes, is_long(line, kept), step);
		return;
	}
	gy_terminated_end(line, lf + 1, lf > 0 && is_cr(kept, lf - 1) ? 2 : 1, step);
}

static struct gyre_span end_of(enum gyre_append append)
{
	static const unsigned char crlf[] = { '\r', '\n' };
	size_t bytes = append == GYRE_APPEND_CRLF ? 2 : append == GYRE_APPEND_LF ? 1 : 0;

	return (struct gyre_span){ &crlf[2 - bytes], bytes };
}

static int added(struct gyre_handler_context *ctx)
{
	struct gyre_line_options options = *(const struct gyre_line_options *)ctx->arg;
	struct gy_terminated *line;
	struct gy_codec *codec;

	if (gy_codec_limit(&options.frame_bytes_max, LINE_BYTES_DEFAULT, GYRE_FRAME_BYTES_MAX) <
		    0 ||
	    (uint32_t)options.append > GYRE_APPEND_CRLF ||
	    (uint32_t)options.unterminated > GYRE_UNTERMINATED_FAIL) {
		return -EINVAL;
	}
	codec = gy_codec_make(ctx, sizeof(*line), next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	codec->last = gy_terminated_last;
	line = gy_terminated_of(codec);
	line->unterminated = options.unterminated;
	line->frame_bytes_max = options.frame_bytes_max;
	line->append = end_of(options.append);
	line->keep_end = options.keep_end;
	codec->fail_late = options.fail_late;
	return 0;
}

const struct gyre_handler gy_line_handler = {
	.name = "line",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.read_end = gy_codec_read_end,
	.write = gy_terminated_write,
	.send_file = gy_terminated_send_file,
};

int gyre_line_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
			      const struct gyre_line_options *options, size_t options_bytes)
{
	struct gyre_line_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_line_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_line_handler, &ours);
}
