/*
 * Overflow: of ten readings a log keeps the first three, and a screen shows the last three.
 *
 * Both mailboxes hold three readings. The log drops what comes later, the screen what has waited
 * longest, for only the latest readings are worth a look. The sender hears nothing of that;
 * the option dead_letter of the system does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { READINGS = 10, LIMIT = 3 };

struct reading {
	uint32_t number;
};
GYRE_MESSAGE(reading, 0x100);

static int print_reading(struct gyre_stack *stack)
{
	printf(" %" PRIu32, gyre_message(stack, reading)->number);
	return gyre_return(stack);
}

static const struct gyre_class log_class = { .name = "log",
					     .behaviour.notice = print_reading,
					     .mailbox_limit = LIMIT,
					     .overflow = GYRE_OVERFLOW_DROP_NEWEST };

static const struct gyre_class screen_class = { .name = "screen",
						.behaviour.notice = print_reading,
						.mailbox_limit = LIMIT,
						.overflow = GYRE_OVERFLOW_DROP_OLDEST };

/* All readings come in one handler, so that the receiver gets no turn meanwhile. */
static int send_readings(struct gyre_stack *stack, const struct gyre_class *receiver_class,
			 struct gyre_future *ret_end)
{
	struct gyre_address receiver;
	int r = gyre_spawn(stack, receiver_class, GYRE_NO_ARGUMENT, NULL, &receiver);

	for (uint32_t i = 1; i <= READINGS && r == 0; i++) {
		r = gyre_notify(stack, receiver, gyre_new(stack, reading, i));
	}
	printf("%s (%s):", receiver_class->name, r == 0 ? "all sent" : strerror(-r));
	return r < 0 ? r : gyre_stop_gracefully(stack, receiver, GYRE_SECONDS(100), ret_end);
}

static int run(struct gyre_stack *stack)
{
	struct gyre_future *end = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, send_readings(stack, &log_class, end));
	printf("\n");
	GYRE_AWAIT(stack, send_readings(stack, &screen_class, end));
	printf("\n");
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = run };

static void count_lost(const struct gyre_type *type, struct gyre_address from,
		       struct gyre_address to, enum gyre_drop reason, void *arg)
{
	(void)from;
	(void)to;
	*(uint32_t *)arg += type->id == GYRE_ID(reading) && reason == GYRE_DROP_MAILBOX_FULL;
}

int main(int argc, char **argv)
{
	uint32_t lost = 0;
	const struct gyre_system_options options = { .loops = 1,
						     .dead_letter = count_lost,
						     .dead_letter_arg = &lost };
	int status = gyre_main(&main_class, argc, argv, &options);

	printf("%" PRIu32 " readings were dropped\n", lost);
	return status;
}
