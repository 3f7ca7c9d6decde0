/* Frames that end in one of some delimiters, which are short and of few letters, to be met often.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"

enum { DELIMITERS = 3, LETTERS = 4 };

static uint8_t letters[DELIMITERS][LETTERS];
static struct gyre_span delimiters[DELIMITERS];

/* The longest delimiter that ends at @end and begins in the frame; 0 for none. */
static size_t ends_at(size_t count, const uint8_t *bytes, size_t end)
{
	size_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		size_t length = delimiters[i].count;

		if (length <= end && length > longest &&
		    memcmp(bytes + end - length, delimiters[i].bytes, length) == 0) {
			longest = length;
		}
	}
	return longest;
}

static int expect(const void *arg, const uint8_t *bytes, size_t count, bool ended,
		  struct codec_log *log)
{
	const struct gyre_delimiter_options *options = (const struct gyre_delimiter_options *)arg;
	size_t longest = 0;
	size_t from = 0;
	bool is_long;

	for (size_t end = 1; end <= count; end++) {
		size_t length = ends_at(options->delimiters_count, bytes + from, end - from);
		size_t frame = end - from - length;

		if (length == 0) {
			continue;
		}
		if (frame > options->frame_bytes_max) {
			codec_log_error(log, -EMSGSIZE);
		} else {
			codec_log_frame(log, bytes + from,
					options->keep_delimiter ? end - from : frame);
		}
		from = end;
	}
	for (size_t i = 0; i < options->delimiters_count; i++) {
		longest = delimiters[i].count > longest ? delimiters[i].count : longest;
	}
	is_long = count - from >= options->frame_bytes_max + longest;
	if (is_long) {
		if (!options->fail_late) {
			codec_log_error(log, -EMSGSIZE);
		}
		return fuzz_cut_off(log, -EMSGSIZE, ended, !options->fail_late);
	}
	return from == count ? 0
			     : fuzz_unterminated(&(struct fuzz_rest){ bytes + from, count - from,
								      options->frame_bytes_max,
								      options->unterminated },
						 ended, log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	uint8_t flags = fuzz_byte(&fuzz);
	const struct gyre_delimiter_options options = {
		.delimiters = delimiters,
		.delimiters_count = 1 + (flags >> 2) % DELIMITERS,
		.frame_bytes_max = 1 + fuzz_byte(&fuzz) % 32U,
		.keep_delimiter = (flags & 1) != 0,
		.fail_late = (flags & 2) != 0,
		.unterminated = (enum gyre_unterminated)((flags >> 4) % 3),
	};

	for (size_t i = 0; i < DELIMITERS; i++) {
		for (size_t k = 0; k < LETTERS; k++) {
			letters[i][k] = (uint8_t)('a' + fuzz_byte(&fuzz) % 3);
		}
		delimiters[i] = (struct gyre_span){ letters[i], 1 + fuzz_byte(&fuzz) % LETTERS };
	}
	fuzz_codec(&fuzz, &gy_delimiter_handler, &options, expect);
	return 0;
}
