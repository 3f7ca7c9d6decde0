/*
 * Frames of one length: whatever comes, so many bytes of it at a time.
 */
#include "channel/codec/codec.h"

#include <errno.h>

struct fixed {
	struct gy_codec codec;
	size_t frame_bytes;
};

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	const struct fixed *fixed = gy_container_of(codec, struct fixed, codec);

	if (kept->bytes >= fixed->frame_bytes) {
		step->kind = GY_STEP_FRAME;
		step->bytes = fixed->frame_bytes;
	} else {
		codec->needed = fixed->frame_bytes;
	}
}

static int added(struct gyre_handler_context *ctx)
{
	const struct gyre_fixed_options *options = (const struct gyre_fixed_options *)ctx->arg;
	size_t bytes = options->frame_bytes;
	struct gy_codec *codec;

	if (bytes == 0 || bytes > GYRE_FRAME_BYTES_MAX) {
		return -EINVAL;
	}
	codec = gy_codec_make(ctx, sizeof(struct fixed), next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	gy_container_of(codec, struct fixed, codec)->frame_bytes = bytes;
	return 0;
}

const struct gyre_handler gy_fixed_handler = {
	.name = "fixed",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.read_end = gy_codec_read_end,
};

int gyre_fixed_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
			       const struct gyre_fixed_options *options, size_t options_bytes)
{
	struct gyre_fixed_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_fixed_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_fixed_handler, &ours);
}
