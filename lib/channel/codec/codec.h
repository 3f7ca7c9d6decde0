/*
 * The part that all codecs share: keeping the bytes of incomplete frames, and giving complete
 * frames to the next handler, one a read.
 *
 * A codec itself looks at the front of the kept bytes and says what the next step is. It is asked
 * again when the step has been done, or when there are as many bytes as it needs. A frame that has
 * to wait until it is wanted is remembered: nobody is asked twice about it.
 *
 * When the peer has ended its side a codec is asked for its last steps: what is left may be a frame
 * all the same.
 */
#ifndef GY_CHANNEL_CODEC_CODEC_H
#define GY_CHANNEL_CODEC_CODEC_H

#include <errno.h>

#include <gyre/codec.h>

#include "buffer/buffer.h"
#include "channel/pipeline/deferred.h"
#include "channel/pipeline/pipeline.h"

struct gy_codec;

enum gy_step_kind {
	GY_STEP_WAIT,	 /* for more bytes: as many as @needed of the codec, or any */
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
	/*
	 * The step at the end, where @next waits for bytes that do not come. NULL: -EPROTO is
	 * raised. Where this waits too the bytes are thrown away. Not of datagrams.
	 */
	gy_codec_next_fn last;
	gyre_read_fn pass; /* gets the frames; NULL: the next handler */
	struct gyre_channel *channel;
	struct gy_context *context;
	struct gyre_buffer *kept;      /* NULL when there is nothing */
	struct gy_buffer_queue behind; /* datagrams that wait until @kept, which is one, is done */
	struct gy_deferred deferred;
	struct gy_step held; /* a frame that waits, with @waiting */
	uint64_t discard;    /* bytes still to be thrown away */
	size_t scanned;	  /* of @kept, what @next need not look at again; the frame is not there */
	size_t needed;	  /* bytes of @kept, before which @next is not asked */
	uint32_t joined;  /* buffers in @kept, at most */
	uint32_t charged; /* bytes of @kept that count: see byte_budget.h */
	uint32_t state_bytes;
	int late_error;
	bool discarding; /* for @next: the frame that is too long has not ended yet */
	bool fail_late;	 /* of that, its end raises the exception */
	bool ended;	 /* the peer has, and the handlers behind do not know yet */
	bool permitted;	 /* one frame may go on though none was asked for */
	bool decoding;
	bool waiting; /* a frame does: @held */
	bool asking;  /* a decoder of the program looks at @kept, which is to stay */
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

/* For a codec that is not the argument of its place. */
void gy_codec_take(struct gy_codec *codec, struct gyre_buffer *data);
void gy_codec_end(struct gy_codec *codec);
void gy_codec_leave(struct gy_codec *codec);
/* What was found in the kept bytes does not count any more. */
bool gy_codec_is_stale(const struct gy_codec *codec);

/* For the table of a codec that is. */
void gy_codec_read(struct gyre_handler_context *ctx, struct gyre_buffer *data);
void gy_codec_read_end(struct gyre_handler_context *ctx);
void gy_codec_removed(struct gyre_handler_context *ctx);

/* An option with a default, whose largest value is @max: 0, or -EINVAL. */
int gy_codec_limit(size_t *limit, size_t fallback, size_t max);

/* A frame that is too long, and ends at the known offset @end. */
static inline void gy_codec_too_long(const struct gy_codec *codec, uint64_t end,
				     struct gy_step *step)
{
	step->kind = GY_STEP_DISCARD;
	step->bytes = end;
	step->error = -EMSGSIZE;
	step->late = codec->fail_late;
}

#endif
