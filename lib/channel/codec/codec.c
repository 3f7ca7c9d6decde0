/*
 * How codecs run. Arriving bytes are put behind those that are kept; then the codec says step by
 * step what to do with the front of them, until it wants more.
 *
 * Frames are reads, and obey the rules of reads: while a channel is paused, or no read was asked
 * for, they wait, and a deferred call of the channel goes on with them later. On a channel that
 * reads on request each request gives one frame: if a read of the socket completes none another one
 * is asked for, and frames besides the first wait.
 *
 * The handler of a frame may do anything: remove the codec, replace it, or end the channel. So
 * after each frame the codec checks where it stands. Bytes that are left when it is removed go to
 * the handler that stands in its place by then.
 *
 * The end of what the peer sends is told behind all frames. What is left by then is the codec's to
 * judge: a last frame that nothing ends, or one that was cut off. A last frame waits until it is
 * wanted as any other does, and the end waits behind it.
 *
 * A datagram is a stream of its own: an incomplete frame ends with it, and must not become a part
 * of the next, which may come from another peer. A datagram that comes while frames of another wait
 * is not put behind their bytes.
 *
 * Kept bytes must not keep pages of the ring from others. Few bytes are copied, and so is all of a
 * frame that has the channel's share of pages already.
 */
#include "channel/codec/codec.h"

#include <errno.h>
#include <string.h>

#include "channel/channel.h"

enum { COPY_BYTES_MAX = 512 };

/* ---- what is kept ---- */

/* Kept bytes count as held by the channel. */
static void count_kept(struct gy_codec *codec)
{
	if ((codec->channel->state & GY_TRAIT_BUDGETED) != 0) {
		gy_byte_budget_set_frame(codec->channel, &codec->charged,
					 codec->kept == NULL ? 0 : codec->kept->bytes);
	}
}

static void drop_kept(struct gy_codec *codec)
{
	if (codec->kept != NULL) {
		gy_buffer_put(codec->kept);
		codec->kept = NULL;
	}
	codec->scanned = 0;
	codec->needed = 0;
	codec->waiting = false;
}

/* Copies @data, which is taken, to the end of what is kept. */
static int copy(struct gyre_buffer *kept, struct gyre_buffer *data)
{
	const struct gy_slice *slice = &data->first;
	int r = 0;

	for (; r == 0 && slice != NULL; slice = slice->next) {
		r = gyre_buffer_append(kept, slice->bytes, slice->count);
	}
	gy_buffer_put(data);
	return r;
}

static int keep(struct gy_codec *codec, struct gyre_buffer *data)
{
	if (codec->kept == NULL) {
		codec->kept = data;
		codec->joined = 1;
		return 0;
	}
	if (data->bytes <= COPY_BYTES_MAX ||
	    codec->joined >= codec->channel->channels->channel_share) {
		return copy(codec->kept, data);
	}
	codec->joined++;
	return gyre_buffer_join(codec->kept, data);
}

/* Takes the first @count bytes, which there are, out of what is kept. */
static int take(struct gy_codec *codec, size_t count, struct gyre_buffer **ret_front)
{
	gy_assert(count > 0 && count <= codec->kept->bytes);
	codec->scanned = 0;
	codec->needed = 0;
	codec->joined = 1; /* what is left is of the last read, if anything */
	if (count == codec->kept->bytes) {
		*ret_front = codec->kept;
		codec->kept = NULL;
		return 0;
	}
	return gyre_buffer_split(codec->kept, count, ret_front);
}

/* ---- steps; false when there is no other ---- */

static void tell_error(struct gy_codec *codec, int error)
{
	codec->told = true;
	gyre_context_fire_exception(&codec->context->head, error);
}

static bool fail(struct gy_codec *codec, int error)
{
	codec->failed = true;
	if (!codec->asking) {
		drop_kept(codec);
	}
	tell_error(codec, error);
	return false;
}

/* Throws away as much of the bytes to be discarded as has come. */
static bool discard(struct gy_codec *codec)
{
	uint64_t there = codec->kept->bytes;
	uint64_t count = codec->discard < there ? codec->discard : there;

	codec->discard -= count;
	codec->scanned = 0;
	codec->needed = 0;
	if (count == there) {
		drop_kept(codec);
	} else {
		gy_buffer_consume(codec->kept, (size_t)count);
	}
	if (codec->discard == 0 && codec->late_error != 0) {
		int error = codec->late_error;

		codec->late_error = 0;
		tell_error(codec, error);
	}
	return true;
}

static bool start_discard(struct gy_codec *codec, const struct gy_step *step)
{
	codec->discard = step->bytes;
	if (step->late) {
		codec->late_error = step->error;
	} else if (step->error != 0) {
		tell_error(codec, step->error);
	}
	return true;
}

/* A frame is what tells that the peer speaks the protocol. */
static void end_handshake(struct gy_codec *codec)
{
	if (codec->handshaking) {
		codec->handshaking = false;
		gyre_channel_handshake_done(codec->channel);
	}
}

static bool may_deliver(const struct gy_codec *codec)
{
	uint32_t against = GY_CHANNEL_NO_DELIVERY;

	if (codec->permitted) {
		against &= ~(uint32_t)GY_NO_READ_NOT_ASKED;
	}
	return (codec->channel->state & against) == 0;
}

static bool deliver(struct gy_codec *codec, const struct gy_step *step)
{
	struct gyre_channel *channel = codec->channel;
	struct gyre_buffer *frame;

	gy_assert(step->front + step->back <= step->bytes && !codec->waiting);
	if (!may_deliver(codec)) {
		codec->held = *step;
		codec->waiting = true;
		gy_deferred_queue(channel, &codec->deferred);
		return false;
	}
	if (take(codec, (size_t)step->bytes, &frame) < 0) {
		return fail(codec, -ENOMEM);
	}
	gy_buffer_consume(frame, step->front);
	gy_buffer_truncate(frame, (size_t)step->bytes - step->front - step->back);
	codec->permitted = false;
	if (gy_unlikely(codec->handshaking)) {
		end_handshake(codec);
	}
	if ((channel->state & GY_INPUT_MANUAL) != 0) {
		gy_channel_add_no_read(channel, GY_NO_READ_NOT_ASKED);
	}
	if (gy_unlikely(codec->pass != NULL)) {
		codec->pass(&codec->context->head, frame);
	} else {
		gyre_context_fire_read(&codec->context->head, frame);
	}
	return true;
}

bool gy_codec_is_stale(const struct gy_codec *codec)
{
	return codec->removed || codec->failed || (codec->channel->state & GY_CHANNEL_ENDING) != 0;
}

/* Nothing will follow what is kept. */
static GY_COLD void find_last_step(struct gy_codec *codec, struct gy_step *step)
{
	if (!gy_codec_is_stale(codec) && codec->last != NULL) {
		codec->last(codec, codec->kept, step);
	} else if (!gy_codec_is_stale(codec)) {
		step->kind = GY_STEP_FAIL;
		step->error = -EPROTO;
	}
	if (step->kind == GY_STEP_WAIT && !codec->removed) {
		drop_kept(codec);
	}
}

static bool step(struct gy_codec *codec)
{
	struct gy_step next = { .kind = GY_STEP_WAIT };

	if (codec->failed || (codec->channel->state & GY_CHANNEL_ENDING) != 0) {
		drop_kept(codec);
		return false;
	}
	if (codec->discard > 0) {
		return discard(codec);
	}
	if (gy_unlikely(codec->waiting)) {
		next = codec->held;
		codec->waiting = false;
	} else if (codec->kept->bytes >= codec->needed) {
		codec->next(codec, codec->kept, &next);
	}
	if (next.kind == GY_STEP_WAIT && gy_unlikely(codec->ended)) {
		find_last_step(codec, &next);
	}
	switch (next.kind) {
	case GY_STEP_FRAME:
		return deliver(codec, &next);
	case GY_STEP_DISCARD:
		return start_discard(codec, &next);
	case GY_STEP_FAIL:
		return fail(codec, next.error);
	case GY_STEP_WAIT:
		break;
	}
	return false;
}

/* ---- datagrams ---- */

static bool has_datagrams(const struct gy_codec *codec)
{
	return gy_channel_is_datagram(codec->channel);
}

/* All of one has been looked at; false when no other waits. */
static bool end_datagram(struct gy_codec *codec)
{
	bool is_long = codec->discarding || codec->discard > 0;

	if (!codec->told && (codec->kept != NULL || is_long)) {
		tell_error(codec, is_long ? -EMSGSIZE : -EPROTO);
	}
	drop_kept(codec);
	codec->discard = 0;
	codec->late_error = 0;
	codec->discarding = false;
	codec->failed = false;
	codec->told = false;
	codec->kept = gy_buffer_queue_pop(&codec->behind);
	return codec->kept != NULL;
}

/* ---- the end ---- */

/* All is said and done of what came before the end. */
static GY_COLD void finish(struct gy_codec *codec)
{
	bool is_cut_late = codec->late_error != 0 || (codec->discarding && codec->fail_late);

	gy_assert(codec->ended && codec->decoding && codec->kept == NULL);
	codec->discard = 0;
	codec->discarding = false;
	codec->late_error = 0;
	if (is_cut_late && !codec->failed) {
		tell_error(codec, -EMSGSIZE);
	}
	if (!codec->removed) { /* else its successor hears of it, behind the bytes */
		codec->ended = false;
		if ((codec->channel->state & GY_CHANNEL_ENDING) == 0) {
			gyre_context_fire_read_end(&codec->context->head);
		}
	}
}

static void dispose(struct gy_codec *codec)
{
	gy_assert(codec->removed && !codec->decoding);
	gy_deferred_drop(&codec->deferred);
	gy_buffer_queue_clear(&codec->behind);
	drop_kept(codec);
	count_kept(codec);
	gy_sizes_delete(&codec->channel->channels->home->parts, codec, codec->state_bytes);
}

/* The place before the one that the codec had. */
static struct gyre_handler_context *place_before(const struct gy_codec *codec)
{
	struct gy_context *before = codec->context->previous;

	gy_assert(codec->removed);
	while (before->removed) {
		before = before->previous;
	}
	return &before->head;
}

/* Gives what is left to whoever comes where the codec was. */
static void hand_over(struct gy_codec *codec)
{
	struct gyre_buffer *left = codec->kept;

	gy_assert(codec->discard < left->bytes);
	codec->kept = NULL;
	gy_buffer_consume(left, (size_t)codec->discard);
	gyre_context_fire_read(place_before(codec), left);
}

static bool is_left(const struct gy_codec *codec)
{
	return codec->kept != NULL && !codec->failed && codec->kept->bytes > codec->discard &&
	       (codec->channel->state & GY_CHANNEL_ENDING) == 0;
}

static void leave(struct gy_codec *codec)
{
	do {
		if (is_left(codec)) {
			hand_over(codec);
		}
		drop_kept(codec);
		codec->discard = 0;
		codec->kept = gy_buffer_queue_pop(&codec->behind);
	} while (codec->kept != NULL);
	if (codec->ended && (codec->channel->state & GY_CHANNEL_ENDING) == 0) {
		gyre_context_fire_read_end(place_before(codec));
	}
	dispose(codec);
}

void gy_codec_leave(struct gy_codec *codec)
{
	codec->removed = true;
	end_handshake(codec);
	if (codec->decoding) {
		return; /* when the frame under way has been dealt with */
	}
	if (is_left(codec) && codec->channel->channels->stack == NULL) {
		gy_deferred_queue(codec->channel, &codec->deferred); /* handlers may not run here */
		return;
	}
	leave(codec);
}

void gy_codec_removed(struct gyre_handler_context *ctx)
{
	gy_codec_leave(gy_codec_of(ctx));
}

/* ---- runs ---- */

/* Steps until the codec wants more, its frame has to wait, or it is removed. */
static void decode_all(struct gy_codec *codec)
{
	bool next_datagram;

	codec->decoding = true;
	do {
		while (!codec->removed && codec->kept != NULL && step(codec)) {
		}
		next_datagram = has_datagrams(codec) && !codec->removed && !codec->waiting &&
				end_datagram(codec);
	} while (next_datagram);
	if (gy_unlikely(codec->ended) && !codec->waiting && !codec->removed) {
		finish(codec);
	}
	codec->decoding = false;
}

/* Little that stays is copied, so that it keeps no page of the ring. */
static void keep_rest(struct gy_codec *codec)
{
	if (codec->kept != NULL && codec->kept->bytes <= COPY_BYTES_MAX &&
	    gy_page_is_kernel_provided(codec->kept->first.page)) {
		gy_buffer_copy_out_of_ring(codec->kept);
	}
	count_kept(codec);
}

/* Whether a requested read gave no frame, and another one is needed. */
static bool wants_read(const struct gy_codec *codec)
{
	bool manual = (codec->channel->state & GY_INPUT_MANUAL) != 0;

	return manual && codec->permitted && !codec->waiting && !codec->failed;
}

static void decode(struct gy_codec *codec)
{
	gy_assert(!codec->decoding);
	decode_all(codec);
	if (codec->removed) {
		leave(codec);
		return;
	}
	keep_rest(codec);
	if (wants_read(codec)) {
		gyre_context_read(&codec->context->head);
	}
}

void gy_codec_take(struct gy_codec *codec, struct gyre_buffer *data)
{
	if (data->bytes == 0) {
		gy_buffer_put(data);
		if ((codec->channel->state & GY_INPUT_MANUAL) != 0) {
			gyre_context_read(
				&codec->context
					 ->head); /* the one that was asked for gave no frame */
		}
		return;
	}
	codec->permitted = true;
	if (codec->kept != NULL && has_datagrams(codec)) {
		gy_buffer_queue_push(&codec->behind, data);
	} else if (keep(codec, data) < 0) {
		(void)fail(codec, -ENOMEM);
	}
	if (!codec->decoding) {
		decode(codec);
	}
}

void gy_codec_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gy_codec_take(gy_codec_of(ctx), data);
}

/* Not called for datagrams. */
void gy_codec_end(struct gy_codec *codec)
{
	codec->ended = true;
	if (!codec->decoding) {
		decode(codec);
	}
}

void gy_codec_read_end(struct gyre_handler_context *ctx)
{
	gy_codec_end(gy_codec_of(ctx));
}

/* Goes on with frames that waited, or ends for good. */
static void resume(struct gy_deferred *deferred)
{
	struct gy_codec *codec = gy_container_of(deferred, struct gy_codec, deferred);
	struct gyre_channel *channel = codec->channel;
	struct gyre_handler_context *head = &channel->pipeline.head.head;

	if (codec->removed) {
		leave(codec);
	} else if (!may_deliver(codec) && (channel->state & GY_CHANNEL_ENDING) == 0) {
		gy_deferred_queue(channel, deferred);
		return;
	} else if (!codec->decoding) {
		decode(codec);
	}
	if ((channel->state & GY_TRAIT_READ_COMPLETE) != 0 &&
	    (channel->state & GY_CHANNEL_ENDING) == 0) {
		gyre_context_fire_read_complete(head);
	}
}

struct gy_codec *gy_codec_make(struct gyre_handler_context *ctx, size_t bytes,
			       gy_codec_next_fn next)
{
	struct gyre_channel *channel = ctx->channel;
	struct gy_codec *codec =
		(struct gy_codec *)gy_sizes_new(&channel->channels->home->parts, bytes);

	if (codec == NULL) {
		return NULL;
	}
	memset(codec, 0, bytes);
	codec->next = next;
	codec->channel = channel;
	codec->context = gy_context_of(ctx);
	codec->state_bytes = (uint32_t)bytes;
	gy_deferred_init(&codec->deferred, resume);
	/* A codec that cuts no frames cannot tell when a peer has sent one. */
	codec->handshaking = next != NULL && gyre_channel_handshake_begin(channel);
	ctx->arg = codec;
	return codec;
}

int gy_codec_limit(size_t *limit, size_t fallback, size_t max)
{
	if (*limit == 0) {
		*limit = fallback;
	}
	return *limit <= max ? 0 : -EINVAL;
}
