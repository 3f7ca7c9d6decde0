/* Lines. */
#include <errno.h>
#include <string.h>

#include "fuzz.h"

static int expect_end(const struct gyre_line_options *options, const uint8_t *bytes, size_t count,
		      bool ended, struct codec_log *log)
{
	size_t max = options->frame_bytes_max;
	bool is_long = count > max + 1 || (count == max + 1 && bytes[max] != '\r');

	if (is_long) {
		if (!options->fail_late) {
			codec_log_error(log, -EMSGSIZE);
		}
		return fuzz_cut_off(log, -EMSGSIZE, ended, !options->fail_late);
	}
	return fuzz_unterminated(&(struct fuzz_rest){ bytes, count, max, options->unterminated },
				 ended, log);
}

static int expect(const void *arg, const uint8_t *bytes, size_t count, bool ended,
		  struct codec_log *log)
{
	const struct gyre_line_options *options = (const struct gyre_line_options *)arg;
	const uint8_t *end;

	while ((end = (const uint8_t *)memchr(bytes, '\n', count)) != NULL) {
		size_t all = (size_t)(end - bytes) + 1;
		size_t line = all - 1;

		line -= line > 0 && bytes[line - 1] == '\r' ? 1 : 0;
		if (line > options->frame_bytes_max) {
			codec_log_error(log, -EMSGSIZE);
		} else {
			codec_log_frame(log, bytes, options->keep_end ? all : line);
		}
		bytes += all;
		count -= all;
		if (count == 0) {
			return 0;
		}
	}
	return expect_end(options, bytes, count, ended, log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	uint8_t flags = fuzz_byte(&fuzz);
	const struct gyre_line_options options = {
		.frame_bytes_max = 1 + fuzz_byte(&fuzz) % 64U,
		.keep_end = (flags & 1) != 0,
		.fail_late = (flags & 2) != 0,
		.unterminated = (enum gyre_unterminated)((flags >> 2) % 3),
	};

	fuzz_codec(&fuzz, &gy_line_handler, &options, expect);
	return 0;
}
