/*
 * The stages of an acceptor and of a dial: which steps there are, and how they are printed.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "net/connect/dial.h"
#include "net/listen/acceptor.h"

static bool acceptor_may_go(int from, int to)
{
	return gy_acceptor_stage_is_allowed((enum gy_acceptor_stage)from,
					    (enum gy_acceptor_stage)to);
}

Test(acceptor_stage, a_socket_that_is_elsewhere_or_closed_does_not_come_back)
{
	for (int to = 0; to <= GY_ACCEPTOR_STAGES; to++) {
		cr_expect_not(acceptor_may_go(GY_ACCEPTOR_LEFT, to));
		cr_expect_not(acceptor_may_go(GY_ACCEPTOR_CLOSING, to));
		cr_expect_not(acceptor_may_go(GY_ACCEPTOR_STAGES, to));
	}
}

Test(acceptor_stage, an_acceptor_leaves_by_moving)
{
	cr_expect(acceptor_may_go(GY_ACCEPTOR_SERVING, GY_ACCEPTOR_MOVING));
	cr_expect(acceptor_may_go(GY_ACCEPTOR_MOVING, GY_ACCEPTOR_LEFT));
	cr_expect(acceptor_may_go(GY_ACCEPTOR_HANDED_OVER, GY_ACCEPTOR_LEFT));
	cr_expect_not(acceptor_may_go(GY_ACCEPTOR_SERVING, GY_ACCEPTOR_LEFT));
	cr_expect_not(acceptor_may_go(GY_ACCEPTOR_SERVING, GY_ACCEPTOR_HANDED_OVER));
}

Test(acceptor_stage, every_stage_has_a_name)
{
	for (int stage = 0; stage < GY_ACCEPTOR_STAGES; stage++) {
		cr_expect_not_null(gy_acceptor_stage_name((enum gy_acceptor_stage)stage));
	}
	cr_expect_str_eq(gy_acceptor_stage_name(GY_ACCEPTOR_STAGES), "no stage");
}

Test(acceptor_stage, obstacles_are_listed_in_words)
{
	char text[GY_OBSTACLES_TEXT_BYTES];

	cr_expect_str_eq(gy_obstacles_describe(0, text), "none");
	cr_expect_str_eq(gy_obstacles_describe(GY_OBSTACLE_MEMORY | GY_OBSTACLE_LIMIT, text),
			 "memory is short, a limit is reached");
	cr_expect(strstr(gy_obstacles_describe((1U << GY_OBSTACLES) - 1, text),
			 "the kernel lacks something") != NULL,
		  "%s", text);
}

Test(dial_stage, a_connection_opens_only_once_it_is_connected)
{
	for (int from = 0; from <= GY_DIAL_STAGES; from++) {
		cr_expect_eq(gy_dial_stage_is_allowed((enum gy_dial_stage)from, GY_DIAL_OPEN),
			     from == GY_DIAL_CONNECTED, "%d", from);
	}
}

Test(dial_stage, what_is_given_up_stays_so)
{
	for (int to = 0; to < GY_DIAL_STAGES; to++) {
		cr_expect_not(gy_dial_stage_is_allowed(GY_DIAL_GIVEN_UP, (enum gy_dial_stage)to));
	}
}
