/*
 * Budget: a customer waits 300 ms, and what the shop asks in turn gets no more than is left of it.
 *
 * The shop names no time-out when it asks the store, so that ask ends when the customer's does,
 * though the default is 5 seconds. What the shop would do after that is not worth doing.
 */
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct item {
	uint32_t number;
};
GYRE_MESSAGE(item, 0x100);

struct item_wanted {
	uint32_t number;
};
GYRE_REQUEST(item_wanted, 0x101, item);

struct work_frame {
	struct gyre_address store;
	struct gyre_future future;
};

static int search(struct gyre_stack *stack)
{
	struct work_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	printf("the store had %s\n", gyre_time_left(stack) < GYRE_SECONDS(1)
					     ? "some of the 300 ms left"
					     : "all the time in the world");
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(100), &frame->future));
	return gyre_reply_to(stack, item_wanted, 1);
	GYRE_END(stack);
}

static const struct gyre_class store_class = { .name = "store",
					       .frame_bytes = sizeof(struct work_frame),
					       .behaviour.ask = search };

static int sell(struct gyre_stack *stack)
{
	struct work_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gyre_spawn(stack, &store_class, GYRE_NO_ARGUMENT, NULL, &frame->store);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->store, gyre_new(stack, item_wanted, 1), 0,
				   &frame->future));
	printf("the work that nobody waits for was %s\n",
	       gyre_is_awaited(stack) ? "done" : "not done");
	return gyre_throw(stack, gyre_future_error(&frame->future));
	GYRE_END(stack);
}

static const struct gyre_class shop_class = { .name = "shop",
					      .frame_bytes = sizeof(struct work_frame),
					      .behaviour.ask = sell };

struct frame {
	struct gyre_address shop;
	struct gyre_future item;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gyre_spawn(stack, &shop_class, GYRE_NO_ARGUMENT, NULL, &frame->shop);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->shop, gyre_new(stack, item_wanted, 1),
				   GYRE_MILLISECONDS(300), &frame->item));
	printf("the shop gave up: %s\n", strerror(-gyre_future_error(&frame->item)));
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->shop, GYRE_SECONDS(10), &frame->item));
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
