/*
 * Frame decoders: codecs of the program. A decoder looks at the bytes that have come and says how
 * many of them are a frame; the library keeps what is incomplete, cuts the frames, and gives each
 * to the next handler as a read. So a decoder keeps no bytes, and all that is said of codecs in
 * gyre/codec.h holds for it: when frames wait, what follows the peer's end, what a handler that
 * takes its place gets.
 *
 *	static int64_t decode_record(struct gyre_handler_context *ctx,
 *				     const struct gyre_buffer *bytes,
 *				     struct gyre_decoded_frame *frame)
 *	{
 *		uint64_t length;
 *
 *		(void)ctx;
 *		if (gyre_buffer_get_number(bytes, 0, 2, GYRE_BIG_ENDIAN, &length) < 0) {
 *			return -EAGAIN;
 *		}
 *		if (gyre_buffer_bytes(bytes) < 2 + length) {
 *			frame->needed = 2 + (size_t)length;
 *			return -EAGAIN;
 *		}
 *		frame->front = 2;
 *		return 2 + (int64_t)length;
 *	}
 *
 *	static const struct gyre_frame_decoder records = {
 *		.name = "records",
 *		.decode = decode_record,
 *		.frame_bytes_max = 65537,
 *	};
 *
 *	r = gyre_frame_decoder_add(channel, GYRE_LAST, &records, NULL);
 *
 * A decoder that is called for every few bytes of a large frame should not begin anew each time:
 * @needed and @scanned of struct gyre_decoded_frame are for that. What goes out passes a decoder
 * unchanged; a handler of its own frames it.
 */
#ifndef GYRE_FRAME_DECODER_H
#define GYRE_FRAME_DECODER_H

#include <gyre/codec.h>
#include <gyre/pipeline.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_decoded_frame - what a decoder tells of the bytes; zero before each call, but for
 * @scanned
 * @scanned: with -EAGAIN: how many bytes from the begin need not be looked at again. The next call
 *   finds it here; it is 0 again behind a frame
 * @needed: with -EAGAIN: how many bytes there must be, from the begin, before the next call; 0 for
 *   any more. More than the limit of the decoder is a frame that is too long
 * @front: of a frame, how many bytes are taken off its begin
 * @back: of a frame, how many bytes are taken off its end
 * @skip: the bytes are no frame: they are thrown away, and nobody reads them
 * @reserved: 0, for what comes later
 */
struct gyre_decoded_frame {
	size_t scanned;
	size_t needed;
	size_t front;
	size_t back;
	bool skip;
	uint64_t reserved[2];
};

/**
 * gyre_frame_decode_fn - looks for a frame at the begin of the bytes that have come
 * @ctx: the decoder's place
 * @bytes: all bytes that were not used yet, at least one; read with gyre_buffer_find(),
 *   gyre_buffer_peek(), gyre_buffer_get_number() and their like. They stay the library's, and are
 *   valid during the call
 * @frame: what else is told
 *
 * Returns how many bytes the frame has, from 1 to all of them; -EAGAIN when it is not complete; or
 * another negative errno when it never will be: that becomes an exception, which closes the channel
 * if no handler keeps it, and further input is thrown away. Anything else is a mistake of the
 * decoder, and the exception is -EINVAL.
 *
 * It may do to the channel and its pipeline what a handler may. If it closes the channel, or takes
 * itself out of the pipeline, what it returns does not count; in the latter case the handler that
 * takes its place gets all of @bytes.
 *
 * Runs in phase 2, on the channel's loop; it is not re-entered. It is not asked twice about a frame
 * that has to wait. The last call comes before @removed of struct gyre_frame_decoder.
 */
typedef int64_t (*gyre_frame_decode_fn)(struct gyre_handler_context *ctx,
					const struct gyre_buffer *bytes,
					struct gyre_decoded_frame *frame);

/**
 * struct gyre_frame_decoder - a decoder: its functions, of which only @decode must be there
 * @name: the name in a pipeline; NULL for "frame_decoder"
 * @frame_bytes_max: the longest frame, with what is taken off its ends, up to GYRE_FRAME_BYTES_MAX;
 *   0 for 1 MiB. A longer one raises the exception -EMSGSIZE as soon as so much of it has come, or
 *   @needed says so, and further input is thrown away; a line in the log names the limit. Bytes
 *   that are skipped do not count: a decoder that skips much says so of each part that has come
 * @decode: finds frames
 * @decode_last: is asked about the rest, when @decode has answered -EAGAIN and the peer has ended
 *   its side, until nothing is left: it returns what @decode may. NULL, or -EAGAIN: the rest was
 *   cut off, and raises the exception -EPROTO
 * @frame: gets each frame in place of the next handler, to which it may pass on what it makes of
 *   it, as a read or as an event; NULL for the next handler
 * @added: the decoder has come into a pipeline
 * @removed: the decoder has left it, or the channel is gone: the last call
 */
struct gyre_frame_decoder {
	const char *name;
	size_t frame_bytes_max;
	gyre_frame_decode_fn decode;
	gyre_frame_decode_fn decode_last;
	gyre_read_fn frame;
	gyre_added_fn added;
	gyre_context_fn removed;
};

/** gyre_frame_decoder_add_sized() - gyre_frame_decoder_add() with the size of @decoder */
GYRE_API int gyre_frame_decoder_add_sized(struct gyre_channel *channel,
					  struct gyre_position position,
					  const struct gyre_frame_decoder *decoder,
					  size_t decoder_bytes, const void *arg);

/**
 * gyre_frame_decoder_add() - adds a codec that the program has written
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @decoder: the decoder, which must outlive the pipeline
 * @arg: for gyre_context_arg() in its functions; const for what the decoder only reads
 *
 * Return: 0, or a negative errno, and then the pipeline is as it was.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @decoder is NULL, its @decode is NULL, or its @frame_bytes_max is out of
 *            its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @decoder and @arg stay the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_frame_decoder_add(struct gyre_channel *channel,
					 struct gyre_position position,
					 const struct gyre_frame_decoder *decoder, const void *arg)
{
	return gyre_frame_decoder_add_sized(channel, position, decoder, sizeof(*decoder), arg);
}

GYRE_END_DECLS

#endif
