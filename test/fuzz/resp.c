/*
 * Commands of gyre-kv's clients: a stream is parsed to the same commands whether it comes in one
 * piece or in many, and each command again to the same arguments.
 */
#include <errno.h>
#include <string.h>

#include <gyre/bytes.h>

#include "../../apps/kv/kv.h"
#include "fuzz.h"

static struct args whole_args;
static struct args cut_args;

static void append(struct gyre_buffer *buffer, const uint8_t *bytes, size_t count)
{
	struct gyre_bytes *piece = gyre_bytes_create(bytes, count);

	fuzz_require(gyre_buffer_append_shared(buffer, piece) == 0, "no piece");
	gyre_bytes_unref(piece);
}

static void require_same(const struct args *one, const struct args *other)
{
	fuzz_require(one->count == other->count, "another number of arguments");
	for (size_t i = 0; i < one->count; i++) {
		fuzz_require(slice_equal(one->list[i], other->list[i]), "another argument");
	}
}

/* Parses one command of each, of which @bytes are the plain bytes. False at the last. */
static bool parse(struct gyre_buffer *whole, struct gyre_buffer *cut, size_t value_max,
		  struct slice bytes)
{
	const char *whole_error = NULL;
	const char *cut_error = NULL;
	long r = resp_parse(&whole_args, whole, value_max, &whole_error);

	fuzz_require(resp_parse(&cut_args, cut, value_max, &cut_error) == r, "another length");
	if (r <= 0) {
		fuzz_require(r != -EPROTO || strcmp(whole_error, cut_error) == 0, "another error");
		return false;
	}
	fuzz_require((size_t)r <= bytes.count, "more than there is");
	require_same(&whole_args, &cut_args);
	bytes.count = (size_t)r;
	fuzz_require(resp_parse_again(&cut_args, bytes) == r, "another length the second time");
	require_same(&whole_args, &cut_args);
	(void)gyre_buffer_skip(whole, (size_t)r);
	(void)gyre_buffer_skip(cut, (size_t)r);
	return gyre_buffer_bytes(whole) > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	struct codec_rig *rig = fuzz_rig();
	size_t value_max = (fuzz_byte(&fuzz) & 1) != 0 ? 8 : KEY_BYTES_MAX;
	struct gyre_buffer *whole = gy_buffer_get(&rig->channels.pools);
	struct gyre_buffer *cut = gy_buffer_get(&rig->channels.pools);
	struct slice left = { (const char *)fuzz.bytes, fuzz.count };

	fuzz_require(whole != NULL && cut != NULL, "no buffer");
	if (left.count > 0) {
		append(whole, fuzz.bytes, fuzz.count);
	}
	for (size_t at = 0; at < left.count;) {
		size_t count = 1 + fuzz_below(&fuzz, left.count - at);

		append(cut, (const uint8_t *)left.bytes + at, count);
		at += count;
	}
	while (left.count > 0 && parse(whole, cut, value_max, left)) {
		size_t count = gyre_buffer_bytes(whole);

		left.bytes += left.count - count;
		left.count = count;
	}
	gyre_buffer_destroy(whole);
	gyre_buffer_destroy(cut);
	free(whole_args.list);
	free(cut_args.list);
	whole_args = cut_args = (struct args){ 0 };
	(void)fuzz_rig(); /* aborts if anything is out */
	return 0;
}
