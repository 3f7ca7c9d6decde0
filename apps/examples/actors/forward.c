/*
 * Forward: a desk passes each request on to the clerk whose work it is, who answers the customer.
 *
 * The answer does not come back to the desk: the clerk answers as if the customer had asked there,
 * and the desk has forgotten the request by then. What finds nobody on its way fails at once, at
 * the customer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct receipt {
	uint32_t cents;
};
GYRE_MESSAGE(receipt, 0x100);

struct stamps {
	uint32_t count;
};
GYRE_REQUEST(stamps, 0x101, receipt);

struct parcel {
	uint32_t grams;
};
GYRE_REQUEST(parcel, 0x102, receipt);

static int sell_stamps(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, stamps, .cents = gyre_message(stack, stamps)->count * 85);
}

static const struct gyre_class clerk_class = { .name = "clerk", .behaviour.ask = sell_stamps };

struct desk {
	struct gyre_address stamps;
	struct gyre_address parcels; /* nobody works there today */
};

static int open_desk(struct gyre_stack *stack)
{
	struct desk *desk = gyre_state(stack);

	return gyre_spawn(stack, &clerk_class, GYRE_NO_ARGUMENT, NULL, &desk->stamps);
}

static int pass_on(struct gyre_stack *stack)
{
	struct desk *desk = gyre_state(stack);

	switch (gyre_message_id(stack)) {
	case GYRE_ID(stamps):
		return gyre_forward(stack, desk->stamps);
	case GYRE_ID(parcel):
		return gyre_forward(stack, desk->parcels);
	default:
		return gyre_throw(stack, -ENOSYS);
	}
}

static const struct gyre_class desk_class = { .name = "desk",
					      .state_bytes = sizeof(struct desk),
					      .mount = open_desk,
					      .behaviour.ask = pass_on };

struct frame {
	struct gyre_address desk;
	struct gyre_future stamps;
	struct gyre_future parcel;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (gyre_spawn(stack, &desk_class, GYRE_NO_ARGUMENT, NULL, &frame->desk) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	(void)gyre_ask(stack, frame->desk, gyre_new(stack, stamps, .count = 3), 0, &frame->stamps);
	(void)gyre_ask(stack, frame->desk, gyre_new(stack, parcel, .grams = 900), 0,
		       &frame->parcel);
	GYRE_AWAIT_ALL(stack, &frame->stamps, &frame->parcel);
	if (gyre_future_failed(&frame->stamps)) {
		return gyre_throw(stack, gyre_future_error(&frame->stamps));
	}
	printf("three stamps cost %u cents\n", gyre_future_get(&frame->stamps, receipt)->cents);
	printf("the parcel finds nobody: %s\n", strerror(-gyre_future_error(&frame->parcel)));
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
