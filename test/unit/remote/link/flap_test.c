/*
 * A link that breaks a thousand times under the side that has dialled it.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <gyre/outside.h>

#include "remote/stranger.h"

enum { FLAPS = 1000, EACH = 3, HANG_SECONDS = 110 };

static const struct gyre_address afar = { .slot = 5, .cookie = 6, .node = STRANGER_ID };

static void tell(uint64_t value)
{
	cr_assert_eq(gyre_system_notify(fixture.system, afar,
					gyre_system_new(fixture.system, number, value)),
		     0);
}

static uint64_t hear_number(struct stranger *stranger)
{
	uint64_t value;

	stranger_expect(stranger, GY_WIRE_NOTICE);
	cr_assert_eq(stranger->frame.bytes, sizeof(value));
	memcpy(&value, stranger->frame.body, sizeof(value));
	return value;
}

static struct gyre_node_status status(void)
{
	struct gyre_node_status status = { 0 };

	cr_assert_eq(gyre_system_node_status(fixture.system, STRANGER_ID, &status), 0);
	return status;
}

/* Some are lost each time, and counted; what comes is newer than all before. */
Test(flap, of_a_dialled_link_loses_what_was_on_its_way_and_repeats_nothing,
     .timeout = HANG_SECONDS + 1)
{
	struct stranger stranger;
	uint64_t last_received = 0;
	uint64_t told = 0;

	stranger_open(&stranger_quick);
	(void)alarm(HANG_SECONDS);
	stranger_listen(&stranger);
	for (int flap = 0; flap < FLAPS; flap++) {
		uint64_t value;

		for (int i = 0; i < EACH; i++) {
			tell(++told);
		}
		stranger_welcome(&stranger);
		value = hear_number(&stranger);
		cr_assert(value > last_received && value <= told, "%lu after %lu", value,
			  last_received);
		last_received = value;
		cr_assert_eq(close(stranger.fd), 0);
		stranger.fd = -1;
		/* It waits for the next connection, or has gone with this one. */
		while (status().links > 0) {
			(void)sched_yield();
		}
	}
	cr_expect_eq(status().lost, status().sent, "nothing was ever credited");
	cr_expect_eq(status().state, GYRE_NODE_UP, "links broke, and it came back each time");
	stranger_close(&stranger);
	fixture_close();
	cr_expect_eq(fixture.counters.to_nodes + fixture.lost[GYRE_DROP_SHUTDOWN], told);
}
