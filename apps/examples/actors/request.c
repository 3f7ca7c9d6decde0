/*
 * Requests: two shops are asked at the same time, and one of them is too slow.
 *
 * A request says of what type its answer is, so that the compiler checks both ends. Every ask ends:
 * with the answer, or with an error, as the time-out here.
 */
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct price {
	int cents;
};
GYRE_MESSAGE(price, 0x100);

struct price_of {
	int pieces;
};
GYRE_REQUEST(price_of, 0x101, price);

struct shop {
	uint64_t delay_ns;
};
GYRE_MESSAGE(shop, 0x102);

static int open_shop(struct gyre_stack *stack)
{
	*(struct shop *)gyre_state(stack) = *gyre_message(stack, shop);
	return gyre_return(stack);
}

static int tell_price(struct gyre_stack *stack)
{
	const struct shop *shop = gyre_state(stack);
	struct gyre_future *looked_up = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, shop->delay_ns, looked_up));
	return gyre_reply_to(stack, price_of, .cents = 90 * gyre_message(stack, price_of)->pieces);
	GYRE_END(stack);
}

static const struct gyre_class shop_class = { .name = "shop",
					      .state_bytes = sizeof(struct shop),
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = open_shop,
					      .behaviour.ask = tell_price };

struct frame {
	struct gyre_future quick;
	struct gyre_future slow;
};

static int ask_shop(struct gyre_stack *stack, uint64_t delay_ns, uint64_t timeout_ns,
		    struct gyre_future *ret_price)
{
	struct gyre_address shop = GYRE_NOBODY;
	int r = gyre_spawn(stack, &shop_class, gyre_new(stack, shop, delay_ns), NULL, &shop);

	return r < 0 ? r
		     : gyre_ask(stack, shop, gyre_new(stack, price_of, .pieces = 3), timeout_ns,
				ret_price);
}

static void print_price(const char *name, const struct gyre_future *future)
{
	const struct price *price = gyre_future_answer_to(future, price_of);

	printf("%s: %d %s\n", name, price == NULL ? 0 : price->cents,
	       price == NULL ? strerror(-gyre_future_error(future)) : "cents");
}

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = ask_shop(stack, GYRE_MILLISECONDS(10), 0, &frame->quick);
	r = r < 0 ? r : ask_shop(stack, GYRE_SECONDS(60), GYRE_MILLISECONDS(100), &frame->slow);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	GYRE_AWAIT_ALL(stack, &frame->quick, &frame->slow);
	print_price("quick", &frame->quick);
	print_price("slow", &frame->slow);
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
