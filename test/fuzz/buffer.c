/*
 * Operations on some buffers at random, each followed by the same on plain bytes. Buffers share
 * pages after a split or a duplicate, and what is done to one must not show in another.
 */
#include <errno.h>
#include <string.h>

#include <gyre/bytes.h>

#include "fuzz.h"

enum { BUFFERS = 4, BYTES_MAX = 3 * GY_POOL_PAGE_BYTES };

struct plain {
	struct gyre_buffer *buffer;
	size_t count;
	unsigned char bytes[BYTES_MAX];
};

static struct plain plains[BUFFERS];
static unsigned char pattern[BYTES_MAX];
static unsigned char found[BYTES_MAX];
static uint32_t held; /* pieces of memory that buffers have */

static void released(void *arg)
{
	(void)arg;
	held--;
}

static void check(const struct plain *plain)
{
	const struct gy_slice *slice = &plain->buffer->first;

	fuzz_require(gyre_buffer_bytes(plain->buffer) == plain->count, "another length");
	fuzz_require(gyre_buffer_copy(plain->buffer, 0, found, BYTES_MAX) == plain->count,
		     "fewer bytes");
	fuzz_require(memcmp(found, plain->bytes, plain->count) == 0, "other bytes");
	while (slice->next != NULL) {
		slice = slice->next;
	}
	fuzz_require(slice == plain->buffer->last, "another last slice");
}

/* How many bytes an operation is about: few mostly, sometimes more than a page. */
static size_t amount(struct fuzz *fuzz, size_t max)
{
	size_t count = fuzz_byte(fuzz);

	count = count >= 0xf0 ? (count - 0xef) * 600 : count;
	return count < max ? count : max;
}

static void append(struct fuzz *fuzz, struct plain *plain)
{
	size_t count = amount(fuzz, BYTES_MAX - plain->count);
	const unsigned char *from = pattern + fuzz_below(fuzz, BYTES_MAX - count + 1);
	struct gyre_bytes *shared;

	switch (fuzz_byte(fuzz) % 3) {
	case 0:
		fuzz_require(gyre_buffer_append(plain->buffer, from, count) == 0, "no append");
		break;
	case 1:
		held++;
		fuzz_require(
			gyre_buffer_append_memory(plain->buffer, from, count, released, NULL) == 0,
			"no append of memory");
		break;
	default:
		shared = gyre_bytes_create(from, count);
		fuzz_require(gyre_buffer_append_shared(plain->buffer, shared) == 0,
			     "no append of shared bytes");
		gyre_bytes_unref(shared);
		break;
	}
	memcpy(plain->bytes + plain->count, from, count);
	plain->count += count;
}

static void prepend(struct fuzz *fuzz, struct plain *plain)
{
	size_t count = amount(fuzz, BYTES_MAX - plain->count);

	fuzz_require(gyre_buffer_prepend(plain->buffer, pattern, count) == 0, "no prepend");
	memmove(plain->bytes + count, plain->bytes, plain->count);
	memcpy(plain->bytes, pattern, count);
	plain->count += count;
}

static void drop(struct plain *plain, size_t count)
{
	plain->count -= count;
	memmove(plain->bytes, plain->bytes + count, plain->count);
}

static void replace(struct plain *plain, struct gyre_buffer *buffer)
{
	gyre_buffer_destroy(plain->buffer);
	plain->buffer = buffer;
}

static void split(struct fuzz *fuzz, struct plain *plain, struct plain *other)
{
	size_t count = amount(fuzz, plain->count);
	struct gyre_buffer *front;

	fuzz_require(gyre_buffer_split(plain->buffer, count, &front) == 0, "no split");
	if (other == plain) {
		gyre_buffer_destroy(front);
	} else {
		replace(other, front);
		memcpy(other->bytes, plain->bytes, count);
		other->count = count;
	}
	drop(plain, count);
}

static void join(struct plain *plain, struct plain *other)
{
	if (other == plain || other->count > BYTES_MAX - plain->count) {
		return;
	}
	fuzz_require(gyre_buffer_join(plain->buffer, other->buffer) == 0, "no join");
	memcpy(plain->bytes + plain->count, other->bytes, other->count);
	plain->count += other->count;
	other->buffer = gy_buffer_get(plain->buffer->pools);
	other->count = 0;
}

static void duplicate(struct plain *plain, struct plain *other)
{
	struct gyre_buffer *same;

	if (other != plain) {
		fuzz_require(gyre_buffer_duplicate(plain->buffer, &same) == 0, "no duplicate");
		replace(other, same);
		memcpy(other->bytes, plain->bytes, plain->count);
		other->count = plain->count;
	}
}

static void linear(struct fuzz *fuzz, const struct plain *plain)
{
	size_t count = amount(fuzz, plain->count);
	const void *bytes = NULL;
	int r = gyre_buffer_linear(plain->buffer, count, &bytes);

	fuzz_require(r == (count == 0 ? -EINVAL : 0), "no linear bytes");
	fuzz_require(r < 0 || memcmp(bytes, plain->bytes, count) == 0, "other linear bytes");
}

static void find(struct fuzz *fuzz, const struct plain *plain)
{
	size_t from = amount(fuzz, plain->count);
	size_t length = 1 + fuzz_below(fuzz, 5);
	const unsigned char *what = pattern + fuzz_below(fuzz, BYTES_MAX - length);
	const void *there = memmem(plain->bytes + from, plain->count - from, what, length);
	int64_t expected =
		there == NULL ? -ENOENT : (int64_t)((const unsigned char *)there - plain->bytes);

	fuzz_require(gyre_buffer_find_bytes(plain->buffer, from, what, length) == expected,
		     "found elsewhere");
}

static void operate(struct fuzz *fuzz)
{
	struct plain *plain = &plains[fuzz_byte(fuzz) % BUFFERS];
	struct plain *other = &plains[fuzz_byte(fuzz) % BUFFERS];
	size_t count;

	switch (fuzz_byte(fuzz) % 10) {
	case 0:
		prepend(fuzz, plain);
		break;
	case 1:
		split(fuzz, plain, other);
		break;
	case 2:
		join(plain, other);
		break;
	case 3:
		duplicate(plain, other);
		break;
	case 4:
		linear(fuzz, plain);
		break;
	case 5:
		find(fuzz, plain);
		break;
	case 6:
		count = amount(fuzz, plain->count);
		fuzz_require(gyre_buffer_skip(plain->buffer, count) == count, "no skip");
		drop(plain, count);
		break;
	case 7:
		count = amount(fuzz, plain->count);
		gy_buffer_truncate(plain->buffer, count);
		plain->count = count;
		break;
	default:
		append(fuzz, plain);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	struct codec_rig *rig = fuzz_rig();

	for (size_t i = 0; i < BYTES_MAX; i++) {
		pattern[i] = (unsigned char)(i * i / 7 % 5);
	}
	for (size_t i = 0; i < BUFFERS; i++) {
		plains[i].buffer = gy_buffer_get(&rig->channels.pools);
		plains[i].count = 0;
	}
	while (fuzz.count > 0) {
		operate(&fuzz);
		for (size_t i = 0; i < BUFFERS; i++) {
			check(&plains[i]);
		}
	}
	for (size_t i = 0; i < BUFFERS; i++) {
		gyre_buffer_destroy(plains[i].buffer);
	}
	fuzz_require(held == 0, "memory was not released");
	(void)fuzz_rig(); /* aborts if anything is out */
	return 0;
}
