/*
 * A notice that finds no memory while its actor is away: it waits at home for a moment, as any that
 * lacks memory, so that the actor is not stolen again and again for it. In a model, whose clock
 * stands still.
 */
#include "actor/memory_retry.h"
#include "actor/model.h"
#include "actor/steal_actor.h"

enum { FIRST = 1, KEPT };

/* The thief has no memory for the second. */
static int lack_when_away(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;
	struct gy_stack *s = gy_stack_of(stack);

	trace(value == FIRST ? 'f' : 'k');
	if (value == FIRST) {
		struct gyre_mail *mail = gyre_new(stack, number, KEPT);

		expect(s->home->loop.index != gyre_self(stack).loop);
		mail->node.kind = GY_MAIL_NOTICE;
		gy_mail_from_nobody(mail);
		gy_count(&s->home->counters.sent, 1);
		gy_house_keep(s->house, mail);
	}
	return gyre_return(stack);
}

Test(theft, of_an_actor_whose_notice_lacks_memory_has_it_wait_at_home_for_a_moment)
{
	static const struct gyre_class class = { .name = "lacking",
						 .behaviour.notice = lack_when_away };
	struct gyre_address address;
	struct gy_house *house;

	model_open(2);
	address = model_spawn(&class, 0);
	house = model_house(address);
	model_put(address, GY_LANE_NOTICE, FIRST);
	cr_assert_eq(gy_queue_pop(&model.home[0].loop.state), &house->job);
	cr_assert(gy_house_seal(&model.home[0].loop, &house->job));
	gy_house_run_stolen(&model.home[1].loop, &house->job);
	model_settle();
	cr_expect_str_eq(traced, "f", "it spins");
	cr_expect_eq(house->status, GY_HOUSE_WAITING);
	model_advance(GYRE_MILLISECONDS(2));
	cr_expect_str_eq(traced, "fk");
	model_close();
}
