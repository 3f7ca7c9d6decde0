/*
 * The part that all codecs share: keeping the bytes of incomplete frames, and giving complete
 * frames to the next handler, one a read.
 *
 * A codec itself looks at the front of the kept bytes and says what the next step is. It is asked
 * again when the step has been done, or when there are more bytes. It may remember how far it has
 * looked, but must say the same when it is asked twice about the same bytes.
 */
#ifndef GY_CHANNEL_CODEC_CODEC_H
#define GY_CHANNEL_CODEC_CODEC_H

#include <errno.h>

#include <gyre/codec.h>

#include "buffer/buffer.h"
#include "channel/deferred.h"
#include "channel/pipeline.h"

struct gy_codec;

enum gy_step_kind {
	GY_STEP_WAIT,	 /* for more bytes */
	GY_STEP_FRAME,	 /* of @bytes, which are there, without @front and @back at its ends */
	GY_STEP_DISCARD, /* @bytes, which need not be there yet; @error is raised before or after */
	GY_STEP_FAIL,	 /* with @error: where the next frame begins cannot be known */
};

struct gy_step {
	enum gy_step_kind kind;
	int error;
	bool late; /* @error is raised when all is discarded */
	uint64_t bytes;
	size_t front;
	size_t back;
};

typedef void (*gy_codec_next_fn)(struct gy_codec *codec, const struct gyre_buffer *kept,
				 struct gy_step *step);

struct gy_codec {
	gy_codec_next_fn next;
	struct gyre_channel *channel;
	struct gy_context *context;
	struct gyre_buffer *kept;      /* NULL when there is nothing */
	struct gy_buffer_queue behind; /* datagrams that wait until @kept, which is one, is done */
	struct gy_deferred deferred;
	uint64_t discard; /* bytes still to be thrown away */
	size_t scanned;	  /* of @kept, what @next need not look at again; the frame is not there */
	uint32_t joined;  /* buffers in @kept, at most */
	uint32_t charged; /* bytes of @kept that count: see byte_budget.h */
	uint32_t state_bytes;
	int late_error;
	bool discarding; /* for @next: the frame that is too long has not ended yet */
	bool permitted;	 /* one frame may go on though none was asked for */
	bool decoding;
	bool waiting; /* a frame does */
	bool failed;
	bool told; /* of datagrams: this one has raised an exception */
	bool removed;
	bool handshaking; /* no frame has come, and there is a time for it */
};

/*
 * The state of a codec in the place @ctx, @bytes long and zero but for the codec at its begin; it
 * becomes the place's argument and lives as long as it has to. NULL when there is no memory.
 */
struct gy_codec *gy_codec_make(struct gyre_handler_context *ctx, size_t bytes,
			       gy_codec_next_fn next);

static inline struct gy_codec *gy_codec_of(const struct gyre_handler_context *ctx)
{
	return (struct gy_codec *)ctx->arg;
}

/* The tables of the codecs; each takes its options, which are not NULL, as the argument. */
extern const struct gyre_handler gy_fixed_handler;
extern const struct gyre_handler gy_line_handler;
extern const struct gyre_handler gy_delimiter_handler;
extern const struct gyre_handler gy_length_handler;
extern const struct gyre_handler gy_prepender_handler;
extern const struct gyre_handler gy_varint_handler;

/* For the table of a codec. */
void gy_codec_read(struct gyre_handler_context *ctx, struct gyre_buffer *data);
void gy_codec_removed(struct gyre_handler_context *ctx);

/* An option with a default, whose largest value is @max: 0, or -EINVAL. */
int gy_codec_limit(size_t *limit, size_t fallback, size_t max);

/* A frame that is too long, and ends at the known offset @end. */
static inline void gy_step_too_long(struct gy_step *step, uint64_t end, bool late)
{
	step->kind = GY_STEP_DISCARD;
	step->bytes = end;
	step->error = -EMSGSIZE;
	step->late = late;
}

#endif
