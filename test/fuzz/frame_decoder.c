/*
 * Decoders of programs. The first byte of a frame tells its kind and its length, 0 to 63 more
 * bytes; the kinds are a frame, one of which both ends are taken off, bytes to be skipped, and an
 * error. Options say how a decoder tells that there is not enough: that it needs more, how much, or
 * how far it has looked; and what it makes of the rest at the end.
 */
#include <errno.h>

#include <gyre/frame_decoder.h>

#include "fuzz.h"

enum kind { PLAIN, STRIPPED, SKIPPED, WRONG };
enum hint { NO_HINT, NEEDED, SCANNED };
enum rest { CUT_OFF, ALL, HALVES, REFUSED };

struct options {
	struct gyre_frame_decoder decoder;
	enum hint hint;
	enum rest rest;
};

/* Skipped bytes are few: there is no limit to those that come at once, and one to those that wait.
 */
static size_t bytes_of(uint8_t head)
{
	return 1 + (size_t)((head & 3) == SKIPPED ? (head >> 2) % 8 : head >> 2);
}

static const struct options *options_of(const struct gyre_handler_context *ctx)
{
	return (const struct options *)gyre_context_arg(ctx);
}

static int64_t decode(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
		      struct gyre_decoded_frame *frame)
{
	const struct options *options = options_of(ctx);
	size_t there = gyre_buffer_bytes(bytes);
	uint8_t head = 0;
	size_t all;

	fuzz_require(there > 0 && gyre_buffer_copy(bytes, 0, &head, 1) == 1, "there are bytes");
	fuzz_require(frame->needed == 0 && frame->front == 0 && frame->back == 0 && !frame->skip,
		     "it begins at zero");
	fuzz_require(frame->scanned <= there, "no more was scanned than is there");
	all = bytes_of(head);
	if ((head & 3) == WRONG) {
		return -EBADMSG;
	}
	if (there < all) {
		frame->needed = options->hint == NEEDED ? all : 0;
		frame->scanned = options->hint == SCANNED ? there : 0;
		return -EAGAIN;
	}
	frame->skip = (head & 3) == SKIPPED;
	if ((head & 3) == STRIPPED) {
		frame->front = 1;
		frame->back = all > 1 ? 1 : 0;
	}
	return (int64_t)all;
}

static int64_t decode_last(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			   struct gyre_decoded_frame *frame)
{
	int64_t there = (int64_t)gyre_buffer_bytes(bytes);

	switch (options_of(ctx)->rest) {
	case ALL:
		return there;
	case HALVES: /* the rest may be a frame again */
		frame->skip = there % 2 == 0;
		return (there + 1) / 2;
	case REFUSED:
		return -EILSEQ;
	case CUT_OFF:
		break;
	}
	return -EAGAIN;
}

/* The rest at the end; returns how much of it was used, or an error. */
static int64_t expect_rest(const struct options *options, const uint8_t *bytes, size_t count,
			   struct codec_log *log)
{
	size_t half = (count + 1) / 2;

	switch (options->rest) {
	case ALL:
		codec_log_frame(log, bytes, count);
		return (int64_t)count;
	case HALVES:
		if (count % 2 != 0) {
			codec_log_frame(log, bytes, half);
		}
		return (int64_t)half;
	case REFUSED:
		return -EILSEQ;
	case CUT_OFF:
		break;
	}
	return -EPROTO;
}

/* What comes first of a stream; how many bytes that has, 0 when there is not enough, or an error.
 */
static int64_t expect_one(const struct options *options, const uint8_t *bytes, size_t count,
			  struct codec_log *log)
{
	size_t max = options->decoder.frame_bytes_max;
	size_t all = bytes_of(bytes[0]);
	enum kind kind = (enum kind)(bytes[0] & 3);

	if (kind == WRONG) {
		return -EBADMSG;
	}
	if (all > count) {
		bool is_long = count >= max || (options->hint == NEEDED && all > max);

		return is_long ? -EMSGSIZE : 0;
	}
	if (kind != SKIPPED && all > max) {
		return -EMSGSIZE;
	}
	if (kind == PLAIN) {
		codec_log_frame(log, bytes, all);
	} else if (kind == STRIPPED) {
		codec_log_frame(log, bytes + 1, all > 1 ? all - 2 : 0);
	}
	return (int64_t)all;
}

static int expect(const void *arg, const uint8_t *bytes, size_t count, bool ended,
		  struct codec_log *log)
{
	const struct options *options = (const struct options *)arg;

	while (count > 0) {
		int64_t used = expect_one(options, bytes, count, log);

		if (used == 0) {
			if (!ended) {
				return -EPROTO;
			}
			used = expect_rest(options, bytes, count, log);
		}
		if (used < 0) {
			codec_log_error(log, (int)used);
			return (int)used;
		}
		bytes += used;
		count -= (size_t)used;
	}
	return 0;
}

static int add(struct codec_rig *rig, const void *arg)
{
	const struct options *options = (const struct options *)arg;

	return gyre_frame_decoder_add(&rig->channel, GYRE_BEFORE("last"), &options->decoder,
				      options);
}

/* The decoder outlives the pipeline, which the next input empties. */
static struct options options;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	uint8_t flags = fuzz_byte(&fuzz);
	options = (struct options){
		.decoder = { .decode = decode,
			     .decode_last = (flags & 1) != 0 ? decode_last : NULL,
			     .frame_bytes_max = (flags & 2) != 0 ? 8 + flags % 32U : 64 },
		.hint = (enum hint)((flags >> 2) % 3),
		.rest = (flags & 1) != 0 ? (enum rest)((flags >> 4) % 4) : CUT_OFF,
	};

	fuzz_stream(&fuzz, add, &options, expect);
	return 0;
}
