/*
 * Every operation on buffers with the borders of slices everywhere: all lengths up to a small one,
 * in slices of one byte and more, against the same on plain bytes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <gyre/bytes.h>

#include "../channel/codec/codec_rig.h"

TestSuite(buffer_matrix, .timeout = 60);

enum { LENGTH = 17, SLICES = 5 };

static const unsigned char bytes[LENGTH + 1] = "abcabdabcabcdxyzw";
static struct codec_rig rig;

static void begin(void)
{
	codec_rig_init(&rig);
}

static void end(void)
{
	codec_rig_fini(&rig);
}

static struct gyre_buffer *make(size_t count, size_t slice)
{
	return codec_rig_buffer(&rig, bytes, count, slice);
}

/* Whether @buffer holds these bytes, and is sound. */
static bool holds(const struct gyre_buffer *buffer, const void *expected, size_t count)
{
	unsigned char found[4 * LENGTH];
	const struct gy_slice *slice = &buffer->first;
	size_t sum = 0;

	for (; slice != NULL; slice = slice->next) {
		sum += slice->count;
		if (slice->next == NULL && slice != buffer->last) {
			return false;
		}
	}
	return sum == count && gyre_buffer_bytes(buffer) == count &&
	       gyre_buffer_copy(buffer, 0, found, sizeof(found)) == count &&
	       memcmp(found, expected, count) == 0;
}

#define FOR_ALL(COUNT, SLICE)                            \
	for (size_t COUNT = 0; COUNT <= LENGTH; COUNT++) \
		for (size_t SLICE = 1; SLICE <= SLICES; SLICE++)

Test(buffer_matrix, copies_skips_and_reads, .init = begin, .fini = end)
{
	FOR_ALL(count, slice)
	{
		for (size_t at = 0; at <= count; at++) {
			unsigned char found[LENGTH] = { 0 };
			struct gyre_buffer *buffer = make(count, slice);

			cr_assert_eq(gyre_buffer_copy(buffer, at, found, LENGTH), count - at);
			cr_assert_arr_eq(found, bytes + at, count - at);
			cr_assert_eq(gyre_buffer_read(buffer, found, at), at);
			cr_assert_arr_eq(found, bytes, at);
			cr_assert(holds(buffer, bytes + at, count - at));
			gyre_buffer_destroy(buffer);
		}
	}
}

Test(buffer_matrix, splits_and_joins_and_duplicates, .init = begin, .fini = end)
{
	FOR_ALL(count, slice)
	{
		for (size_t at = 0; at <= count; at++) {
			struct gyre_buffer *buffer = make(count, slice);
			struct gyre_buffer *same;
			struct gyre_buffer *front;

			cr_assert_eq(gyre_buffer_duplicate(buffer, &same), 0);
			cr_assert_eq(gyre_buffer_split(buffer, at, &front), 0);
			cr_assert(holds(front, bytes, at));
			cr_assert(holds(buffer, bytes + at, count - at));
			cr_assert_eq(gyre_buffer_append(front, "!", 1), 0);
			cr_assert(holds(same, bytes, count), "it shares pages, not bytes to come");
			cr_assert_eq(gyre_buffer_join(buffer, front), 0);
			cr_assert_eq(gyre_buffer_bytes(buffer), count + 1);
			gyre_buffer_destroy(buffer);
			cr_assert(holds(same, bytes, count));
			gyre_buffer_destroy(same);
		}
	}
}

Test(buffer_matrix, prepends_without_harm_to_who_shares_its_pages, .init = begin, .fini = end)
{
	FOR_ALL(count, slice)
	{
		for (size_t at = 0; at <= count; at++) {
			unsigned char expected[LENGTH + 3] = "<=";
			struct gyre_buffer *buffer = make(count, slice);
			struct gyre_buffer *front;

			cr_assert_eq(gyre_buffer_split(buffer, at, &front), 0);
			cr_assert_eq(gyre_buffer_prepend(buffer, "<=", 2), 0);
			memcpy(expected + 2, bytes + at, count - at);
			cr_assert(holds(buffer, expected, count - at + 2));
			cr_assert(holds(front, bytes, at));
			gyre_buffer_destroy(front);
			cr_assert_eq(gyre_buffer_prepend(buffer, "", 0), 0);
			cr_assert_eq(gyre_buffer_prepend(buffer, "<=", 2), 0);
			cr_assert_eq(gyre_buffer_skip(buffer, 2), 2);
			cr_assert(holds(buffer, expected, count - at + 2));
			gyre_buffer_destroy(buffer);
		}
	}
}

Test(buffer_matrix, prepends_what_is_larger_than_a_page, .init = begin, .fini = end)
{
	static unsigned char large[3 * GY_POOL_PAGE_BYTES];
	struct gyre_buffer *buffer = make(LENGTH, 3);
	const void *all;

	memset(large, 'L', sizeof(large));
	cr_assert_eq(gyre_buffer_prepend(buffer, large, sizeof(large)), 0);
	cr_assert_eq(gyre_buffer_bytes(buffer), sizeof(large) + LENGTH);
	cr_assert_eq(gyre_buffer_linear(buffer, sizeof(large) + LENGTH, &all), 0);
	cr_assert_eq(memcmp(all, large, sizeof(large)), 0);
	cr_assert_arr_eq((const unsigned char *)all + sizeof(large), bytes, LENGTH);
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, prepends_headers_without_memory_where_there_is_room, .init = begin, .fini = end)
{
	static char text[2000];
	struct gyre_buffer *buffer = gy_buffer_get(&rig.channels.pools);

	cr_assert_eq(gyre_buffer_append(buffer, text, sizeof(text)), 0);
	cr_assert_eq(gyre_buffer_prepend(buffer, text, GY_POOL_HEAD_BYTES), 0);
	cr_expect_null(buffer->first.next);
	cr_assert_eq(gyre_buffer_prepend(buffer, "x", 1), 0);
	cr_expect_not_null(buffer->first.next);
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, makes_the_first_bytes_stand_together, .init = begin, .fini = end)
{
	FOR_ALL(count, slice)
	{
		for (size_t at = 1; at <= count; at++) {
			struct gyre_buffer *buffer = make(count, slice);
			const void *first = buffer->first.bytes;
			const void *found;

			cr_assert_eq(gyre_buffer_linear(buffer, at, &found), 0);
			cr_assert_arr_eq((const unsigned char *)found, bytes, at);
			cr_assert_eq(found == first, at <= slice, "copied only if needed");
			cr_assert(holds(buffer, bytes, count));
			cr_assert_eq(gyre_buffer_linear(buffer, count + 1, &found), -EAGAIN);
			gyre_buffer_destroy(buffer);
		}
	}
	cr_expect_eq(gyre_buffer_linear(NULL, 1, NULL), -EINVAL);
}

/* Visits all bytes, at most @max spans at a time. */
static size_t visit(const struct gyre_buffer *buffer, size_t max)
{
	struct gyre_span spans[3];
	size_t at = 0;
	size_t n;

	while ((n = gyre_buffer_spans(buffer, at, spans, max)) > 0) {
		for (size_t i = 0; i < n; i++) {
			cr_assert_arr_eq((const unsigned char *)spans[i].bytes, bytes + at,
					 spans[i].count);
			at += spans[i].count;
		}
	}
	return at;
}

Test(buffer_matrix, shows_all_spans, .init = begin, .fini = end)
{
	FOR_ALL(count, slice)
	{
		struct gyre_buffer *buffer = make(count, slice);

		for (size_t max = 1; max <= 3; max++) {
			cr_assert_eq(visit(buffer, max), count);
		}
		gyre_buffer_destroy(buffer);
	}
}

/* The same on plain bytes. */
static int64_t find_plainly(size_t from, size_t count, const char *what, size_t what_bytes)
{
	for (size_t at = from; at + what_bytes <= count; at++) {
		if (memcmp(bytes + at, what, what_bytes) == 0) {
			return (int64_t)at;
		}
	}
	return -ENOENT;
}

Test(buffer_matrix, finds_bytes_and_sequences, .init = begin, .fini = end)
{
	static const char *const whats[] = { "a", "ab",	  "abc",    "abcd", "bcd",
					     "w", "xyzw", "abcabc", "zz",   "xyzwv" };

	FOR_ALL(count, slice)
	{
		struct gyre_buffer *buffer = make(count, slice);

		for (size_t i = 0; i < gy_countof(whats); i++) {
			size_t length = strlen(whats[i]);

			for (size_t from = 0; from <= count + 1; from++) {
				cr_assert_eq(gyre_buffer_find_bytes(buffer, from, whats[i], length),
					     find_plainly(from, count, whats[i], length),
					     "%s from %zu of %zu by %zu", whats[i], from, count,
					     slice);
				cr_assert_eq(
					gyre_buffer_find(buffer, from, (unsigned char)*whats[i]),
					find_plainly(from, count, whats[i], 1));
			}
		}
		gyre_buffer_destroy(buffer);
	}
	cr_expect_eq(gyre_buffer_find_bytes(NULL, 0, "a", 1), -ENOENT);
	cr_expect_eq(gyre_buffer_find_bytes(NULL, 0, "a", 0), -EINVAL);
	cr_expect_eq(gyre_buffer_find_bytes(NULL, 0, NULL, 1), -EINVAL);
}

/* ---- numbers ---- */

static void expect_number(const struct gyre_buffer *buffer, size_t at, size_t width)
{
	uint64_t big = 0;
	uint64_t little = 0;
	uint64_t found = 99;
	int wanted = at + width <= gyre_buffer_bytes(buffer) ? 0 : -EAGAIN;

	for (size_t i = 0; wanted == 0 && i < width; i++) {
		big = big << 8 | bytes[at + i];
		little |= (uint64_t)bytes[at + i] << 8 * i;
	}
	cr_assert_eq(gyre_buffer_get_number(buffer, at, width, GYRE_BIG_ENDIAN, &found), wanted);
	cr_assert_eq(found, wanted == 0 ? big : 99);
	cr_assert_eq(gyre_buffer_get_number(buffer, at, width, GYRE_LITTLE_ENDIAN, &found), wanted);
	cr_assert_eq(found, wanted == 0 ? little : 99);
}

Test(buffer_matrix, gets_numbers_in_both_orders_at_every_offset, .init = begin, .fini = end)
{
	FOR_ALL(count, slice)
	{
		struct gyre_buffer *buffer = make(count, slice);

		for (size_t at = 0; at <= count; at++) {
			for (size_t width = 1; width <= 8; width++) {
				expect_number(buffer, at, width);
			}
		}
		gyre_buffer_destroy(buffer);
	}
}

Test(buffer_matrix, refuses_numbers_of_no_or_too_many_bytes, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = make(LENGTH, 3);
	uint64_t found = 5;

	cr_expect_eq(gyre_buffer_get_number(buffer, 0, 0, GYRE_BIG_ENDIAN, &found), -EINVAL);
	cr_expect_eq(gyre_buffer_get_number(buffer, 0, 9, GYRE_BIG_ENDIAN, &found), -EINVAL);
	cr_expect_eq(gyre_buffer_read_number(buffer, 1, GYRE_BIG_ENDIAN, NULL), -EINVAL);
	cr_expect_eq(gyre_buffer_append_number(buffer, 9, GYRE_BIG_ENDIAN, 1), -EINVAL);
	cr_expect_eq(gyre_buffer_append_number(NULL, 1, GYRE_BIG_ENDIAN, 1), -EINVAL);
	cr_expect_eq(gyre_buffer_get_number(NULL, 0, 1, GYRE_BIG_ENDIAN, &found), -EAGAIN);
	cr_expect_eq(found, 5);
	cr_expect(holds(buffer, bytes, LENGTH));
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, reads_the_typed_numbers_that_were_appended, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig.channels.pools);
	uint8_t u8 = 0;
	int8_t i8 = 0;
	uint16_t u16 = 0;
	int16_t i16 = 0;
	uint32_t u32 = 0;
	int32_t i32 = 0;
	uint64_t u64 = 0;
	int64_t i64 = 0;
	float f32 = 0;
	double f64 = 0;

	cr_assert_eq(gyre_buffer_append_u8(buffer, 200), 0);
	cr_assert_eq(gyre_buffer_append_i8(buffer, -5), 0);
	cr_assert_eq(gyre_buffer_append_u16be(buffer, 0x0102), 0);
	cr_assert_eq(gyre_buffer_append_i16le(buffer, -2), 0);
	cr_assert_eq(gyre_buffer_append_u32le(buffer, 0xdeadbeef), 0);
	cr_assert_eq(gyre_buffer_append_i32be(buffer, INT32_MIN), 0);
	cr_assert_eq(gyre_buffer_append_u64be(buffer, UINT64_MAX - 1), 0);
	cr_assert_eq(gyre_buffer_append_i64le(buffer, INT64_MIN), 0);
	cr_assert_eq(gyre_buffer_append_f32be(buffer, 1.5F), 0);
	cr_assert_eq(gyre_buffer_append_f64le(buffer, -0.1), 0);
	cr_expect_eq(gyre_buffer_get_u16be(buffer, 2, &u16), 0);
	cr_expect_eq(u16, 0x0102);
	cr_expect_eq(gyre_buffer_get_u16le(buffer, 2, &u16), 0);
	cr_expect_eq(u16, 0x0201);
	cr_expect(gyre_buffer_read_u8(buffer, &u8) == 0 && u8 == 200);
	cr_expect(gyre_buffer_read_i8(buffer, &i8) == 0 && i8 == -5);
	cr_expect(gyre_buffer_read_u16be(buffer, &u16) == 0 && u16 == 0x0102);
	cr_expect(gyre_buffer_read_i16le(buffer, &i16) == 0 && i16 == -2);
	cr_expect(gyre_buffer_read_u32le(buffer, &u32) == 0 && u32 == 0xdeadbeef);
	cr_expect(gyre_buffer_read_i32be(buffer, &i32) == 0 && i32 == INT32_MIN);
	cr_expect(gyre_buffer_read_u64be(buffer, &u64) == 0 && u64 == UINT64_MAX - 1);
	cr_expect(gyre_buffer_read_i64le(buffer, &i64) == 0 && i64 == INT64_MIN);
	cr_expect(gyre_buffer_read_f32be(buffer, &f32) == 0 && f32 == 1.5F);
	cr_expect(gyre_buffer_read_f64le(buffer, &f64) == 0 && f64 == -0.1);
	cr_expect_eq(gyre_buffer_read_u8(buffer, &u8), -EAGAIN);
	cr_expect_eq(u8, 200);
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, numbers_that_are_to_go_nowhere_are_refused, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig.channels.pools);

	cr_assert_eq(gyre_buffer_append_u64be(buffer, 1), 0);
	cr_expect_eq(gyre_buffer_get_u16be(buffer, 0, NULL), -EINVAL);
	cr_expect_eq(gyre_buffer_get_f64le(buffer, 0, NULL), -EINVAL);
	cr_expect_eq(gyre_buffer_read_u8(buffer, NULL), -EINVAL);
	cr_expect_eq(gyre_buffer_bytes(buffer), 8, "none of it was taken off");
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, reads_numbers_of_variable_length_in_any_slices, .init = begin, .fini = end)
{
	for (unsigned int shift = 0; shift < 64; shift++) {
		for (int less = 0; less <= 1; less++) {
			uint64_t value = (UINT64_C(1) << shift) - (uint64_t)less;
			struct gyre_buffer *flat = gy_buffer_get(&rig.channels.pools);
			unsigned char part[GYRE_VARINT_BYTES_MAX];
			size_t count;

			cr_assert_eq(gyre_buffer_append_varint(flat, value), 0);
			count = gyre_buffer_copy(flat, 0, part, sizeof(part));
			for (size_t slice = 1; slice <= count; slice++) {
				struct gyre_buffer *buffer =
					codec_rig_buffer(&rig, part, count, slice);
				uint64_t found = 0;

				cr_assert_eq(gyre_buffer_read_varint(buffer, &found), (int)count);
				cr_assert_eq(found, value);
				cr_assert_eq(gyre_buffer_read_varint(buffer, &found), -EAGAIN);
				gyre_buffer_destroy(buffer);
			}
			gyre_buffer_destroy(flat);
		}
	}
}

Test(buffer_matrix, refuses_numbers_of_variable_length_over_64_bits, .init = begin, .fini = end)
{
	static const char *const wrong[] = { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
					     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81" };
	uint64_t found = 7;

	for (size_t i = 0; i < gy_countof(wrong); i++) {
		struct gyre_buffer *buffer = codec_rig_buffer(&rig, wrong[i], 10, 3);

		cr_expect_eq(gyre_buffer_read_varint(buffer, &found), -EPROTO);
		cr_expect_eq(found, 7);
		cr_expect_eq(gyre_buffer_bytes(buffer), 10);
		gyre_buffer_destroy(buffer);
	}
}

/* ---- memory of others ---- */

static int released;

static void release(void *arg)
{
	cr_assert_eq(arg, (void *)&released);
	released++;
}

Test(buffer_matrix, releases_memory_of_others_once_with_its_last_byte, .init = begin, .fini = end)
{
	for (size_t at = 0; at <= LENGTH; at++) {
		struct gyre_buffer *buffer = make(3, 1);
		struct gyre_buffer *front;

		released = 0;
		cr_assert_eq(gyre_buffer_append_memory(buffer, bytes, LENGTH, release, &released),
			     0);
		cr_assert_eq(gyre_buffer_append(buffer, "end", 3), 0);
		cr_assert_eq(gyre_buffer_split(buffer, 3 + at, &front), 0);
		gyre_buffer_destroy(front);
		cr_assert_eq(released, at == LENGTH);
		cr_assert_eq(gyre_buffer_skip(buffer, LENGTH - at), LENGTH - at);
		cr_assert_eq(released, 1);
		cr_assert(holds(buffer, "end", 3));
		gyre_buffer_destroy(buffer);
		cr_assert_eq(released, 1);
	}
}

Test(buffer_matrix, releases_memory_that_it_does_not_take, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = make(0, 1);

	released = 0;
	cr_expect_eq(gyre_buffer_append_memory(NULL, bytes, 1, release, &released), -EINVAL);
	cr_expect_eq(released, 1);
	cr_expect_eq(gyre_buffer_append_memory(buffer, NULL, 1, release, &released), -EINVAL);
	cr_expect_eq(released, 2);
	cr_expect_eq(gyre_buffer_append_memory(buffer, bytes, (size_t)GYRE_SPAN_BYTES_MAX + 1,
					       release, &released),
		     -EMSGSIZE);
	cr_expect_eq(released, 3);
	cr_expect_eq(gyre_buffer_append_memory(buffer, bytes, 0, release, &released), 0);
	cr_expect_eq(released, 4);
	cr_expect_eq(gyre_buffer_append_memory(buffer, bytes, 2, NULL, NULL), 0);
	cr_expect(holds(buffer, bytes, 2));
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, never_writes_to_memory_of_others, .init = begin, .fini = end)
{
	unsigned char mine[8] = "....ab..";
	struct gyre_buffer *buffer = make(0, 1);

	cr_assert_eq(gyre_buffer_append_memory(buffer, mine + 4, 2, NULL, NULL), 0);
	cr_assert_eq(gyre_buffer_append(buffer, "c", 1), 0);
	cr_assert_eq(gyre_buffer_prepend(buffer, "x", 1), 0);
	cr_assert_eq(gyre_buffer_skip(buffer, 2), 2);
	cr_assert_eq(gyre_buffer_prepend(buffer, "ya", 2), 0);
	cr_expect(holds(buffer, "yabc", 4));
	cr_expect_arr_eq(mine, "....ab..", 8);
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, refers_to_shared_bytes_as_long_as_it_has_any, .init = begin, .fini = end)
{
	struct gyre_buffer *buffers[100];
	struct gyre_buffer *source = make(LENGTH, 2);
	struct gyre_bytes *shared = gyre_bytes_of_buffer(source);
	uint32_t pages = rig.channels.pools.pages.total - rig.channels.pools.pages.free_count;

	cr_assert_not_null(shared);
	cr_expect_eq(gyre_bytes_count(shared), LENGTH);
	cr_expect_arr_eq((const unsigned char *)gyre_bytes_data(shared), bytes, LENGTH);
	for (size_t i = 0; i < gy_countof(buffers); i++) {
		buffers[i] = make(0, 1);
		cr_assert_eq(gyre_buffer_append_shared(buffers[i], shared), 0);
	}
	cr_expect_eq(rig.channels.pools.pages.total - rig.channels.pools.pages.free_count, pages);
	gyre_bytes_unref(shared);
	for (size_t i = 0; i < gy_countof(buffers); i++) {
		cr_assert_eq(buffers[i]->first.bytes, buffers[0]->first.bytes);
		cr_assert(holds(buffers[i], bytes, LENGTH));
	}
	for (size_t i = 0; i < gy_countof(buffers); i++) {
		gyre_buffer_destroy(buffers[i]); /* the last one frees them: else it is a leak */
	}
	gyre_buffer_destroy(source);
}

Test(buffer_matrix, takes_no_shared_bytes_that_are_none, .init = begin, .fini = end)
{
	struct gyre_bytes *empty = gyre_bytes_create(NULL, 0);
	struct gyre_buffer *buffer = make(2, 1);

	cr_assert_not_null(empty);
	cr_expect_null(gyre_bytes_create(NULL, 1));
	cr_expect_null(gyre_bytes_create(bytes, (size_t)GYRE_SPAN_BYTES_MAX + 1));
	cr_expect_eq(gyre_bytes_count(NULL), 0);
	cr_expect_null(gyre_bytes_ref(NULL));
	gyre_bytes_unref(NULL);
	cr_expect_eq(gyre_buffer_append_shared(buffer, NULL), -EINVAL);
	cr_expect_eq(gyre_buffer_append_shared(NULL, empty), -EINVAL);
	cr_expect_eq(gyre_buffer_append_shared(buffer, empty), 0);
	cr_expect(holds(buffer, bytes, 2));
	gyre_bytes_unref(empty);
	gyre_buffer_destroy(buffer);
}

Test(buffer_matrix, formats_shared_bytes_of_any_length, .init = begin, .fini = end)
{
	for (int length = 0; length < 5000; length += 833) {
		struct gyre_bytes *made = gyre_bytes_printf("<%*d>", length, 7);
		const char *text = (const char *)gyre_bytes_data(made);
		size_t count = gyre_bytes_count(made);

		cr_assert_eq(count, (size_t)(length > 0 ? length : 1) + 2);
		cr_expect_eq(text[0], '<');
		cr_expect_eq(text[count - 2], '7');
		cr_expect_eq(text[count - 1], '>');
		gyre_bytes_unref(made);
	}
	cr_expect_null(gyre_bytes_printf(NULL));
}

/* ---- use after free ---- */

#if GY_ASSERT_LEVEL >= 2
/* Past the sanitizer, which would find it first. */
__attribute__((no_sanitize_address)) static bool is_poison(const volatile unsigned char *memory,
							   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (memory[i] != GY_POISON_BYTE) {
			return false;
		}
	}
	return true;
}

Test(buffer_matrix, is_poison_when_it_was_freed_and_so_are_its_pages, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = make(LENGTH, LENGTH);
	const unsigned char *first = buffer->first.bytes;
	struct gyre_buffer *same;

	cr_assert_eq(gyre_buffer_duplicate(buffer, &same), 0);
	gyre_buffer_destroy(buffer);
	cr_expect(is_poison((const unsigned char *)buffer, sizeof(*buffer)));
	cr_expect(holds(same, bytes, LENGTH), "another one has the page");
	gyre_buffer_destroy(same);
	cr_expect(is_poison(first - GY_POOL_HEAD_BYTES, GY_POOL_HEAD_BYTES + GY_POOL_PAGE_BYTES));
}
#endif
