/*
 * Stopping: a shop finishes its work before it closes, and its clerk goes before it does.
 *
 * A graceful stop handles the messages that wait, and takes no more; a deadline bounds it. The
 * children of an actor always end before it. The clean hook of each is its last call.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { ORDERS = 3 };

struct order {
	uint32_t number;
};
GYRE_MESSAGE(order, 0x100);

static void end_clerk(void *state)
{
	(void)state;
	printf("the clerk goes\n");
}

static const struct gyre_class clerk_class = { .name = "clerk", .clean = end_clerk };

static int open_shop(struct gyre_stack *stack)
{
	struct gyre_address clerk;

	return gyre_spawn(stack, &clerk_class, GYRE_NO_ARGUMENT, NULL, &clerk);
}

static int pack(struct gyre_stack *stack)
{
	struct gyre_future *packed = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), packed));
	printf("order %" PRIu32 " is packed\n", gyre_message(stack, order)->number);
	GYRE_END(stack);
}

static void close_shop(void *state)
{
	(void)state;
	printf("the shop is closed\n");
}

static const struct gyre_class shop_class = { .name = "shop",
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = open_shop,
					      .behaviour.notice = pack,
					      .clean = close_shop };

struct frame {
	struct gyre_future closed;
	struct gyre_address shop;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = gyre_spawn(stack, &shop_class, GYRE_NO_ARGUMENT, NULL, &frame->shop);
	for (uint32_t i = 1; i <= ORDERS && r == 0; i++) {
		r = gyre_notify(stack, frame->shop, gyre_new(stack, order, i));
	}
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->shop, GYRE_SECONDS(10), &frame->closed));
	r = gyre_notify(stack, frame->shop, gyre_new(stack, order, ORDERS + 1));
	printf("another order: %s\n", strerror(-r));
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
