/*
 * Frames that end in a delimiter. Which of several ends a frame must not depend on the pieces that
 * the stream comes in: so it is the one whose last byte comes first, and not the one that begins
 * first, which could be taken only in hindsight.
 *
 * Nothing is known of the last bytes, one less than the longest delimiter has: a delimiter may have
 * begun there. And so a frame is known to be too long when a delimiter that begins at the limit
 * would be complete.
 */
#include "channel/codec/terminated.h"

#include <errno.h>
#include <string.h>

_Static_assert(GYRE_DELIMITER_BYTES_MAX <= GY_HANDLER_ADDS_BYTES_MAX, "as writes are checked for");

enum { FRAME_BYTES_DEFAULT = 8192 };

struct delimiter {
	struct gy_terminated terminated;
	size_t longest;
	size_t count;
	struct gyre_span delimiters[];
};

/* The delimiter that is complete first, or NULL; where it ends in @ret_end. */
static const struct gyre_span *find(const struct delimiter *delimiter,
				    const struct gyre_buffer *kept, size_t *ret_end)
{
	const struct gyre_span *best = NULL;
	size_t end = kept->bytes;

	for (size_t i = 0; i < delimiter->count; i++) {
		const struct gyre_span *one = &delimiter->delimiters[i];
		int64_t found =
			gy_buffer_find_within(kept, delimiter->terminated.codec.scanned, end, one);
		size_t its_end = (size_t)found + one->count;

		if (found >= 0 && (best == NULL || its_end < end || one->count > best->count)) {
			best = one;
			end = its_end;
		}
	}
	*ret_end = end;
	return best;
}

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	struct delimiter *delimiter =
		gy_container_of(gy_terminated_of(codec), struct delimiter, terminated);
	size_t end;
	const struct gyre_span *found = find(delimiter, kept, &end);
	size_t unknown = delimiter->longest - 1;

	if (found == NULL) {
		size_t known = kept->bytes > unknown ? kept->bytes - unknown : 0;

		gy_terminated_wait(&delimiter->terminated, known,
				   known > delimiter->terminated.frame_bytes_max, step);
		return;
	}
	gy_terminated_end(&delimiter->terminated, end, found->count, step);
}

/* How many bytes the longest of the delimiters has, and all of them. */
static int measure(const struct gyre_delimiter_options *options, size_t *ret_longest,
		   size_t *ret_bytes)
{
	size_t longest = 0;
	size_t bytes = 0;

	if (options->delimiters == NULL || options->delimiters_count == 0 ||
	    options->delimiters_count > GYRE_DELIMITERS_MAX) {
		return -EINVAL;
	}
	for (size_t i = 0; i < options->delimiters_count; i++) {
		const struct gyre_span *one = &options->delimiters[i];

		if (one->bytes == NULL || one->count == 0 ||
		    one->count > GYRE_DELIMITER_BYTES_MAX) {
			return -EINVAL;
		}
		longest = one->count > longest ? one->count : longest;
		bytes += one->count;
	}
	*ret_longest = longest;
	*ret_bytes = bytes;
	return 0;
}

/* Copies the delimiters, with their bytes behind all of them. */
static void keep(struct delimiter *delimiter, const struct gyre_delimiter_options *options)
{
	unsigned char *place;

	delimiter->count = options->delimiters_count;
	place = (unsigned char *)&delimiter->delimiters[delimiter->count];
	for (size_t i = 0; i < delimiter->count; i++) {
		const struct gyre_span *one = &options->delimiters[i];

		delimiter->delimiters[i].bytes = memcpy(place, one->bytes, one->count);
		delimiter->delimiters[i].count = one->count;
		place += one->count;
	}
}

static int added(struct gyre_handler_context *ctx)
{
	const struct gyre_delimiter_options *options =
		(const struct gyre_delimiter_options *)ctx->arg;
	struct gy_terminated *terminated;
	struct delimiter *delimiter;
	struct gy_codec *codec;
	size_t longest;
	size_t bytes;
	size_t max;

	if (measure(options, &longest, &bytes) < 0) {
		return -EINVAL;
	}
	max = options->frame_bytes_max;
	if (gy_codec_limit(&max, FRAME_BYTES_DEFAULT, GYRE_FRAME_BYTES_MAX) < 0 ||
	    (uint32_t)options->unterminated > GYRE_UNTERMINATED_FAIL) {
		return -EINVAL;
	}
	bytes += sizeof(*delimiter) + options->delimiters_count * sizeof(struct gyre_span);
	codec = gy_codec_make(ctx, bytes, next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	delimiter = gy_container_of(gy_terminated_of(codec), struct delimiter, terminated);
	delimiter->longest = longest;
	keep(delimiter, options);
	codec->last = gy_terminated_last;
	terminated = &delimiter->terminated;
	terminated->unterminated = options->unterminated;
	terminated->frame_bytes_max = max;
	terminated->keep_end = options->keep_delimiter;
	codec->fail_late = options->fail_late;
	if (options->append) {
		terminated->append = delimiter->delimiters[0];
	}
	return 0;
}

const struct gyre_handler gy_delimiter_handler = {
	.name = "delimiter",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.read_end = gy_codec_read_end,
	.write = gy_terminated_write,
	.send_file = gy_terminated_send_file,
};

int gyre_delimiter_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
				   const struct gyre_delimiter_options *options,
				   size_t options_bytes)
{
	struct gyre_delimiter_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_delimiter_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_delimiter_handler, &ours);
}
