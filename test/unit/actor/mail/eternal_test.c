/*
 * An actor that never runs out of notices shuts nobody out.
 */
#include "actor/puppet_kit.h"

#include <gyre/timer.h>

#include "fixture.h"

enum { ROUNDS = 50, OWN_ROUNDS_MIN = 1000 };

static uint32_t eternal_rounds;
static uint32_t others_heard;
static uint32_t timer_heard;

static int go_on_for_ever(struct gyre_stack *stack)
{
	eternal_rounds++;
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, eternal_rounds));
	return gyre_return(stack);
}

static const struct gyre_class eternal_class = { .name = "eternal",
						 .mount = go_on_for_ever,
						 .behaviour.notice = go_on_for_ever };

static int hear(struct gyre_stack *stack)
{
	others_heard++;
	return gyre_reply(stack, gyre_new(stack, number, others_heard));
}

static int hear_timer(struct gyre_stack *stack)
{
	timer_heard++;
	return gyre_return(stack);
}

static int start_periodic(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .period_ns = GYRE_MILLISECONDS(1) };

	return gyre_timer_start(stack, 1, &options);
}

static const struct gyre_class heard_class = {
	.name = "heard",
	.mount = start_periodic,
	.behaviour = { .ask = hear, .event = hear_timer },
};

static void live_beside_it(struct gyre_test *test)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	struct gyre_address other;

	(void)puppet_spawn(test, &eternal_class, 0);
	(void)puppet_spawn(test, &eternal_class, 0);
	other = puppet_spawn(test, &heard_class, 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		(void)gyre_probe_ask(probe, other, gyre_test_new(test, number, 1), 0);
		(void)gyre_probe_expect(probe, number, GYRE_SECONDS(1));
	}
	while (timer_heard < 3 || eternal_rounds < OWN_ROUNDS_MIN) {
		gyre_test_advance(test, GYRE_MILLISECONDS(1));
	}
	cr_assert_eq(others_heard, ROUNDS);
}

static const struct gyre_system_options fifty = { .loops = 1,
						  .io_ratio = 50,
						  HEARD_FROM(GYRE_LOG_WARNING) };
static const struct gyre_system_options hundred = { .loops = 1,
						    .io_ratio = 100,
						    HEARD_FROM(GYRE_LOG_WARNING) };

KIT_TEST_WITH(dispatch, of_an_actor_that_writes_to_itself_for_ever_shuts_nobody_out, &fifty)
{
	live_beside_it(test);
}

KIT_TEST_WITH(dispatch,
	      of_an_actor_that_writes_to_itself_for_ever_shuts_nobody_out_without_a_deadline,
	      &hundred)
{
	live_beside_it(test);
}
