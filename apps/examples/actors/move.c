/*
 * Moving: a large block of memory goes from actor to actor, and is never copied.
 *
 * The message owns the block. A receiver that moves it out has to free it; where nobody does, as in
 * the mail to an actor that has stopped, the destructor of the type frees it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { PIXELS = 1 << 20 };

static int blocks; /* that are allocated; all is on one loop */

struct image {
	unsigned char *pixels;
};

static void free_image(struct image *image)
{
	blocks -= image->pixels != NULL;
	free(image->pixels);
}
GYRE_MESSAGE_OWNING(image, 0x100, free_image);

static struct image make_image(void)
{
	struct image image = { calloc(1, PIXELS) };

	blocks += image.pixels != NULL;
	return image;
}

/* Inverts the image of a question, and gives it back as the answer. */
static int invert(struct gyre_stack *stack)
{
	struct image image;

	if (gyre_move(stack, image, &image) < 0 || image.pixels == NULL) {
		return gyre_throw(stack, -EINVAL);
	}
	for (size_t i = 0; i < PIXELS; i++) {
		image.pixels[i] = (unsigned char)~image.pixels[i];
	}
	return gyre_reply(stack, gyre_new_copy(stack, image, &image));
}

static const struct gyre_class inverter_class = { .name = "inverter", .behaviour.ask = invert };

struct frame {
	struct gyre_future future;
	struct gyre_address inverter;
	const unsigned char *sent;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	struct image image;
	int r;

	GYRE_BEGIN(stack);
	r = gyre_spawn(stack, &inverter_class, GYRE_NO_ARGUMENT, NULL, &frame->inverter);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	image = make_image();
	frame->sent = image.pixels;
	GYRE_AWAIT(stack, gyre_ask(stack, frame->inverter, gyre_new_copy(stack, image, &image), 0,
				   &frame->future));
	if (gyre_future_move(&frame->future, image, &image) < 0) {
		return gyre_throw(stack, gyre_future_error(&frame->future));
	}
	printf("%s block came back, and its first byte is %d\n",
	       image.pixels == frame->sent ? "the same" : "another", image.pixels[0]);
	free_image(&image);
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->inverter, GYRE_SECONDS(10), &frame->future));
	image = make_image();
	r = gyre_notify(stack, frame->inverter, gyre_new_copy(stack, image, &image));
	printf("to an actor that has stopped: %s, and %d blocks are left\n", strerror(-r), blocks);
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
