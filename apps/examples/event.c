/*
 * Events: what one actor publishes comes to all that have subscribed to it.
 *
 * A ticker publishes the prices of two shares and does not ask who listens. Ada wants those of one
 * share, Bob wants all but lets only two wait: the rest of a burst he misses, and is told how many.
 * Then the last price comes, and ends the program.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { TRADERS = 2, BURST = 5, LAST = 100 };

struct price {
	const char *share;
	uint32_t cents;
};
GYRE_MESSAGE(price, 0x100);

struct trader {
	const char *name;
	const char *share; /* NULL for all */
	uint32_t waiting_max;
};
GYRE_MESSAGE(trader, 0x101);

/* Of a trader to the ticker: it listens, or it does again. */
struct ready {
	bool again;
};
GYRE_MESSAGE(ready, 0x102);

/* ---- those who listen ---- */

static int begin_trading(struct gyre_stack *stack)
{
	struct trader *trader = gyre_state(stack);
	struct gyre_subscribe_options options = { 0 };
	int r;

	*trader = *gyre_message(stack, trader);
	options.waiting_max = trader->waiting_max;
	r = gyre_subscribe(stack, &gyre_type_price, gyre_event_key_of(trader->share), &options);
	return r < 0 ? gyre_throw(stack, r)
		     : gyre_notify(stack, gyre_parent(stack), gyre_new(stack, ready, false));
}

static int hear(struct gyre_stack *stack)
{
	const struct trader *trader = gyre_state(stack);
	const struct gyre_events_missed *missed = gyre_message(stack, gyre_events_missed);
	const struct price *price = gyre_message(stack, price);

	if (missed != NULL) {
		printf("%s missed %" PRIu64 "\n", trader->name, missed->count);
		return gyre_notify(stack, gyre_parent(stack), gyre_new(stack, ready, true));
	}
	printf("%s hears %s %" PRIu32 "\n", trader->name, price->share, price->cents);
	return price->cents == LAST && trader->share == NULL ? gyre_stop(stack, gyre_parent(stack))
							     : gyre_return(stack);
}

static const struct gyre_class trader_class = { .name = "trader",
						.state_bytes = sizeof(struct trader),
						.mount = begin_trading,
						.behaviour.event = hear };

/* ---- who publishes ---- */

static int publish(struct gyre_stack *stack, const char *share, uint32_t cents)
{
	int r = gyre_publish(stack, gyre_new(stack, price, share, cents), gyre_event_key_of(share));

	printf("%s %" PRIu32 " goes to %d\n", share, cents, r);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static int spawn_trader(struct gyre_stack *stack, struct trader trader)
{
	struct gyre_address address;

	return gyre_spawn(stack, &trader_class, gyre_new_copy(stack, trader, &trader), NULL,
			  &address);
}

static int begin(struct gyre_stack *stack)
{
	int r = spawn_trader(stack, (struct trader){ "Ada", "ONE", 0 });

	if (r == 0) {
		r = spawn_trader(stack, (struct trader){ "Bob", NULL, 2 });
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static int go_on(struct gyre_stack *stack)
{
	uint32_t *traders = gyre_state(stack);
	int r = gyre_return(stack);

	if (gyre_message(stack, ready)->again) {
		return publish(stack, "ONE", LAST);
	}
	if (++*traders == TRADERS) {
		for (uint32_t i = 0; i < BURST && r == 0; i++) {
			r = publish(stack, "TWO", i);
		}
	}
	return r;
}

static const struct gyre_class main_class = {
	.name = "main", .state_bytes = sizeof(uint32_t), .mount = begin, .behaviour.notice = go_on
};

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
