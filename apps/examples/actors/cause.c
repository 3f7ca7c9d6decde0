/*
 * Causes: a failed ask brings along what is missing, so that the asker can set it right.
 *
 * An errno says that the letter is not taken, and its message how many cents it lacks. An asker
 * that knows the type of the message reads it; for all others the errno stands alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { POSTAGE = 85 };

struct receipt {
	uint32_t number;
};
GYRE_MESSAGE(receipt, 0x100);

struct letter {
	uint32_t cents;
};
GYRE_REQUEST(letter, 0x101, receipt);

struct unpaid {
	uint32_t cents;
};
GYRE_MESSAGE(unpaid, 0x102);

static int take_letter(struct gyre_stack *stack)
{
	uint32_t cents = gyre_message(stack, letter)->cents;
	uint32_t *taken = gyre_state(stack);

	if (cents < POSTAGE) {
		return gyre_throw_with(stack, -EACCES, gyre_new(stack, unpaid, POSTAGE - cents));
	}
	return gyre_reply_to(stack, letter, .number = ++*taken);
}

static const struct gyre_class post_class = { .name = "post",
					      .state_bytes = sizeof(uint32_t), /* letters taken */
					      .behaviour.ask = take_letter };

struct frame {
	struct gyre_address post;
	uint32_t cents;
	struct gyre_future receipt;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	const struct unpaid *unpaid;

	GYRE_BEGIN(stack);
	if (gyre_spawn(stack, &post_class, GYRE_NO_ARGUMENT, NULL, &frame->post) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	frame->cents = 50;
	do {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, frame->post, gyre_new(stack, letter, frame->cents),
				    GYRE_FOREVER, &frame->receipt));
		unpaid = gyre_future_cause(&frame->receipt, unpaid);
		if (unpaid != NULL) {
			printf("%u cents: %s, %u more are due\n", frame->cents,
			       strerror(-gyre_future_error(&frame->receipt)), unpaid->cents);
			frame->cents += unpaid->cents;
		}
	} while (unpaid != NULL);
	if (gyre_future_failed(&frame->receipt)) {
		return gyre_throw(stack, gyre_future_error(&frame->receipt));
	}
	printf("%u cents: receipt %u\n", frame->cents,
	       gyre_future_answer_to(&frame->receipt, letter)->number);
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
