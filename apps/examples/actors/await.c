/*
 * Await: two mirrors are asked, and the first answer wins.
 *
 * The other ask is called off, and nobody waits for it any more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct copy {
	uint32_t mirror;
};
GYRE_MESSAGE(copy, 0x100);

struct copy_of {
	uint32_t mirror;
	uint64_t delay_ns;
};
GYRE_REQUEST(copy_of, 0x101, copy);

struct mirror_frame {
	struct gyre_future delay;
};

static int send_copy(struct gyre_stack *stack)
{
	struct mirror_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, gyre_message(stack, copy_of)->delay_ns, &frame->delay));
	return gyre_reply_to(stack, copy_of, .mirror = gyre_message(stack, copy_of)->mirror);
	GYRE_END(stack);
}

static const struct gyre_class mirror_class = { .name = "mirror",
						.frame_bytes = sizeof(struct mirror_frame),
						.behaviour.ask = send_copy };

struct frame {
	struct gyre_address mirror;
	struct gyre_future first;
	struct gyre_future second;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	struct gyre_future *winner = &frame->second;
	struct gyre_future *other = &frame->first;

	GYRE_BEGIN(stack);
	(void)gyre_spawn(stack, &mirror_class, GYRE_NO_ARGUMENT, NULL, &frame->mirror);
	(void)gyre_ask(stack, frame->mirror, gyre_new(stack, copy_of, 1, GYRE_SECONDS(100)),
		       GYRE_FOREVER, &frame->first);
	(void)gyre_ask(stack, frame->mirror, gyre_new(stack, copy_of, 2, GYRE_MILLISECONDS(1)),
		       GYRE_FOREVER, &frame->second);
	GYRE_AWAIT_ANY(stack, &frame->first, &frame->second);
	if (gyre_future_error(winner) == -EINPROGRESS) {
		winner = &frame->first;
		other = &frame->second;
	}
	if (gyre_future_failed(winner)) {
		return gyre_throw(stack, gyre_future_error(winner));
	}
	printf("mirror %u answers first", gyre_future_answer_to(winner, copy_of)->mirror);
	(void)gyre_cancel(stack, other);
	printf("; the other ask: %s\n", strerror(-gyre_future_error(other)));
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
