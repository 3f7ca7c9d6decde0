/*
 * Commands of gyre-kv's clients: what is parsed stays within its bytes, a command that is cut off
 * is waited for and not refused, and no longer than until it is whole.
 */
#include <stdlib.h>
#include <string.h>

#include "../../apps/kv/kv.h"
#include "fuzz.h"

static struct args args;

static void require_within(struct slice command)
{
	const struct slice *list = args.list;

	for (size_t i = 0; i < args.count; i++) {
		fuzz_require(list[i].bytes >= command.bytes &&
				     list[i].bytes + list[i].count <= command.bytes + command.count,
			     "an argument that is not of the command");
	}
}

/* Bytes of their own, so that each read behind the last is seen. */
static ssize_t parse_copy(struct slice input, uint64_t value_max)
{
	char *copy = (char *)malloc(input.count);
	ssize_t bytes;

	fuzz_require(copy != NULL, "no memory");
	memcpy(copy, input.bytes, input.count);
	bytes = resp_parse(&args, (struct slice){ copy, input.count }, value_max);
	fuzz_require(bytes <= (ssize_t)input.count, "more than there is");
	if (bytes > 0) {
		require_within((struct slice){ copy, (size_t)bytes });
	}
	free(copy);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	uint64_t value_max = (fuzz_byte(&fuzz) & 1) != 0 ? 8 : KEY_BYTES_MAX;
	struct slice left = { (const char *)fuzz.bytes, fuzz.count };

	while (left.count > 0) {
		ssize_t bytes = parse_copy(left, value_max);
		size_t count = args.count;
		struct slice cut = left;

		if (bytes <= 0) {
			fuzz_require(bytes == 0 || *args.error != '\0', "an error without a text");
			break;
		}
		fuzz_require(parse_copy((struct slice){ left.bytes, (size_t)bytes }, value_max) ==
					     bytes &&
				     args.count == count,
			     "another command by itself");
		cut.count = fuzz_below(&fuzz, (size_t)bytes);
		if (cut.count > 0) {
			fuzz_require(parse_copy(cut, value_max) == 0, "a part is a command");
			fuzz_require(args.needed <= (size_t)bytes, "more is wanted than there is");
		}
		left.bytes += bytes;
		left.count -= (size_t)bytes;
	}
	return 0;
}
