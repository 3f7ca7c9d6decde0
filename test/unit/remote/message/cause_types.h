/*
 * Messages that failures carry between nodes: one that both nodes know, one that only this one
 * does, and one that owns something, so that it does not travel.
 */
#ifndef TEST_UNIT_REMOTE_MESSAGE_CAUSE_TYPES_H
#define TEST_UNIT_REMOTE_MESSAGE_CAUSE_TYPES_H

#include <gyre/message.h>

#include "base/atomic.h"

struct why {
	uint32_t code;
};
GYRE_MESSAGE(why, 0x1120);

struct secret {
	uint32_t code;
};
GYRE_MESSAGE(secret, 0x1121);

struct held {
	uint64_t value;
};

static uint32_t destroyed; /* atomic */

static inline void destroy_held(struct held *held)
{
	(void)gy_fetch_add(&destroyed, held->value != 0);
}
GYRE_MESSAGE_OWNING(held, 0x1122, destroy_held);

#endif
