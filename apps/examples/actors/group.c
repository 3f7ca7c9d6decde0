/*
 * Groups: all orders of one customer go to the same one of four workers.
 *
 * The workers live on all loops and have one address. The group sends each message to the member
 * that its key leads to. So a customer's orders are kept in one place, and need no lock.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { WORKERS = 4, CUSTOMERS = 6, ORDERS = 3 };

struct booked {
	struct gyre_address by;
	uint32_t orders; /* of the customer so far */
};
GYRE_MESSAGE(booked, 0x100);

struct order {
	uint32_t customer;
};
GYRE_REQUEST(order, 0x101, booked);

struct worker {
	uint32_t orders[CUSTOMERS];
};

static int book(struct gyre_stack *stack)
{
	struct worker *worker = gyre_state(stack);
	uint32_t customer = gyre_message(stack, order)->customer;

	return gyre_reply_to(stack, order, gyre_self(stack), ++worker->orders[customer]);
}

static const struct gyre_class worker_class = { .name = "worker",
						.state_bytes = sizeof(struct worker),
						.behaviour.ask = book };

static uint64_t customer_of(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(order) ? ((const struct order *)message)->customer : 0;
}

struct frame {
	struct gyre_future booked[CUSTOMERS * ORDERS];
	struct gyre_address workers;
};

static int order_all(struct gyre_stack *stack, struct frame *frame)
{
	int r = 0;

	for (uint32_t i = 0; i < CUSTOMERS * ORDERS && r == 0; i++) {
		r = gyre_ask(stack, frame->workers, gyre_new(stack, order, i % CUSTOMERS), 0,
			     &frame->booked[i]);
	}
	return r;
}

static int run(struct gyre_stack *stack)
{
	static const struct gyre_group_options options = { .count = WORKERS,
							   .routing = GYRE_ROUTING_BY_KEY,
							   .key = customer_of };
	struct frame *frame = gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = gyre_group_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, &options, &frame->workers);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	GYRE_AWAIT(stack, order_all(stack, frame));
	for (uint32_t i = 0; i < CUSTOMERS * ORDERS; i++) {
		const struct booked *booked = gyre_future_answer_to(&frame->booked[i], order);

		if (booked == NULL) {
			return gyre_throw(stack, gyre_future_error(&frame->booked[i]));
		}
		printf("customer %" PRIu32 ": order %" PRIu32 " by worker %u.%" PRIu32 "\n",
		       i % CUSTOMERS, booked->orders, booked->by.loop, booked->by.slot);
	}
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, NULL);
}
