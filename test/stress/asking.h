/*
 * Actors that ask relays, one ask after the other, and give some asks up. Whoever has it in the end
 * answers with one more; each ask has one outcome, which is its own.
 */
#ifndef GY_TEST_STRESS_ASKING_H
#define GY_TEST_STRESS_ASKING_H

#include "stress.h"

struct asking {
	const struct gyre_address *relays;
	uint32_t relays_count;
	uint32_t stacks;	     /* that ask, on each loop */
	uint32_t asks;		     /* of each */
	bool (*may_fail)(int error); /* beside by a time-out or a relay that is gone */
	uint32_t *unfinished;	     /* stacks among others */
	uint64_t answered;	     /* atomic */
};

static struct asking asking; /* the program says how */

struct asking_frame {
	struct gyre_future future;
	struct gyre_future other;
	uint64_t value;
	uint64_t random;
	uint32_t asked;
};

static int asking_ask(struct gyre_stack *stack, struct asking_frame *frame,
		      struct gyre_future *ret_future)
{
	struct gyre_address to = asking.relays[stress_random(&frame->random, asking.relays_count)];
	uint64_t timeout_ns = stress_random(&frame->random, 4) == 0
				      ? GYRE_MICROSECONDS(stress_random(&frame->random, 2000) + 1)
				      : 0;

	frame->value = gy_random_next(&frame->random) >> 8;
	return gyre_ask(stack, to, load_new(stack, frame->value), timeout_ns, ret_future);
}

static void asking_look(const struct asking_frame *frame)
{
	const struct load *load = gyre_future_get(&frame->future, load);
	int error = gyre_future_error(&frame->future);

	if (load != NULL) {
		check(error == 0 && load_check(load) == frame->value + 1);
		(void)gy_fetch_add(&asking.answered, 1);
	} else {
		check(error == -ETIMEDOUT || error == -ESRCH || asking.may_fail(error));
	}
}

static int asking_run(struct gyre_stack *stack)
{
	struct asking_frame *frame = (struct asking_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->random = load_check(gyre_message(stack, load));
	for (frame->asked = 0; frame->asked < asking.asks; frame->asked++) {
		check(asking_ask(stack, frame, &frame->other) == 0);
		if (stress_random(&frame->random, 2) == 0) {
			check(gyre_cancel(stack, &frame->other) == 0);
			check(gyre_future_error(&frame->other) == -ECANCELED);
		}
		GYRE_AWAIT(stack, asking_ask(stack, frame, &frame->future));
		asking_look(frame);
	}
	stress_finish(stack, asking.unfinished);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct asking_frame),
	.behaviour.notice = asking_run,
};

/* One actor on each loop, with all stacks of the loop. */
static inline void asking_spawn(struct gyre_system *system, uint32_t loops, uint64_t *random)
{
	for (uint32_t loop = 0; loop < loops; loop++) {
		struct gyre_address actor =
			stress_spawn(system, &asking_class, loop, GYRE_NO_ARGUMENT);

		for (uint32_t i = 0; i < asking.stacks; i++) {
			check(gyre_system_notify(
				      system, actor,
				      load_new_outside(system, gy_random_next(random))) == 0);
		}
	}
}

#endif
