/*
 * Services: actors are found by what they do, on whichever node they live.
 *
 * Two systems of one process are nodes. A clerk of the second joins the service "prices"; a buyer
 * on the first watches it, and knows neither the clerk nor his node. When a listing has him, the
 * buyer asks him. The clerk goes home after one answer, which the next listing tells.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

/* Of so many apples; the answer is cents. */
struct price {
	uint32_t number;
};
GYRE_REQUEST(price, 0x100, price);

GYRE_SERVICE(prices, 0x500, price);

static int begin_work(struct gyre_stack *stack)
{
	return gyre_service_join(stack, &gyre_service_prices);
}

static int tell_price(struct gyre_stack *stack)
{
	int r = gyre_reply_to(stack, price, 21 * gyre_message(stack, price)->number);

	return r < 0 ? gyre_throw(stack, r) : gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class clerk_class = { .name = "clerk",
					       .mount = begin_work,
					       .behaviour.ask = tell_price };

static int begin_watch(struct gyre_stack *stack)
{
	return gyre_service_watch(stack, &gyre_service_prices, 0);
}

static int hear_listing(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);
	const struct gyre_listing *listing = gyre_message(stack, gyre_listing);
	bool *has_bought = (bool *)gyre_state(stack);

	GYRE_BEGIN(stack);
	if (listing->total > 0 && !*has_bought) {
		printf("a clerk is on node %u\n", (unsigned)listing->members[0].node);
		GYRE_AWAIT(stack, gyre_ask(stack, listing->members[0], gyre_new(stack, price, 2), 0,
					   future));
		if (gyre_future_failed(future)) {
			return gyre_throw(stack, gyre_future_error(future));
		}
		printf("2 apples: %" PRIu32 "\n", gyre_future_answer_to(future, price)->number);
		*has_bought = true;
	} else if (*has_bought) {
		printf("nobody serves any more\n");
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class buyer_class = { .name = "buyer",
					       .state_bytes = sizeof(bool),
					       .frame_bytes = sizeof(struct gyre_future),
					       .mount = begin_watch,
					       .behaviour.event = hear_listing };

static int begin_node(uint16_t id, const struct gyre_class *class, struct gyre_system **ret)
{
	static const struct gyre_type *const all[] = { &gyre_type_price, NULL };
	const struct gyre_node_options node = { id, .listen = "tcp://127.0.0.1:0", .types = all };
	const struct gyre_system_options options = { .node = &node, .log_level = GYRE_LOG_ERROR };
	struct gyre_address actor;
	int r = gyre_system_create(&options, ret);

	r = r < 0 ? r : gyre_system_spawn(*ret, class, GYRE_NO_ARGUMENT, NULL, &actor);
	return r < 0 ? r : gyre_system_start(*ret);
}

int main(void)
{
	struct gyre_system *shop = NULL;
	struct gyre_system *home = NULL;
	char address[32];
	int r = begin_node(2, &clerk_class, &shop);

	r = r < 0 ? r : begin_node(1, &buyer_class, &home);
	(void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u", gyre_system_node_port(shop));
	r = r < 0 ? r : gyre_system_node_add_peer(home, &(struct gyre_node_peer){ 2, address });
	r = r < 0 ? r : gyre_system_wait(home);
	gyre_system_destroy(home);
	gyre_system_destroy(shop);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
