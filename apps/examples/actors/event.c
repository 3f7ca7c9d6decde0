/*
 * Events: what one actor publishes comes to all that have subscribed to it.
 *
 * A ticker publishes prices of shares and does not ask who listens. A trader wants those of share
 * ONE, and those of all shares, of which it lets only two wait: the rest of a burst it misses, and
 * is told how many. Then the last price comes, by both subscriptions, and ends the program.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { BURST = 5, LAST = 100 };

struct price {
	const char *share;
	uint32_t cents;
};
GYRE_MESSAGE(price, 0x100);

/* Of the trader to the ticker: what to publish. */
struct order {
	const char *share;
	uint32_t from;
	uint32_t to;
};
GYRE_MESSAGE(order, 0x101);

/* ---- who listens ---- */

static int begin_trading(struct gyre_stack *stack)
{
	const struct gyre_subscribe_options few = { .waiting_max = 2 };
	int r = gyre_subscribe(stack, &gyre_type_price, gyre_event_key_of("ONE"), NULL);

	if (r == 0) {
		r = gyre_subscribe(stack, &gyre_type_price, gyre_event_key_of(NULL), &few);
	}
	return r < 0 ? gyre_throw(stack, r)
		     : gyre_notify(stack, gyre_parent(stack),
				   gyre_new(stack, order, "TWO", 0, BURST));
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_events_missed *missed = gyre_message(stack, gyre_events_missed);
	const struct price *price = gyre_message(stack, price);

	if (missed != NULL) {
		printf("missed %" PRIu64 "\n", missed->count);
		return gyre_notify(stack, gyre_parent(stack),
				   gyre_new(stack, order, "ONE", LAST, LAST + 1));
	}
	printf("%s is %" PRIu32 "\n", price->share, price->cents);
	return price->cents == LAST ? gyre_stop(stack, gyre_parent(stack)) : gyre_return(stack);
}

static const struct gyre_class trader_class = { .name = "trader",
						.mount = begin_trading,
						.strategy = GYRE_STRATEGY_STOP,
						.behaviour.event = hear };

/* ---- who publishes ---- */

static int begin(struct gyre_stack *stack)
{
	struct gyre_address trader;
	int r = gyre_spawn(stack, &trader_class, GYRE_NO_ARGUMENT, NULL, &trader);

	r = r < 0 ? r : gyre_watch(stack, trader);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

/* The trader has failed, and nobody else would end the program. */
static int miss_trader(struct gyre_stack *stack)
{
	return gyre_throw(stack, gyre_message(stack, gyre_terminated)->reason);
}

static int publish(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);
	int r = 0;

	for (uint32_t i = order->from; i < order->to && r >= 0; i++) {
		r = gyre_publish(stack, gyre_new(stack, price, order->share, i),
				 gyre_event_key_of(order->share));
		printf("%s %" PRIu32 " goes to %d\n", order->share, i, r);
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class ticker_class = { .name = "ticker",
						.mount = begin,
						.strategy = GYRE_STRATEGY_ESCALATE,
						.behaviour = { .notice = publish,
							       .event = miss_trader } };

int main(int argc, char **argv)
{
	return gyre_main(&ticker_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
