/*
 * The stages of a link: which steps there are, and how a link is described in logs.
 */
#include <criterion/criterion.h>

#include "remote/link/link.h"

Test(link_stage, an_open_link_has_greeted_before)
{
	cr_expect(gy_link_stage_is_allowed(GY_LINK_STAGE_AWAITS_HELLO, GY_LINK_STAGE_OPEN));
	cr_expect(gy_link_stage_is_allowed(GY_LINK_STAGE_AWAITS_PROOF, GY_LINK_STAGE_OPEN));
	cr_expect(gy_link_stage_is_allowed(GY_LINK_STAGE_AWAITS_ORDER, GY_LINK_STAGE_OPEN));
	cr_expect_not(gy_link_stage_is_allowed(GY_LINK_STAGE_UNCONNECTED, GY_LINK_STAGE_OPEN));
	cr_expect_not(gy_link_stage_is_allowed(GY_LINK_STAGE_ENDED, GY_LINK_STAGE_OPEN));
}

Test(link_stage, only_an_open_link_leaves)
{
	for (int from = 0; from < GY_LINK_STAGES; from++) {
		cr_expect_eq(
			gy_link_stage_is_allowed((enum gy_link_stage)from, GY_LINK_STAGE_LEAVING),
			from == GY_LINK_STAGE_OPEN, "%s",
			gy_link_stage_name((enum gy_link_stage)from));
	}
}

Test(link_stage, every_stage_ends)
{
	for (int from = 0; from < GY_LINK_STAGE_ENDED; from++) {
		cr_expect(gy_link_stage_is_allowed((enum gy_link_stage)from, GY_LINK_STAGE_ENDED),
			  "%s", gy_link_stage_name((enum gy_link_stage)from));
	}
}

Test(link_stage, nothing_goes_from_or_to_what_is_no_stage)
{
	cr_expect_not(gy_link_stage_is_allowed(GY_LINK_STAGES, GY_LINK_STAGE_OPEN));
	cr_expect_not(gy_link_stage_is_allowed(GY_LINK_STAGE_OPEN, GY_LINK_STAGES));
	cr_expect_str_eq(gy_link_stage_name(GY_LINK_STAGES), "no stage");
}

Test(link_stage, a_link_is_described_by_its_side_its_stage_and_its_flags)
{
	struct gy_link link = { .stage = GY_LINK_STAGE_LEAVING, .dialled = true };
	char text[GY_LINK_TEXT_BYTES];

	cr_expect_str_eq(gy_link_describe(&link, text), "dialled, leaving");
	gy_link_set(&link, GY_LINK_FLAG_CONNECTED);
	gy_link_set(&link, GY_LINK_FLAG_ONE_WAY);
	cr_expect_str_eq(gy_link_describe(&link, text), "dialled, leaving: connected, one-way");
	gy_link_clear(&link, GY_LINK_FLAG_CONNECTED);
	gy_link_assign(&link, GY_LINK_FLAG_ONE_WAY, false);
	link.dialled = false;
	cr_expect_str_eq(gy_link_describe(&link, text), "accepted, leaving");
}

Test(link_stage, all_flags_fit_into_a_description)
{
	struct gy_link link = { .flags = (1U << GY_LINK_FLAGS) - 1 };
	char text[GY_LINK_TEXT_BYTES];

	cr_expect(strstr(gy_link_describe(&link, text), "one-way") != NULL, "%s", text);
}
