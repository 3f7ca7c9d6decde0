/*
 * Offloading: files are summed up by threads off the loops, all of them at once.
 *
 *	gyre-example-offload FILE ...
 *
 * Work that blocks or takes long must not run on a loop. Each file is a piece of work for a pool of
 * threads; its sum completes a future, as the answer of an actor would.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { FILES_MAX = 64 };

struct sum {
	uint32_t value;
};
GYRE_MESSAGE(sum, 0x100);

struct path {
	const char *text; /* of main() */
};
GYRE_REQUEST(path, 0x101, sum);

/* Runs on a thread of the pool: the hash FNV-1a of all bytes. */
static int add_up(struct gyre_work *work)
{
	FILE *file = fopen(gyre_work_get(work, path)->text, "rbe");
	uint32_t value = 2166136261;
	int byte;
	int r;

	if (file == NULL) {
		return -errno;
	}
	while ((byte = getc(file)) != EOF) {
		value = (value ^ (uint32_t)byte) * 16777619;
	}
	r = ferror(file) ? -EIO : 0;
	(void)fclose(file);
	return r < 0 ? r : gyre_work_reply_to(work, path, value);
}

struct frame {
	struct gyre_future sums[FILES_MAX];
};

/* How many have begun; each of the others has its error in its future. */
static int offload_all(struct gyre_stack *stack, const struct gyre_arguments *arguments)
{
	struct frame *frame = gyre_frame(stack);
	int begun = 0;

	for (int i = 1; i < arguments->argc; i++) {
		begun += gyre_offload(stack, add_up, gyre_new(stack, path, arguments->argv[i]),
				      GYRE_FOREVER, &frame->sums[i - 1]) == 0;
	}
	return begun;
}

static int run(struct gyre_stack *stack)
{
	const struct gyre_arguments *arguments = gyre_message(stack, gyre_arguments);
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (arguments->argc < 2 || arguments->argc > FILES_MAX + 1) {
		(void)fprintf(stderr, "usage: gyre-example-offload FILE ...\n");
		gyre_exit(stack, EXIT_FAILURE);
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, offload_all(stack, arguments) > 0 ? 0 : -ENOMEM);
	for (int i = 1; i < arguments->argc; i++) {
		const struct gyre_future *sum = &frame->sums[i - 1];

		if (gyre_future_failed(sum)) {
			printf("%s: %s\n", arguments->argv[i], strerror(-gyre_future_error(sum)));
			gyre_exit(stack, EXIT_FAILURE);
		} else {
			printf("%08" PRIx32 " %s\n", gyre_future_answer_to(sum, path)->value,
			       arguments->argv[i]);
		}
	}
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
