/*
 * Frames that tell their length, in a field of some bytes at some place. Every number is checked
 * before it is used: what the peer says is 63 bits, and becomes a size only below the limit.
 */
#include "channel/codec/codec.h"

#include <errno.h>

enum { FRAME_BYTES_DEFAULT = 1 << 20, FIELD_BYTES_DEFAULT = 4, FIELD_BYTES_MAX = 8 };

struct length {
	struct gy_codec codec;
	struct gyre_length_options options;
};

struct prepender {
	struct gy_codec codec;
	struct gyre_prepender_options options;
};

/* 0, and a default filled in, if a field may have so many bytes. */
static int check_field(size_t *bytes)
{
	if (*bytes == 0) {
		*bytes = FIELD_BYTES_DEFAULT;
	}
	return *bytes <= 4 || *bytes == FIELD_BYTES_MAX ? 0 : -EINVAL;
}

static void fail(struct gy_step *step)
{
	step->kind = GY_STEP_FAIL;
	step->error = -EPROTO;
}

/* ---- reading ---- */

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	const struct gyre_length_options *options =
		&gy_container_of(codec, struct length, codec)->options;
	size_t field_end = options->length_field_offset + options->length_field_bytes;
	uint64_t value = 0;
	int64_t frame;

	if (gyre_buffer_get_number(kept, options->length_field_offset, options->length_field_bytes,
				   options->order, &value) < 0) {
		return;
	}
	if (value > INT64_MAX) {
		fail(step);
	} else if (__builtin_add_overflow((int64_t)value,
					  (int64_t)field_end + options->length_adjustment,
					  &frame)) {
		gy_codec_too_long(codec, UINT64_MAX, step);
	} else if (frame < (int64_t)field_end) {
		fail(step);
	} else if ((uint64_t)frame > options->frame_bytes_max) {
		gy_codec_too_long(codec, (uint64_t)frame, step);
	} else if (options->initial_bytes_to_strip > (uint64_t)frame) {
		fail(step);
	} else if (kept->bytes >= (uint64_t)frame) {
		step->kind = GY_STEP_FRAME;
		step->bytes = (uint64_t)frame;
		step->front = options->initial_bytes_to_strip;
	} else {
		codec->needed = (size_t)frame;
	}
}

static int added(struct gyre_handler_context *ctx)
{
	struct gyre_length_options options = *(const struct gyre_length_options *)ctx->arg;
	struct gy_codec *codec;

	if (gy_codec_limit(&options.frame_bytes_max, FRAME_BYTES_DEFAULT, GYRE_FRAME_BYTES_MAX) <
		    0 ||
	    check_field(&options.length_field_bytes) < 0 ||
	    options.length_field_bytes > options.frame_bytes_max ||
	    options.length_field_offset > options.frame_bytes_max - options.length_field_bytes) {
		return -EINVAL;
	}
	codec = gy_codec_make(ctx, sizeof(struct length), next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	codec->fail_late = options.fail_late;
	gy_container_of(codec, struct length, codec)->options = options;
	return 0;
}

const struct gyre_handler gy_length_handler = {
	.name = "length",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.read_end = gy_codec_read_end,
};

int gyre_length_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
				const struct gyre_length_options *options, size_t options_bytes)
{
	struct gyre_length_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_length_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_length_handler, &ours);
}

/* ---- writing ---- */

static int prepender_added(struct gyre_handler_context *ctx)
{
	struct gyre_prepender_options options = *(const struct gyre_prepender_options *)ctx->arg;
	struct gy_codec *codec;

	if (check_field(&options.length_field_bytes) < 0) {
		return -EINVAL;
	}
	codec = gy_codec_make(ctx, sizeof(struct prepender), NULL);
	if (codec == NULL) {
		return -ENOMEM;
	}
	gy_container_of(codec, struct prepender, codec)->options = options;
	return 0;
}

/* Puts the length before @data. */
static int prepend(const struct gyre_prepender_options *options, struct gyre_buffer *data)
{
	unsigned char field[FIELD_BYTES_MAX];
	size_t bytes = options->length_field_bytes;
	int64_t length = (int64_t)data->bytes + options->length_adjustment;

	if (options->length_includes_field) {
		length += (int64_t)bytes;
	}
	if (length < 0) {
		return -EINVAL;
	}
	if (bytes < FIELD_BYTES_MAX && (uint64_t)length >> (8 * bytes) != 0) {
		return -EMSGSIZE;
	}
	gy_number_put(field, bytes, options->order, (uint64_t)length);
	return gyre_buffer_prepend(data, field, bytes);
}

static int prepender_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct prepender *prepender =
		gy_container_of(gy_codec_of(ctx), struct prepender, codec);
	int r = prepend(&prepender->options, data);

	if (r < 0) {
		gy_buffer_put(data);
		return r;
	}
	return gyre_context_write(ctx, data);
}

const struct gyre_handler gy_prepender_handler = {
	.name = "length_prepender",
	.added = prepender_added,
	.removed = gy_codec_removed,
	.write = prepender_write,
};

int gyre_length_prepender_add_sized(struct gyre_channel *channel, struct gyre_position position,
				    const struct gyre_prepender_options *options,
				    size_t options_bytes)
{
	struct gyre_prepender_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_prepender_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_prepender_handler, &ours);
}
