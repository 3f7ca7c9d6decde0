/*
 * Elastic groups: a queue of parcels gets more packers while it is long, and fewer afterwards.
 *
 * When more than five parcels wait for each packer the group gets others, up to four; when for 50
 * ms there was little to do, they go one by one. The main actor looks now and then.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { PARCELS = 100, PACKERS = 4 };

struct parcel {
	uint32_t number;
};
GYRE_MESSAGE(parcel, 0x100);

static uint32_t packed; /* atomic */

static int pack(struct gyre_stack *stack)
{
	struct gyre_future *done = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), done));
	(void)__atomic_add_fetch(&packed, 1, __ATOMIC_RELAXED);
	GYRE_END(stack);
}

/* A packer packs one parcel after the other; the rest waits in its mailbox. */
static bool one_by_one(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(parcel);
}

static const struct gyre_class packer_class = { .name = "packer",
						.frame_bytes = sizeof(struct gyre_future),
						.behaviour.notice = pack,
						.barrier = one_by_one };

struct frame {
	struct gyre_future slept;
	struct gyre_address packers;
	uint32_t most;
};

static uint32_t count_packers(struct gyre_stack *stack, struct frame *frame)
{
	uint32_t count = 0;

	(void)gyre_system_group_size(gyre_system_of(stack), frame->packers, &count);
	frame->most = count > frame->most ? count : frame->most;
	return count;
}

static int run(struct gyre_stack *stack)
{
	static const struct gyre_group_options options = {
		.count_max = PACKERS, .grow_above = 5, .shrink_after_ns = GYRE_MILLISECONDS(50)
	};
	struct frame *frame = gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = gyre_group_spawn(stack, &packer_class, GYRE_NO_ARGUMENT, &options, &frame->packers);
	for (uint32_t i = 0; i < PARCELS && r == 0; i++) {
		r = gyre_notify(stack, frame->packers, gyre_new(stack, parcel, i));
	}
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	while (count_packers(stack, frame) > 1 ||
	       __atomic_load_n(&packed, __ATOMIC_RELAXED) < PARCELS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->slept));
	}
	printf("%d parcels are packed, by up to %" PRIu32 "\n", PARCELS, frame->most);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, NULL);
}
