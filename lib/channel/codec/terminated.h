/*
 * Frames that end in something: lines, and frames behind which a delimiter stands. How the end is
 * found differs; what follows from it is here: the limit, the discarding of a frame that is too
 * long, and what is appended to writes.
 *
 * A frame that is too long is thrown away as it comes. Its end, by which the next frame begins, is
 * looked for meanwhile.
 */
#ifndef GY_CHANNEL_CODEC_TERMINATED_H
#define GY_CHANNEL_CODEC_TERMINATED_H

#include "channel/codec/codec.h"

struct gy_terminated {
	struct gy_codec codec;
	size_t frame_bytes_max;
	struct gyre_span append; /* to each write; of 0 bytes for nothing */
	bool keep_end;
	enum gyre_unterminated unterminated;
};

static inline struct gy_terminated *gy_terminated_of(struct gy_codec *codec)
{
	return gy_container_of(codec, struct gy_terminated, codec);
}

/* The kept bytes have an end of @end_bytes bytes, up to the offset @end. */
static inline void gy_terminated_end(struct gy_terminated *terminated, size_t end, size_t end_bytes,
				     struct gy_step *step)
{
	if (gy_unlikely(terminated->codec.discarding)) {
		terminated->codec.discarding = false;
		gy_codec_too_long(&terminated->codec, end, step);
		step->error = terminated->codec.fail_late ? -EMSGSIZE : 0;
		return;
	}
	if (end - end_bytes > terminated->frame_bytes_max) {
		gy_codec_too_long(&terminated->codec, end, step);
		return;
	}
	step->kind = GY_STEP_FRAME;
	step->bytes = end;
	step->back = terminated->keep_end ? 0 : end_bytes;
}

/*
 * There is no end among the kept bytes, the first @known of which are not the begin of one either.
 * They are too many for a frame if @is_long.
 */
void gy_terminated_wait(struct gy_terminated *terminated, size_t known, bool is_long,
			struct gy_step *step);

/* The @last of such a codec. */
void gy_terminated_last(struct gy_codec *codec, const struct gyre_buffer *kept,
			struct gy_step *step);

/* For the table of such a codec. */
int gy_terminated_write(struct gyre_handler_context *ctx, struct gyre_buffer *data);
int gy_terminated_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
			    const struct gyre_file_region *what);

#endif
