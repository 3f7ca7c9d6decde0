/* The check of buffers that assertions=full runs: it accepts what calls make, and finds faults. */
#include <criterion/criterion.h>
#include <signal.h>

#include "../channel/codec/codec_rig.h"

#if GY_ASSERT_LEVEL >= 2

static struct codec_rig rig;

static void prepare(void)
{
	codec_rig_init(&rig);
}

Test(buffer_check, is_content_with_what_calls_make, .init = prepare)
{
	struct gyre_buffer *buffer = codec_rig_buffer(&rig, "abcdef", 6, 2);
	struct gyre_buffer *front;

	gy_buffer_check(buffer);
	cr_assert_eq(gyre_buffer_split(buffer, 3, &front), 0);
	gy_buffer_check(front);
	gy_buffer_check(buffer);
	cr_assert_eq(gyre_buffer_prepend(buffer, "xyz", 3), 0);
	gy_buffer_check(buffer);
	gyre_buffer_destroy(front);
	gyre_buffer_skip(buffer, 6);
	gy_buffer_check(buffer);
	gyre_buffer_destroy(buffer);
	codec_rig_fini(&rig);
}

Test(buffer_check, finds_bytes_that_no_slice_has, .init = prepare, .signal = SIGABRT)
{
	struct gyre_buffer *buffer = codec_rig_buffer(&rig, "abcdef", 6, 2);

	buffer->bytes++;
	gy_buffer_check(buffer);
}

Test(buffer_check, finds_a_last_slice_that_is_not_the_last, .init = prepare, .signal = SIGABRT)
{
	struct gyre_buffer *buffer = codec_rig_buffer(&rig, "abcdef", 6, 2);

	buffer->last = &buffer->first;
	gy_buffer_check(buffer);
}

Test(buffer_check, finds_a_slice_of_a_page_that_nobody_has, .init = prepare, .signal = SIGABRT)
{
	struct gyre_buffer *buffer = codec_rig_buffer(&rig, "abcdef", 6, 2);

	buffer->first.page->references = 0;
	gy_buffer_check(buffer);
}

Test(buffer_check, finds_a_slice_beyond_what_its_page_gave_away, .init = prepare, .signal = SIGABRT)
{
	struct gyre_buffer *buffer = codec_rig_buffer(&rig, "abcdef", 6, 6);

	buffer->first.count = buffer->first.page->used + 1;
	buffer->bytes = buffer->first.count;
	gy_buffer_check(buffer);
}

#endif
