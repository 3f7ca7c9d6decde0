/*
 * The cookies of addresses, from a seed that the test sets.
 */
#include "actor/model.h"

#include "actor/mail/mailbox.h"

Test(lifecycle, of_a_slot_never_has_the_cookie_of_nobody)
{
	struct gyre_address actor;

	model_home_options.cookie_seed = UINT32_MAX - 5;
	model_open(1);
	for (uint32_t i = 0; i < 10; i++) {
		actor = model_spawn(&sink_class, 0);
		cr_assert_eq(actor.slot, 0);
		cr_assert_neq(actor.cookie, 0);
		gy_house_request_stop(model_house(actor), 0);
		model_settle();
	}
	model_close();
}
