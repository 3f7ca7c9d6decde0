/* Room that a caller writes itself, formatted text, and cutting the end off a buffer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "../channel/rig.h"
#include "actor/stack/stack.h"

TestSuite(buffer_write, .timeout = 60);

enum { PAGE = GY_POOL_PAGE_BYTES, BYTES_MAX = 3 * PAGE + 1 };

static const size_t lengths[] = { 1, 2, 63, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, BYTES_MAX };

static struct rig rig;
static unsigned char expected[BYTES_MAX];
static char found[2 * BYTES_MAX];

static struct gyre_buffer *begin(void)
{
	struct gyre_buffer *buffer;

	rig_init(&rig, NULL);
	rig_fill(expected, sizeof(expected), 0);
	buffer = gyre_buffer_create(&rig_stack(&rig)->head);
	cr_assert_not_null(buffer);
	return buffer;
}

static void end(struct gyre_buffer *buffer)
{
	gyre_buffer_destroy(buffer);
	rig_fini(&rig);
}

static void write_reserved(struct gyre_buffer *buffer, size_t count, size_t written)
{
	void *bytes = NULL;

	cr_assert_eq(gyre_buffer_reserve(buffer, count, &bytes), 0);
	memcpy(bytes, expected, count);
	cr_assert_eq(gyre_buffer_commit(buffer, count, written), 0);
}

static bool ends_with(const struct gyre_buffer *buffer, size_t offset, size_t count)
{
	return gyre_buffer_bytes(buffer) == offset + count &&
	       gyre_buffer_copy(buffer, offset, found, sizeof(found)) == count &&
	       memcmp(found, expected, count) == 0;
}

Test(buffer_write, keeps_of_a_reservation_what_was_written)
{
	struct gyre_buffer *buffer = begin();

	for (size_t i = 0; i < gy_countof(lengths); i++) {
		for (size_t written = 0; written <= lengths[i]; written += lengths[i] / 7 + 1) {
			size_t before = gyre_buffer_bytes(buffer);

			write_reserved(buffer, lengths[i], written);
			cr_assert(ends_with(buffer, before, written));
			(void)gyre_buffer_skip(buffer, before);
		}
	}
	end(buffer);
}

Test(buffer_write, gives_room_that_was_not_written_to_the_next_append)
{
	struct gyre_buffer *buffer = begin();
	struct gyre_span spans[2];

	write_reserved(buffer, 100, 10);
	cr_assert_eq(gyre_buffer_append(buffer, expected, 10), 0);
	cr_expect_eq(gyre_buffer_spans(buffer, 0, spans, 2), 1);
	cr_expect_eq(spans[0].count, 20);
	end(buffer);
}

Test(buffer_write, refuses_what_is_no_reservation)
{
	struct gyre_buffer *buffer = begin();
	void *bytes;

	cr_expect_eq(gyre_buffer_reserve(NULL, 1, &bytes), -EINVAL);
	cr_expect_eq(gyre_buffer_reserve(buffer, 0, &bytes), -EINVAL);
	cr_expect_eq(gyre_buffer_reserve(buffer, 1, NULL), -EINVAL);
	cr_expect_eq(gyre_buffer_reserve(buffer, (size_t)GYRE_SPAN_BYTES_MAX + 1, &bytes),
		     -EMSGSIZE);
	cr_expect_eq(gyre_buffer_commit(buffer, 1, 0), -EINVAL, "it has no byte");
	cr_expect_eq(gyre_buffer_commit(NULL, 0, 0), -EINVAL);
	cr_assert_eq(gyre_buffer_reserve(buffer, 4, &bytes), 0);
	cr_expect_eq(gyre_buffer_commit(buffer, 4, 5), -EINVAL);
	cr_expect_eq(gyre_buffer_commit(buffer, 4, 0), 0);
	cr_expect_eq(gyre_buffer_bytes(buffer), 0);
	end(buffer);
}

Test(buffer_write, formats_text_over_every_page_border)
{
	struct gyre_buffer *buffer = begin();
	static char text[2 * PAGE + 2];

	memset(text, 'x', sizeof(text) - 1);
	for (int length = PAGE - 40; length < PAGE + 40; length++) {
		cr_assert_eq(gyre_buffer_printf(buffer, "%.*s:%d", length, text, 7), length + 2);
		cr_assert_eq(gyre_buffer_bytes(buffer), (size_t)length + 2);
		cr_assert_eq(gyre_buffer_read(buffer, found, (size_t)length + 2),
			     (size_t)length + 2);
		cr_assert_eq(memcmp(found, text, (size_t)length), 0);
		cr_assert_eq(memcmp(found + length, ":7", 2), 0);
	}
	cr_assert_eq(gyre_buffer_printf(buffer, "%s", text), (int)sizeof(text) - 1);
	cr_expect_eq(gyre_buffer_bytes(buffer), sizeof(text) - 1);
	end(buffer);
}

Test(buffer_write, formats_nothing_without_a_trace)
{
	struct gyre_buffer *buffer = begin();

	cr_expect_eq(gyre_buffer_printf(buffer, "%s", ""), 0);
	cr_expect_eq(gyre_buffer_bytes(buffer), 0);
	cr_expect_eq(gyre_buffer_printf(NULL, "x"), -EINVAL);
	cr_expect_eq(gyre_buffer_printf(buffer, "a"), 1);
	cr_expect_eq(gyre_buffer_printf(buffer, "%d", 42), 2);
	cr_expect_eq(gyre_buffer_read(buffer, found, sizeof(found)), 3);
	cr_expect_eq(memcmp(found, "a42", 3), 0);
	end(buffer);
}

Test(buffer_write, cuts_off_its_end_wherever_that_is)
{
	struct gyre_buffer *buffer = begin();

	for (size_t bytes = 0; bytes <= BYTES_MAX; bytes += 511) {
		cr_assert_eq(gyre_buffer_append(buffer, expected, sizeof(expected)), 0);
		cr_assert_eq(gyre_buffer_truncate(buffer, bytes), 0);
		cr_assert(ends_with(buffer, 0, bytes));
		cr_assert_eq(gyre_buffer_append(buffer, "tail", 4), 0);
		cr_assert_eq(gyre_buffer_copy(buffer, bytes, found, 4), 4);
		cr_assert_eq(memcmp(found, "tail", 4), 0);
		cr_assert_eq(gyre_buffer_truncate(buffer, 0), 0);
	}
	cr_expect_eq(gyre_buffer_truncate(buffer, 1), -EINVAL);
	cr_expect_eq(gyre_buffer_truncate(NULL, 0), -EINVAL);
	end(buffer);
}

Test(buffer_write, leaves_a_duplicate_as_it_was)
{
	struct gyre_buffer *buffer = begin();
	struct gyre_buffer *same;

	cr_assert_eq(gyre_buffer_append(buffer, expected, 100), 0);
	cr_assert_eq(gyre_buffer_duplicate(buffer, &same), 0);
	cr_assert_eq(gyre_buffer_truncate(buffer, 50), 0);
	cr_assert_eq(gyre_buffer_printf(buffer, "%s", "overwritten?"), 12);
	cr_expect(ends_with(same, 0, 100));
	gyre_buffer_destroy(same);
	end(buffer);
}
