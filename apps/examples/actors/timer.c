/*
 * Timers: a document is saved when nobody has typed for a while.
 *
 * One timer types a letter every 10 ms. Each letter starts the other timer anew, by its key, so
 * that it fires once, 50 ms after the last letter.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { LETTERS = 5 };
enum { TYPE = 1, SAVE = 2 }; /* keys of the timers */

struct document {
	uint64_t letters;
	uint64_t typed_ns;
};

static int open_document(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, TYPE,
				&(struct gyre_timer_options){ .delay_ns = GYRE_MILLISECONDS(10),
							      .period_ns = GYRE_MILLISECONDS(10) });
}

/* A loop that was held up tells of several periods at once. */
static int type_letter(struct gyre_stack *stack, uint64_t expirations)
{
	struct document *document = gyre_state(stack);

	document->letters += expirations;
	document->typed_ns = gyre_now(stack);
	if (document->letters >= LETTERS) {
		(void)gyre_timer_stop(stack, TYPE);
	}
	return gyre_timer_start(stack, SAVE,
				&(struct gyre_timer_options){ .delay_ns = GYRE_MILLISECONDS(50) });
}

static int save(struct gyre_stack *stack)
{
	const struct document *document = gyre_state(stack);
	uint64_t quiet_ns = gyre_now(stack) - document->typed_ns;

	printf("saved %" PRIu64 " letters after %" PRIu64 " ms of quiet\n", document->letters,
	       quiet_ns / GYRE_MILLISECONDS(1));
	return gyre_stop(stack, gyre_self(stack));
}

static int fire(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	return timeout->key == TYPE ? type_letter(stack, timeout->expirations) : save(stack);
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_timeout, fire),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = {
	.name = "document",
	.state_bytes = sizeof(struct document),
	.mount = open_document,
	.behaviour.event_routes = events,
	.strategy = GYRE_STRATEGY_STOP,
};

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
