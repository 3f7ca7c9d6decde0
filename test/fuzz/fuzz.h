/*
 * What the fuzzers share. The first bytes of an input choose options and how the rest is cut up;
 * the rest is the stream. A codec is to make of it what a model says that looks at the whole stream
 * at once, in whatever pieces it comes and however often reading stops in between. On a channel of
 * datagrams each piece is a stream of its own, of which nothing is left for the next.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include "../unit/channel/codec/codec_rig.h"

struct fuzz {
	const uint8_t *bytes; /* of the input, not used yet */
	size_t count;
	uint64_t random;
};

/* libFuzzer's entry. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz fuzz_begin(const uint8_t *data, size_t size);
/* The next byte of the input, 0 behind its end. */
uint8_t fuzz_byte(struct fuzz *fuzz);
/* A number below @limit, which follows from the input. */
size_t fuzz_below(struct fuzz *fuzz, size_t limit);
void fuzz_require(bool holds, const char *what);

/* The rig, of which there is one, with nothing in it. */
struct codec_rig *fuzz_rig(void);
/*
 * Writes down what a codec with @options is to make of a stream of these bytes, at least one, and
 * of the peer's end behind them if @ended. What is wrong with a datagram of these bytes: -EPROTO or
 * -EMSGSIZE for a frame that is not complete, the second for one that is too long already; 0 for
 * nothing.
 */
typedef int (*fuzz_model_fn)(const void *options, const uint8_t *bytes, size_t count, bool ended,
			     struct codec_log *log);
/* For the return of a model: a frame was cut off, of which @log tells already if @told. */
int fuzz_cut_off(struct codec_log *log, int error, bool ended, bool told);

/* What is left behind the last end of a frame, and may be one all the same. */
struct fuzz_rest {
	const uint8_t *bytes;
	size_t count;
	size_t frame_bytes_max;
	enum gyre_unterminated unterminated;
};

/* For the return of a model too. */
int fuzz_unterminated(const struct fuzz_rest *rest, bool ended, struct codec_log *log);

/* Sends the rest of the input through a codec, and compares what comes out with what @model says.
 */
void fuzz_codec(struct fuzz *fuzz, const struct gyre_handler *handler, const void *options,
		fuzz_model_fn model);
/* The same of a codec that is added by the program, in the rig before "last". */
typedef int (*fuzz_add_fn)(struct codec_rig *rig, const void *options);
void fuzz_stream(struct fuzz *fuzz, fuzz_add_fn add, const void *options, fuzz_model_fn model);

#endif
