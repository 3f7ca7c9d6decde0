/*
 * Damage to a buffer.
 */
#include "buffer/buffer.h"

#include "walkers.h"

enum { PAGE_BYTES = 64 };

static unsigned char memory[2][GY_POOL_HEAD_BYTES + PAGE_BYTES];
static struct gy_page pages[2];
static struct gy_slice second;
static struct gyre_buffer buffer;

/* Of five bytes: three of one page, one of them in its head, and two of another. */
static void fill(void)
{
	for (size_t i = 0; i < 2; i++) {
		pages[i].memory = memory[i] + GY_POOL_HEAD_BYTES;
		pages[i].references = 1;
		pages[i].bytes = PAGE_BYTES;
		pages[i].used = 2;
	}
	buffer.first.bytes = pages[0].memory - 1;
	buffer.first.page = &pages[0];
	buffer.first.count = 3;
	buffer.first.next = &second;
	second.bytes = pages[1].memory;
	second.page = &pages[1];
	second.count = 2;
	buffer.last = &second;
	buffer.bytes = 5;
}

static void counts_a_byte_that_no_slice_has(bool damaged)
{
	fill();
	buffer.bytes += damaged;
	gy_buffer_check(&buffer);
}

static void has_a_last_slice_that_is_not_the_last(bool damaged)
{
	fill();
	buffer.last = damaged ? &buffer.first : &second;
	gy_buffer_check(&buffer);
}

static void has_a_slice_of_a_page_that_nobody_has(bool damaged)
{
	fill();
	pages[1].references -= damaged;
	gy_buffer_check(&buffer);
}

static void has_a_slice_beyond_what_its_page_gave_away(bool damaged)
{
	fill();
	second.count += damaged;
	buffer.bytes += damaged;
	gy_buffer_check(&buffer);
}

static void has_a_slice_before_the_head_of_its_page(bool damaged)
{
	fill();
	buffer.first.bytes -= damaged ? GY_POOL_HEAD_BYTES : 0;
	gy_buffer_check(&buffer);
}

static void has_a_slice_of_no_bytes(bool damaged)
{
	fill();
	second.count -= damaged ? 2 : 0;
	buffer.bytes -= damaged ? 2 : 0;
	gy_buffer_check(&buffer);
}

static void has_a_peer_in_its_second_slice(bool damaged)
{
	fill();
	second.peer = damaged;
	gy_buffer_check(&buffer);
}

static void is_empty_and_has_bytes(bool damaged)
{
	buffer.last = &buffer.first;
	buffer.bytes = damaged;
	gy_buffer_check(&buffer);
}

const struct walker_case buffer_cases[] = {
	{ "buffer: a byte is in no slice", counts_a_byte_that_no_slice_has },
	{ "buffer: the last slice is not the last", has_a_last_slice_that_is_not_the_last },
	{ "buffer: nobody has the page of a slice", has_a_slice_of_a_page_that_nobody_has },
	{ "buffer: a slice ends behind what was given away",
	  has_a_slice_beyond_what_its_page_gave_away },
	{ "buffer: a slice begins before its page", has_a_slice_before_the_head_of_its_page },
	{ "buffer: a slice has no bytes", has_a_slice_of_no_bytes },
	{ "buffer: a slice that is not the first has a peer", has_a_peer_in_its_second_slice },
	{ "buffer: it is empty and has bytes", is_empty_and_has_bytes },
	{ 0 },
};
