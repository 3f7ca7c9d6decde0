/*
 * Swapping the behaviour of an actor, there and back.
 */
#include "fixture.h"

struct frame {
	struct gyre_future future;
};

static int be_angry(struct gyre_stack *stack);
static int be_slow(struct gyre_stack *stack);

static const struct gyre_behaviour angry = { .notice = be_angry };
static const struct gyre_behaviour slow = { .notice = be_slow };
static const struct gyre_behaviour deaf = { .ask = be_angry };

static int be_calm(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	trace('c');
	switch (value) {
	case 1:
		expect(gyre_become(stack, &slow) == 0);
		expect(gyre_become(stack, &angry) == 0);
		trace('-'); /* still this handler */
		break;
	case 2:
		expect(gyre_become(stack, &slow) == 0);
		break;
	case 3:
		expect(gyre_become(stack, &deaf) == 0);
		break;
	case 9:
		return fixture_end(stack);
	default:
		break;
	}
	return gyre_return(stack);
}

static int be_angry(struct gyre_stack *stack)
{
	trace('a');
	gyre_unbecome(stack);
	return gyre_return(stack);
}

static int be_slow(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	trace('s');
	gyre_unbecome(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	trace('S');
	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 9)) == 0);
	GYRE_END(stack);
}

static const struct gyre_class moody_class = {
	.name = "moody",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = be_calm,
};

static void send(struct gyre_stack *stack, const char *values)
{
	struct gyre_address to = spawn_here(stack, &moody_class);

	for (; *values != '\0'; values++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)(*values - '0'))) ==
		       0);
	}
}

static int change_and_back(struct gyre_stack *stack)
{
	send(stack, "0105509");
	return gyre_return(stack);
}

Test(become, takes_effect_with_the_next_message_and_back_with_unbecome)
{
	play(1, change_and_back);
	cr_assert_str_eq(traced, "cc-acccc");
}

static int change_while_waiting(struct gyre_stack *stack)
{
	send(stack, "205");
	return gyre_return(stack);
}

Test(become, leaves_a_suspended_message_to_the_handler_it_began_with)
{
	play_steady(change_while_waiting);
	cr_assert_str_eq(traced, "cscSc");
}

static int change_to_deaf(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	send(stack, "3000");
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(become, something_without_a_handler_makes_messages_dead_letters)
{
	play_steady(change_to_deaf);
	cr_assert_str_eq(traced, "c");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 3);
}
