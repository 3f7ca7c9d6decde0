/*
 * Files: a copy that is on the disk when the program ends, made without blocking the loop.
 *
 *	gyre-example-file FROM TO
 *
 * Each operation is a future, as an answer is, so the actor could serve others meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { PART_BYTES = 256 * 1024 };

struct copy {
	struct gyre_file *from;
	struct gyre_file *to;
	uint64_t bytes;
};

struct frame {
	struct gyre_future future;
	struct gyre_file_data data;
};

static int fail(struct gyre_stack *stack, const char *what, int error)
{
	gyre_log(stack, GYRE_LOG_ERROR, "%s: %s", what, strerror(-error));
	gyre_exit(stack, EXIT_FAILURE);
	return gyre_return(stack);
}

static int read_part(struct gyre_stack *stack, const struct copy *copy, struct gyre_future *future)
{
	const struct gyre_file_part part = { .offset = copy->bytes, .bytes = PART_BYTES };

	return gyre_file_read(stack, copy->from, &part, 0, future);
}

static int copy_file(struct gyre_stack *stack)
{
	static const struct gyre_file_options create = { O_WRONLY | O_CREAT | O_TRUNC, 0666 };
	char **argv = gyre_message(stack, gyre_arguments)->argv;
	struct copy *copy = gyre_state(stack);
	struct frame *frame = gyre_frame(stack);
	struct gyre_future *future = &frame->future;
	struct gyre_file_opened opened;

	GYRE_BEGIN(stack);
	if (gyre_message(stack, gyre_arguments)->argc != 3) {
		return fail(stack, "FROM TO", -EINVAL);
	}
	GYRE_AWAIT(stack, gyre_file_open(stack, argv[1], NULL, 0, future));
	if (gyre_future_move(future, gyre_file_opened, &opened) < 0) {
		return fail(stack, argv[1], gyre_future_error(future));
	}
	copy->from = opened.file;
	GYRE_AWAIT(stack, gyre_file_open(stack, argv[2], &create, 0, future));
	if (gyre_future_move(future, gyre_file_opened, &opened) < 0) {
		return fail(stack, argv[2], gyre_future_error(future));
	}
	copy->to = opened.file;
	do {
		GYRE_AWAIT(stack, read_part(stack, copy, future));
		if (gyre_future_move(future, gyre_file_data, &frame->data) < 0) {
			return fail(stack, argv[1], gyre_future_error(future));
		}
		if (frame->data.count > 0) {
			GYRE_AWAIT(stack, gyre_file_write(stack, copy->to, copy->bytes,
							  frame->data.buffer, 0, future));
			if (gyre_future_failed(future) ||
			    gyre_future_get(future, gyre_file_done)->error < 0) {
				return fail(stack, argv[2], -EIO);
			}
		}
		copy->bytes += frame->data.count;
	} while (frame->data.count > 0);
	GYRE_AWAIT(stack, gyre_file_sync(stack, copy->to, false, 0, future));
	if (gyre_future_failed(future)) {
		return fail(stack, argv[2], gyre_future_error(future));
	}
	printf("%" PRIu64 " bytes\n", copy->bytes);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "copy",
					      .state_bytes = sizeof(struct copy),
					      .frame_bytes = sizeof(struct frame),
					      .mount = copy_file };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
