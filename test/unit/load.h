/*
 * A message that owns something, of which the ends are counted.
 */
#ifndef TEST_UNIT_LOAD_H
#define TEST_UNIT_LOAD_H

#include <gyre/message.h>

static uint32_t destroyed;

struct load {
	uint64_t weight;
};

static inline void destroy_load(struct load *load)
{
	destroyed += load->weight != 0;
}
GYRE_MESSAGE_OWNING(load, 0x1021, destroy_load);

#endif
