/* Frames that tell their length, with all that a field may be. */
#include <errno.h>

#include "fuzz.h"

/* In 128 bits nothing overflows. */
typedef __int128 wide;

static wide field_of(const struct gyre_length_options *options, const uint8_t *frame)
{
	const uint8_t *field = frame + options->length_field_offset;
	size_t bytes = options->length_field_bytes;
	wide value = 0;

	for (size_t i = 0; i < bytes; i++) {
		value = value * 256 +
			field[options->order == GYRE_LITTLE_ENDIAN ? bytes - 1 - i : i];
	}
	return value;
}

static int expect(const void *arg, const uint8_t *bytes, size_t count, bool ended,
		  struct codec_log *log)
{
	const struct gyre_length_options *options = (const struct gyre_length_options *)arg;
	size_t field_end = options->length_field_offset + options->length_field_bytes;
	size_t strip = options->initial_bytes_to_strip;

	while (count >= field_end) {
		wide value = field_of(options, bytes);
		wide frame = value + options->length_adjustment + (wide)field_end;
		bool is_long = frame > (wide)options->frame_bytes_max;

		if (value > INT64_MAX || frame < (wide)field_end ||
		    (!is_long && frame < (wide)strip)) {
			codec_log_error(log, -EPROTO);
			return -EPROTO;
		}
		if (is_long && (!options->fail_late || frame <= (wide)count)) {
			codec_log_error(log, -EMSGSIZE);
		}
		if (frame > (wide)count) {
			return fuzz_cut_off(log, is_long ? -EMSGSIZE : -EPROTO, ended,
					    is_long && !options->fail_late);
		}
		if (!is_long) {
			codec_log_frame(log, bytes + strip, (size_t)frame - strip);
		}
		bytes += (size_t)frame;
		count -= (size_t)frame;
	}
	return count == 0 ? 0 : fuzz_cut_off(log, -EPROTO, ended, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t widths[] = { 1, 2, 3, 4, 8, 1, 1, 2 };
	struct fuzz fuzz = fuzz_begin(data, size);
	uint8_t flags = fuzz_byte(&fuzz);
	struct gyre_length_options options = {
		.frame_bytes_max = 16 + fuzz_byte(&fuzz) % 64U,
		.length_field_offset = fuzz_byte(&fuzz) % 8U,
		.length_field_bytes = widths[flags % 8],
		.length_adjustment = (int8_t)fuzz_byte(&fuzz) / 8,
		.initial_bytes_to_strip = fuzz_byte(&fuzz) % 12U,
		.order = (flags & 8) != 0 ? GYRE_LITTLE_ENDIAN : GYRE_BIG_ENDIAN,
		.fail_late = (flags & 16) != 0,
	};

	if ((flags & 0xe0) == 0xe0) {
		options.length_adjustment = (flags & 1) != 0 ? INT32_MAX : INT32_MIN;
	}
	fuzz_codec(&fuzz, &gy_length_handler, &options, expect);
	return 0;
}
