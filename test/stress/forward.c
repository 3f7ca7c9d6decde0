/*
 * Asks and notices that are passed on between four loops, thousands at once: by actors that other
 * loops steal, some after a wait, to a group, to actors that answer, fail, or are gone. Askers
 * give up by their time-out or at a whim. Each ask has one outcome, and each notice one end.
 */
#include <errno.h>

#include <gyre/group.h>

#include "asking.h"

enum { LOOPS = 4, RELAYS = 3, STACKS = 300, ASKS = 30, NOTICES = 20000 };

struct relay {
	uint64_t random;
};

struct relaying_frame {
	struct gyre_future nap;
};

static struct gyre_address relays[LOOPS * RELAYS];
static struct gyre_address group;
static uint32_t heard;
static uint32_t unfinished = LOOPS * STACKS + 1;

/* ---- those who pass on ---- */

static struct gyre_address any_relay(struct relay *relay)
{
	return relays[stress_random(&relay->random, LOOPS * RELAYS)];
}

static int begin(struct gyre_stack *stack)
{
	((struct relay *)gyre_state(stack))->random = load_check(gyre_message(stack, load));
	return gyre_group_join(stack, group);
}

/* What a relay asks while it handles an ask has no more time than that. */
static int look_at_time(struct gyre_stack *stack)
{
	check(gyre_time_left(stack) > 0 || !gyre_is_awaited(stack));
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static int pass_ask(struct gyre_stack *stack, struct relay *relay)
{
	struct gyre_address gone = any_relay(relay);

	switch (stress_random(&relay->random, 16)) {
	case 0:
		gone.cookie ^= 0x55;
		return gyre_forward(stack, gone);
	case 1:
		return gyre_throw(stack, -EIO);
	case 2:
		return gyre_return(stack); /* without an answer */
	case 3:
	case 4:
		return gyre_forward(stack, group);
	case 5:
	case 6:
	case 7:
	case 8:
		return gyre_forward(stack, gone); /* which is there */
	default:
		return look_at_time(stack);
	}
}

static int relay_ask(struct gyre_stack *stack)
{
	struct relaying_frame *frame = (struct relaying_frame *)gyre_frame(stack);
	struct relay *relay = (struct relay *)gyre_state(stack);

	GYRE_BEGIN(stack);
	if (stress_random(&relay->random, 8) == 0) {
		GYRE_AWAIT(stack,
			   gyre_sleep(stack, GYRE_MICROSECONDS(stress_random(&relay->random, 900)),
				      &frame->nap));
	}
	return pass_ask(stack, relay);
	GYRE_END(stack);
}

static int relay_notice(struct gyre_stack *stack)
{
	struct relay *relay = (struct relay *)gyre_state(stack);

	if (stress_random(&relay->random, 4) != 0) {
		(void)load_check(gyre_message(stack, load));
		return gyre_forward(
			stack, stress_random(&relay->random, 8) == 0 ? group : any_relay(relay));
	}
	(void)gy_fetch_add(&heard, 1);
	return gyre_return(stack);
}

static const struct gyre_class relay_class = {
	.name = "relay",
	.state_bytes = sizeof(struct relay),
	.frame_bytes = sizeof(struct relaying_frame),
	.mount = begin,
	.behaviour = { .notice = relay_notice, .ask = relay_ask },
};

/* ---- those who ask, and those who wait ---- */

static bool may_fail(int error)
{
	return error == -ENOMSG || error == -EIO;
}

static struct asking asking = { .relays = relays,
				.relays_count = LOOPS * RELAYS,
				.stacks = STACKS,
				.asks = ASKS,
				.may_fail = may_fail,
				.unfinished = &unfinished };

static int wait_for_notices(struct gyre_stack *stack)
{
	struct relaying_frame *frame = (struct relaying_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	while (gy_load_acquire(&heard) < NOTICES) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->nap));
	}
	stress_finish(stack, &unfinished);
	GYRE_END(stack);
}

static const struct gyre_class waiting_class = {
	.name = "waiting",
	.frame_bytes = sizeof(struct relaying_frame),
	.mount = wait_for_notices,
};

int main(int argc, char **argv)
{
	const struct gyre_group_options options = { .routing = GYRE_ROUTING_ROUND_ROBIN };
	uint64_t seed = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);
	struct gyre_counters counters;

	check(gyre_system_group_create(system, &options, &group) == 0);
	for (uint32_t i = 0; i < LOOPS * RELAYS; i++) {
		relays[i] = stress_spawn(system, &relay_class, i % LOOPS,
					 load_new_outside(system, gy_random_next(&seed)));
	}
	for (uint32_t i = 0; i < NOTICES; i++) {
		check(gyre_system_notify(system, relays[i % (LOOPS * RELAYS)],
					 load_new_outside(system, i)) == 0);
	}
	asking_spawn(system, LOOPS, &seed);
	(void)stress_spawn(system, &waiting_class, 0, GYRE_NO_ARGUMENT);
	check(gyre_system_start(system) == 0);
	counters = stress_end(system);
	check(gy_load_acquire(&heard) == NOTICES);
	check(counters.dropped[GYRE_DROP_STOPPED] == 0);
	(void)printf("%llu sent, %llu handled, %llu stolen\n", (unsigned long long)counters.sent,
		     (unsigned long long)counters.handled, (unsigned long long)counters.stolen);
	return 0;
}
