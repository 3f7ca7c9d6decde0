/* Frames with a length of variable length. */
#include <errno.h>

#include "fuzz.h"

enum { LENGTH_BYTES = 5 };

/* How many bytes the length has; 0 when it is not complete, -1 when it is none. */
static int length_of(const uint8_t *bytes, size_t count, uint64_t *ret_length)
{
	uint64_t length = 0;

	for (size_t i = 0; i < count && i < LENGTH_BYTES; i++) {
		length |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (bytes[i] < 0x80) {
			*ret_length = length;
			return length > UINT32_MAX ? -1 : (int)i + 1;
		}
	}
	return count >= LENGTH_BYTES ? -1 : 0;
}

static int expect(const void *arg, const uint8_t *bytes, size_t count, bool ended,
		  struct codec_log *log)
{
	const struct gyre_varint_options *options = (const struct gyre_varint_options *)arg;
	uint64_t length = 0;
	int header;

	while ((header = length_of(bytes, count, &length)) > 0) {
		uint64_t all = (uint64_t)header + length;
		bool is_long = length > options->frame_bytes_max;

		if (is_long && (!options->fail_late || all <= count)) {
			codec_log_error(log, -EMSGSIZE);
		}
		if (all > count) {
			return fuzz_cut_off(log, is_long ? -EMSGSIZE : -EPROTO, ended,
					    is_long && !options->fail_late);
		}
		if (!is_long) {
			codec_log_frame(log, bytes + header, (size_t)length);
		}
		bytes += (size_t)all;
		count -= (size_t)all;
	}
	if (header < 0) {
		codec_log_error(log, -EPROTO);
	}
	return count == 0 ? 0 : fuzz_cut_off(log, -EPROTO, ended, header < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	const struct gyre_varint_options options = {
		.frame_bytes_max = 1 + fuzz_byte(&fuzz) % 200U,
		.fail_late = fuzz_byte(&fuzz) % 2 != 0,
	};

	fuzz_codec(&fuzz, &gy_varint_handler, &options, expect);
	return 0;
}
