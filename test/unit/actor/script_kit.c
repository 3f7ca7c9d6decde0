#include "script_kit.h"

static struct gyre_class script_class = {
	.name = "script",
	.frame_bytes = SCRIPT_FRAME_BYTES,
};

void script_play(struct gyre_test *test, gyre_handler_fn script)
{
	script_class.mount = script;
	(void)gyre_test_spawn(test, &script_class, GYRE_NO_ARGUMENT);
	gyre_test_advance(test, GYRE_SECONDS(1));
}

struct gyre_address script_spawn(struct gyre_stack *stack, const struct gyre_class *class)
{
	struct gyre_address address = GYRE_NOBODY;

	cr_assert_eq(gyre_spawn(stack, class, GYRE_NO_ARGUMENT, NULL, &address), 0);
	return address;
}

void script_tell(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	cr_assert_eq(gyre_notify(stack, to, gyre_new(stack, number, value)), 0);
}

void script_tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != '\0'; letters++) {
		script_tell(stack, to, (uint64_t)*letters);
	}
}

uint64_t script_messages_sent(struct gyre_stack *stack)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(gyre_system_of(stack), &counters), 0);
	return counters.sent;
}

/* ---- who answers, and who does not ---- */

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

const struct gyre_class script_answering_class = { .name = "answering", .behaviour.ask = answer };

uint32_t script_mute_asks;

struct mute_frame {
	struct gyre_future never;
};

static int keep_waiting(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	script_mute_asks++;
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER,
				     &((struct mute_frame *)gyre_frame(stack))->never));
	GYRE_END(stack);
}

const struct gyre_class script_mute_class = {
	.name = "mute",
	.frame_bytes = sizeof(struct mute_frame),
	.behaviour.ask = keep_waiting,
};
