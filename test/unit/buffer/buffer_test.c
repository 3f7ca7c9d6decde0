/* Buffers: every operation over every page border that matters. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "../channel/rig.h"
#include "actor/stack/stack.h"

TestSuite(buffer, .timeout = 60);

enum { PAGE = GY_POOL_PAGE_BYTES, BYTES_MAX = 3 * PAGE + 1 };

/* Lengths that end before, at and after the borders of pages. */
static const size_t lengths[] = {
	0, 1, 2, 63, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 2 * PAGE, 2 * PAGE + 1, BYTES_MAX,
};
static const size_t pieces[] = { 1, 7, 64, PAGE - 1, PAGE, PAGE + 1, BYTES_MAX };

static struct rig rig;
static unsigned char expected[BYTES_MAX];
static unsigned char found[BYTES_MAX];

static void begin(void)
{
	rig_init(&rig, NULL);
	rig_fill(expected, sizeof(expected), 0);
}

static void end(void)
{
	rig_fini(&rig);
}

static struct gyre_buffer *make(void)
{
	struct gyre_buffer *buffer = gyre_buffer_create(&rig_stack(&rig)->head);

	cr_assert_not_null(buffer);
	return buffer;
}

/* A buffer of @count bytes of the pattern from @position on, appended piece by piece. */
static struct gyre_buffer *filled(size_t position, size_t count, size_t piece)
{
	struct gyre_buffer *buffer = make();

	for (size_t at = 0; at < count; at += piece) {
		size_t part = piece < count - at ? piece : count - at;

		cr_assert_eq(gyre_buffer_append(buffer, expected + position + at, part), 0);
	}
	return buffer;
}

static bool holds(const struct gyre_buffer *buffer, size_t position, size_t count)
{
	memset(found, 0xee, sizeof(found));
	return gyre_buffer_bytes(buffer) == count &&
	       gyre_buffer_copy(buffer, 0, found, sizeof(found)) == count &&
	       memcmp(found, expected + position, count) == 0;
}

Test(buffer, holds_what_was_appended_in_pieces_of_any_size, .init = begin, .fini = end)
{
	for (size_t l = 0; l < gy_countof(lengths); l++) {
		for (size_t p = 0; p < gy_countof(pieces); p++) {
			struct gyre_buffer *buffer = filled(0, lengths[l], pieces[p]);

			cr_assert(holds(buffer, 0, lengths[l]), "%zu in pieces of %zu", lengths[l],
				  pieces[p]);
			gyre_buffer_destroy(buffer);
		}
	}
}

Test(buffer, copies_from_any_offset_as_much_as_is_there, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = filled(0, BYTES_MAX, 1000);

	for (size_t o = 0; o < gy_countof(lengths); o++) {
		for (size_t c = 0; c < gy_countof(lengths); c++) {
			size_t there = BYTES_MAX - lengths[o];
			size_t wanted = lengths[c] < there ? lengths[c] : there;

			cr_assert_eq(gyre_buffer_copy(buffer, lengths[o], found, lengths[c]),
				     wanted);
			cr_assert_arr_eq(found, expected + lengths[o], wanted);
		}
	}
	cr_expect_eq(gyre_buffer_copy(buffer, BYTES_MAX + 1, found, 1), 0);
	cr_expect_eq(gyre_buffer_bytes(buffer), BYTES_MAX);
	gyre_buffer_destroy(buffer);
}

Test(buffer, shows_all_its_bytes_span_by_span, .init = begin, .fini = end)
{
	for (size_t l = 0; l < gy_countof(lengths); l++) {
		struct gyre_buffer *buffer = filled(0, lengths[l], 100);
		const void *bytes;
		size_t at = 0;
		size_t count;

		while ((count = gyre_buffer_peek(buffer, at, &bytes)) > 0) {
			cr_assert_arr_eq((const unsigned char *)bytes, expected + at, count);
			at += count;
		}
		cr_assert_eq(at, lengths[l]);
		gyre_buffer_destroy(buffer);
	}
}

Test(buffer, peeks_into_the_middle_of_a_span, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = filled(0, 100, 100);
	const void *bytes;

	cr_assert_eq(gyre_buffer_peek(buffer, 40, &bytes), 60);
	cr_expect_arr_eq((const unsigned char *)bytes, expected + 40, 60);
	gyre_buffer_destroy(buffer);
}

Test(buffer, loses_at_the_front_what_is_read_or_skipped, .init = begin, .fini = end)
{
	for (size_t l = 0; l < gy_countof(lengths); l++) {
		for (size_t s = 0; s < gy_countof(lengths); s++) {
			struct gyre_buffer *buffer = filled(0, lengths[l], PAGE - 1);
			size_t there = lengths[l] < lengths[s] ? lengths[l] : lengths[s];

			cr_assert_eq(s % 2 == 0 ? gyre_buffer_skip(buffer, lengths[s])
						: gyre_buffer_read(buffer, found, lengths[s]),
				     there);
			cr_assert(s % 2 == 0 || memcmp(found, expected, there) == 0);
			cr_assert(holds(buffer, there, lengths[l] - there));
			gyre_buffer_destroy(buffer);
		}
	}
}

Test(buffer, grows_again_after_it_was_emptied, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = filled(0, 2 * PAGE + 1, PAGE);

	cr_assert_eq(gyre_buffer_skip(buffer, SIZE_MAX), 2 * PAGE + 1);
	cr_assert_eq(gyre_buffer_append(buffer, expected, PAGE + 1), 0);
	cr_expect(holds(buffer, 0, PAGE + 1));
	gyre_buffer_destroy(buffer);
}

Test(buffer, is_split_anywhere_without_a_byte_being_copied, .init = begin, .fini = end)
{
	for (size_t l = 0; l < gy_countof(lengths); l++) {
		for (size_t s = 0; s < gy_countof(lengths) && lengths[s] <= lengths[l]; s++) {
			struct gyre_buffer *buffer = filled(0, lengths[l], 500);
			struct gyre_buffer *front;
			uint32_t free_pages = rig_channels(&rig)->pools.pages.free_count;

			cr_assert_eq(gyre_buffer_split(buffer, lengths[s], &front), 0);
			cr_assert(holds(front, 0, lengths[s]));
			cr_assert(holds(buffer, lengths[s], lengths[l] - lengths[s]));
			cr_assert_eq(rig_channels(&rig)->pools.pages.free_count, free_pages);
			gyre_buffer_destroy(buffer);
			cr_assert(holds(front, 0, lengths[s]));
			gyre_buffer_destroy(front);
		}
	}
}

Test(buffer, splits_off_no_more_than_there_is, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = filled(0, 10, 10);
	struct gyre_buffer *front = NULL;

	cr_expect_eq(gyre_buffer_split(buffer, 11, &front), -EINVAL);
	cr_expect_null(front);
	cr_expect(holds(buffer, 0, 10));
	gyre_buffer_destroy(buffer);
}

Test(buffer, may_be_appended_to_after_a_split_without_harm_to_the_front, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = filled(0, 100, 100);
	struct gyre_buffer *front;

	cr_assert_eq(gyre_buffer_split(buffer, 40, &front), 0);
	cr_assert_eq(gyre_buffer_append(buffer, expected + 100, 50), 0);
	cr_assert_eq(gyre_buffer_append(front, expected + 40, 60), 0);
	cr_expect(holds(buffer, 40, 110));
	cr_expect(holds(front, 0, 100));
	gyre_buffer_destroy(front);
	gyre_buffer_destroy(buffer);
}

Test(buffer, is_joined_without_new_pages, .init = begin, .fini = end)
{
	for (size_t a = 0; a < gy_countof(lengths); a++) {
		for (size_t b = 0; b < gy_countof(lengths); b++) {
			size_t second = lengths[b] < BYTES_MAX - lengths[a]
						? lengths[b]
						: BYTES_MAX - lengths[a];
			struct gyre_buffer *buffer = filled(0, lengths[a], PAGE);
			struct gyre_buffer *more = filled(lengths[a], second, 300);
			uint32_t free_pages = rig_channels(&rig)->pools.pages.free_count;

			cr_assert_eq(gyre_buffer_join(buffer, more), 0);
			cr_assert(holds(buffer, 0, lengths[a] + second));
			cr_assert_geq(rig_channels(&rig)->pools.pages.free_count, free_pages);
			gyre_buffer_destroy(buffer);
		}
	}
}

Test(buffer, is_joined_with_few_bytes_in_the_page_that_has_room_for_them, .init = begin,
     .fini = end)
{
	static const size_t counts[] = { 1, 256, 257 };

	for (size_t i = 0; i < gy_countof(counts); i++) {
		struct gyre_buffer *buffer = filled(0, 1, 1);
		uint32_t free_pages = rig_channels(&rig)->pools.pages.free_count;

		for (size_t at = 1; at + counts[i] < PAGE; at += counts[i]) {
			cr_assert_eq(gyre_buffer_join(buffer, filled(at, counts[i], PAGE)), 0);
		}
		if (counts[i] <= 256) {
			cr_expect_geq(rig_channels(&rig)->pools.pages.free_count, free_pages);
			cr_expect_null(buffer->first.next);
		} else {
			cr_expect_not_null(buffer->first.next, "the others are not copied");
		}
		cr_expect(holds(buffer, 0, gyre_buffer_bytes(buffer)));
		gyre_buffer_destroy(buffer);
	}
}

Test(buffer, is_not_joined_to_itself, .init = begin, .fini = end)
{
	struct gyre_buffer *buffer = filled(0, 10, 10);

	cr_expect_eq(gyre_buffer_join(buffer, buffer), -EINVAL);
	cr_expect(holds(buffer, 0, 10));
	gyre_buffer_destroy(buffer);
}

Test(buffer, finds_the_first_of_a_byte_from_an_offset_on, .init = begin, .fini = end)
{
	static const size_t places[] = { 0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, BYTES_MAX - 1 };

	memset(expected, 'a', sizeof(expected));
	for (size_t i = 0; i < gy_countof(places); i++) {
		expected[places[i]] = '\n';
	}
	struct gyre_buffer *buffer = filled(0, BYTES_MAX, 777);
	size_t from = 0;

	for (size_t i = 0; i < gy_countof(places); i++) {
		cr_assert_eq(gyre_buffer_find(buffer, from, '\n'), (int64_t)places[i]);
		from = places[i] + 1;
	}
	cr_expect_eq(gyre_buffer_find(buffer, from, '\n'), -ENOENT);
	cr_expect_eq(gyre_buffer_find(buffer, 0, 'b'), -ENOENT);
	gyre_buffer_destroy(buffer);
}

Test(buffer, is_extended_by_room_that_lies_together, .init = begin, .fini = end)
{
	for (size_t i = 0; i < gy_countof(lengths); i++) {
		struct gyre_buffer *buffer = filled(0, lengths[i], PAGE + 1);

		for (uint32_t count = 1; count <= PAGE; count = count * 2 + 1) {
			size_t before = gyre_buffer_bytes(buffer);
			unsigned char *room = gy_buffer_extend(buffer, count);
			const void *end = NULL;

			cr_assert_not_null(room);
			memset(room, 'r', count);
			cr_expect_eq(gyre_buffer_bytes(buffer), before + count);
			cr_expect_eq(gyre_buffer_peek(buffer, before, &end), count);
			cr_expect_eq(end, room);
		}
		cr_expect_eq(gyre_buffer_copy(buffer, 0, found, lengths[i]), lengths[i]);
		cr_expect_arr_eq(found, expected, lengths[i]);
		gyre_buffer_destroy(buffer);
	}
}

Test(buffer, that_is_missing_is_an_empty_one_to_those_who_look, .init = begin, .fini = end)
{
	const void *bytes;

	cr_expect_eq(gyre_buffer_bytes(NULL), 0);
	cr_expect_eq(gyre_buffer_skip(NULL, 1), 0);
	cr_expect_eq(gyre_buffer_read(NULL, found, 1), 0);
	cr_expect_eq(gyre_buffer_copy(NULL, 0, found, 1), 0);
	cr_expect_eq(gyre_buffer_peek(NULL, 0, &bytes), 0);
	cr_expect_eq(gyre_buffer_find(NULL, 0, 'a'), -ENOENT);
	cr_expect_eq(gyre_buffer_append(NULL, "a", 1), -EINVAL);
	gyre_buffer_destroy(NULL);
}

Test(buffer, leaves_the_pages_of_the_ring_with_its_bytes_kept, .init = begin, .fini = end)
{
	struct gy_channels *channels = rig_channels(&rig);
	struct gy_page page = { .references = 1, .bytes = BYTES_MAX, .used = BYTES_MAX };
	struct gyre_buffer *buffer;

	/* Held once more, so that it does not go to where it never came from. */
	page.references = 2;
	page.memory = expected;
	page.of_ring = true;
	buffer = gy_buffer_of_page(&channels->pools, &page, page.memory, BYTES_MAX);
	gy_buffer_copy_out_of_ring(buffer);
	cr_expect_eq(page.references, 1);
	cr_expect(!buffer->first.page->of_ring);
	cr_expect(holds(buffer, 0, BYTES_MAX));
	gyre_buffer_destroy(buffer);
}
