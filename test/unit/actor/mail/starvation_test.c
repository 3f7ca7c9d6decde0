/*
 * What high priority is good for, and where it ends: how often an actor is passed over by others.
 */
#include "actor/puppet_kit.h"

enum { HIGH = 200, NORMAL = 2, FIRST_NORMAL = 500 };

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

/* What was handled, in order. */
static uint64_t noted[HIGH + NORMAL];
static uint32_t noted_count;

static struct gyre_address normal[NORMAL];
static struct gyre_address high[HIGH];

static int note(struct gyre_stack *stack)
{
	const struct call *call = gyre_message(stack, call);

	if (call != NULL) {
		return call->function(stack);
	}
	cr_assert_lt(noted_count, (uint32_t)(HIGH + NORMAL));
	noted[noted_count++] = gyre_message(stack, number)->value;
	return gyre_return(stack);
}

static const struct gyre_class class = {
	.name = "noting",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = note,
};

/* Who waits for something is not of high priority. */
static int wait_for_ever(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

/* All wait at once, those of normal priority first. */
static int tell_all(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < NORMAL; i++) {
		(void)gyre_notify(stack, normal[i], gyre_new(stack, number, FIRST_NORMAL + i));
	}
	for (uint32_t i = 0; i < HIGH; i++) {
		(void)gyre_notify(stack, high[i], gyre_new(stack, number, i));
	}
	return 0;
}

/* Where the two of normal priority come in the order of all. */
static void assert_places(struct gyre_test *test, uint32_t limit)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	for (uint32_t i = 0; i < NORMAL; i++) {
		normal[i] = puppet_spawn(test, &class, 0);
		puppet_call(test, normal[i], wait_for_ever);
	}
	for (uint32_t i = 0; i < HIGH; i++) {
		high[i] = puppet_spawn(test, &class, 0);
	}
	settle(test);
	cr_assert_eq(gyre_probe_do(probe, tell_all, NULL), 0);
	settle(test);
	cr_assert_eq(noted_count, HIGH + NORMAL);
	cr_assert_eq(noted[limit], FIRST_NORMAL);
	cr_assert_eq(noted[2 * limit + 1], FIRST_NORMAL + 1);
	for (uint32_t i = 0; i < limit; i++) {
		cr_assert_eq(noted[i], i);
	}
}

static const struct gyre_system_options one_loop = { .loops = 1, HEARD_FROM(GYRE_LOG_WARNING) };
static const struct gyre_system_options seven = { .loops = 1,
						  .starvation_limit = 7,
						  HEARD_FROM(GYRE_LOG_WARNING) };

KIT_TEST_WITH(priority, passes_an_actor_over_64_times_and_no_more, &one_loop)
{
	assert_places(test, 64);
}

KIT_TEST_WITH(priority, passes_an_actor_over_as_often_as_the_option_says, &seven)
{
	assert_places(test, 7);
}
