/* The state of a channel: its stages and their steps, its printer, and the check of combinations.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "channel/channel_state.h"
#include "codec/codec_rig.h"

static const enum gy_channel_stage stages[] = {
	GY_CHANNEL_NEW,	    GY_CHANNEL_OPEN,	GY_CHANNEL_DRAINING,
	GY_CHANNEL_CLOSING, GY_CHANNEL_ABORTED, GY_CHANNEL_CLOSED,
};

static const char *print(uint32_t state)
{
	static char text[GY_CHANNEL_STATE_TEXT_BYTES];

	return gy_channel_state_print(state, text, sizeof(text));
}

Test(channel_state, has_no_step_back_and_none_that_stays)
{
	for (size_t i = 0; i < gy_countof(stages); i++) {
		for (size_t j = 0; j <= i; j++) {
			cr_expect_not(gy_channel_stage_may_follow(stages[i], stages[j]));
		}
	}
}

Test(channel_state, closes_only_what_is_closing_or_aborted)
{
	for (size_t i = 0; i < gy_countof(stages); i++) {
		bool ending = stages[i] == GY_CHANNEL_CLOSING || stages[i] == GY_CHANNEL_ABORTED;

		cr_expect_eq(gy_channel_stage_may_follow(stages[i], GY_CHANNEL_CLOSED), ending);
	}
}

Test(channel_state, may_be_aborted_until_it_is_closed)
{
	for (size_t i = 0; i < gy_countof(stages); i++) {
		cr_expect_eq(gy_channel_stage_may_follow(stages[i], GY_CHANNEL_ABORTED),
			     stages[i] < GY_CHANNEL_ABORTED);
	}
	cr_expect_not(gy_channel_stage_may_follow((enum gy_channel_stage)3, GY_CHANNEL_ABORTED));
}

Test(channel_state, tells_the_late_stages_by_the_bits_of_the_masks)
{
	for (size_t i = 0; i < gy_countof(stages); i++) {
		cr_expect_eq((stages[i] & GY_CHANNEL_ENDING) != 0, stages[i] >= GY_CHANNEL_CLOSING);
		cr_expect_eq((stages[i] & GY_CHANNEL_DISCARDING) != 0,
			     stages[i] >= GY_CHANNEL_DRAINING);
	}
}

Test(channel_state, gives_each_bit_to_one_group)
{
	const uint32_t groups[] = { GY_CHANNEL_STAGE, GY_NO_READ_REASONS, GY_INPUT_FLAGS,
				    GY_OUTPUT_FLAGS,  GY_EVENT_FLAGS,	  GY_CHANNEL_TRAITS };
	uint32_t seen = 0;

	for (size_t i = 0; i < gy_countof(groups); i++) {
		cr_expect_eq(seen & groups[i], 0);
		seen |= groups[i];
	}
	cr_expect_eq(seen, UINT32_MAX >> 1);
}

Test(channel_state, is_printed_with_the_names_of_all_that_is_set)
{
	cr_expect_str_eq(print(GY_CHANNEL_OPEN), "open");
	cr_expect_str_eq(print(GY_CHANNEL_NEW | GY_EVENT_ACTIVE), "new events:active");
	cr_expect_str_eq(print(GY_CHANNEL_CLOSING | GY_NO_READ_PAUSED | GY_NO_READ_FULL |
			       GY_OUTPUT_CANCELLED | GY_INPUT_CANCELLED),
			 "closing no-read:paused,full input:cancelled output:cancelled");
	cr_expect_str_eq(print(3), "?");
}

Test(channel_state, is_printed_whole_when_all_is_set_and_cut_when_there_is_no_room)
{
	char text[8];
	const char *all = print(UINT32_MAX >> 1);
	size_t names = 0;

	for (const char *at = all; (at = strpbrk(at, ":,")) != NULL; at++) {
		names++;
	}
	cr_expect_eq(names, 28, "%s", all);
	cr_expect_str_eq(all + strlen(all) - strlen("by-kind"), "by-kind");
	cr_expect_str_eq(
		gy_channel_state_print(GY_CHANNEL_DRAINING | GY_INPUT_ENDED, text, sizeof(text)),
		"drainin");
}

/* ---- a step that is not allowed ---- */

#if GY_ASSERT_LEVEL >= 2

static struct codec_rig rig;

static void prepare(void)
{
	codec_rig_init(&rig);
	gy_list_init(&rig.channel.waiter);
	gy_timer_init(&rig.channel.linger, NULL);
}

Test(channel_state, aborts_the_program_at_a_step_back, .init = prepare, .signal = SIGABRT)
{
	gy_channel_set_stage(&rig.channel, GY_CHANNEL_NEW);
}

Test(channel_state, aborts_when_a_flag_is_set_as_one_of_another_group, .init = prepare,
     .signal = SIGABRT)
{
	gy_channel_set_input(&rig.channel, GY_OUTPUT_SHUTDOWN, 0);
}

#endif
