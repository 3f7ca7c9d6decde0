/*
 * Frames that end in a delimiter. Which of several ends a frame must not depend on the pieces that
 * the stream comes in: so it is the one whose last byte comes first, and not the one that begins
 * first, which could be taken only in hindsight.
 *
 * Nothing is known of the last bytes, one less than the longest delimiter has: a delimiter may have
 * begun there. And so a frame is known to be too long when a delimiter that begins at the limit
 * would be complete.
 */
#include "channel/codec/codec.h"

#include <errno.h>
#include <string.h>

#include <gyre/channel.h>

_Static_assert(GYRE_DELIMITER_BYTES_MAX <= GY_HANDLER_ADDS_BYTES_MAX, "as writes are checked for");

enum { FRAME_BYTES_DEFAULT = 8192 };

struct delimiter {
	struct gy_codec codec;
	size_t frame_bytes_max;
	size_t longest;
	bool append;
	bool keep_delimiter;
	bool fail_late;
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
		int64_t found = gy_buffer_find_within(kept, delimiter->codec.scanned, end, one);
		size_t its_end = (size_t)found + one->count;

		if (found >= 0 && (best == NULL || its_end < end || one->count > best->count)) {
			best = one;
			end = its_end;
		}
	}
	*ret_end = end;
	return best;
}

/* The kept bytes contain no complete delimiter. */
static void scan_unframed(struct delimiter *delimiter, const struct gyre_buffer *kept,
			  struct gy_step *step)
{
	size_t unknown = delimiter->longest - 1;
	size_t known = kept->bytes > unknown ? kept->bytes - unknown : 0;
	bool discarding = delimiter->codec.discarding;

	if (discarding ? known > 0 : known > delimiter->frame_bytes_max) {
		step->kind = GY_STEP_DISCARD;
		step->bytes = known;
		step->error = discarding || delimiter->fail_late ? 0 : -EMSGSIZE;
		delimiter->codec.discarding = true;
		return;
	}
	delimiter->codec.scanned = known;
}

static void next(struct gy_codec *codec, const struct gyre_buffer *kept, struct gy_step *step)
{
	struct delimiter *delimiter = gy_container_of(codec, struct delimiter, codec);
	size_t end;
	const struct gyre_span *found = find(delimiter, kept, &end);

	if (found == NULL) {
		scan_unframed(delimiter, kept, step);
		return;
	}
	if (codec->discarding) {
		codec->discarding = false;
		gy_step_too_long(step, end, true);
		step->error = delimiter->fail_late ? -EMSGSIZE : 0;
		return;
	}
	if (end - found->count > delimiter->frame_bytes_max) {
		gy_step_too_long(step, end, delimiter->fail_late);
		return;
	}
	step->kind = GY_STEP_FRAME;
	step->bytes = end;
	step->back = delimiter->keep_delimiter ? 0 : found->count;
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
	struct delimiter *delimiter;
	struct gy_codec *codec;
	size_t longest;
	size_t bytes;
	size_t max;

	if (measure(options, &longest, &bytes) < 0) {
		return -EINVAL;
	}
	max = options->frame_bytes_max;
	if (gy_codec_limit(&max, FRAME_BYTES_DEFAULT, GYRE_FRAME_BYTES_MAX) < 0) {
		return -EINVAL;
	}
	bytes += sizeof(*delimiter) + options->delimiters_count * sizeof(struct gyre_span);
	codec = gy_codec_make(ctx, bytes, next);
	if (codec == NULL) {
		return -ENOMEM;
	}
	delimiter = gy_container_of(codec, struct delimiter, codec);
	delimiter->frame_bytes_max = max;
	delimiter->longest = longest;
	delimiter->append = options->append;
	delimiter->keep_delimiter = options->keep_delimiter;
	delimiter->fail_late = options->fail_late;
	keep(delimiter, options);
	return 0;
}

static int write_frame(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct delimiter *delimiter =
		gy_container_of(gy_codec_of(ctx), struct delimiter, codec);
	const struct gyre_span *end = &delimiter->delimiters[0];
	int r = delimiter->append ? gyre_buffer_append(data, end->bytes, end->count) : 0;

	if (r < 0) {
		gy_buffer_put(data);
		return r;
	}
	return gyre_context_write(ctx, data);
}

/* A last write without a delimiter may pass as it is. */
static int send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
		     const struct gyre_file_region *what)
{
	const struct delimiter *delimiter =
		gy_container_of(gy_codec_of(ctx), struct delimiter, codec);

	return !delimiter->append ? gyre_context_send_file(ctx, file, what) : -EOPNOTSUPP;
}

const struct gyre_handler gy_delimiter_handler = {
	.name = "delimiter",
	.added = added,
	.removed = gy_codec_removed,
	.read = gy_codec_read,
	.write = write_frame,
	.send_file = send_file,
};

int gyre_delimiter_codec_add_sized(struct gyre_channel *channel, struct gyre_position position,
				   const struct gyre_delimiter_options *options,
				   size_t options_bytes)
{
	struct gyre_delimiter_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_delimiter_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_delimiter_handler, &ours);
}
