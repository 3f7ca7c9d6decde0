/*
 * Asking all: what the members of a group have to say, each of them, or the first who answers.
 *
 * Six shops on all loops are one group. A buyer asks all of them for a price and waits until the
 * last has answered or failed; then it asks again, and takes the first answer that comes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { SHOPS = 6 };

struct price {
	uint32_t cents;
};
GYRE_MESSAGE(price, 0x100);

struct price_of {
	uint32_t item;
};
GYRE_REQUEST(price_of, 0x101, price);

/* Every third question finds a shop that has nothing to sell. */
static int tell(struct gyre_stack *stack)
{
	static uint32_t questions; /* atomic */
	uint32_t number = __atomic_fetch_add(&questions, 1, __ATOMIC_RELAXED);

	return number % 3 == 0 ? gyre_throw(stack, -EIO)
			       : gyre_reply_to(stack, price_of, 100 + number);
}

static const struct gyre_class shop_class = { .name = "shop", .behaviour.ask = tell };

struct frame {
	struct gyre_address shops;
	struct gyre_asked asked[SHOPS];
	int count;
};

static int ask_all(struct gyre_stack *stack, struct frame *frame)
{
	frame->count = gyre_ask_all(stack, frame->shops, gyre_new(stack, price_of, 7), 0, SHOPS,
				    frame->asked);
	return frame->count;
}

/* The lowest price, or NULL. */
static const struct price *best_of(const struct frame *frame)
{
	const struct price *best = NULL;

	for (int i = 0; i < frame->count; i++) {
		const struct price *price =
			gyre_future_answer_to(&frame->asked[i].future, price_of);

		best = price != NULL && (best == NULL || price->cents < best->cents) ? price : best;
	}
	return best;
}

static int buy(struct gyre_stack *stack)
{
	static const struct gyre_group_options options = { .count = SHOPS };
	struct frame *frame = gyre_frame(stack);
	const struct price *best;
	int r;

	GYRE_BEGIN(stack);
	r = gyre_group_spawn(stack, &shop_class, GYRE_NO_ARGUMENT, &options, &frame->shops);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	GYRE_AWAIT(stack, ask_all(stack, frame));
	if (frame->count < 0) {
		return gyre_throw(stack, frame->count);
	}
	best = best_of(frame);
	if (best == NULL) {
		return gyre_throw(stack, -ENODATA);
	}
	printf("of %d shops %" PRIu32 " answer, the cheapest with %" PRIu32 " cents\n",
	       frame->count, gyre_asked_answered(frame->asked, (uint32_t)frame->count),
	       best->cents);
	if (ask_all(stack, frame) < 0) {
		return gyre_throw(stack, frame->count);
	}
	GYRE_AWAIT_QUORUM(stack, frame->asked, (uint32_t)frame->count, 1);
	best = best_of(frame);
	if (best == NULL) {
		return gyre_throw(stack, -ENODATA);
	}
	printf("the first answer is %" PRIu32 " cents", best->cents);
	printf(", and %d are given up\n",
	       gyre_asked_cancel(stack, frame->asked, (uint32_t)frame->count));
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = buy };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, NULL);
}
