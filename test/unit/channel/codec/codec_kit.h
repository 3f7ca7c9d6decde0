/*
 * What the tests of codecs share: a pipeline whose end is seen as a text, and input in slices. All
 * of it is made of the testkit: the codec is added in front of a tap, and the test is the peer.
 */
#ifndef TEST_UNIT_CHANNEL_CODEC_KIT_H
#define TEST_UNIT_CHANNEL_CODEC_KIT_H

#include <gyre/codec.h>
#include <gyre/tap.h>

#include "kit_test.h"

enum { CODEC_KIT_BYTES = 4096, CODEC_KIT_TEXT_BYTES = 4096 };

struct codec_kit {
	struct gyre_test *test;
	struct gyre_tap *tap;
	struct gyre_test_channel *peer;
	size_t slice_bytes; /* of reads */
	uint32_t reads;	    /* so many */
	uint32_t completes; /* ends of reads that came behind the tap */
	bool pass_errors;   /* to the tail, which closes the channel */
	/* Called in each frame, behind the tap, if it is not NULL. */
	void (*on_frame)(struct codec_kit *kit, struct gyre_handler_context *ctx);
	size_t text_bytes;
	char text[CODEC_KIT_TEXT_BYTES];
};

/* Adds a codec at a position. */
typedef int (*codec_kit_add_fn)(struct gyre_channel *channel, struct gyre_position position,
				const void *options);

/* A channel whose errors close nothing, unless @pass_errors says so. */
void codec_kit_open(struct codec_kit *kit, struct gyre_test *test);
void codec_kit_open_with(struct codec_kit *kit, struct gyre_test *test,
			 const struct gyre_channel_options *channel);
/* Adds a codec in front of the tap, which is called "tested"; what the call returns. */
int codec_kit_try(struct codec_kit *kit, codec_kit_add_fn add, const void *options);
void codec_kit_add(struct codec_kit *kit, codec_kit_add_fn add, const void *options);
/* Takes it out again; what it has kept comes to the tap. */
void codec_kit_remove(struct codec_kit *kit);
/* One read of the channel, in slices of so many bytes. */
void codec_kit_feed(struct codec_kit *kit, const void *bytes, size_t count, size_t slice_bytes);
/* Bytes that the channel does not read, or not yet. */
void codec_kit_feed_unread(struct codec_kit *kit, const char *text);
/* The peer sends no more. */
void codec_kit_end(struct codec_kit *kit);
/* The channel reads by itself from now on, or not; and it is asked for a read. */
void codec_kit_read_by_itself(struct codec_kit *kit, bool whether);
void codec_kit_ask(struct codec_kit *kit);
/* Writes until the channel is over its mark and stays so, as the peer does not read. It has to have
 * low marks. */
void codec_kit_fill_output(struct codec_kit *kit);
/* The peer reads all of it. */
void codec_kit_drain_output(struct codec_kit *kit);
/* Writes from the tap, in slices; what gyre_context_write() returns. */
int codec_kit_write(struct codec_kit *kit, const char *text, size_t slice_bytes);
/* All that has come to the tap since the last codec_kit_forget(): frames in brackets, errors with
 * exclamation marks, and a full stop for the end. */
const char *codec_kit_seen(struct codec_kit *kit);
void codec_kit_forget(struct codec_kit *kit);

/* Of each codec; options of another kind do not compile. */
#define CODEC_KIT_ADDER(CODEC, OPTIONS)                                                            \
	static inline int add_##CODEC(struct gyre_channel *channel, struct gyre_position position, \
				      const void *options)                                         \
	{                                                                                          \
		return gyre_##CODEC##_add(channel, position, (const struct OPTIONS *)options);     \
	}

CODEC_KIT_ADDER(fixed_codec, gyre_fixed_options)
CODEC_KIT_ADDER(line_codec, gyre_line_options)
CODEC_KIT_ADDER(delimiter_codec, gyre_delimiter_options)
CODEC_KIT_ADDER(length_codec, gyre_length_options)
CODEC_KIT_ADDER(length_prepender, gyre_prepender_options)
CODEC_KIT_ADDER(varint_codec, gyre_varint_options)

#endif
