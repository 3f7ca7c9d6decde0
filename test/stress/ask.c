/*
 * Asks between four loops, thousands at once: to actors that answer at once, that answer late, that
 * never do, and that are gone; with time-outs of every length. Each answer must be the one to its
 * question.
 */
#include "stress.h"

enum { LOOPS = 4, STACKS = 600, ASKS = 40 };

struct asking_frame {
	struct gyre_future futures[2];
	uint64_t values[2];
	uint64_t random;
	uint32_t asked;
};

static struct gyre_address answerers[LOOPS];
static struct gyre_address mutes[LOOPS];
static uint32_t unfinished = LOOPS * STACKS;

/* ---- those who answer ---- */

struct answering_frame {
	struct gyre_future nap;
};

static int answer(struct gyre_stack *stack)
{
	struct answering_frame *frame = (struct answering_frame *)gyre_frame(stack);
	uint64_t value = load_check(gyre_message(stack, load));

	GYRE_BEGIN(stack);
	if (value % 8 == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, value % 3 * GYRE_MILLISECONDS(1), &frame->nap));
	}
	return gyre_reply(stack, load_new(stack, value + 1));
	GYRE_END(stack);
}

static int never_answer(struct gyre_stack *stack)
{
	struct answering_frame *frame = (struct answering_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame->nap));
	GYRE_END(stack);
}

static const struct gyre_class answering_class = {
	.name = "answering",
	.frame_bytes = sizeof(struct answering_frame),
	.behaviour.ask = answer,
};

static const struct gyre_class mute_class = {
	.name = "mute",
	.frame_bytes = sizeof(struct answering_frame),
	.behaviour.ask = never_answer,
};

/* ---- those who ask ---- */

static int ask_one(struct gyre_stack *stack, struct asking_frame *frame, uint32_t i)
{
	uint32_t loop = stress_random(&frame->random, LOOPS);
	struct gyre_address to = answerers[loop];
	uint64_t timeout_ns = 0;

	frame->values[i] = gy_random_next(&frame->random) >> 8;
	switch (stress_random(&frame->random, 16)) {
	case 0:
		to = mutes[loop];
		timeout_ns = GYRE_MICROSECONDS(stress_random(&frame->random, 5000) + 1);
		break;
	case 1:
		to.cookie ^= 0x55; /* nobody */
		break;
	case 2:
		timeout_ns = GYRE_MICROSECONDS(stress_random(&frame->random, 3000) + 1);
		break;
	case 3:
		to = mutes[loop];
		break;
	default:
		break;
	}
	return gyre_ask(stack, to, load_new(stack, frame->values[i]), timeout_ns,
			&frame->futures[i]);
}

static void look_at(const struct asking_frame *frame, uint32_t i)
{
	const struct load *load = gyre_future_get(&frame->futures[i], load);
	int error = gyre_future_error(&frame->futures[i]);

	if (load != NULL) {
		check(error == 0);
		check(load_check(load) == frame->values[i] + 1);
	} else {
		check(error == -ETIMEDOUT || error == -ESRCH || error == -ENOMSG);
	}
}

static int ask_in_turn(struct gyre_stack *stack)
{
	struct asking_frame *frame = (struct asking_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->random = load_check(gyre_message(stack, load));
	for (frame->asked = 0; frame->asked < ASKS; frame->asked++) {
		check(ask_one(stack, frame, 0) == 0);
		GYRE_AWAIT(stack, ask_one(stack, frame, 1));
		look_at(frame, 0);
		look_at(frame, 1);
	}
	stress_finish(stack, &unfinished);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct asking_frame),
	.behaviour.notice = ask_in_turn,
};

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);

	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		answerers[loop] = stress_spawn(system, &answering_class, loop, GYRE_NO_ARGUMENT);
		mutes[loop] = stress_spawn(system, &mute_class, loop, GYRE_NO_ARGUMENT);
	}
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		struct gyre_address asking =
			stress_spawn(system, &asking_class, loop, GYRE_NO_ARGUMENT);

		for (uint32_t i = 0; i < STACKS; i++) {
			check(gyre_system_notify(system, asking,
						 load_new_outside(system, gy_random_next(&seed))) ==
			      0);
		}
	}
	check(gyre_system_start(system) == 0);
	{
		struct gyre_counters counters = stress_end(system);

		check(counters.dropped[GYRE_DROP_STOPPED] == 0);
		check(counters.dropped[GYRE_DROP_NO_ACTOR] > 0);
		check(counters.dropped[GYRE_DROP_LATE] > 0);
		check(counters.handled > (uint64_t)LOOPS * STACKS * ASKS * 2);
	}
	return 0;
}
