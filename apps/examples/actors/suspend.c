/*
 * Suspending: two replicas are asked, and the first answer is taken.
 *
 * A handler that waits with states is called again from its beginning. gyre_suspend_any() resumes
 * it with the first answer; the other one is dropped when the stack ends.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { REPLICAS = 2 };
enum { BEGIN = 0, ANSWERED = 1 }; /* states of run() */

struct value {
	uint32_t replica;
};
GYRE_MESSAGE(value, 0x100);

struct value_of {
	char nothing;
};
GYRE_REQUEST(value_of, 0x101, value);

struct replica {
	uint32_t number;
};
GYRE_MESSAGE(replica, 0x102);

static int begin(struct gyre_stack *stack)
{
	*(struct replica *)gyre_state(stack) = *gyre_message(stack, replica);
	return gyre_return(stack);
}

/* The first replica is the slow one. */
static int answer(struct gyre_stack *stack)
{
	const struct replica *replica = gyre_state(stack);
	struct gyre_future *looked_up = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_sleep(stack, replica->number == 1 ? GYRE_SECONDS(60) : GYRE_MILLISECONDS(5),
			      looked_up));
	return gyre_reply_to(stack, value_of, replica->number);
	GYRE_END(stack);
}

static const struct gyre_class replica_class = { .name = "replica",
						 .state_bytes = sizeof(struct replica),
						 .frame_bytes = sizeof(struct gyre_future),
						 .mount = begin,
						 .behaviour.ask = answer };

struct frame {
	struct gyre_future values[REPLICAS];
};

static int ask_all(struct gyre_stack *stack, struct frame *frame)
{
	struct gyre_address replica;
	int r = 0;

	for (uint32_t i = 0; i < REPLICAS && r == 0; i++) {
		r = gyre_spawn(stack, &replica_class, gyre_new(stack, replica, i + 1), NULL,
			       &replica);
		r = r < 0 ? r
			  : gyre_ask(stack, replica, gyre_new(stack, value_of, 0), GYRE_FOREVER,
				     &frame->values[i]);
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_suspend_any(stack, ANSWERED);
}

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	if (gyre_stack_state(stack) == BEGIN) {
		return ask_all(stack, frame);
	}
	for (uint32_t i = 0; i < REPLICAS; i++) {
		const struct value *value = gyre_future_answer_to(&frame->values[i], value_of);

		if (value != NULL) {
			printf("replica %" PRIu32 " was the first\n", value->replica);
		}
	}
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
