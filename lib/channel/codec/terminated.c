/*
 * The rare half of frames that end in something, and how they are written.
 */
#include "channel/codec/terminated.h"

#include <gyre/channel.h>

void gy_terminated_wait(struct gy_terminated *terminated, size_t known, bool is_long,
			struct gy_step *step)
{
	struct gy_codec *codec = &terminated->codec;

	if (codec->discarding ? known > 0 : is_long) {
		step->kind = GY_STEP_DISCARD;
		step->bytes = known;
		step->error = codec->discarding || codec->fail_late ? 0 : -EMSGSIZE;
		codec->discarding = true;
		return;
	}
	codec->scanned = known;
}

void gy_terminated_last(struct gy_codec *codec, const struct gyre_buffer *kept,
			struct gy_step *step)
{
	const struct gy_terminated *terminated = gy_terminated_of(codec);

	step->kind = GY_STEP_DISCARD;
	step->bytes = kept->bytes;
	if (codec->discarding) {
		return; /* the rest of a frame that is too long */
	}
	if (kept->bytes > terminated->frame_bytes_max) {
		step->error = -EMSGSIZE; /* what may have been a part of the end is none */
	} else if (terminated->unterminated == GYRE_UNTERMINATED_DELIVER) {
		step->kind = GY_STEP_FRAME;
	} else if (terminated->unterminated == GYRE_UNTERMINATED_FAIL) {
		step->error = -EPROTO;
	}
}

static const struct gyre_span *append_of(const struct gyre_handler_context *ctx)
{
	return &gy_terminated_of(gy_codec_of(ctx))->append;
}

int gy_terminated_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct gyre_span *append = append_of(ctx);
	int r = append->count > 0 ? gyre_buffer_append(data, append->bytes, append->count) : 0;

	if (r < 0) {
		gy_buffer_put(data);
		return r;
	}
	return gyre_context_write(ctx, data);
}

/* A last write without an end may pass as it is. */
int gy_terminated_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
			    const struct gyre_file_region *what)
{
	return append_of(ctx)->count == 0 ? gyre_context_send_file(ctx, file, what) : -EOPNOTSUPP;
}
