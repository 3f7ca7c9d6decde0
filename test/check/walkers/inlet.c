/*
 * Damage to an inlet of a stream.
 */
#include "stream/port.h"

#include "walkers.h"

static struct gyre_type type = { .name = "element", .id = 0x1000, .bytes = 8 };
static struct gy_block blocks[2];
static struct gy_inlet inlet;

/* Ten elements have come: two are taken, of the first block three wait, and of the second five. */
static void fill(void)
{
	for (size_t i = 0; i < 2; i++) {
		blocks[i] = (struct gy_block){ .type = &type, .count = 5, .weight = 40 };
	}
	blocks[0].first = 2;
	blocks[0].next = &blocks[1];
	inlet.port.stage.type = &type;
	inlet.port.passed = 10;
	inlet.port.passed_bytes = 80;
	inlet.port.granted = 12;
	inlet.taken = 2;
	inlet.taken_bytes = 16;
	inlet.oldest = &blocks[0];
	inlet.newest = &blocks[1];
}

static void counts_an_element_that_no_block_has(bool damaged)
{
	fill();
	inlet.port.passed += damaged;
	gy_inlet_check(&inlet);
}

static void has_a_newest_block_that_is_not_the_last(bool damaged)
{
	fill();
	inlet.newest = damaged ? &blocks[0] : &blocks[1];
	gy_inlet_check(&inlet);
}

static void has_a_block_that_was_taken(bool damaged)
{
	fill();
	blocks[0].first = damaged ? 5 : 2;
	inlet.taken = damaged ? 5 : 2;
	gy_inlet_check(&inlet);
}

static void has_got_more_than_it_has_granted(bool damaged)
{
	fill();
	inlet.port.granted = damaged ? 9 : 12;
	gy_inlet_check(&inlet);
}

static void has_taken_more_bytes_than_have_come(bool damaged)
{
	fill();
	inlet.taken_bytes = damaged ? 81 : 16;
	gy_inlet_check(&inlet);
}

const struct walker_case inlet_cases[] = {
	{ "inlet: an element is in no block", counts_an_element_that_no_block_has },
	{ "inlet: the newest block is not the last", has_a_newest_block_that_is_not_the_last },
	{ "inlet: a block has no element left", has_a_block_that_was_taken },
	{ "inlet: more has come than was granted", has_got_more_than_it_has_granted },
	{ "inlet: more bytes were taken than have come", has_taken_more_bytes_than_have_come },
	{ 0 },
};
