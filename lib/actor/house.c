/*
 * The state of a house: its status, which takes the steps of gy_house_status_before(), and the
 * reasons for which lanes are closed. Both have a name for the log.
 */
#include "actor/house.h"

#include <stdio.h>

#include "actor/class_info.h"

/* ---- reasons ---- */

enum {
	MAILBOX = 1 << GY_LANE_ASK | 1 << GY_LANE_NOTICE,
	EVERYTHING = GY_PENDING_CHANNELS | (GY_PENDING_CHANNELS - 1),
};

struct reason {
	const char *name;
	uint8_t lanes; /* that it closes, a bit each as in gy_house.pending */
};

/* By bit number. While a hook waits, its answers come in, and the work of the channel floor goes
 * on, since the hook may wait for a file. */
static const struct reason reasons_by_bit[] = {
	{ "a barrier", MAILBOX },
	{ "a graceful stop", MAILBOX },
	{ "a hook", MAILBOX | 1 << GY_LANE_EVENT },
	{ "a restart", EVERYTHING },
	{ "an ask put first", 1 << GY_LANE_ASK },
	{ "a notice put first", 1 << GY_LANE_NOTICE },
	{ "no memory for an event", 1 << GY_LANE_EVENT },
	{ "no memory for its channels", GY_PENDING_CHANNELS },
	{ "a stop", EVERYTHING },
};

_Static_assert((1U << gy_countof(reasons_by_bit)) - 1 == GY_CLOSED_REASONS, "each has a row");

uint8_t gy_house_lanes_of(uint32_t reasons)
{
	uint8_t lanes = 0;

	gy_assert((reasons & ~(uint32_t)GY_CLOSED_REASONS) == 0);
	for (; reasons != 0; reasons &= reasons - 1) {
		lanes |= reasons_by_bit[__builtin_ctz(reasons)].lanes;
	}
	return lanes;
}

static void set_reasons(struct gy_house *house, uint32_t reasons)
{
	house->reasons = (uint16_t)reasons;
	house->closed = gy_house_lanes_of(reasons);
}

void gy_house_add_reason(struct gy_house *house, uint32_t reasons)
{
	set_reasons(house, house->reasons | reasons);
}

void gy_house_remove_reason(struct gy_house *house, uint32_t reasons)
{
	gy_assert((reasons & GY_CLOSED_BY_STOP) == 0);
	set_reasons(house, house->reasons & ~reasons);
}

/* ---- names ---- */

static const char *const status_names[] = {
	[GY_HOUSE_FREE] = "free",
	[GY_HOUSE_CREATED] = "created",
	[GY_HOUSE_MOUNTING] = "mounting",
	[GY_HOUSE_WAITING] = "waiting",
	[GY_HOUSE_READY] = "ready",
	[GY_HOUSE_SCHEDULED] = "scheduled",
	[GY_HOUSE_RUNNING] = "running",
	[GY_HOUSE_STOPPING] = "stopping",
	[GY_HOUSE_STATUSES] = "(no status)",
};

static const char *status_name(uint32_t status)
{
	return status_names[status < GY_HOUSE_STATUSES ? status : GY_HOUSE_STATUSES];
}

const char *gy_house_describe(const struct gy_house *house, char text[GY_HOUSE_TEXT_BYTES])
{
	int bytes = snprintf(text, GY_HOUSE_TEXT_BYTES, "%s", status_name(house->status));

	for (uint32_t left = house->reasons & GY_CLOSED_REASONS; left != 0; left &= left - 1) {
		const char *before = left == house->reasons ? ", closed by " : ", ";

		bytes += snprintf(text + bytes, GY_HOUSE_TEXT_BYTES - (size_t)bytes, "%s%s", before,
				  reasons_by_bit[__builtin_ctz(left)].name);
	}
	return text;
}

void gy_house_step_refused(const struct gy_house *house, enum gy_house_status to)
{
	char state[GY_HOUSE_TEXT_BYTES];
	char text[2 * GY_HOUSE_TEXT_BYTES];

	(void)snprintf(text, sizeof(text), "actor %s[%u:%u] is %s, and cannot become %s",
		       house->class_info == NULL ? "(none)" : house->class_info->name,
		       (unsigned)house->self.loop, (unsigned)house->self.slot,
		       gy_house_describe(house, state), status_name(to));
	gy_assert_failed(text, __FILE__, __LINE__);
}
