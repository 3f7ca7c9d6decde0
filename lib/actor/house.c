/*
 * The state of a house: its status, which takes the steps of gy_house_status_before(), and the
 * reasons for which lanes are closed. Both have a name for the log.
 */
#include "actor/house.h"

#include <stdio.h>

#include "actor/class_info.h"
#include "actor/home.h"
#include "actor/house_extra.h"
#include "actor/life/watch.h"
#include "actor/stack/promise_places.h"
#include "actor/stack/stack.h"

/* ---- reasons ---- */

enum {
	MAILBOX = 1 << GY_LANE_ASK | 1 << GY_LANE_NOTICE,
	EVERYTHING = GY_PENDING_CHANNELS | (GY_PENDING_CHANNELS - 1),
};

struct reason {
	const char *name;
	uint8_t lanes; /* that it closes, a bit each as in gy_house.pending */
};

/* In the order of the bits. While a hook waits, answers come in, and work of the channel floor goes
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
	{ "a failure that its parent decides about", EVERYTHING },
	{ "no memory for a notice", 1 << GY_LANE_NOTICE },
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

/* ---- the walker ---- */

/* Mail of one lane: how much of it is of the lane's own kind, and how much are ends (watch.h). */
struct lane_count {
	uint32_t own;
	uint32_t ends;
};

static struct lane_count count_lane(const struct gy_house *house, enum gy_lane lane)
{
	const struct gy_node *last = house->lanes[lane];
	struct gy_node *node = house->lanes[lane];
	struct lane_count count = { 0 };

	gy_assert((last != NULL) == ((house->pending >> lane & 1) != 0));
	while (node != NULL) {
		bool own = gy_mail_lane(gy_mail_of(node)) == lane;

		gy_assert(own || node->kind == GY_MAIL_EVENT);
		count.own += own;
		count.ends += !own;
		node = node->next == last ? NULL : node->next;
	}
	return count;
}

/* The promises of suspended stacks are all that are outstanding. */
static void check_stacks(const struct gy_house *house)
{
	const struct gy_list *item = house->suspended.next;
	uint32_t outstanding = 0;

	for (; item != &house->suspended; item = item->next) {
		const struct gy_stack *stack = gy_container_of(item, const struct gy_stack, item);
		const struct gy_promise *previous = NULL;
		const struct gy_promise *promise = stack->outstanding;

		gy_assert(item->next->previous == item);
		gy_assert(stack->house == house && stack->home == house->home && stack->suspended);
		for (; promise != NULL; promise = promise->next) {
			gy_assert(promise->stack == stack && promise->house == house &&
				  promise->previous == previous && !gy_promise_is_done(promise));
			previous = promise;
			outstanding++;
		}
	}
	gy_assert(outstanding == house->outstanding);
}

void gy_house_check(const struct gy_house *house)
{
	const struct gy_house_extra *extra = house->extra;
	struct lane_count lanes[GY_LANES];
	uint32_t held = 0;

	gy_assert(house->status != GY_HOUSE_RUNNING && !gy_house_is_away(house));
	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		lanes[lane] = count_lane(house, (enum gy_lane)lane);
		held += lane == GY_LANE_EVENT ? 0 : lanes[lane].ends;
	}
	gy_assert(house->closed == gy_house_lanes_of(house->reasons));
	gy_assert((house->reasons & GY_CLOSED_BY_FIRST) == 0);
	gy_assert((held > 0) == ((house->passed_over & GY_ENDS_HELD) != 0));
	gy_assert(held == 0 || held == extra->watch->held);
	gy_assert(house->replies == lanes[GY_LANE_REPLY].own + lanes[GY_LANE_REPLY].ends +
					    lanes[GY_LANE_EXCEPTION].own +
					    lanes[GY_LANE_EXCEPTION].ends);
	gy_assert(house->events == lanes[GY_LANE_EVENT].own);
	gy_assert(house->limit == 0 ||
		  house->waiting == lanes[GY_LANE_ASK].own + lanes[GY_LANE_NOTICE].own);
	gy_assert(((house->reasons & GY_CLOSED_BY_BARRIER) != 0) ==
		  (extra != NULL && extra->barrier != NULL));
	gy_assert(!house->plain || house->limit == 0);
	check_stacks(house);
}
