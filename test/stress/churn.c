/*
 * Actors come and go on three loops as fast as they can, and everybody keeps writing to those that
 * are gone: slots are used again while stale mail is still on its way. Mail that reaches the wrong
 * actor is recognised, for it carries the address it was meant for.
 */
#include <pthread.h>

#include "stress.h"

enum { LOOPS = 3, KNOWN = 128, STEPS = 3000, OUTSIDE_STEPS = 3000 };

struct letter {
	struct gyre_address to;
	uint64_t words[8];
};
GYRE_MESSAGE(letter, 0x2003);

struct keeper {
	struct gyre_address known[KNOWN];
	uint64_t random;
	uint32_t steps;
};

struct keeper_frame {
	struct gyre_future future;
};

static struct gyre_address keepers[LOOPS];
static uint32_t unfinished = LOOPS;

static struct gyre_mail *fill_letter(struct gyre_mail *mail, struct gyre_address to)
{
	struct letter *letter = (struct letter *)gyre_payload(mail);

	letter->to = to;
	for (uint64_t i = 0; i < 8; i++) {
		letter->words[i] = to.cookie * (i + 1);
	}
	return mail;
}

static struct gyre_mail *letter_to(struct gyre_stack *stack, struct gyre_address to)
{
	return fill_letter(gyre_mail_create(stack, &gyre_type_letter), to);
}

static void check_letter(struct gyre_stack *stack)
{
	const struct letter *letter = gyre_message(stack, letter);

	check(letter != NULL);
	check(gyre_address_equal(letter->to, gyre_self(stack)));
	for (uint64_t i = 0; i < 8; i++) {
		check(letter->words[i] == letter->to.cookie * (i + 1));
	}
}

/* ---- those who come and go ---- */

struct mayfly {
	struct gyre_address self;
};

static int hatch(struct gyre_stack *stack)
{
	struct mayfly *mayfly = (struct mayfly *)gyre_state(stack);

	mayfly->self = gyre_self(stack);
	if (mayfly->self.cookie % 16 == 0) {
		return gyre_stop(stack, mayfly->self);
	}
	return gyre_return(stack);
}

static int live(struct gyre_stack *stack)
{
	const struct mayfly *mayfly = (const struct mayfly *)gyre_state(stack);

	check(gyre_address_equal(mayfly->self, gyre_self(stack)));
	check_letter(stack);
	return gyre_return(stack);
}

static int reply(struct gyre_stack *stack)
{
	check_letter(stack);
	return gyre_reply(stack, load_new(stack, gyre_self(stack).cookie));
}

static void die(void *state)
{
	struct mayfly *mayfly = (struct mayfly *)state;

	check(mayfly->self.cookie != 0);
	mayfly->self = GYRE_NOBODY;
}

static const struct gyre_class mayfly_class = {
	.name = "mayfly",
	.state_bytes = sizeof(struct mayfly),
	.mount = hatch,
	.behaviour = { .notice = live, .ask = reply },
	.clean = die,
};

/* ---- those who keep them ---- */

static struct gyre_address *any_known(struct keeper *keeper)
{
	return &keeper->known[stress_random(&keeper->random, KNOWN)];
}

static void spawn_some(struct gyre_stack *stack, struct keeper *keeper)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };
		struct gyre_address *place = any_known(keeper);

		if (place->cookie != 0) {
			/* Most were stopped or poisoned before; this is for the rest. */
			(void)gyre_poison(stack, *place);
		}
		options.loop = stress_random(&keeper->random, LOOPS);
		check(gyre_spawn(stack, &mayfly_class, GYRE_NO_ARGUMENT, &options, place) == 0);
	}
}

static void write_some(struct gyre_stack *stack, struct keeper *keeper)
{
	for (uint32_t i = 0; i < 16; i++) {
		struct gyre_address to = *any_known(keeper);

		if (to.cookie != 0) {
			(void)gyre_notify(stack, to, letter_to(stack, to));
		}
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct gyre_address to = *any_known(keeper);

		if (to.cookie != 0) {
			(void)gyre_stop(stack, to);
			(void)gyre_notify(stack, to, letter_to(stack, to));
		}
	}
}

/* Returns 1 when there is nobody to ask. */
static int ask_some(struct gyre_stack *stack, struct keeper *keeper, struct keeper_frame *frame)
{
	struct gyre_address to = *any_known(keeper);

	return gyre_ask(stack, to, letter_to(stack, to), GYRE_SECONDS(60), &frame->future);
}

static int keep(struct gyre_stack *stack)
{
	struct keeper *keeper = (struct keeper *)gyre_state(stack);
	struct keeper_frame *frame = (struct keeper_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	keeper->random = load_check(gyre_message(stack, load));
	for (keeper->steps = 0; keeper->steps < STEPS; keeper->steps++) {
		spawn_some(stack, keeper);
		write_some(stack, keeper);
		GYRE_AWAIT(stack, ask_some(stack, keeper, frame));
		if (gyre_future_get(&frame->future, load) != NULL) {
			(void)load_check(gyre_future_get(&frame->future, load));
		} else {
			check(gyre_future_error(&frame->future) == -ESRCH ||
			      gyre_future_error(&frame->future) == -ESHUTDOWN);
		}
	}
	stress_finish(stack, &unfinished);
	GYRE_END(stack);
}

static const struct gyre_class keeper_class = {
	.name = "keeper",
	.state_bytes = sizeof(struct keeper),
	.frame_bytes = sizeof(struct keeper_frame),
	.behaviour.notice = keep,
};

/* ---- from outside ---- */

static struct gyre_system *churn;

static void *meddle(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	for (uint32_t i = 0; i < OUTSIDE_STEPS; i++) {
		struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };
		struct gyre_address address;
		struct gyre_mail *mail = gyre_system_mail_create(churn, &gyre_type_letter);

		options.loop = stress_random(&random, LOOPS);
		if (gyre_system_spawn(churn, &mayfly_class, GYRE_NO_ARGUMENT, &options, &address) <
		    0) {
			gyre_mail_destroy(NULL, mail); /* the others were faster */
			break;
		}
		(void)gyre_system_notify(churn, address, fill_letter(mail, address));
		stress_dawdle(&random, 5000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	pthread_t thread;

	churn = stress_create(LOOPS);
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		keepers[loop] = stress_spawn(churn, &keeper_class, loop, GYRE_NO_ARGUMENT);
		check(gyre_system_notify(churn, keepers[loop],
					 load_new_outside(churn, gy_random_next(&seed))) == 0);
	}
	check(pthread_create(&thread, NULL, meddle, &seed) == 0);
	check(gyre_system_start(churn) == 0);
	check(pthread_join(thread, NULL) == 0);
	{
		struct gyre_counters counters = stress_end(churn);

		check(counters.spawned > (uint64_t)LOOPS * STEPS * 8);
		check(counters.dropped[GYRE_DROP_NO_ACTOR] > 0);
		check(counters.dropped[GYRE_DROP_STOPPED] > 0);
	}
	return 0;
}
