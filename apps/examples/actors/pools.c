/*
 * Pools: slow work in a pool of its own does not hold up quick work.
 *
 * Three pieces of work that each take a while are given to a pool of one thread, where they wait
 * for each other. What is given to another pool afterwards is done first all the same.
 */
#include <stdio.h>
#include <time.h>

#include <gyre/gyre.h>

enum { SLOW_WORKS = 3, SLOW_MS = 20 };

struct work_done {
	uint32_t number;
};
GYRE_MESSAGE(work_done, 0x100);

struct work {
	uint32_t number;
};
GYRE_REQUEST(work, 0x101, work_done);

static int work_slowly(struct gyre_work *work)
{
	const struct timespec while_ = { .tv_nsec = SLOW_MS * 1000000L };

	(void)nanosleep(&while_, NULL); /* as a disk would, or a library that blocks */
	return gyre_work_reply_to(work, work, gyre_work_get(work, work)->number);
}

static int work_quickly(struct gyre_work *work)
{
	return gyre_work_reply_to(work, work, gyre_work_get(work, work)->number);
}

struct frame {
	struct gyre_future slow[SLOW_WORKS];
	struct gyre_future quick;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < SLOW_WORKS; i++) {
		(void)gyre_offload_to(stack, "slow", work_slowly, gyre_new(stack, work, i + 1), 0,
				      &frame->slow[i]);
	}
	(void)gyre_offload_to(stack, "quick", work_quickly, gyre_new(stack, work, 1), 0,
			      &frame->quick);
	GYRE_AWAIT_ALL(stack, &frame->quick);
	printf("quick work %s\n", gyre_future_failed(&frame->quick) ? "failed" : "is done");
	GYRE_AWAIT_ALL(stack, &frame->slow[0], &frame->slow[1], &frame->slow[2]);
	for (uint32_t i = 0; i < SLOW_WORKS; i++) {
		printf("slow work %u %s\n", i + 1,
		       gyre_future_failed(&frame->slow[i]) ? "failed" : "is done");
	}
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	static const struct gyre_offload_pool pools[] = { { .name = "slow", .threads = 1 },
							  { .name = "quick", .threads = 2 } };
	const struct gyre_system_options options = { .loops = 1,
						     .offload_pools = pools,
						     .offload_pools_count = 2 };

	return gyre_main(&main_class, argc, argv, &options);
}
