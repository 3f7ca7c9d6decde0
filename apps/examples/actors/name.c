/*
 * Names: a service is found by its name, which it loses when it stops.
 *
 * A name belongs to one actor of the system at a time. Nobody has to be given an address. Whoever
 * spawns the service gives it its name; a second one is refused, and gets the address of the first.
 * The main actor asks the service, stops it, and finds nobody; then another one has the name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct asked {
	uint32_t times;
};
GYRE_MESSAGE(asked, 0x100);

struct question {
	char nothing;
};
GYRE_REQUEST(question, 0x101, asked);

static int answer(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, question, ++((struct asked *)gyre_state(stack))->times);
}

static const struct gyre_class service_class = { .name = "service",
						 .state_bytes = sizeof(struct asked),
						 .behaviour.ask = answer };

struct frame {
	struct gyre_future future;
	struct gyre_address service;
};

static int begin_service(struct gyre_stack *stack, struct frame *frame)
{
	return gyre_spawn(stack, &service_class, GYRE_NO_ARGUMENT,
			  &(struct gyre_spawn_options){ .name = "service" }, &frame->service);
}

static int ask_by_name(struct gyre_stack *stack, struct frame *frame)
{
	struct gyre_address service;
	int r = gyre_name_lookup(stack, "service", &service);

	printf("lookup: %s\n", r < 0 ? strerror(-r) : "found");
	return r < 0 ? r
		     : gyre_ask(stack, service, gyre_new(stack, question, 0), 0, &frame->future);
}

static void print_answer(const struct frame *frame)
{
	const struct asked *asked = gyre_future_answer_to(&frame->future, question);

	printf("asked %" PRIu32 " times\n", asked == NULL ? 0 : asked->times);
}

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (begin_service(stack, frame) < 0) {
		return gyre_throw(stack, -EPROTO);
	}
	printf("a second service: %s\n", strerror(-begin_service(stack, frame)));
	GYRE_AWAIT(stack, ask_by_name(stack, frame));
	print_answer(frame);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->service, 0, &frame->future));
	if (ask_by_name(stack, frame) != -ENOENT) {
		return gyre_throw(stack, -EEXIST);
	}
	if (begin_service(stack, frame) < 0) {
		return gyre_throw(stack, -EPROTO);
	}
	GYRE_AWAIT(stack, ask_by_name(stack, frame));
	print_answer(frame);
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
