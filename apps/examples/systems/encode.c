/*
 * Encoding: a message that points to memory travels from one node to another.
 *
 * Two systems of one process are the nodes; their link is a connection over the loopback device. An
 * order with a text of any length goes from the first to a clerk on the second, who stops his node.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct order {
	char *customer; /* from malloc() */
	uint32_t pieces;
};

static int encode_order(const void *payload, struct gyre_encoder *out)
{
	const struct order *order = payload;

	gyre_encode_text(out, order->customer);
	gyre_encode_u32(out, order->pieces);
	return 0;
}

static int decode_order(void *payload, struct gyre_decoder *in)
{
	struct order *order = payload;
	size_t bytes;
	const char *customer = gyre_decode_text(in, &bytes);

	order->pieces = gyre_decode_u32(in);
	if (in->error != 0) {
		return in->error;
	}
	order->customer = strndup(customer, bytes);
	return order->customer == NULL ? -ENOMEM : 0;
}

static void free_order(struct order *order)
{
	free(order->customer);
}

static const struct gyre_encoding order_encoding = { 1, encode_order, decode_order };
GYRE_MESSAGE_ENCODED(order, 0x100, order_encoding, free_order);

static int take_order(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);

	printf("node 2: %u pieces for %s\n", (unsigned)order->pieces, order->customer);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static int begin(struct gyre_stack *stack)
{
	return gyre_receive_timeout_start(stack, GYRE_SECONDS(10));
}

/* An order may be lost on its way: the error is what gyre_system_wait() returns. */
static int give_up(struct gyre_stack *stack)
{
	return gyre_throw(stack, -ETIMEDOUT);
}

static const struct gyre_class clerk_class = { .name = "clerk",
					       .mount = begin,
					       .behaviour = { .notice = take_order,
							      .event = give_up },
					       .strategy = GYRE_STRATEGY_ESCALATE };

static int send_order(struct gyre_system *first, struct gyre_system *second)
{
	struct gyre_address clerk;
	char address[32];
	int r = gyre_system_spawn(second, &clerk_class, GYRE_NO_ARGUMENT, NULL, &clerk);

	(void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(second));
	r = r < 0 ? r : gyre_system_node_add_peer(first, &(struct gyre_node_peer){ 2, address });
	r = r < 0 ? r : gyre_system_start(second);
	r = r < 0 ? r : gyre_system_start(first);
	if (r == 0) {
		r = gyre_system_notify(first, clerk,
				       gyre_system_new(first, order, strdup("Ann"), 12));
	}
	return r < 0 ? r : gyre_system_wait(second);
}

int main(void)
{
	static const struct gyre_type *const types[] = { &gyre_type_order, NULL };
	const struct gyre_node_options node1 = { .id = 1, .types = types };
	const struct gyre_node_options node2 = { .id = 2,
						 .types = types,
						 .listen = "tcp://127.0.0.1:0" };
	struct gyre_system *first = NULL;
	struct gyre_system *second = NULL;
	/* The end of node 2 is a warning on node 1; here it is intended. */
	int r = gyre_system_create(
		&(struct gyre_system_options){ .node = &node1, .log_level = GYRE_LOG_ERROR },
		&first);

	r = r < 0 ? r
		  : gyre_system_create(&(struct gyre_system_options){ .node = &node2 }, &second);
	r = r < 0 ? r : send_order(first, second);
	gyre_system_destroy(first);
	gyre_system_destroy(second);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
