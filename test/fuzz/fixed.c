/* Frames of one length. */
#include <errno.h>

#include "fuzz.h"

static int expect(const void *arg, const uint8_t *bytes, size_t count, bool ended,
		  struct codec_log *log)
{
	size_t frame = ((const struct gyre_fixed_options *)arg)->frame_bytes;

	for (; count >= frame; count -= frame) {
		codec_log_frame(log, bytes, frame);
		bytes += frame;
	}
	return count == 0 ? 0 : fuzz_cut_off(log, -EPROTO, ended, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	const struct gyre_fixed_options options = { .frame_bytes = 1 + fuzz_byte(&fuzz) % 32U };

	fuzz_codec(&fuzz, &gy_fixed_handler, &options, expect);
	return 0;
}
