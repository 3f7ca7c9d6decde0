/*
 * Swapping the behaviour of an actor, there and back.
 */
#include "actor/script_kit.h"

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
	mark('c');
	switch ((char)gyre_message(stack, number)->value) {
	case '1':
		cr_assert_eq(gyre_become(stack, &slow), 0);
		cr_assert_eq(gyre_become(stack, &angry), 0);
		mark('-'); /* still this handler */
		break;
	case '2':
		cr_assert_eq(gyre_become(stack, &slow), 0);
		break;
	case '3':
		cr_assert_eq(gyre_become(stack, &deaf), 0);
		break;
	default:
		break;
	}
	return gyre_return(stack);
}

static int be_angry(struct gyre_stack *stack)
{
	mark('a');
	gyre_unbecome(stack);
	return gyre_return(stack);
}

static int be_slow(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	mark('s');
	gyre_unbecome(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	mark('S');
	script_tell(stack, gyre_self(stack), '9');
	GYRE_END(stack);
}

static const struct gyre_class moody_class = {
	.name = "moody",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = be_calm,
};

static const char *words;

static int send(struct gyre_stack *stack)
{
	script_tell_all(stack, script_spawn(stack, &moody_class), words);
	return gyre_return(stack);
}

KIT_TEST(become, takes_effect_with_the_next_message_and_back_with_unbecome)
{
	words = "0105509";
	script_play(test, send);
	expect_marks("cc-acccc");
}

KIT_TEST(become, leaves_a_suspended_message_to_the_handler_it_began_with)
{
	words = "205";
	script_play(test, send);
	expect_marks("cscSc");
}

KIT_TEST(become, something_without_a_handler_makes_messages_dead_letters)
{
	words = "3000";
	script_play(test, send);
	expect_marks("c");
	for (int i = 0; i < 3; i++) {
		(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_UNHANDLED, 0);
	}
}
