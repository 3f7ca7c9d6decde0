/*
 * Frames with their length before them as a number of variable length, as protobuf writes streams
 * of messages. A length has 32 bits, so that its fifth byte is the last and has 4 of them.
 */
#include "channel/codec/codec.h"

#include <errno.h>

enum { FRAME_BYTES_DEFAULT = 1 << 20, LENGTH_BYTES_MAX = 5 };

struct varint {
	struct gy_codec codec;
	struct gyre_varint_options options;
};

/* The length before the next frame: how many bytes it has, -EAGAIN, or -EPROTO. */
static int get_length(const struct gyre_buffer *kept, uint64_t *ret_length)
{
	int r = gyre_buffer_get_varint(kept, 0, ret_length);

	if (r == -EAGAIN && kept->bytes >= LENGTH_BYTES_MAX) {
		return -EPROTO;
	}
	return r > LENGTH_BYTES_MAX || (r > 0 && *ret_length > UINT32_MAX) ? -EPROTO : r;
}

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	const struct gyre_varint_options *options =
		&gy_container_of(codec, struct varint, codec)->options;
	uint64_t length = 0;
	int r = get_length(kept, &length);

	if (r == -EPROTO) {
		step->kind = GY_STEP_FAIL;
		step->error = r;
	} else if (r > 0 && length > options->frame_bytes_max) {
		gy_codec_too_long(codec, (uint64_t)r + length, step);
	} else if (r > 0 && kept->bytes - (size_t)r >= length) {
		step->kind = GY_STEP_FRAME;
		step->bytes = (uint64_t)r + length;
		step->front = (size_t)r;
	} else if (r > 0) {
		codec->needed = (size_t)r + (size_t)length;
	}
}

static int added(struct gyre_handler_context *ctx)
{
	struct gyre_varint_options options = *(const struct gyre_varint_options *)ctx->arg;
	struct gy_codec *codec;

	if (gy_codec_limit(&options.frame_bytes_max, FRAME_BYTES_DEFAULT, GYRE_FRAME_BYTES_MAX) <
	    0) {
		return -EINVAL;
	}
	codec = gy_codec_make(ctx, sizeof(struct varint), next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	codec->fail_late = options.fail_late;
	gy_container_of(codec, struct varint, codec)->options = options;
	return 0;
}

static int write_frame(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char length[GYRE_VARINT_BYTES_MAX];
	int r = data->bytes > UINT32_MAX
			? -EMSGSIZE
			: gyre_buffer_prepend(data, length, gy_varint_put(length, data->bytes));

	if (r < 0) {
		gy_buffer_put(data);
		return r;
	}
	return gyre_context_write(ctx, data);
}

const struct gyre_handler gy_varint_handler = {
	.name = "varint",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.read_end = gy_codec_read_end,
	.write = write_frame,
};

int gyre_varint_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
				const struct gyre_varint_options *options, size_t options_bytes)
{
	struct gyre_varint_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_varint_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_varint_handler, &ours);
}
