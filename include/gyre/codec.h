/*
 * Codecs: handlers that cut a stream of bytes into frames. Each complete frame is one read of the
 * next handler. An incomplete frame is kept until more comes.
 *
 *	const struct gyre_line_options options = { .append = GYRE_APPEND_LF };
 *
 *	r = gyre_line_codec_add(channel, GYRE_LAST, &options);
 *
 * Options are copied, and NULL stands for all zero. Names in a pipeline are unique, so that a
 * second codec of a kind needs another name:
 *
 *	struct gyre_position inner = GYRE_AFTER("line");
 *
 *	inner.name = "inner line";
 *	r = gyre_line_codec_add(channel, inner, &options);
 *
 * Frames wait, as reads of the socket do, while the channel does not read: over the high mark, or
 * with reading turned off. On a channel that reads on request, each request gives one frame.
 * @read_complete is passed on as it comes.
 *
 * After the peer's end, all complete frames are delivered, and then @read_end is passed on. A frame
 * that the end has cut off raises -EPROTO before that; options of codecs of lines and of delimiters
 * say what becomes of a last frame without its end. Where the channel ends in another way, after an
 * error, a drain or a close by this side, an incomplete frame is dropped.
 *
 * A frame over the limit raises the exception -EMSGSIZE once and is thrown away; with @fail_late
 * the exception comes when the frame has ended. Bytes that cannot be understood raise -EPROTO, and
 * then all input is thrown away. An exception that no handler keeps closes the channel with that
 * reason. A handler that keeps -EMSGSIZE gets the frames behind the long one.
 *
 * On a channel of datagrams, each datagram is a stream of its own. A frame that is incomplete at
 * the end of a datagram raises -EPROTO; a frame over the limit raises -EMSGSIZE, also with
 * @fail_late. The next datagram begins anew.
 *
 * A codec that is removed or replaced, also by the next handler between frames of one read, gives
 * the bytes that it has not cut yet to the handler that takes its place.
 */
#ifndef GYRE_CODEC_H
#define GYRE_CODEC_H

#include <gyre/number.h>
#include <gyre/pipeline.h>

GYRE_BEGIN_DECLS

/** GYRE_FRAME_BYTES_MAX - the highest limit that a codec takes: 1 GiB */
#define GYRE_FRAME_BYTES_MAX (UINT32_C(1) << 30)
/** GYRE_DELIMITERS_MAX - how many delimiters a stream may have */
#define GYRE_DELIMITERS_MAX 16
/** GYRE_DELIMITER_BYTES_MAX - the length of the longest delimiter, in bytes */
#define GYRE_DELIMITER_BYTES_MAX 64

/**
 * struct gyre_fixed_options - frames of one length
 * @frame_bytes: their length, 1 to GYRE_FRAME_BYTES_MAX
 */
struct gyre_fixed_options {
	size_t frame_bytes;
};

/**
 * enum gyre_append - the end that is put behind each line that is written
 * @GYRE_APPEND_NOTHING: none: the writer puts it there
 * @GYRE_APPEND_LF: LF
 * @GYRE_APPEND_CRLF: CR and LF
 */
enum gyre_append {
	GYRE_APPEND_NOTHING = 0,
	GYRE_APPEND_LF = 1,
	GYRE_APPEND_CRLF = 2,
};

/**
 * enum gyre_unterminated - what becomes of a last frame without its end
 * @GYRE_UNTERMINATED_DELIVER: it is a frame all the same, as the last line of a text without LF is
 *   a line. A peer that dies while it writes may look like this: a protocol in which the begin of a
 *   command is another command takes one of the others
 * @GYRE_UNTERMINATED_DROP: it is thrown away
 * @GYRE_UNTERMINATED_FAIL: it is thrown away, and raises the exception -EPROTO
 *
 * The peer has ended its side behind it, and not behind the end of a frame.
 */
enum gyre_unterminated {
	GYRE_UNTERMINATED_DELIVER = 0,
	GYRE_UNTERMINATED_DROP = 1,
	GYRE_UNTERMINATED_FAIL = 2,
};

/**
 * struct gyre_line_options - lines, which end in LF or CRLF; all zero is the default
 * @frame_bytes_max: the longest line without its end, at most GYRE_FRAME_BYTES_MAX; 0 for 8 KiB
 * @append: the end that is put behind each buffer that is written; parts of files pass only if it
 *   is GYRE_APPEND_NOTHING
 * @keep_end: leave the end on the lines; by default it is taken off, so that a line may be empty
 * @fail_late: raise -EMSGSIZE only when the end of the long line has come, or that of the input
 * @unterminated: what becomes of a last line without its end; by default it is delivered. A CR at
 *   its end is left on it. Not for datagrams
 */
struct gyre_line_options {
	size_t frame_bytes_max;
	enum gyre_append append;
	bool keep_end;
	bool fail_late;
	enum gyre_unterminated unterminated;
};

/**
 * struct gyre_delimiter_options - frames that end in one of several sequences of bytes
 * @delimiters: the sequences, of 1 to GYRE_DELIMITER_BYTES_MAX bytes each; copied with their bytes
 * @delimiters_count: how many, 1 to GYRE_DELIMITERS_MAX
 * @frame_bytes_max: the longest frame without its delimiter, at most GYRE_FRAME_BYTES_MAX; 0 for
 *   8 KiB
 * @append: put the first of the delimiters behind each buffer that is written; parts of files pass
 *   only without this
 * @keep_delimiter: leave the delimiter on the frames; by default it is taken off, so that a frame
 *   may be empty
 * @fail_late: raise -EMSGSIZE when the end of the long frame has come, or that of the input
 * @unused: not looked at
 * @unterminated: what becomes of a last frame without a delimiter; by default it is delivered. Not
 *   for datagrams
 *
 * The delimiter that is complete first ends the frame; of several that are complete at the same
 * byte, the longest.
 */
struct gyre_delimiter_options {
	const struct gyre_span *delimiters;
	size_t delimiters_count;
	size_t frame_bytes_max;
	bool append;
	bool keep_delimiter;
	bool fail_late;
	unsigned char unused[5]; /* may be anything where a program was built with less than this */
	enum gyre_unterminated unterminated;
};

/**
 * struct gyre_length_options - frames that tell their length; all zero is the default
 * @frame_bytes_max: the longest frame with all its headers, at most GYRE_FRAME_BYTES_MAX; 0 for
 *   1 MiB
 * @length_field_offset: where the field begins, in bytes from the begin of the frame; the field
 *   must end within @frame_bytes_max
 * @length_field_bytes: 1, 2, 3, 4 or 8; 0 for 4
 * @length_adjustment: added to the field for the number of bytes that follow it
 * @initial_bytes_to_strip: how many bytes are taken off the begin of each frame; by default none
 * @order: which byte of the field comes first
 * @fail_late: raise -EMSGSIZE when the end of the long frame has come
 *
 * A frame ends at the end of its field, plus the value of the field, plus @length_adjustment.
 * -EPROTO is raised for a frame that would end before its field does, that is shorter than
 * @initial_bytes_to_strip, or whose field of 8 bytes has the top bit set.
 */
struct gyre_length_options {
	size_t frame_bytes_max;
	size_t length_field_offset;
	size_t length_field_bytes;
	int32_t length_adjustment;
	size_t initial_bytes_to_strip;
	enum gyre_byte_order order;
	bool fail_late;
};

/**
 * struct gyre_prepender_options - how a length is put before buffers; all zero is the default
 * @length_field_bytes: 1, 2, 3, 4 or 8; 0 for 4
 * @length_adjustment: added to the number of bytes
 * @length_includes_field: count the field too
 * @order: which byte of the field comes first
 *
 * A write whose length does not fit into the field is refused with -EMSGSIZE, a write whose
 * adjusted length is below 0 with -EINVAL.
 */
struct gyre_prepender_options {
	size_t length_field_bytes;
	int32_t length_adjustment;
	bool length_includes_field;
	enum gyre_byte_order order;
};

/**
 * struct gyre_varint_options - frames with a varint as length; all zero is the default
 * @frame_bytes_max: the longest frame without the length, at most GYRE_FRAME_BYTES_MAX; 0 for 1 MiB
 * @fail_late: raise -EMSGSIZE when the end of the long frame has come
 *
 * The length has at most 5 bytes and 32 bits; a longer one raises -EPROTO. It is taken off the
 * frames that are read, and put before the buffers that are written.
 */
struct gyre_varint_options {
	size_t frame_bytes_max;
	bool fail_late;
};

/** gyre_fixed_codec_add_sized() - gyre_fixed_codec_add() with the size of @options */
GYRE_API int gyre_fixed_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
					const struct gyre_fixed_options *options,
					size_t options_bytes);

/**
 * gyre_fixed_codec_add() - adds a codec of frames of one length
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: their length
 *
 * Its name is "fixed". Written bytes pass unchanged.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @options is NULL, or a field is out of its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_fixed_codec_add(struct gyre_channel *channel, struct gyre_position position,
				       const struct gyre_fixed_options *options)
{
	return gyre_fixed_codec_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_line_codec_add_sized() - gyre_line_codec_add() with the size of @options */
GYRE_API int gyre_line_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
				       const struct gyre_line_options *options,
				       size_t options_bytes);

/**
 * gyre_line_codec_add() - adds a codec of lines
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: how lines end; NULL for the defaults
 *
 * Its name is "line".
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel is NULL, or a field of @options is out of its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_line_codec_add(struct gyre_channel *channel, struct gyre_position position,
				      const struct gyre_line_options *options)
{
	return gyre_line_codec_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_delimiter_codec_add_sized() - gyre_delimiter_codec_add() with the size of @options */
GYRE_API int gyre_delimiter_codec_add_sized(struct gyre_channel *channel,
					    struct gyre_position position,
					    const struct gyre_delimiter_options *options,
					    size_t options_bytes);

/**
 * gyre_delimiter_codec_add() - adds a codec of frames that end in a delimiter
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: the delimiters
 *
 * Its name is "delimiter".
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @options is NULL, or a field is out of its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_delimiter_codec_add(struct gyre_channel *channel,
					   struct gyre_position position,
					   const struct gyre_delimiter_options *options)
{
	return gyre_delimiter_codec_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_length_codec_add_sized() - gyre_length_codec_add() with the size of @options */
GYRE_API int gyre_length_codec_add_sized(struct gyre_channel *channel,
					 struct gyre_position position,
					 const struct gyre_length_options *options,
					 size_t options_bytes);

/**
 * gyre_length_codec_add() - adds a codec of frames that tell their length
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: where the length stands; NULL for the defaults
 *
 * Its name is "length". Written bytes pass unchanged: add gyre_length_prepender_add() for them.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel is NULL, or a field of @options is out of its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_length_codec_add(struct gyre_channel *channel, struct gyre_position position,
					const struct gyre_length_options *options)
{
	return gyre_length_codec_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_length_prepender_add_sized() - gyre_length_prepender_add() with the size of @options */
GYRE_API int gyre_length_prepender_add_sized(struct gyre_channel *channel,
					     struct gyre_position position,
					     const struct gyre_prepender_options *options,
					     size_t options_bytes);

/**
 * gyre_length_prepender_add() - adds a handler that puts the length before writes
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: how the length is written; NULL for the defaults
 *
 * Its name is "length_prepender". Bytes that are read pass unchanged.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel is NULL, or a field of @options is out of its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_length_prepender_add(struct gyre_channel *channel,
					    struct gyre_position position,
					    const struct gyre_prepender_options *options)
{
	return gyre_length_prepender_add_sized(channel, position, options, sizeof(*options));
}

/** gyre_varint_codec_add_sized() - gyre_varint_codec_add() with the size of @options */
GYRE_API int gyre_varint_codec_add_sized(struct gyre_channel *channel,
					 struct gyre_position position,
					 const struct gyre_varint_options *options,
					 size_t options_bytes);

/**
 * gyre_varint_codec_add() - adds a codec of frames with a varint as length
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: the limit; NULL for the default
 *
 * The frames are those of protobuf. Its name is "varint".
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel is NULL, or a field of @options is out of its bounds
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_varint_codec_add(struct gyre_channel *channel, struct gyre_position position,
					const struct gyre_varint_options *options)
{
	return gyre_varint_codec_add_sized(channel, position, options, sizeof(*options));
}

GYRE_END_DECLS

#endif
