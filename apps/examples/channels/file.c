/*
 * Files: a copy that is on the disk when the program ends, made without blocking the loop.
 *
 *	gyre-example-file FROM TO
 *
 * Each operation is a future, as an answer is, so the actor could serve others meanwhile.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gyre/gyre.h>

enum { PART_BYTES = 256 * 1024 };

struct copy {
	struct gyre_file_opened from;
	struct gyre_file_opened to;
	struct gyre_file_data part;
	uint64_t bytes;
};

static int error_of(const struct gyre_future *future)
{
	const struct gyre_file_done *done = gyre_future_get(future, gyre_file_done);

	return done == NULL ? gyre_future_error(future) : done->error;
}

static int fail(struct gyre_stack *stack, const char *what, const struct gyre_future *future)
{
	gyre_log(stack, GYRE_LOG_ERROR, "%s: %s", what, strerror(-error_of(future)));
	gyre_exit(stack, EXIT_FAILURE);
	return gyre_return(stack);
}

static int copy_file(struct gyre_stack *stack)
{
	static const struct gyre_file_options create = { O_WRONLY | O_CREAT | O_TRUNC, 0666 };
	char **argv = gyre_message(stack, gyre_arguments)->argv;
	struct copy *copy = gyre_state(stack);
	struct gyre_future *future = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, argv[1], NULL, 0, future));
	if (gyre_future_move(future, gyre_file_opened, &copy->from) < 0) {
		return fail(stack, argv[1], future);
	}
	GYRE_AWAIT(stack, gyre_file_open(stack, argv[2], &create, 0, future));
	if (gyre_future_move(future, gyre_file_opened, &copy->to) < 0) {
		return fail(stack, argv[2], future);
	}
	do {
		GYRE_AWAIT(stack, gyre_file_read(stack, copy->from.file,
						 &GYRE_VALUE(gyre_file_part, .offset = copy->bytes,
							     .bytes = PART_BYTES),
						 0, future));
		if (gyre_future_move(future, gyre_file_data, &copy->part) < 0) {
			return fail(stack, argv[1], future);
		}
		if (copy->part.count > 0) {
			GYRE_AWAIT(stack, gyre_file_write(stack, copy->to.file, copy->bytes,
							  copy->part.buffer, 0, future));
			if (error_of(future) < 0) {
				return fail(stack, argv[2], future);
			}
		}
		copy->bytes += copy->part.count;
	} while (copy->part.count > 0);
	GYRE_AWAIT(stack, gyre_file_sync(stack, copy->to.file, false, 0, future));
	if (error_of(future) < 0) {
		return fail(stack, argv[2], future);
	}
	printf("%" PRIu64 " bytes\n", copy->bytes);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "copy",
					      .state_bytes = sizeof(struct copy),
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = copy_file };

int main(int argc, char **argv)
{
	struct stat of[2];

	if (argc != 3 || (stat(argv[1], &of[0]) == 0 && stat(argv[2], &of[1]) == 0 &&
			  of[0].st_dev == of[1].st_dev && of[0].st_ino == of[1].st_ino)) {
		(void)fprintf(stderr, "usage: gyre-example-file FROM TO, not the same\n");
		return EXIT_FAILURE;
	}
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
