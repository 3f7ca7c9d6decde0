/*
 * Codecs of programs: what a decoder answers becomes a step of the codec. Its answers are checked
 * here, for a program may be wrong: an answer that fits no bytes is a mistake that is told, and
 * ends the input.
 *
 * The decoder is a program's handler, and may do what handlers do while it is asked. Afterwards its
 * answer may be stale: the channel ends, the input has failed, or the decoder has left. The bytes
 * that it looks at stay until it returns.
 *
 * Bytes may be left when the peer has ended its side. last() asks decode_last about them until
 * nothing is left, and fails with -EPROTO if it answers -EAGAIN. A decoder without decode_last has
 * no last(): find_last_step() in codec.c fails then, with -EPROTO too.
 */
#include <gyre/frame_decoder.h>

#include <errno.h>
#include <limits.h>

#include "actor/class_log.h"
#include "base/sized.h"
#include "channel/channel.h"
#include "channel/codec/codec.h"

enum { FRAME_BYTES_DEFAULT = 1 << 20 };

struct frame_decoder {
	struct gy_codec codec;
	const struct gyre_frame_decoder *table;
	size_t frame_bytes_max;
};

/* What is added: the table, and the argument for its functions. */
struct adding {
	const struct gyre_frame_decoder *table;
	size_t frame_bytes_max;
	void *arg;
};

/* The argument of the place is the program's. */
static struct gy_codec *codec_of(struct gyre_handler_context *ctx)
{
	return (struct gy_codec *)*gy_context_own(gy_context_of(ctx));
}

static const char *name_of(const struct gyre_frame_decoder *table)
{
	return table->name == NULL ? "frame_decoder" : table->name;
}

/* ---- answers that end the input ---- */

static void fail(struct gy_step *step, int error)
{
	step->kind = GY_STEP_FAIL;
	step->error = error;
}

static GY_COLD void fail_of_length(const struct frame_decoder *decoder, struct gy_step *step)
{
	const struct gyre_channel *channel = decoder->codec.channel;

	gy_class_warn(
		channel->channels->home, channel->endpoint.owner->house->class_info,
		"a frame is longer than the %zu bytes that the decoder %s allows: its peer is "
		"to send less, or frame_bytes_max of struct gyre_frame_decoder to be more",
		decoder->frame_bytes_max, name_of(decoder->table));
	fail(step, -EMSGSIZE);
}

static GY_COLD void fail_of_misuse(const struct frame_decoder *decoder, int64_t result,
				   size_t there, struct gy_step *step)
{
	const struct gyre_channel *channel = decoder->codec.channel;

	gy_class_warn(
		channel->channels->home, channel->endpoint.owner->house->class_info,
		"the decoder %s has answered %lld where %zu bytes were there; it is to return "
		"the bytes of a frame with no more taken off its ends, -EAGAIN with no more "
		"scanned, or a negative errno",
		name_of(decoder->table), (long long)result, there);
	fail(step, -EINVAL);
}

/* ---- answers ---- */

static bool is_valid(const struct gyre_decoded_frame *frame, int64_t result, size_t there)
{
	if ((frame->reserved[0] | frame->reserved[1]) != 0) {
		return false;
	}
	if (result == -EAGAIN) {
		return frame->scanned <= there;
	}
	if (result <= 0) {
		return result < 0 && result >= INT_MIN;
	}
	return (uint64_t)result <= there && frame->front <= (uint64_t)result &&
	       frame->back <= (uint64_t)result - frame->front;
}

static void wait(struct frame_decoder *decoder, const struct gyre_decoded_frame *frame,
		 size_t there, struct gy_step *step)
{
	if (there >= decoder->frame_bytes_max || frame->needed > decoder->frame_bytes_max) {
		fail_of_length(decoder, step);
		return;
	}
	decoder->codec.scanned = frame->scanned;
	decoder->codec.needed = frame->needed;
}

static void take_answer(struct frame_decoder *decoder, const struct gyre_decoded_frame *frame,
			int64_t result, size_t there, struct gy_step *step)
{
	if (gy_unlikely(!is_valid(frame, result, there))) {
		fail_of_misuse(decoder, result, there, step);
	} else if (result == -EAGAIN) {
		wait(decoder, frame, there, step);
	} else if (result < 0) {
		fail(step, (int)result);
	} else if (frame->skip) {
		step->kind = GY_STEP_DISCARD;
		step->bytes = (uint64_t)result;
	} else if ((uint64_t)result > decoder->frame_bytes_max) {
		fail_of_length(decoder, step);
	} else {
		step->kind = GY_STEP_FRAME;
		step->bytes = (uint64_t)result;
		step->front = frame->front;
		step->back = frame->back;
	}
}

/* An answer that is stale is none: the codec waits, and sees for itself. */
static int64_t ask(struct frame_decoder *decoder, gyre_frame_decode_fn decode,
		   const struct gyre_buffer *kept, struct gy_step *step)
{
	struct gy_codec *codec = &decoder->codec;
	struct gyre_decoded_frame frame = { .scanned = codec->scanned };
	size_t there = kept->bytes;
	int64_t result;

	codec->asking = true;
	result = decode(&codec->context->head, kept, &frame);
	codec->asking = false;
	if (!gy_codec_is_stale(codec)) {
		take_answer(decoder, &frame, result, there, step);
	}
	return result;
}

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	struct frame_decoder *decoder = gy_container_of(codec, struct frame_decoder, codec);

	(void)ask(decoder, decoder->table->decode, kept, step);
}

static void last(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	struct frame_decoder *decoder = gy_container_of(codec, struct frame_decoder, codec);
	int64_t result = ask(decoder, decoder->table->decode_last, kept, step);

	if (result == -EAGAIN && step->kind == GY_STEP_WAIT && !gy_codec_is_stale(codec)) {
		fail(step, -EPROTO);
	}
}

/* ---- the place ---- */

static int added(struct gyre_handler_context *ctx)
{
	const struct adding adding = *(const struct adding *)ctx->arg;
	struct gy_codec *codec = gy_codec_make(ctx, sizeof(struct frame_decoder), next);
	struct frame_decoder *decoder;
	int r = 0;

	ctx->arg = adding.arg;
	if (codec == NULL) {
		return -ENOMEM;
	}
	*gy_context_own(gy_context_of(ctx)) = codec;
	decoder = gy_container_of(codec, struct frame_decoder, codec);
	decoder->table = adding.table;
	decoder->frame_bytes_max = adding.frame_bytes_max;
	codec->last = adding.table->decode_last == NULL ? NULL : last;
	codec->pass = adding.table->frame;
	if (adding.table->added != NULL) {
		r = adding.table->added(ctx);
	}
	if (r < 0 && !gy_context_of(ctx)->removed) {
		gy_codec_leave(codec);
	}
	return r;
}

static void removed(struct gyre_handler_context *ctx)
{
	struct gy_codec *codec = codec_of(ctx);
	const struct gyre_frame_decoder *table =
		gy_container_of(codec, struct frame_decoder, codec)->table;

	gy_codec_leave(codec);
	if (table->removed != NULL) {
		table->removed(ctx);
	}
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gy_codec_take(codec_of(ctx), data);
}

static void read_end(struct gyre_handler_context *ctx)
{
	gy_codec_end(codec_of(ctx));
}

static const struct gyre_handler frame_decoder_handler = {
	.name = "frame_decoder",
	.added = added,
	.removed = removed,
	.read = read_bytes,
	.read_end = read_end,
};

int gyre_frame_decoder_add_sized(struct gyre_channel *channel, struct gyre_position position,
				 const struct gyre_frame_decoder *decoder, size_t decoder_bytes,
				 const void *arg)
{
	struct adding adding = { .arg = (void *)(uintptr_t)arg };
	const struct gy_home *home;
	int r;

	if (channel == NULL || decoder == NULL) {
		return -EINVAL;
	}
	home = channel->channels->home;
	r = GY_SIZED_TABLE(gyre_frame_decoder, &gy_homes_of(home->options.system)->tables, &decoder,
			   decoder_bytes, home->loop.options.log);
	if (r < 0) {
		return r;
	}
	adding.table = decoder;
	adding.frame_bytes_max = decoder->frame_bytes_max;
	if (decoder->decode == NULL || gy_codec_limit(&adding.frame_bytes_max, FRAME_BYTES_DEFAULT,
						      GYRE_FRAME_BYTES_MAX) < 0) {
		return -EINVAL;
	}
	if (position.name == NULL) {
		position.name = name_of(decoder);
	}
	return gy_pipeline_add(channel, &position, &frame_decoder_handler, &adding);
}
