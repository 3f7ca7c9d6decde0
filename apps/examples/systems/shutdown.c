/*
 * Shutdown: orders are packed before the system stops, and the books are closed last of all.
 *
 * The shop holds the phase in which work is finished until it has packed what was ordered; the
 * bookkeeper holds the last phase, in which all actors are there still, and asks the shop how much
 * it has sold. Both have the time of drain_timeout_ns, together.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { ORDERS = 3, PACK = 1 };

struct sold {
	uint32_t orders;
};
GYRE_MESSAGE(sold, 0x100);

struct how_much {
	char nothing;
};
GYRE_REQUEST(how_much, 0x101, sold);

struct shop {
	uint32_t packed;
	bool closing;
};

static int open_shop(struct gyre_stack *stack)
{
	const struct gyre_timer_options pack = { .delay_ns = GYRE_MILLISECONDS(5),
						 .period_ns = GYRE_MILLISECONDS(5) };
	int r = gyre_timer_start(stack, PACK, &pack);

	return r < 0 ? r : gyre_shutdown_hold(stack, GYRE_SHUTDOWN_FINISH);
}

/* Packs an order at each time-out of the timer. */
static int work(struct gyre_stack *stack)
{
	struct shop *shop = gyre_state(stack);

	shop->closing = shop->closing || gyre_message(stack, gyre_stopping) != NULL;
	if (gyre_message(stack, gyre_timeout) != NULL && shop->packed < ORDERS) {
		printf("order %" PRIu32 " is packed\n", ++shop->packed);
	}
	if (!shop->closing || shop->packed < ORDERS) {
		return gyre_return(stack);
	}
	(void)gyre_timer_stop(stack, PACK);
	return gyre_shutdown_release(stack, GYRE_SHUTDOWN_FINISH);
}

static int tell(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, how_much, ((struct shop *)gyre_state(stack))->packed);
}

static const struct gyre_class shop_class = { .name = "shop",
					      .state_bytes = sizeof(struct shop),
					      .mount = open_shop,
					      .behaviour = { .ask = tell, .event = work } };

/* Also the main actor: its shop is its child, and so stops first. */
static int open_books(struct gyre_stack *stack)
{
	int r = gyre_shutdown_hold(stack, GYRE_SHUTDOWN_LAST_WORDS);

	r = r < 0 ? r : gyre_spawn(stack, &shop_class, GYRE_NO_ARGUMENT, NULL, gyre_state(stack));
	if (r == 0) {
		gyre_exit(stack, 0);
	}
	return r;
}

static int close_books(struct gyre_stack *stack)
{
	struct gyre_address *shop = gyre_state(stack);
	struct gyre_future *sold = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, *shop, gyre_new(stack, how_much, 0), 0, sold));
	printf("%" PRIu32 " orders are in the books\n",
	       gyre_future_failed(sold) ? 0 : gyre_future_answer_to(sold, how_much)->orders);
	return gyre_shutdown_release(stack, GYRE_SHUTDOWN_LAST_WORDS);
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "bookkeeper",
					      .state_bytes = sizeof(struct gyre_address),
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = open_books,
					      .behaviour.event = close_books };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, NULL);
}
