/* Frames of one length. */
#include "fuzz.h"

static struct codec_log expected;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	const struct gyre_fixed_options options = { .frame_bytes = 1 + fuzz_byte(&fuzz) % 32U };

	expected.events_count = 0;
	expected.bytes_count = 0;
	for (size_t at = 0; fuzz.count - at >= options.frame_bytes; at += options.frame_bytes) {
		codec_log_frame(&expected, fuzz.bytes + at, options.frame_bytes);
	}
	fuzz_codec(&fuzz, gyre_fixed_codec(), &options, &expected);
	return 0;
}
